"""The points of a grid: one job for every k, method, metric, effort and budget; and the front
among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from typing import Any, cast

from incrowd.errors import JobError, unknown
from incrowd.guarantees.evidence import SETS, TABLES
from incrowd.guarantees.table import guarantees_of
from incrowd.job.documents import NOT_WRITTEN
from incrowd.job.job import Job
from incrowd.measures.losses.tables import HIGHER, METRICS
from incrowd.methods.table import METHODS, methods_keeping, resolve_method
from incrowd.options import parameters

# Which points of a grid are worth a look, and which one is recommended.

KNEE = 0.1
"""How much more loss than at the smallest k a larger k may cost before it is too much."""


@dataclass(frozen=True)
class Measured:
    """What points are chosen by: a larger k, less loss and less time are better."""

    name: str
    k: int
    loss: float
    seconds: float


@dataclass(frozen=True)
class Choice:
    """The place of the recommended point, and the reason in a sentence."""

    place: int
    reason: str


def front(points: Sequence[Measured]) -> list[bool]:
    """Return which points no other is at least as good as in everything and better in something."""
    return [not any(_dominates(other, point) for other in points) for point in points]


def _dominates(one: Measured, other: Measured) -> bool:
    is_as_good = one.k >= other.k and one.loss <= other.loss and one.seconds <= other.seconds
    return is_as_good and (one.k, one.loss, one.seconds) != (other.k, other.loss, other.seconds)


def recommend(
    points: Sequence[Measured], at_least_k: int | None = None, knee: float = KNEE
) -> Choice | None:
    """Choose a point: of the stated k or more, or else the largest k within the knee.

    With ``at_least_k`` it is the point with the least loss among those of at least that k. Without,
    k grows as long as the least loss at it is at most ``knee`` above the least loss at the smallest
    k. Of equal losses the larger k counts, then the quicker. None where no point can be chosen.
    """
    if at_least_k is not None:
        wanted = [place for place, point in enumerate(points) if point.k >= at_least_k]
        if not wanted:
            return None
        place = min(wanted, key=lambda one: _order(points[one]))
        return Choice(
            place, f"{_cost(points, place)}: the least of all with a k of at least {at_least_k}."
        )
    least = cheapest_by_k(points)
    if not least:
        return None
    smallest = min(least)
    floor = points[least[smallest]].loss
    within = [k for k, place in least.items() if points[place].loss <= floor + knee + 1e-12]
    k = max(within)
    place = least[k]
    if len(least) == 1:
        return Choice(place, f"{_cost(points, place)}: the least at the only k that was compared.")
    is_share = are_shares(points)
    more = f"{100 * knee:g} percentage points" if is_share else f"{knee:g}"
    if k == smallest:
        return Choice(
            place, f"{_cost(points, place)}; every larger k costs more than {more} on top of that."
        )
    return Choice(
        place,
        f"{_cost(points, place)}: the largest k that costs at most {more} more than k = {smallest} "
        f"({format_loss(floor, is_share=is_share)}).",
    )


def cheapest_by_k(points: Sequence[Measured]) -> dict[int, int]:
    """Return the place of the point with the least loss at each k."""
    least: dict[int, int] = {}
    for place, point in enumerate(points):
        if point.k not in least or _order(point) < _order(points[least[point.k]]):
            least[point.k] = place
    return least


def describe_costs(points: Sequence[Measured]) -> list[str]:
    """Return what each k costs at least, a phrase each.

    >>> describe_costs([Measured("greedy", 2, 0.01, 1.0), Measured("greedy", 20, 0.061, 1.0)])
    ['k = 2 costs 1%', 'k = 20 costs 6.1%']
    """
    is_share = are_shares(points)
    return [
        f"k = {k} costs {format_loss(points[place].loss, is_share=is_share)}"
        for k, place in sorted(cheapest_by_k(points).items())
    ]


def are_shares(points: Sequence[Measured]) -> bool:
    """Return whether all losses are shares of everything, to be written as percentages."""
    return all(0 <= point.loss <= 1 for point in points)


def format_loss(loss: float, *, is_share: bool) -> str:
    """Return a loss in percent, or as a number where it is not a share.

    >>> format_loss(0.0612, is_share=True), format_loss(16832.0, is_share=False)
    ('6.1%', '16,832')
    """
    if is_share:
        return f"{100 * loss:.2g}%" if loss < 0.01 else f"{100 * loss:.1f}%".replace(".0%", "%")
    return f"{loss:,.0f}" if abs(loss) >= 1000 else f"{loss:.4g}"


def _cost(points: Sequence[Measured], place: int) -> str:
    point, is_share = points[place], are_shares(points)
    return f"k = {point.k} by {point.name} costs {format_loss(point.loss, is_share=is_share)}"


def _order(point: Measured) -> tuple[float, int, float]:
    return point.loss, -point.k, point.seconds


# The points of a grid: one job for every k, method, metric, effort and budget.

ARE = "are"
"""The average relative error of count queries, as a loss to compare by."""

BETTER_HIGHER = {"jaccard", "share_ungeneralized"} | {
    name for name, metric in METRICS.items() if metric.direction == HIGHER
}
"""Losses, all from 0 to 1, of which more is better: they are compared by what lacks to 1."""


@dataclass(frozen=True)
class Point:
    """What differs from one release of a grid to another; None where a method has no such field."""

    k: int
    method: str
    metric: str | None = None
    effort: int | str | None = None
    suppression_limit: float | None = None

    @property
    def key(self) -> str:
        """The point in words that tell it from every other."""
        stated = {name: value for name, value in asdict(self).items() if value is not None}
        return " ".join(f"{name}={value}" for name, value in stated.items())

    def label(self, varying: Sequence[str]) -> str:
        """Return the point without its k, by its method and the fields that vary in the grid."""
        words = [self.method]
        for name in varying:
            value = getattr(self, name)
            if value is not None:
                words.append(f"{name.replace('_', ' ')} {value}")
        return ", ".join(words)


@dataclass(frozen=True, eq=False)
class Planned:
    """A point and its job, or why there is none."""

    point: Point
    job: Job | None
    reason: str = ""


def grid(
    job: Job,
    ks: Sequence[int],
    methods: Sequence[str] = (),
    metrics: Sequence[str] = (),
    efforts: Sequence[int | str] = (),
    suppression_limits: Sequence[float] = (),
    by: str = "loss",
) -> list[Planned]:
    """Return a planned release per point; equal points are one.

    Another method's settings do not carry over: it has its defaults, and searches for the loss
    that is compared by where it can and no metric is stated. A combination that no job can have
    is planned without one; where all are such, JobError is raised.
    """
    if not hasattr(job.guarantee, "k"):
        raise JobError(
            f"a grid is over k, and {job.guarantee.name} has none",
            remedy="Compare releases under another guarantee.",
        )
    known = {name: METHODS[name] for name in methods_keeping(*guarantees_of(job.shape))}
    for name in methods:
        meant, settings = resolve_method(name)
        if meant != name:
            flags = "".join(f" --set method.{name}={text}" for name, text in settings.items())
            raise JobError(
                f"{name} is what a paper calls a method",
                remedy=f"Compare --method {meant}{flags}.",
            )
        if name not in known:
            raise unknown("method", name, known)
    if not ks:
        raise JobError("no k is stated", remedy="State --k 2,5,10.")
    if suppression_limits and job.shape != TABLES:
        raise JobError("no set is left out of a release", remedy="Leave --suppression-limit out.")
    named = list(methods) or [job.method.name]
    for field, stated in (("metric", metrics), ("effort", efforts)):
        if stated and not any(_has(known[name], field, job.shape) for name in named):
            able = [name for name, kind in known.items() if _has(kind, field, job.shape)]
            raise JobError(
                f"no compared method has a field {field}",
                remedy=f"Leave --{field} out, or compare {', '.join(able) or 'others'}.",
            )
    searched: list[str | None] = list(metrics) or [None]
    worked: list[int | str | None] = list(efforts) or [None]
    limits: list[float | None] = list(suppression_limits) or [None]
    planned: dict[str, Planned] = {}
    for k, name, metric, effort, limit in product(ks, named, searched, worked, limits):
        one = _plan_point(job, known[name], k, metric, effort, limit, by)
        planned.setdefault(one.point.key, one)
    if all(one.job is None for one in planned.values()):
        raise JobError(next(one.reason for one in planned.values()), remedy="Change the grid.")
    return list(planned.values())


def _plan_point(
    job: Job,
    kind: type[Any],
    k: int,
    metric: str | None,
    effort: int | str | None,
    limit: float | None,
    by: str,
) -> Planned:
    settings: dict[str, Any] = {}
    is_own = kind is type(job.method)
    if _has(kind, "metric", job.shape):
        choices = kind.__dataclass_fields__["metric"].metadata.get("choices") or ()
        if metric is not None:
            settings["metric"] = metric
        elif not is_own and by in choices:
            settings["metric"] = by
    if effort is not None and _has(kind, "effort", job.shape):
        settings["effort"] = effort
    shown = {name: value for name, value in settings.items() if name in ("metric", "effort")}
    point = Point(k, kind.name, **shown, suppression_limit=limit)
    try:
        method = replace(job.method, **settings) if is_own else kind(**settings)
        stated = parameters(method, TABLES if job.shape == TABLES else SETS)
        point = Point(
            k,
            kind.name,
            stated.get("metric"),
            stated.get("effort"),
            limit if limit is not None or job.shape != TABLES else job.release.suppression_limit,
        )
        return Planned(point, _with_settings(job, method, k, limit))
    except JobError as error:
        return Planned(point, None, error.what)


def _with_settings(job: Job, method: Any, k: int, limit: float | None) -> Job:
    """Return the job with another method, k and budget; nothing but its release is written."""
    kept: dict[str, Any] = {
        item.name: item.default for item in fields(job.release) if item.name in NOT_WRITTEN
    }
    if limit is not None:
        kept["suppression_limit"] = limit
    changes: dict[str, Any] = {
        "guarantee": replace(cast(Any, job.guarantee), k=k),
        "method": method,
        "output": None,
        "release": replace(job.release, **kept),
    }
    changes["rules"] = replace(job.rules, save=None)
    return replace(job, **changes)


def _has(kind: type[Any], field: str, shape: str) -> bool:
    """Whether a method has a setting that applies to data of this shape."""
    own = TABLES if shape == TABLES else SETS
    return any(i.name == field and i.metadata.get("about") in ("", own) for i in fields(kind))


def varying_fields(points: Sequence[Point]) -> list[str]:
    """Return the fields besides k and method that are not alike in all points of some method."""
    found = []
    for name in ("metric", "effort", "suppression_limit"):
        of_method: dict[str, set[Any]] = {}
        for point in points:
            of_method.setdefault(point.method, set()).add(getattr(point, name))
        if any(len(values) > 1 for values in of_method.values()):
            found.append(name)
    return found


def loss_of(losses: dict[str, Any], are: float | None, by: str) -> float | None:
    """Return the loss that points are compared by, lower being better."""
    value = are if by == ARE else losses.get(by)
    if value is None:
        return None
    return 1 - float(value) if by in BETTER_HIGHER else float(value)


def default_loss(job: Job) -> str:
    """Return the loss that a job's releases are compared by where none is stated."""
    if job.shape == TABLES:
        return "loss"
    return ARE if job.guarantee.name in ("rules", "km") else "jaccard"

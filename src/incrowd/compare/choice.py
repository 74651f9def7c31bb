"""Which points of a grid are worth a look, and which one is recommended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


def recommended(
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
            place,
            f"{points[place].name} has the least loss ({points[place].loss:.4f}) of all points "
            f"with a k of at least {at_least_k}.",
        )
    least: dict[int, int] = {}
    for place, point in enumerate(points):
        if point.k not in least or _order(point) < _order(points[least[point.k]]):
            least[point.k] = place
    if not least:
        return None
    smallest = min(least)
    floor = points[least[smallest]].loss
    within = [k for k, place in least.items() if points[place].loss <= floor + knee + 1e-12]
    k = max(within)
    place = least[k]
    point = points[place]
    if len(least) == 1:
        return Choice(place, f"{point.name} has the least loss ({point.loss:.4f}) at the only k.")
    return Choice(
        place,
        f"{point.name} has the least loss at the largest k that is within the knee: at most "
        f"{knee:g} above the least loss at k {smallest} ({point.loss:.4f} against {floor:.4f}).",
    )


def _order(point: Measured) -> tuple[float, int, float]:
    return point.loss, -point.k, point.seconds

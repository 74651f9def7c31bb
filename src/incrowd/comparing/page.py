"""A comparison as a page: the front, the table and the recommended point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from incrowd.comparing.grid import ARE, BETTER_HIGHER
from incrowd.figures.blocks import Block, Cell, Code, Facts, Lines, Listing, Page, Section, Unit

if TYPE_CHECKING:
    from incrowd.comparing.comparison import Comparison


Result = dict[str, Any]
Place = Callable[[Result], float | None]

STATUS = {
    "released": "keeps its promise",
    "infeasible": "no release can keep the promise",
    "refused": "the audit refused it",
    "unfit": "the settings do not fit together",
    "failed": "its process was ended",
}


WIDE = 4
"""The ratio of the largest to the smallest number from which an axis is logarithmic."""


def page_of(comparison: Comparison) -> Page:
    """Return the page of a comparison; it is for the owner."""
    choice = comparison.choice
    lead = "No point of the grid can be recommended."
    if choice is not None:
        lead = f"Recommended: {choice.reason}"
    sections = [_recommended(comparison), _fronts(comparison), _table(comparison)]
    sections += _without_release(comparison)
    return Page(
        title=f"Releases of {comparison.data} compared",
        lead=lead,
        sections=tuple(sections),
        edition="owner",
        verdict=None,
        highlights=_costs(comparison),
        data=comparison.to_dict(),
        about=(
            comparison.guarantee["name"],
            f"{len(comparison.points)} releases",
            f"compared by {loss_title(comparison.by)}",
        ),
    )


def _costs(comparison: Comparison) -> Facts | None:
    """Return what each k costs at least."""
    facts = []
    for said in comparison.costs:
        k, _, cost = said.partition(" costs ")
        facts.append((f"least loss at {k}", cost))
    return Facts(tuple(facts)) if facts else None


def loss_title(by: str) -> str:
    """Return what stands beside an axis of losses."""
    if by == ARE:
        return "average relative error of counts"
    return f"1 − {by}" if by in BETTER_HIGHER else by


def _recommended(comparison: Comparison) -> Section:
    from incrowd.comparing.comparison import ONE_ONLY, are_of

    choice = comparison.choice
    if choice is None:
        return Section("recommended", "Recommended", (ONE_ONLY,))
    result = comparison.points[choice.place]
    point = result["point"]
    title = loss_title(comparison.by)
    facts: list[tuple[str, Cell]] = [("k", point["k"]), ("method", point["method"])]
    facts += [
        (name.replace("_", " "), point[name])
        for name in ("metric", "effort", "suppression_limit")
        if point[name] not in (None, 0.0)
    ]
    facts += [
        (title, comparison.loss(result)),
        ("average relative error of counts", are_of(result)),
        ("time", result["seconds"]),
        ("rows released", result["n_rows"]),
        ("rows suppressed", result["n_suppressed"]),
        ("smallest group", result["smallest_group"]),
    ]
    units: dict[str, Unit] = {
        title: _loss_unit(comparison),
        "time": "seconds",
        "rows released": "count",
        "rows suppressed": "count",
        "smallest group": "count",
        "average relative error of counts": "share",
    }
    blocks: list[Block] = [Facts(tuple(dict(facts).items()), units=units)]
    if comparison.command is not None:
        blocks.append(Code(comparison.command, "console", "The command that publishes it"))
    text = (f"{', '.join(comparison.costs)}.", choice.reason, ONE_ONLY)
    return Section("recommended", "Recommended", text, tuple(blocks))


def _loss_unit(comparison: Comparison) -> Unit:
    return "share" if comparison.are_losses_shares else "number"


def _fronts(comparison: Comparison) -> Section:
    from incrowd.comparing.comparison import are_of

    title = loss_title(comparison.by)

    def k(result: Result) -> float | None:
        return float(result["point"]["k"])

    def seconds(result: Result) -> float | None:
        return float(result["seconds"])

    unit = _loss_unit(comparison)
    blocks: list[Block] = [
        _lines(comparison, "Loss against k", k, comparison.loss, "k", title, y_unit=unit),
        _scatter(
            _lines(
                comparison,
                "Loss against time",
                seconds,
                comparison.loss,
                "seconds from reading to the audit",
                title,
                x_unit="seconds",
                y_unit=unit,
            ),
            comparison,
        ),
    ]
    if comparison.by != ARE and any(are_of(result) is not None for result in comparison.points):
        blocks.append(
            _lines(
                comparison,
                "Error of count queries against k",
                k,
                are_of,
                "k",
                "average relative error",
                y_unit="share",
            )
        )
    text = (
        "Less loss is better, a larger k is better, less time is better: no point of the front is "
        "beaten by another in all three. The recommended point has a ring.",
    )
    return Section("front", "The front", text, tuple(blocks))


def _lines(
    comparison: Comparison,
    title: str,
    across: Place,
    up: Place,
    x_title: str,
    y_title: str,
    *,
    x_unit: Unit = "number",
    y_unit: Unit = "number",
) -> Lines:
    """Return a line per method, its points by what lies across; the recommended one is marked."""
    labels, choice = comparison.labels(), comparison.choice
    found: dict[str, list[tuple[float, float, int]]] = {}
    for place in comparison.released:
        x, y = across(comparison.points[place]), up(comparison.points[place])
        if x is not None and y is not None:
            found.setdefault(labels[place], []).append((x, y, place))
    across_all = [x for points in found.values() for x, _, _ in points if x > 0]
    is_wide = bool(across_all) and max(across_all) >= WIDE * min(across_all)
    marked = None
    for name, points in found.items():
        points.sort()
        places = [place for _, _, place in points]
        if choice is not None and choice.place in places:
            marked = (name, places.index(choice.place))
    return Lines(
        title=title,
        series={name: tuple((x, y) for x, y, _ in points) for name, points in found.items()},
        x_title=x_title,
        y_title=y_title,
        x_unit=x_unit,
        y_unit=y_unit,
        is_log_x=is_wide,
        marked=marked,
    )


def _scatter(lines: Lines, comparison: Comparison) -> Lines:
    """Return points that are not joined, each named by its k: time does not lead from one to one.

    The points of a series lie by time; those of equal time by loss.
    """
    labels = comparison.labels()
    ks: dict[str, list[tuple[float, float, str]]] = {}
    for place in comparison.released:
        result, loss = comparison.points[place], comparison.loss(comparison.points[place])
        assert loss is not None
        said = f"k {result['point']['k']}"
        ks.setdefault(labels[place], []).append((float(result["seconds"]), loss, said))
    named = {name: tuple(said for _, _, said in sorted(points)) for name, points in ks.items()}
    return replace(lines, is_joined=False, labels=named)


def _table(comparison: Comparison) -> Section:
    from incrowd.comparing.comparison import are_of

    labels, on_front, choice = comparison.labels(), set(comparison.front), comparison.choice
    title = loss_title(comparison.by)
    columns = ["release", "k", title, "error of counts", "time", "memory, MB"]
    columns += ["smallest group", "suppressed"]
    has_learning = any("learning" in one.get("utility", {}) for one in comparison.points)
    columns += ["accuracy", "of the original"] if has_learning else []
    columns += ["choice"]
    if title == "average relative error of counts":
        columns.remove("error of counts")
    rows = []
    for place in comparison.released:
        result = comparison.points[place]
        cells: dict[str, Cell] = {
            "release": labels[place],
            "k": result["point"]["k"],
            title: comparison.loss(result),
            "error of counts": are_of(result),
            "time": result["seconds"],
            "memory, MB": round(result["peak_memory_bytes"] / 2**20),
            "smallest group": result["smallest_group"],
            "suppressed": result["n_suppressed"],
            "choice": "on the front" if place in on_front else "beaten",
        }
        if choice is not None and choice.place == place:
            cells["choice"] = "recommended"
        if has_learning:
            learning = result["utility"].get("learning", {})
            cells["accuracy"] = learning.get("accuracy")
            cells["of the original"] = learning.get("accuracy_original")
        rows.append(tuple(cells[name] for name in columns))
    units: dict[str, Unit] = {
        "k": "count",
        title: _loss_unit(comparison),
        "error of counts": "share",
        "time": "seconds",
        "memory, MB": "count",
        "smallest group": "count",
        "suppressed": "count",
        "accuracy": "share",
        "of the original": "share",
    }
    listing = Listing(
        tuple(columns),
        tuple(rows),
        units=units,
        bars=(title,) if comparison.are_losses_shares else (),
        note="Time runs from the first byte read to the audit's end, after compilation; memory "
        "is the most that the process of the point has held.",
    )
    return Section("table", "Every release", (), (listing,))


def _without_release(comparison: Comparison) -> list[Section]:
    labels = comparison.labels()
    rows = [
        (
            labels[place],
            result["point"]["k"],
            STATUS.get(result["status"], result["status"]),
            result["reason"],
        )
        for place, result in enumerate(comparison.points)
        if result["status"] != "released"
    ]
    if not rows:
        return []
    columns = ("release", "k", "what became of it", "reason")
    listing = Listing(columns, tuple(rows), units={"k": "count"})
    return [Section("without", "Points without a release", (), (listing,))]

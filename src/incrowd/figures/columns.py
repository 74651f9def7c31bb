"""Columns before and after: what each lost, what it shows, how its values are spread, where rows
ended.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.checking.material import OwnTable, TableMaterial
from incrowd.codes import factorize
from incrowd.encoding.encode import encode_labels
from incrowd.figures.blocks import Bars, Block, Cell, Facts, Listing, Section, Steps
from incrowd.figures.trees import hierarchy_tree
from incrowd.hierarchies.costs import COSTS_OF_METRIC, cost_to_root
from incrowd.hierarchies.groupings import holds_days
from incrowd.hierarchies.tree import Hierarchy
from incrowd.measures.losses.tables import Tally, count_tables, weighted_sum
from incrowd.measures.outcomes import ColumnOutcome, describe_outcome
from incrowd.tables.columns.types import days_as_text, parse_days

MOST_VALUES = 12
MOST_BINS = 40
MISSING = "(missing)"
CALENDAR_STEPS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 12000)
"""Months that a bar of a histogram of dates may span."""


def value_bars(column: pa.ChunkedArray, title: str) -> Bars:
    """Return how many rows show each of a column's commonest values."""
    cells = factorize(column)
    counts = np.bincount(cells.codes, minlength=cells.n_codes)
    labels = [*(str(value) for value in cells.values.to_pylist()), MISSING]
    order = sorted(
        (place for place in range(len(labels)) if counts[place]),
        key=lambda place: (-int(counts[place]), labels[place]),
    )
    named = [(labels[place], float(counts[place])) for place in order]
    return top_bars(title, {"rows": named}, "values")


def top_bars(
    title: str, named: dict[str, list[tuple[str, float]]], what: str, note: str = ""
) -> Bars:
    """Return bars of the first names, and one bar for all that are left; series share their names.

    What is left is counted and said.
    """
    first = next(iter(named.values()))
    shown = len(first) if len(first) <= MOST_VALUES + 1 else MOST_VALUES
    n_left = len(first) - shown
    categories = [name for name, _ in first[:shown]]
    series = {name: [number for _, number in numbers[:shown]] for name, numbers in named.items()}
    if n_left:
        categories.append(f"{n_left:,} other {what}")
        for name, numbers in named.items():
            series[name].append(sum(number for _, number in numbers[shown:]))
    return Bars(
        title,
        tuple(categories),
        {name: tuple(numbers) for name, numbers in series.items()},
        y_title="value",
        is_horizontal=True,
        note=note,
        has_rest=n_left > 0,
    )


def parse_numbers(column: pa.ChunkedArray, missing_values: tuple[str, ...] = ()) -> Any:
    """Return a column's numbers, NaN where a cell is missing; None where some are no numbers."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        numbers = column.cast(pa.float64())
        return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
    cells = encode_labels(column, missing_values)
    try:
        values = pc.cast(cells.texts, pa.float64())
    except pa.ArrowInvalid:
        return None
    of_code = np.append(np.asarray(values.to_numpy(zero_copy_only=False)), np.nan)
    return of_code[cells.codes]


def parse_cell_days(column: pa.ChunkedArray, missing_values: tuple[str, ...] = ()) -> Any:
    """Return a column's days, NaN where a cell is missing; None where some are no dates."""
    cells = encode_labels(column, missing_values)
    of_code = np.append(parse_days(cells.texts.to_pylist()), np.nan)
    return None if np.isnan(of_code[:-1]).any() else of_code[cells.codes]


def number_edges(numbers: NDArray[np.float64]) -> tuple[float, ...]:
    """Return round edges of equal steps over all numbers that are finite."""
    finite = numbers[np.isfinite(numbers)]
    if not len(finite):
        return ()
    low, high = float(finite.min()), float(finite.max())
    is_whole = bool((finite == np.round(finite)).all())
    step = round_step((high - low) / MOST_BINS, is_whole)
    first = np.floor(low / step)
    n_steps = int(np.floor(high / step) - first) + 1
    return tuple(float(np.round((first + place) * step, 10)) for place in range(n_steps + 1))


def date_edges(days: NDArray[np.float64]) -> tuple[float, ...]:
    """Return the first days of equal spans of the calendar, of days, months or years, over all."""
    finite = days[np.isfinite(days)]
    if not len(finite):
        return ()
    low, high = (date.fromordinal(int(day)) for day in (finite.min(), finite.max()))
    n_months = 12 * (high.year - low.year) + high.month - low.month
    if n_months <= 1:
        return tuple(float(day) for day in range(low.toordinal(), high.toordinal() + 2))
    step = next(step for step in CALENDAR_STEPS if n_months <= step * MOST_BINS)
    first = (12 * low.year + low.month - 1) // step * step
    last = 12 * high.year + high.month - 1
    starts = range(first, last + step + 1, step)
    return tuple(
        float(date(max(1, month // 12), month % 12 + 1, 1).toordinal()) for month in starts
    )


def round_step(least: float, is_whole: bool) -> float:
    """Return 1, 2 or 5 times a power of ten, at least so large; at least 1 for whole numbers."""
    if is_whole:
        least = max(least, 1.0)
    if least <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(least))
    for factor in (1, 2, 5, 10):
        if factor * power >= least * (1 - 1e-12):
            return float(factor * power)
    return float(10 * power)


def histogram(
    title: str,
    edges: tuple[float, ...],
    series: dict[str, tuple[Any, Any]],
    note: str = "",
    *,
    is_date: bool = False,
) -> Steps:
    """Return a histogram of (numbers, weights or None) per series; numbers beyond the edges no."""
    counted = {}
    for name, (numbers, weights) in series.items():
        finite = np.isfinite(numbers) & (numbers >= edges[0])
        places = np.searchsorted(np.asarray(edges), numbers[finite], side="right") - 1
        heavy = None if weights is None else weights[finite]
        counts = np.bincount(places, weights=heavy, minlength=len(edges) - 1)
        counted[name] = tuple(float(count) for count in counts[: len(edges) - 1])
    return Steps(title, edges, counted, y_title="rows", note=note, is_date_x=is_date)


def column_block(
    column: pa.ChunkedArray,
    title: str,
    before: pa.ChunkedArray | None = None,
    missing_values: tuple[str, ...] = (),
) -> Bars | Steps:
    """Return a column as it is released, beside what it was where that is known and differs."""
    cells = factorize(column)
    sides = {"before": before, "after": column} if before is not None else {"rows": column}
    if cells.n_values > MOST_VALUES:
        numbers = {name: parse_numbers(side, missing_values) for name, side in sides.items()}
        if all(found is not None for found in numbers.values()):
            edges = number_edges(np.concatenate(list(numbers.values())))
            if len(edges) > 1:
                series = {name: (found, None) for name, found in numbers.items()}
                return histogram(title, edges, series)
        days = {name: parse_cell_days(side, missing_values) for name, side in sides.items()}
        if all(found is not None for found in days.values()):
            edges = date_edges(np.concatenate(list(days.values())))
            if len(edges) > 1:
                series = {name: (found, None) for name, found in days.items()}
                return histogram(title, edges, series, is_date=True)
    if before is None:
        return value_bars(column, title)
    return _before_after_bars(column, before, title)


def _before_after_bars(column: pa.ChunkedArray, before: pa.ChunkedArray, title: str) -> Bars:
    counts = {}
    for name, side in (("before", before), ("after", column)):
        cells = factorize(side)
        labels = [*(str(value) for value in cells.values.to_pylist()), MISSING]
        found = np.bincount(cells.codes, minlength=cells.n_codes).tolist()
        counts[name] = {label: n for label, n in zip(labels, found, strict=True) if n}
    every = {*counts["before"], *counts["after"]}
    order = sorted(every, key=lambda label: (-counts["before"].get(label, 0), label))
    named = {
        name: [(label, float(found.get(label, 0))) for label in order]
        for name, found in counts.items()
    }
    return top_bars(title, named, "values")


# Columns before and after: what each lost, how its values are spread, where rows ended.

MOST_COLUMNS = 12
"""Columns that are drawn, those that lost most; all of them are listed."""

SPREAD = "A generalized cell counts evenly for the values it stands for."


@dataclass(frozen=True, eq=False)
class ColumnChange:
    """A quasi-identifying column's cells by node, before and after.

    ``released`` leaves suppressed rows out, ``after`` has them at the root.
    """

    name: str
    hierarchy: Hierarchy
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    released: NDArray[np.int64]

    def loss(self, metric: str) -> float:
        """Return the price of the released cells, over the price of losing all of them."""
        price = cost_to_root(self.hierarchy, metric)
        dearest = weighted_sum(self.before, price)
        return weighted_sum(self.before - self.after, price) / dearest if dearest > 0 else 0.0

    @property
    def n_rows(self) -> int:
        """How many rows the original has."""
        return int(self.before.sum())

    @property
    def n_released(self) -> int:
        """How many rows are released."""
        return int(self.released.sum())

    @property
    def share_whole(self) -> float:
        """The share of released cells that show their value as it was."""
        return int(self.released[: self.hierarchy.n_leaves].sum()) / max(1, self.n_released)

    @property
    def share_starred(self) -> float:
        """The share of released cells that show nothing."""
        return int(self.released[self.hierarchy.root]) / max(1, self.n_released)

    @property
    def outcome(self) -> ColumnOutcome:
        """What the column became, in words."""
        return describe_outcome(self.name, self.hierarchy, self.released)

    @property
    def spread(self) -> NDArray[np.float64]:
        """How many released rows each leaf has, if a node's rows are spread evenly below it."""
        hierarchy = self.hierarchy
        density = self.released[: hierarchy.n_nodes] / np.maximum(hierarchy.leaf_count, 1)
        leaves = slice(0, hierarchy.n_leaves)
        found = hierarchy.sum_to_root(density)[leaves] + density[hierarchy.root]
        runs = hierarchy.runs
        if runs is not None and len(self.released) > hierarchy.n_nodes:
            further = slice(hierarchy.n_nodes, None)
            n_below = runs.under_further(np.ones(hierarchy.n_leaves, dtype=np.int64))
            of_run = self.released[further] / np.maximum(n_below, 1)
            steps = np.zeros(runs.n_cells + 1)
            np.add.at(steps, runs.first[further], of_run)
            np.add.at(steps, runs.last[further] + 1, -of_run)
            is_number = runs.cell_of_leaf >= 0
            found[is_number] += np.cumsum(steps)[runs.cell_of_leaf[is_number]]
        return np.asarray(found)


def count_changes(own: OwnTable) -> list[ColumnChange]:
    """Return every quasi-identifying column's cells, counted once."""
    if not own.before.n_rows:
        return []
    counted: Tally = count_tables(own.before, own.after)
    found = []
    for place, (name, hierarchy) in enumerate(
        zip(own.before.names, own.before.hierarchies, strict=True)
    ):
        released = counted.after[place].copy()
        released[hierarchy.root] -= counted.n_suppressed
        found.append(
            ColumnChange(name, hierarchy, counted.before[place], counted.after[place], released)
        )
    return found


def loss_section(changes: list[ColumnChange], metric: str | None) -> Section:
    """Return what each column lost, by the metric that the search minded and by plain loss."""
    metrics = ["loss"]
    if metric is not None and metric.partition(":")[0] in COSTS_OF_METRIC and metric != "loss":
        metrics.insert(0, metric)
    lost = {change.name: {metric: change.loss(metric) for metric in metrics} for change in changes}
    order = sorted(changes, key=lambda change: -lost[change.name][metrics[0]])
    rows = tuple(
        (
            change.name,
            *(lost[change.name][metric] for metric in metrics),
            change.share_whole,
            change.share_starred,
            int(np.count_nonzero(change.before[: change.hierarchy.n_leaves])),
            int(np.count_nonzero(change.released)),
            change.hierarchy.origin or None,
        )
        for change in order
    )
    columns = ("column", *metrics, "unchanged", "suppressed", "values before", "values after")
    shares = (*metrics, "unchanged", "suppressed")
    listing = Listing(
        (*columns, "hierarchy"),
        rows,
        title="Each column",
        units=dict.fromkeys(shares, "share"),
        bars=tuple(metrics),
        note="“Unchanged” and “suppressed” (shown as *) are shares of the released cells. Rows "
        "that were left out count in the loss as all cells lost.",
    )
    return Section(
        "losses",
        "What each column lost",
        ("0% means that nothing was lost, 100% that the column is gone.",),
        (listing,),
    )


def column_sections(changes: list[ColumnChange], material: TableMaterial) -> list[Section]:
    """Return a section per quasi-identifying column, of the ones that lost most.

    Columns that are shown whole or not at all have no tree worth drawing, and share a section.
    """
    dearest = sorted(changes, key=lambda change: -change.loss("loss"))[:MOST_COLUMNS]
    drawn = {change.name for change in dearest}
    sections = [
        _column_section(place, change, material)
        for place, change in enumerate(changes)
        if change.name in drawn and not _is_flat(change.hierarchy)
    ]
    flat = [change for change in changes if change.name in drawn and _is_flat(change.hierarchy)]
    return [*sections, _flat_section(flat)] if flat else sections


def _is_flat(hierarchy: Hierarchy) -> bool:
    return hierarchy.runs is None and int(hierarchy.height[hierarchy.root]) <= 1


def _flat_section(changes: list[ColumnChange]) -> Section:
    """Return columns whose cells are shown as they were or not at all, a card for each."""
    text = (
        "The hierarchy of these columns has the values and * alone: a cell is as it was, or it "
        "shows nothing."
    )
    blocks = tuple(_flat_bars(change) for change in changes)
    return Section("flat-columns", "Columns shown whole or not at all", (text,), blocks)


def _flat_bars(change: ColumnChange) -> Bars:
    hierarchy = change.hierarchy
    leaves = np.lexsort((hierarchy.leaf_order, -change.before[: hierarchy.n_leaves]))
    leaves = leaves[(change.before[leaves] > 0) | (change.released[leaves] > 0)]
    order = [hierarchy.root, *leaves.tolist()]
    labels = [hierarchy.labels[node] or "(missing)" for node in order]
    named = {
        name: list(zip(labels, counts[order].astype(float).tolist(), strict=True))
        for name, counts in (("before", change.before), ("after", change.released))
    }
    bars = top_bars(change.name, named, "values")
    whole, starred = _format_percent(change.share_whole), _format_percent(change.share_starred)
    note = f"{whole} unchanged, {starred} suppressed."
    return replace(bars, note=note)


def _column_section(place: int, change: ColumnChange, material: TableMaterial) -> Section:
    tree = hierarchy_tree(change.hierarchy, change.before, change.released)
    blocks: list[Block] = [tree]
    both = before_after_block(change)
    if isinstance(both, Steps):
        if change.name in material.released.frame.column_names:
            column = material.released.frame.column(change.name)
            blocks.append(value_bars(column, "What the file shows"))
        blocks += [both, _facts(change)]
    else:
        blocks.append(both)
    text = f"Quasi-identifying: {change.outcome.words}."
    return Section(f"column-{place + 1}", f"Column: {change.name}", (text,), tuple(blocks))


def _facts(change: ColumnChange) -> Facts:
    values = change.hierarchy.values
    assert values is not None
    numbers = np.where(np.isnan(values), 0.0, values)
    is_number = ~np.isnan(values)
    before = change.before[: change.hierarchy.n_leaves] * is_number
    after = change.spread * is_number
    facts: list[tuple[str, Cell]] = []
    for name, counts in (("before", before), ("after", after)):
        total = float(counts.sum())
        mean = float((counts * numbers).sum()) / total if total else math.nan
        spread = float((counts * (numbers - mean) ** 2).sum()) / total if total else math.nan
        is_date = total > 0 and holds_days(change.hierarchy)
        said = "standard deviation in days" if is_date else "standard deviation"
        shown = days_as_text([mean])[0] if is_date else mean
        facts += [(f"mean, {name}", shown), (f"{said}, {name}", math.sqrt(spread))]
    return Facts(tuple(facts), title="In numbers", note=SPREAD)


def before_after_block(change: ColumnChange) -> Bars | Steps:
    """Return values before and after, as a histogram where they are many numbers."""
    hierarchy = change.hierarchy
    before = change.before[: hierarchy.n_leaves].astype(np.float64)
    after = change.spread
    values = hierarchy.values
    title = "Before and after"
    if values is not None and np.count_nonzero(~np.isnan(values)) > MOST_VALUES:
        occurring = values[(before > 0) | (after > 0)]
        is_date = holds_days(hierarchy)
        edges = date_edges(occurring) if is_date else number_edges(occurring)
        if len(edges) > 1:
            series = {"before": (values, before), "after": (values, after)}
            return histogram(title, edges, series, SPREAD, is_date=is_date)
    node_of_leaf = _coarse_nodes(hierarchy, before)
    sides = {
        name: np.bincount(node_of_leaf, weights=counts, minlength=hierarchy.n_nodes)
        for name, counts in (("before", before), ("after", after))
    }
    order = np.argsort(-sides["before"], kind="stable")
    order = order[(sides["before"][order] > 0) | (sides["after"][order] >= 0.5)]
    labels = [hierarchy.labels[node] or "(missing)" for node in order.tolist()]
    named = {
        name: list(zip(labels, counts[order].tolist(), strict=True))
        for name, counts in sides.items()
    }
    return top_bars(title, named, "values", SPREAD)


def _coarse_nodes(hierarchy: Hierarchy, before: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return each leaf's node on the lowest level with few nodes; the leaf where there is none."""
    ladder = hierarchy.ladder
    for level in range(len(ladder) - 1):
        if len(np.unique(ladder[level][before > 0])) <= MOST_VALUES + 1:
            return np.asarray(ladder[level])
    return np.asarray(ladder[0])


def unchanged_section(material: TableMaterial) -> Section | None:
    """Return the columns that are released as they are, beside the original where it is known."""
    released = material.released
    schema, own = material.schema, material.own
    names = [
        name
        for name in (*schema.sensitive, *schema.insensitive)
        if name in released.frame.column_names
    ]
    if not names:
        return None
    has_left_out = own is not None and own.original.n_rows != released.n_rows
    blocks = []
    for name in names[:MOST_COLUMNS]:
        role = "sensitive" if name in schema.sensitive else "insensitive"
        before = None
        if has_left_out and own is not None and name in own.original.frame.column_names:
            before = own.original.frame.column(name)
        column = released.frame.column(name)
        blocks.append(column_block(column, f"{name} ({role})", before, released.missing_values))
    text = "Released as they are."
    if has_left_out:
        text += " Before and after differ by the rows that were left out."
    if len(names) > MOST_COLUMNS:
        text += f" {len(names) - MOST_COLUMNS:,} further columns are not drawn."
    return Section("kept", "Columns kept as they are", (text,), tuple(blocks))


def released_section(material: TableMaterial) -> Section | None:
    """Return what the file shows in its quasi-identifying columns: no “before”."""
    released = material.released
    names = [name for name in material.schema.quasi if name in released.frame.column_names]
    if not names:
        return None
    blocks = tuple(value_bars(released.frame.column(name), name) for name in names[:MOST_COLUMNS])
    text = "How many rows show each value or range; * shows nothing."
    if len(names) > MOST_COLUMNS:
        text += f" {len(names) - MOST_COLUMNS:,} further columns are not drawn."
    return Section("shown", "What the file shows", (text,), blocks)


def _format_percent(share: float) -> str:
    return f"{100 * share:.0f}%" if share in (0.0, 1.0) else f"{100 * share:.1f}%"

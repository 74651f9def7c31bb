"""Ways to group values level by level: intervals, ranges on a round grid, leading characters,
the calendar, frequency.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.errors import HierarchyError
from incrowd.hierarchies.tree import STAR, Hierarchy, Runs
from incrowd.tables.columns.types import parse_days

Levels = list[tuple[NDArray[Any], list[str]]]

EXACT_INTEGERS = 2**53  # 64-bit floats represent all integers up to here
GROUP_SIZE = 4  # how many neighbours a group by frequency holds, about
MEMBERS_SHOWN = 6  # members up to which a group by frequency is written out

# In the name of a member: delimiters, quotes, controls, what groups are written with, and a
# percent sign that reads as an encoded byte.
_UNSAFE = re.compile(r"[,;|\"{}…\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]|%(?=[0-9A-Fa-f]{2})")


# ── numbers ─────────────────────────────────────────────────────────────────────────────────


def group_by_interval(
    column: str,
    numbers: NDArray[np.float64],
    widths: Sequence[float],
    *,
    lower: float | None = None,
    upper: float | None = None,
    is_whole: bool,
) -> Levels:
    """Group numbers into intervals of rising widths, on the multiples of the width.

    With ``lower`` the grid starts there and what is less is one open group, ``<20``; with
    ``upper`` what is not less is one, ``>=80``. Whole numbers read ``20-24``, others ``20 to <25``.
    A number on an edge is in the interval that starts there, exactly: edges are compared as the
    floats that their decimals read as.
    """
    stated = [Fraction(str(number)) for number in (*widths, lower or 0, upper or 0)]
    scale = math.lcm(*(number.denominator for number in stated))  # all edges are whole in 1/scale
    units = [int(number * scale) for number in stated]
    origin, end = units[-2], units[-1]
    farthest = float(np.abs(numbers).max()) * scale + abs(origin) + 2 * units[len(widths) - 1]
    if farthest >= EXACT_INTEGERS:
        raise HierarchyError(
            f"column {column!r}: its numbers are too large to be put into such intervals exactly",
            remedy="State wider intervals, prefix or flat.",
        )
    bin_of_value = _bin_numbers(numbers, origin, units[0], scale)
    outermost = int(np.abs(bin_of_value).max()) + 2
    if lower is not None:
        bin_of_value[numbers < lower] = -outermost
    is_above = np.zeros(len(numbers), dtype=np.bool_)
    if upper is not None:
        is_above = numbers >= upper
    levels: Levels = []
    for width in units[: len(widths)]:
        wider = np.floor_divide(bin_of_value, width // units[0])
        if lower is not None:
            wider[bin_of_value == -outermost] = -outermost
        wider[is_above] = outermost
        bins, group_of_value = np.unique(wider, return_inverse=True)
        labels = []
        for place in bins.tolist():
            if place == -outermost and lower is not None:
                labels.append(f"<{format_decimal(Fraction(origin, scale))}")
            elif place == outermost:
                labels.append(f">={format_decimal(Fraction(end, scale))}")
            else:
                first = origin + place * width
                beyond = first + width if upper is None else min(first + width, end)
                labels.append(_interval_label(first, beyond, scale, is_whole))
        levels.append((group_of_value, labels))
    return levels


def _bin_numbers(
    numbers: NDArray[np.float64], origin: int, width: int, scale: int
) -> NDArray[np.int64]:
    """Return ``bin`` with origin + bin·width ≤ number·scale < origin + (bin + 1)·width."""
    bins: NDArray[np.int64] = np.floor((numbers * scale - origin) / width).astype(np.int64)
    while True:
        # the ratio of two whole numbers is rounded once, as the same decimal is when it is read
        first = (origin + bins * width) / float(scale)
        beyond = (origin + (bins + 1) * width) / float(scale)
        step = (numbers >= beyond).astype(np.int64) - (numbers < first)
        if not step.any():
            return bins
        bins += step


def _interval_label(first: int, beyond: int, scale: int, is_whole: bool) -> str:
    if not is_whole or first % scale or beyond % scale:
        return _half_open_label(Fraction(first, scale), Fraction(beyond, scale))
    low, high = first // scale, beyond // scale - 1
    if low == high:
        return str(low)
    return f"{low}-{high}" if low >= 0 else f"{low} to {high}"


def _half_open_label(first: Fraction, beyond: Fraction) -> str:
    """Return ``0.5 to <0.75``: a label without a comma, which would have to be quoted in CSV."""
    return f"{format_decimal(first)} to <{format_decimal(beyond)}"


def format_decimal(number: Fraction) -> str:
    """Return the exact decimal of a number, without trailing zeros."""
    if number.denominator == 1:
        return str(number.numerator)
    exact = Decimal(number.numerator) / Decimal(number.denominator)
    return format(exact.normalize(), "f")


# ── codes ───────────────────────────────────────────────────────────────────────────────────


def group_by_prefix(codes: Sequence[str], drops: Sequence[int]) -> Levels:
    """Group codes by their leading characters: ``32601`` → ``3260*`` → ``326**``.

    ``drops`` are the numbers of characters that each level masks, counted from the end of the
    longest code; a shorter code stays itself until a level reaches into it.
    """
    texts = pa.array(codes, pa.string())
    lengths = pc.utf8_length(texts)
    longest = pc.max(lengths).as_py()
    levels: Levels = []
    for drop in drops:
        kept = longest - drop
        if kept <= 0:
            break
        masked = pc.binary_join_element_wise(
            pc.utf8_slice_codeunits(texts, 0, kept), pa.scalar("*" * drop), ""
        )
        level = pc.if_else(pc.greater(lengths, kept), masked, texts).dictionary_encode()
        levels.append((level.indices.to_numpy(), level.dictionary.to_pylist()))
    return levels


# ── dates ───────────────────────────────────────────────────────────────────────────────────


def group_by_calendar(
    values: Sequence[str], ordinals: NDArray[np.float64], units: Sequence[str]
) -> Levels:
    """Group days by calendar units, fine to coarse: ``2024-03``, ``2024-Q1``, ``2020-2029``.

    ``ordinals`` are numbers of days as ``datetime.date.toordinal`` counts them. A day that groups
    times and is also a value itself (midnight) is labelled apart: ``2024-03-05 (day)``.
    """
    since_1970 = ordinals.astype(np.int64) - date(1970, 1, 1).toordinal()
    stamps = since_1970.astype("datetime64[D]")
    months = stamps.astype("datetime64[M]").astype(np.int64)  # since January 1970
    number_of_day = {
        "day": since_1970,
        "month": months,
        "quarter": months // 3,
        "year": months // 12,
        "decade": (months // 12 + 1970) // 10,
    }
    levels: Levels = []
    for unit in units:
        periods, group_of_day, sizes = np.unique(
            number_of_day[unit], return_inverse=True, return_counts=True
        )
        labels = [_period_label(unit, period) for period in periods.tolist()]
        if unit == "day":
            alone = set(values)
            labels = [
                f"{label} (day)" if size > 1 and label in alone else label
                for label, size in zip(labels, sizes.tolist(), strict=True)
            ]
        levels.append((group_of_day, labels))
    return levels


def holds_days(tree: Hierarchy) -> bool:
    """Whether the numbers of a hierarchy's leaves are days, as ``date.toordinal`` counts them."""
    if tree.values is None:
        return False
    leaves = np.flatnonzero(~np.isnan(tree.values))[:1]
    return bool(len(leaves)) and bool(
        (parse_days([tree.labels[leaf] for leaf in leaves]) == tree.values[leaves]).all()
    )


def _period_label(unit: str, number: int) -> str:
    if unit == "day":
        return str(np.datetime64(number, "D"))
    if unit == "month":
        return f"{1970 + number // 12:04d}-{number % 12 + 1:02d}"
    if unit == "quarter":
        return f"{1970 + number // 4:04d}-Q{number % 4 + 1}"
    if unit == "year":
        return f"{1970 + number:04d}"
    return f"{number * 10:04d}-{number * 10 + 9:04d}"


# ── categories ──────────────────────────────────────────────────────────────────────────────


def group_by_frequency(labels: Sequence[str], counts: NDArray[np.int64]) -> Levels:
    """Group values that occur about equally often, by fours, then fours of groups, and so on.

    Ties are broken by label. A group's label names its members in their own order, not by
    frequency, which it would disclose.
    """
    falling = (-counts).tolist()
    order = sorted(range(len(labels)), key=lambda place: (falling[place], labels[place]))
    group_of_value = np.empty(len(labels), dtype=np.int64)
    group_of_value[order] = np.arange(len(labels))
    n_groups = len(labels)
    levels: Levels = []
    while n_groups > GROUP_SIZE:
        n_wider = -(-n_groups // GROUP_SIZE)
        # spread evenly, so that no group is left with a single member
        group_of_value = group_of_value * n_wider // n_groups
        n_groups = n_wider
        members: list[list[str]] = [[] for _ in range(n_groups)]
        for label, group in sorted(zip(labels, group_of_value.tolist(), strict=True)):
            members[group].append(label)
        levels.append((group_of_value, [_set_label(names) for names in members]))
    return levels


def _set_label(members: list[str]) -> str:
    shown = [
        _member_label(name) for name in (members if len(members) <= MEMBERS_SHOWN else members[:2])
    ]
    if len(members) > MEMBERS_SHOWN:
        shown.append(f"… +{len(members) - 2}")
    return "{" + "|".join(shown) + "}"


def _member_label(name: str) -> str:
    """Return a member as its group's label names it.

    What would have to be quoted in a text file, and what would be misread as part of the label,
    is percent-encoded, as are blanks at either end: ``a, b`` becomes ``a%2C b``.
    """
    n_blanks = len(name) - len(name.lstrip())
    end = len(name.rstrip())
    return "".join(
        _percent_encode(character)
        if _UNSAFE.match(name, place) or place < n_blanks or place >= end
        else character
        for place, character in enumerate(name)
    )


def _percent_encode(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())


# Ranges of numbers: a grid of round edges, and the hierarchy of all ranges on it.

MOST_STEPS = 100
"""The most steps between the ends of a grid that is chosen automatically."""

MOST_STATED_STEPS = 200
"""The most steps of a grid that the user states."""

END_SHARE = Fraction(1, 200)
"""The open cells hold at least this share of the rows each, as far as round ends allow."""

VALUES_PER_STEP = ((25, 5), (6, 2), (0, 1))
"""With at least so many different values in the span, a step holds about so many of them."""

SLACK = Fraction(5, 4)
"""Allowance for values within a span that happen not to occur."""

END_STEPS = ((40, 5), (16, 2), (0, 1))
"""With at least so many steps in the span, the ends are multiples of so many steps."""


@dataclass(frozen=True)
class Grid:
    """Cells between the edges ``first + n · step``; the outermost two are open.

    Cell 0 holds what is less than ``first``, cell ``n_edges`` what is not less than the last
    edge. An edge belongs to the cell that starts there. Where ``is_whole`` all numbers are.
    """

    first: Fraction
    step: Fraction
    n_edges: int
    is_whole: bool

    @property
    def last(self) -> Fraction:
        """The edge where the upper open cell starts."""
        return self.edge(self.n_edges - 1)

    def edge(self, place: int) -> Fraction:
        """Return an edge by its place, from 0."""
        return self.first + place * self.step

    def cells_of(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the cell of each number; edges are the floats that their decimals read as."""
        edges = np.asarray([float(self.edge(place)) for place in range(self.n_edges)])
        return np.searchsorted(edges, numbers, side="right").astype(np.int64)

    def label(self, low: int, high: int, members: Iterable[str] = ()) -> str:
        """Return how the run of cells from ``low`` to ``high`` is written.

        ``<20``, ``20-24``, ``-5 to -1``, ``0.5 to <0.75``, ``>=90``. A cell of a single whole
        number is that number, unless several ``members`` (1 and +1) have to be distinguished.
        """
        if low == 0:
            return f"<{format_decimal(self.edge(high))}"
        start = self.edge(low - 1)
        if high == self.n_edges:
            return f">={format_decimal(start)}"
        beyond = self.edge(high)
        if not self.is_whole or beyond.denominator != 1 or start.denominator != 1:
            return _half_open_label(start, beyond)
        if beyond - start == 1:
            is_one = len(list(members)) <= 1
            return format_decimal(start) if is_one else _half_open_label(start, beyond)
        return f"{start}-{beyond - 1}" if start >= 0 else f"{start} to {beyond - 1}"

    def bounds(self, cell: int, least: float, greatest: float) -> tuple[float, float]:
        """Return the least and greatest number of a cell, within those of the data."""
        low, high = least, greatest
        if cell > 0:
            low = max(least, float(self.edge(cell - 1)))
        if cell < self.n_edges:
            high = min(greatest, float(self.edge(cell) - (1 if self.is_whole else 0)))
        return low, max(low, high)


def find_grid(
    column: str,
    numbers: NDArray[np.float64],
    counts: NDArray[np.int64],
    *,
    is_whole: bool,
    step: float | None = None,
    lower: float | None = None,
    upper: float | None = None,
) -> Grid:
    """Return the grid as stated, with whatever is not stated chosen to suit the sorted numbers.

    The span is that of all rows but one in two hundred at either end; the step is the least of 1,
    2 or 5 times a power of ten that goes at most 100 times into it and holds about five different
    values (two or one where there are few of them in all), so that an edge is seldom a person's
    value; the ends are the outermost multiples of five steps within the span (fewer where it
    has few steps). So a single row hardly ever moves the grid. Where both ends are stated, so is
    a step that leads from one to the other; else the numbers are not all equal.
    """
    least, greatest = _central_span(numbers, counts)
    stated = None if step is None else Fraction(str(step))
    size = stated or _find_step(numbers, least, greatest, is_whole=is_whole)
    start = None if lower is None else Fraction(str(lower))
    end = None if upper is None else Fraction(str(upper))
    n_steps = (greatest - least) / size
    rounder = next(times for many, times in END_STEPS if n_steps >= many) * size
    # the ends are counted from what is stated, else from 0
    origin = start if start is not None else end if end is not None else Fraction(0)
    if start is None:
        start = origin + (math.floor((least - origin) / rounder) + 1) * rounder
        start = start if end is None else min(start, end)
    if end is None:
        end = max(start, origin + math.floor((greatest - origin) / rounder) * rounder)
    n_steps = (end - start) / size
    if n_steps > (MOST_STEPS if stated is None else MOST_STATED_STEPS):
        raise HierarchyError(
            f"column {column!r}: its ranges would have {int(n_steps):,} cells",
            remedy=f"State a step that goes at most {MOST_STATED_STEPS} times between the ends: "
            " ranges:5,from=20,to=80.",
        )
    is_exact = is_whole and size.denominator == 1 and start.denominator == 1
    return Grid(start, size, int(n_steps) + 1, is_exact)


def _find_step(
    numbers: NDArray[np.float64], least: Fraction, greatest: Fraction, *, is_whole: bool
) -> Fraction:
    n_values = int(((numbers >= float(least)) & (numbers <= float(greatest))).sum())
    per_step = next(times for many, times in VALUES_PER_STEP if n_values >= many)
    shortest = (greatest - least) / MOST_STEPS
    if per_step > 1:
        shortest = max(shortest, (greatest - least) * per_step / (SLACK * n_values))
    return round_step(shortest, is_whole=is_whole)


def round_step(least: Fraction, *, is_whole: bool) -> Fraction:
    """Return the least of 1, 2 or 5 times a power of ten that is not less, whole if asked for."""
    if is_whole and least <= 1:
        return Fraction(1)
    digits = math.log10(least.numerator) - math.log10(least.denominator)
    power = Fraction(10) ** (math.floor(digits) - 1)
    return next(
        times * power * shift
        for shift in (1, 10, 100)
        for times in (1, 2, 5)
        if times * power * shift >= least
    )


def _central_span(
    numbers: NDArray[np.float64], counts: NDArray[np.int64]
) -> tuple[Fraction, Fraction]:
    """Return the ends of the bulk of the rows; of all of them where the bulk is one number."""
    rank = np.cumsum(counts)
    share = float(END_SHARE)
    low = float(numbers[np.searchsorted(rank, share * rank[-1])])
    high = float(numbers[np.searchsorted(rank, (1 - share) * rank[-1])])
    if low == high:
        low, high = float(numbers[0]), float(numbers[-1])
    return Fraction(low), Fraction(high)


# ── the hierarchy on a grid ─────────────────────────────────────────────────────────────────


def build_ranges(
    column: str, labels: Sequence[str], numbers: NDArray[np.float64], grid: Grid, origin: str
) -> Hierarchy:
    """Return the hierarchy of rising numbers on a grid, with every run of its cells as a node.

    The tree goes from values to cells, to halves of halves of the cells that hold a value, up to
    the root; a run goes from a cell that holds a value to another. A cell of one whole number is
    that value.
    """
    place_of_cell, cell_of_leaf = np.unique(grid.cells_of(numbers), return_inverse=True)
    starts = np.append(np.searchsorted(cell_of_leaf, np.arange(len(place_of_cell))), len(labels))

    def label(first: int, last: int) -> str:
        members = labels[starts[first] : starts[last + 1]]
        return grid.label(int(place_of_cell[first]), int(place_of_cell[last]), members)

    levels: Levels = []
    for spans in reversed(_halve_cells(len(place_of_cell))):
        span_of_cell = np.repeat(np.arange(len(spans)), [last - first + 1 for first, last in spans])
        levels.append((span_of_cell[cell_of_leaf], [label(*span) for span in spans]))
    root = (np.zeros(len(labels), dtype=np.int64), [STAR])
    tree = Hierarchy.from_groups(column, labels, [*levels, root], values=numbers, origin=origin)
    bounds = [
        grid.bounds(place, float(numbers[0]), float(numbers[-1]))
        for place in place_of_cell.tolist()
    ]
    node_of = np.full((len(bounds), len(bounds)), -1, dtype=np.int32)
    further: list[str] = []
    for first in range(len(bounds)):
        for last in range(first, len(bounds)):
            is_all = first == 0 and last == len(bounds) - 1
            name = STAR if is_all else label(first, last)
            node = tree.node_of_label.get(name)
            if node is None:
                node = tree.n_nodes + len(further)
                further.append(name)
            node_of[first, last] = node
    low, high = np.asarray(bounds).T
    runs = Runs(tree.n_nodes, cell_of_leaf.astype(np.int32), node_of, tuple(further), low, high)
    return replace(tree, runs=runs)


def _halve_cells(n_cells: int) -> list[list[tuple[int, int]]]:
    """Return the cells in ever smaller spans, (first, last): two halves first, then cells."""
    spans = [(0, n_cells - 1)]
    levels = []
    while len(spans) < n_cells:
        halved = []
        for first, last in spans:
            middle = (first + last) // 2
            halved += [(first, middle), (middle + 1, last)] if first < last else [(first, last)]
        spans = halved
        levels.append(spans)
    return levels

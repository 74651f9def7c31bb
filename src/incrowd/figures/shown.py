"""What a released column shows, from the file alone: its commonest values, or a histogram."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.codes import numbered
from incrowd.data.encoding import coded
from incrowd.figures.blocks import Bars, Steps

MOST_VALUES = 12
MOST_BINS = 40
MISSING = "(missing)"


def shown_bars(column: pa.ChunkedArray, title: str) -> Bars:
    """Return how many rows show each of a column's commonest values."""
    cells = numbered(column)
    counts = np.bincount(cells.codes, minlength=cells.n_codes)
    labels = [*(str(value) for value in cells.values.to_pylist()), MISSING]
    order = sorted(
        (place for place in range(len(labels)) if counts[place]),
        key=lambda place: (-int(counts[place]), labels[place]),
    )
    named = [(labels[place], float(counts[place])) for place in order]
    return largest_bars(title, {"rows": named}, "values")


def largest_bars(
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
    )


def numbers_in(column: pa.ChunkedArray, missing_values: tuple[str, ...] = ()) -> Any:
    """Return a column's numbers, NaN where a cell is missing; None where some are no numbers."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        numbers = column.cast(pa.float64())
        return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
    cells = coded(column, missing_values)
    try:
        values = pc.cast(cells.texts, pa.float64())
    except pa.ArrowInvalid:
        return None
    of_code = np.append(np.asarray(values.to_numpy(zero_copy_only=False)), np.nan)
    return of_code[cells.codes]


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


def number_steps(
    title: str, edges: tuple[float, ...], series: dict[str, tuple[Any, Any]], note: str = ""
) -> Steps:
    """Return a histogram of (numbers, weights or None) per series; numbers beyond the edges no."""
    counted = {}
    for name, (numbers, weights) in series.items():
        finite = np.isfinite(numbers)
        places = np.searchsorted(np.asarray(edges), numbers[finite], side="right") - 1
        heavy = None if weights is None else weights[finite]
        counts = np.bincount(places, weights=heavy, minlength=len(edges) - 1)
        counted[name] = tuple(float(count) for count in counts[: len(edges) - 1])
    return Steps(title, edges, counted, y_title="rows", note=note)


def column_block(
    column: pa.ChunkedArray,
    title: str,
    before: pa.ChunkedArray | None = None,
    missing_values: tuple[str, ...] = (),
) -> Bars | Steps:
    """Return a column as it is released, beside what it was where that is known and differs."""
    cells = numbered(column)
    sides = {"before": before, "after": column} if before is not None else {"rows": column}
    if cells.n_values > MOST_VALUES:
        numbers = {name: numbers_in(side, missing_values) for name, side in sides.items()}
        if all(found is not None for found in numbers.values()):
            edges = number_edges(np.concatenate(list(numbers.values())))
            if len(edges) > 1:
                series = {name: (found, None) for name, found in numbers.items()}
                return number_steps(title, edges, series)
    if before is None:
        return shown_bars(column, title)
    return _bars_of_both(column, before, title)


def _bars_of_both(column: pa.ChunkedArray, before: pa.ChunkedArray, title: str) -> Bars:
    counts = {}
    for name, side in (("before", before), ("after", column)):
        cells = numbered(side)
        labels = [*(str(value) for value in cells.values.to_pylist()), MISSING]
        found = np.bincount(cells.codes, minlength=cells.n_codes).tolist()
        counts[name] = {label: n for label, n in zip(labels, found, strict=True) if n}
    every = {*counts["before"], *counts["after"]}
    order = sorted(every, key=lambda label: (-counts["before"].get(label, 0), label))
    named = {
        name: [(label, float(found.get(label, 0))) for label in order]
        for name, found in counts.items()
    }
    return largest_bars(title, named, "values")

"""Proof of means: that each released line shows the rounded means of the rows behind it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.data.dataset import Rows
from incrowd.data.encoding import coded, nodes_of
from incrowd.data.hierarchy import Hierarchy
from incrowd.data.kinds import labels_of, parse_numbers
from incrowd.data.means import exact_numbers, sums_of_groups
from incrowd.data.table import Table
from incrowd.metrics.squares import share_of_squares


def line_of_row(frame: pa.Table, names: Sequence[str]) -> NDArray[np.int32]:
    """Return a number per row that is equal where the cells of these columns all are."""
    line = np.zeros(frame.num_rows, dtype=np.int64)
    for name in names:
        cells = coded(frame.column(name))
        line = line * (len(cells.labels) + 1) + cells.codes + 1
        line = np.unique(line, return_inverse=True)[1]
    return line.astype(np.int32)


def not_the_mean(
    before: pa.ChunkedArray,
    after: pa.ChunkedArray,
    hierarchy: Hierarchy,
    line: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Return which rows do not show their line's mean, rounded to the column's unit.

    A number is the mean rounded if it is a multiple of the unit and the mean lies from half a
    unit below it, that included, to half a unit above it.
    """
    unit = hierarchy.mean_unit
    if unit is None:
        raise ValueError("the column shows no means")
    leaves = nodes_of(before, hierarchy, "the original")
    numbers, scale = exact_numbers(hierarchy.labels[: hierarchy.n_leaves])
    sums = sums_of_groups(numbers, leaves, line)
    sizes = np.bincount(line, minlength=len(sums)).tolist()
    cells = coded(after)
    is_number = ~np.isnan(parse_numbers(cells.labels))
    _, first_row = np.unique(line, return_index=True)
    is_wrong = np.zeros(len(sums), dtype=np.bool_)
    for number, row in enumerate(first_row.tolist()):
        code = int(cells.codes[row])
        if code < 0 or not is_number[code]:
            is_wrong[number] = True
            continue
        shown = Fraction(cells.labels[code].strip())
        above = Fraction(sums[number], sizes[number] * scale) - shown
        is_wrong[number] = (shown / unit).denominator != 1 or not -unit <= 2 * above < unit
    return is_wrong[line]


def losses_of_means(
    before: Rows, released: Table, original_row: NDArray[np.int64]
) -> dict[str, float]:
    """Return ``sse`` where columns show means: how far they are from the numbers they stand for."""
    original, shown = [], []
    for name, hierarchy, leaves in zip(before.names, before.hierarchies, before.nodes, strict=True):
        if hierarchy.mean_unit is not None and hierarchy.values is not None:
            original.append(hierarchy.values[leaves[original_row]])
            shown.append(parse_numbers(labels_of(released.frame.column(name))))
    return {"sse": share_of_squares(original, shown)} if original else {}

"""What one block of rows adds to the sums of a round that decides how parts are split."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import compiled
from incrowd.methods.rbat.problem import DistinctRows


@compiled
def add_supports(rows: DistinctRows, n_items: int, cells: NDArray[np.int64]) -> None:
    """Add how many rows hold each public item, and after them each sensitive set."""
    for row in range(len(rows.n_equal)):
        n_equal = np.int64(rows.n_equal[row])
        for place in range(rows.starts[row], rows.starts[row + 1]):
            cells[rows.items[place]] += n_equal
        for place in range(rows.tells_starts[row], rows.tells_starts[row + 1]):
            cells[n_items + rows.tells[place]] += n_equal


@compiled
def add_pairs(
    rows: DistinctRows,
    part_of_item: NDArray[np.int32],
    line_of_item: NDArray[np.int64],
    column_of_item: NDArray[np.int32],
    cells: NDArray[np.int64],
) -> None:
    """Add in how many rows the items that have a line occur together with others of their part.

    A line begins at the cell ``line_of_item`` (-1: none) and has a cell per item of the part. Of
    two items with lines only the earlier line is filled. O(squares of the rows' sizes).
    """
    for row in range(len(rows.n_equal)):
        n_equal = np.int64(rows.n_equal[row])
        for place in range(rows.starts[row], rows.starts[row + 1]):
            item = rows.items[place]
            line = line_of_item[item]
            if line < 0:
                continue
            for entry in range(rows.starts[row], rows.starts[row + 1]):
                other = rows.items[entry]
                if part_of_item[other] != part_of_item[item] or other == item:
                    continue
                if line_of_item[other] < 0 or line_of_item[other] > line:
                    cells[line + column_of_item[other]] += n_equal


@compiled
def add_sides(
    rows: DistinctRows,
    split_of_item: NDArray[np.int32],
    side_of_item: NDArray[np.uint8],
    cell_of_item: NDArray[np.int64],
    cell_of_split: NDArray[np.int64],
    cells: NDArray[np.int64],
) -> None:
    """Add how many rows hold the left and the right of each split, and either with an item.

    Two cells for each split, and two for each item that has a cell. O(entries).
    """
    flags = np.zeros(len(cell_of_split), dtype=np.uint8)
    for row in range(len(rows.n_equal)):
        n_equal = np.int64(rows.n_equal[row])
        start, end = rows.starts[row], rows.starts[row + 1]
        for place in range(start, end):
            item = rows.items[place]
            if split_of_item[item] >= 0:
                flags[split_of_item[item]] |= side_of_item[item]
        for place in range(start, end):
            item = rows.items[place]
            if split_of_item[item] >= 0 and cell_of_item[item] >= 0:
                flag = np.int64(flags[split_of_item[item]])
                cells[cell_of_item[item]] += n_equal * (flag & 1)
                cells[cell_of_item[item] + 1] += n_equal * (flag >> 1)
        for place in range(start, end):
            split = split_of_item[rows.items[place]]
            if split >= 0:
                flag = np.int64(flags[split])
                cells[cell_of_split[split]] += n_equal * (flag & 1)
                cells[cell_of_split[split] + 1] += n_equal * (flag >> 1)
                flags[split] = 0


@compiled
def add_patterns(
    rows: DistinctRows,
    split_of_item: NDArray[np.int32],
    bit_of_item: NDArray[np.int64],
    cell_of_split: NDArray[np.int64],
    cells: NDArray[np.int64],
) -> None:
    """Add how many rows hold each combination of a split's bits; none of them is not counted.

    O(entries).
    """
    patterns = np.zeros(len(cell_of_split), dtype=np.int64)
    for row in range(len(rows.n_equal)):
        n_equal = np.int64(rows.n_equal[row])
        for place in range(rows.starts[row], rows.starts[row + 1]):
            item = rows.items[place]
            if split_of_item[item] >= 0:
                patterns[split_of_item[item]] |= bit_of_item[item]
        for place in range(rows.starts[row], rows.starts[row + 1]):
            split = split_of_item[rows.items[place]]
            if split >= 0 and patterns[split]:
                cells[cell_of_split[split] + patterns[split]] += n_equal
                patterns[split] = 0

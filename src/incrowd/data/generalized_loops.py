"""Loops that put one item in the place of several, row by row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled


@compiled
def replaced(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    new_of_item: NDArray[np.int32],
    n_new: Whole,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return rows of the new items, each once in a row and ascending; O(entries + new items).

    Rows are gathered by item and the items, in order, handed back to their rows: no sorting.
    """
    n_rows = len(starts) - 1
    last_row = np.full(n_new, -1, dtype=np.int64)
    new_starts = np.zeros(n_rows + 1, dtype=np.int64)
    list_start = np.zeros(n_new + 2, dtype=np.int64)
    for row in range(n_rows):
        n_distinct = 0
        for entry in range(starts[row], starts[row + 1]):
            new = new_of_item[items[entry]]
            if last_row[new] != row:
                last_row[new] = row
                list_start[new + 2] += 1
                n_distinct += 1
        new_starts[row + 1] = new_starts[row] + n_distinct
    for new in range(2, len(list_start)):
        list_start[new] += list_start[new - 1]
    row_of = np.empty(new_starts[n_rows], dtype=np.int32)
    last_row[:] = -1
    for row in range(n_rows):
        for entry in range(starts[row], starts[row + 1]):
            new = new_of_item[items[entry]]
            if last_row[new] != row:
                last_row[new] = row
                row_of[list_start[new + 1]] = row
                list_start[new + 1] += 1
    new_items = np.empty(len(row_of), dtype=np.int32)
    next_entry = new_starts[:-1].copy()
    for new in range(n_new):
        for at in range(list_start[new], list_start[new + 1]):
            row = row_of[at]
            new_items[next_entry[row]] = new
            next_entry[row] += 1
    return new_starts, new_items

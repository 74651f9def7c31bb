"""Loops over sets of items: which rows are equal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled
from incrowd.kernels.rows import are_equal, mixed


@compiled
def row_hashes(starts: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return a number per row that equal rows share. O(entries)."""
    hashes = np.empty(len(starts) - 1, dtype=np.uint64)
    for row in range(len(starts) - 1):
        total = np.uint64(starts[row + 1] - starts[row])
        for place in range(starts[row], starts[row + 1]):
            total += mixed(np.uint64(items[place]))
        hashes[row] = total
    return hashes


@compiled
def first_equal_rows(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    order: NDArray[np.int64],
    hashes: NDArray[np.uint64],
) -> NDArray[np.int64]:
    """Return the first row that each row equals; ``order`` sorts rows by hash, then by number.

    O(entries) unless hashes collide.
    """
    n_rows = len(order)
    first_of_row = np.empty(n_rows, dtype=np.int64)
    run: Whole = np.int64(0)
    for place in range(n_rows):
        row = order[place]
        if hashes[row] != hashes[order[run]]:
            run = place
        first_of_row[row] = row
        for earlier in range(run, place):
            other = order[earlier]
            if first_of_row[other] == other and are_equal(starts, items, row, other):
                first_of_row[row] = other
                break
    return first_of_row

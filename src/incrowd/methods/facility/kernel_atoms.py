"""Loops over sets of items: equal rows, lists turned around, counts of common items."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner


@compiled
def row_hashes(starts: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return a number per row that equal rows share. O(entries)."""
    hashes = np.empty(len(starts) - 1, dtype=np.uint64)
    for row in range(len(starts) - 1):
        total = np.uint64(starts[row + 1] - starts[row])
        for place in range(starts[row], starts[row + 1]):
            mixed = np.uint64(items[place]) + np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            total += mixed ^ (mixed >> np.uint64(31))
        hashes[row] = total
    return hashes


@compiled_inner
def _are_equal(
    starts: NDArray[np.int64], items: NDArray[np.int32], one: Whole, other: Whole
) -> Flag:
    size = starts[one + 1] - starts[one]
    if size != starts[other + 1] - starts[other]:
        return False
    n_equal = 0
    for place in range(size):
        n_equal += items[starts[one] + place] == items[starts[other] + place]
    return n_equal == size


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
            if first_of_row[other] == other and _are_equal(starts, items, row, other):
                first_of_row[row] = other
                break
    return first_of_row


@compiled
def turned(
    starts: NDArray[np.int64], items: NDArray[np.int32], n_items: Whole
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return which rows hold each item, ascending, in the same form. O(entries + items)."""
    row_starts = np.zeros(n_items + 1, dtype=np.int64)
    for place in range(len(items)):
        row_starts[items[place] + 1] += 1
    for item in range(n_items):
        row_starts[item + 1] += row_starts[item]
    next_place = row_starts[:-1].copy()
    rows = np.empty(len(items), dtype=np.int32)
    for row in range(len(starts) - 1):
        for place in range(starts[row], starts[row + 1]):
            rows[next_place[items[place]]] = row
            next_place[items[place]] += 1
    return row_starts, rows

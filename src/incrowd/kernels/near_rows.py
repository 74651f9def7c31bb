"""Rows of items beside each other: which are equal, and how far the nearest ones are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled
from incrowd.kernels.item_rows import are_equal, mix_bits

# ── equal rows ──────────────────────────────────────────────────────────────────────────────────


@compiled
def row_hashes(starts: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return a number per row that equal rows share. O(entries)."""
    hashes = np.empty(len(starts) - 1, dtype=np.uint64)
    for row in range(len(starts) - 1):
        total = np.uint64(starts[row + 1] - starts[row])
        for place in range(starts[row], starts[row + 1]):
            total += mix_bits(np.uint64(items[place]))
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


def distinct_rows(
    starts: NDArray[np.int64], items: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the first row of each distinct set, every row's set, and how many rows each has.

    Distinct sets are numbered by their first rows.
    """
    hashes = row_hashes(starts, items)
    order = np.argsort(hashes, kind="stable")
    first_of_row = first_equal_rows(starts, items, order, hashes)
    firsts, distinct_of_row, n_rows = np.unique(
        first_of_row, return_inverse=True, return_counts=True
    )
    return firsts, distinct_of_row, n_rows.astype(np.int64)


def rows_by_size(starts: NDArray[np.int64], weight: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many rows have a set of each size."""
    sizes = np.diff(starts)
    n_rows = np.zeros(int(sizes.max(initial=0)) + 1, dtype=np.int64)
    np.add.at(n_rows, sizes, weight)
    return n_rows


# ── the nearest rows ────────────────────────────────────────────────────────────────────────────


@compiled
def sum_nearest(
    first: Whole,
    end: Whole,
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    holder_starts: NDArray[np.int64],
    holders: NDArray[np.int32],
    weight: NDArray[np.int64],
    n_nearest: NDArray[np.int64],
    rows_of_size: NDArray[np.int64],
    summed: NDArray[np.int64],
) -> None:
    """Sum, for sets ``first`` to ``end``, the distances to their nearest rows.

    ``summed[which, set]`` is of the ``n_nearest[which, set]`` nearest. A row is one of its own
    nearest, at distance 0. Nothing is sorted: distances of distinct sets with a common item are
    counted in a histogram, all others lie at |u| + size, and ``rows_of_size`` minus the touched
    ones says how many. O(entries of the holders of u's items + largest size).
    """
    n_distinct = len(weight)
    largest = len(rows_of_size) - 1
    common = np.zeros(n_distinct, dtype=np.int32)
    touched = np.empty(n_distinct, dtype=np.int32)
    rows_at = np.zeros(2 * largest + 1, dtype=np.int64)
    untouched = rows_of_size.copy()
    for distinct in range(first, end):
        # common: how many items each other set has in common with this one
        size = starts[distinct + 1] - starts[distinct]
        n_touched = 0
        for place in range(starts[distinct], starts[distinct + 1]):
            item = items[place]
            for at in range(holder_starts[item], holder_starts[item + 1]):
                other = holders[at]
                if common[other] == 0:
                    touched[n_touched] = other
                    n_touched += 1
                common[other] += 1
        # rows_at: rows at each distance among those; untouched: the other rows by their size
        for at in range(n_touched):
            other = touched[at]
            other_size = starts[other + 1] - starts[other]
            rows_at[size + other_size - 2 * common[other]] += weight[other]
            untouched[other_size] -= weight[other]
        # walk up the distances until enough rows are taken
        for which in range(len(n_nearest)):
            wanted = n_nearest[which, distinct]
            total = np.int64(0)
            distance = 0
            while wanted > 0 and distance <= size + largest:
                here = rows_at[distance]
                if distance >= size:
                    here += untouched[distance - size]
                taken = min(wanted, here)
                total += taken * distance
                wanted -= taken
                distance += 1
            summed[which, distinct] = total
        # undo what was counted, for the next set
        for at in range(n_touched):
            other = touched[at]
            other_size = starts[other + 1] - starts[other]
            rows_at[size + other_size - 2 * common[other]] = 0
            untouched[other_size] += weight[other]
            common[other] = 0

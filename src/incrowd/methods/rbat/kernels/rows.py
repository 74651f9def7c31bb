"""Transactions laid out for a search: their public items, what they tell, and equal ones as one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner
from incrowd.kernels.item_rows import are_equal, mix_bits


@compiled_inner
def _holds(
    items: NDArray[np.int32], start: Whole, end: Whole, wanted: NDArray[np.int32], begin: Whole
) -> Flag:
    """Whether a row, ascending, holds all of ``wanted`` from ``begin`` on."""
    place = start
    for number in range(begin, len(wanted)):
        while place < end and items[place] < wanted[number]:
            place += 1
        if place == end or items[place] != wanted[number]:
            return False
    return True


@compiled
def lay_out(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    public_of_item: NDArray[np.int32],
    first_told: NDArray[np.int32],
    next_told: NDArray[np.int32],
    told_starts: NDArray[np.int64],
    told_items: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """Return the public items of every row, and the sensitive sets that it holds, as lists.

    Rows without a public item are left out. ``first_told[item]`` is the first sensitive set that
    is looked for where a row holds the item, ``next_told`` the next; set s is
    ``told_items[told_starts[s]:told_starts[s + 1]]``. O(entries) where sensitive sets are single.
    """
    # count first, so that the lists have just the room they need
    n_rows = len(starts) - 1
    n_kept = 0
    n_public = 0
    n_told = 0
    for row in range(n_rows):
        before = n_public
        for entry in range(starts[row], starts[row + 1]):
            n_public += public_of_item[items[entry]] >= 0
        if n_public == before:
            continue
        n_kept += 1
        for entry in range(starts[row], starts[row + 1]):
            told = first_told[items[entry]]
            while told >= 0:
                wanted = told_items[told_starts[told] : told_starts[told + 1]]
                n_told += _holds(items, starts[row], starts[row + 1], wanted, 0)
                told = next_told[told]
    # then write the same
    row_starts = np.zeros(n_kept + 1, dtype=np.int64)
    row_items = np.empty(n_public, dtype=np.int32)
    tells_starts = np.zeros(n_kept + 1, dtype=np.int64)
    tells = np.empty(n_told, dtype=np.int32)
    kept = 0
    n_public = 0
    n_told = 0
    for row in range(n_rows):
        before = n_public
        for entry in range(starts[row], starts[row + 1]):
            public = public_of_item[items[entry]]
            if public >= 0:
                row_items[n_public] = public
                n_public += 1
        if n_public == before:
            continue
        for entry in range(starts[row], starts[row + 1]):
            told = first_told[items[entry]]
            while told >= 0:
                wanted = told_items[told_starts[told] : told_starts[told + 1]]
                if _holds(items, starts[row], starts[row + 1], wanted, 0):
                    tells[n_told] = told
                    n_told += 1
                told = next_told[told]
        kept += 1
        row_starts[kept] = n_public
        tells_starts[kept] = n_told
    return row_starts, row_items, tells_starts, tells


@compiled
def first_equal(
    row_starts: NDArray[np.int64],
    row_items: NDArray[np.int32],
    tells_starts: NDArray[np.int64],
    tells: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the first of every run of equal rows, and how many rows each of them stands for.

    Rows are equal if they have the same public items and tell the same. O(entries) with a table
    of twice as many places as there are rows, at the least.
    """
    n_rows = len(row_starts) - 1
    room = 16
    while room < 2 * n_rows:
        room *= 2
    table = np.full(room, -1, dtype=np.int32)
    firsts = np.empty(n_rows, dtype=np.int32)
    n_equal = np.zeros(n_rows, dtype=np.int32)
    n_firsts = 0
    for row in range(n_rows):
        key = np.uint64(7)
        for place in range(row_starts[row], row_starts[row + 1]):
            key = mix_bits(key ^ np.uint64(row_items[place]))
        for place in range(tells_starts[row], tells_starts[row + 1]):
            key = mix_bits(key ^ (np.uint64(tells[place]) << np.uint64(32)))
        slot = np.int64(key & np.uint64(room - 1))
        while table[slot] >= 0:
            first = firsts[table[slot]]
            if are_equal(row_starts, row_items, row, first) and are_equal(
                tells_starts, tells, row, first
            ):
                break
            slot = (slot + 1) & (room - 1)
        if table[slot] < 0:
            table[slot] = n_firsts
            firsts[n_firsts] = row
            n_firsts += 1
        n_equal[table[slot]] += 1
    return firsts[:n_firsts].copy(), n_equal[:n_firsts].copy()


@compiled
def taken(
    starts: NDArray[np.int64], items: NDArray[np.int32], rows: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return these rows of some lists, in this order."""
    new_starts = np.zeros(len(rows) + 1, dtype=np.int64)
    for number in range(len(rows)):
        size = starts[rows[number] + 1] - starts[rows[number]]
        new_starts[number + 1] = new_starts[number] + size
    new_items = np.empty(new_starts[-1], dtype=np.int32)
    for number in range(len(rows)):
        start = starts[rows[number]]
        for place in range(new_starts[number + 1] - new_starts[number]):
            new_items[new_starts[number] + place] = items[start + place]
    return new_starts, new_items


@compiled
def counted(
    starts: NDArray[np.int64], items: NDArray[np.int32], n_equal: NDArray[np.int32], n_items: Whole
) -> NDArray[np.int64]:
    """Return how many rows hold every item, each counted for as many as it stands for."""
    counts = np.zeros(n_items, dtype=np.int64)
    for row in range(len(starts) - 1):
        for place in range(starts[row], starts[row + 1]):
            counts[items[place]] += n_equal[row]
    return counts

"""Loops over lists of rows that hold an item."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner


@compiled_inner
def _is_listed(rows: NDArray[np.int32], start: Whole, end: Whole, row: Whole) -> Flag:
    """Whether a row is in a rising list, by halving it."""
    low, high = start, end
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low < end and rows[low] == row


@compiled
def count_holders(
    list_start: NDArray[np.int64],
    rows: NDArray[np.int32],
    known: NDArray[np.int32],
    own_row: NDArray[np.int64],
    n_holders: NDArray[np.int64],
    is_holder: NDArray[np.bool_],
) -> None:
    """Count, for each person, the rows that hold all known items, and whether their own does.

    Item i is held by ``rows[list_start[i]:list_start[i + 1]]``, rising. A known item of −1 is held
    by nobody. O(shortest list × items × log of the longest) for each person.
    """
    for person in range(len(known)):
        items = known[person]
        shortest, is_there = -1, True
        for item in items:
            if item < 0:
                is_there = False
            elif shortest < 0 or (
                list_start[item + 1] - list_start[item]
                < list_start[shortest + 1] - list_start[shortest]
            ):
                shortest = item
        n_found = 0
        if is_there and shortest >= 0:
            for place in range(list_start[shortest], list_start[shortest + 1]):
                row = rows[place]
                holds_all = True
                for item in items:
                    if item != shortest and not _is_listed(
                        rows, list_start[item], list_start[item + 1], row
                    ):
                        holds_all = False
                        break
                if holds_all:
                    n_found += 1
                    if row == own_row[person]:
                        is_holder[person] = True
        n_holders[person] = n_found

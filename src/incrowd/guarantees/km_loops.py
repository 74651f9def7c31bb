"""Loops that count every pair or triple of items that rows hold, one first item after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner

N_SETS, N_BROKEN, LEAST = 0, 1, 2


@compiled_inner
def _count_after(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    weight: NDArray[np.int64],
    entries: NDArray[np.int64],
    rows: NDArray[np.int32],
    k: Whole,
    support: NDArray[np.int64],
    met: NDArray[np.int32],
    is_exposed: NDArray[np.bool_],
    tally: NDArray[np.int64],
) -> None:
    """Count the items that follow these entries in their rows, and tally those below k.

    ``support`` is all 0 before and after; ``met`` is room for as many items as there are.
    """
    n_met = 0
    for at in range(len(entries)):
        row = rows[at]
        for entry in range(entries[at] + 1, starts[row + 1]):
            item = items[entry]
            if support[item] == 0:
                met[n_met] = item
                n_met += 1
            support[item] += weight[row]
    n_broken = 0
    for at in range(n_met):
        n_broken += support[met[at]] < k
        tally[LEAST] = min(tally[LEAST], support[met[at]])
    tally[N_SETS] += n_met
    tally[N_BROKEN] += n_broken
    if n_broken:
        for at in range(len(entries)):
            row = rows[at]
            for entry in range(entries[at] + 1, starts[row + 1]):
                is_exposed[row] |= support[items[entry]] < k
    for at in range(n_met):
        support[met[at]] = 0


@compiled_inner
def _entries_by_item(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    entries: NDArray[np.int64],
    rows: NDArray[np.int32],
    list_start: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the entries that follow these in their rows, item by item, and their rows.

    The list of an item ends at ``list_start[item + 1]``.
    """
    list_start[:] = 0
    for at in range(len(entries)):
        for entry in range(entries[at] + 1, starts[rows[at] + 1]):
            list_start[items[entry] + 2] += 1
    for item in range(2, len(list_start)):
        list_start[item] += list_start[item - 1]
    n_following = list_start[len(list_start) - 1]
    following = np.empty(n_following, dtype=np.int64)
    row_of = np.empty(n_following, dtype=np.int32)
    for at in range(len(entries)):
        for entry in range(entries[at] + 1, starts[rows[at] + 1]):
            place = list_start[items[entry] + 1]
            following[place] = entry
            row_of[place] = rows[at]
            list_start[items[entry] + 1] += 1
    return following, row_of


@compiled
def count_shown(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    weight: NDArray[np.int64],
    n_items: Whole,
    low: Whole,
    high: Whole,
    has_three: Flag,
    k: Whole,
    is_exposed: NDArray[np.bool_],
    tally: NDArray[np.int64],
) -> None:
    """Count every pair, or triple, whose first item is from ``low`` to ``high``.

    Row r stands for ``weight[r]`` transactions. O(Σ size²) over rows for pairs, O(Σ size³) for
    triples; memory is 12 bytes for each entry of these first items, and for triples again for
    each entry that follows one first item.
    """
    n_of_first = np.zeros(high - low + 2, dtype=np.int64)
    for entry in range(len(items)):
        if low <= items[entry] < high:
            n_of_first[items[entry] - low + 2] += 1
    for first in range(2, len(n_of_first)):
        n_of_first[first] += n_of_first[first - 1]
    entries = np.empty(n_of_first[high - low + 1], dtype=np.int64)
    rows = np.empty(len(entries), dtype=np.int32)
    for row in range(len(starts) - 1):
        for entry in range(starts[row], starts[row + 1]):
            first = items[entry] - low
            if 0 <= first < high - low:
                entries[n_of_first[first + 1]] = entry
                rows[n_of_first[first + 1]] = row
                n_of_first[first + 1] += 1
    support = np.zeros(n_items, dtype=np.int64)
    met = np.empty(n_items, dtype=np.int32)
    list_start = np.empty(n_items + 2, dtype=np.int64)
    for first in range(high - low):
        mine = entries[n_of_first[first] : n_of_first[first + 1]]
        row_of = rows[n_of_first[first] : n_of_first[first + 1]]
        if not has_three:
            _count_after(starts, items, weight, mine, row_of, k, support, met, is_exposed, tally)
            continue
        following, their_rows = _entries_by_item(starts, items, mine, row_of, list_start)
        for second in range(low + first + 1, n_items):
            begin, end = list_start[second], list_start[second + 1]
            if begin < end:
                _count_after(
                    starts,
                    items,
                    weight,
                    following[begin:end],
                    their_rows[begin:end],
                    k,
                    support,
                    met,
                    is_exposed,
                    tally,
                )

"""Counting the holders of every item in every group, and showing what the vote lets through."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner, compiled_into_callers
from incrowd.kernels.sorting import shell_sort

SMOOTH_CODE, MAJORITY_CODE, SUPPRESSION_CODE = 0, 1, 2


class Rule(NamedTuple):
    """A vote in numbers: whose it is, whether a tie is too little, what a created entry costs.

    ``price`` is in kept entries. It matters to which items pass under majority alone, where an
    item may be allowed that creates more than it keeps.
    """

    code: int
    is_strict: int
    price: float


@compiled_into_callers
def least_holders(rule: Rule, size: Whole, bar: Whole) -> Whole:
    """Return how many of a group's rows must hold an item that it shows; ``bar`` is its need."""
    if rule.code == SUPPRESSION_CODE:
        return size
    if rule.code == SMOOTH_CODE:
        return size // 2 + 1 if rule.is_strict else (size + 1) // 2
    allowed = bar // 2 + 1 if rule.is_strict else (bar + 1) // 2
    worth = np.int64(np.floor(rule.price * size / (1.0 + rule.price))) + 1
    return max(allowed, worth)


@compiled
def rows_by_group(
    group_of_row: NDArray[np.int32], n_groups: Whole
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each group's rows start, and the rows group by group, ascending."""
    starts = np.zeros(n_groups + 1, dtype=np.int64)
    for group in group_of_row:
        starts[group + 1] += 1
    for group in range(n_groups):
        starts[group + 1] += starts[group]
    filled = starts[:-1].copy()
    rows = np.empty(len(group_of_row), dtype=np.int64)
    for row in range(len(group_of_row)):
        group = group_of_row[row]
        rows[filled[group]] = row
        filled[group] += 1
    return starts, rows


@compiled_inner
def _counted(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    rows: NDArray[np.int64],
    holders: NDArray[np.int32],
    touched: NDArray[np.int32],
) -> Whole:
    """Count the holders of each item among these rows; return how many items were touched."""
    n_touched = 0
    for row in rows:
        for entry in range(starts[row], starts[row + 1]):
            item = items[entry]
            if holders[item] == 0:
                touched[n_touched] = item
                n_touched += 1
            holders[item] += 1
    return n_touched


@compiled
def tally_rows(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    n_items: Whole,
    group_starts: NDArray[np.int64],
    rows: NDArray[np.int64],
    needs: NDArray[np.int32],
    rule: Rule,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return per group how many entries it keeps, how many it creates, how many items it shows.

    O(entries).
    """
    holders = np.zeros(n_items, dtype=np.int32)
    touched = np.empty(n_items, dtype=np.int32)
    n_groups = len(group_starts) - 1
    kept = np.zeros(n_groups, dtype=np.int64)
    created = np.zeros(n_groups, dtype=np.int64)
    n_shown = np.zeros(n_groups, dtype=np.int64)
    for group in range(n_groups):
        members = rows[group_starts[group] : group_starts[group + 1]]
        size = len(members)
        bar = 0
        for row in members:
            bar = max(bar, needs[row])
        n_touched = _counted(starts, items, members, holders, touched)
        least = least_holders(rule, size, bar)
        for place in range(n_touched):
            n_holders = holders[touched[place]]
            holders[touched[place]] = 0
            if n_holders >= least:
                kept[group] += n_holders
                created[group] += size - n_holders
                n_shown[group] += 1
    return kept, created, n_shown


@compiled
def shown_items(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    n_items: Whole,
    group_starts: NDArray[np.int64],
    rows: NDArray[np.int64],
    needs: NDArray[np.int32],
    rule: Rule,
    shown: NDArray[np.int32],
) -> None:
    """Fill ``shown``, which is as long as all groups show items: ascending in a group."""
    holders = np.zeros(n_items, dtype=np.int32)
    touched = np.empty(n_items, dtype=np.int32)
    end = 0
    for group in range(len(group_starts) - 1):
        members = rows[group_starts[group] : group_starts[group + 1]]
        bar = 0
        for row in members:
            bar = max(bar, needs[row])
        n_touched = _counted(starts, items, members, holders, touched)
        least = least_holders(rule, len(members), bar)
        start = end
        for place in range(n_touched):
            if holders[touched[place]] >= least:
                shown[end] = touched[place]
                end += 1
            holders[touched[place]] = 0
        shell_sort(shown[start:end], end - start)


@compiled
def least_keys_of_groups(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    group_starts: NDArray[np.int64],
    rows: NDArray[np.int64],
    key_of_item: NDArray[np.uint32],
    keys: NDArray[np.uint32],
) -> None:
    """Fill ``keys[hash, group]`` with the least keys of the items that at least half of it hold.

    A group without such an item has its first row's keys. ``key_of_item[hash, item]``.
    """
    n_hashes, n_items = key_of_item.shape
    holders = np.zeros(n_items, dtype=np.int32)
    touched = np.empty(n_items, dtype=np.int32)
    for group in range(len(group_starts) - 1):
        members = rows[group_starts[group] : group_starts[group + 1]]
        n_touched = _counted(starts, items, members, holders, touched)
        least = (len(members) + 1) // 2
        for number in range(n_hashes):
            keys[number, group] = np.uint32(0xFFFFFFFF)
        is_empty = True
        for place in range(n_touched):
            item = touched[place]
            if holders[item] >= least:
                is_empty = False
                for number in range(n_hashes):
                    keys[number, group] = min(keys[number, group], key_of_item[number, item])
            holders[item] = 0
        if is_empty:
            for entry in range(starts[members[0]], starts[members[0] + 1]):
                for number in range(n_hashes):
                    keys[number, group] = min(
                        keys[number, group], key_of_item[number, items[entry]]
                    )


@compiled
def renumbered(group_of_row: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the same groups numbered from 0 in the order of their first rows."""
    largest = -1
    for group in group_of_row:
        largest = max(largest, group)
    number = np.full(largest + 1, -1, dtype=np.int32)
    found = np.empty(len(group_of_row), dtype=np.int32)
    n_groups = 0
    for row in range(len(group_of_row)):
        group = group_of_row[row]
        if number[group] < 0:
            number[group] = n_groups
            n_groups += 1
        found[row] = number[group]
    return found

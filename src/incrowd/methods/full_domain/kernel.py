"""Group rows that a choice of levels makes equal, and judge the groups.

An entry is a set of rows that are equal already: a distinct row, or a group of lower levels. It is
known by one of its distinct rows, since all of them show the same nodes from there upwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner
from incrowd.kernels.validity import Scratch, is_valid

SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ over the golden ratio: multiplying by it spreads keys over the slots."""


@compiled_inner
def _shows_the_same(
    one: Whole,
    other: Whole,
    leaf_of_distinct: NDArray[np.int32],
    start_of_column: NDArray[np.int64],
    code_of_leaf: NDArray[np.int64],
) -> Flag:
    for column in range(start_of_column.size):
        start = start_of_column[column]
        first = code_of_leaf[start + leaf_of_distinct[one, column]]
        if first != code_of_leaf[start + leaf_of_distinct[other, column]]:
            return False
    return True


@compiled
def group_entries(
    distinct_of_entry: NDArray[np.int32],
    leaf_of_distinct: NDArray[np.int32],
    start_of_column: NDArray[np.int64],
    code_of_leaf: NDArray[np.int64],
    radix_of_column: NDArray[np.uint64],
    is_injective: Flag,
    slots: NDArray[np.int32],
    key_of_group: NDArray[np.uint64],
    group_of_entry: NDArray[np.int32],
) -> Whole:
    """Number the groups in the order of their first entry; return how many there are.

    ``code_of_leaf`` numbers the nodes that leaves show; Σ code · radix is a row's key, which
    ``is_injective`` says no two different rows share. ``slots`` is a table with open addressing,
    a power of two long and at least twice as long as there are entries. O(entries · columns).
    """
    slots[:] = -1
    mask = np.int64(slots.size - 1)
    n_groups = np.int64(0)
    distinct_of_group = np.empty(distinct_of_entry.size, dtype=np.int32)
    for entry in range(distinct_of_entry.size):
        distinct = distinct_of_entry[entry]
        key = np.uint64(0)
        for column in range(start_of_column.size):
            code = code_of_leaf[start_of_column[column] + leaf_of_distinct[distinct, column]]
            key += np.uint64(code) * radix_of_column[column]
        slot = np.int64((key * SPREAD) >> np.uint64(32)) & mask
        while True:
            group = slots[slot]
            if group < 0:
                slots[slot] = n_groups
                key_of_group[n_groups] = key
                distinct_of_group[n_groups] = distinct
                group_of_entry[entry] = n_groups
                n_groups += 1
                break
            if key_of_group[group] == key and (
                is_injective
                or _shows_the_same(
                    distinct,
                    distinct_of_group[group],
                    leaf_of_distinct,
                    start_of_column,
                    code_of_leaf,
                )
            ):
                group_of_entry[entry] = group
                break
            slot = (slot + 1) & mask
    return n_groups


@compiled
def merge_entries(
    group_of_entry: NDArray[np.int32],
    n_groups: Whole,
    distinct_of_entry: NDArray[np.int32],
    size_of_entry: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return a distinct row and the number of rows of every group. O(entries)."""
    distinct_of_group = np.empty(n_groups, dtype=np.int32)
    size_of_group = np.zeros(n_groups, dtype=np.int64)
    for entry in range(group_of_entry.size):
        group = group_of_entry[entry]
        if size_of_group[group] == 0:
            distinct_of_group[group] = distinct_of_entry[entry]
        size_of_group[group] += size_of_entry[entry]
    return distinct_of_group, size_of_group


@compiled
def price_of_groups(
    is_chosen: NDArray[np.bool_],
    distinct_of_group: NDArray[np.int32],
    size_of_group: NDArray[np.int64],
    leaf_of_distinct: NDArray[np.int32],
    start_of_column: NDArray[np.int64],
    price_of_leaf: NDArray[np.int64],
) -> Whole:
    """Return what it costs to put the rows of the chosen groups at the roots. O(groups)."""
    price = np.int64(0)
    for group in range(is_chosen.size):
        if is_chosen[group]:
            of_row = np.int64(0)
            for column in range(start_of_column.size):
                leaf = leaf_of_distinct[distinct_of_group[group], column]
                of_row += price_of_leaf[start_of_column[column] + leaf]
            price += of_row * size_of_group[group]
    return price


@compiled
def judge_groups(
    is_broken: NDArray[np.bool_],
    group_of_distinct: NDArray[np.int32],
    size_of_group: NDArray[np.int64],
    rows: NDArray[np.int32],
    start_of_distinct: NDArray[np.int64],
    most_broken: Whole,
    limits: Any,
    scratch: Scratch,
) -> Whole:
    """Mark the groups that are not valid, besides those marked already; return the rows of all.

    ``rows`` are sorted by distinct row. Stops where more than ``most_broken`` rows are broken.
    O(rows + groups · nodes of the trees of values).
    """
    place = np.empty(size_of_group.size + 1, dtype=np.int64)
    place[0] = 0
    n_broken = np.int64(0)
    for group in range(size_of_group.size):
        place[group + 1] = place[group] + size_of_group[group]
        if is_broken[group]:
            n_broken += size_of_group[group]
    members = np.empty(rows.size, dtype=np.int32)
    filled = place[:-1].copy()
    for distinct in range(group_of_distinct.size):
        group = group_of_distinct[distinct]
        for position in range(start_of_distinct[distinct], start_of_distinct[distinct + 1]):
            members[filled[group]] = rows[position]
            filled[group] += 1
    for group in range(size_of_group.size):
        if n_broken > most_broken:
            break
        if is_broken[group]:
            continue
        size = size_of_group[group]
        if not is_valid(members[place[group] : place[group + 1]], size, limits, scratch):
            is_broken[group] = True
            n_broken += size
    return n_broken

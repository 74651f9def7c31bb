"""What rules ask for once a part is split: each distinct public part once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner
from incrowd.kernels.sorting import shell_sort


class RuleTable(NamedTuple):
    """Rules: public items ``items[starts[r]:starts[r + 1]]``, and the sensitive set ``told[r]``."""

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    told: NDArray[np.int32]
    n_told: Whole


class Demands(NamedTuple):
    """Distinct public parts of rules after a split, and the sensitive sets they must not tell.

    Demand d is for rows with the sides ``sides[d]`` (bits) of the split part and with the other
    parts ``others[other_starts[d]:other_starts[d + 1]]``; its sensitive sets are
    ``told[told_starts[d]:told_starts[d + 1]]``, ascending.
    """

    sides: NDArray[np.uint8]
    other_starts: NDArray[np.int64]
    others: NDArray[np.int32]
    told_starts: NDArray[np.int64]
    told: NDArray[np.int32]


@compiled_inner
def distinct_demands(
    table: RuleTable,
    rules: NDArray[np.int32],
    side_of_item: NDArray[np.uint8],
    part_of_item: NDArray[np.int32],
) -> Demands:
    """Return what these rules ask for, each of it once. O(items of the rules) as a rule."""
    n_rules = len(rules)
    n_items: Whole = np.int64(0)
    for rule in rules:
        n_items += table.starts[rule + 1] - table.starts[rule]
    room = 16
    while room < 2 * n_rules:
        room *= 2
    slots = np.full(room, -1, dtype=np.int32)
    sides = np.zeros(n_rules, dtype=np.uint8)
    other_starts = np.zeros(n_rules + 1, dtype=np.int64)
    others = np.empty(n_items, dtype=np.int32)
    keys = np.empty(n_rules, dtype=np.int64)
    n_demands: Whole = np.int64(0)
    for number in range(n_rules):
        rule = rules[number]
        begin = other_starts[n_demands]
        end = begin
        side = np.uint8(0)
        for place in range(table.starts[rule], table.starts[rule + 1]):
            item = table.items[place]
            if side_of_item[item]:
                side |= side_of_item[item]
                continue
            part = part_of_item[item]
            hole = end
            while hole > begin and others[hole - 1] > part:
                hole -= 1
            if hole > begin and others[hole - 1] == part:
                continue
            for move in range(end, hole, -1):
                others[move] = others[move - 1]
            others[hole] = part
            end += 1
        mixed = np.uint64(side)
        for place in range(begin, end):
            mixed = (mixed ^ np.uint64(others[place])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        slot = np.int64(mixed & np.uint64(room - 1))
        while slots[slot] >= 0 and not _is_demand(
            slots[slot], side, others, begin, end, sides, other_starts
        ):
            slot = (slot + 1) & (room - 1)
        if slots[slot] < 0:
            slots[slot] = n_demands
            sides[n_demands] = side
            n_demands += 1
            other_starts[n_demands] = end
        keys[number] = np.int64(slots[slot]) * table.n_told + table.told[rule]
    shell_sort(keys, n_rules)
    told_starts = np.zeros(n_demands + 1, dtype=np.int64)
    told = np.empty(n_rules, dtype=np.int32)
    n_told: Whole = np.int64(0)
    for number in range(n_rules):
        if number and keys[number] == keys[number - 1]:
            continue
        told[n_told] = keys[number] % table.n_told
        n_told += 1
        told_starts[keys[number] // table.n_told + 1] = n_told
    return Demands(
        sides[:n_demands],
        other_starts[: n_demands + 1],
        others[: other_starts[n_demands]],
        told_starts,
        told[:n_told],
    )


@compiled_inner
def _is_demand(
    demand: Whole,
    side: Whole,
    others: NDArray[np.int32],
    begin: Whole,
    end: Whole,
    sides: NDArray[np.uint8],
    other_starts: NDArray[np.int64],
) -> Flag:
    start = other_starts[demand]
    if sides[demand] != side or other_starts[demand + 1] - start != end - begin:
        return False
    n_equal = 0
    for place in range(end - begin):
        n_equal += others[start + place] == others[begin + place]
    return n_equal == end - begin


@compiled
def rules_of_sides(
    table: RuleTable, rules: NDArray[np.int32], side_of_item: NDArray[np.uint8]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return which of the rules have an item on the left, and which on the right."""
    on_left = np.empty(len(rules), dtype=np.int32)
    on_right = np.empty(len(rules), dtype=np.int32)
    n_left = 0
    n_right = 0
    for rule in rules:
        side = np.uint8(0)
        for place in range(table.starts[rule], table.starts[rule + 1]):
            side |= side_of_item[table.items[place]]
        if side & 1:
            on_left[n_left] = rule
            n_left += 1
        if side & 2:
            on_right[n_right] = rule
            n_right += 1
    return on_left[:n_left].copy(), on_right[:n_right].copy()

"""Whether rules hold once a part is split, counted over the rows that hold the part."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner
from incrowd.kernels.sorting import shell_sort


class ShownRows(NamedTuple):
    """Distinct rows as a release would show them, how many rows each stands for, what they tell.

    Row r shows the parts ``parts[starts[r]:starts[r] + n_parts[r]]``, in no order, and holds the
    sensitive sets ``tells[tells_starts[r]:tells_starts[r + 1]]``.
    """

    starts: NDArray[np.int64]
    parts: NDArray[np.int32]
    n_parts: NDArray[np.int32]
    n_equal: NDArray[np.int32]
    tells_starts: NDArray[np.int64]
    tells: NDArray[np.int32]


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
def _distinct_demands(
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
    return Demands(sides, other_starts[: n_demands + 1], others, told_starts, told[:n_told])


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
    for place in range(end - begin):
        if others[start + place] != others[begin + place]:
            return False
    return True


@compiled_inner
def _shows_others(shown: ShownRows, row: Whole, demands: Demands, demand: Whole) -> Flag:
    """Whether a row shows all other parts of a demand."""
    start = shown.starts[row]
    end = start + shown.n_parts[row]
    for place in range(demands.other_starts[demand], demands.other_starts[demand + 1]):
        wanted = demands.others[place]
        entry = start
        while entry < end and shown.parts[entry] != wanted:
            entry += 1
        if entry == end:
            return False
    return True


@compiled_inner
def _tell(
    shown: ShownRows, row: Whole, demands: Demands, demand: Whole, telling: NDArray[np.int64]
) -> None:
    """Count a row that meets a demand for each sensitive set of it that the row holds."""
    for place in range(shown.tells_starts[row], shown.tells_starts[row + 1]):
        wanted = shown.tells[place]
        low = demands.told_starts[demand]
        high = demands.told_starts[demand + 1]
        end = high
        while low < high:
            middle = (low + high) // 2
            if demands.told[middle] < wanted:
                low = middle + 1
            else:
                high = middle
        if low < end and demands.told[low] == wanted:
            telling[low] += shown.n_equal[row]


@compiled_inner
def _hold(
    shown: ShownRows,
    demands: Demands,
    rows: NDArray[np.int32],
    flags: NDArray[np.uint8],
    support: NDArray[np.int64],
    first: NDArray[np.int32],
    k: Whole,
    confidence: np.float64,
) -> Flag:
    """Whether all demands are met. Each is looked for only in rows with its rarest other part."""
    n_demands = len(demands.other_starts) - 1
    following = np.empty(n_demands, dtype=np.int32)
    always: Whole = np.int32(-1)
    for demand in range(n_demands):
        rarest: Whole = np.int64(-1)
        for place in range(demands.other_starts[demand], demands.other_starts[demand + 1]):
            part = np.int64(demands.others[place])
            if rarest < 0 or support[part] < support[rarest]:
                rarest = part
        if rarest < 0:
            following[demand] = always
            always = demand
        else:
            following[demand] = first[rarest]
            first[rarest] = demand
    holding = np.zeros(n_demands, dtype=np.int64)
    telling = np.zeros(len(demands.told), dtype=np.int64)
    for row in rows:
        flag = flags[row]
        demand = always
        while demand >= 0:
            if flag & demands.sides[demand] == demands.sides[demand]:
                holding[demand] += shown.n_equal[row]
                _tell(shown, row, demands, demand, telling)
            demand = following[demand]
        start = shown.starts[row]
        for entry in range(start, start + shown.n_parts[row]):
            demand = first[shown.parts[entry]]
            while demand >= 0:
                if flag & demands.sides[demand] == demands.sides[demand] and (
                    demands.other_starts[demand + 1] - demands.other_starts[demand] == 1
                    or _shows_others(shown, row, demands, demand)
                ):
                    holding[demand] += shown.n_equal[row]
                    _tell(shown, row, demands, demand, telling)
                demand = following[demand]
    for place in demands.others[: demands.other_starts[n_demands]]:
        first[place] = -1
    for demand in range(n_demands):
        if holding[demand] < k:
            return False
        for place in range(demands.told_starts[demand], demands.told_starts[demand + 1]):
            if telling[place] / holding[demand] > confidence:
                return False
    return True


@compiled
def rules_hold(
    shown: ShownRows,
    table: RuleTable,
    rules: NDArray[np.int32],
    side_of_item: NDArray[np.uint8],
    part_of_item: NDArray[np.int32],
    rows: NDArray[np.int32],
    flags: NDArray[np.uint8],
    support: NDArray[np.int64],
    first: NDArray[np.int32],
    n_rounds: Whole,
    k: Whole,
    confidence: np.float64,
) -> Flag:
    """Whether ``rules``, all that touch the split part, hold once it is split.

    ``rows`` are those that hold the part, with the sides that they hold as bits in ``flags``.
    Rules are looked at in as many rounds as asked for, until one of them has a broken rule.
    ``first`` is −1 for every part, before and after. O(rows · their parts · demands with that
    part as their rarest) a round.
    """
    per_round = max(1, -(-len(rules) // n_rounds))
    for begin in range(0, len(rules), per_round):
        some = rules[begin : begin + per_round]
        demands = _distinct_demands(table, some, side_of_item, part_of_item)
        if not _hold(shown, demands, rows, flags, support, first, k, confidence):
            return False
    return True


@compiled
def show_split(
    shown: ShownRows,
    rows: NDArray[np.int32],
    flags: NDArray[np.uint8],
    part: Whole,
    left: Whole,
    right: Whole,
) -> None:
    """Let rows show the sides of a split part in its place."""
    for row in rows:
        entry = shown.starts[row]
        while shown.parts[entry] != part:
            entry += 1
        flag = flags[row]
        shown.parts[entry] = right if flag == 2 else left
        if flag == 3:
            shown.parts[shown.starts[row] + shown.n_parts[row]] = right
            shown.n_parts[row] += 1


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

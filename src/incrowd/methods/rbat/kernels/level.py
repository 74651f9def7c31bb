"""All splits of a level at once: what rules ask for in every case, and which splits stand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner
from incrowd.kernels.item_rows import mix_bits
from incrowd.methods.rbat.kernels.check import BILLION, RuleTable

OPEN, ACCEPTED, REJECTED = 0, 1, 2

MOST_CASES = 4
"""Of rules that touch up to so many open splits every case is counted."""


class LevelRules(NamedTuple):
    """Rules of a level and the cases in which they were counted.

    Rule r touches the open splits ``touched[begins[r]:begins[r] + n_touched[r]]``, ascending; -1
    of them: it was not counted. With up to MOST_CASES of them case c, a bit for each that was
    made, is at ``cases + c``; with more, only the cases in which the first t + 1 of them were
    made, at ``cases + t``. There ``demand`` is the place of the rows that hold the rule's public
    part and ``told`` that of those which also tell its sensitive set.
    """

    n_touched: NDArray[np.int32]
    begins: NDArray[np.int64]
    touched: NDArray[np.int32]
    cases: NDArray[np.int64]
    demand: NDArray[np.int64]
    told: NDArray[np.int64]


@compiled
def room_for_cases(table: RuleTable, rules: NDArray[np.int32]) -> tuple[Whole, Whole, Whole]:
    """Return the most items, cases and nodes of cases that these rules can have."""
    n_items: Whole = np.int64(0)
    n_cases: Whole = np.int64(0)
    n_nodes: Whole = np.int64(0)
    for rule in rules:
        size = table.starts[rule + 1] - table.starts[rule]
        most = max(size, np.int64(1) << min(size, MOST_CASES))
        n_items += size
        n_cases += most
        n_nodes += most * size
    return n_items, n_cases, n_nodes


@compiled
def cases_of_rules(
    table: RuleTable,
    rules: NDArray[np.int32],
    part_of_item: NDArray[np.int32],
    side_of_item: NDArray[np.uint8],
    split_of_part: NDArray[np.int32],
    status: NDArray[np.uint8],
    n_parts: Whole,
    room: tuple[Whole, Whole, Whole],
) -> tuple[
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int32],
]:
    """Return what rules touch, their cases, and the distinct sets of nodes these ask for.

    Nodes are the parts, and after them the left and the right of split s, ``n_parts + 2 s`` and
    one more. The first four are as in LevelRules, the cases' demands the fifth (-1 where a case
    is none), then the demands' nodes.
    """
    n_rules = len(rules)
    n_touched = np.zeros(n_rules, dtype=np.int32)
    begins = np.zeros(n_rules, dtype=np.int64)
    touched = np.empty(room[0], dtype=np.int32)
    cases = np.zeros(n_rules, dtype=np.int64)
    demand_of_case = np.full(room[1], -1, dtype=np.int64)
    starts = np.zeros(room[1] + 1, dtype=np.int64)
    nodes = np.empty(room[2], dtype=np.int32)
    # slots: a hash table of the demands, so that each set of nodes is listed once
    n_slots = 16
    while n_slots < 2 * room[1]:
        n_slots *= 2
    slots = np.full(n_slots, -1, dtype=np.int64)
    n_demands: Whole = np.int64(0)
    n_cases: Whole = np.int64(0)
    end_of_touched: Whole = np.int64(0)
    for number in range(n_rules):
        rule = rules[number]
        items = table.items[table.starts[rule] : table.starts[rule + 1]]
        # touched: the open splits that the rule's items lie in, each once, ascending
        begin = end_of_touched
        begins[number] = begin
        for item in items:
            split = split_of_part[part_of_item[item]]
            if split < 0 or status[split] != OPEN:
                continue
            hole = end_of_touched
            while hole > begin and touched[hole - 1] > split:
                hole -= 1
            if hole > begin and touched[hole - 1] == split:
                continue
            for move in range(end_of_touched, hole, -1):
                touched[move] = touched[move - 1]
            touched[hole] = split
            end_of_touched += 1
        # a case says which of those splits are made: all subsets, or growing prefixes of them where
        # there are too many; of all subsets the empty one is what holds already
        n_open = end_of_touched - begin
        n_touched[number] = n_open
        cases[number] = n_cases
        is_full = n_open <= MOST_CASES
        n_of_rule = (1 << n_open) if is_full else n_open
        for case in range(n_of_rule):
            if is_full and case == 0:
                continue
            # the nodes that the rule's items are shown as in this case, each once
            start = starts[n_demands]
            end = start
            for item in items:
                part = part_of_item[item]
                split = split_of_part[part]
                is_made = split >= 0 and status[split] == ACCEPTED
                if split >= 0 and status[split] == OPEN:
                    place = 0
                    while touched[begin + place] != split:
                        place += 1
                    is_made = bool((case >> place) & 1) if is_full else place <= case
                node = part
                if is_made:
                    node = np.int32(n_parts + 2 * split + side_of_item[item] - 1)
                end = _with_node(nodes, start, end, node)
            # find this set of nodes among the demands, or add it
            key = np.uint64(end - start)
            for place in range(start, end):
                key = mix_bits(key ^ np.uint64(nodes[place]))
            slot = np.int64(key & np.uint64(n_slots - 1))
            while slots[slot] >= 0 and not _is_same(nodes, starts, slots[slot], start, end):
                slot = (slot + 1) & (n_slots - 1)
            if slots[slot] < 0:
                slots[slot] = n_demands
                n_demands += 1
                starts[n_demands] = end
            demand_of_case[n_cases + case] = slots[slot]
        n_cases += n_of_rule
    return (
        n_touched,
        begins,
        touched[:end_of_touched].copy(),
        cases,
        demand_of_case[:n_cases].copy(),
        starts[: n_demands + 1].copy(),
        nodes[: starts[n_demands]].copy(),
    )


@compiled_inner
def _with_node(nodes: NDArray[np.int32], start: Whole, end: Whole, node: Whole) -> Whole:
    """Put a node among others, ascending, unless it is there; return their new end."""
    hole = end
    while hole > start and nodes[hole - 1] > node:
        hole -= 1
    if hole > start and nodes[hole - 1] == node:
        return end
    for move in range(end, hole, -1):
        nodes[move] = nodes[move - 1]
    nodes[hole] = node
    return end + 1


@compiled_inner
def _is_same(
    nodes: NDArray[np.int32], starts: NDArray[np.int64], demand: Whole, start: Whole, end: Whole
) -> Flag:
    first = starts[demand]
    if starts[demand + 1] - first != end - start:
        return False
    n_equal = 0
    for place in range(end - start):
        n_equal += nodes[first + place] == nodes[start + place]
    return n_equal == end - start


@compiled
def settle(
    status: NDArray[np.uint8],
    rules_starts: NDArray[np.int64],
    rules_of_split: NDArray[np.int32],
    rules: LevelRules,
    holding: NDArray[np.int64],
    telling: NDArray[np.int64],
    k: Whole,
    confidence: Whole,
) -> None:
    """Decide splits one after the other, as far as the counts tell; others stay open.

    A split stands if every rule that it touches holds once it and those accepted before it are
    made. It is rejected as soon as a rule is broken whatever becomes of earlier ones.
    """
    for split in range(len(status)):
        if status[split] != OPEN:
            continue
        is_known = True
        is_broken = False
        for place in range(rules_starts[split], rules_starts[split + 1]):
            verdict = _verdict(
                status, split, rules, rules_of_split[place], holding, telling, k, confidence
            )
            if verdict == REJECTED:
                is_broken = True
                break
            is_known &= verdict == ACCEPTED
        if is_broken:
            status[split] = REJECTED
        elif is_known:
            status[split] = ACCEPTED


@compiled_inner
def _verdict(
    status: NDArray[np.uint8],
    split: Whole,
    rules: LevelRules,
    rule: Whole,
    holding: NDArray[np.int64],
    telling: NDArray[np.int64],
    k: Whole,
    confidence: Whole,
) -> Whole:
    """Return whether a rule holds (ACCEPTED) or is broken once a split is made, or OPEN."""
    n_touched = rules.n_touched[rule]
    if n_touched < 0:
        return OPEN
    is_full = n_touched <= MOST_CASES
    made: Whole = np.int64(0)
    free: Whole = np.int64(0)
    n_before = 0
    n_made = 0
    n_free = 0
    for place in range(n_touched):
        other = rules.touched[rules.begins[rule] + place]
        if other > split:
            break
        n_before += 1
        is_made = other == split or status[other] == ACCEPTED
        is_free = other != split and status[other] == OPEN
        n_made += is_made
        n_free += is_free
        if is_full:
            made |= np.int64(is_made) << place
            free |= np.int64(is_free) << place
    first = rules.cases[rule]
    if not is_full:
        if n_free or n_made < n_before:
            return OPEN
        is_held = _holds(rules, first + n_before - 1, holding, telling, k, confidence)
        return ACCEPTED if is_held else REJECTED
    n_holding = 0
    n_broken = 0
    some = free
    while True:
        is_held = _holds(rules, first + (made | some), holding, telling, k, confidence)
        n_holding += is_held
        n_broken += not is_held
        if some == 0:
            break
        some = (some - 1) & free
    if n_holding == 0:
        return REJECTED
    return OPEN if n_broken else ACCEPTED


@compiled_inner
def _holds(
    rules: LevelRules,
    case: Whole,
    holding: NDArray[np.int64],
    telling: NDArray[np.int64],
    k: Whole,
    confidence: Whole,
) -> Flag:
    held = holding[rules.demand[case]]
    return held >= k and telling[rules.told[case]] * BILLION <= confidence * held

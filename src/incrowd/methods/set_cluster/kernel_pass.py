"""One pass over groups: each is paired with near ones, or given up where its rows fare better."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner
from incrowd.methods.cluster.kernel_draw import below
from incrowd.methods.set_cluster.kernel_pair import LEAST_GAIN, improve_pair
from incrowd.methods.set_cluster.kernel_state import (
    Groups,
    Kinds,
    Scratch,
    clear_counts,
    has_room,
    load_counts,
    transfer,
    worth,
    worth_at,
)
from incrowd.methods.sets.kernel_vote import MAJORITY_CODE, Rule, least_holders

N_RANDOM = 2
"""How many random partners a group is tried with besides the near ones."""

SHARED_BY = 10.0
"""An item held by this many kinds weighs half as much as a rare one."""


@compiled_inner
def _add_near(
    kinds: Kinds,
    groups: Groups,
    scratch: Scratch,
    group: Whole,
    kind: Whole,
    n_holders: Whole,
    n_near: Whole,
    random: NDArray[np.int64],
) -> Whole:
    """Add to the nearness of groups that share items with a kind; return how many are near now."""
    for entry in range(kinds.starts[kind], kinds.starts[kind + 1]):
        item = kinds.items[entry]
        first = kinds.list_starts[item]
        length = kinds.list_starts[item + 1] - first
        weight = np.float32(1.0 / (1.0 + length / SHARED_BY))
        n_looked_at = length
        place = 0
        if length > n_holders:
            n_looked_at = n_holders
            place = below(random, length)
        for _ in range(n_looked_at):
            near = groups.home[kinds.holders[first + place]]
            place += 1
            if place == length:
                place = 0
            if near == group:
                continue
            if scratch.nearness[near] == 0:
                scratch.near[n_near] = near
                n_near += 1
            scratch.nearness[near] += weight
    return n_near


@compiled_inner
def _nearest(
    scratch: Scratch, n_near: Whole, nearest: NDArray[np.int32], nearness: NDArray[np.float32]
) -> Whole:
    """Fill ``nearest`` with the nearest groups, nearest first, and forget how near all are.

    Return how many there are. Of equally near ones those that were met first are taken.
    """
    n_found = 0
    for number in range(n_near):
        group = scratch.near[number]
        score = scratch.nearness[group]
        scratch.nearness[group] = np.float32(0.0)
        if n_found < len(nearest):
            n_found += 1
        elif score <= nearness[n_found - 1]:
            continue
        place = n_found - 1
        while place > 0 and score > nearness[place - 1]:
            nearest[place] = nearest[place - 1]
            nearness[place] = nearness[place - 1]
            place -= 1
        nearest[place] = group
        nearness[place] = score
    return n_found


@compiled
def pair_groups(
    kinds: Kinds,
    groups: Groups,
    scratch: Scratch,
    rule: Rule,
    visited: NDArray[np.int64],
    is_changed: NDArray[np.bool_],
    n_partners: Whole,
    n_holders: Whole,
    random: NDArray[np.int64],
) -> float:
    """Improve each visited group with the groups that share most with it; return the gain.

    Rare items weigh more, and of long lists ``n_holders`` kinds from a random place on are asked.
    """
    n_groups = len(groups.size)
    n_at_most = scratch.change.shape[1]
    nearest = np.empty(n_partners, dtype=np.int32)
    nearness = np.empty(n_partners, dtype=np.float32)
    total = 0.0
    for group in visited:
        if groups.size[group] == 0:
            continue
        n_near = 0
        first = groups.first[group]
        for slot in range(first, first + min(groups.n_slots[group], n_at_most)):
            n_near = _add_near(
                kinds, groups, scratch, group, groups.kind[slot], n_holders, n_near, random
            )
        n_found = _nearest(scratch, n_near, nearest, nearness)
        load_counts(kinds, groups, scratch, 0, group)
        for turn in range(n_found + N_RANDOM):
            partner = nearest[turn] if turn < n_found else below(random, n_groups)
            if partner == group or groups.size[partner] == 0:
                continue
            load_counts(kinds, groups, scratch, 1, partner)
            gain = improve_pair(kinds, groups, scratch, rule, group, partner, n_at_most, random)
            if gain > 0.0:
                total += gain
                is_changed[group] = True
                is_changed[partner] = True
    clear_counts(scratch, 0)
    clear_counts(scratch, 1)
    return total


@compiled_inner
def _best_insertion(
    kinds: Kinds,
    groups: Groups,
    scratch: Scratch,
    rule: Rule,
    group: Whole,
    kind: Whole,
    n_units: Whole,
    nearest: NDArray[np.int32],
    nearness: NDArray[np.float32],
    n_holders: Whole,
    random: NDArray[np.int64],
) -> tuple[float, Whole]:
    """Return what the best other group gains by these units, and which it is; −1 if none."""
    n_near = _add_near(kinds, groups, scratch, group, kind, n_holders, 0, random)
    best, best_group = -np.inf, -1
    for place in range(_nearest(scratch, n_near, nearest, nearness)):
        near = nearest[place]
        size = groups.size[near] + n_units
        need = kinds.need[kind]
        if size < need or not has_room(groups, near, kind):
            continue
        if rule.code == MAJORITY_CODE and need > groups.bar[near]:
            continue
        load_counts(kinds, groups, scratch, 1, near)
        bar = groups.bar[near]
        least = least_holders(rule, size, bar)
        gain = worth_at(scratch, 1, rule, size, bar)
        gain -= worth_at(scratch, 1, rule, size - n_units, bar)
        for entry in range(kinds.starts[kind], kinds.starts[kind + 1]):
            here = scratch.counted[1, kinds.items[entry]]
            gain += worth(here + n_units, least, size, rule.price)
            gain -= worth(here, least, size, rule.price)
        if gain > best:
            best, best_group = gain, near
    return best, best_group


@compiled
def dissolve_groups(
    kinds: Kinds,
    groups: Groups,
    scratch: Scratch,
    rule: Rule,
    visited: NDArray[np.int64],
    is_changed: NDArray[np.bool_],
    n_partners: Whole,
    n_holders: Whole,
    random: NDArray[np.int64],
) -> Whole:
    """Give up groups whose rows are worth more in other groups; return how many.

    Rows go one kind after the other, each to the group that gains most by it as things stand; if
    together they gain no more than the group was worth, all go back. So a group is left whole or
    empty, never in between. Groups of many kinds stay, and those that are worth more than all
    groups on the average (the price is what a kept share comes to).
    """
    n_at_most = scratch.change.shape[1]
    moved_kind = np.empty(n_at_most, dtype=np.int32)
    moved_units = np.empty(n_at_most, dtype=np.int32)
    moved_to = np.empty(n_at_most, dtype=np.int32)
    nearest = np.empty(n_partners, dtype=np.int32)
    nearness = np.empty(n_partners, dtype=np.float32)
    n_dissolved = 0
    for group in visited:
        n_slots = groups.n_slots[group]
        if n_slots == 0 or n_slots > n_at_most:
            continue
        load_counts(kinds, groups, scratch, 0, group)
        value = worth_at(scratch, 0, rule, groups.size[group], groups.bar[group])
        clear_counts(scratch, 0)
        hope = 0.0  # no row can be worth more than all of its entries
        for slot in range(groups.first[group], groups.first[group] + n_slots):
            kind = groups.kind[slot]
            hope += groups.units[slot] * (kinds.starts[kind + 1] - kinds.starts[kind])
        if value > rule.price * hope:
            continue
        n_moved = 0
        gained = 0.0
        while groups.n_slots[group] > 0 and gained + hope > value + LEAST_GAIN:
            slot = groups.first[group] + groups.n_slots[group] - 1
            kind, n_units = groups.kind[slot], groups.units[slot]
            gain, target = _best_insertion(
                kinds,
                groups,
                scratch,
                rule,
                group,
                kind,
                n_units,
                nearest,
                nearness,
                n_holders,
                random,
            )
            if target < 0:
                break
            gained += gain
            hope -= n_units * (kinds.starts[kind + 1] - kinds.starts[kind])
            transfer(groups, kind, n_units, group, target)
            moved_kind[n_moved], moved_units[n_moved] = kind, n_units
            moved_to[n_moved] = target
            n_moved += 1
        if groups.n_slots[group] == 0 and gained > value + LEAST_GAIN:
            n_dissolved += 1
            for place in range(n_moved):
                is_changed[moved_to[place]] = True
            continue
        for place in range(n_moved - 1, -1, -1):
            transfer(groups, moved_kind[place], moved_units[place], moved_to[place], group)
    clear_counts(scratch, 1)
    return n_dissolved

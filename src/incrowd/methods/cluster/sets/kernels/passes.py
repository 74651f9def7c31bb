"""One pass over groups: each is paired with near ones, improved by swaps and moves, or given up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner
from incrowd.kernels.draws import below
from incrowd.methods.cluster.sets.kernels.state import (
    BEND,
    LESS,
    MORE,
    DistinctSets,
    Groups,
    Scratch,
    add_to_counts,
    changed,
    clear_counts,
    fill_tables,
    has_room,
    load_counts,
    transfer,
    worth,
    worth_at,
)
from incrowd.methods.shared.set_groups.vote_kernel import MAJORITY_CODE, Rule, least_holders

LEAST_GAIN = 1e-6
"""Smaller gains may be the rounding of sums."""


@compiled_inner
def _needs_without(
    distinct_sets: DistinctSets,
    groups: Groups,
    scratch: Scratch,
    side: Whole,
    group: Whole,
    start: Whole,
    n_looked_at: Whole,
) -> Whole:
    """Note for each slot looked at what a group needs without one of its units; return its need."""
    largest = 1
    second = 1
    n_units = 0
    for slot in range(groups.first[group], groups.first[group] + groups.n_slots[group]):
        need = distinct_sets.need[groups.distinct[slot]]
        if need > largest:
            second = largest
            largest = need
            n_units = groups.units[slot]
        elif need == largest:
            n_units += groups.units[slot]
        elif need > second:
            second = need
    for place in range(n_looked_at):
        need = distinct_sets.need[groups.distinct[start + place]]
        is_alone = need == largest and n_units == 1
        scratch.need_without[side, place] = second if is_alone else largest
    return largest


@compiled_inner
def _best_move(
    distinct_sets: DistinctSets,
    groups: Groups,
    scratch: Scratch,
    rule: Rule,
    source: Whole,
    target: Whole,
    side: Whole,
    start: Whole,
    n_looked_at: Whole,
    need_of_target: Whole,
) -> tuple[float, Whole]:
    """Return the gain of the best move out of the group on this side, and its set; −1 if none."""
    price = rule.price
    size, size_there = groups.size[source] - 1, groups.size[target] + 1
    least = least_holders(rule, size, groups.bar[source])
    least_there = least_holders(rule, size_there, groups.bar[target])
    best, best_distinct = LEAST_GAIN, -1
    base = np.nan
    for place in range(n_looked_at):
        distinct = groups.distinct[start + place]
        need = distinct_sets.need[distinct]
        if size < scratch.need_without[side, place] or size_there < max(need, need_of_target):
            continue
        if rule.code == MAJORITY_CODE and need > groups.bar[target]:
            continue
        if not has_room(groups, target, distinct):
            continue
        if np.isnan(base):
            base = (
                worth_at(scratch, side, rule, size, groups.bar[source])
                + worth_at(scratch, 1 - side, rule, size_there, groups.bar[target])
                - worth_at(scratch, side, rule, size + 1, groups.bar[source])
                - worth_at(scratch, 1 - side, rule, size_there - 1, groups.bar[target])
            )
        gain = base
        for entry in range(distinct_sets.starts[distinct], distinct_sets.starts[distinct + 1]):
            item = distinct_sets.items[entry]
            here, there = scratch.counted[side, item], scratch.counted[1 - side, item]
            gain += worth(here - 1, least, size, price) - worth(here, least, size, price)
            gain += worth(there + 1, least_there, size_there, price)
            gain -= worth(there, least_there, size_there, price)
        if gain > best:
            best, best_distinct = gain, distinct
    return best, best_distinct


@compiled_inner
def _changes(
    distinct_sets: DistinctSets,
    groups: Groups,
    scratch: Scratch,
    price: float,
    side: Whole,
    start: Whole,
    n_looked_at: Whole,
    size: NDArray[np.int64],
    least: NDArray[np.int64],
) -> None:
    """Note for each slot looked at what its leaving for the other side changes at equal sizes.

    And how much more a swap may gain at most, since both rows can hold an item: then nothing
    changes for it, whatever the change of either row alone.
    """
    other = 1 - side
    for place in range(n_looked_at):
        distinct = groups.distinct[start + place]
        change = 0.0
        at_most = 0.0
        for entry in range(distinct_sets.starts[distinct], distinct_sets.starts[distinct + 1]):
            item = distinct_sets.items[entry]
            here, there = scratch.counted[side, item], scratch.counted[other, item]
            change += changed(scratch, side, LESS, here, least[side], size[side], price)
            change += changed(scratch, other, MORE, there, least[other], size[other], price)
            if there > 0:  # a row of the other side may hold it
                bend = changed(scratch, side, BEND, here, least[side], size[side], price)
                bend += changed(scratch, other, BEND, there, least[other], size[other], price)
                at_most += max(0.0, -bend)
        scratch.change[side, place] = change
        scratch.at_most[side, place] = at_most


@compiled_inner
def marked(distinct_sets: DistinctSets, scratch: Scratch, distinct: Whole) -> Whole:
    """Mark the items of a distinct set; return the mark, which no other item has."""
    scratch.last_mark[0] += 1
    for entry in range(distinct_sets.starts[distinct], distinct_sets.starts[distinct + 1]):
        scratch.mark[distinct_sets.items[entry]] = scratch.last_mark[0]
    return scratch.last_mark[0]


@compiled_inner
def improve_pair(
    distinct_sets: DistinctSets,
    groups: Groups,
    scratch: Scratch,
    rule: Rule,
    group: Whole,
    partner: Whole,
    n_at_most: Whole,
    random: NDArray[np.int64],
) -> float:
    """Apply the best swap or move between two groups until none helps; return the gain.

    The counts of ``group`` are those of side 0 and of ``partner`` those of side 1, before and
    after. No group ever falls below the need of its members. Of more than ``n_at_most`` distinct
    sets a random run is looked at each time. O(sets² · entries of a row) per step.
    """
    total = 0.0
    price = rule.price
    size = np.empty(2, dtype=np.int64)
    least = np.empty(2, dtype=np.int64)
    start = np.empty(2, dtype=np.int64)
    n_looked_at = np.empty(2, dtype=np.int64)
    need = np.empty(2, dtype=np.int64)
    ends = np.array([group, partner], dtype=np.int64)
    is_majority = rule.code == MAJORITY_CODE
    while True:
        # per side: its size, the vote's bar, and the run of slots that is looked at this time
        for side in range(2):
            one = ends[side]
            size[side] = groups.size[one]
            least[side] = least_holders(rule, groups.size[one], groups.bar[one])
            start[side] = groups.first[one]
            n_looked_at[side] = groups.n_slots[one]
            if n_looked_at[side] > n_at_most:
                start[side] += below(random, n_looked_at[side] - n_at_most + 1)
                n_looked_at[side] = n_at_most
            fill_tables(scratch, side, least[side], size[side], price)
            need[side] = _needs_without(
                distinct_sets, groups, scratch, side, one, start[side], n_looked_at[side]
            )
        # change[side, place]: what one row less here and one more there is worth, by itself
        for side in range(2):
            _changes(
                distinct_sets,
                groups,
                scratch,
                price,
                side,
                start[side],
                n_looked_at[side],
                size,
                least,
            )
        # moves: one row goes over and none comes back
        best, leaving, entering = LEAST_GAIN, -1, -1
        for side in range(2):
            gain, distinct = _best_move(
                distinct_sets,
                groups,
                scratch,
                rule,
                ends[side],
                ends[1 - side],
                side,
                start[side],
                n_looked_at[side],
                need[1 - side],
            )
            if gain > best:
                best = gain
                leaving, entering = (distinct, -1) if side == 0 else (-1, distinct)
        # swaps: one row each way. The two changes add up but for the items in common, which are
        # looked at only where the bound of what they can add (``at_most``) does not rule the swap
        # out
        for place in range(n_looked_at[0]):
            distinct = groups.distinct[start[0] + place]
            if distinct_sets.need[distinct] > size[1] or (
                is_majority and distinct_sets.need[distinct] > groups.bar[partner]
            ):
                continue
            if not has_room(groups, partner, distinct):
                continue
            mark = -1
            for place_there in range(n_looked_at[1]):
                other = groups.distinct[start[1] + place_there]
                if other == distinct:
                    continue
                if distinct_sets.need[other] > size[0] or (
                    is_majority and distinct_sets.need[other] > groups.bar[group]
                ):
                    continue
                gain = scratch.change[0, place] + scratch.change[1, place_there]
                if gain + min(scratch.at_most[0, place], scratch.at_most[1, place_there]) <= best:
                    continue
                if mark < 0:
                    mark = marked(distinct_sets, scratch, distinct)
                for entry in range(distinct_sets.starts[other], distinct_sets.starts[other + 1]):
                    item = distinct_sets.items[entry]
                    if scratch.mark[item] == mark:
                        for side in range(2):
                            count = scratch.counted[side, item]
                            gain -= changed(
                                scratch, side, BEND, count, least[side], size[side], price
                            )
                if gain > best and has_room(groups, group, other):
                    best, leaving, entering = gain, distinct, other
        # make the best of them, or stop where none gains
        if leaving < 0 and entering < 0:
            return total
        total += best
        if leaving >= 0:
            transfer(groups, leaving, 1, group, partner)
            add_to_counts(distinct_sets, scratch, 0, leaving, -1)
            add_to_counts(distinct_sets, scratch, 1, leaving, 1)
        if entering >= 0:
            transfer(groups, entering, 1, partner, group)
            add_to_counts(distinct_sets, scratch, 1, entering, -1)
            add_to_counts(distinct_sets, scratch, 0, entering, 1)


# ── one pass over groups: paired with near ones, or given up where their rows fare better ───────

N_RANDOM = 2
"""How many random partners a group is tried with besides the near ones."""

SHARED_BY = 10.0
"""An item held by this many distinct sets weighs half as much as a rare one."""


@compiled_inner
def _add_near(
    distinct_sets: DistinctSets,
    groups: Groups,
    scratch: Scratch,
    group: Whole,
    distinct: Whole,
    n_holders: Whole,
    n_near: Whole,
    random: NDArray[np.int64],
) -> Whole:
    """Add to the nearness of groups that share items with a set; return how many are near now."""
    for entry in range(distinct_sets.starts[distinct], distinct_sets.starts[distinct + 1]):
        item = distinct_sets.items[entry]
        first = distinct_sets.list_starts[item]
        length = distinct_sets.list_starts[item + 1] - first
        weight = np.float32(1.0 / (1.0 + length / SHARED_BY))
        n_looked_at = length
        place = 0
        if length > n_holders:
            n_looked_at = n_holders
            place = below(random, length)
        for _ in range(n_looked_at):
            near = groups.home[distinct_sets.holders[first + place]]
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
    distinct_sets: DistinctSets,
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

    Rare items weigh more, and of long lists ``n_holders`` distinct sets from a random place on are
    asked.
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
                distinct_sets,
                groups,
                scratch,
                group,
                groups.distinct[slot],
                n_holders,
                n_near,
                random,
            )
        n_found = _nearest(scratch, n_near, nearest, nearness)
        load_counts(distinct_sets, groups, scratch, 0, group)
        for turn in range(n_found + N_RANDOM):
            partner = nearest[turn] if turn < n_found else below(random, n_groups)
            if partner == group or groups.size[partner] == 0:
                continue
            load_counts(distinct_sets, groups, scratch, 1, partner)
            gain = improve_pair(
                distinct_sets, groups, scratch, rule, group, partner, n_at_most, random
            )
            if gain > 0.0:
                total += gain
                is_changed[group] = True
                is_changed[partner] = True
    clear_counts(scratch, 0)
    clear_counts(scratch, 1)
    return total


@compiled_inner
def _best_insertion(
    distinct_sets: DistinctSets,
    groups: Groups,
    scratch: Scratch,
    rule: Rule,
    group: Whole,
    distinct: Whole,
    n_units: Whole,
    nearest: NDArray[np.int32],
    nearness: NDArray[np.float32],
    n_holders: Whole,
    random: NDArray[np.int64],
) -> tuple[float, Whole]:
    """Return what the best other group gains by these units, and which it is; −1 if none."""
    n_near = _add_near(distinct_sets, groups, scratch, group, distinct, n_holders, 0, random)
    best, best_group = -np.inf, -1
    for place in range(_nearest(scratch, n_near, nearest, nearness)):
        near = nearest[place]
        size = groups.size[near] + n_units
        need = distinct_sets.need[distinct]
        if size < need or not has_room(groups, near, distinct):
            continue
        if rule.code == MAJORITY_CODE and need > groups.bar[near]:
            continue
        load_counts(distinct_sets, groups, scratch, 1, near)
        bar = groups.bar[near]
        least = least_holders(rule, size, bar)
        gain = worth_at(scratch, 1, rule, size, bar)
        gain -= worth_at(scratch, 1, rule, size - n_units, bar)
        for entry in range(distinct_sets.starts[distinct], distinct_sets.starts[distinct + 1]):
            here = scratch.counted[1, distinct_sets.items[entry]]
            gain += worth(here + n_units, least, size, rule.price)
            gain -= worth(here, least, size, rule.price)
        if gain > best:
            best, best_group = gain, near
    return best, best_group


@compiled
def dissolve_groups(
    distinct_sets: DistinctSets,
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

    Rows go one distinct set after the other, each to the group that gains most by it as things
    stand; if together they gain no more than the group was worth, all go back. So a group is left
    whole or empty, never in between. Groups of many distinct sets stay, and those that are worth
    more than all groups on the average (the price is what a kept share comes to).
    """
    n_at_most = scratch.change.shape[1]
    moved_distinct = np.empty(n_at_most, dtype=np.int32)
    moved_units = np.empty(n_at_most, dtype=np.int32)
    moved_to = np.empty(n_at_most, dtype=np.int32)
    nearest = np.empty(n_partners, dtype=np.int32)
    nearness = np.empty(n_partners, dtype=np.float32)
    n_dissolved = 0
    for group in visited:
        n_slots = groups.n_slots[group]
        if n_slots == 0 or n_slots > n_at_most:
            continue
        # what the group is worth, and what its rows could be worth elsewhere at best
        load_counts(distinct_sets, groups, scratch, 0, group)
        value = worth_at(scratch, 0, rule, groups.size[group], groups.bar[group])
        clear_counts(scratch, 0)
        hope = 0.0  # no row can be worth more than all of its entries
        for slot in range(groups.first[group], groups.first[group] + n_slots):
            distinct = groups.distinct[slot]
            hope += groups.units[slot] * (
                distinct_sets.starts[distinct + 1] - distinct_sets.starts[distinct]
            )
        if value > rule.price * hope:
            continue
        # rows leave from the last slot on, until what is gained and hoped for is not enough
        n_moved = 0
        gained = 0.0
        while groups.n_slots[group] > 0 and gained + hope > value + LEAST_GAIN:
            slot = groups.first[group] + groups.n_slots[group] - 1
            distinct, n_units = groups.distinct[slot], groups.units[slot]
            gain, target = _best_insertion(
                distinct_sets,
                groups,
                scratch,
                rule,
                group,
                distinct,
                n_units,
                nearest,
                nearness,
                n_holders,
                random,
            )
            if target < 0:
                break
            gained += gain
            hope -= n_units * (distinct_sets.starts[distinct + 1] - distinct_sets.starts[distinct])
            transfer(groups, distinct, n_units, group, target)
            moved_distinct[n_moved], moved_units[n_moved] = distinct, n_units
            moved_to[n_moved] = target
            n_moved += 1
        # all are gone and it paid off; else they go back the way they came
        if groups.n_slots[group] == 0 and gained > value + LEAST_GAIN:
            n_dissolved += 1
            for place in range(n_moved):
                is_changed[moved_to[place]] = True
            continue
        for place in range(n_moved - 1, -1, -1):
            transfer(groups, moved_distinct[place], moved_units[place], moved_to[place], group)
    clear_counts(scratch, 1)
    return n_dissolved

"""Groups of twice their need or more, cut in two where that is worth more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner
from incrowd.kernels.draws import below
from incrowd.kernels.sorting import shell_sort
from incrowd.methods.cluster.sets.kernels.passes import LEAST_GAIN, marked
from incrowd.methods.cluster.sets.kernels.state import (
    DistinctSets,
    Groups,
    Scratch,
    add_to_counts,
    clear_counts,
    load_counts,
    worth,
    worth_at,
)
from incrowd.methods.shared.set_groups.vote_kernel import Rule, least_holders

N_TRIALS = 4
"""With how many pairs of far rows a cut is tried."""


@compiled_inner
def _overlap(
    distinct_sets: DistinctSets, distinct: Whole, mark: NDArray[np.int64], number: Whole
) -> Whole:
    shared = 0
    for entry in range(distinct_sets.starts[distinct], distinct_sets.starts[distinct + 1]):
        if mark[distinct_sets.items[entry]] == number:
            shared += 1
    return shared


@compiled_inner
def _distances(
    distinct_sets: DistinctSets, groups: Groups, scratch: Scratch, group: Whole, distinct: Whole
) -> NDArray[np.int64]:
    """Return how far each slot of a group is from a distinct set (Hamming)."""
    mark = marked(distinct_sets, scratch, distinct)
    n_items = distinct_sets.starts[distinct + 1] - distinct_sets.starts[distinct]
    first = groups.first[group]
    distance = np.empty(groups.n_slots[group], dtype=np.int64)
    for place in range(len(distance)):
        other = groups.distinct[first + place]
        shared = _overlap(distinct_sets, other, scratch.mark, mark)
        distance[place] = (
            n_items + distinct_sets.starts[other + 1] - distinct_sets.starts[other] - 2 * shared
        )
    return distance


@compiled_inner
def _worth_of_cut(
    distinct_sets: DistinctSets,
    groups: Groups,
    scratch: Scratch,
    rule: Rule,
    group: Whole,
    order: NDArray[np.int64],
    n_cut: Whole,
) -> float:
    """Return what both parts are worth if the first units in this order go; −1 if one is small.

    Side 0 has the counts of the whole group, side 1 is used for those of the part.
    """
    first = groups.first[group]
    size = groups.size[group]
    need_cut = 1
    need_left = 1
    n_left_to_cut = n_cut
    clear_counts(scratch, 1)
    for place in order:
        distinct, n_units = groups.distinct[first + place], groups.units[first + place]
        n_taken = min(n_left_to_cut, n_units)
        if n_taken > 0:
            add_to_counts(distinct_sets, scratch, 1, distinct, n_taken)
            need_cut = max(need_cut, distinct_sets.need[distinct])
            n_left_to_cut -= n_taken
        if n_taken < n_units:
            need_left = max(need_left, distinct_sets.need[distinct])
    if n_cut < need_cut or size - n_cut < need_left:
        return -1.0
    value = worth_at(scratch, 1, rule, n_cut, need_cut)
    least = least_holders(rule, size - n_cut, need_left)
    for place in range(scratch.n_listed[0]):
        item = scratch.listed[0, place]
        n_holders = scratch.counted[0, item] - scratch.counted[1, item]
        value += worth(n_holders, least, size - n_cut, rule.price)
    return value


@compiled
def cut_groups(
    distinct_sets: DistinctSets,
    groups: Groups,
    scratch: Scratch,
    rule: Rule,
    least_size: Whole,
    random: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], Whole]:
    """Return which units leave which slots for a new group: slots, units, new groups, their number.

    Groups below ``least_size`` are left alone; each is cut at most once a call.
    """
    n_groups = len(groups.size)
    n_found = 0
    n_new = n_groups
    slots = np.empty(len(groups.distinct), dtype=np.int32)
    units = np.empty(len(groups.distinct), dtype=np.int32)
    new_group = np.empty(len(groups.distinct), dtype=np.int32)
    for group in range(n_groups):
        size, n_slots = groups.size[group], groups.n_slots[group]
        if size < least_size or n_slots < 2:
            continue
        # both sides must be large enough: the needs of the most and the least demanding
        first = groups.first[group]
        need = 1
        smallest = distinct_sets.need[groups.distinct[first]]
        for slot in range(first, first + n_slots):
            need = max(need, distinct_sets.need[groups.distinct[slot]])
            smallest = min(smallest, distinct_sets.need[groups.distinct[slot]])
        if size < need + smallest:
            continue
        # a cut must be worth more than the whole
        load_counts(distinct_sets, groups, scratch, 0, group)
        best = worth_at(scratch, 0, rule, size, groups.bar[group]) + LEAST_GAIN
        best_order = np.empty(0, dtype=np.int64)
        best_cut = 0
        for _ in range(N_TRIALS):
            # two poles, the second the farthest from the first, and slots by which is nearer
            one = groups.distinct[first + below(random, n_slots)]
            from_one = _distances(distinct_sets, groups, scratch, group, one)
            far = groups.distinct[first + np.argmax(from_one)]
            nearer = from_one - _distances(distinct_sets, groups, scratch, group, far)
            order = nearer * n_slots + np.arange(n_slots)  # by distance, then by place
            shell_sort(order, n_slots)
            order %= n_slots
            n_natural = 0
            for place in range(n_slots):
                if nearer[place] < 0:
                    n_natural += groups.units[first + place]
            # cut where nearness changes sides, or as far to either end as needs allow
            for option in range(3):
                n_cut = smallest
                if option == 0:
                    n_cut = min(max(n_natural, smallest), size - smallest)
                elif option == 1:
                    n_cut = size - smallest
                value = _worth_of_cut(distinct_sets, groups, scratch, rule, group, order, n_cut)
                if value > best:
                    best, best_order, best_cut = value, order, n_cut
        # the nearest of the best cut leave for a new group
        for place in best_order:
            n_taken = min(best_cut, groups.units[first + place])
            if n_taken > 0:
                slots[n_found], units[n_found] = first + place, n_taken
                new_group[n_found] = n_new
                n_found += 1
                best_cut -= n_taken
        if len(best_order) > 0:
            n_new += 1
    clear_counts(scratch, 0)
    clear_counts(scratch, 1)
    return slots[:n_found], units[:n_found], new_group[:n_found], n_new - n_groups

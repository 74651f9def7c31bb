"""First groups: a seed and the near rows that raise its group's worth most, up to its need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner
from incrowd.methods.cluster.sets.kernels.near import Found, Index, find_near
from incrowd.methods.cluster.sets.kernels.state import (
    N_IN_TABLE,
    DistinctSets,
    Scratch,
    add_to_counts,
    clear_counts,
    worth,
)
from incrowd.methods.shared.set_groups.vote_kernel import Rule, least_holders

TIE = 1e-3
"""What an item in common is worth where it does not decide the vote yet."""


class GrowingGroups(NamedTuple):
    """Units of sets in groups, an entry each; ``n[0]`` entries and ``n[1]`` groups so far."""

    distinct: NDArray[np.int32]
    units: NDArray[np.int32]
    group: NDArray[np.int32]
    n: NDArray[np.int64]


@compiled_inner
def _add(growing: GrowingGroups, first: Whole, distinct: Whole, n_units: Whole) -> None:
    """Add units to the group under way, whose entries begin at ``first``."""
    place = first
    while place < growing.n[0] and growing.distinct[place] != distinct:
        place += 1
    if place == growing.n[0]:
        growing.distinct[place] = distinct
        growing.units[place] = 0
        growing.group[place] = growing.n[1]
        growing.n[0] += 1
    growing.units[place] += n_units


@compiled_inner
def _nearest_to_group(
    distinct_sets: DistinctSets,
    scratch: Scratch,
    rule: Rule,
    found: Found,
    n_free: NDArray[np.int32],
    size: Whole,
) -> Whole:
    """Return the place of the found distinct set that raises the worth of a growing group most.

    As long as a group grows its own size stands for its need: the bar is that of the vote.
    """
    next_size = size + 1
    least = least_holders(rule, next_size, next_size)
    for count in range(min(next_size + 1, N_IN_TABLE)):
        scratch.worths[count] = worth(count, least, next_size, rule.price)
    best, best_place = -np.inf, -1
    for place in range(found.n[0]):
        if n_free[place] == 0:
            continue
        distinct = found.distinct[place]
        gain = 0.0
        in_common = 0
        for entry in range(distinct_sets.starts[distinct], distinct_sets.starts[distinct + 1]):
            n_holders = scratch.counted[0, distinct_sets.items[entry]]
            in_common += n_holders
            if n_holders + 1 < N_IN_TABLE:
                gain += scratch.worths[n_holders + 1]
                gain -= scratch.worths[n_holders]
            else:
                gain += worth(n_holders + 1, least, next_size, rule.price)
                gain -= worth(n_holders, least, next_size, rule.price)
        n_items = distinct_sets.starts[distinct + 1] - distinct_sets.starts[distinct]
        gain += TIE * (in_common / size - 0.5 * n_items)
        if gain > best:
            best, best_place = gain, place
    return best_place


@compiled
def grow_groups(
    distinct_sets: DistinctSets,
    index: Index,
    found: Found,
    scratch: Scratch,
    rule: Rule,
    seeds: NDArray[np.int64],
    n_left: NDArray[np.int32],
    growing: GrowingGroups,
    random: NDArray[np.int64],
) -> None:
    """Make a group of each seed that has rows left and enough near ones; others stay without.

    A group is made whole or not at all. Seeds come with the largest needs first: a group takes
    rows of smaller needs only. O(seeds · (near ones + need · near ones · entries of a row)).
    """
    n_free = np.zeros(len(found.distinct), dtype=np.int32)
    for seed in seeds:
        if n_left[seed] == 0:
            continue
        need = distinct_sets.need[seed]
        size = min(n_left[seed], need)
        if size < need:
            find_near(distinct_sets, index, found, n_left, seed, need, random)
        else:
            found.n[0] = 0
        n_units = 0
        for place in range(found.n[0]):
            n_free[place] = n_left[found.distinct[place]]
            n_units += n_free[place]
        if size + n_units < need:
            continue
        n_left[seed] -= size
        first = growing.n[0]
        _add(growing, first, seed, size)
        add_to_counts(distinct_sets, scratch, 0, seed, size)
        while size < need:
            place = _nearest_to_group(distinct_sets, scratch, rule, found, n_free, size)
            distinct = found.distinct[place]
            n_free[place] -= 1
            n_left[distinct] -= 1
            _add(growing, first, distinct, 1)
            add_to_counts(distinct_sets, scratch, 0, distinct, 1)
            size += 1
        growing.n[1] += 1
        clear_counts(scratch, 0)


@compiled
def cut_run(
    need: NDArray[np.int32], units: NDArray[np.int32], first_group: Whole
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], Whole]:
    """Cut a run of entries, largest needs first, into groups as soon as each is large enough.

    Return entries, units and groups, and how large the last group is if it is too small, else 0.
    """
    n_units = 0
    for entry in range(len(units)):
        n_units += units[entry]
    entries = np.empty(n_units, dtype=np.int64)
    taken = np.empty(n_units, dtype=np.int32)
    group_of = np.empty(n_units, dtype=np.int32)
    n_found = 0
    group = first_group
    size = 0
    wanted = 0
    for entry in range(len(units)):
        n_left = units[entry]
        while n_left > 0:
            if size == 0:
                wanted = need[entry]
            n_taken = min(n_left, wanted - size)
            entries[n_found], taken[n_found], group_of[n_found] = entry, n_taken, group
            n_found += 1
            n_left -= n_taken
            size += n_taken
            if size == wanted:
                size = 0
                group += 1
    return entries[:n_found], taken[:n_found], group_of[:n_found], size

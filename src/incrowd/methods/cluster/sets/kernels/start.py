"""First groups: a seed and the near rows that raise its group's worth most, up to its need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner
from incrowd.methods.cluster.sets.kernels.near import Found, Index, find_near
from incrowd.methods.cluster.sets.kernels.state import (
    N_IN_TABLE,
    Kinds,
    Scratch,
    add_to_counts,
    clear_counts,
    worth,
)
from incrowd.methods.shared.of_sets.kernel_vote import Rule, least_holders

TIE = 1e-3
"""What an item in common is worth where it does not decide the vote yet."""


class Fragments(NamedTuple):
    """Units of kinds in groups, one line each; ``n[0]`` lines and ``n[1]`` groups so far."""

    kind: NDArray[np.int32]
    units: NDArray[np.int32]
    group: NDArray[np.int32]
    n: NDArray[np.int64]


@compiled_inner
def _add(fragments: Fragments, first: Whole, kind: Whole, n_units: Whole) -> None:
    """Add units to the group under way, whose lines begin at ``first``."""
    place = first
    while place < fragments.n[0] and fragments.kind[place] != kind:
        place += 1
    if place == fragments.n[0]:
        fragments.kind[place] = kind
        fragments.units[place] = 0
        fragments.group[place] = fragments.n[1]
        fragments.n[0] += 1
    fragments.units[place] += n_units


@compiled_inner
def _nearest_to_group(
    kinds: Kinds, scratch: Scratch, rule: Rule, found: Found, n_free: NDArray[np.int32], size: Whole
) -> Whole:
    """Return the place of the found kind that raises the worth of a growing group most.

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
        kind = found.kind[place]
        gain = 0.0
        in_common = 0
        for entry in range(kinds.starts[kind], kinds.starts[kind + 1]):
            n_holders = scratch.counted[0, kinds.items[entry]]
            in_common += n_holders
            if n_holders + 1 < N_IN_TABLE:
                gain += scratch.worths[n_holders + 1]
                gain -= scratch.worths[n_holders]
            else:
                gain += worth(n_holders + 1, least, next_size, rule.price)
                gain -= worth(n_holders, least, next_size, rule.price)
        n_items = kinds.starts[kind + 1] - kinds.starts[kind]
        gain += TIE * (in_common / size - 0.5 * n_items)
        if gain > best:
            best, best_place = gain, place
    return best_place


@compiled
def grow_groups(
    kinds: Kinds,
    index: Index,
    found: Found,
    scratch: Scratch,
    rule: Rule,
    seeds: NDArray[np.int64],
    n_left: NDArray[np.int32],
    fragments: Fragments,
    random: NDArray[np.int64],
) -> None:
    """Make a group of each seed that has rows left and enough near ones; others stay without.

    A group is made whole or not at all. Seeds come with the largest needs first: a group takes
    rows of smaller needs only. O(seeds · (near ones + need · near ones · entries of a row)).
    """
    n_free = np.zeros(len(found.kind), dtype=np.int32)
    for seed in seeds:
        if n_left[seed] == 0:
            continue
        need = kinds.need[seed]
        size = min(n_left[seed], need)
        if size < need:
            find_near(kinds, index, found, n_left, seed, need, random)
        else:
            found.n[0] = 0
        n_units = 0
        for place in range(found.n[0]):
            n_free[place] = n_left[found.kind[place]]
            n_units += n_free[place]
        if size + n_units < need:
            continue
        n_left[seed] -= size
        first = fragments.n[0]
        _add(fragments, first, seed, size)
        add_to_counts(kinds, scratch, 0, seed, size)
        while size < need:
            place = _nearest_to_group(kinds, scratch, rule, found, n_free, size)
            kind = found.kind[place]
            n_free[place] -= 1
            n_left[kind] -= 1
            _add(fragments, first, kind, 1)
            add_to_counts(kinds, scratch, 0, kind, 1)
            size += 1
        fragments.n[1] += 1
        clear_counts(scratch, 0)


@compiled
def cut_run(
    need: NDArray[np.int32], units: NDArray[np.int32], first_group: Whole
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], Whole]:
    """Cut a run of lines, largest needs first, into groups as soon as each is large enough.

    Return lines, units and groups, and how large the last group is if it is too small, else 0.
    """
    n_units = 0
    for line in range(len(units)):
        n_units += units[line]
    lines = np.empty(n_units, dtype=np.int64)
    taken = np.empty(n_units, dtype=np.int32)
    group_of = np.empty(n_units, dtype=np.int32)
    n_found = 0
    group = first_group
    size = 0
    wanted = 0
    for line in range(len(units)):
        n_left = units[line]
        while n_left > 0:
            if size == 0:
                wanted = need[line]
            n_taken = min(n_left, wanted - size)
            lines[n_found], taken[n_found], group_of[n_found] = line, n_taken, group
            n_found += 1
            n_left -= n_taken
            size += n_taken
            if size == wanted:
                size = 0
                group += 1
    return lines[:n_found], taken[:n_found], group_of[:n_found], size

"""The merging loop of GkAA: the smallest group that is not valid meets its cheapest partner.

Groups are numbered as they come to be: the distinct rows in the order given, then each merged
group. They lie in *slots* in the order of their numbers; a merged group takes the next free slot,
and the slots of the dead are closed up now and then.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.kernels.compile import Flag, Whole, compiled, compiled_inner
from incrowd.kernels.trees import Trees, common_ancestor, price_meetings
from incrowd.kernels.validity import Scratch, is_valid, scratch_for

BLOCK = 1024
"""Candidates are priced this many at a time, column by column, within the fastest cache."""

RUNNING, DONE, STUCK = 0, 1, 2


class Groups(NamedTuple):
    """The state of a run between two slices of it.

    Per slot: nodes, size, cost to the root of one row, the group's number, whether it is alive.
    Per group: its slot, the group it was merged into (−1 while alive), its first and last
    distinct row. Per distinct row: the next one of its group, and its run in ``rows``.
    ``heap`` holds size · 2³² + number of groups that are not valid; some of them dead.
    ``counters``: slots in use, groups alive, next number, entries in the heap, merges made.
    """

    node_of_slot: NDArray[np.uint32]
    size_of_slot: NDArray[np.int64]
    cost_of_slot: NDArray[np.int64]
    group_of_slot: NDArray[np.int32]
    is_alive: NDArray[np.bool_]
    slot_of_group: NDArray[np.int32]
    merged_into: NDArray[np.int32]
    first_of_group: NDArray[np.int32]
    last_of_group: NDArray[np.int32]
    next_of_distinct: NDArray[np.int32]
    rows: NDArray[np.int32]
    run_start: NDArray[np.int32]
    heap: NDArray[np.int64]
    counters: NDArray[np.int64]


def start(
    node_of_distinct: NDArray[np.int32],
    rows: NDArray[np.int64],
    run_start: NDArray[np.int64],
    trees: Trees,
) -> Groups:
    """Return the state in which every distinct row is a group.

    ``node_of_distinct[column, distinct]`` are numbers in their own tree's walk; rows
    ``rows[run_start[distinct] : run_start[distinct + 1]]`` are those equal to a distinct row.
    """
    n_columns, n_distinct = node_of_distinct.shape
    n_slots = n_distinct + n_distinct // 8 + 66
    node_of_slot = np.zeros((n_columns, n_slots), dtype=np.uint32)
    node_of_slot[:, :n_distinct] = node_of_distinct + trees.start[:-1, None]
    sizes = np.zeros(n_slots, dtype=np.int64)
    sizes[:n_distinct] = np.diff(run_start)
    costs = np.zeros(n_slots, dtype=np.int64)
    costs[:n_distinct] = trees.cost_to_root[node_of_slot[:, :n_distinct]].sum(axis=0)
    n_groups = 2 * n_distinct
    numbers = np.arange(n_groups, dtype=np.int32)
    group_of_slot = np.zeros(n_slots, dtype=np.int32)
    group_of_slot[:n_distinct] = numbers[:n_distinct]
    return Groups(
        node_of_slot,
        sizes,
        costs,
        group_of_slot,
        np.arange(n_slots) < n_distinct,
        numbers.copy(),
        np.full(n_groups, -1, dtype=np.int32),
        numbers.copy(),
        numbers.copy(),
        np.full(n_distinct, -1, dtype=np.int32),
        rows.astype(np.int32),
        run_start.astype(np.int32),
        np.zeros(n_groups, dtype=np.int64),
        np.asarray([n_distinct, n_distinct, n_distinct, -1, 0], dtype=np.int64),
    )


@compiled_inner
def _push(heap: NDArray[np.int64], n_entries: Whole, entry: Whole) -> Whole:
    """Add an entry to a heap, the least on top; return how many there are. O(log)."""
    place = n_entries
    while place > 0:
        above = (place - 1) >> 1
        if heap[above] <= entry:
            break
        heap[place] = heap[above]
        place = above
    heap[place] = entry
    return n_entries + 1


@compiled_inner
def _drop_top(heap: NDArray[np.int64], n_entries: Whole) -> Whole:
    """Take the least entry off a heap; return how many are left. O(log)."""
    n_entries -= 1
    entry = heap[n_entries]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= n_entries:
            break
        if below + 1 < n_entries and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= entry:
            break
        heap[place] = heap[below]
        place = below
    heap[place] = entry
    return n_entries


@compiled_inner
def _is_group_valid(
    group: Whole,
    size: Whole,
    groups: Groups,
    limits: Any,
    is_size_only: Flag,
    members: NDArray[np.int32],
    scratch: Scratch,
) -> Flag:
    """Return whether a group is valid, by its size alone where that decides. O(size)."""
    if is_size_only:
        return size >= limits.k
    n_members = np.int64(0)
    distinct = groups.first_of_group[group]
    while distinct >= 0:
        for place in range(groups.run_start[distinct], groups.run_start[distinct + 1]):
            members[n_members] = groups.rows[place]
            n_members += 1
        distinct = groups.next_of_distinct[distinct]
    return is_valid(members, n_members, limits, scratch)


@compiled_inner
def _cheapest_partner(
    node_of_slot: NDArray[np.uint32],
    size_of_slot: NDArray[np.int64],
    cost_of_slot: NDArray[np.int64],
    is_alive: NDArray[np.bool_],
    n_slots: Whole,
    size: Whole,
    cost_of_meeting: NDArray[np.int32],
    sums: NDArray[np.int32],
) -> Whole:
    """Return the slot of the cheapest partner, the first of equals. O(slots · columns).

    Merging C and D costs |C|·c(C) + |D|·c(D) − (|C| + |D|)·c(where they meet), c being the cost
    to the root; the first term is the same for every D and left out.
    """
    n_columns = node_of_slot.shape[0]
    least = np.int64(9223372036854775807)
    partner: Whole = np.int64(-1)
    for first in range(0, n_slots, BLOCK):
        n_block = min(BLOCK, n_slots - first)
        for place in range(n_block):
            sums[place] = cost_of_meeting[node_of_slot[0, first + place]]
        for column in range(1, n_columns):
            for place in range(n_block):
                sums[place] += cost_of_meeting[node_of_slot[column, first + place]]
        for place in range(n_block):
            slot = first + place
            cost = size_of_slot[slot] * cost_of_slot[slot]
            cost -= (size + size_of_slot[slot]) * np.int64(sums[place])
            if cost < least and is_alive[slot]:
                least = cost
                partner = slot
    return partner


@compiled_inner
def _close_up(groups: Groups, n_slots: Whole) -> Whole:
    """Close up the slots of dead groups, the order of numbers kept; return the slots in use."""
    n_columns = groups.node_of_slot.shape[0]
    kept = 0
    for slot in range(n_slots):
        if not groups.is_alive[slot]:
            continue
        if kept != slot:
            for column in range(n_columns):
                groups.node_of_slot[column, kept] = groups.node_of_slot[column, slot]
            groups.size_of_slot[kept] = groups.size_of_slot[slot]
            groups.cost_of_slot[kept] = groups.cost_of_slot[slot]
            groups.group_of_slot[kept] = groups.group_of_slot[slot]
            groups.is_alive[kept] = True
            groups.slot_of_group[groups.group_of_slot[kept]] = kept
        kept += 1
    for slot in range(kept, n_slots):
        groups.is_alive[slot] = False
    return kept


@compiled
def merge_slice(
    n_merges: Whole,
    groups: Groups,
    trees: Trees,
    limits: Any,
    is_size_only: Flag,
    members: NDArray[np.int32],
    scratch: Scratch,
) -> Whole:
    """Make up to ``n_merges`` merges; return RUNNING, DONE or STUCK (one group, not valid).

    O(groups alive · columns) a merge.
    """
    n_columns = groups.node_of_slot.shape[0]
    n_slots, n_alive, next_group, n_entries, n_made = groups.counters
    if n_entries < 0:  # the first slice: queue what is not valid, in order of numbers
        n_entries = np.int64(0)
        for group in range(n_alive):
            size = groups.size_of_slot[group]
            if not _is_group_valid(group, size, groups, limits, is_size_only, members, scratch):
                n_entries = _push(groups.heap, n_entries, (size << 32) | group)
    cost_of_meeting = np.empty(trees.parent.size, dtype=np.int32)
    sums = np.empty(BLOCK, dtype=np.int32)
    state = RUNNING
    for _ in range(n_merges):
        while n_entries > 0 and groups.merged_into[groups.heap[0] & 0xFFFFFFFF] >= 0:
            n_entries = _drop_top(groups.heap, n_entries)
        if n_entries == 0:
            state = DONE
            break
        if n_alive == 1:
            state = STUCK
            break
        small = groups.heap[0] & 0xFFFFFFFF
        n_entries = _drop_top(groups.heap, n_entries)
        small_slot = groups.slot_of_group[small]
        small_size = groups.size_of_slot[small_slot]
        for column in range(n_columns):
            node = np.int64(groups.node_of_slot[column, small_slot])
            price_meetings(node, trees, cost_of_meeting)
        groups.is_alive[small_slot] = False
        slot = _cheapest_partner(
            groups.node_of_slot,
            groups.size_of_slot,
            groups.cost_of_slot,
            groups.is_alive,
            n_slots,
            small_size,
            cost_of_meeting,
            sums,
        )
        partner = groups.group_of_slot[slot]
        groups.is_alive[slot] = False
        merged_cost: Whole = np.int64(0)
        for column in range(n_columns):
            node = common_ancestor(
                trees.parent,
                np.int64(groups.node_of_slot[column, small_slot]),
                np.int64(groups.node_of_slot[column, slot]),
            )
            groups.node_of_slot[column, n_slots] = node
            merged_cost += trees.cost_to_root[node]
        size = small_size + groups.size_of_slot[slot]
        groups.size_of_slot[n_slots] = size
        groups.cost_of_slot[n_slots] = merged_cost
        groups.group_of_slot[n_slots] = next_group
        groups.is_alive[n_slots] = True
        groups.slot_of_group[next_group] = n_slots
        groups.merged_into[small] = next_group
        groups.merged_into[partner] = next_group
        groups.first_of_group[next_group] = groups.first_of_group[small]
        groups.next_of_distinct[groups.last_of_group[small]] = groups.first_of_group[partner]
        groups.last_of_group[next_group] = groups.last_of_group[partner]
        n_slots += 1
        n_alive -= 1
        n_made += 1
        if not _is_group_valid(next_group, size, groups, limits, is_size_only, members, scratch):
            n_entries = _push(groups.heap, n_entries, (size << 32) | next_group)
        next_group += 1
        if n_slots > n_alive + n_alive // 8 + 64:
            n_slots = _close_up(groups, n_slots)
    groups.counters[0] = n_slots
    groups.counters[1] = n_alive
    groups.counters[2] = next_group
    groups.counters[3] = n_entries
    groups.counters[4] = n_made
    return state


def released_nodes(groups: Groups, trees: Trees) -> NDArray[np.int32]:
    """Return ``nodes[column, distinct]``: what each distinct row is released as, in the walks."""
    n_distinct = len(groups.next_of_distinct)
    numbers = np.arange(len(groups.merged_into), dtype=np.int32)
    last = np.where(groups.merged_into < 0, numbers, groups.merged_into)
    while np.any(groups.merged_into[last] >= 0):
        last = last[last]
    slots = groups.slot_of_group[last[:n_distinct]]
    nodes = groups.node_of_slot[:, slots].astype(np.int64) - trees.start[:-1, None]
    return nodes.astype(np.int32)


def room(limits: Any, n_rows: int) -> tuple[NDArray[np.int32], Scratch]:
    """Return what one thread needs to test groups: room for members, and to count in."""
    return np.zeros(n_rows, dtype=np.int32), scratch_for(limits)

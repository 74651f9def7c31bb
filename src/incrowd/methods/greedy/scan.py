"""The merging loop of GkAA with a scan of all groups for every partner, as the paper has it.

The plain twin of ``kernel.py``, which finds the same partners through an index: the tests hold one
against the other. Groups lie in slots in the order of their numbers; a merged group takes the next
free slot, and the slots of the dead are closed up now and then.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner
from incrowd.kernels.trees import Trees, common_ancestor, price_meetings
from incrowd.methods.greedy.groups import (
    ALIVE,
    NEXT,
    RUNNING,
    TESTED,
    Groups,
    Room,
    join,
    queue_unless_valid,
    take_small,
)

BLOCK = 1024
"""Candidates are priced this many at a time, column by column, within the fastest cache."""


class Slots(NamedTuple):
    """Per slot: nodes, size, cost to the root of one row, the group's number, whether it is alive.

    ``n_used[0]``: slots in use.
    """

    node_of_slot: NDArray[np.uint32]
    size_of_slot: NDArray[np.int64]
    cost_of_slot: NDArray[np.int64]
    group_of_slot: NDArray[np.int32]
    is_alive: NDArray[np.bool_]
    n_used: NDArray[np.int64]


def start(
    node_of_distinct: NDArray[np.int32], size_of_distinct: NDArray[np.int64], trees: Trees
) -> Slots:
    """Return the slots in which every distinct row is a group.

    ``node_of_distinct[column, distinct]`` are numbers in the trees.
    """
    n_columns, n_distinct = node_of_distinct.shape
    n_slots = n_distinct + n_distinct // 8 + 66
    node_of_slot = np.zeros((n_columns, n_slots), dtype=np.uint32)
    node_of_slot[:, :n_distinct] = node_of_distinct
    sizes = np.zeros(n_slots, dtype=np.int64)
    sizes[:n_distinct] = size_of_distinct
    costs = np.zeros(n_slots, dtype=np.int64)
    costs[:n_distinct] = trees.cost_to_root[node_of_distinct].sum(axis=0)
    group_of_slot = np.arange(n_slots, dtype=np.int32)
    is_alive = group_of_slot < n_distinct
    return Slots(node_of_slot, sizes, costs, group_of_slot, is_alive, np.asarray([n_distinct]))


def nodes_of(slots: Slots, wanted: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return ``nodes[column, …]`` of some slots."""
    return slots.node_of_slot[:, wanted].astype(np.int64)


@compiled_inner
def _cheapest_partner(
    slots: Slots,
    size: Whole,
    cost_of_meeting: NDArray[np.int32],
    sums: NDArray[np.int32],
) -> Whole:
    """Return the slot of the cheapest partner, the first of equals. O(slots · columns).

    Merging C and D costs |C|·c(C) + |D|·c(D) − (|C| + |D|)·c(where they meet), c being the cost
    to the root; the first term is the same for every D and left out.
    """
    node_of_slot, size_of_slot = slots.node_of_slot, slots.size_of_slot
    n_columns = node_of_slot.shape[0]
    n_slots = slots.n_used[0]
    least = np.int64(9223372036854775807)
    partner: Whole = np.int64(-1)
    for first in range(0, n_slots, BLOCK):
        n_block = min(BLOCK, n_slots - first)
        sums[:n_block] = 0
        for column in range(n_columns):
            for place in range(n_block):
                sums[place] += cost_of_meeting[node_of_slot[column, first + place]]
        for place in range(n_block):
            slot = first + place
            cost = size_of_slot[slot] * slots.cost_of_slot[slot]
            cost -= (size + size_of_slot[slot]) * np.int64(sums[place])
            if cost < least and slots.is_alive[slot]:
                least = cost
                partner = slot
    return partner


@compiled_inner
def close_up(slots: Slots, slot_of_group: NDArray[np.int32]) -> None:
    """Close up the slots of dead groups, the order of numbers kept."""
    n_columns = slots.node_of_slot.shape[0]
    n_slots = slots.n_used[0]
    kept = 0
    for slot in range(n_slots):
        if not slots.is_alive[slot]:
            continue
        if kept != slot:
            for column in range(n_columns):
                slots.node_of_slot[column, kept] = slots.node_of_slot[column, slot]
            slots.size_of_slot[kept] = slots.size_of_slot[slot]
            slots.cost_of_slot[kept] = slots.cost_of_slot[slot]
            slots.group_of_slot[kept] = slots.group_of_slot[slot]
            slots.is_alive[kept] = True
            slot_of_group[slots.group_of_slot[kept]] = kept
        kept += 1
    for slot in range(kept, n_slots):
        slots.is_alive[slot] = False
    slots.n_used[0] = kept


@compiled
def merge_slice(
    n_merges: Whole, groups: Groups, slots: Slots, trees: Trees, limits: Any, room: Room
) -> Whole:
    """Make up to ``n_merges`` merges; return RUNNING, DONE or STUCK (one group, not valid).

    O(groups alive · columns) a merge.
    """
    n_columns = slots.node_of_slot.shape[0]
    cost_of_meeting = np.empty(trees.parent.size, dtype=np.int32)
    sums = np.empty(BLOCK, dtype=np.int32)
    state = RUNNING
    for _ in range(n_merges):
        # all groups the first time, then the one that was merged last
        for group in range(groups.counters[TESTED], groups.counters[NEXT]):
            size = slots.size_of_slot[groups.slot_of_group[group]]
            queue_unless_valid(group, size, groups, limits, room)
        groups.counters[TESTED] = groups.counters[NEXT]
        state, small = take_small(groups)
        if state != RUNNING:
            break
        small_slot = np.int64(groups.slot_of_group[small])
        small_size = slots.size_of_slot[small_slot]
        for column in range(n_columns):
            node = np.int64(slots.node_of_slot[column, small_slot])
            price_meetings(node, trees, cost_of_meeting)
        slots.is_alive[small_slot] = False
        slot = _cheapest_partner(slots, small_size, cost_of_meeting, sums)
        slots.is_alive[slot] = False
        merged_slot = slots.n_used[0]
        cost: Whole = np.int64(0)
        for column in range(n_columns):
            node = common_ancestor(
                trees.parent,
                np.int64(slots.node_of_slot[column, small_slot]),
                np.int64(slots.node_of_slot[column, slot]),
            )
            slots.node_of_slot[column, merged_slot] = node
            cost += trees.cost_to_root[node]
        size = small_size + slots.size_of_slot[slot]
        partner = slots.group_of_slot[slot]
        slots.size_of_slot[merged_slot] = size
        slots.cost_of_slot[merged_slot] = cost
        slots.group_of_slot[merged_slot] = join(small, partner, merged_slot, groups)
        slots.is_alive[merged_slot] = True
        slots.n_used[0] += 1
        n_alive = groups.counters[ALIVE]
        if slots.n_used[0] > n_alive + n_alive // 8 + 64:
            close_up(slots, groups.slot_of_group)
    return state

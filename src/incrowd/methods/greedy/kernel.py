"""The merging loop of GkAA: the smallest group that is not valid meets its cheapest partner."""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.compiling import Whole, compiled
from incrowd.kernels.trees import Trees, common_ancestor
from incrowd.methods.greedy.boxes import Boxes, find_partner_in_boxes, keep_boxes_true
from incrowd.methods.greedy.groups import (
    NEXT,
    RUNNING,
    TESTED,
    Groups,
    Room,
    Slots,
    join,
    queue_unless_valid,
    take_small,
)
from incrowd.methods.greedy.scan import StatedCosts, fill_slot, find_partner_by_scan


@compiled
def merge_slice(
    n_merges: Whole,
    groups: Groups,
    slots: Slots,
    boxes: Boxes | None,
    stated: StatedCosts | None,
    trees: Trees,
    limits: Any,
    room: Room,
) -> Whole:
    """Make up to ``n_merges`` merges; return RUNNING, DONE or STUCK (one group, not valid).

    Partners are found through boxes, or by a scan where costs are stated; the other one is None,
    and its branches are not compiled. O(groups alive · columns) a merge at worst; on real tables
    most boxes are never opened.
    """
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
        if boxes is not None:
            slot = find_partner_in_boxes(small, groups, slots, boxes, trees)
        if stated is not None:
            slot = find_partner_by_scan(small, groups, slots, stated, trees)
        # the merged group takes its partner's slot
        small_slot = np.int64(groups.slot_of_group[small])
        for column in range(slots.node_of_slot.shape[1]):
            slots.node_of_slot[slot, column] = common_ancestor(
                trees.parent,
                np.int64(slots.node_of_slot[small_slot, column]),
                np.int64(slots.node_of_slot[slot, column]),
            )
        slots.size_of_slot[slot] += slots.size_of_slot[small_slot]
        slots.group_of_slot[slot] = join(small, slots.group_of_slot[slot], slot, groups)
        if boxes is not None:
            keep_boxes_true(slot, slots, boxes, trees)
        if stated is not None:
            fill_slot(small_slot, groups, slots)
    return state

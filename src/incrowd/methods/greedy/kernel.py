"""The merging loop of GkAA: the smallest group that is not valid meets its cheapest partner."""

from __future__ import annotations

from typing import Any

from incrowd.compiling import Whole, compiled
from incrowd.kernels.trees import Trees
from incrowd.methods.greedy.boxes import Boxes, find_partner_in_boxes, keep_boxes_true
from incrowd.methods.greedy.groups import (
    RUNNING,
    Groups,
    Room,
    Slots,
    merge_in_slot,
    queue_new,
    take_small,
)
from incrowd.methods.greedy.scan import StatedCosts, find_partner_by_scan, merge_by_scan


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
        queue_new(groups, slots, limits, room)
        state, small = take_small(groups)
        if state != RUNNING:
            break
        if boxes is not None:
            slot = find_partner_in_boxes(small, groups, slots, boxes, trees)
            merge_in_slot(small, slot, groups, slots, trees)
            keep_boxes_true(slot, slots, boxes, trees)
        if stated is not None:
            slot = find_partner_by_scan(small, groups, slots, stated, trees)
            merge_by_scan(small, slot, groups, slots, trees)
    return state

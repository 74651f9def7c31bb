"""The merging loop of GkAA: the smallest group that is not valid meets its cheapest partner.

Partners are found through the box tree of ``boxes.py``; the merges are those of ``scan.py``, which
looks at every group.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled
from incrowd.kernels.trees import Trees, common_ancestor, move_meetings
from incrowd.methods.greedy.boxes import (
    Boxes,
    Waiting,
    build,
    cheapest_partner,
    move_up,
    start,
    take_out,
)
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

__all__ = ["merge_slice", "nodes_of", "start"]

STALE_SHARE = 0.3
"""Boxes are built anew after so many merges for each group that is still alive."""

STALE_LEAST = 32
"""And never after fewer merges than this."""


def nodes_of(boxes: Boxes, wanted: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return ``nodes[column, …]`` of some slots."""
    return boxes.node_of_slot[wanted].T.astype(np.int64)


@compiled
def merge_slice(
    n_merges: Whole, groups: Groups, boxes: Boxes, trees: Trees, limits: Any, room: Room
) -> Whole:
    """Make up to ``n_merges`` merges; return RUNNING, DONE or STUCK (one group, not valid).

    O(groups alive · columns) a merge at worst; on real tables most boxes are never opened.
    """
    n_columns = boxes.node_of_slot.shape[1]
    cost_of_meeting = np.empty(trees.parent.size, dtype=np.int32)
    best_cost_of_meeting = np.empty(trees.parent.size, dtype=np.int32)
    priced = np.full(n_columns, -1, dtype=np.int64)
    most_boxes = boxes.parent_of_box.size
    waiting = Waiting(np.empty(most_boxes, dtype=np.int32), np.empty(most_boxes, dtype=np.int64))
    state = RUNNING
    for _ in range(n_merges):
        # all groups the first time, then the one that was merged last
        for group in range(groups.counters[TESTED], groups.counters[NEXT]):
            size = boxes.size_of_slot[groups.slot_of_group[group]]
            queue_unless_valid(group, size, groups, limits, room)
        groups.counters[TESTED] = groups.counters[NEXT]
        state, small = take_small(groups)
        if state != RUNNING:
            break
        n_alive = groups.counters[ALIVE]
        if boxes.n_stale[0] > STALE_SHARE * n_alive + STALE_LEAST:
            build(boxes, n_alive, groups.slot_of_group, trees)
            boxes.n_stale[0] = 0
        small_slot = np.int64(groups.slot_of_group[small])
        small_size = boxes.size_of_slot[small_slot]
        for column in range(n_columns):
            node = np.int64(boxes.node_of_slot[small_slot, column])
            if node != priced[column]:
                move_meetings(priced[column], node, trees, cost_of_meeting, best_cost_of_meeting)
                priced[column] = node
        take_out(boxes, small_slot)
        slot = cheapest_partner(boxes, small_size, cost_of_meeting, best_cost_of_meeting, waiting)
        # the merged group takes its partner's slot
        cost: Whole = np.int64(0)
        for column in range(n_columns):
            node = common_ancestor(
                trees.parent, priced[column], np.int64(boxes.node_of_slot[slot, column])
            )
            boxes.node_of_slot[slot, column] = node
            cost += trees.cost_to_root[node]
        size = small_size + boxes.size_of_slot[slot]
        partner = boxes.group_of_slot[slot]
        boxes.size_of_slot[slot] = size
        boxes.cost_of_slot[slot] = cost
        boxes.group_of_slot[slot] = join(small, partner, slot, groups)
        move_up(boxes, slot, trees.end)
        boxes.n_stale[0] += 1
    return state

"""An index of groups by where they lie in the trees: the box tree.

A *box* holds groups and, per column, the lowest node above all of theirs. It is split on one column
into the children of that node, down to a few groups a box. For a group that looks for a partner, a
box says how cheap a partner in it can be at best, so most boxes are never opened.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled_inner
from incrowd.kernels.trees import Trees, common_ancestor, move_meetings
from incrowd.methods.greedy.groups import ALIVE, Groups, Slots

FULL = 12
"""A box of more groups than this is split."""

SORTED = 16
"""A box that starts to wait passes at most this many others: a box may have thousands of children,
and the order in which they are opened changes the time, not the partner."""

STALE_SHARE = 0.3
"""Boxes are built anew after so many merges for each group that is still alive."""

STALE_LEAST = 32
"""And never after fewer merges than this."""

NONE = -1


class Boxes(NamedTuple):
    """The boxes that the groups alive lie in.

    Per slot: the cost to the root of one row, its box (−1 once it is dead), and its neighbours in
    the list of that box's own groups. Per box: nodes, the sum of their costs, the least size and
    number of the groups at or under it (or less, since groups leave), the box above, the boxes
    under it (a run), and the first of its own groups.
    ``n_stale[0]``: merges made since the boxes were built, very many before that.

    For the group that looks for a partner: ``priced_node[column]`` are the nodes, −1 at first,
    that ``cost_of_meeting[node]`` and ``best_cost_of_meeting[node]`` were last set for.
    ``waiting_box`` is a stack of boxes to be opened, ``waiting_bound`` their bounds.
    """

    cost_of_slot: NDArray[np.int64]
    box_of_slot: NDArray[np.int32]
    next_of_slot: NDArray[np.int32]
    previous_of_slot: NDArray[np.int32]
    node_of_box: NDArray[np.uint32]
    cost_of_box: NDArray[np.int64]
    least_size_of_box: NDArray[np.int64]
    least_group_of_box: NDArray[np.int32]
    parent_of_box: NDArray[np.int32]
    first_child_of_box: NDArray[np.int32]
    end_child_of_box: NDArray[np.int32]
    first_slot_of_box: NDArray[np.int32]
    n_stale: NDArray[np.int64]
    priced_node: NDArray[np.int64]
    cost_of_meeting: NDArray[np.int32]
    best_cost_of_meeting: NDArray[np.int32]
    waiting_box: NDArray[np.int32]
    waiting_bound: NDArray[np.int64]


def room_for_boxes(slots: Slots, trees: Trees) -> Boxes:
    """Return room for boxes, not yet built, over the groups of all slots."""
    n_distinct, n_columns = slots.node_of_slot.shape
    n_boxes = n_distinct + n_distinct // 4 + 1
    per_slot = np.full((2, n_distinct), NONE, dtype=np.int32)
    per_box = np.full((5, n_boxes), NONE, dtype=np.int32)
    return Boxes(
        trees.cost_to_root[slots.node_of_slot].sum(axis=1, dtype=np.int64),
        np.zeros(n_distinct, dtype=np.int32),
        per_slot[0],
        per_slot[1],
        np.zeros((n_boxes, n_columns), dtype=np.uint32),
        np.zeros(n_boxes, dtype=np.int64),
        np.zeros(n_boxes, dtype=np.int64),
        per_box[0],
        per_box[1],
        per_box[2],
        per_box[3],
        per_box[4],
        np.full(1, 1 << 62, dtype=np.int64),
        np.full(n_columns, NONE, dtype=np.int64),
        np.empty(trees.parent.size, dtype=np.int32),
        np.empty(trees.parent.size, dtype=np.int32),
        np.empty(n_boxes, dtype=np.int32),
        np.empty(n_boxes, dtype=np.int64),
    )


# ── building ────────────────────────────────────────────────────────────────────────────────────


@compiled_inner
def _child_above(node: Whole, top: Whole, parent: NDArray[np.int32]) -> Whole:
    """Return the child of ``top`` at or above a node, or ``top`` for itself. O(depth)."""
    while node != top and parent[node] != top:
        node = np.int64(parent[node])
    return node


@compiled_inner
def _bound_box(
    box: Whole,
    order: NDArray[np.int32],
    slots: Slots,
    boxes: Boxes,
    dearest: NDArray[np.int32],
    trees: Trees,
) -> Whole:
    """Set what a box says of the groups in some slots; return the column to split on, or −1.

    The lowest node above several is that above the first and the last of them in the walk. The
    column is one in which nodes differ, and whose node has gone up furthest from the leaves.
    """
    least_size = np.int64(9223372036854775807)
    least_group = np.int32(2147483647)
    for slot in order:
        least_size = min(least_size, slots.size_of_slot[slot])
        least_group = min(least_group, slots.group_of_slot[slot])
    boxes.least_size_of_box[box] = least_size
    boxes.least_group_of_box[box] = least_group
    column_to_split: Whole = np.int64(NONE)
    highest: Whole = np.int64(NONE)
    cost: Whole = np.int64(0)
    for column in range(slots.node_of_slot.shape[1]):
        first = slots.node_of_slot[order[0], column]
        last = first
        for slot in order:
            first = min(first, slots.node_of_slot[slot, column])
            last = max(last, slots.node_of_slot[slot, column])
        node = common_ancestor(trees.parent, np.int64(first), np.int64(last))
        boxes.node_of_box[box, column] = node
        cost += trees.cost_to_root[node]
        height = np.int64(dearest[column] - trees.cost_to_root[node])
        if first != last and height > highest:
            highest = height
            column_to_split = column
    boxes.cost_of_box[box] = cost
    return column_to_split


@compiled_inner
def _split(
    order: NDArray[np.int32],
    column: Whole,
    top: Whole,
    slots: Slots,
    trees: Trees,
    part_of_node: NDArray[np.int32],
    node_of_part: NDArray[np.int32],
    start_of_part: NDArray[np.int32],
) -> Whole:
    """Sort slots by the child of ``top`` above each; return how many parts, their starts set.

    ``part_of_node`` is −1 for all nodes before and after. O(slots · depth).
    """
    n_parts = np.int64(0)
    part_of_place = np.empty(order.size, dtype=np.int32)
    for place in range(order.size):
        node = np.int64(slots.node_of_slot[order[place], column])
        node = _child_above(node, top, trees.parent)
        if part_of_node[node] < 0:
            part_of_node[node] = n_parts
            node_of_part[n_parts] = node
            start_of_part[n_parts + 1] = 0
            n_parts += 1
        part_of_place[place] = part_of_node[node]
        start_of_part[part_of_node[node] + 1] += 1
    start_of_part[0] = 0
    for part in range(n_parts):
        part_of_node[node_of_part[part]] = NONE
        start_of_part[part + 1] += start_of_part[part]
    unsorted = order.copy()
    filled = start_of_part[:n_parts].copy()
    for place in range(order.size):
        part = part_of_place[place]
        order[filled[part]] = unsorted[place]
        filled[part] += 1
    return n_parts


@compiled_inner
def _settle(
    order: NDArray[np.int32], slots: Slots, boxes: Boxes, slot_of_group: NDArray[np.int32]
) -> None:
    """Move the groups of some slots to the first slots, in that order; the other slots are dead."""
    node_of_slot, size_of_slot = slots.node_of_slot.copy(), slots.size_of_slot.copy()
    cost_of_slot, group_of_slot = boxes.cost_of_slot.copy(), slots.group_of_slot.copy()
    for place in range(order.size):
        slot = order[place]
        for column in range(node_of_slot.shape[1]):
            slots.node_of_slot[place, column] = node_of_slot[slot, column]
        slots.size_of_slot[place] = size_of_slot[slot]
        boxes.cost_of_slot[place] = cost_of_slot[slot]
        slots.group_of_slot[place] = group_of_slot[slot]
        slot_of_group[group_of_slot[slot]] = place
    for place in range(order.size, node_of_slot.shape[0]):
        boxes.box_of_slot[place] = NONE


@compiled_inner
def _build(groups: Groups, slots: Slots, boxes: Boxes, trees: Trees) -> None:
    """Build the boxes anew over the groups alive.

    Groups of one box come to lie side by side. O(groups · columns) for each level of the boxes.
    """
    # order: the slots of groups alive, to be sorted so that those of one box stand side by side
    n_alive = groups.counters[ALIVE]
    most_boxes = boxes.parent_of_box.size
    order = np.empty(n_alive, dtype=np.int32)
    n_slots = 0
    for slot in range(boxes.box_of_slot.size):
        if boxes.box_of_slot[slot] >= 0:
            order[n_slots] = slot
            n_slots += 1
    dearest = np.zeros(slots.node_of_slot.shape[1], dtype=np.int32)
    for column in range(dearest.size):
        for node in range(trees.start[column], trees.start[column + 1]):
            dearest[column] = max(dearest[column], trees.cost_to_root[node])
    part_of_node = np.full(trees.parent.size, NONE, dtype=np.int32)
    node_of_part = np.empty(trees.parent.size, dtype=np.int32)
    start_of_part = np.empty(trees.parent.size + 1, dtype=np.int32)
    first_of_box = np.empty(most_boxes, dtype=np.int32)
    end_of_box = np.empty(most_boxes, dtype=np.int32)
    first_of_box[0] = 0
    end_of_box[0] = n_alive
    boxes.parent_of_box[0] = NONE
    # every box is bounded, and split where it holds too many: its children go to the end
    n_boxes: Whole = np.int64(1)
    box: Whole = np.int64(0)
    while box < n_boxes:
        first = first_of_box[box]
        own = order[first : end_of_box[box]]
        column = _bound_box(box, own, slots, boxes, dearest, trees)
        boxes.first_child_of_box[box] = n_boxes
        boxes.first_slot_of_box[box] = first
        if own.size > FULL and column >= 0:
            top = np.int64(boxes.node_of_box[box, column])
            n_parts = _split(
                own, column, top, slots, trees, part_of_node, node_of_part, start_of_part
            )
            if n_boxes + n_parts <= most_boxes:  # else it stays whole: slower, not wrong
                for part in range(n_parts):
                    first_of_box[n_boxes] = first + start_of_part[part]
                    end_of_box[n_boxes] = first + start_of_part[part + 1]
                    boxes.parent_of_box[n_boxes] = box
                    n_boxes += 1
                boxes.first_slot_of_box[box] = NONE
        boxes.end_child_of_box[box] = n_boxes
        box += 1
    # groups move to the slots of that order; each box that was not split lists its own
    _settle(order, slots, boxes, groups.slot_of_group)
    for box in range(n_boxes):
        if boxes.first_slot_of_box[box] >= 0:
            first, end = first_of_box[box], end_of_box[box]
            for slot in range(first, end):
                boxes.box_of_slot[slot] = box
                boxes.previous_of_slot[slot] = slot - 1 if slot > first else NONE
                boxes.next_of_slot[slot] = slot + 1 if slot + 1 < end else NONE
    boxes.n_stale[0] = 0


# ── groups come and go ──────────────────────────────────────────────────────────────────────────


@compiled_inner
def _take_out(boxes: Boxes, slot: Whole) -> None:
    """Take a group out of its box; its slot is dead. O(1)."""
    before, after = boxes.previous_of_slot[slot], boxes.next_of_slot[slot]
    if before >= 0:
        boxes.next_of_slot[before] = after
    else:
        boxes.first_slot_of_box[boxes.box_of_slot[slot]] = after
    if after >= 0:
        boxes.previous_of_slot[after] = before
    boxes.box_of_slot[slot] = NONE


@compiled_inner
def _is_within(slot: Whole, box: Whole, slots: Slots, boxes: Boxes, end: NDArray[np.int32]) -> Flag:
    """Return whether a box's nodes are at or above a group's. O(columns)."""
    for column in range(slots.node_of_slot.shape[1]):
        node, above = slots.node_of_slot[slot, column], boxes.node_of_box[box, column]
        if node < above or node >= end[above]:
            return False
    return True


@compiled_inner
def keep_boxes_true(slot: Whole, slots: Slots, boxes: Boxes, trees: Trees) -> None:
    """Put a group that has grown where it fits: its box, or the first above that contains it.

    The least size and number of those boxes stay true, since the group was smaller and older
    before. O(depth · columns).
    """
    boxes.n_stale[0] += 1
    cost: Whole = np.int64(0)
    for column in range(slots.node_of_slot.shape[1]):
        cost += trees.cost_to_root[slots.node_of_slot[slot, column]]
    boxes.cost_of_slot[slot] = cost
    box = boxes.box_of_slot[slot]
    if _is_within(slot, box, slots, boxes, trees.end):
        return
    while boxes.parent_of_box[box] >= 0 and not _is_within(slot, box, slots, boxes, trees.end):
        box = boxes.parent_of_box[box]
    _take_out(boxes, slot)
    after = boxes.first_slot_of_box[box]
    if after >= 0:
        boxes.previous_of_slot[after] = slot
    boxes.next_of_slot[slot] = after
    boxes.previous_of_slot[slot] = NONE
    boxes.first_slot_of_box[box] = slot
    boxes.box_of_slot[slot] = box


# ── looking for a partner ───────────────────────────────────────────────────────────────────────


@compiled_inner
def find_partner_in_boxes(
    small: Whole, groups: Groups, slots: Slots, boxes: Boxes, trees: Trees
) -> Whole:
    """Take a group out of the boxes; return the slot of its cheapest partner.

    Boxes that have gone stale are built anew first, which may move every group.
    """
    if boxes.n_stale[0] > STALE_SHARE * groups.counters[ALIVE] + STALE_LEAST:
        _build(groups, slots, boxes, trees)
    slot = np.int64(groups.slot_of_group[small])
    for column in range(slots.node_of_slot.shape[1]):
        node = np.int64(slots.node_of_slot[slot, column])
        last = boxes.priced_node[column]
        if node != last:
            move_meetings(last, node, trees, boxes.cost_of_meeting, boxes.best_cost_of_meeting)
            boxes.priced_node[column] = node
    _take_out(boxes, slot)
    return _cheapest_partner(slots.size_of_slot[slot], slots, boxes)


@compiled_inner
def _cheapest_partner(size: Whole, slots: Slots, boxes: Boxes) -> Whole:
    """Return the slot of the cheapest partner of a group of this size, the oldest of equals.

    Merging C and D costs |C|·c(C) + |D|·c(D) − (|C| + |D|)·c(where they meet), c being the cost
    to the root; the first term is the same for every D and left out. ``cost_of_meeting[node]`` is
    c where C meets a node, ``best_cost_of_meeting[node]`` where it meets, at best, something under
    it. So no D in a box can cost less than s·(c(box) − c(where C meets the box)) − |C|·(c where C
    meets something in it at best), s being the least size: D is no smaller, lies no higher, and
    where C's own nodes are not under the box's, D meets C where the box does.

    Boxes wait on a stack, the most promising child of the box last opened on top.
    """
    n_columns = slots.node_of_slot.shape[1]
    cost_of_meeting, best_cost_of_meeting = boxes.cost_of_meeting, boxes.best_cost_of_meeting
    waiting_box, waiting_bound = boxes.waiting_box, boxes.waiting_bound
    least = np.int64(9223372036854775807)
    oldest = np.int32(2147483647)
    partner: Whole = np.int64(NONE)
    waiting_box[0] = 0
    waiting_bound[0] = -least
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        box, bound = waiting_box[n_waiting], waiting_bound[n_waiting]
        if bound > least or (bound == least and boxes.least_group_of_box[box] >= oldest):
            continue
        # the groups that the box lists itself
        slot = np.int64(boxes.first_slot_of_box[box])
        while slot >= 0:
            meeting = np.int64(0)
            for column in range(n_columns):
                meeting += cost_of_meeting[slots.node_of_slot[slot, column]]
            cost = slots.size_of_slot[slot] * (boxes.cost_of_slot[slot] - meeting) - size * meeting
            if cost < least or (cost == least and slots.group_of_slot[slot] < oldest):
                least = cost
                oldest = slots.group_of_slot[slot]
                partner = slot
            slot = np.int64(boxes.next_of_slot[slot])
        # its children that may hold a better partner join the stack, the least bound on top
        bottom = n_waiting
        for child in range(boxes.first_child_of_box[box], boxes.end_child_of_box[box]):
            meeting = np.int64(0)
            best_meeting = np.int64(0)
            for column in range(n_columns):
                node = boxes.node_of_box[child, column]
                meeting += cost_of_meeting[node]
                best_meeting += best_cost_of_meeting[node]
            bound = boxes.least_size_of_box[child] * (boxes.cost_of_box[child] - meeting)
            bound -= size * best_meeting
            if bound > least or (bound == least and boxes.least_group_of_box[child] >= oldest):
                continue
            place = n_waiting
            lowest = max(bottom, n_waiting - SORTED)
            while place > lowest and waiting_bound[place - 1] < bound:
                waiting_box[place] = waiting_box[place - 1]
                waiting_bound[place] = waiting_bound[place - 1]
                place -= 1
            waiting_box[place] = child
            waiting_bound[place] = bound
            n_waiting += 1
    return partner

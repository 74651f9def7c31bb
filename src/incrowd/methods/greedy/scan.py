"""A scan of all groups for every partner, as the paper has it, by costs stated node by node.

Such costs need not add up along a path nor rise with it, so no box can be passed over and the index
of ``boxes.py`` does not hold. Given a metric's costs as a matrix, the scan finds the partners that
the index finds: the tests hold one against the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled_inner
from incrowd.kernels.trees import Trees
from incrowd.methods.greedy.groups import ALIVE, Groups, Slots, merge_in_slot


class StatedCosts(NamedTuple):
    """``costs[node, depth of the ancestor]``, and every node's depth.

    ``own[x]`` and ``theirs[x]`` are room for what it costs one row of the group that looks for a
    partner, and one row at node x, to be generalized to where they meet.
    """

    depth: NDArray[np.int32]
    costs: NDArray[np.int64]
    own: NDArray[np.int64]
    theirs: NDArray[np.int64]


def room_for_scan(depth: NDArray[np.int32], costs: NDArray[np.int64]) -> StatedCosts:
    """Return stated costs with room to price the nodes of one group."""
    return StatedCosts(depth, costs, np.empty_like(costs[:, 0]), np.empty_like(costs[:, 0]))


@compiled_inner
def find_partner_by_scan(
    small: Whole, groups: Groups, slots: Slots, stated: StatedCosts, trees: Trees
) -> Whole:
    """Return the slot of a group's cheapest partner, the oldest of equals.

    Groups alive lie in the first slots. O(groups alive · columns + nodes).
    """
    n_columns = slots.node_of_slot.shape[1]
    small_slot = np.int64(groups.slot_of_group[small])
    size = slots.size_of_slot[small_slot]
    for column in range(n_columns):
        price_pairs(np.int64(slots.node_of_slot[small_slot, column]), stated, trees)
    least = np.int64(9223372036854775807)
    oldest = np.int32(2147483647)
    partner: Whole = np.int64(-1)
    for slot in range(groups.counters[ALIVE]):
        if slot == small_slot:
            continue
        own = np.int64(0)
        theirs = np.int64(0)
        for column in range(n_columns):
            node = slots.node_of_slot[slot, column]
            own += stated.own[node]
            theirs += stated.theirs[node]
        cost = size * own + slots.size_of_slot[slot] * theirs
        if cost < least or (cost == least and slots.group_of_slot[slot] < oldest):
            least = cost
            oldest = slots.group_of_slot[slot]
            partner = slot
    return partner


@compiled_inner
def price_pairs(node: Whole, stated: StatedCosts, trees: Trees) -> None:
    """Set ``own`` and ``theirs`` of every node of the tree for a group at this node. O(nodes).

    What lies under a node meets it there; what else lies under its parent meets it at the parent,
    and so on up to the root.
    """
    above: Whole = node
    low: Whole = node
    high: Whole = node
    while True:
        depth = stated.depth[above]
        cost = stated.costs[node, depth]
        end = np.int64(trees.end[above])
        for other in range(above, low):
            stated.own[other] = cost
            stated.theirs[other] = stated.costs[other, depth]
        for other in range(high, end):
            stated.own[other] = cost
            stated.theirs[other] = stated.costs[other, depth]
        low, high = above, end
        if trees.parent[above] == above:
            return
        above = np.int64(trees.parent[above])


@compiled_inner
def merge_by_scan(small: Whole, slot: Whole, groups: Groups, slots: Slots, trees: Trees) -> None:
    """Merge a group with the one of a slot; groups alive stay in the first slots. O(columns)."""
    small_slot = np.int64(groups.slot_of_group[small])
    merge_in_slot(small, slot, groups, slots, trees)
    # the last group alive moves to the slot that became free
    last = groups.counters[ALIVE]
    for column in range(slots.node_of_slot.shape[1]):
        slots.node_of_slot[small_slot, column] = slots.node_of_slot[last, column]
    slots.size_of_slot[small_slot] = slots.size_of_slot[last]
    slots.group_of_slot[small_slot] = slots.group_of_slot[last]
    groups.slot_of_group[slots.group_of_slot[small_slot]] = small_slot

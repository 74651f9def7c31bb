"""The merging loop of GkAA where costs are stated node by node, with a scan for every partner.

Such costs need not add up along a path nor rise with it, so no box can be passed over: the index
does not hold, and neither does the formula of ``scan.py`` with one cost per node.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner
from incrowd.kernels.trees import common_ancestor
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
from incrowd.methods.greedy.scan import Slots, close_up, nodes_of

__all__ = ["CostTrees", "merge_slice", "nodes_of", "start"]


class CostTrees(NamedTuple):
    """One tree per column as in ``kernels.trees``, with ``costs[node, depth of the ancestor]``."""

    start: NDArray[np.int64]
    parent: NDArray[np.int32]
    end: NDArray[np.int32]
    depth: NDArray[np.int32]
    costs: NDArray[np.int64]


def start(
    node_of_distinct: NDArray[np.int32],
    size_of_distinct: NDArray[np.int64],
    trees: CostTrees,  # noqa: ARG001
) -> Slots:
    """Return the slots in which every distinct row is a group; their costs are not used."""
    n_columns, n_distinct = node_of_distinct.shape
    n_slots = n_distinct + n_distinct // 8 + 66
    node_of_slot = np.zeros((n_columns, n_slots), dtype=np.uint32)
    node_of_slot[:, :n_distinct] = node_of_distinct
    sizes = np.zeros(n_slots, dtype=np.int64)
    sizes[:n_distinct] = size_of_distinct
    group_of_slot = np.arange(n_slots, dtype=np.int32)
    is_alive = group_of_slot < n_distinct
    costs = np.zeros(n_slots, dtype=np.int64)
    return Slots(node_of_slot, sizes, costs, group_of_slot, is_alive, np.asarray([n_distinct]))


@compiled_inner
def _price_pairs(
    node: Whole, trees: CostTrees, own: NDArray[np.int64], theirs: NDArray[np.int64]
) -> None:
    """Set what it costs one row at ``node``, and one at x, to be generalized to where they meet.

    ``own[x]`` and ``theirs[x]``, for every node x of the tree. O(nodes).
    """
    above: Whole = node
    low: Whole = node
    high: Whole = node
    while True:
        depth = trees.depth[above]
        cost = trees.costs[node, depth]
        end = np.int64(trees.end[above])
        for other in range(above, low):
            own[other] = cost
            theirs[other] = trees.costs[other, depth]
        for other in range(high, end):
            own[other] = cost
            theirs[other] = trees.costs[other, depth]
        low, high = above, end
        if trees.parent[above] == above:
            return
        above = np.int64(trees.parent[above])


@compiled_inner
def _cheapest_partner(
    slots: Slots, size: Whole, own: NDArray[np.int64], theirs: NDArray[np.int64]
) -> Whole:
    """Return the slot of the cheapest partner, the first of equals. O(slots · columns)."""
    n_columns = slots.node_of_slot.shape[0]
    least = np.int64(9223372036854775807)
    partner: Whole = np.int64(-1)
    for slot in range(slots.n_used[0]):
        if not slots.is_alive[slot]:
            continue
        ours = np.int64(0)
        other = np.int64(0)
        for column in range(n_columns):
            node = slots.node_of_slot[column, slot]
            ours += own[node]
            other += theirs[node]
        cost = size * ours + slots.size_of_slot[slot] * other
        if cost < least:
            least = cost
            partner = slot
    return partner


@compiled
def merge_slice(
    n_merges: Whole, groups: Groups, slots: Slots, trees: CostTrees, limits: Any, room: Room
) -> Whole:
    """Make up to ``n_merges`` merges; return RUNNING, DONE or STUCK (one group, not valid).

    O(groups alive · columns + nodes) a merge.
    """
    n_columns = slots.node_of_slot.shape[0]
    own = np.empty(trees.parent.size, dtype=np.int64)
    theirs = np.empty(trees.parent.size, dtype=np.int64)
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
            _price_pairs(np.int64(slots.node_of_slot[column, small_slot]), trees, own, theirs)
        slots.is_alive[small_slot] = False
        slot = _cheapest_partner(slots, small_size, own, theirs)
        slots.is_alive[slot] = False
        merged_slot = slots.n_used[0]
        for column in range(n_columns):
            slots.node_of_slot[column, merged_slot] = common_ancestor(
                trees.parent,
                np.int64(slots.node_of_slot[column, small_slot]),
                np.int64(slots.node_of_slot[column, slot]),
            )
        slots.size_of_slot[merged_slot] = small_size + slots.size_of_slot[slot]
        slots.group_of_slot[merged_slot] = join(
            small, slots.group_of_slot[slot], merged_slot, groups
        )
        slots.is_alive[merged_slot] = True
        slots.n_used[0] += 1
        n_alive = groups.counters[ALIVE]
        if slots.n_used[0] > n_alive + n_alive // 8 + 64:
            close_up(slots, groups.slot_of_group)
    return state

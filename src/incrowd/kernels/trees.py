"""Trees of several columns as flat arrays, and the loops that climb them.

Nodes are numbered by a walk of the tree, a node before what lies under it, so that all that lies
under a node is a run of numbers; every column's numbers go on from the last column's. A parent has
a smaller number than its children and a root is its own parent, so the larger of two different
nodes can never be above the other, and climbing always from the larger one meets at the lowest
common ancestor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled_inner


class Trees(NamedTuple):
    """One tree per column.

    ``start[column]`` is the column's root; ``end[node]`` the first number after those under it;
    ``cost_to_root`` is in fixed point and never rises on the way up.
    """

    start: NDArray[np.int64]
    parent: NDArray[np.int32]
    end: NDArray[np.int32]
    cost_to_root: NDArray[np.int32]


@compiled_inner
def common_ancestor(parent: NDArray[np.int32], first: Whole, second: Whole) -> Whole:
    """Return the lowest node at or above both. O(depth)."""
    while first != second:
        if first > second:
            first = np.int64(parent[first])
        else:
            second = np.int64(parent[second])
    return first


@compiled_inner
def move_meetings(
    last: Whole,
    node: Whole,
    trees: Trees,
    cost_of_meeting: NDArray[np.int32],
    best_cost_of_meeting: NDArray[np.int32],
) -> None:
    """Set ``cost_of_meeting[x]`` to the cost to the root from where x and ``node`` meet.

    What lies under ``node`` meets it there; what else lies under its parent meets it at the
    parent, and so on up to the root. ``best_cost_of_meeting[x]`` is the cost to the root from
    where ``node`` meets, at best, a node at or under x: its own cost if it lies under x, else as
    above.

    The arrays are as they were set for ``last``, −1 the first time. What lies neither under the
    child that leads to ``last``, nor under the child that leads to ``node``, of the node where
    these two meet, meets both at the same place. So only those two children's nodes are written.
    """
    # climb from both to where they meet: ``top`` is the child on our side, −1 if there is none
    top: Whole = node
    if last < 0:
        while trees.parent[top] != top:
            top = np.int64(trees.parent[top])
    else:
        last_top: Whole = np.int64(-1)
        top = np.int64(-1)
        ours: Whole = node
        while last != ours:
            if last > ours:
                last_top = last
                last = np.int64(trees.parent[last])
            else:
                top = ours
                ours = np.int64(trees.parent[ours])
        # what lies on the other side meets the node where ``last`` does
        if last_top >= 0:
            for other in range(last_top, trees.end[last_top]):
                cost_of_meeting[other] = trees.cost_to_root[last]
                best_cost_of_meeting[other] = trees.cost_to_root[last]
    # on our side, every node at or above meets what lies under it and not under the one before
    low: Whole = node
    high: Whole = node
    above: Whole = node
    is_below_top = top >= 0
    while True:
        if is_below_top:
            cost = trees.cost_to_root[above]
            end = np.int64(trees.end[above])
            for other in range(above, low):
                cost_of_meeting[other] = cost
                best_cost_of_meeting[other] = cost
            for other in range(high, end):
                cost_of_meeting[other] = cost
                best_cost_of_meeting[other] = cost
            low, high = above, end
            is_below_top = above != top
        best_cost_of_meeting[above] = trees.cost_to_root[node]
        if trees.parent[above] == above:
            return
        above = np.int64(trees.parent[above])

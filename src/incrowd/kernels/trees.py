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

from incrowd.kernels.compile import Whole, compiled_inner


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
def price_meetings(node: Whole, trees: Trees, cost_of_meeting: NDArray[np.int32]) -> None:
    """Set ``cost_of_meeting[x]`` to the cost to the root from where x and ``node`` meet.

    What lies under ``node`` meets it there; what else lies under its parent meets it at the
    parent, and so on up to the root. Every node of the tree is written once. O(nodes).
    """
    low: Whole = node
    high: Whole = node
    while True:
        cost = trees.cost_to_root[node]
        end = np.int64(trees.end[node])
        for other in range(node, low):
            cost_of_meeting[other] = cost
        for other in range(high, end):
            cost_of_meeting[other] = cost
        low, high = node, end
        above = np.int64(trees.parent[node])
        if above == node:
            return
        node = above

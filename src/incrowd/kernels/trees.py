"""Trees of several columns as flat arrays, and the loops that climb them.

Every column's nodes are numbered on from the last column's: ``start[column] + node``. Within a
tree a parent has a larger number than its children and a root is its own parent, so the smaller of
two different nodes can never be above the other, and climbing always from the smaller one meets
at the lowest common ancestor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray


class Trees(NamedTuple):
    """One tree per column; ``cost_to_root`` is in fixed point and never rises on the way up."""

    start: NDArray[np.int64]
    parent: NDArray[np.int32]
    cost_to_root: NDArray[np.int32]


def flat_trees(parents: Sequence[NDArray[np.int32]], costs: Sequence[NDArray[np.int32]]) -> Trees:
    """Put the columns' trees one after the other."""
    start = np.cumsum([0, *(len(parent) for parent in parents)]).astype(np.int64)
    parent = np.concatenate([above + first for above, first in zip(parents, start, strict=False)])
    return Trees(start, parent.astype(np.int32), np.concatenate(costs).astype(np.int32))


@njit(cache=True, nogil=True)
def common_ancestor(parent, first, second):  # type: ignore[no-untyped-def]
    """Return the lowest node at or above both. O(depth)."""
    while first != second:
        if first < second:
            first = parent[first]
        else:
            second = parent[second]
    return first


@njit(cache=True, nogil=True)
def cost_of_meeting(node, start, end, parent, cost_to_root, cost_of_other):  # type: ignore[no-untyped-def]
    """Set ``cost_of_other[x]`` to the cost to the root from the common ancestor of x and ``node``.

    One pass from the root down over a tree's nodes ``start`` … ``end − 1``: a node at or above
    ``node`` is itself the meeting place, any other node meets where its parent does. O(nodes).
    """
    on_path = end - 1
    # the path is walked from above: the next node of it is found by its being marked
    for other in range(start, end):
        cost_of_other[other] = -1
    on_path = node
    while True:
        cost_of_other[on_path] = cost_to_root[on_path]
        if parent[on_path] == on_path:
            break
        on_path = parent[on_path]
    for other in range(end - 1, start - 1, -1):
        if cost_of_other[other] < 0:
            cost_of_other[other] = cost_of_other[parent[other]]

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
from numpy.typing import NDArray

from incrowd.kernels.compile import Whole, compiled_inner


class Trees(NamedTuple):
    """One tree per column; ``cost_to_root`` is in fixed point and never rises on the way up."""

    start: NDArray[np.int64]
    parent: NDArray[np.int32]
    cost_to_root: NDArray[np.int32]


def flat_trees(parents: Sequence[NDArray[np.int32]], costs: Sequence[NDArray[np.int32]]) -> Trees:
    """Put the columns' trees one after the other."""
    start = np.cumsum([0, *(len(parent) for parent in parents)]).astype(np.int64)
    shifted = [parent + first for parent, first in zip(parents, start[:-1], strict=True)]
    none = np.zeros(0, dtype=np.int32)
    return Trees(
        start,
        np.concatenate([none, *shifted]).astype(np.int32),
        np.concatenate([none, *costs]).astype(np.int32),
    )


@compiled_inner
def common_ancestor(parent: NDArray[np.int32], first: Whole, second: Whole) -> Whole:
    """Return the lowest node at or above both. O(depth)."""
    while first != second:
        if first < second:
            first = np.int64(parent[first])
        else:
            second = np.int64(parent[second])
    return first


@compiled_inner
def price_meetings(
    node: Whole,
    start: Whole,
    end: Whole,
    parent: NDArray[np.int32],
    cost_to_root: NDArray[np.int32],
    cost_of_meeting: NDArray[np.int32],
) -> None:
    """Set ``cost_of_meeting[x]`` to the cost to the root from where x and ``node`` meet.

    One pass from the root down over a tree's nodes ``start`` … ``end − 1``: a node at or above
    ``node`` is itself the meeting place, any other node meets where its parent does. O(nodes).
    """
    for other in range(start, end):
        cost_of_meeting[other] = -1
    above = node
    while cost_of_meeting[above] < 0:
        cost_of_meeting[above] = cost_to_root[above]
        above = np.int64(parent[above])
    for other in range(end - 1, start - 1, -1):
        if cost_of_meeting[other] < 0:
            cost_of_meeting[other] = cost_of_meeting[parent[other]]

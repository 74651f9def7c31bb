"""Covers in one walk over edges that are sorted by weight."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import compiled


@compiled
def reverse_delete(
    order: NDArray[np.int32],
    lower: NDArray[np.int32],
    upper: NDArray[np.int32],
    degree: NDArray[np.int32],
    b: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Delete every edge, heaviest first, whose ends both have more than b edges left.

    O(edges). What is left is the complement of the greedy matching with b′ = degree − b: an edge
    is matched by it exactly when both ends have matches left, that is edges beyond b.
    """
    is_kept = np.ones(len(order), dtype=np.bool_)
    left = degree.copy()
    for place in range(len(order) - 1, -1, -1):
        edge = order[place]
        u, v = lower[edge], upper[edge]
        if left[u] > b[u] and left[v] > b[v]:
            left[u] -= 1
            left[v] -= 1
            is_kept[edge] = False
    return is_kept


@compiled
def lightest(
    order: NDArray[np.int32],
    lower: NDArray[np.int32],
    upper: NDArray[np.int32],
    b: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Take the edges that are among the b lightest of one of their ends. O(edges)."""
    is_kept = np.zeros(len(order), dtype=np.bool_)
    n_seen = np.zeros(len(b), dtype=np.int32)
    for edge in order:
        u, v = lower[edge], upper[edge]
        is_kept[edge] = n_seen[u] < b[u] or n_seen[v] < b[v]
        n_seen[u] += 1
        n_seen[v] += 1
    return is_kept


@compiled
def cheapest_first(
    order: NDArray[np.int32],
    weight: NDArray[Any],
    lower: NDArray[np.int32],
    upper: NDArray[np.int32],
    b: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Take edges by rising effective weight: weight / ends that still need an edge. O(edges).

    Two walks over the sorted edges: ``two`` stands at the lightest edge with two needy ends,
    ``one`` at the lightest that is not known to be taken or useless. An edge with two needy ends
    is at half its weight before any with one; where both cost the same, the one with two goes
    first. If the edge at ``one`` has two needy ends, the one at ``two`` is not heavier and wins,
    so ``one`` never has to pass it.
    """
    n_edges = len(order)
    is_kept = np.zeros(n_edges, dtype=np.bool_)
    needs = b.copy()
    one = two = 0
    while True:
        while one < n_edges and (
            is_kept[order[one]] or (needs[lower[order[one]]] == 0 and needs[upper[order[one]]] == 0)
        ):
            one += 1
        if one == n_edges:
            return is_kept
        two = max(two, one)
        while two < n_edges and (
            is_kept[order[two]] or needs[lower[order[two]]] == 0 or needs[upper[order[two]]] == 0
        ):
            two += 1
        edge = order[one]
        if two < n_edges and weight[order[two]] <= 2 * weight[edge]:
            edge = order[two]
        is_kept[edge] = True
        needs[lower[edge]] = max(0, needs[lower[edge]] - 1)
        needs[upper[edge]] = max(0, needs[upper[edge]] - 1)

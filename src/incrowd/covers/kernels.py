"""Loops of covers: edges in strict order, delayed partial b-Suitor, covers in one walk over
edges.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner

DIGIT = 16
"""Bits that one pass sorts by."""


@compiled
def sort_edges(
    weight: NDArray[np.int32], lower: NDArray[np.int32], upper: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the edges by (weight, lower, upper): stable passes from the last digit to the first.

    O(edges) for each of at most six passes; digits that are 0 everywhere cost none.
    """
    order = np.arange(len(weight)).astype(np.int32)
    sorted_order = np.empty_like(order)
    for key in (upper, lower, weight):
        largest: Whole = 0
        for edge in range(len(key)):
            largest = max(largest, np.int64(key[edge]))
        shift = 0
        while largest >> shift > 0:
            _pass(key, shift, order, sorted_order)
            order, sorted_order = sorted_order, order
            shift += DIGIT
    return order


@compiled_inner
def _pass(
    key: NDArray[np.int32],
    shift: Whole,
    order: NDArray[np.int32],
    sorted_order: NDArray[np.int32],
) -> None:
    digits = 1 << DIGIT
    start = np.zeros(digits + 1, dtype=np.int64)
    for edge in range(len(key)):
        start[((key[edge] >> shift) & (digits - 1)) + 1] += 1
    for digit in range(digits):
        start[digit + 1] += start[digit]
    for place in range(len(order)):
        edge = order[place]
        digit = (key[edge] >> shift) & (digits - 1)
        sorted_order[start[digit]] = edge
        start[digit] += 1


# ── delayed partial b-Suitor: vertices propose, heavier proposals annul lighter ones ──────────────

FIRST_SORTED = 16
"""How many of its heaviest edges a vertex sorts at first; then as many again as it has sorted."""


@compiled
def matched(
    order: NDArray[np.int32],
    lower: NDArray[np.int32],
    upper: NDArray[np.int32],
    degree: NDArray[np.int32],
    b: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Return which edges two vertices proposed to each other: a matching with at most b a vertex.

    Khan et al. (2018), Algorithm 3, in rounds: a vertex whose proposal was annulled proposes again
    in the next round. Edges are known by their *place*, the heaviest at 0: comparing places is
    comparing in the strict order, so the matching is the greedy one.
    """
    n_edges, n_vertices = len(order), len(b)
    start = np.zeros(n_vertices + 1, dtype=np.int64)
    room = np.zeros(n_vertices + 1, dtype=np.int64)
    for vertex in range(n_vertices):
        start[vertex + 1] = start[vertex] + degree[vertex]
        room[vertex + 1] = room[vertex] + min(b[vertex], degree[vertex])
    # places: every vertex's edges by place, in no order yet
    places = np.empty(2 * n_edges, dtype=np.int64)
    filled = start[:-1].copy()
    place_of_edge = np.empty(n_edges, dtype=np.int64)
    for place in range(n_edges):
        place_of_edge[order[n_edges - 1 - place]] = place
    for edge in range(n_edges):
        for vertex in (lower[edge], upper[edge]):
            places[filled[vertex]] = place_of_edge[edge]
            filled[vertex] += 1
    # suitors: per vertex a heap of the proposals that it holds, the lightest on top
    n_sorted = np.zeros(n_vertices, dtype=np.int64)
    n_asked = np.zeros(n_vertices, dtype=np.int64)
    suitors = np.empty(room[-1], dtype=np.int64)
    n_suitors = np.zeros(n_vertices, dtype=np.int64)
    wanted = np.minimum(b, degree).astype(np.int64)
    wanted_next = np.zeros(n_vertices, dtype=np.int64)
    queue = np.arange(n_vertices)
    queue_next = np.empty(n_vertices, dtype=np.int64)
    n_queue = n_vertices
    # a round: those in the queue propose along their heaviest edges that they have not tried
    while n_queue > 0:
        n_next = 0
        for turn in range(n_queue):
            vertex = queue[turn]
            while wanted[vertex] > 0 and n_asked[vertex] < degree[vertex]:
                if n_asked[vertex] == n_sorted[vertex]:
                    _sort_more(places[start[vertex] : start[vertex + 1]], n_sorted, vertex)
                place = places[start[vertex] + n_asked[vertex]]
                n_asked[vertex] += 1
                edge = order[n_edges - 1 - place]
                partner = lower[edge] + upper[edge] - vertex
                heap = suitors[room[partner] : room[partner + 1]]
                # the partner has room, or annuls the lightest that it holds, whose vertex proposes
                # again
                if n_suitors[partner] < len(heap):
                    _push(heap, n_suitors[partner], place)
                    n_suitors[partner] += 1
                    wanted[vertex] -= 1
                elif len(heap) > 0 and place < heap[0]:
                    annulled = order[n_edges - 1 - heap[0]]
                    loser = lower[annulled] + upper[annulled] - partner
                    _replace_lightest(heap, place)
                    wanted[vertex] -= 1
                    if wanted_next[loser] == 0:
                        queue_next[n_next] = loser
                        n_next += 1
                    wanted_next[loser] += 1
        # the annulled ones are the next queue
        for turn in range(n_next):
            vertex = queue_next[turn]
            wanted[vertex] += wanted_next[vertex]
            wanted_next[vertex] = 0
        queue, queue_next = queue_next, queue
        n_queue = n_next
    # an edge is matched if both of its vertices hold it
    n_proposals = np.zeros(n_edges, dtype=np.int8)
    for vertex in range(n_vertices):
        for suitor in range(n_suitors[vertex]):
            n_proposals[order[n_edges - 1 - suitors[room[vertex] + suitor]]] += 1
    is_matched: NDArray[np.bool_] = n_proposals == 2
    return is_matched


@compiled_inner
def _sort_more(places: NDArray[np.int64], n_sorted: NDArray[np.int64], vertex: Whole) -> None:
    """Sort the next heaviest of a vertex's edges, as many again as are sorted already."""
    first: Whole = n_sorted[vertex]
    end = min(len(places), max(FIRST_SORTED, 2 * first))
    rest = places[first:]
    if end < len(places):
        rest[:] = np.partition(rest, end - first - 1)
    places[first:end] = np.sort(places[first:end])
    n_sorted[vertex] = end


@compiled_inner
def _push(heap: NDArray[np.int64], n_held: Whole, place: Whole) -> None:
    """Add a proposal; the lightest, the largest place, stays on top."""
    hole = n_held
    while hole > 0 and heap[(hole - 1) // 2] < place:
        heap[hole] = heap[(hole - 1) // 2]
        hole = (hole - 1) // 2
    heap[hole] = place


@compiled_inner
def _replace_lightest(heap: NDArray[np.int64], place: Whole) -> None:
    """Put a proposal in the stead of the lightest of a full heap."""
    hole = 0
    while 2 * hole + 1 < len(heap):
        child = 2 * hole + 1
        if child + 1 < len(heap) and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= place:
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = place


# ── covers in one walk over edges that are sorted by weight ───────────────────────────────────────


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

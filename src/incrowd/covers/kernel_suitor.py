"""Delayed partial b-Suitor: vertices propose, heavier proposals annul lighter ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner

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
    n_sorted = np.zeros(n_vertices, dtype=np.int64)
    n_asked = np.zeros(n_vertices, dtype=np.int64)
    suitors = np.empty(room[-1], dtype=np.int64)
    n_suitors = np.zeros(n_vertices, dtype=np.int64)
    wanted = np.minimum(b, degree).astype(np.int64)
    wanted_next = np.zeros(n_vertices, dtype=np.int64)
    queue = np.arange(n_vertices)
    queue_next = np.empty(n_vertices, dtype=np.int64)
    n_queue = n_vertices
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
        for turn in range(n_next):
            vertex = queue_next[turn]
            wanted[vertex] += wanted_next[vertex]
            wanted_next[vertex] = 0
        queue, queue_next = queue_next, queue
        n_queue = n_next
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

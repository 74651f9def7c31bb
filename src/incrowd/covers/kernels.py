"""Loops of covers: edges in strict order, delayed partial b-Suitor, rounds of locally dominant
edges, covers in one walk over edges.
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


# ── locally dominant edges, round by round: the greedy matching on all threads ────────────────────

END_BITS = 32
OTHER_END = (1 << END_BITS) - 1
"""The lower bits of a key: the other end of an edge. Those above are its weight."""

CLOSED = (1 << 63) - 1
"""The bound of a vertex that takes no edge any more; above every key."""


@compiled
def count_ends(
    lower: NDArray[np.int32],
    upper: NDArray[np.int32],
    first: Whole,
    end: Whole,
    n_of_vertex: NDArray[np.int64],
) -> None:
    """Count the ends that some of the edges have at each vertex."""
    for edge in range(first, end):
        n_of_vertex[lower[edge]] += 1
        n_of_vertex[upper[edge]] += 1


@compiled
def place_ends(
    lower: NDArray[np.int32],
    upper: NDArray[np.int32],
    weight: NDArray[np.int32],
    first: Whole,
    end: Whole,
    place_of_vertex: NDArray[np.int64],
    key: NDArray[np.int64],
) -> None:
    """Put the keys of some of the edges where each vertex's next ones belong."""
    for edge in range(first, end):
        for vertex, other in ((lower[edge], upper[edge]), (upper[edge], lower[edge])):
            key[place_of_vertex[vertex]] = (np.int64(weight[edge]) << END_BITS) | np.int64(other)
            place_of_vertex[vertex] += 1


@compiled
def sort_keys(start: NDArray[np.int64], key: NDArray[np.int64], first: Whole, end: Whole) -> None:
    """Sort the keys of some vertices, each vertex's heaviest edge first."""
    for vertex in range(first, end):
        keys = key[start[vertex] : start[vertex + 1]]
        keys[:] = np.sort(keys)[::-1]


@compiled
def settle_round(
    start: NDArray[np.int64],
    key: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    room: NDArray[np.int32],
    bound: NDArray[np.int64],
    bound_next: NDArray[np.int64],
    last: NDArray[np.int64],
    active: NDArray[np.int32],
) -> tuple[Whole, Whole, Whole]:
    """Let some vertices take the edges that both ends wish for, and wish for others instead.

    A vertex wishes for its heaviest unsettled edges, as many as it has room for:
    ``key[low[vertex] : high[vertex]]``, in no order; settled ones lie before ``low``. The lightest
    that it ever wished for is its bound. An edge that reaches the bounds of both ends is taken by
    both, in the same round: bounds are those of the round before, ``bound``. An edge whose other
    end is closed is out. Only the vertex's own entries are written, so vertices may be worked on
    side by side. Returns how many of the vertices go on (they come first in ``active``), how many
    wished edges were looked at, and how many were settled.
    """
    n_active = n_looked_at = n_settled = 0
    for turn in range(len(active)):
        vertex = active[turn]
        if room[vertex] == 0:  # closed in the round before: now both bounds say so
            bound_next[vertex] = CLOSED
            continue
        first, end = low[vertex], high[vertex]
        n_looked_at += end - first
        for slot in range(first, end):
            there = bound[key[slot] & OTHER_END]
            is_taken = there != CLOSED and ((key[slot] & ~OTHER_END) | vertex) >= there
            if is_taken or there == CLOSED:
                room[vertex] -= is_taken
                key[slot], key[first] = key[first], key[slot]
                first += 1
                n_settled += 1
        while end - first < room[vertex] and end < start[vertex + 1]:
            if bound[key[end] & OTHER_END] == CLOSED:
                key[end], key[first] = key[first], key[end]
                first += 1
                n_settled += 1
            else:
                last[vertex] = key[end]
            end += 1
        low[vertex], high[vertex] = first, end
        bound_next[vertex] = last[vertex]
        if first == end:  # full, or without any edge left: then it would take whatever comes
            if room[vertex] > 0:
                last[vertex] = -1
            room[vertex] = 0
            bound_next[vertex] = CLOSED
        active[n_active] = vertex
        n_active += 1
    return n_active, n_looked_at, n_settled


@compiled
def unsettled_edges(
    start: NDArray[np.int64],
    key: NDArray[np.int64],
    low: NDArray[np.int64],
    room: NDArray[np.int32],
    active: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the edges between vertices that still have room, each once: ends and weight."""
    n_edges = 0
    for vertex in active:
        if room[vertex] > 0:
            for slot in range(low[vertex], start[vertex + 1]):
                other = key[slot] & OTHER_END
                n_edges += vertex < other and room[other] > 0
    lower = np.empty(n_edges, dtype=np.int32)
    upper = np.empty(n_edges, dtype=np.int32)
    weight = np.empty(n_edges, dtype=np.int32)
    edge = 0
    for vertex in active:
        if room[vertex] > 0:
            for slot in range(low[vertex], start[vertex + 1]):
                other = key[slot] & OTHER_END
                if vertex < other and room[other] > 0:
                    lower[edge], upper[edge] = vertex, other
                    weight[edge] = key[slot] >> END_BITS
                    edge += 1
    return lower, upper, weight


@compiled
def settle_in_order(
    order: NDArray[np.int32],
    lower: NDArray[np.int32],
    upper: NDArray[np.int32],
    weight: NDArray[np.int32],
    room: NDArray[np.int32],
    last: NDArray[np.int64],
    active: NDArray[np.int32],
) -> None:
    """Take the edges that are left, heaviest first, where both ends have room. O(edges)."""
    for place in range(len(order) - 1, -1, -1):
        edge = order[place]
        if room[lower[edge]] > 0 and room[upper[edge]] > 0:
            for vertex, other in ((lower[edge], upper[edge]), (upper[edge], lower[edge])):
                room[vertex] -= 1
                last[vertex] = (np.int64(weight[edge]) << END_BITS) | np.int64(other)
    for vertex in active:
        if room[vertex] > 0:
            last[vertex] = -1


@compiled
def taken_by_both(
    lower: NDArray[np.int32],
    upper: NDArray[np.int32],
    weight: NDArray[np.int32],
    last: NDArray[np.int64],
    first: Whole,
    end: Whole,
    is_taken: NDArray[np.bool_],
) -> None:
    """Mark those of some edges that reach the bounds of both ends."""
    for edge in range(first, end):
        heavy = np.int64(weight[edge]) << END_BITS
        is_taken[edge] = (heavy | np.int64(upper[edge])) >= last[lower[edge]] and (
            heavy | np.int64(lower[edge])
        ) >= last[upper[edge]]


# ── covers in one walk over edges that are sorted by weight ───────────────────────────────────────


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

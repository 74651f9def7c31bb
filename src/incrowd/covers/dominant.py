"""Greedy matchings on all threads, by rounds of locally dominant edges.

Edges are ordered strictly, so the greedy matching is unique: an edge that is among the heaviest
that both of its ends have left, as many as they have room for, is in it. All such edges are taken
at once, round after round (Preis 1999, Manne and Bisseling 2008, for b-matchings). The result is
b-Suitor's (Khan et al. 2018, Algorithm 3), whatever the number of threads.

A vertex knows its edges by *keys*: weight and other end in one number, which orders the edges of a
vertex as the strict order does (weight, smaller end, larger end). What was taken is told by one
number for each vertex, its *bound*: an edge is in the matching if its keys reach the bounds of
both of its ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from incrowd.covers import kernels
from incrowd.threads import Team, ranges_of

LEAST_EDGES = 1 << 15
"""Fewer edges than that are not shared out to threads."""

FIRST_ROUNDS, LEAST_SETTLED = 8, 32
"""After so many rounds, one that settles less than a 32nd of what it looks at is the last: the
rest hangs together in chains and is walked through in order."""


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The edges of every vertex, ``key[start[vertex] : start[vertex + 1]]``, heaviest first."""

    start: NDArray[np.int64]
    key: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        lower: NDArray[np.int32],
        upper: NDArray[np.int32],
        weight: NDArray[np.int32],
        n_vertices: int,
        team: Team,
    ) -> Adjacency:
        """Return the edges of a graph by vertex."""
        ranges = ranges_of(len(lower), team.n_threads, LEAST_EDGES)

        def count(piece: tuple[int, int]) -> NDArray[np.int64]:
            counts = np.zeros(n_vertices, dtype=np.int64)
            kernels.count_ends(lower, upper, *piece, counts)
            return counts

        start, places = places_of(team.map(count, ranges), n_vertices)
        key = np.empty(start[-1], dtype=np.int64)
        team.map(
            lambda piece: kernels.place_ends(
                lower, upper, weight, *ranges[piece], places[piece], key
            ),
            range(len(ranges)),
        )
        pieces = ranges_by_edges(start, team)
        team.map(lambda piece: kernels.sort_keys(start, key, *piece), pieces)
        return cls(start, key)


def places_of(
    counts: Sequence[NDArray[np.int64]], n_vertices: int
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Return where each vertex's entries begin, and where those of each piece of work do.

    ``counts[piece][vertex]`` entries come from a piece, the pieces' one after the other.
    """
    start = np.zeros(n_vertices + 1, dtype=np.int64)
    for of_piece in counts:
        start[1:] += of_piece
    np.cumsum(start, out=start)
    places = []
    place = start[:-1].copy()
    for of_piece in counts:
        places.append(place)
        place = place + of_piece
    return start, places


def ranges_by_edges(start: NDArray[np.int64], team: Team) -> list[tuple[int, int]]:
    """Return a range of vertices for each thread, with about equally many edges."""
    n_edges = int(start[-1])
    n_ranges = max(1, min(team.n_threads, n_edges // LEAST_EDGES))
    wanted = [n_edges * piece // n_ranges for piece in range(1, n_ranges)]
    edges = [0, *np.searchsorted(start[:-1], wanted).tolist(), len(start) - 1]
    return [(first, end) for first, end in pairwise(edges) if first < end]


def bounds_of_matching(
    adjacency: Adjacency, room: NDArray[np.int32], team: Team
) -> NDArray[np.int64]:
    """Return every vertex's bound in the greedy matching of at most ``room[vertex]`` edges each.

    An edge is taken if its key at either end is not below that end's bound. The keys of a vertex
    are brought into another order.
    """
    start, key = adjacency.start, adjacency.key
    low, high, room = start[:-1].copy(), start[:-1].copy(), room.copy()
    # at first nobody wishes for anything; whoever has no room is closed
    bound = np.where(room > 0, kernels.CLOSED - 1, kernels.CLOSED)
    bound_next = bound.copy()
    last = np.full(len(room), kernels.CLOSED, dtype=np.int64)
    active = [
        (first + np.flatnonzero(room[first:end])).astype(np.int32)
        for first, end in ranges_by_edges(start, team)
    ]

    def settle(vertices: NDArray[np.int32]) -> tuple[int, int, int]:
        return kernels.settle_round(start, key, low, high, room, bound, bound_next, last, vertices)

    n_rounds = 0
    while any(len(vertices) for vertices in active):
        counts = team.map(settle, active)
        bound, bound_next = bound_next, bound
        active = [
            vertices[:n_active] for vertices, (n_active, _, _) in zip(active, counts, strict=True)
        ]
        n_rounds += 1
        n_looked_at, n_settled = (sum(line[figure] for line in counts) for figure in (1, 2))
        if n_rounds > FIRST_ROUNDS and LEAST_SETTLED * n_settled < n_looked_at:
            waiting = np.concatenate(active)
            edges = kernels.unsettled_edges(start, key, low, room, waiting)
            lower, upper, weight = edges
            order = kernels.sort_edges(weight, lower, upper)
            kernels.settle_in_order(order, lower, upper, weight, room, last, waiting)
            break
    return last


def matched_edges(
    lower: NDArray[np.int32],
    upper: NDArray[np.int32],
    weight: NDArray[np.int32],
    room: NDArray[np.int32],
    team: Team,
) -> NDArray[np.bool_]:
    """Return the greedy matching of at most ``room[vertex]`` edges each, on all threads."""
    adjacency = Adjacency.of(lower, upper, weight, len(room), team)
    last = bounds_of_matching(adjacency, room, team)
    is_taken = np.empty(len(lower), dtype=np.bool_)
    team.map(
        lambda piece: kernels.taken_by_both(lower, upper, weight, last, *piece, is_taken),
        ranges_of(len(lower), team.n_threads, LEAST_EDGES),
    )
    return is_taken

"""From lists of neighbours to edges, and from a cover's edges to masks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner


@compiled
def scatter(
    ranks: NDArray[np.int32],
    listed: NDArray[np.int32],
    start: NDArray[np.int64],
    into: NDArray[np.int32],
) -> None:
    """Put lists that follow each other, those of ``ranks``, where ``start`` says."""
    place = 0
    for rank in ranks:
        for slot in range(start[rank], start[rank + 1]):
            into[slot] = listed[place]
            place += 1


@compiled
def gather(
    ranks: NDArray[np.int32],
    listed: NDArray[np.int32],
    start: NDArray[np.int64],
    into: NDArray[np.int32],
) -> None:
    """Put the lists of ``ranks``, which are where ``start`` says, one after the other."""
    place = 0
    for rank in ranks:
        for slot in range(start[rank], start[rank + 1]):
            into[place] = listed[slot]
            place += 1


@compiled
def share_prefixes(
    profile: NDArray[np.int32],
    start: NDArray[np.int64],
    list_of_profile: NDArray[np.int64],
    listed: NDArray[np.int32],
    into: NDArray[np.int32],
) -> None:
    """Give every rank as much of its profile's list as it asks for."""
    for rank in range(len(profile)):
        first = list_of_profile[profile[rank]]
        for slot in range(start[rank], start[rank + 1]):
            into[slot] = listed[first + slot - start[rank]]


@compiled
def edges_of_lists(
    start: NDArray[np.int64], neighbour: NDArray[np.int32], distance: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the edges of all lists, each once: lower rank, upper rank, distance.

    Lists are sorted by (distance, rank), so a rank is in another's list if its key is not above
    the last one there. An edge in both lists is taken from its lower end's.
    """
    n_edges = 0
    for rank in range(len(start) - 1):
        for slot in range(start[rank], start[rank + 1]):
            n_edges += _is_taken(start, neighbour, distance, rank, slot)
    lower = np.empty(n_edges, dtype=np.int32)
    upper = np.empty(n_edges, dtype=np.int32)
    weight = np.empty(n_edges, dtype=np.int32)
    edge = 0
    for rank in range(len(start) - 1):
        for slot in range(start[rank], start[rank + 1]):
            if _is_taken(start, neighbour, distance, rank, slot):
                lower[edge] = min(rank, neighbour[slot])
                upper[edge] = max(rank, neighbour[slot])
                weight[edge] = distance[slot]
                edge += 1
    return lower, upper, weight


@compiled_inner
def _is_taken(
    start: NDArray[np.int64],
    neighbour: NDArray[np.int32],
    distance: NDArray[np.int32],
    rank: Whole,
    slot: Whole,
) -> Flag:
    other = neighbour[slot]
    if rank < other or start[other] == start[other + 1]:
        return True
    last = start[other + 1] - 1
    if distance[slot] != distance[last]:
        return distance[slot] > distance[last]
    return rank > neighbour[last]


@compiled
def degrees(
    lower: NDArray[np.int32], upper: NDArray[np.int32], n_vertices: Whole
) -> NDArray[np.int32]:
    """Return how many edges each vertex has."""
    degree = np.zeros(n_vertices, dtype=np.int32)
    for edge in range(len(lower)):
        degree[lower[edge]] += 1
        degree[upper[edge]] += 1
    return degree


@compiled
def count_differences(
    lower: NDArray[np.int32],
    upper: NDArray[np.int32],
    is_kept: NDArray[np.bool_],
    codes: NDArray[np.int32],
    first_value: NDArray[np.int64],
    is_bit: Flag,
    counts: NDArray[np.uint8],
) -> None:
    """Count per cell, on both sides of every kept edge, the neighbours that differ, up to 255.

    A cell with a count is masked: then every row is compatible with each of its neighbours.
    """
    counts[:] = 0
    for edge in range(len(lower)):
        if not is_kept[edge]:
            continue
        one, other = lower[edge], upper[edge]
        for attribute in range(codes.shape[1]):
            here, there = codes[one, attribute], codes[other, attribute]
            if here == there:
                continue
            if is_bit:
                for code in (here, there):
                    _count(counts, one, first_value[attribute] + code)
                    _count(counts, other, first_value[attribute] + code)
            else:
                _count(counts, one, attribute)
                _count(counts, other, attribute)


@compiled_inner
def _count(counts: NDArray[np.uint8], rank: Whole, cell: Whole) -> None:
    if counts[rank, cell] < 255:
        counts[rank, cell] += 1

"""From lists of neighbours to the edges of a graph, by vertex or all together, and to masks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner
from incrowd.covers.kernels import END_BITS, OTHER_END


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


@compiled
def last_keys(
    start: NDArray[np.int64],
    neighbour: NDArray[np.int32],
    distance: NDArray[np.int32],
    first: Whole,
    end: Whole,
    last: NDArray[np.int64],
) -> None:
    """Note the key (distance, rank) of the last in the lists of some ranks; −1 of an empty list.

    A rank is in a list if its key is not above the last one there.
    """
    for rank in range(first, end):
        last[rank] = -1
        if start[rank] < start[rank + 1]:
            slot = start[rank + 1] - 1
            last[rank] = (np.int64(distance[slot]) << END_BITS) | np.int64(neighbour[slot])


@compiled
def count_listed(
    start: NDArray[np.int64],
    neighbour: NDArray[np.int32],
    distance: NDArray[np.int32],
    last: NDArray[np.int64],
    first: Whole,
    end: Whole,
    n_of_rank: NDArray[np.int64],
) -> None:
    """Count how often each rank is in the lists of some ranks that are not in its own."""
    for rank in range(first, end):
        for slot in range(start[rank], start[rank + 1]):
            key = (np.int64(distance[slot]) << END_BITS) | np.int64(rank)
            n_of_rank[neighbour[slot]] += key > last[neighbour[slot]]


@compiled
def place_listed(
    start: NDArray[np.int64],
    neighbour: NDArray[np.int32],
    distance: NDArray[np.int32],
    last: NDArray[np.int64],
    first: Whole,
    end: Whole,
    place_of_rank: NDArray[np.int64],
    key_of_place: NDArray[np.int64],
) -> None:
    """Put some ranks, as keys, to those whom they list and who do not list them.

    ``place_of_rank`` counts these alone; the lists themselves lie between them.
    """
    for rank in range(first, end):
        for slot in range(start[rank], start[rank + 1]):
            other = neighbour[slot]
            key = (np.int64(distance[slot]) << END_BITS) | np.int64(rank)
            if key > last[other]:
                key_of_place[start[other] + place_of_rank[other]] = key
                place_of_rank[other] += 1


@compiled
def place_lists(
    start: NDArray[np.int64],
    neighbour: NDArray[np.int32],
    distance: NDArray[np.int32],
    first: Whole,
    end: Whole,
    edge_start: NDArray[np.int64],
    key: NDArray[np.int64],
) -> None:
    """Sort who lists some ranks, farthest first, and put their own lists behind: all are nearer."""
    for rank in range(first, end):
        n_own = start[rank + 1] - start[rank]
        place = edge_start[rank + 1] - n_own
        listed = key[edge_start[rank] : place]
        listed[:] = np.sort(listed)[::-1]
        for slot in range(start[rank + 1] - 1, start[rank] - 1, -1):
            key[place] = (np.int64(distance[slot]) << END_BITS) | np.int64(neighbour[slot])
            place += 1


@compiled
def count_kept(
    edge_start: NDArray[np.int64],
    key: NDArray[np.int64],
    last: NDArray[np.int64],
    codes: NDArray[np.int32],
    first_value: NDArray[np.int64],
    is_bit: Flag,
    first: Whole,
    end: Whole,
    counts: NDArray[np.uint8],
) -> tuple[Whole, Whole]:
    """Count per cell of some ranks the neighbours of the cover that differ there, up to 255.

    An edge is not in the cover if its keys reach the bounds ``last`` of both ends. A cell with a
    count is masked: every row is then compatible with each of its neighbours, which see the same
    edge. Returns how many ends the cover's edges have at these ranks, and how many cells are
    masked.
    """
    n_kept = n_masked = 0
    n_attributes = codes.shape[1]
    n_differing = np.empty(n_attributes, dtype=np.int64)
    for rank in range(first, end):
        row, own = counts[rank], codes[rank]
        row[:] = 0
        n_differing[:] = 0
        for slot in range(edge_start[rank], edge_start[rank + 1]):
            other = key[slot] & OTHER_END
            if key[slot] >= last[rank] and ((key[slot] & ~OTHER_END) | rank) >= last[other]:
                continue
            n_kept += 1
            others = codes[other]
            for attribute in range(n_attributes):
                if own[attribute] == others[attribute]:
                    continue
                n_differing[attribute] += 1
                if is_bit:  # the other's bit here, the own one below
                    cell = first_value[attribute] + others[attribute]
                    row[cell] += row[cell] < 255
        for attribute in range(n_attributes):
            cell = first_value[attribute] + own[attribute] if is_bit else attribute
            row[cell] = min(255, n_differing[attribute])
        for cell in range(len(row)):
            n_masked += row[cell] > 0
    return n_kept, n_masked


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

"""Nearest rows where every cell of every row has a weight of its own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner

SPARE = 32
"""Candidates beyond twice the list that a query holds before it drops the farthest."""

NO_LIMIT = 2**31 - 1
"""More than any distance."""


class Cells(NamedTuple):
    """Rows by rank, and what their cells weigh.

    ``codes[rank, attribute]`` and, in few bits, ``planes[attribute, rank]``;
    ``counts[rank, cell]`` is how many neighbours of the last cover differed there,
    ``weights[count]`` the weight in fixed point. ``first_value[attribute]`` is where its values
    begin when all values of all attributes are counted through; with ``is_bit`` these are the
    cells, else the attributes are.
    """

    codes: NDArray[np.int32]
    planes: NDArray[Any]
    profile: NDArray[np.int32]
    counts: NDArray[np.uint8]
    weights: NDArray[np.int32]
    first_value: NDArray[np.int64]
    is_bit: Flag


class Tiles(NamedTuple):
    """Spans of ranks, and the profiles that occur in each, numbered within it.

    Tile t has the ranks from ``first[t]`` to ``first[t + 1]``; a row's profile is number
    ``local[rank]`` among those from ``first_profile[t]`` on. Attributes are joined so that few
    combinations occur: ``combination[joined, place]`` for each of these profiles. Combination c
    is made of ``values[value_start[c] : value_start[c + 1]]``.
    """

    first: NDArray[np.int64]
    local: NDArray[np.uint16]
    first_profile: NDArray[np.int64]
    combination: NDArray[Any]
    value_start: NDArray[np.int64]
    values: NDArray[np.int32]


@compiled
def nearest_ranks(
    cells: Cells,
    tiles: Tiles,
    queries: NDArray[np.int32],
    start: NDArray[np.int64],
    previous: NDArray[np.int32],
    shift: Whole,
    neighbour: NDArray[np.int32],
    distance: NDArray[np.int32],
) -> int:
    """List the rows of other profiles nearest to each query, by distance, then by rank.

    Query q, a rank, gets ``neighbour[start[q] : start[q + 1]]``; as many rows of other profiles
    are given in ``previous``, which bound the distance from the start (none: unbounded). The
    distance of two rows has a half that takes the query's weights and depends on the other's
    profile only, and a half that takes the other's weights and depends on the query's profile
    only. Each is summed in 16 bits after dropping ``shift`` bits: a lower bound. What passes is
    measured exactly. Ranks rise, so a row as far as the farthest listed never enters.
    Queries of one profile that follow each other share their half. Returns how many pairs were
    measured exactly.
    """
    n_queries = len(queries)
    n_tiles = len(tiles.first) - 1
    room = np.zeros(n_queries + 1, dtype=np.int64)
    limit = np.full(n_queries, NO_LIMIT, dtype=np.int64)
    for query in range(n_queries):
        n_wished = start[query + 1] - start[query]
        room[query + 1] = room[query] + 2 * n_wished + SPARE
        if len(previous) > 0:
            limit[query] = 1 + _farthest(
                cells, queries[query], previous[start[query] : start[query + 1]]
            )
    held = np.empty(room[-1], dtype=np.int64)  # distance · 2³² + rank
    n_held = np.zeros(n_queries, dtype=np.int64)
    own_half = np.empty((n_queries, len(tiles.value_start) - 1), dtype=np.uint16)
    for query in range(n_queries):
        _weigh_combinations(cells, tiles, queries[query], shift, own_half[query])
    longest = most = 1
    for tile in range(n_tiles):
        longest = max(longest, tiles.first[tile + 1] - tiles.first[tile])
        most = max(most, tiles.first_profile[tile + 1] - tiles.first_profile[tile])
    planes = planes_of_tile(cells, longest)
    to_profile = np.empty(most, dtype=np.uint16)
    to_row = np.empty(longest, dtype=np.uint16)
    n_measured = 0
    for tile in range(n_tiles):
        first, end = tiles.first[tile], tiles.first[tile + 1]
        fill_planes(cells, first, end, shift, planes)
        combination = tiles.combination[
            :, tiles.first_profile[tile] : tiles.first_profile[tile + 1]
        ]
        summed = np.int64(-1)
        for query in range(n_queries):
            rank = queries[query]
            if cells.profile[rank] != summed:
                summed = np.int64(cells.profile[rank])
                _sum_planes(cells, rank, first, planes, to_row[: end - first])
            _look_up(combination, own_half[query], to_profile)
            n_wished = start[query + 1] - start[query]
            candidates = held[room[query] : room[query + 1]]
            bound = (limit[query] + (1 << shift) - 1) >> shift
            for place in range(end - first):
                if np.int64(to_profile[tiles.local[first + place]]) + to_row[place] >= bound:
                    continue
                other = first + place
                if cells.profile[other] == summed:
                    continue
                n_measured += 1
                far = distance_of(cells, rank, other)
                if far >= limit[query]:
                    continue
                if n_held[query] == len(candidates):
                    _select(candidates, n_wished)
                    n_held[query] = n_wished
                    limit[query] = _largest(candidates[:n_wished]) >> 32
                    bound = (limit[query] + (1 << shift) - 1) >> shift
                    if far >= limit[query]:
                        continue
                candidates[n_held[query]] = (far << 32) | other
                n_held[query] += 1
    for query in range(n_queries):
        candidates = held[room[query] : room[query] + n_held[query]]
        n_wished = start[query + 1] - start[query]
        _select(candidates, n_wished)
        listed = np.sort(candidates[:n_wished])
        for place in range(n_wished):
            neighbour[start[query] + place] = listed[place] & 0xFFFFFFFF
            distance[start[query] + place] = listed[place] >> 32
    return n_measured


@compiled_inner
def distance_of(cells: Cells, one: Whole, other: Whole) -> Whole:
    """Return the distance of two rows: both rows' weights in the cells where they differ."""
    total = np.int64(0)
    for attribute in range(cells.codes.shape[1]):
        here, there = cells.codes[one, attribute], cells.codes[other, attribute]
        if here == there:
            continue
        if cells.is_bit:
            first = cells.first_value[attribute]
            total += (
                np.int64(cells.weights[cells.counts[one, first + here]])
                + cells.weights[cells.counts[one, first + there]]
                + cells.weights[cells.counts[other, first + here]]
                + cells.weights[cells.counts[other, first + there]]
            )
        else:
            total += (
                np.int64(cells.weights[cells.counts[one, attribute]])
                + cells.weights[cells.counts[other, attribute]]
            )
    return total


@compiled_inner
def _farthest(cells: Cells, rank: Whole, others: NDArray[np.int32]) -> Whole:
    farthest = np.int64(0)
    for other in others:
        farthest = max(farthest, distance_of(cells, rank, other))
    return farthest


@compiled_inner
def _weigh_combinations(
    cells: Cells, tiles: Tiles, rank: Whole, shift: Whole, weighed: NDArray[np.uint16]
) -> None:
    """Set what each combination of values adds by the weights of one row."""
    n_attributes = cells.codes.shape[1]
    of_value = np.empty(cells.first_value[n_attributes], dtype=np.uint16)
    for attribute in range(n_attributes):
        first, end = cells.first_value[attribute], cells.first_value[attribute + 1]
        here = first + cells.codes[rank, attribute]
        if cells.is_bit:
            own = np.int64(cells.weights[cells.counts[rank, here]])
            for value in range(first, end):
                of_value[value] = (own + cells.weights[cells.counts[rank, value]]) >> shift
        else:
            of_value[first:end] = cells.weights[cells.counts[rank, attribute]] >> shift
        of_value[here] = 0
    for combination in range(len(weighed)):
        total = np.int64(0)
        for place in range(tiles.value_start[combination], tiles.value_start[combination + 1]):
            total += of_value[tiles.values[place]]
        weighed[combination] = total


@compiled_inner
def _look_up(
    combination: NDArray[Any], weighed: NDArray[np.uint16], to_profile: NDArray[np.uint16]
) -> None:
    """Set for each profile of a tile the half that takes the query's weights."""
    n_joined, n_profiles = combination.shape
    if n_joined == 1:
        for profile in range(n_profiles):
            to_profile[profile] = weighed[combination[0, profile]]
        return
    for profile in range(n_profiles):
        to_profile[profile] = np.int64(weighed[combination[0, profile]]) + np.int64(
            weighed[combination[1, profile]]
        )
    for joined in range(2, n_joined):
        for profile in range(n_profiles):
            to_profile[profile] += weighed[combination[joined, profile]]


@compiled_inner
def planes_of_tile(cells: Cells, n_ranks: Whole) -> NDArray[np.uint16]:
    """Return room for a tile: a line per value, or per attribute."""
    n_attributes = cells.codes.shape[1]
    n_lines = cells.first_value[n_attributes] if cells.is_bit else n_attributes
    return np.empty((n_lines, n_ranks), dtype=np.uint16)


@compiled_inner
def fill_planes(
    cells: Cells, first: Whole, end: Whole, shift: Whole, planes: NDArray[np.uint16]
) -> None:
    """Set what each row of a tile adds by its own weights, per value that a query may have."""
    n_attributes = cells.codes.shape[1]
    for attribute in range(n_attributes):
        first_value, end_value = cells.first_value[attribute], cells.first_value[attribute + 1]
        for rank in range(first, end):
            if not cells.is_bit:
                planes[attribute, rank - first] = (
                    cells.weights[cells.counts[rank, attribute]] >> shift
                )
                continue
            here = first_value + cells.codes[rank, attribute]
            own = np.int64(cells.weights[cells.counts[rank, here]])
            for value in range(first_value, end_value):
                planes[value, rank - first] = (
                    own + cells.weights[cells.counts[rank, value]]
                ) >> shift
            planes[here, rank - first] = 0


@compiled_inner
def _sum_planes(
    cells: Cells,
    rank: Whole,
    first: Whole,
    planes: NDArray[np.uint16],
    to_row: NDArray[np.uint16],
) -> None:
    """Set for each row of a tile the half that takes its own weights."""
    to_row[:] = 0
    n_ranks = len(to_row)
    for attribute in range(cells.codes.shape[1]):
        if cells.is_bit:
            value = cells.first_value[attribute] + cells.codes[rank, attribute]
            _add(planes[value, :n_ranks], to_row)
        else:
            codes = cells.planes[attribute]
            _add_where_differing(
                planes[attribute, :n_ranks], codes[first : first + n_ranks], codes[rank], to_row
            )


@compiled_inner
def _add(plane: NDArray[np.uint16], to_row: NDArray[np.uint16]) -> None:
    for place in range(len(to_row)):
        to_row[place] += plane[place]


@compiled_inner
def _add_where_differing(
    plane: NDArray[np.uint16], codes: NDArray[Any], code: Whole, to_row: NDArray[np.uint16]
) -> None:
    for place in range(len(to_row)):
        to_row[place] += plane[place] * (codes[place] != code)


@compiled_inner
def _select(keys: NDArray[np.int64], n_least: Whole) -> None:
    """Bring the least keys to the front, in any order."""
    first, last = 0, len(keys) - 1
    while first < last:
        pivot = keys[(first + last) // 2]
        left, right = first, last
        while left <= right:
            while keys[left] < pivot:
                left += 1
            while keys[right] > pivot:
                right -= 1
            if left <= right:
                keys[left], keys[right] = keys[right], keys[left]
                left += 1
                right -= 1
        if n_least - 1 <= right:
            last = right
        elif n_least - 1 >= left:
            first = left
        else:
            return


@compiled_inner
def _largest(keys: NDArray[np.int64]) -> Whole:
    largest = keys[0]
    for key in keys:
        largest = max(largest, key)
    return largest

"""Nearest rows where every cell of every row has a weight of its own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner

SPARE = 32
"""Candidates beyond twice the list that a query holds before it drops the farthest."""

MOST_LAYERS = 16
"""Rows that a segment has at most."""


class Cells(NamedTuple):
    """Rows by rank, and what their cells weigh.

    ``codes[rank, attribute]``, and in few bits ``planes[attribute, place]`` in the tiles' order;
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
    """Rows sorted by profile and cut into tiles; a few rows of one profile are a *segment*.

    Tile t has the segments from ``first[t]`` to ``first[t + 1]``, those with most rows first, and
    its rows in layers: the first row of every segment, then the second of those that have one,
    and so on, so that loops over segments are loops over neighbouring numbers. Layer l of tile t
    has the places from ``layer[t, l]`` to ``layer[t, l + 1]``; ``rank[place]`` is the row there.
    Attributes are joined so that few combinations of their values occur:
    ``combination[segment, joined]``. Combination c is made of
    ``values[value_start[c] : value_start[c + 1]]``.
    """

    rank: NDArray[np.int32]
    first: NDArray[np.int64]
    layer: NDArray[np.int64]
    profile: NDArray[np.int32]
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
    are given in ``previous``, which bound the distance from the start. The distance of two rows
    has a half that takes the query's weights and depends on the other's profile only, and a half
    that takes the other's weights and depends on the query's profile only. Each is summed in 16
    bits after dropping ``shift`` bits: a lower bound, and what it lets pass is measured exactly.
    Queries of one profile that follow each other share their half. Returns how many pairs were
    measured exactly.
    """
    n_queries = len(queries)
    n_tiles, n_joined = len(tiles.first) - 1, tiles.combination.shape[1]
    room = np.zeros(n_queries + 1, dtype=np.int64)
    # keys are distance · 2³² + rank; the last key that may still be listed
    last = np.empty(n_queries, dtype=np.int64)
    own_half = np.empty((n_queries, len(tiles.value_start) - 1), dtype=np.uint16)
    for query in range(n_queries):
        given = previous[start[query] : start[query + 1]]
        room[query + 1] = room[query] + 2 * len(given) + SPARE
        last[query] = _last_key(cells, queries[query], given)
        _weigh_combinations(cells, tiles, queries[query], shift, own_half[query])
    # held: candidates of each query, with room for twice as many as it wishes
    held = np.empty(room[-1], dtype=np.int64)
    n_held = np.zeros(n_queries, dtype=np.int64)
    n_places = np.max(tiles.layer[:, -1] - tiles.layer[:, 0])
    planes = _planes_of_tile(cells, n_places)
    to_place = np.empty(n_places, dtype=np.uint16)
    nearest = np.empty(n_places, dtype=np.uint16)
    passing = np.empty(n_places, dtype=np.int64)
    n_measured = 0
    for tile in range(n_tiles):
        # one tile: its rows in layers, and its planes of the half that takes the others' weights
        first_segment, first_place = tiles.first[tile], tiles.layer[tile, 0]
        layers = tiles.layer[tile] - first_place
        ranks = tiles.rank[first_place : first_place + layers[-1]]
        _fill_planes(cells, ranks, shift, planes)
        summed = np.int64(-1)
        for query in range(n_queries):
            rank = queries[query]
            # queries of one profile share the sums
            if cells.profile[rank] != summed:
                summed = np.int64(cells.profile[rank])
                _sum_planes(cells, rank, first_place, planes, to_place[: len(ranks)])
                _least_of_segments(to_place, layers, nearest)
            bound = last[query] >> (32 + shift)
            candidates = held[room[query] : room[query + 1]]
            weighed = own_half[query]
            # segments, then rows in them, whose lower bound is within the query's bound
            n_passing = _list_within(nearest[: layers[1]], bound, passing)
            for turn in range(n_passing):
                segment = passing[turn]
                half = np.int64(0)
                for joined in range(n_joined):
                    half += weighed[tiles.combination[first_segment + segment, joined]]
                if (
                    half + nearest[segment] > bound
                    or tiles.profile[first_segment + segment] == summed
                ):
                    continue
                for layer in range(len(layers) - 1):
                    place = layers[layer] + segment
                    if place >= layers[layer + 1]:
                        break
                    if half + to_place[place] > bound:
                        continue
                    # measured exactly; when the room is full the nearest are kept and the bound
                    # falls
                    n_measured += 1
                    far = half + to_place[place]
                    if shift > 0:
                        far = distance_of(cells, rank, ranks[place])
                    key = (far << 32) | ranks[place]
                    if key > last[query]:
                        continue
                    candidates[n_held[query]] = key
                    n_held[query] += 1
                    if n_held[query] == len(candidates):
                        n_held[query] = start[query + 1] - start[query]
                        last[query] = _select(candidates, n_held[query])
                        bound = last[query] >> (32 + shift)
    # the nearest of what is held, in order
    for query in range(n_queries):
        n_wished = start[query + 1] - start[query]
        candidates = held[room[query] : room[query] + n_held[query]]
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
def _last_key(cells: Cells, rank: Whole, others: NDArray[np.int32]) -> Whole:
    last = np.int64(0)
    for other in others:
        last = max(last, (distance_of(cells, rank, other) << 32) | other)
    return last


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
def _list_within(numbers: NDArray[np.uint16], bound: Whole, passing: NDArray[np.int64]) -> Whole:
    """List the places of numbers that are not above a bound, without branches."""
    n_passing = 0
    for place in range(len(numbers)):
        passing[n_passing] = place
        n_passing += numbers[place] <= bound
    return n_passing


@compiled_inner
def _planes_of_tile(cells: Cells, n_places: Whole) -> NDArray[np.uint16]:
    """Return room for a tile: a line per value, or per attribute."""
    n_attributes = cells.codes.shape[1]
    n_lines = cells.first_value[n_attributes] if cells.is_bit else n_attributes
    return np.empty((n_lines, n_places), dtype=np.uint16)


@compiled_inner
def _fill_planes(
    cells: Cells, ranks: NDArray[np.int32], shift: Whole, planes: NDArray[np.uint16]
) -> None:
    """Set what each row of a tile adds by its own weights, per value that a query may have."""
    for attribute in range(cells.codes.shape[1]):
        first, end = cells.first_value[attribute], cells.first_value[attribute + 1]
        for place in range(len(ranks)):
            rank = ranks[place]
            if not cells.is_bit:
                planes[attribute, place] = cells.weights[cells.counts[rank, attribute]] >> shift
                continue
            here = first + cells.codes[rank, attribute]
            own = np.int64(cells.weights[cells.counts[rank, here]])
            for value in range(first, end):
                planes[value, place] = (own + cells.weights[cells.counts[rank, value]]) >> shift
            planes[here, place] = 0


@compiled_inner
def _sum_planes(
    cells: Cells,
    rank: Whole,
    first: Whole,
    planes: NDArray[np.uint16],
    to_place: NDArray[np.uint16],
) -> None:
    """Set for each row of a tile, which begins at place ``first``, the half with its weights."""
    to_place[:] = 0
    n_places, n_attributes = len(to_place), cells.codes.shape[1]
    if cells.is_bit:
        values = cells.first_value[:n_attributes] + cells.codes[rank]
        for attribute in range(0, n_attributes - 1, 2):
            _add_two(
                planes[values[attribute]][:n_places],
                planes[values[attribute + 1]][:n_places],
                to_place,
            )
        if n_attributes % 2 == 1:
            _add(planes[values[n_attributes - 1]][:n_places], to_place)
    else:
        for attribute in range(n_attributes):
            code = cells.planes.dtype.type(cells.codes[rank, attribute])
            codes = cells.planes[attribute][first : first + n_places]
            _add_where_differing(planes[attribute][:n_places], codes, code, to_place)


@compiled_inner
def _least_of_segments(
    to_place: NDArray[np.uint16], layers: NDArray[np.int64], nearest: NDArray[np.uint16]
) -> None:
    """Set the least of each segment's places, a layer at a time."""
    nearest[: layers[1]] = to_place[: layers[1]]
    for layer in range(1, len(layers) - 1):
        _lower(to_place[layers[layer] : layers[layer + 1]], nearest)


@compiled_inner
def _lower(numbers: NDArray[np.uint16], least: NDArray[np.uint16]) -> None:
    for place in range(len(numbers)):
        least[place] = min(least[place], numbers[place])


@compiled_inner
def _add(plane: NDArray[np.uint16], to_place: NDArray[np.uint16]) -> None:
    for place in range(len(to_place)):
        to_place[place] += plane[place]


@compiled_inner
def _add_two(
    one: NDArray[np.uint16], other: NDArray[np.uint16], to_place: NDArray[np.uint16]
) -> None:
    for place in range(len(to_place)):
        to_place[place] += one[place] + other[place]


@compiled_inner
def _add_where_differing(
    plane: NDArray[np.uint16], codes: NDArray[Any], code: Whole, to_place: NDArray[np.uint16]
) -> None:
    for place in range(len(to_place)):
        # in 16 bits throughout: as a choice between two numbers it is not vectorised
        to_place[place] += np.uint16(plane[place] * np.uint16(codes[place] != code))


@compiled_inner
def _select(keys: NDArray[np.int64], n_least: Whole) -> Whole:
    """Bring the least keys to the front, in any order; return the largest of them."""
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
            break
    return keys[n_least - 1]

"""Nearest rows while every cell weighs the same, and lists of neighbours that change hands."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner

TILE = 4096
"""Groups that one query is held against before the next query's turn: they stay in the cache."""

STRIP = 64
"""Counts of differences that are passed over together when none of them is small enough."""


class Groups(NamedTuple):
    """Rows that share a profile and a need, in the order of ranks: a group is a span of ranks.

    ``narrow[attribute, group]`` and ``wide[attribute, group]`` are codes: attributes of up to 256
    values, and the others.
    """

    narrow: NDArray[np.uint8]
    wide: NDArray[Any]
    profile: NDArray[np.int32]
    first_rank: NDArray[np.int32]
    n_rows: NDArray[np.int32]


@compiled
def nearest_ranks(
    groups: Groups,
    queries: NDArray[np.int32],
    start: NDArray[np.int64],
    differing: NDArray[Any],
    neighbour: NDArray[np.int32],
    n_differing: NDArray[np.int32],
) -> None:
    """List the rows of other profiles nearest to each query, by differences, then by rank.

    ``queries`` are groups whose profile is asked for; query q gets the ranks
    ``neighbour[start[q] : start[q + 1]]``. ``differing`` is room for counts, of a type that holds
    the number of attributes. O(queries · groups · attributes), vectorised over groups.
    """
    # held: candidates of each query, with room for twice as many as it wishes
    n_attributes = len(groups.narrow) + len(groups.wide)
    n_groups, n_queries = len(groups.profile), len(queries)
    room = np.zeros(n_queries + 1, dtype=np.int64)
    for query in range(n_queries):
        room[query + 1] = room[query] + 2 * (start[query + 1] - start[query]) + STRIP
    held = np.empty((2, room[-1]), dtype=np.int32)  # groups, and how they differ
    n_held = np.zeros(n_queries, dtype=np.int64)
    # farthest: the least count within which there are rows enough; nearer: rows below that count
    farthest = np.full(n_queries, n_attributes + 1, dtype=np.int64)
    nearer = np.zeros(n_queries, dtype=np.int64)
    histogram = np.zeros((n_queries, n_attributes + 2), dtype=np.int64)
    # tile by tile, so that counts stay in the cache; strips with nobody near are passed over
    for first in range(0, n_groups, TILE):
        end = min(n_groups, first + TILE)
        for query in range(n_queries):
            count_differing(groups, queries[query], first, end, differing)
            n_wished = start[query + 1] - start[query]
            own = groups.profile[queries[query]]
            for strip in range(0, end - first, STRIP):
                strip_end = min(end - first, strip + STRIP)
                if least(differing[strip:strip_end]) >= farthest[query]:
                    continue
                for place in range(strip, strip_end):
                    count = np.int64(differing[place])
                    group = first + place
                    if count >= farthest[query] or groups.profile[group] == own:
                        continue
                    if n_held[query] == room[query + 1] - room[query]:
                        n_held[query] = _keep_nearest(
                            held[:, room[query] : room[query + 1]],
                            farthest[query],
                            n_wished - nearer[query],
                            groups.n_rows,
                        )
                    held[0, room[query] + n_held[query]] = group
                    held[1, room[query] + n_held[query]] = count
                    n_held[query] += 1
                    # the bound falls as soon as there are rows enough below it
                    histogram[query, count] += groups.n_rows[group]
                    nearer[query] += groups.n_rows[group]
                    while nearer[query] >= n_wished:
                        farthest[query] -= 1
                        nearer[query] -= histogram[query, farthest[query]]
    for query in range(n_queries):
        _write_ranks(
            groups,
            held[:, room[query] : room[query] + n_held[query]],
            neighbour[start[query] : start[query + 1]],
            n_differing[start[query] : start[query + 1]],
            n_attributes,
        )


@compiled_inner
def count_differing(
    groups: Groups, query: Whole, first: Whole, end: Whole, differing: NDArray[Any]
) -> None:
    """Count for the groups from ``first`` to ``end`` in how many attributes they differ."""
    differing[: end - first] = 0
    for attribute in range(len(groups.narrow)):
        plane = groups.narrow[attribute]
        _add_differing(plane[first:end], plane[query], differing)
    for attribute in range(len(groups.wide)):
        wide_plane = groups.wide[attribute]
        _add_differing(wide_plane[first:end], wide_plane[query], differing)


@compiled_inner
def _add_differing(plane: NDArray[Any], code: Whole, differing: NDArray[Any]) -> None:
    for place in range(len(plane)):
        differing[place] += plane[place] != code


@compiled_inner
def least(numbers: NDArray[Any]) -> Whole:
    """Return the least of some numbers, in their own type, so that it is vectorised."""
    smallest = numbers[0]
    for place in range(1, len(numbers)):
        smallest = min(smallest, numbers[place])
    return smallest


@compiled_inner
def _keep_nearest(
    held: NDArray[np.int32], farthest: Whole, n_at_farthest: Whole, n_rows: NDArray[np.int32]
) -> Whole:
    """Drop groups that cannot be listed any more; return how many are left, in their order."""
    n_left = 0
    for place in range(held.shape[1]):
        if held[1, place] == farthest and n_at_farthest > 0:
            n_at_farthest -= n_rows[held[0, place]]
        elif held[1, place] >= farthest:
            continue
        held[0, n_left] = held[0, place]
        held[1, n_left] = held[1, place]
        n_left += 1
    return n_left


@compiled_inner
def _write_ranks(
    groups: Groups,
    held: NDArray[np.int32],
    neighbour: NDArray[np.int32],
    n_differing: NDArray[np.int32],
    n_attributes: Whole,
) -> None:
    n_written = 0
    for count in range(n_attributes + 1):
        for place in range(held.shape[1]):
            if held[1, place] != count:
                continue
            group = held[0, place]
            for offset in range(groups.n_rows[group]):
                if n_written == len(neighbour):
                    return
                neighbour[n_written] = groups.first_rank[group] + offset
                n_differing[n_written] = count
                n_written += 1


# ── from lists of neighbours to edges, and from a cover's edges to masks ──────────────────────────


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

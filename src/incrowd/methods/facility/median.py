"""Alg. 1: medians with at least k rows each, by greedy stars and local search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.methods.facility.location import DistinctSets, Work, facilities_at, nearest_facilities
from incrowd.progress import Progress, is_stop_requested

SETS_PER_SLICE = 512

MOST_ROUNDS = 20
"""Rounds of local search at most; the total falls in each, soon by next to nothing."""


def medians(distinct: DistinctSets, cost: NDArray[np.float64], work: Work) -> NDArray[np.int32]:
    """Return the star of each distinct set: at least k rows in each, near to one of them.

    Stars are taken around distinct sets in the order of their ``cost``, the sum of distances to
    their k nearest rows: tight places first. Rows left over join their nearest centres. Then
    distinct sets move to nearer centres while stars keep k rows, and each star takes its best
    member for a centre.
    """
    from incrowd.methods.facility.kernels import median as median_kernels

    stars = median_kernels.no_stars(
        distinct.starts, distinct.holder_starts, distinct.holders, distinct.weight
    )
    order = np.lexsort((work.rng.random(distinct.n_distinct), cost))
    for first in range(0, distinct.n_distinct, SETS_PER_SLICE):
        work.progress("taking stars", first, distinct.n_distinct)
        median_kernels.take_stars(
            first,
            min(first + SETS_PER_SLICE, distinct.n_distinct),
            order,
            distinct.starts,
            distinct.items,
            distinct.holder_starts,
            distinct.weight,
            distinct.need,
            stars,
        )
    n_stars = int(stars.counters[0])
    centre = stars.centre[:n_stars].copy()
    star_of_distinct = stars.star_of_distinct.copy()
    is_left = star_of_distinct < 0
    if is_left.any():
        nearest, _ = nearest_facilities(distinct, facilities_at(distinct, centre), work)
        star_of_distinct[is_left] = nearest[is_left]
        star_of_distinct = _join_short_stars(distinct, centre, star_of_distinct)
    return _improve_stars(distinct, star_of_distinct, work.progress, work)


def _join_short_stars(
    distinct: DistinctSets, centre: NDArray[np.int32], star_of_distinct: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Let stars that became too small for a newcomer's own k join the largest star."""
    while True:
        n_rows, asked = distinct.sums_of(star_of_distinct, len(centre))
        is_short = (n_rows < asked) & (n_rows > 0)
        if not is_short.any():
            return star_of_distinct
        n_rows[is_short] = -1
        largest = int(np.argmax(n_rows))
        if is_short.all():
            return np.zeros_like(star_of_distinct)
        star_of_distinct = np.where(is_short[star_of_distinct], largest, star_of_distinct).astype(
            np.int32
        )


def _improve_stars(
    distinct: DistinctSets, star_of_distinct: NDArray[np.int32], progress: Progress, work: Work
) -> NDArray[np.int32]:
    """Move distinct sets and centres in turn while the total distance falls."""
    from incrowd.methods.facility.kernels import median as median_kernels

    _, star_of_distinct = np.unique(star_of_distinct, return_inverse=True)
    star_of_distinct = star_of_distinct.astype(np.int32)
    n_stars = int(star_of_distinct.max()) + 1
    centre = np.full(n_stars, -1, dtype=np.int32)
    for round_number in range(MOST_ROUNDS):
        progress("moving rows to nearer centres", round_number, MOST_ROUNDS)
        members = np.argsort(star_of_distinct, kind="stable").astype(np.int32)
        member_starts = np.searchsorted(star_of_distinct[members], np.arange(n_stars + 1))
        median_kernels.best_centres(
            member_starts.astype(np.int64),
            members,
            distinct.starts,
            distinct.items,
            distinct.weight,
            distinct.n_items,
            centre,
        )
        nearest, nearest_distance = nearest_facilities(
            distinct, facilities_at(distinct, centre), work
        )
        distance = median_kernels.distances_to(
            star_of_distinct, centre, distinct.starts, distinct.items
        )
        n_rows, asked = distinct.sums_of(star_of_distinct, n_stars)
        n_moved = median_kernels.move_nearer(
            nearest,
            distance,
            nearest_distance,
            distinct.weight,
            distinct.need,
            n_rows,
            asked,
            star_of_distinct,
        )
        if not n_moved or is_stop_requested():
            break
    return star_of_distinct

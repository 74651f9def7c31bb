"""Lower-bounded medians: greedy stars, then moves and better centres while the total falls."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner

NONE = -1


class Stars(NamedTuple):
    """Stars as they are taken: ``star_of_distinct``, each star's centre, and room to work in.

    ``live_end[item]`` is where the holders of an item that are in no star end in ``holders``.
    ``smaller`` has all distinct sets by their size, ``counters``: stars, rows in none, where
    the distinct sets in none begin in ``smaller``.
    """

    star_of_distinct: NDArray[np.int32]
    centre: NDArray[np.int32]
    holders: NDArray[np.int32]
    live_end: NDArray[np.int64]
    smaller: NDArray[np.int32]
    common: NDArray[np.int32]
    touched: NDArray[np.int32]
    by_distance: NDArray[np.int64]
    counters: NDArray[np.int64]


def no_stars(
    starts: NDArray[np.int64],
    holder_starts: NDArray[np.int64],
    holders: NDArray[np.int32],
    weight: NDArray[np.int64],
) -> Stars:
    """Return the state before any star is taken."""
    n_distinct = len(weight)
    return Stars(
        np.full(n_distinct, NONE, dtype=np.int32),
        np.empty(n_distinct, dtype=np.int32),
        holders.copy(),
        holder_starts[1:].copy(),
        np.argsort(np.diff(starts), kind="stable").astype(np.int32),
        np.zeros(n_distinct, dtype=np.int32),
        np.empty(n_distinct, dtype=np.int32),
        np.empty(n_distinct, dtype=np.int64),
        np.asarray([0, weight.sum(), 0], dtype=np.int64),
    )


@compiled_inner
def _touch_free(
    distinct: Whole,
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    holder_starts: NDArray[np.int64],
    stars: Stars,
) -> Whole:
    """Count common items with every set in no star; return how many share one with this one."""
    n_touched = np.int64(0)
    for place in range(starts[distinct], starts[distinct + 1]):
        item = items[place]
        at = holder_starts[item]
        while at < stars.live_end[item]:
            other = stars.holders[at]
            if stars.star_of_distinct[other] != NONE:
                # swap it behind the end: it is never looked at again
                stars.live_end[item] -= 1
                stars.holders[at] = stars.holders[stars.live_end[item]]
                continue
            if stars.common[other] == 0:
                stars.touched[n_touched] = other
                n_touched += 1
            stars.common[other] += 1
            at += 1
    return n_touched


@compiled
def take_stars(
    first: Whole,
    end: Whole,
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    holder_starts: NDArray[np.int64],
    weight: NDArray[np.int64],
    need: NDArray[np.int64],
    stars: Stars,
) -> None:
    """Make each of these distinct sets that is in no star the centre of one, while rows suffice.

    A star takes the nearest distinct sets in no star (ties: lower numbers) until it has as many
    rows as the most demanding of them asks for. Where the rows left do not suffice, nothing is
    taken.
    """
    n_distinct = len(weight)
    for place in range(first, end):
        centre = order[place]
        if stars.star_of_distinct[centre] != NONE:
            continue
        if stars.counters[1] < need[centre]:
            continue
        # nearest: the free sets with a common item, as distance · n_atoms + number, ascending
        size = starts[centre + 1] - starts[centre]
        n_touched = _touch_free(centre, starts, items, holder_starts, stars)
        for at in range(n_touched):
            other = stars.touched[at]
            distance = size + starts[other + 1] - starts[other] - 2 * stars.common[other]
            stars.by_distance[at] = distance * n_distinct + other
            stars.common[other] = 0
        nearest = np.sort(stars.by_distance[:n_touched])
        # the star takes the nearest until it has enough rows; touched: whom it took
        star = stars.counters[0]
        asked = need[centre]
        n_rows = weight[centre]
        stars.star_of_distinct[centre] = star
        n_taken = 1
        stars.touched[0] = centre
        near = 0
        far = stars.counters[2]
        while n_rows < asked:
            # the nearest of those with a common item, and the smallest set of all that are free
            while near < n_touched and stars.star_of_distinct[nearest[near] % n_distinct] != NONE:
                near += 1
            while far < n_distinct and stars.star_of_distinct[stars.smaller[far]] != NONE:
                far += 1
            if far == n_distinct:
                break
            other = np.int64(stars.smaller[far])
            distance = size + starts[other + 1] - starts[other]
            if near < n_touched and nearest[near] // n_distinct <= distance:
                other = nearest[near] % n_distinct
            stars.star_of_distinct[other] = star
            stars.touched[n_taken] = other
            n_taken += 1
            n_rows += weight[other]
            asked = max(asked, need[other])
        # not enough rows are free: those it took are free again
        if n_rows < asked:
            for at in range(n_taken):
                stars.star_of_distinct[stars.touched[at]] = NONE
            continue
        stars.centre[star] = centre
        stars.counters[0] += 1
        stars.counters[1] -= n_rows
        while (
            stars.counters[2] < n_distinct
            and stars.star_of_distinct[stars.smaller[stars.counters[2]]] != NONE
        ):
            stars.counters[2] += 1


@compiled
def move_nearer(
    nearest: NDArray[np.int32],
    distance: NDArray[np.int64],
    nearest_distance: NDArray[np.int64],
    weight: NDArray[np.int64],
    need: NDArray[np.int64],
    n_rows: NDArray[np.int64],
    asked: NDArray[np.int64],
    star_of_distinct: NDArray[np.int32],
) -> Whole:
    """Move sets to their nearest centres where both stars keep enough rows; return how many.

    ``asked[star]`` is never lowered when a distinct set leaves: it may ask for more than it must.
    """
    n_moved = 0
    for distinct in range(len(weight)):
        old, new = star_of_distinct[distinct], nearest[distinct]
        if old == new or nearest_distance[distinct] >= distance[distinct]:
            continue
        if n_rows[old] - weight[distinct] < asked[old]:
            continue
        if n_rows[new] + weight[distinct] < max(asked[new], need[distinct]):
            continue
        n_rows[old] -= weight[distinct]
        n_rows[new] += weight[distinct]
        asked[new] = max(asked[new], need[distinct])
        star_of_distinct[distinct] = new
        n_moved += 1
    return n_moved


@compiled
def best_centres(
    member_starts: NDArray[np.int64],
    members: NDArray[np.int32],
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    weight: NDArray[np.int64],
    n_items: Whole,
    centre: NDArray[np.int32],
) -> Whole:
    """Make the set with the least total distance each star's centre; return that of all stars.

    The sum over v of |u| + |v| − 2|u ∩ v| needs only how many members hold each item of u.
    O(entries). Ties: the centre stays, else the lowest number.
    """
    n_holding = np.zeros(n_items, dtype=np.int64)
    total = np.int64(0)
    for star in range(len(member_starts) - 1):
        n_rows = np.int64(0)
        n_entries = np.int64(0)
        for at in range(member_starts[star], member_starts[star + 1]):
            distinct = members[at]
            n_rows += weight[distinct]
            n_entries += weight[distinct] * (starts[distinct + 1] - starts[distinct])
            for place in range(starts[distinct], starts[distinct + 1]):
                n_holding[items[place]] += weight[distinct]
        least = np.int64(-1)
        best = centre[star]
        for at in range(member_starts[star], member_starts[star + 1]):
            distinct = members[at]
            distance = n_rows * (starts[distinct + 1] - starts[distinct]) + n_entries
            for place in range(starts[distinct], starts[distinct + 1]):
                distance -= 2 * n_holding[items[place]]
            if least < 0 or distance < least or (distance == least and distinct == centre[star]):
                least = distance
                best = distinct
        centre[star] = best
        total += max(least, np.int64(0))
        for at in range(member_starts[star], member_starts[star + 1]):
            distinct = members[at]
            for place in range(starts[distinct], starts[distinct + 1]):
                n_holding[items[place]] = 0
    return total


@compiled
def distances_to(
    star_of_distinct: NDArray[np.int32],
    centre: NDArray[np.int32],
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
) -> NDArray[np.int64]:
    """Return how far each distinct set is from its star's centre, by walking both sets in order."""
    distance = np.empty(len(star_of_distinct), dtype=np.int64)
    for distinct in range(len(star_of_distinct)):
        other = centre[star_of_distinct[distinct]]
        one, two = starts[distinct], starts[other]
        n_common = 0
        while one < starts[distinct + 1] and two < starts[other + 1]:
            if items[one] == items[two]:
                n_common += 1
                one += 1
                two += 1
            elif items[one] < items[two]:
                one += 1
            else:
                two += 1
        distance[distinct] = (
            starts[distinct + 1] - starts[distinct] + starts[other + 1] - starts[other]
        )
        distance[distinct] -= 2 * n_common
    return distance

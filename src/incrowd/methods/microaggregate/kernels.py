"""Microaggregation: first groups by MDAV, then near groups torn up and rebuilt while that is
better.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner
from incrowd.kernels.draws import below, share, waiting_time


@compiled_inner
def distance(points: NDArray[np.float64], row: Whole, centre: NDArray[np.float64]) -> float:
    """Return the squared distance of a row from a point."""
    total = 0.0
    for column in range(points.shape[1]):
        gap = points[row, column] - centre[column]
        total += gap * gap
    return total


@compiled_inner
def _farthest(
    points: NDArray[np.float64],
    left: NDArray[np.int64],
    n_left: Whole,
    centre: NDArray[np.float64],
) -> Whole:
    """Return the row that lies farthest from a point, the first of several; O(rows · columns)."""
    best, best_distance = left[0], -1.0
    for place in range(n_left):
        away = distance(points, left[place], centre)
        if away > best_distance:
            best, best_distance = left[place], away
    return best


@compiled_inner
def _mean(
    points: NDArray[np.float64],
    left: NDArray[np.int64],
    n_left: Whole,
    centre: NDArray[np.float64],
) -> None:
    centre[:] = 0.0
    for place in range(n_left):
        for column in range(points.shape[1]):
            centre[column] += points[left[place], column]
    centre /= n_left


@compiled_inner
def _nearest(
    points: NDArray[np.float64],
    left: NDArray[np.int64],
    n_left: Whole,
    centre: NDArray[np.float64],
    places: NDArray[np.int64],
    away: NDArray[np.float64],
) -> Whole:
    """Fill in the places of the rows nearest to a point, rising, and return how many they are.

    As many as ``places`` has room for; of rows equally far the first ones.
    """
    n_found = 0
    for place in range(n_left):
        far = distance(points, left[place], centre)
        if n_found == len(places) and far >= away[n_found - 1]:
            continue
        if n_found < len(places):
            n_found += 1
        spot = n_found - 1
        while spot > 0 and away[spot - 1] > far:
            away[spot] = away[spot - 1]
            places[spot] = places[spot - 1]
            spot -= 1
        away[spot] = far
        places[spot] = place
    return n_found


@compiled_inner
def _take(
    left: NDArray[np.int64],
    n_left: Whole,
    places: NDArray[np.int64],
    n_taken: Whole,
    group: Whole,
    group_of_row: NDArray[np.int32],
) -> Whole:
    """Move rows into a group; those that are left stay in their order. Return how many are."""
    for spot in range(n_taken):
        group_of_row[left[places[spot]]] = group
        left[places[spot]] = -1
    n_kept = 0
    for place in range(n_left):
        if left[place] >= 0:
            left[n_kept] = left[place]
            n_kept += 1
    return n_kept


@compiled
def mdav(points: NDArray[np.float64], k: Whole) -> NDArray[np.int32]:
    """Return MDAV's group of each row: every group has k rows, the last up to 2k − 1.

    Domingo-Ferrer & Torra 2005, MDAV-generic; O(rows² · columns / k).
    """
    n_rows, n_columns = points.shape
    group_of_row = np.zeros(n_rows, dtype=np.int32)
    left = np.arange(n_rows)
    places, away = np.zeros(k, dtype=np.int64), np.zeros(k)
    centre = np.zeros(n_columns)
    n_left, group = n_rows, 0
    while n_left >= 2 * k:
        _mean(points, left, n_left, centre)
        first = _farthest(points, left, n_left, centre)
        second = _farthest(points, left, n_left, points[first])
        n_ends = 2 if n_left >= 3 * k else 1
        for end in range(n_ends):
            row = first if end == 0 else second
            n_taken = _nearest(points, left, n_left, points[row], places, away)
            n_left = _take(left, n_left, places, n_taken, group, group_of_row)
            group += 1
    for place in range(n_left):
        group_of_row[left[place]] = group
    return group_of_row


@compiled
def near_rows(points: NDArray[np.float64], n_near: Whole) -> NDArray[np.int32]:
    """Return ``near[row, place]``, the rows nearest to each but itself; O(rows² · columns)."""
    n_rows = len(points)
    near = np.zeros((n_rows, n_near), dtype=np.int32)
    places, away = np.zeros(n_near + 1, dtype=np.int64), np.zeros(n_near + 1)
    rows = np.arange(n_rows)
    for row in range(n_rows):
        n_found = _nearest(points, rows, n_rows, points[row], places, away)
        spot = 0
        for place in range(n_found):
            if places[place] != row and spot < n_near:
                near[row, spot] = places[place]
                spot += 1
    return near


# ── the search: tear up a few near groups, build them anew, keep what is better ───────────────────

MOST_GROUPS = 4
"""So many groups are torn up at once, at most."""

TINY = 1e-12
"""A gain must be more than this: what rounding makes of nothing is no gain."""


class State(NamedTuple):
    """Groups as lists of rows: ``member[group, place]`` for the first ``size[group]`` places.

    A group has k to 2k − 1 rows; those without rows are the first ``n_free[0]`` of ``free``.
    ``near[row]`` are rows near to it, ``random`` is the state of the draws.
    """

    k: int
    points: NDArray[np.float64]
    near: NDArray[np.int32]
    group_of_row: NDArray[np.int32]
    member: NDArray[np.int32]
    size: NDArray[np.int64]
    free: NDArray[np.int32]
    n_free: NDArray[np.int64]
    random: NDArray[np.int64]


class Pool(NamedTuple):
    """The rows of torn-up groups: new groups are numbered from 0, with the sums of their rows."""

    rows: NDArray[np.int32]
    group: NDArray[np.int32]
    size: NDArray[np.int64]
    sums: NDArray[np.float64]
    torn: NDArray[np.int32]


@compiled_inner
def _away_from_mean(
    points: NDArray[np.float64], row: Whole, sums: NDArray[np.float64], size: Whole
) -> float:
    total = 0.0
    for column in range(points.shape[1]):
        gap = points[row, column] - sums[column] / size
        total += gap * gap
    return total


@compiled_inner
def _put(pool: Pool, points: NDArray[np.float64], place: Whole, group: Whole) -> None:
    pool.group[place] = group
    pool.size[group] += 1
    for column in range(points.shape[1]):
        pool.sums[group, column] += points[pool.rows[place], column]


@compiled_inner
def _move(
    pool: Pool, points: NDArray[np.float64], place: Whole, source: Whole, target: Whole
) -> None:
    pool.size[source] -= 1
    for column in range(points.shape[1]):
        pool.sums[source, column] -= points[pool.rows[place], column]
    _put(pool, points, place, target)


@compiled_inner
def _spread(pool: Pool, points: NDArray[np.float64], n_pool: Whole) -> float:
    """Return the sum of squared distances of the pool's rows from the means of their groups."""
    total = 0.0
    for place in range(n_pool):
        group = pool.group[place]
        total += _away_from_mean(points, pool.rows[place], pool.sums[group], pool.size[group])
    return total


@compiled_inner
def _tear(state: State, pool: Pool, row: Whole) -> tuple[Whole, Whole]:
    """Gather the row's group and some near ones; return how many groups and rows these are."""
    wanted = 2 + below(state.random, MOST_GROUPS - 1)
    pool.torn[0] = state.group_of_row[row]
    n_torn = 1
    for place in range(state.near.shape[1]):
        if n_torn == wanted:
            break
        group = state.group_of_row[state.near[row, place]]
        is_new = True
        for spot in range(n_torn):
            is_new = is_new and pool.torn[spot] != group
        if is_new and share(state.random) < 0.8:
            pool.torn[n_torn] = group
            n_torn += 1
    pool.sums[:n_torn] = 0.0
    pool.size[:n_torn] = 0
    n_pool = 0
    for spot in range(n_torn):
        group = pool.torn[spot]
        for place in range(state.size[group]):
            pool.rows[n_pool] = state.member[group, place]
            _put(pool, state.points, n_pool, spot)
            n_pool += 1
    return n_torn, n_pool


@compiled_inner
def _seed_of(state: State, pool: Pool, n_pool: Whole, n_left: Whole) -> Whole:
    """Return a place to grow a group from: any, or the farthest from the mean of what is left."""
    if share(state.random) < 0.5:
        wanted = below(state.random, n_left)
        for place in range(n_pool):
            if pool.group[place] < 0:
                if wanted == 0:
                    return place
                wanted -= 1
    points, n_columns = state.points, state.points.shape[1]
    centre = pool.sums[MOST_GROUPS * 2]
    centre[:] = 0.0
    for place in range(n_pool):
        if pool.group[place] < 0:
            for column in range(n_columns):
                centre[column] += points[pool.rows[place], column]
    best, farthest = 0, -1.0
    for place in range(n_pool):
        if pool.group[place] < 0:
            away = _away_from_mean(points, pool.rows[place], centre, n_left)
            if away > farthest:
                best, farthest = place, away
    return best


@compiled_inner
def _recreate(state: State, pool: Pool, n_pool: Whole) -> Whole:
    """Group the pool's rows anew and return the number of groups; O(pool² · columns)."""
    k, points = state.k, state.points
    most, least = n_pool // k, -(-n_pool // (2 * k - 1))
    n_groups = most
    if most > least and share(state.random) < 0.3:
        n_groups = least + below(state.random, most - least + 1)
    pool.group[:n_pool] = -1
    pool.size[:n_groups] = 0
    pool.sums[:n_groups] = 0.0
    n_left = n_pool
    for group in range(n_groups):
        _put(pool, points, _seed_of(state, pool, n_pool, n_left), group)
        n_left -= 1
        for _ in range(k - 1):
            best, nearest = -1, np.inf
            for place in range(n_pool):
                if pool.group[place] < 0:
                    away = _away_from_mean(
                        points, pool.rows[place], pool.sums[group], pool.size[group]
                    )
                    if away < nearest:
                        best, nearest = place, away
            _put(pool, points, best, group)
            n_left -= 1
    for place in range(n_pool):
        if pool.group[place] >= 0:
            continue
        target, cheapest = -1, np.inf
        for group in range(n_groups):
            size = pool.size[group]
            if size < 2 * k - 1:
                cost = _away_from_mean(points, pool.rows[place], pool.sums[group], size)
                cost *= size / (size + 1.0)
                if cost < cheapest:
                    target, cheapest = group, cost
        _put(pool, points, place, target)
    return n_groups


@compiled_inner
def _best_move(state: State, pool: Pool, place: Whole, n_groups: Whole) -> Flag:
    """Move a row to the group where the sum of squares falls most, if any; say whether."""
    k, points, row = state.k, state.points, pool.rows[place]
    source = pool.group[place]
    size = pool.size[source]
    if size <= k:
        return False
    saved = _away_from_mean(points, row, pool.sums[source], size) * size / (size - 1.0)
    target, cheapest = -1, saved - TINY
    for group in range(n_groups):
        n_there = pool.size[group]
        if group == source or n_there >= 2 * k - 1:
            continue
        cost = _away_from_mean(points, row, pool.sums[group], n_there) * n_there / (n_there + 1.0)
        if cost < cheapest:
            target, cheapest = group, cost
    if target < 0:
        return False
    _move(pool, points, place, source, target)
    return True


@compiled_inner
def _best_swap(state: State, pool: Pool, place: Whole, n_pool: Whole) -> Flag:
    """Swap a row with the one of another group where the sum of squares falls most, if any."""
    points, row, one = state.points, pool.rows[place], pool.group[place]
    n_columns = points.shape[1]
    partner, gained = -1, TINY
    for other_place in range(n_pool):
        other = pool.group[other_place]
        if other == one:
            continue
        n_one, n_other = pool.size[one], pool.size[other]
        gain, apart = 0.0, 0.0
        for column in range(n_columns):
            gap = points[pool.rows[other_place], column] - points[row, column]
            between = pool.sums[one, column] / n_one - pool.sums[other, column] / n_other
            gain += gap * between
            apart += gap * gap
        gain = 2.0 * gain + apart * (1.0 / n_one + 1.0 / n_other)
        if gain > gained:
            partner, gained = other_place, gain
    if partner < 0:
        return False
    other = pool.group[partner]
    _move(pool, points, place, one, other)
    _move(pool, points, partner, other, one)
    return True


@compiled_inner
def _settle(state: State, pool: Pool, n_pool: Whole, n_groups: Whole) -> None:
    """Move and swap the pool's rows until nothing gains, or for as many rounds as rows."""
    for _ in range(n_pool):
        is_changed = False
        for place in range(n_pool):
            if _best_move(state, pool, place, n_groups):
                is_changed = True
            if n_groups > 1 and _best_swap(state, pool, place, n_pool):
                is_changed = True
        if not is_changed:
            return


@compiled_inner
def _adopt(state: State, pool: Pool, n_pool: Whole, n_torn: Whole, n_groups: Whole) -> None:
    """Put the pool's new groups in the place of the torn ones."""
    for spot in range(n_torn):
        state.size[pool.torn[spot]] = 0
    while n_torn > n_groups:
        n_torn -= 1
        state.free[state.n_free[0]] = pool.torn[n_torn]
        state.n_free[0] += 1
    while n_torn < n_groups:
        state.n_free[0] -= 1
        pool.torn[n_torn] = state.free[state.n_free[0]]
        n_torn += 1
    for place in range(n_pool):
        group, row = pool.torn[pool.group[place]], pool.rows[place]
        state.member[group, state.size[group]] = row
        state.size[group] += 1
        state.group_of_row[row] = group


@compiled
def search_slice(
    state: State, pool: Pool, n_done: Whole, n_slice: Whole, n_changes: Whole, heat: float
) -> float:
    """Try ``n_slice`` changes after ``n_done`` of ``n_changes``; return what the sum fell by.

    A change that raises the sum of squares is kept with a chance that falls with the rise, and
    with time: the heat goes down to 0 over the first nine tenths of all changes.
    """
    gained = 0.0
    n_rows = len(state.points)
    for step in range(n_slice):
        row = below(state.random, n_rows)
        n_torn, n_pool = _tear(state, pool, row)
        before = _spread(pool, state.points, n_pool)
        n_groups = _recreate(state, pool, n_pool)
        _settle(state, pool, n_pool, n_groups)
        after = _spread(pool, state.points, n_pool)
        warmth = heat * max(0.0, 1.0 - (n_done + step) / (0.9 * n_changes))
        if after < before - TINY or after - before < warmth * waiting_time(state.random) - TINY:
            _adopt(state, pool, n_pool, n_torn, n_groups)
            gained += before - after
    return gained

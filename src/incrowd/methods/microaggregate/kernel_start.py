"""The first groups: MDAV, and which rows lie near each row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner


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

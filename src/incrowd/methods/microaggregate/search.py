"""One search over the numbers of a table: the first groups, then ever better ones."""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from incrowd.methods.microaggregate import kernels
from incrowd.methods.shared.options import FULL, QUICK, seconds_of
from incrowd.progress import Progress, is_stop_requested, silent

STAGE = "bringing near numbers together"

MOST_BLOCK_ROWS = 20_000
"""A table of more rows is cut into blocks, each searched on its own: MDAV takes rows² steps."""

N_NEAR = 24
"""So many rows are known to be near to each row."""

CHANGES_PER_ROW = 40.0
"""What ``auto`` tries at k = 3, and (3 / k)^1.5 as many at other k, since a change then takes
longer; ``quick`` a quarter, ``full`` ten times as many."""

HEAT = 0.05
"""The first heat, in mean sums of squares of a group of the start."""

CHANGES_PER_SLICE = 2_000

TRIAL_CHANGES, TRIAL_SHARE = 200, 0.05


def standardize(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``numbers[row, column]`` with mean 0 and variance 1; a constant column is all 0."""
    centred = numbers - numbers.mean(axis=0)
    spread = centred.std(axis=0)
    return np.ascontiguousarray(centred / np.where(spread > 0, spread, 1.0))


def spread_of(points: NDArray[np.float64], group_of_row: NDArray[np.int32]) -> float:
    """Return the sum of squared distances of rows from their groups' means."""
    size = np.bincount(group_of_row)
    total = 0.0
    for column in points.T:
        mean = np.bincount(group_of_row, column) / np.maximum(size, 1)
        total += math.fsum(np.square(column - mean[group_of_row]).tolist())
    return total


def search(
    points: NDArray[np.float64],
    k: int,
    effort: int | str,
    seed: int,
    progress: Progress = silent,
) -> tuple[NDArray[np.int32], int, int]:
    """Return each row's group, how many changes the effort came to, and how many were tried.

    Every group has k to 2k − 1 rows (all rows are one group where they are fewer than 2k). The
    sum of squared distances from the groups' means is at most that of MDAV on each block. Rows
    are taken in the order of their numbers, so that the order of the table matters only to equal
    rows.
    """
    order = np.lexsort(points.T[::-1])
    blocks = [order[block] for block in _blocks(points[order])]
    n_changes = _changes(points, k, effort, blocks)
    group_of_row = np.zeros(len(points), dtype=np.int32)
    n_groups = n_done = n_tried = 0
    for number, rows in enumerate(blocks):
        # the changes are shared out so that the blocks' add up to all of them
        until = n_changes * (sum(map(len, blocks[: number + 1]))) // len(points)
        found, tried = _search_block(
            np.ascontiguousarray(points[rows]), k, until - n_done, seed, n_done, n_changes, progress
        )
        group_of_row[rows] = found + n_groups
        n_groups += int(found.max()) + 1
        n_done = until
        n_tried += tried
    return group_of_row, n_changes, n_tried


def _changes(
    points: NDArray[np.float64], k: int, effort: int | str, blocks: list[NDArray[np.int64]]
) -> int:
    """Return the number of changes that an effort stands for; a time is tried out."""
    if isinstance(effort, int):
        return effort
    seconds = seconds_of(effort)
    if seconds:
        points_of_trial = np.ascontiguousarray(points[blocks[0]])
        _search_block(points_of_trial[: 4 * k], k, 1, 0, 0, 1, silent)  # compiles
        start = time.perf_counter()
        state, pool = _begin(points_of_trial, k, 0)
        began = time.perf_counter() - start
        if state is None:
            return 1
        start, n_tried = time.perf_counter(), 0
        while time.perf_counter() - start < TRIAL_SHARE * seconds:
            kernels.search_slice(state, pool, 0, TRIAL_CHANGES, 1, 0.0)
            n_tried += TRIAL_CHANGES
        pace = max(n_tried, 1) / (time.perf_counter() - start + 1e-9)
        left = seconds * (1 - TRIAL_SHARE) - began * (1 + len(blocks))
        return max(TRIAL_CHANGES, int(left * pace))
    times = {QUICK: 0.25, FULL: 10.0}.get(effort, 1.0)
    return max(1, int(times * CHANGES_PER_ROW * (3 / k) ** 1.5 * len(points)))


def _begin(
    points: NDArray[np.float64], k: int, seed: int
) -> tuple[kernels.State | None, kernels.Pool]:
    """Return MDAV's groups as the search holds them, and room for torn-up ones."""
    n_rows, n_columns = points.shape
    most = kernels.MOST_GROUPS * (2 * k - 1)
    pool = kernels.Pool(
        np.zeros(most, dtype=np.int32),
        np.zeros(most, dtype=np.int32),
        np.zeros(2 * kernels.MOST_GROUPS + 1, dtype=np.int64),
        np.zeros((2 * kernels.MOST_GROUPS + 1, n_columns)),
        np.zeros(2 * kernels.MOST_GROUPS + 1, dtype=np.int32),
    )
    group_of_row = kernels.mdav(points, k)
    n_groups = int(group_of_row.max()) + 1
    if n_groups < 2:
        return None, pool
    most_groups = n_rows // k
    member = np.zeros((most_groups, 2 * k - 1), dtype=np.int32)
    size = np.zeros(most_groups, dtype=np.int64)
    for row, group in enumerate(group_of_row.tolist()):
        member[group, size[group]] = row
        size[group] += 1
    free = np.zeros(most_groups + kernels.MOST_GROUPS, dtype=np.int32)
    free[: most_groups - n_groups] = np.arange(n_groups, most_groups)
    near = kernels.near_rows(points, min(max(N_NEAR, 3 * k), n_rows - 1))
    random = np.asarray([_first_state(seed)], dtype=np.int64)
    n_free = np.asarray([most_groups - n_groups], dtype=np.int64)
    return kernels.State(k, points, near, group_of_row, member, size, free, n_free, random), pool


def _first_state(seed: int) -> int:
    return (seed * 0x9E3779B97F4A7C15 + 0x2545F4914F6CDD1D) % (1 << 63) or 1


def _search_block(
    points: NDArray[np.float64],
    k: int,
    n_changes: int,
    seed: int,
    n_before: int,
    n_all: int,
    progress: Progress,
) -> tuple[NDArray[np.int32], int]:
    progress(STAGE, n_before, n_all)
    state, pool = _begin(points, k, seed)
    if state is None:
        return np.zeros(len(points), dtype=np.int32), 0
    start = state.group_of_row.copy()
    before = spread_of(points, start)
    heat = HEAT * before / (len(points) // k)
    n_done = 0
    while n_done < n_changes and not is_stop_requested():
        n_slice = min(CHANGES_PER_SLICE, n_changes - n_done)
        kernels.search_slice(state, pool, n_done, n_slice, n_changes, heat)
        n_done += n_slice
        progress(STAGE, n_before + n_done, n_all)
    found = state.group_of_row
    if spread_of(points, found) > before:
        found = start
    _, numbered = np.unique(found, return_inverse=True)
    return numbered.astype(np.int32), n_done


def _blocks(points: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Return the rows cut into blocks, at the median of the column that varies most."""
    whole, blocks = [np.arange(len(points))], []
    while whole:
        rows = whole.pop()
        if len(rows) <= MOST_BLOCK_ROWS:
            blocks.append(rows)
            continue
        widest = int(np.argmax(points[rows].var(axis=0)))
        rows = rows[np.argsort(points[rows, widest], kind="stable")]
        half = len(rows) // 2
        whole += [np.sort(rows[half:]), np.sort(rows[:half])]
    return blocks

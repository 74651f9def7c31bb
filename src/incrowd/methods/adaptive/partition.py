"""Groups of rows that are shown equal: masks per attribute with an exact certificate."""

from __future__ import annotations

import time
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from incrowd.data.dataset import Rows, Trace
from incrowd.data.hierarchy import Hierarchy
from incrowd.engines.base import Engine
from incrowd.errors import InfeasibleError
from incrowd.methods.adaptive.partition_needs import Needs
from incrowd.methods.adaptive.partition_repair import repair
from incrowd.methods.adaptive.partition_start import first_groups
from incrowd.methods.adaptive.problem import Found, Problem
from incrowd.methods.cluster.budget import Budget
from incrowd.methods.cluster.lines import Lines
from incrowd.methods.cluster.search import Plan
from incrowd.methods.conditions import Conditions
from incrowd.methods.distinct import sort_key
from incrowd.methods.effort import FULL, QUICK, seconds_of
from incrowd.methods.fragments import Fragments
from incrowd.progress import Progress, silent

PER_ROW, PER_ROW_IN_BLOCKS, LARGEST_WHOLE = 10, 1, 40_000
"""The automatic effort per distinct row that needs a group, over the square root of its need; per
row of a larger table, and what is one."""

QUICKER, FULLER = 4, 10
"""The automatic effort over that of ``quick``, and that of ``full`` over the automatic one."""


def search(
    problem: Problem,
    *,
    effort: int | str,
    seed: int,
    engine: Engine,
    progress: Progress = silent,
    is_as_value: bool = False,
) -> Found:
    """Mask the cells in which the rows of a group differ, every group as large as its rows need.

    Rows whose profile occurs often enough are *free*: shown in full, in no group. Groups begin as
    buckets and splits, rows that fit nowhere are repaired, then cluster's search makes groups
    cheaper for an effort. ``is_as_value``: every group of equal released rows, free ones too, is
    as large as its largest k, so that the release is k-anonymous with stars as values.
    The figure ``iterations`` as effort makes the same masks again. Raises InfeasibleError where
    somebody asks for a larger crowd than there are rows.
    """
    if problem.is_bit:
        raise ValueError("a partition masks attributes, not bits")
    n_over = int((problem.k > problem.n_rows).sum())
    if n_over:
        raise InfeasibleError(
            f"{n_over} rows ask for a crowd of more than the {problem.n_rows} rows there are",
            remedy="Lower their k.",
        )
    begun = time.perf_counter()
    needs = Needs.of(problem, is_as_value=is_as_value)
    codes = np.ascontiguousarray(problem.codes.T)
    groups = np.full(problem.n_rows, -1, dtype=np.int64)
    rows = np.flatnonzero(~needs.is_free)
    if len(rows):
        attributes = _varied(codes[rows])
        groups[rows] = first_groups(
            np.ascontiguousarray(codes[np.ix_(rows, attributes)]),
            problem.n_values[attributes],
            needs.need[rows],
            seed,
            engine.n_workers,
            progress,
        )
    needs, groups = repair(codes, needs, groups)
    before = Found(masks_of_groups(codes, groups)).shown
    trace = Trace({"iterations": 0})
    rows = np.flatnonzero(groups >= 0)
    if len(rows):
        budget = Budget(_stated(effort, rows, needs), begun)
        groups[rows], trace = _polish(
            problem, rows, needs.need[rows], groups[rows], budget, seed, engine, progress
        )
    is_masked = masks_of_groups(codes, groups)
    require_crowds(problem, is_masked, is_as_value=is_as_value)
    found = Found(is_masked)
    figures = {
        "free_rows": int(needs.is_free.sum()),
        "groups": int(groups.max(initial=-1)) + 1,
        "shown_before": before,
        "shown": found.shown,
        **trace.figures,
    }
    return Found(is_masked, figures, trace.notes)


def _varied(codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the attributes in which these rows differ."""
    return np.flatnonzero(codes.min(axis=0) < codes.max(axis=0))


def masks_of_groups(codes: NDArray[np.int32], group_of_row: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the cells in which rows of one group differ: ``[row, attribute]``. O(cells)."""
    is_masked = np.zeros(codes.shape, dtype=np.bool_)
    rows = np.flatnonzero(group_of_row >= 0)
    if not len(rows):
        return is_masked
    rows = rows[np.argsort(group_of_row[rows], kind="stable")]
    starts = np.flatnonzero(np.diff(group_of_row[rows], prepend=-1))
    low = np.minimum.reduceat(codes[rows], starts, axis=0)
    high = np.maximum.reduceat(codes[rows], starts, axis=0)
    sizes = np.diff(np.append(starts, len(rows)))
    is_masked[rows] = np.repeat(low < high, sizes, axis=0)
    return is_masked


def require_crowds(problem: Problem, is_masked: NDArray[np.bool_], *, is_as_value: bool) -> None:
    """Raise unless everybody's crowd is certified by what is shown, whatever groups were meant.

    With z people of one's profile, n_free of them shown in full and s released rows equal to
    one's own: z ≥ k where one's row is shown in full, else s + n_free ≥ k; as values, s ≥ k.
    """
    codes, n_rows = problem.codes, problem.n_rows
    n_values = problem.n_values.tolist()
    shown = np.where(is_masked.T, problem.n_values[:, None], codes)
    z, profile = _counts(sort_key(list(codes), n_values, n_rows))
    s, _ = _counts(sort_key(list(shown), [count + 1 for count in n_values], n_rows))
    is_full = ~is_masked.any(axis=1)
    n_free = np.bincount(profile[is_full], minlength=n_rows)[profile]
    crowd = s if is_as_value else np.where(is_full, z, s + n_free)
    if np.any(crowd < problem.k):
        raise RuntimeError("a partition left somebody without their crowd")


def _counts(key: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many rows have each row's key, and the key as a number from 0."""
    _, number, count = np.unique(key, return_inverse=True, return_counts=True)
    return count[number], number


def _stated(effort: int | str, rows: NDArray[np.int64], needs: Needs) -> int | str:
    """Return an effort as a number of changes, or as the seconds that are wished for."""
    if isinstance(effort, int) or seconds_of(effort):
        return effort
    n_distinct = len(np.unique(needs.profile_of_row[rows]))
    typical = round(float(needs.need[rows].mean()))
    per_row = PER_ROW if n_distinct <= LARGEST_WHOLE else PER_ROW_IN_BLOCKS
    automatic = max(1, per_row * n_distinct // max(1, isqrt(typical)))
    if effort == QUICK:
        return max(1, automatic // QUICKER)
    return FULLER * automatic if effort == FULL else automatic


def _polish(
    problem: Problem,
    rows: NDArray[np.int64],
    need: NDArray[np.int64],
    groups: NDArray[np.int64],
    budget: Budget,
    seed: int,
    engine: Engine,
    progress: Progress,
) -> tuple[NDArray[np.int64], Trace]:
    """Make the groups of these rows cheaper by cluster's search; return their groups.

    An attribute is a column whose values have nothing above them but the star.
    """
    attributes = _varied(problem.codes[:, rows].T)
    table = Rows(
        tuple(str(attribute) for attribute in attributes),
        np.ascontiguousarray(problem.codes[np.ix_(attributes, rows)]),
        tuple(
            Hierarchy.from_groups(str(attribute), [str(value) for value in range(n_values)], [])
            for attribute, n_values in zip(attributes, problem.n_values[attributes], strict=True)
        ),
    )
    roots = np.asarray([[hierarchy.root] for hierarchy in table.hierarchies], dtype=np.int32)
    is_masked = masks_of_groups(table.nodes.T, groups).T
    start = np.where(is_masked, roots, table.nodes).astype(np.int32)
    conditions = Conditions(2, need.astype(np.int32))
    limits = conditions.packed(len(rows))
    plan = Plan.of(table, "loss", limits, seed, is_size_only=False)
    each = np.ones(len(rows), dtype=np.int64)
    lines = Lines.continued(table.nodes, Fragments.of_each(start, each), limits)
    found = budget.search(lines, plan, engine, progress)
    key = sort_key(
        list(found.nodes), [hierarchy.n_nodes for hierarchy in table.hierarchies], len(rows)
    )
    return np.unique(key, return_inverse=True)[1].astype(np.int64), found.trace

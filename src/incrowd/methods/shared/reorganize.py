"""Data reorganization: the order in which rows are cut into partitions (paper §III-B)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from incrowd.encoding.rows import Rows

LARGEST_WHOLE = 500_000
"""Tables of up to this many distinct rows are searched whole unless partitions are asked for."""

DISTINCT_PER_PARTITION = 250_000
"""How many distinct rows a partition of a larger table has, about."""


def column_order(rows: Rows, reorganize: str) -> list[int]:
    """Return the columns, the primary sort key first.

    ``levels-first``: fewest hierarchy levels, then fewest values (what generalizes dearest stays
    together: the paper's scheme 2); ``levels-last``: most levels, then fewest values (its scheme
    1); ``values-first``: fewest values, then fewest levels. Values are those that occur. Columns
    that tie keep their order.
    """
    levels = [int(hierarchy.height[hierarchy.root]) for hierarchy in rows.hierarchies]
    values = [
        int(np.count_nonzero(np.bincount(nodes, minlength=1))) if nodes.size else 0
        for nodes in rows.nodes
    ]
    if reorganize == "values-first":
        return sorted(range(rows.n_columns), key=lambda column: (values[column], levels[column]))
    if reorganize == "levels-last":
        return sorted(range(rows.n_columns), key=lambda column: (-levels[column], values[column]))
    return sorted(range(rows.n_columns), key=lambda column: (levels[column], values[column]))


def automatic_partitions(
    n_distinct: int, largest_whole: int | None = None, per_part: int | None = None
) -> int:
    """Return how many parts keep a search quick; without limits, those of greedy's index."""
    if n_distinct <= (largest_whole or LARGEST_WHOLE):
        return 1
    return -(-n_distinct // (per_part or DISTINCT_PER_PARTITION))


def cut(
    run_start: NDArray[np.int64], n_partitions: int, is_valid: Callable[[int, int], bool]
) -> NDArray[np.int64]:
    """Return where each partition starts among sorted rows, and the end.

    Partitions are of nearly equal size, cut only where a run of equal rows ends, and each is
    valid as one group, ``is_valid(start, end)``, so that merging inside it can always end: a part
    that is not is joined to the next, a last one to those before it.
    """
    n_rows = int(run_start[-1])
    part_of_run = run_start[:-1] * n_partitions // max(1, n_rows)
    first_runs = np.flatnonzero(np.diff(part_of_run, prepend=-1))
    edges = [*run_start[first_runs].tolist(), n_rows]
    starts = []
    start = 0
    for end in edges[1:]:
        if is_valid(start, end):
            starts.append(start)
            start = end
    while start < n_rows and starts:
        start = starts.pop()
        if is_valid(start, n_rows):
            starts.append(start)
            break
    return np.asarray([*starts, n_rows] if starts else [0, n_rows], dtype=np.int64)


def part_runs(
    rows: NDArray[np.int64],
    run_start: NDArray[np.int64],
    n_of_row: NDArray[np.int64],
    n_parts: int,
    k: int,
    is_valid: Callable[[int, int], bool] | None = None,
) -> NDArray[np.int64]:
    """Return the part of every row, given sorted rows and the runs that must not be cut.

    There are ``n_of_row[row]`` of each, and parts are cut by how many there are. A part is valid
    with k of them, or as ``is_valid`` says where there is one of each.
    """
    n_before = np.concatenate([[0], np.cumsum(n_of_row[rows])]).astype(np.int64)
    starts = cut(n_before[run_start], n_parts, is_valid or (lambda start, end: end - start >= k))
    lines = np.diff(np.searchsorted(n_before, starts))
    parts = np.empty(len(rows), dtype=np.int64)
    parts[rows] = np.repeat(np.arange(len(starts) - 1), lines)
    return parts

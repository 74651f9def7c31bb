"""Combinations of a policy re-based: dates that move with every batch keep their unit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.encoding.rows import Rows
from incrowd.errors import JobError, unknown
from incrowd.hierarchies.tree import Hierarchy

BUILDER = "dates"


def rebase_dates(
    nodes: NDArray[np.int32], rows: Rows, columns: tuple[str, ...]
) -> NDArray[np.int32]:
    """Return combinations with the periods of re-based columns replaced by those of the rows.

    ``nodes[column, combination]`` names a period of a unit (a day, a month, a year); of that it
    keeps the unit alone. A combination becomes one for every choice of periods, one per re-based
    column, that some row lies in: 2026-10 of an October batch stands for 2026-11 in November's.
    The root and missing cells stay as they are. Any combination may be added to those that rows
    are tested against: a row is still shown only as one that covers it, in a group that is valid.
    O(combinations · periods).
    """
    places = [_place(rows, column) for column in columns]
    if not places or not nodes.shape[1]:
        return nodes
    unit = np.stack([_units(rows.hierarchies[place], nodes[place]) for place in places])
    rebased = []
    for pattern in np.unique(unit, axis=1).T:
        has_pattern = (unit == pattern[:, None]).all(axis=0)
        moving = [place for place, depth in zip(places, pattern, strict=True) if depth > 0]
        kept = nodes[:, has_pattern].copy()
        kept[moving] = 0
        kept = np.unique(kept, axis=1)
        if not moving:
            rebased.append(kept)
            continue
        periods = np.unique(
            np.stack(
                [
                    _ancestors_at(rows.hierarchies[place], rows.nodes[place], int(depth))
                    for place, depth in zip(places, pattern, strict=True)
                    if depth > 0
                ]
            ),
            axis=1,
        )
        every = np.repeat(kept, periods.shape[1], axis=1)
        every[moving] = np.tile(periods, kept.shape[1])
        rebased.append(every)
    every_pattern = np.concatenate(rebased, axis=1)
    return np.asarray(np.unique(every_pattern, axis=1), dtype=np.int32)


def _place(rows: Rows, column: str) -> int:
    if column not in rows.names:
        raise unknown("quasi-identifying column", column, rows.names, where="--rebase")
    place = rows.names.index(column)
    origin = rows.hierarchies[place].origin
    if origin.split(":")[0] != BUILDER:
        raise JobError(
            f"--rebase {column}: the column is generalized by {origin or 'a file'}, not by dates",
            remedy="Re-base date columns only; others keep what the policy shows.",
        )
    return place


def _units(tree: Hierarchy, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the depth of each node, which is its unit; 0 for the root and for missing cells."""
    is_period = np.append(np.isfinite(_days(tree)), np.ones(tree.n_nodes - tree.n_leaves, bool))
    return np.where(is_period[nodes], tree.depth[nodes], 0).astype(np.int64)


def _ancestors_at(tree: Hierarchy, leaves: NDArray[np.int32], depth: int) -> NDArray[np.int32]:
    """Return each leaf's ancestor at a depth; a missing cell is itself."""
    climbing = leaves.copy()
    for _ in range(int(tree.depth.max(initial=0))):
        climbing = np.where(tree.depth[climbing] > depth, tree.parent[climbing], climbing)
    return climbing


def _days(tree: Hierarchy) -> NDArray[np.float64]:
    return np.full(tree.n_leaves, np.nan) if tree.values is None else tree.values

"""What every loss is computed from: how often each node stands before and after, and group sizes.

No loss here looks at a cell and its original side by side: each is a sum of one number per node
over the release, less the same over the original. So the counts of nodes are all it takes, the
rows are read once, and the order of rows cannot matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.codes import RowKey
from incrowd.data.dataset import Rows
from incrowd.data.hierarchy import Hierarchy
from incrowd.errors import DataError

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tally:
    """Two tables, counted: ``before[column][node]`` and ``after[column][node]`` are cells.

    A suppressed row counts as all cells at the root in ``after``; it is in none of
    ``group_sizes``, which are the sizes of the groups of equal rows that are released. ``k`` is
    the group size that was asked for.
    """

    hierarchies: tuple[Hierarchy, ...]
    before: tuple[Counts, ...]
    after: tuple[Counts, ...]
    group_sizes: Counts
    n_rows: int
    n_suppressed: int
    k: int

    @property
    def n_columns(self) -> int:
        """How many quasi-identifying columns there are."""
        return len(self.hierarchies)

    @property
    def n_cells(self) -> int:
        """How many quasi-identifying cells the original has."""
        return self.n_rows * self.n_columns


def tally(before: Rows, after: Rows, k: int = 1) -> Tally:
    """Count nodes and groups once for all losses; O(cells + rows · log rows)."""
    if before.names != after.names or before.nodes.shape != after.nodes.shape:
        raise ValueError("before and after must be the same rows and columns")
    for one, other in zip(before.hierarchies, after.hierarchies, strict=True):
        if one is not other and not np.array_equal(one.parent, other.parent):
            raise ValueError(f"column {one.name!r}: before and after have different hierarchies")
    if before.n_rows == 0:
        raise DataError(
            "there are no rows to measure a loss on", remedy="Give a table with at least one row."
        )
    if k < 1:
        raise ValueError("k is at least 1")
    n_suppressed = int(after.is_suppressed.sum())
    released = after.nodes[:, ~after.is_suppressed] if n_suppressed else after.nodes
    counts_before = []
    counts_after = []
    for column, hierarchy in enumerate(before.hierarchies):
        counts_before.append(np.bincount(before.nodes[column], minlength=hierarchy.n_all_nodes))
        counts = np.bincount(released[column], minlength=hierarchy.n_all_nodes)
        counts[hierarchy.root] += n_suppressed
        counts_after.append(counts)
    sizes = group_sizes(released, [hierarchy.n_all_nodes for hierarchy in before.hierarchies])
    return Tally(
        before.hierarchies,
        tuple(counts_before),
        tuple(counts_after),
        sizes,
        before.n_rows,
        n_suppressed,
        k,
    )


def weighed(counts: Counts, weight: NDArray[np.float64]) -> float:
    """Return Σ counts · weight, exactly rounded: the same number on every machine and thread."""
    return math.fsum((counts * weight).tolist())


def group_sizes(nodes: NDArray[np.int32], n_nodes: list[int]) -> Counts:
    """Return the size of each group of rows with equal nodes in every column, in no fixed order."""
    n_rows = nodes.shape[1]
    if n_rows == 0:
        return np.zeros(0, dtype=np.int64)
    key = RowKey(n_rows)
    for column, n_column in enumerate(n_nodes):
        key.add(nodes[column], n_column)
    key.numbers.sort()
    starts = np.flatnonzero(key.numbers[1:] != key.numbers[:-1]) + 1
    return np.diff(np.concatenate([[0], starts, [n_rows]]))

"""One run of Mondrian over the rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.encoding.rows import Rows
from incrowd.errors import InfeasibleError
from incrowd.hierarchies.costs import cost_to_root
from incrowd.hierarchies.tree import Hierarchy
from incrowd.methods.shared.conditions import PackedConditions, Validity
from incrowd.methods.shared.forest import Forest
from incrowd.methods.shared.fragments import sort_key
from incrowd.progress import Progress

if TYPE_CHECKING:
    from incrowd.methods.shared.cuts.kernel import Boxes


STAGE = "cutting groups"

ROWS_PER_SLICE = 2_000_000
"""How many rows are looked at between two reports of progress: some hundredths of a second."""


def cut_rows(
    rows: Rows,
    limits: PackedConditions,
    is_size_only: bool,
    metric: str,
    is_strict: bool,
    progress: Progress,
    n_of_row: NDArray[np.int64] | None = None,
) -> NDArray[np.int32]:
    """Return ``nodes[column, row]`` generalized so that every group is valid.

    Every node must be a leaf. The result does not depend on the order of rows. There are
    ``n_of_row[row]`` of each, if their size is all that groups are tested by and cuts are strict;
    else, or if it is not stated, one of each.
    """
    from incrowd.methods.shared.cuts import kernel

    leaves = np.asarray([[hierarchy.n_leaves] for hierarchy in rows.hierarchies])
    if rows.n_columns and np.any(rows.nodes >= leaves):
        raise ValueError("Mondrian cuts rows of leaves, and some nodes are above them")
    position = np.empty((rows.n_rows, rows.n_columns), dtype=np.int32)
    for column, hierarchy in enumerate(rows.hierarchies):
        position[:, column] = hierarchy.leaf_order[rows.nodes[column]]
    order = _content_order(position, rows, limits)
    if n_of_row is None or not (is_size_only and is_strict):
        n_of_row = np.ones(rows.n_rows, dtype=np.int64)
    n_rows = int(n_of_row.sum())
    is_feasible = n_rows >= limits.k
    if not is_size_only:
        is_feasible = Validity(order, limits).of_span(0, rows.n_rows)
    if not is_feasible:
        raise InfeasibleError(
            f"all {n_rows} rows in one group do not meet the conditions",
            remedy="Lower k or l, raise t, or leave out the rows that ask for too much.",
        )
    forest = Forest.of(rows.hierarchies)
    boxes = _boxes(rows.hierarchies, forest, metric)
    parts = kernel.start(order, n_of_row, rows.n_columns, int(leaves.max(initial=0)))
    scratch = kernel.scratch_for(limits)
    is_done = False
    while not is_done:
        progress(STAGE, int(parts.counters[1]), n_rows)
        is_done = bool(
            kernel.cut_slice(
                ROWS_PER_SLICE, parts, position, boxes, limits, is_size_only, is_strict, scratch
            )
        )
    progress(STAGE, n_rows, n_rows)
    return forest.in_nodes(np.ascontiguousarray(parts.released.T))


def _content_order(
    position: NDArray[np.int32], rows: Rows, limits: PackedConditions
) -> NDArray[np.int64]:
    """Return the rows sorted by all that a cut or a condition looks at, then by number.

    Rows that are cut apart although their quasi-identifying values are equal are so by their
    other content; only rows that are equal in everything are told apart by their number.
    """
    keys = [position[:, column] for column in range(rows.n_columns)]
    keys += list(limits.code_of_row)
    n_values = [hierarchy.n_leaves for hierarchy in rows.hierarchies]
    n_values += [int(count) + 1 for count in limits.n_values]
    if limits.k_of_row.size:
        keys.append(limits.k_of_row)
        n_values.append(int(limits.k_of_row.max()) + 1)
    if limits.person_of_row.size:
        keys.append(limits.person_of_row)
        n_values.append(limits.n_people)
    return np.argsort(sort_key(keys, n_values, rows.n_rows), kind="stable")


def _boxes(hierarchies: tuple[Hierarchy, ...], forest: Forest, metric: str) -> Boxes:
    """Return the columns' trees as a cut needs them."""
    from incrowd.methods.shared.cuts.kernel import Boxes

    parent = forest.parent
    leaf_at = np.zeros(len(parent), dtype=np.int32)
    first = np.zeros(len(parent), dtype=np.int32)
    width = np.zeros(len(parent))
    for start, hierarchy, walk in zip(forest.start[:-1], hierarchies, forest.walks, strict=True):
        end = start + hierarchy.n_nodes
        is_leaf = walk.node_at < hierarchy.n_leaves
        # leaves stand in their order within the walk: a node's first position is how many of
        # them come before it
        leaf_at[start : start + hierarchy.n_leaves] = start + np.flatnonzero(is_leaf)
        first[start:end] = np.cumsum(is_leaf) - is_leaf
        width[start:end] = _width(hierarchy, metric)[walk.node_at]
    return Boxes(forest.start, parent, leaf_at, first, width)


def _width(hierarchy: Hierarchy, metric: str) -> NDArray[np.float64]:
    """Return how wide each node is: the dearest way up to it, as a share of that to the root."""
    cost = cost_to_root(hierarchy, metric)[: hierarchy.n_nodes]
    dearest = np.full(hierarchy.n_nodes, -np.inf)
    dearest[: hierarchy.n_leaves] = cost[: hierarchy.n_leaves]
    for node in range(hierarchy.n_nodes - 1):
        above = hierarchy.parent[node]
        dearest[above] = max(dearest[above], dearest[node])
    width = dearest - cost
    whole = width[hierarchy.root]
    return np.asarray(width / whole if whole > 0 else np.zeros_like(width), dtype=np.float64)

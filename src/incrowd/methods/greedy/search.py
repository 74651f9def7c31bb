"""One run of GkAA over the rows of a table or of one partition, and the loss added up by parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.encoding.cost_matrices import costs_by_depth, fixed_point_matrices
from incrowd.encoding.rows import Rows
from incrowd.errors import InfeasibleError
from incrowd.hierarchies.costs import cost_to_root, fixed_point_costs
from incrowd.hierarchies.tree import Hierarchy
from incrowd.methods.shared.conditions import PackedConditions
from incrowd.methods.shared.forest import Forest
from incrowd.methods.shared.fragments import sort_into_runs, sort_key
from incrowd.methods.shared.parts import (
    PartProgress,
    SilentParts,
    limits_of_part,
    nodes_of_part,
    release_part,
    released_schema,
)
from incrowd.methods.shared.reorganize import column_order
from incrowd.progress import Progress, is_abort_requested, silent
from incrowd.threads import Team

STAGE = "merging groups"

MERGES_PER_SLICE = 2_000
"""How many merges are made between two reports of progress: some hundredths of a second."""


@dataclass(frozen=True, eq=False)
class Matrices:
    """Costs stated node by node: ``costs[node, depth of the ancestor]``, and every node's depth."""

    depth: NDArray[np.int32]
    costs: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Rows, metric: str, forest: Forest) -> Matrices | None:
        """Return the costs of all columns, by a metric where none are stated; None if nowhere."""
        if all(hierarchy.costs is None for hierarchy in rows.hierarchies):
            return None
        tables = fixed_point_matrices(rows.hierarchies, metric)
        shape = (int(forest.start[-1]), max(table.shape[1] for table in tables))
        whole = np.zeros(shape, dtype=np.int64)
        depths = []
        first = forest.start
        for column, (table, walk) in enumerate(zip(tables, forest.walks, strict=True)):
            whole[first[column] : first[column + 1], : table.shape[1]] = table[walk.node_at]
            depths.append(rows.hierarchies[column].depth[walk.node_at])
        return cls(np.concatenate(depths).astype(np.int32), whole)

    @classmethod
    def of_costs_to_root(cls, cost_to_root: NDArray[np.int32], forest: Forest) -> Matrices:
        """Return the same costs as a matrix: the cost to the root of a node less its ancestor's."""
        parent = forest.parent
        paths = [np.arange(len(parent))]
        while not np.array_equal(parent[paths[-1]], paths[-1]):
            paths.append(parent[paths[-1]])
        depth = np.sum([path != parent[path] for path in paths], axis=0, dtype=np.int32)
        costs = np.zeros((len(parent), len(paths)), dtype=np.int64)
        for path in paths:
            costs[paths[0], depth[path]] = cost_to_root - cost_to_root[path]
        return cls(depth, costs)


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything but the rows: trees, prices, the order of distinct rows, what groups must meet.

    Plain arrays alone, so that it can be sent to workers; ``limits`` has the distribution of the
    whole table, whatever rows it is used on.
    """

    forest: Forest
    cost_to_root: NDArray[np.int32]
    columns: tuple[int, ...]
    limits: PackedConditions
    is_size_only: bool
    matrices: Matrices | None = None

    @classmethod
    def of(cls, rows: Rows, metric: str, limits: PackedConditions, is_size_only: bool) -> Plan:
        """Return the plan for a table."""
        forest = Forest.of(rows.hierarchies)
        costs = fixed_point_costs(rows.hierarchies, metric)
        by_rank = [cost[walk.node_at] for cost, walk in zip(costs, forest.walks, strict=True)]
        columns = tuple(column_order(rows, "levels-first"))
        matrices = Matrices.of(rows, metric, forest)
        return cls(forest, forest.flat(by_rank), columns, limits, is_size_only, matrices)

    def without_rows(self) -> Plan:
        """Return the plan without what it holds per row, to be sent to workers."""
        return replace(self, limits=self.limits.without_rows())

    def key_of_row(
        self, ranks: NDArray[np.int32], columns: Sequence[int] | None = None
    ) -> NDArray[np.int64]:
        """Return a number per row that sorts rows by their content, equal for equal rows."""
        order = self.columns if columns is None else columns
        return sort_key(
            [ranks[column] for column in order],
            [len(self.forest.walks[column].parent) for column in order],
            ranks.shape[1],
        )


@dataclass(frozen=True, eq=False)
class Merged:
    """Where a run of GkAA ended: ``rows`` by content, their runs, and each run's released nodes.

    ``merged_into[group]`` is the group that a group was merged into, −1 for the last ones. Groups
    are numbered as they come to be, so two runs made the same merges in the same order if and
    only if these are equal.
    """

    rows: NDArray[np.int64]
    run_start: NDArray[np.int64]
    node_of_distinct: NDArray[np.int32]
    merged_into: NDArray[np.int32]

    def released(self) -> NDArray[np.int32]:
        """Return ``nodes[column, row]`` as they are released."""
        sizes = np.diff(self.run_start)
        shape = (self.node_of_distinct.shape[0], len(self.rows))
        released = np.empty(shape, dtype=np.int32)
        released[:, self.rows] = np.repeat(self.node_of_distinct, sizes, axis=1)
        return released


def merge_rows(
    nodes: NDArray[np.int32],
    plan: Plan,
    limits: PackedConditions,
    progress: Progress = silent,
    *,
    n_of_row: NDArray[np.int64] | None = None,
    with_index: bool = True,
    workers: int = 1,
) -> NDArray[np.int32]:
    """Return ``nodes[column, row]`` generalized so that every group is valid."""
    return merge(
        nodes,
        plan,
        limits,
        progress,
        n_of_row=n_of_row,
        with_index=with_index,
        workers=workers,
    ).released()


def merge(
    nodes: NDArray[np.int32],
    plan: Plan,
    limits: PackedConditions,
    progress: Progress = silent,
    *,
    n_of_row: NDArray[np.int64] | None = None,
    with_index: bool = True,
    workers: int = 1,
) -> Merged:
    """Merge groups until every group is valid.

    ``limits`` speak of these rows. There are ``n_of_row[row]`` of each, if their size is all that
    groups are tested by; else, or if it is not stated, one of each.
    Distinct rows are numbered in an order that their content decides, so the result does not
    depend on the order of rows. Without the index every partner is found by a scan of all groups:
    the same result, later. Costs that are stated node by node always take a scan. ``workers``
    threads share the scans, which changes no merge.
    """
    from incrowd.kernels.trees import Trees
    from incrowd.methods.greedy import boxes as index
    from incrowd.methods.greedy import groups as state
    from incrowd.methods.greedy import kernel, rounds, scan

    forest = plan.forest
    trees = Trees(forest.start, forest.parent, forest.end, plan.cost_to_root)
    ranks = forest.in_ranks(nodes)
    rows, run_start = sort_into_runs(plan.key_of_row(ranks))
    sizes = np.diff(run_start)
    if n_of_row is not None and plan.is_size_only:
        sizes = np.add.reduceat(n_of_row[rows], run_start[:-1]).astype(np.int64)
    offset = trees.start[:-1, None].astype(np.int32)
    groups = state.start_groups(rows, run_start)
    slots = state.start_slots(ranks[:, rows[run_start[:-1]]] + offset, sizes)
    boxes = stated = None
    scans = []
    if plan.matrices is None and with_index:
        boxes = index.room_for_boxes(slots, trees)
    else:
        matrices = plan.matrices or Matrices.of_costs_to_root(plan.cost_to_root, forest)
        scans = [scan.room_for_scan(matrices.depth, matrices.costs) for _ in range(workers)]
        stated = scans[0]
    room = state.room_for(limits, plan.is_size_only, len(rows))
    # groups that are not valid at first; where more than the size decides, all are taken for it
    n_first = int((sizes < limits.k).sum()) if plan.is_size_only else len(sizes)
    n_left = n_first
    ended = state.RUNNING
    candidates = rounds.room_for_candidates(workers)
    with Team(workers) as team:
        while ended == state.RUNNING:
            progress(STAGE, n_first - n_left, n_first)
            if is_abort_requested():
                raise KeyboardInterrupt
            if len(scans) > 1 and rounds.pays(groups, slots, trees):
                ended = rounds.merge_shared(
                    MERGES_PER_SLICE, team, candidates, groups, slots, scans, trees, limits, room
                )
            else:
                ended = kernel.merge_slice(
                    MERGES_PER_SLICE, groups, slots, boxes, stated, trees, limits, room
                )
            n_left = state.n_not_valid(groups)
    if ended == state.STUCK:
        raise InfeasibleError(
            f"all {int(sizes.sum())} rows in one group do not meet the conditions",
            remedy="Lower k or l, raise t, or leave out the rows that ask for too much.",
        )
    progress(STAGE, n_first, n_first)
    ended_as = slots.node_of_slot[state.slot_of_distinct(groups)].T - offset
    of_distinct = forest.in_nodes(ended_as.astype(np.int32))
    merged_into = groups.merged_into[: int(groups.counters[state.NEXT])]
    return Merged(rows, run_start, of_distinct, merged_into)


@dataclass(frozen=True, eq=False)
class MergePartition:
    """Merge the rows of one partition: its part of a ``part_table`` in, its released nodes out."""

    plan: Plan
    report: PartProgress | SilentParts
    workers: int = 1

    @property
    def schema(self) -> pa.Schema:
        """The columns of what comes out: the row's number, how many of it, and its nodes."""
        return released_schema(len(self.plan.forest.walks))

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return the block's rows, in whatever order, with the nodes that they are released as."""
        limits = limits_of_part(block, self.plan.limits)
        nodes = nodes_of_part(block, "c", len(self.plan.forest.walks))
        progress = self.report.of(int(block.column("part")[0].as_py()))
        count = block.column("count").to_numpy()
        merged = merge_rows(
            nodes, self.plan, limits, progress, n_of_row=count, workers=self.workers
        )
        return release_part(block.column("row").to_numpy(), count, merged)


# ── the loss added up by parts ──────────────────────────────────────────────────────────────────


def loss_by_parts(
    before: Rows,
    released: NDArray[np.int32],
    part_of_row: NDArray[np.int64],
    metric: str,
    n_of_row: NDArray[np.int64] | None = None,
) -> float:
    """Return the mean of the parts' own losses, weighed by their rows (equation 2).

    A part's loss is what its cells cost over what they would cost at the roots, from 0 to 1. Where
    every leaf costs the same, as under ``loss`` and ``ncp``, this is the loss of the whole; under
    ``nllm`` it differs a little. ``released[column, row]``: below 0 is a row that is left out;
    there are ``n_of_row[row]`` of each, or one.
    """
    n_each = np.ones(before.n_rows, dtype=np.int64) if n_of_row is None else n_of_row
    lost = np.zeros(int(part_of_row.max(initial=0)) + 1)
    dearest = np.zeros_like(lost)
    for hierarchy, old, new in zip(before.hierarchies, before.nodes, released, strict=True):
        above = np.where(new < 0, hierarchy.root, new)
        price, most = _prices(hierarchy, old, above, metric)
        lost += np.bincount(part_of_row, weights=price * n_each, minlength=len(lost))
        dearest += np.bincount(part_of_row, weights=most * n_each, minlength=len(lost))
    share = np.divide(lost, dearest, out=np.zeros_like(lost), where=dearest > 0)
    n_rows = np.bincount(part_of_row, weights=n_each, minlength=len(lost))
    return float(share @ n_rows) / max(1, int(n_rows.sum()))


def _prices(
    hierarchy: Hierarchy, old: NDArray[np.int32], above: NDArray[np.int32], metric: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each row's cell costs, and what it costs at the root."""
    if hierarchy.costs is not None:
        costs = costs_by_depth(hierarchy, metric)
        return costs[old, hierarchy.depth[above]], costs[old, 0]
    to_root = cost_to_root(hierarchy, metric)
    return to_root[old] - to_root[above], to_root[old]

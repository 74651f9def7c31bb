"""One run of GkAA over the rows of a table, or of one partition of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.data.dataset import Rows
from incrowd.data.prices import fixed_point_costs
from incrowd.errors import InfeasibleError
from incrowd.interrupts import is_abort_wished
from incrowd.methods.conditions import PackedConditions
from incrowd.methods.distinct import sort_key, sorted_runs
from incrowd.methods.forest import Forest
from incrowd.methods.greedy.reorganize import column_order
from incrowd.methods.part_progress import PartProgress, SilentParts
from incrowd.methods.parts import (
    limits_of_part,
    nodes_of_part,
    released_part,
    released_schema,
)
from incrowd.progress import Progress, silent

STAGE = "merging groups"

MERGES_PER_SLICE = 2_000
"""How many merges are made between two reports of progress: some hundredths of a second."""


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

    @classmethod
    def of(cls, rows: Rows, metric: str, limits: PackedConditions, is_size_only: bool) -> Plan:
        """Return the plan for a table."""
        forest = Forest.of(rows.hierarchies)
        costs = fixed_point_costs(rows.hierarchies, metric)
        by_rank = [cost[walk.node_at] for cost, walk in zip(costs, forest.walks, strict=True)]
        columns = tuple(column_order(rows, "levels-first"))
        return cls(forest, forest.flat(by_rank), columns, limits, is_size_only)

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


def merge_rows(
    nodes: NDArray[np.int32],
    plan: Plan,
    limits: PackedConditions,
    progress: Progress = silent,
    *,
    with_index: bool = True,
) -> NDArray[np.int32]:
    """Return ``nodes[column, row]`` generalized so that every group is valid.

    ``limits`` speak of these rows. Distinct rows are numbered in an order that their content
    decides, so the result does not depend on the order of rows. Without the index every partner
    is found by a scan of all groups: the same result, later.
    """
    from incrowd.kernels.trees import Trees
    from incrowd.methods.greedy import groups as state

    if with_index:
        from incrowd.methods.greedy import kernel
    else:
        from incrowd.methods.greedy import scan as kernel  # type: ignore[no-redef]

    n_rows = nodes.shape[1]
    forest = plan.forest
    ranks = forest.in_ranks(nodes)
    rows, run_start = sorted_runs(plan.key_of_row(ranks))
    sizes = np.diff(run_start)
    trees = Trees(forest.start, forest.parent, forest.end, plan.cost_to_root)
    offset = trees.start[:-1, None].astype(np.int32)
    groups = state.start_groups(rows, run_start)
    slots: Any = kernel.start(ranks[:, rows[run_start[:-1]]] + offset, sizes, trees)
    room = state.room_for(limits, plan.is_size_only, n_rows)
    # groups that are not valid at first; where more than the size decides, all are taken for it
    n_first = int((sizes < limits.k).sum()) if plan.is_size_only else len(sizes)
    n_left = n_first
    ended = state.RUNNING
    while ended == state.RUNNING:
        progress(STAGE, n_first - n_left, n_first)
        if is_abort_wished():
            raise KeyboardInterrupt
        ended = kernel.merge_slice(MERGES_PER_SLICE, groups, slots, trees, limits, room)
        n_left = state.n_not_valid(groups)
    if ended == state.STUCK:
        raise InfeasibleError(
            f"all {n_rows} rows in one group do not meet the conditions",
            remedy="Lower k or l, raise t, or leave out the rows that ask for too much.",
        )
    progress(STAGE, n_first, n_first)
    # one line per distinct row, then per row
    ended_as = kernel.nodes_of(slots, state.slot_of_distinct(groups)) - offset
    of_distinct = forest.in_nodes(ended_as.astype(np.int32))
    released = np.empty_like(nodes)
    released[:, rows] = np.repeat(of_distinct, sizes, axis=1)
    return released


@dataclass(frozen=True, eq=False)
class MergePartition:
    """Merge the rows of one partition: its part of a ``part_table`` in, its released nodes out."""

    plan: Plan
    report: PartProgress | SilentParts

    @property
    def schema(self) -> pa.Schema:
        """The columns of what comes out: the row's number and its nodes."""
        return released_schema(len(self.plan.forest.walks))

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return the block's rows, in whatever order, with the nodes that they are released as."""
        limits = limits_of_part(block, self.plan.limits)
        nodes = nodes_of_part(block, "c", len(self.plan.forest.walks))
        progress = self.report.of(int(block.column("part")[0].as_py()))
        return released_part(block, merge_rows(nodes, self.plan, limits, progress))

"""Whole tables: searched as one block or, large ones, in blocks of near rows on an engine."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.engines.base import Engine
from incrowd.interrupts import is_end_wished
from incrowd.methods.cluster.search import (
    DISTINCT_PER_BLOCK,
    LARGEST_WHOLE,
    STAGE,
    Plan,
    search_rows,
)
from incrowd.methods.conditions import PackedConditions
from incrowd.methods.distinct import sort_key, sorted_runs
from incrowd.methods.greedy.reorganize import automatic_partitions, cut
from incrowd.methods.kept import LEFT_OUT
from incrowd.methods.part_progress import PartProgress, SilentParts
from incrowd.methods.parts import (
    limits_of_part,
    nodes_of_part,
    part_table,
    released_part,
    released_schema,
    search_parts,
)
from incrowd.progress import Progress

REPAIR_SHARE = 0.25
"""The share of the effort that a table in blocks spends on new blocks across the old edges."""

WHOLE = 1_000_000
"""The effort of a table in blocks, as it is told: in millionths."""


def search_table(
    nodes: NDArray[np.int32],
    plan: Plan,
    limits: PackedConditions,
    engine: Engine,
    progress: Progress,
    start: NDArray[np.int32] | None = None,
) -> NDArray[np.int32]:
    """Return ``nodes[column, row]`` generalized so that every group is valid.

    The search begins with the groups of ``start``, nodes that another search released, or with
    its own. A table of more than 40,000 distinct rows is searched in blocks; then in other
    blocks, made of whole groups in another order of columns, so that near groups meet that the
    first blocks kept apart. Rows that are left out come back as LEFT_OUT.
    """
    blocks = first_blocks(nodes, plan, start)
    if blocks.max(initial=0) == 0:
        return search_rows(nodes, plan, limits, 0, start, progress)
    first = replace(plan, effort=(1 - REPAIR_SHARE) * plan.effort)
    edge = round((1 - REPAIR_SHARE) * WHOLE)
    told = (progress, 0, edge)
    released = _search_blocks(nodes, first, limits, blocks, engine, told, start)
    if is_end_wished():
        return released
    told = (progress, edge, WHOLE)
    last = replace(plan, effort=REPAIR_SHARE * plan.effort, suppressible=(0, 1), seed=plan.seed + 1)
    # the last column of the first order leads: what stood far apart may stand together
    columns = (plan.columns[-1], *plan.columns[:-1])
    blocks = block_of_groups(nodes, released, plan, columns)
    return _search_blocks(nodes, last, limits, blocks, engine, told, released)


def first_blocks(
    nodes: NDArray[np.int32], plan: Plan, start: NDArray[np.int32] | None
) -> NDArray[np.int64]:
    """Return every row's block in the first search of a table, which may begin with groups."""
    if start is None:
        return block_of_row(nodes, plan)
    return block_of_groups(nodes, start, plan, plan.columns)


def block_of_row(nodes: NDArray[np.int32], plan: Plan) -> NDArray[np.int64]:
    """Return every row's block: all 0 up to 40,000 distinct rows, else about 20,000 to a block.

    Rows are sorted by content, columns with the fewest levels first, and cut between rows that
    differ; a block has at least k rows.
    """
    rows, run_start = sorted_runs(plan.key_of_row(plan.forest.in_ranks(nodes)))
    return _cut_runs(rows, run_start, len(run_start) - 1, plan.k)


def block_of_groups(
    nodes: NDArray[np.int32],
    released: NDArray[np.int32],
    plan: Plan,
    columns: tuple[int, ...],
) -> NDArray[np.int64]:
    """Return every row's block, all rows of a group in one.

    Groups, and rows that are left out, are sorted by what they are released as (as they were),
    the first of ``columns`` first, and cut where about 20,000 distinct rows are full.
    """
    ranks = plan.forest.in_ranks(np.where(released == LEFT_OUT, nodes, released))
    n_nodes = [len(plan.cost_to_root[column]) for column in columns]
    group_key = sort_key([ranks[column] for column in columns], n_nodes, nodes.shape[1])
    rows, run_start = sorted_runs(group_key)
    content = plan.key_of_row(plan.forest.in_ranks(nodes))
    n_distinct = len(np.unique(content))
    return _cut_runs(rows, run_start, n_distinct, plan.k)


def _cut_runs(
    rows: NDArray[np.int64], run_start: NDArray[np.int64], n_distinct: int, k: int
) -> NDArray[np.int64]:
    """Return the block of every row, given sorted rows and the runs that must not be cut."""
    n_blocks = automatic_partitions(n_distinct, LARGEST_WHOLE, DISTINCT_PER_BLOCK)
    starts = cut(run_start, n_blocks, lambda start, end: end - start >= k)
    blocks = np.empty(len(rows), dtype=np.int64)
    blocks[rows] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return blocks


def _search_blocks(
    nodes: NDArray[np.int32],
    plan: Plan,
    limits: PackedConditions,
    blocks: NDArray[np.int64],
    engine: Engine,
    told: tuple[Progress, int, int],
    start: NDArray[np.int32] | None,
) -> NDArray[np.int32]:
    """Search every block on the engine; return the released nodes of all rows.

    ``told`` says who hears how far it is, and which part of the whole effort this is.
    """
    progress, first, last = told
    dearest = np.zeros(int(blocks.max()) + 1)
    for walk, cost, column in zip(plan.forest.walks, plan.cost_to_root, nodes, strict=True):
        dearest += np.bincount(blocks, weights=cost[walk.rank_of_node][column])
    weights = np.bincount(blocks).astype(np.float64)
    report = PartProgress(progress, STAGE, first, last, WHOLE, weights, dearest)
    # one line per row: its number, its block, its nodes and what the conditions look at
    table = part_table(nodes, blocks, limits, start)
    released = search_parts(engine, table, SearchBlock(plan, start is not None, report), nodes)
    report.ended()
    return released


@dataclass(frozen=True, eq=False)
class SearchBlock:
    """Search the rows of one block: its part of a ``part_table`` in, its released nodes out."""

    plan: Plan
    has_start: bool
    report: PartProgress | SilentParts

    @property
    def schema(self) -> pa.Schema:
        """The columns of what comes out: the row's number and its nodes."""
        return released_schema(len(self.plan.forest.walks))

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return the block's rows, in the order of their numbers, as they are released.

        An engine may hand rows over in any order: equal rows are told apart by their number.
        """
        block = block.sort_by("row")
        n_columns = len(self.plan.forest.walks)
        nodes = nodes_of_part(block, "c", n_columns)
        start = nodes_of_part(block, "n", n_columns) if self.has_start else None
        limits = limits_of_part(block, self.plan.limits)
        number = int(block.column("part")[0].as_py())
        progress = self.report.of(number)
        return released_part(block, search_rows(nodes, self.plan, limits, number, start, progress))

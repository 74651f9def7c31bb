"""Whole tables: searched as one block or, large ones, in blocks of near rows on an engine."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.engines.base import Engine
from incrowd.interrupts import is_end_wished
from incrowd.methods.cluster.lines import Lines
from incrowd.methods.cluster.search import (
    DISTINCT_PER_BLOCK,
    LARGEST_WHOLE,
    STAGE,
    Plan,
    search_lines,
)
from incrowd.methods.distinct import sort_key, sorted_runs
from incrowd.methods.fragments import Fragments
from incrowd.methods.greedy.reorganize import automatic_partitions, part_runs
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


def search_table(lines: Lines, plan: Plan, engine: Engine, progress: Progress) -> Fragments:
    """Return what the lines of a table are released as, every group valid.

    The search begins with the groups of the lines, or with its own. A table of more than 40,000
    distinct rows is searched in blocks; then in other blocks, made of whole groups in another
    order of columns, so that near groups meet that the first blocks kept apart. Rows that are left
    out come back as LEFT_OUT.
    """
    blocks = first_blocks(lines, plan)
    if blocks.max(initial=0) == 0:
        return search_lines(lines, plan, 0, progress)
    nodes, n_of_row = _rows_of(lines)
    first = replace(plan, effort=(1 - REPAIR_SHARE) * plan.effort)
    edge = round((1 - REPAIR_SHARE) * WHOLE)
    found = _search_blocks(lines, first, blocks, engine, (progress, 0, edge), n_of_row)
    if is_end_wished():
        return found
    last = replace(plan, effort=REPAIR_SHARE * plan.effort, suppressible=(0, 1), seed=plan.seed + 1)
    # the last column of the first order leads: what stood far apart may stand together
    columns = (plan.columns[-1], *plan.columns[:-1])
    lines = Lines.continued(nodes, found, lines.limits)
    blocks = block_of_groups(lines, plan, columns)
    return _search_blocks(lines, last, blocks, engine, (progress, edge, WHOLE), n_of_row)


def _rows_of(lines: Lines) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the nodes of the rows that lines are of, and how many there are of each."""
    n_of_row = np.zeros(int(lines.row.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(n_of_row, lines.row, lines.count)
    nodes = np.empty((len(lines.nodes), len(n_of_row)), dtype=np.int32)
    nodes[:, lines.row] = lines.nodes
    return nodes, n_of_row


def first_blocks(lines: Lines, plan: Plan) -> NDArray[np.int64]:
    """Return every line's block in the first search of a table, which may begin with groups."""
    if lines.start is None:
        return block_of_line(lines, plan)
    return block_of_groups(lines, plan, plan.columns)


def block_of_line(lines: Lines, plan: Plan) -> NDArray[np.int64]:
    """Return every line's block: all 0 up to 40,000 distinct rows, else about 20,000 to a block.

    Rows are sorted by content, columns with the fewest levels first, and cut between rows that
    differ; a block has at least k rows.
    """
    order, run_start = sorted_runs(plan.key_of_row(plan.forest.in_ranks(lines.nodes)))
    return _cut_runs(order, run_start, lines.count, len(run_start) - 1, plan.k)


def block_of_groups(lines: Lines, plan: Plan, columns: tuple[int, ...]) -> NDArray[np.int64]:
    """Return every line's block, all rows of a group in one.

    Groups, and rows that are left out, are sorted by what they begin as (as they were), the first
    of ``columns`` first, and cut where about 20,000 distinct rows are full.
    """
    start = lines.nodes if lines.start is None else lines.start
    ranks = plan.forest.in_ranks(np.where(start == LEFT_OUT, lines.nodes, start))
    n_nodes = [len(plan.cost_to_root[column]) for column in columns]
    group_key = sort_key([ranks[column] for column in columns], n_nodes, len(lines.row))
    order, run_start = sorted_runs(group_key)
    return _cut_runs(order, run_start, lines.count, plan.n_distinct(lines.nodes), plan.k)


def _cut_runs(
    order: NDArray[np.int64],
    run_start: NDArray[np.int64],
    count: NDArray[np.int64],
    n_distinct: int,
    k: int,
) -> NDArray[np.int64]:
    """Return the block of every line, given sorted lines and the runs that must not be cut."""
    n_blocks = automatic_partitions(n_distinct, LARGEST_WHOLE, DISTINCT_PER_BLOCK)
    return part_runs(order, run_start, count, n_blocks, k)


def _search_blocks(
    lines: Lines,
    plan: Plan,
    blocks: NDArray[np.int64],
    engine: Engine,
    told: tuple[Progress, int, int],
    n_of_row: NDArray[np.int64],
) -> Fragments:
    """Search every block on the engine; return what all rows are released as.

    ``told`` says who hears how far it is, and which part of the whole effort this is.
    """
    progress, first, last = told
    dearest = np.zeros(int(blocks.max()) + 1)
    for walk, cost, column in zip(plan.forest.walks, plan.cost_to_root, lines.nodes, strict=True):
        dearest += np.bincount(blocks, weights=cost[walk.rank_of_node][column] * lines.count)
    weights = np.bincount(blocks, weights=lines.count).astype(np.float64)
    report = PartProgress(progress, STAGE, first, last, WHOLE, weights, dearest)
    # one line per line: its row, its block, its count, its nodes, what the conditions look at
    table = part_table(
        lines.nodes, blocks, lines.limits, lines.start, count=lines.count, row=lines.row
    )
    search = SearchBlock(plan, lines.start is not None, report)
    found = search_parts(engine, table, search, n_of_row)
    report.ended()
    return found


@dataclass(frozen=True, eq=False)
class SearchBlock:
    """Search the lines of one block: its part of a ``part_table`` in, its released nodes out."""

    plan: Plan
    has_start: bool
    report: PartProgress | SilentParts

    @property
    def schema(self) -> pa.Schema:
        """The columns of what comes out: the row's number, how many of it, and its nodes."""
        return released_schema(len(self.plan.forest.walks))

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return the block's rows, in the order of their numbers, as they are released.

        An engine may hand rows over in any order: equal rows are told apart by their number.
        """
        block = block.sort_by("row")
        n_columns = len(self.plan.forest.walks)
        lines = Lines(
            block.column("row").to_numpy(),
            nodes_of_part(block, "c", n_columns),
            block.column("count").to_numpy(),
            limits_of_part(block, self.plan.limits),
            nodes_of_part(block, "n", n_columns) if self.has_start else None,
        )
        number = int(block.column("part")[0].as_py())
        found = search_lines(lines, self.plan, number, self.report.of(number))
        return released_part(found.row, found.count, found.nodes)

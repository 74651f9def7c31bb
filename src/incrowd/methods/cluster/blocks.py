"""Large tables: blocks of near rows, each searched on its own, side by side on an engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.engines.base import Engine
from incrowd.methods.cluster.search import (
    DISTINCT_PER_BLOCK,
    LARGEST_WHOLE,
    STAGE,
    Plan,
    search_rows,
)
from incrowd.methods.distinct import sorted_runs
from incrowd.methods.greedy.reorganize import automatic_partitions, cut
from incrowd.methods.parts import released_schema, search_parts
from incrowd.progress import Progress


def block_of_row(nodes: NDArray[np.int32], plan: Plan) -> tuple[NDArray[np.int64], int]:
    """Return every row's block, and how many distinct rows there are.

    All rows are in block 0 up to 40,000 distinct ones; else a block has about 20,000 of those.
    Rows are sorted by content, columns with the fewest levels first, and cut between rows that
    differ; a block has at least k rows.
    """
    rows, run_start = sorted_runs(plan.key_of_row(plan.forest.in_ranks(nodes)))
    n_blocks = automatic_partitions(len(run_start) - 1, LARGEST_WHOLE, DISTINCT_PER_BLOCK)
    starts = cut(run_start, n_blocks, lambda start, end: end - start >= plan.k)
    blocks = np.empty(nodes.shape[1], dtype=np.int64)
    blocks[rows] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return blocks, len(run_start) - 1


def search_blocks(
    nodes: NDArray[np.int32],
    plan: Plan,
    blocks: NDArray[np.int64],
    engine: Engine,
    progress: Progress,
) -> NDArray[np.int32]:
    """Search every block on the engine; return the released nodes of all rows."""
    n_blocks = int(blocks.max()) + 1
    progress(STAGE, 0, n_blocks)
    function = SearchBlock(plan)
    # one line per row: its number, its block, its nodes
    columns = {"row": np.arange(nodes.shape[1]), "block": blocks}
    columns |= {f"c{column}": node_of_row for column, node_of_row in enumerate(nodes)}
    released = search_parts(engine, pa.table(columns), "block", function, nodes)
    progress(STAGE, n_blocks, n_blocks)
    return released


@dataclass(frozen=True, eq=False)
class SearchBlock:
    """Search the rows of one block: row numbers, the block and nodes in, released nodes out."""

    plan: Plan

    @property
    def schema(self) -> pa.Schema:
        """The columns of what comes out: the row's number and its nodes."""
        return released_schema(len(self.plan.forest.walks))

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return the block's rows, in the order of their numbers, as they are released.

        An engine may hand rows over in any order: equal rows are told apart by their number.
        """
        block = block.sort_by("row")
        names = [f"c{column}" for column in range(len(self.plan.forest.walks))]
        nodes = np.stack([block.column(name).to_numpy() for name in names]).astype(np.int32)
        released = search_rows(nodes, self.plan, int(block.column("block")[0].as_py()))
        arrays = [block.column("row").to_numpy(), *released]
        return pa.table([pa.array(array) for array in arrays], schema=self.schema)

"""The engine of one machine: blocks are Arrow tables in memory, work is spread over threads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa

from incrowd.engines.base import N_PEOPLE, N_ROWS, BlockFunction


@dataclass(frozen=True)
class LocalBlocks:
    """Rows in memory, as a list of tables with one schema."""

    tables: tuple[pa.Table, ...]
    schema: pa.Schema


class LocalEngine:
    """Rows in this process's memory; blocks and groups are worked on by threads.

    Results do not depend on the number of threads: work is split by content, never by timing, and
    put together in a fixed order. Kernels release the GIL, so threads do run side by side.
    """

    name = "local"

    def __init__(self, threads: int = 0, block_rows: int = 1 << 20) -> None:
        self.threads = threads or os.cpu_count() or 1
        self.block_rows = block_rows

    def load(self, table: pa.Table) -> LocalBlocks:
        """Cut a table into blocks; nothing is copied."""
        starts = range(0, max(1, table.num_rows), self.block_rows)
        tables = tuple(table.slice(start, self.block_rows) for start in starts)
        return LocalBlocks(tables, table.schema)

    def collect(self, blocks: LocalBlocks) -> pa.Table:
        """Put the blocks together."""
        return pa.concat_tables(blocks.tables) if blocks.tables else blocks.schema.empty_table()

    def count(self, blocks: LocalBlocks, by: Sequence[str], people: str | None = None) -> pa.Table:
        """Count rows, and distinct people, per combination of ``by`` (polars' group-by)."""
        import polars as pl

        wanted = list(dict.fromkeys([*by, *([people] if people else [])]))
        rows = self.collect(blocks)
        counts = [pl.len().cast(pl.Int64).alias(N_ROWS)]
        if people:
            counts.append(pl.col(people).n_unique().cast(pl.Int64).alias(N_PEOPLE))
        if not by:
            if not people:
                return pa.table({N_ROWS: pa.array([rows.num_rows], pa.int64())})
            whole = pl.DataFrame(pl.from_arrow(rows.select(wanted))).select(counts)
            return whole.to_arrow()
        frame = pl.DataFrame(pl.from_arrow(rows.select(wanted)))
        return frame.group_by(list(by), maintain_order=False).agg(counts).to_arrow()

    def map_blocks(
        self, blocks: LocalBlocks, function: BlockFunction, schema: pa.Schema
    ) -> LocalBlocks:
        """Apply a function to every block, on as many threads as the engine has."""
        return LocalBlocks(self._in_threads(function, list(blocks.tables)), schema)

    def map_groups(
        self, blocks: LocalBlocks, key: str, function: BlockFunction, schema: pa.Schema
    ) -> LocalBlocks:
        """Apply a function to all rows of each key, keys in ascending order."""
        import numpy as np

        rows = self.collect(blocks)
        keys = rows.column(key).to_numpy()
        order = np.argsort(keys, kind="stable")
        rows = rows.take(pa.array(order))
        cuts = np.flatnonzero(np.diff(keys[order])) + 1
        edges = [0, *cuts.tolist(), rows.num_rows]
        spans = zip(edges[:-1], edges[1:], strict=True)
        groups = [rows.slice(start, end - start) for start, end in spans if end > start]
        return LocalBlocks(self._in_threads(function, groups), schema)

    def describe(self) -> dict[str, object]:
        """Return the engine's name and threads."""
        return {"name": self.name, "threads": self.threads}

    def close(self) -> None:
        """Nothing is held."""

    def _in_threads(
        self, function: BlockFunction, tables: list[pa.Table]
    ) -> tuple[pa.Table, ...]:
        if self.threads == 1 or len(tables) < 2:
            return tuple(function(table) for table in tables)
        with ThreadPoolExecutor(self.threads) as pool:
            return tuple(pool.map(function, tables))

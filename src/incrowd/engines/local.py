"""The engine of one machine: blocks are Arrow tables in memory, work is spread over threads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise

import pyarrow as pa

from incrowd.engines.base import (
    N_PEOPLE,
    N_ROWS,
    BlockFunction,
    conformed,
    plain_schema,
    plain_table,
    require_countable,
    require_integer_key,
)
from incrowd.errors import JobError


@dataclass(frozen=True)
class LocalBlocks:
    """Rows in memory, as tables with one schema; a table may be empty, and there may be none."""

    tables: tuple[pa.Table, ...]
    schema: pa.Schema


class LocalEngine:
    """Rows in this process's memory; blocks and groups are worked on by threads.

    Results do not depend on the number of threads or on the size of blocks: work is split by
    content, never by timing, and put together in a fixed order. Kernels release the GIL, so
    threads do run side by side. ``threads`` of 0 means one per processor that this process may
    use; counting is polars' work and uses polars' own threads.
    """

    name = "local"

    def __init__(self, threads: int = 0, block_rows: int = 1 << 20) -> None:
        if threads < 0:
            raise JobError("the number of threads is negative", remedy="0 means all processors.")
        if block_rows < 1:
            raise JobError("a block has no rows", remedy="Give blocks at least one row.")
        self.threads = threads or _processors()
        self.block_rows = block_rows

    @property
    def n_workers(self) -> int:
        """One worker per thread."""
        return self.threads

    def load(self, table: pa.Table) -> LocalBlocks:
        """Cut a table into blocks; plain columns are not copied."""
        table = plain_table(table)
        starts = range(0, table.num_rows, self.block_rows)
        tables = tuple(table.slice(start, self.block_rows) for start in starts)
        return LocalBlocks(tables, table.schema)

    def collect(self, blocks: LocalBlocks) -> pa.Table:
        """Put the blocks together."""
        return pa.concat_tables(blocks.tables) if blocks.tables else blocks.schema.empty_table()

    def count(self, blocks: LocalBlocks, by: Sequence[str], people: str | None = None) -> pa.Table:
        """Count rows, and distinct people, per combination of ``by`` (polars' group-by)."""
        import polars as pl

        require_countable(blocks.schema, by, people)
        rows = self.collect(blocks)
        if not by and not people:
            return pa.table({N_ROWS: pa.array([rows.num_rows], pa.int64())})
        wanted = list(dict.fromkeys([*by, *([people] if people else [])]))
        frame = pl.DataFrame(pl.from_arrow(rows.select(wanted)))
        counts = [pl.len().cast(pl.Int64).alias(N_ROWS)]
        schema = pa.schema([*(blocks.schema.field(name) for name in by), (N_ROWS, pa.int64())])
        if people:
            counts.append(pl.col(people).n_unique().cast(pl.Int64).alias(N_PEOPLE))
            schema = schema.append(pa.field(N_PEOPLE, pa.int64()))
        if not by:
            return frame.select(counts).to_arrow().cast(schema)
        return frame.group_by(list(by)).agg(counts).to_arrow().cast(schema)

    def map_blocks(
        self, blocks: LocalBlocks, function: BlockFunction, schema: pa.Schema
    ) -> LocalBlocks:
        """Apply a function to every block, on as many threads as the engine has."""
        return self._in_threads(
            function, [table for table in blocks.tables if table.num_rows], schema
        )

    def map_groups(
        self, blocks: LocalBlocks, key: str, function: BlockFunction, schema: pa.Schema
    ) -> LocalBlocks:
        """Apply a function to all rows of each key, keys in ascending order, no key last."""
        import numpy as np
        import pyarrow.compute as pc

        require_integer_key(blocks.schema, key)
        rows = self.collect(blocks)
        keys = rows.column(key)
        has_no_key = keys.is_null().to_numpy()
        # Not to_numpy() of the column itself: nulls would turn large keys into floats.
        numbers = pc.fill_null(keys, 0).to_numpy()
        order = np.lexsort((numbers, has_no_key))
        numbers, has_no_key = numbers[order], has_no_key[order]
        is_last_of_group = (numbers[1:] != numbers[:-1]) | (has_no_key[1:] != has_no_key[:-1])
        edges = [0, *(np.flatnonzero(is_last_of_group) + 1).tolist(), rows.num_rows]
        # groups: one run of rows per key, in their loaded order
        rows = rows.take(pa.array(order))
        groups = [rows.slice(start, end - start) for start, end in pairwise(edges) if end > start]
        return self._in_threads(function, groups, schema)

    def describe(self) -> dict[str, object]:
        """Return the engine's name, its threads and the versions that computed."""
        versions = {package: version(package) for package in ("polars", "pyarrow", "numpy")}
        return {"name": self.name, "threads": self.threads, "versions": versions}

    def close(self) -> None:
        """Nothing is held."""

    def _in_threads(
        self, function: BlockFunction, tables: list[pa.Table], schema: pa.Schema
    ) -> LocalBlocks:
        schema = plain_schema(schema)

        def call(table: pa.Table) -> pa.Table:
            return conformed(function(table), schema)

        if self.threads == 1 or len(tables) < 2:
            return LocalBlocks(tuple(call(table) for table in tables), schema)
        # After an error or Ctrl-C ``map`` takes back the blocks that no thread has begun, and
        # leaving ``with`` waits for those under way: a compiled loop cannot be stopped half-way.
        with ThreadPoolExecutor(min(self.threads, len(tables))) as pool:
            return LocalBlocks(tuple(pool.map(call, tables)), schema)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

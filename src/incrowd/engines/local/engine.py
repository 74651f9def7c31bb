"""The engine of one machine: blocks are Arrow tables in memory, work is spread over threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from incrowd.engines.base import (
    DEFAULT_MEMORY,
    N_PEOPLE,
    N_ROWS,
    TABLE_ROWS,
    BlockFunction,
    conformed,
    plain_schema,
    plain_table,
    require_columns,
    require_countable,
    require_integer_key,
)
from incrowd.errors import JobError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class LocalBlocks:
    """Rows in memory, as tables with one schema; a table may be empty, and there may be none.

    ``whole`` is the table that they were cut from, where there is one.
    """

    tables: tuple[pa.Table, ...]
    schema: pa.Schema
    whole: pa.Table | None = None


class LocalEngine:
    """Rows in this process's memory; blocks and groups are worked on by threads.

    Results do not depend on the number of threads or on the size of blocks: work is split by
    content, never by timing, and put together in a fixed order. Kernels release the GIL, so
    threads do run side by side. ``threads`` of 0 means one per processor that this process may
    use; counting is done by one.
    """

    name = "local"
    is_out_of_core = False

    def __init__(
        self, threads: int = 0, block_rows: int = 1 << 20, memory: int = DEFAULT_MEMORY
    ) -> None:
        if threads < 0:
            raise JobError("the number of threads is negative", remedy="0 means all processors.")
        if block_rows < 1:
            raise JobError("a block has no rows", remedy="Give blocks at least one row.")
        self.threads = threads or _processors()
        self.block_rows = block_rows
        self.memory_bytes = memory

    @property
    def n_workers(self) -> int:
        """One worker per thread."""
        return self.threads

    def load(self, table: pa.Table) -> LocalBlocks:
        """Cut a table into blocks; plain columns are not copied."""
        table = plain_table(table)
        starts = range(0, table.num_rows, self.block_rows)
        tables = tuple(table.slice(start, self.block_rows) for start in starts)
        return LocalBlocks(tables, table.schema, table)

    def collect(self, blocks: LocalBlocks) -> pa.Table:
        """Put the blocks together."""
        return pa.concat_tables(blocks.tables) if blocks.tables else blocks.schema.empty_table()

    def count(self, blocks: LocalBlocks, by: Sequence[str], people: str | None = None) -> pa.Table:
        """Count rows, and distinct people, per combination of ``by``, in the order of their codes.

        Columns are numbered one at a time and rows sorted by one number, so that it takes some
        28 bytes a row besides the blocks, whatever the columns hold.
        """
        import numpy as np

        from incrowd.codes import RowKey, factorize

        require_countable(blocks.schema, by, people)
        rows = self.collect(blocks)
        key = RowKey(rows.num_rows)
        for name in by:
            column = factorize(rows.column(name))
            key.add(column.codes, column.n_codes)
        n_people = 1
        if people:
            column = factorize(rows.column(people))
            n_people = column.n_codes
            key.add(column.codes, n_people)
            del column
        order = np.argsort(key.numbers, kind="stable")
        numbers = key.numbers[order]
        is_person = _is_first(numbers)  # the first row of a person within a combination
        if people:
            numbers //= n_people
        starts = np.flatnonzero(_is_first(numbers))
        if not by:  # one line, also where there are no rows
            starts = np.zeros(1, dtype=np.int64)
        first_rows = pa.array(order[starts] if by else starts[:0])
        edges = np.append(starts, rows.num_rows)
        columns = {name: rows.column(name).take(first_rows) for name in by}
        columns[N_ROWS] = pa.array(np.diff(edges), pa.int64())
        if people:
            n_seen = np.append(0, np.cumsum(is_person))
            columns[N_PEOPLE] = pa.array(np.diff(n_seen[edges]), pa.int64())
        return pa.table(columns)

    def map_blocks(
        self, blocks: LocalBlocks, function: BlockFunction, schema: pa.Schema
    ) -> LocalBlocks:
        """Apply a function to every block, on as many threads as the engine has."""
        tables = [table for table in blocks.tables if table.num_rows]
        return self._in_threads(lambda place: function(tables[place]), len(tables), schema)

    def map_groups(
        self, blocks: LocalBlocks, key: str, function: BlockFunction, schema: pa.Schema
    ) -> LocalBlocks:
        """Apply a function to all rows of each key, keys in ascending order, no key last.

        The rows of a key are brought together when its turn comes: besides the blocks there are
        never more of them than of the keys that are worked on.
        """
        import numpy as np
        import pyarrow.compute as pc

        require_integer_key(blocks.schema, key)
        rows = self.collect(blocks) if blocks.whole is None else blocks.whole
        if any(column.num_chunks > 1 for column in rows.columns):
            rows = rows.combine_chunks()  # or each taking of rows would do that
        keys = rows.column(key)
        has_no_key = keys.is_null().to_numpy()
        # Not to_numpy() of the column itself: nulls would turn large keys into floats.
        numbers = pc.fill_null(keys, 0).to_numpy()
        order = np.lexsort((numbers, has_no_key))
        numbers, has_no_key = numbers[order], has_no_key[order]
        is_last_of_group = (numbers[1:] != numbers[:-1]) | (has_no_key[1:] != has_no_key[:-1])
        edges = [0, *(np.flatnonzero(is_last_of_group) + 1).tolist(), rows.num_rows]
        del keys, has_no_key, numbers, is_last_of_group
        # runs: the places of each key's rows, in their loaded order
        runs = [order[start:end] for start, end in pairwise(edges) if end > start]
        return self._in_threads(
            lambda place: function(rows.take(pa.array(runs[place]))), len(runs), schema
        )

    def schema(self, blocks: LocalBlocks) -> pa.Schema:
        """Return the columns of loaded rows."""
        return blocks.schema

    def select(self, blocks: LocalBlocks, names: Sequence[str]) -> LocalBlocks:
        """Return the same rows with these columns alone; nothing is copied."""
        require_columns(blocks.schema, names)
        return LocalBlocks(
            tuple(table.select(list(names)) for table in blocks.tables),
            pa.schema([blocks.schema.field(name) for name in names]),
            None if blocks.whole is None else blocks.whole.select(list(names)),
        )

    def share(self, value: Any) -> Callable[[], Any]:
        """Return a way to the value itself: threads see the memory of this process."""
        return lambda: value

    def in_order(self, blocks: LocalBlocks) -> Iterator[pa.Table]:
        """Hand rows over in the order of their content, ``TABLE_ROWS`` at a time."""
        from incrowd.codes import canonical_order

        rows = self.collect(blocks)
        order = canonical_order(rows)
        for start in range(0, rows.num_rows, TABLE_ROWS):
            yield rows.take(pa.array(order[start : start + TABLE_ROWS]))

    def describe(self) -> dict[str, object]:
        """Return the engine's name, its threads and the versions that computed."""
        versions = {package: version(package) for package in ("polars", "pyarrow", "numpy")}
        return {"name": self.name, "threads": self.threads, "versions": versions}

    def close(self) -> None:
        """Nothing is held."""

    def _in_threads(
        self, function: Callable[[int], pa.Table], n_calls: int, schema: pa.Schema
    ) -> LocalBlocks:
        """Call a function with 0, 1 and so on; its tables are the blocks, in this order."""
        schema = plain_schema(schema)

        def call(place: int) -> pa.Table:
            return conformed(function(place), schema)

        if self.threads == 1 or n_calls < 2:
            return LocalBlocks(tuple(call(place) for place in range(n_calls)), schema)
        # After an error or Ctrl-C ``map`` takes back the blocks that no thread has begun, and
        # leaving ``with`` waits for those under way: a compiled loop cannot be stopped half-way.
        with ThreadPoolExecutor(min(self.threads, n_calls)) as pool:
            return LocalBlocks(tuple(pool.map(call, range(n_calls))), schema)


def _is_first(numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of the sorted numbers differ from the one before."""
    import numpy as np

    is_first = np.ones(len(numbers), dtype=np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return is_first


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

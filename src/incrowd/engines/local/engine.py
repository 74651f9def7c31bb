"""The in-memory engine: blocks are Arrow tables, processed by threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from incrowd.engines.base import (
    DEFAULT_MEMORY,
    N_PEOPLE,
    N_ROWS,
    TABLE_ROWS,
    BlockFunction,
    conform_result,
    plain_schema,
    require_columns,
    require_countable,
    require_distinct_columns,
    require_integer_key,
)
from incrowd.errors import JobError
from incrowd.threads import n_processors, share_threads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class LocalBlocks:
    """Rows in memory, as any number of tables with one schema, some perhaps empty.

    ``whole`` is the table that they were cut from, if any. Tables may hold dictionary arrays of
    the types in ``schema``; they are decoded for whoever asks for rows.
    """

    tables: tuple[pa.Table, ...]
    schema: pa.Schema
    whole: pa.Table | None = None


class LocalEngine:
    """Rows in this process's memory; blocks and groups are processed by threads.

    Results do not depend on the number of threads or on the size of blocks: work is split by
    content, never by timing, and combined in a fixed order. Kernels release the GIL, so threads
    run in parallel. ``threads`` of 0 means one per processor that this process may use; counting
    uses one.
    """

    name = "local"
    is_out_of_core = False

    def __init__(
        self, threads: int = 0, block_rows: int = 1 << 20, memory: int = DEFAULT_MEMORY
    ) -> None:
        if threads < 0:
            raise JobError("the number of threads is negative", remedy="0 means one per processor.")
        if block_rows < 1:
            raise JobError("block_rows must be at least 1")
        self.threads = threads or n_processors()
        self.block_rows = block_rows
        self.memory_bytes = memory

    @property
    def n_workers(self) -> int:
        """One worker per thread."""
        return self.threads

    def threads_within(self, n_groups: int) -> int:
        """Return how many threads each of so many groups has: all share those of the engine."""
        return share_threads(self.threads, n_groups)

    def load(self, table: pa.Table) -> LocalBlocks:
        """Cut a table into blocks; plain columns are not copied."""
        require_distinct_columns(table)
        starts = range(0, table.num_rows, self.block_rows)
        tables = tuple(table.slice(start, self.block_rows) for start in starts)
        return LocalBlocks(tables, plain_schema(table.schema), table)

    def collect(self, blocks: LocalBlocks) -> pa.Table:
        """Concatenate the blocks."""
        return _rows_of(blocks).cast(blocks.schema)

    def count(self, blocks: LocalBlocks, by: Sequence[str], people: str | None = None) -> pa.Table:
        """Count rows, and distinct people, per combination of ``by``, in the order of their codes.

        Columns are coded one at a time and rows sorted by one integer each, so that it takes
        about 28 bytes per row besides the blocks, whatever the columns hold.
        """
        import numpy as np

        from incrowd.codes import RowKey, factorize, stable_order

        require_countable(blocks.schema, by, people)
        rows = _rows_of(blocks)
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
        # runs: rows one after the other that are equal; a sorted file has hardly more than groups
        first_of_run = np.flatnonzero(_is_first(key.numbers))
        n_of_run = np.diff(first_of_run, append=rows.num_rows)
        numbers = key.numbers[first_of_run]
        order = stable_order(numbers)
        numbers, first_of_run, n_of_run = numbers[order], first_of_run[order], n_of_run[order]
        is_person = _is_first(numbers)  # the first row of a person within a combination
        if people:
            numbers //= n_people
        starts = np.flatnonzero(_is_first(numbers))
        if not by:  # one line, even without rows
            starts = np.zeros(1, dtype=np.int64)
        first_rows = pa.array(first_of_run[starts] if by else starts[:0])
        edges = np.append(starts, len(numbers))
        columns = {
            name: rows.column(name).take(first_rows).cast(blocks.schema.field(name).type)
            for name in by
        }
        n_before = np.append(0, np.cumsum(n_of_run))
        columns[N_ROWS] = pa.array(np.diff(n_before[edges]), pa.int64())
        if people:
            n_seen = np.append(0, np.cumsum(is_person))
            columns[N_PEOPLE] = pa.array(np.diff(n_seen[edges]), pa.int64())
        return pa.table(columns)

    def map_blocks(
        self, blocks: LocalBlocks, function: BlockFunction, schema: pa.Schema
    ) -> LocalBlocks:
        """Apply a function to every block, on as many threads as the engine has."""
        tables = [table for table in blocks.tables if table.num_rows]
        return self._in_threads(
            lambda place: function(tables[place].cast(blocks.schema)), len(tables), schema
        )

    def map_groups(
        self, blocks: LocalBlocks, key: str, function: BlockFunction, schema: pa.Schema
    ) -> LocalBlocks:
        """Apply a function to all rows of each key, in ascending order of keys, nulls last.

        The rows of a key are gathered when its turn comes: only the groups being processed are
        held in memory besides the blocks.
        """
        import numpy as np
        import pyarrow.compute as pc

        require_integer_key(blocks.schema, key)
        rows = _rows_of(blocks)
        if any(column.num_chunks > 1 for column in rows.columns):
            rows = rows.combine_chunks()  # or every take() would
        keys = rows.column(key).cast(blocks.schema.field(key).type)
        has_no_key = keys.is_null().to_numpy()
        # Not to_numpy() of the column itself: nulls would turn large keys into floats.
        numbers = pc.fill_null(keys, 0).to_numpy()
        order = np.lexsort((numbers, has_no_key))
        numbers, has_no_key = numbers[order], has_no_key[order]
        is_last_of_group = (numbers[1:] != numbers[:-1]) | (has_no_key[1:] != has_no_key[:-1])
        edges = [0, *(np.flatnonzero(is_last_of_group) + 1).tolist(), rows.num_rows]
        del keys, has_no_key, numbers, is_last_of_group
        # runs: the row numbers of each key, in loaded order
        runs = [order[start:end] for start, end in pairwise(edges) if end > start]
        return self._in_threads(
            lambda place: function(rows.take(pa.array(runs[place])).cast(blocks.schema)),
            len(runs),
            schema,
        )

    def schema(self, blocks: LocalBlocks) -> pa.Schema:
        """Return the columns of loaded rows."""
        return blocks.schema

    def select(self, blocks: LocalBlocks, names: Sequence[str]) -> LocalBlocks:
        """Return the same rows with only these columns; nothing is copied."""
        require_columns(blocks.schema, names)
        return LocalBlocks(
            tuple(table.select(list(names)) for table in blocks.tables),
            pa.schema([blocks.schema.field(name) for name in names]),
            None if blocks.whole is None else blocks.whole.select(list(names)),
        )

    def broadcast(self, value: Any) -> Callable[[], Any]:
        """Return a getter of the value itself: threads share this process's memory."""
        return lambda: value

    def iter_sorted(self, blocks: LocalBlocks, n_rows: int | None = None) -> Iterator[pa.Table]:
        """Yield rows sorted by content, so many at a time."""
        from incrowd.codes import canonical_order

        rows = self.collect(blocks)
        order = canonical_order(rows)
        n_rows = n_rows or TABLE_ROWS
        for start in range(0, rows.num_rows, n_rows):
            yield rows.take(pa.array(order[start : start + n_rows]))

    def describe(self) -> dict[str, object]:
        """Return the engine's name, its threads and the versions of its libraries."""
        import numpy as np
        import polars as pl

        versions = {part.__name__: part.__version__ for part in (pl, pa, np)}
        return {"name": self.name, "threads": self.threads, "versions": versions}

    def close(self) -> None:
        """Do nothing: no resources are held."""

    def _in_threads(
        self, function: Callable[[int], pa.Table], n_calls: int, schema: pa.Schema
    ) -> LocalBlocks:
        """Call a function with 0, 1, 2, …; its results are the blocks, in this order."""
        schema = plain_schema(schema)

        def call(place: int) -> pa.Table:
            return conform_result(function(place), schema)

        if self.threads == 1 or n_calls < 2:
            return LocalBlocks(tuple(call(place) for place in range(n_calls)), schema)
        # After an error or Ctrl-C ``map`` cancels the blocks that no thread has begun, and leaving
        # ``with`` waits for the others: a compiled loop cannot be interrupted.
        with ThreadPoolExecutor(min(self.threads, n_calls)) as pool:
            return LocalBlocks(tuple(pool.map(call, range(n_calls))), schema)


def _rows_of(blocks: LocalBlocks) -> pa.Table:
    """Return all rows as they are held: some texts perhaps as dictionary arrays."""
    if blocks.whole is not None:
        return blocks.whole
    return pa.concat_tables(blocks.tables) if blocks.tables else blocks.schema.empty_table()


def _is_first(numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of the sorted numbers differ from their predecessor."""
    import numpy as np

    is_first = np.ones(len(numbers), dtype=np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return is_first

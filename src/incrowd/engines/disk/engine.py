"""The out-of-core engine of one machine: blocks are Parquet files on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from incrowd.engines.base import (
    DEFAULT_MEMORY,
    N_PEOPLE,
    N_ROWS,
    TABLE_ROWS,
    BlockFunction,
    ReadOptions,
    ReleaseFolder,
    conform_result,
    plain_schema,
    plain_table,
    require_columns,
    require_countable,
    require_integer_key,
)
from incrowd.engines.disk.blocks import BlockFiles, DiskBlocks, make_blocks, map_ahead
from incrowd.engines.disk.counts import DuckDB, count_query, translate_disk_errors
from incrowd.engines.disk.ranges import Ranges
from incrowd.engines.folders import (
    create_file,
    hash_location,
    local_folder,
    part_name,
    require_complete,
)
from incrowd.engines.transfer import from_transfer
from incrowd.errors import JobError
from incrowd.threads import n_processors, share_threads

if TYPE_CHECKING:
    from incrowd.tables.files.leading_rows import Arrange
    from incrowd.tables.table import Format


DUCK_SHARE = 0.45
"""The share of the memory limit for DuckDB; the rest is for blocks and the program."""

BLOCK_SHARE = 1 / 64
"""The share of the memory limit for the rows of one block."""

RANGE_SHARE = 0.12
"""The share of the memory limit for the rows of ranges that are in memory together: sorting them
takes about three times as much."""

BATCH_ROWS = 1 << 16
"""How many sorted or counted rows are processed at a time."""

LEAST_BLOCK_BYTES = 4 << 20
"""The least size of a block, however low the memory limit."""


class DiskEngine:
    """Rows in Parquet files below a folder; blocks and groups are processed by threads.

    Results equal those of ``LocalEngine``. Files are in a private folder (0700), which ``close``
    removes. Rows take at most ``memory`` bytes, unless a group of ``map_groups`` or a result of
    ``count`` or ``collect`` alone takes more.
    """

    name = "local"
    is_out_of_core = True

    def __init__(
        self,
        folder: Path,
        threads: int = 0,
        memory: int = DEFAULT_MEMORY,
        block_rows: int = 1 << 18,
    ) -> None:
        if threads < 0:
            raise JobError("the number of threads is negative", remedy="0 means one per processor.")
        if block_rows < 1:
            raise JobError("block_rows must be at least 1")
        self.threads = threads or n_processors()
        self.memory_bytes = memory
        block_bytes = max(int(memory * BLOCK_SHARE), LEAST_BLOCK_BYTES)
        self._files = BlockFiles(folder, self.threads, block_rows, block_bytes)
        self._duck = DuckDB(self._files.spilled, self.threads, int(memory * DUCK_SHARE), folder)
        range_bytes = max(int(memory * RANGE_SHARE / (self.threads + 1)), LEAST_BLOCK_BYTES)
        self._ranges = Ranges(self._files, range_bytes)

    @property
    def n_workers(self) -> int:
        """One worker per thread."""
        return self.threads

    def threads_within(self, n_groups: int) -> int:
        """Return how many threads each of so many groups has: all share those of the engine."""
        return share_threads(self.threads, n_groups)

    def load(self, table: pa.Table) -> DiskBlocks:
        """Write a table to files."""
        table = plain_table(table)
        return self._files.store([table], table.schema)

    def read(self, location: str, reading: ReadOptions) -> tuple[DiskBlocks, Format]:
        """Read a file, or the part files of a folder, block by block."""
        from incrowd.tables.files.read import open_location

        path = Path(location)
        if reading.is_release and path.is_dir():
            require_complete(path)
        source = open_location(path, **reading.text_options)
        return self._files.store(reading.normalize(source.tables), source.schema), source.format

    def load_tables(self, tables: Iterable[pa.Table], schema: pa.Schema) -> DiskBlocks:
        """Write tables to files, block by block."""
        return self._files.store(map(plain_table, tables), plain_schema(schema))

    def schema(self, blocks: DiskBlocks) -> pa.Schema:
        """Return the columns of loaded rows."""
        return blocks.schema

    def select(self, blocks: DiskBlocks, names: Sequence[str]) -> DiskBlocks:
        """Return the same files; only these columns will be read."""
        require_columns(blocks.schema, names)
        places = [blocks.schema.names.index(name) for name in names]
        return DiskBlocks(
            blocks.files,
            pa.schema([blocks.schema.field(place) for place in places]),
            tuple(blocks.columns[place] for place in places),
        )

    def broadcast(self, value: Any) -> Callable[[], Any]:
        """Return a getter of the value itself: threads share this process's memory."""
        return lambda: value

    def collect(self, blocks: DiskBlocks) -> pa.Table:
        """Read all files."""
        tables = [self._files.rows_of(file, blocks) for file in blocks.files]
        return pa.concat_tables(tables) if tables else blocks.schema.empty_table()

    def count(self, blocks: DiskBlocks, by: Sequence[str], people: str | None = None) -> pa.Table:
        """Count rows, and distinct people, per combination of ``by``, with DuckDB."""
        require_countable(blocks.schema, by, people)
        self._files.require_open()
        chosen = self.select(blocks, by)
        fields = [*chosen.schema, pa.field(N_ROWS, pa.int64())]
        if people:
            fields.append(pa.field(N_PEOPLE, pa.int64()))
        schema = pa.schema(fields)
        if not blocks.files:
            nothing = [[0]] * (len(fields) - len(by)) if not by else [[]] * len(fields)
            return pa.Table.from_arrays(
                [pa.array(cells, field.type) for cells, field in zip(nothing, fields, strict=True)],
                schema=schema,
            )
        person = self.select(blocks, [people]).columns[0] if people else None
        lines = self._duck.table(count_query(chosen.columns, chosen.types, person), blocks.files)
        return from_transfer(lines, schema)

    def count_in_place(self, blocks: DiskBlocks, by: Sequence[str]) -> DiskBlocks:
        """Count rows per combination of ``by`` into files."""
        require_countable(blocks.schema, by, None)
        self._files.require_open()
        chosen = self.select(blocks, by)
        schema = chosen.schema.append(pa.field(N_ROWS, pa.int64()))
        if not by or not blocks.files:
            return self._files.store([self.count(blocks, by)], schema)
        query = count_query(chosen.columns, chosen.types, None)
        with closing(self._duck.batches(query, blocks.files, BATCH_ROWS)) as batches:
            lines = (from_transfer(pa.Table.from_batches([batch]), schema) for batch in batches)
            return self._files.store(lines, schema)

    def tables(self, blocks: DiskBlocks) -> Iterator[pa.Table]:
        """Yield rows in the order in which they were loaded, a block at a time."""
        for file in blocks.files:
            yield self._files.rows_of(file, blocks)

    def rename_columns(self, blocks: DiskBlocks, names: Sequence[str]) -> DiskBlocks:
        """Return the same rows with other column names."""
        fields = [field.with_name(name) for field, name in zip(blocks.schema, names, strict=True)]
        return DiskBlocks(blocks.files, pa.schema(fields), blocks.columns)

    def map_blocks(
        self, blocks: DiskBlocks, function: BlockFunction, schema: pa.Schema
    ) -> DiskBlocks:
        """Apply a function to the rows of every file, in parallel."""
        self._files.require_open()
        returned = plain_schema(schema)

        def call(file: Path) -> list[Path]:
            result = conform_result(function(self._files.rows_of(file, blocks)), returned)
            return [self._files.write(table) for table in self._files.cut([result])]

        with closing(map_ahead(call, blocks.files, self.threads)) as results:
            return make_blocks((file for some in results for file in some), returned)

    def map_groups(
        self, blocks: DiskBlocks, key: str, function: BlockFunction, schema: pa.Schema
    ) -> DiskBlocks:
        """Apply a function to all rows of each key, in ascending order of keys, nulls last.

        Rows are gathered on disk by ranges of keys; in memory are one range and the groups being
        processed, one large or several small ones per thread.
        """
        require_integer_key(blocks.schema, key)
        self._files.require_open()
        returned = plain_schema(schema)

        def call(group: pa.Table) -> pa.Table:
            return conform_result(function(group), returned)

        room = self._files.block_rows
        with (
            closing(self._ranges.groups(blocks, key)) as groups,
            closing(
                map_ahead(call, groups, self.threads, lambda group: group.num_rows, room)
            ) as results,
        ):
            return self._files.store(results, returned)

    def iter_sorted(self, blocks: DiskBlocks, n_rows: int | None = None) -> Iterator[pa.Table]:
        """Yield rows sorted by content (an external sort), so many at a time."""
        from incrowd.tables.files.write import regroup

        return regroup(self._ranges.iter_sorted(blocks, BATCH_ROWS), n_rows or TABLE_ROWS)

    def write_folder(
        self, blocks: DiskBlocks, folder: str, stored: Format, arrange: Arrange | None = None
    ) -> None:
        """Write rows, sorted by content, ``TABLE_ROWS`` per part file."""
        from incrowd.tables.files.write import write_tables

        in_order: Iterator[pa.Table] = self._ranges.iter_sorted(blocks, BATCH_ROWS)
        rows = _RowQueue(in_order if arrange is None else arrange(in_order))
        for number in count():
            with translate_disk_errors(Path(folder).parent):
                path = create_file(Path(folder) / part_name(number, stored))
                write_tables(rows.next_rows(TABLE_ROWS), blocks.schema, path, stored)
            if rows.is_at_end():
                return

    def new_folder(self, final: str, *, force: bool) -> AbstractContextManager[ReleaseFolder]:
        """Return a folder beside the final path, to which it is renamed when published."""
        return local_folder(Path(final), force=force)

    def hash_location(self, location: str) -> str:
        """Return the SHA-256 of a file, or of the names and hashes of a folder's part files."""
        return hash_location(Path(location))

    def describe(self) -> dict[str, object]:
        """Return the engine's name, threads, memory limit and the versions of its libraries."""
        packages = ("duckdb", "polars", "pyarrow", "numpy")
        return {
            "name": self.name,
            "rows": "on disk",
            "threads": self.threads,
            "memory_bytes": self.memory_bytes,
            "versions": {package: version(package) for package in packages},
        }

    def close(self) -> None:
        """Remove all files."""
        self._duck.close()
        self._files.close()


class _RowQueue:
    """A stream of tables from which rows are taken at the front."""

    def __init__(self, tables: Iterator[pa.Table]) -> None:
        self._tables = tables
        self._front: pa.Table | None = None

    def is_at_end(self) -> bool:
        """Return whether there are no more rows."""
        while self._front is None or not self._front.num_rows:
            self._front = next(self._tables, None)
            if self._front is None:
                return True
        return False

    def next_rows(self, n_rows: int) -> Iterator[pa.Table]:
        """Yield up to ``n_rows`` of the next rows."""
        while n_rows and not self.is_at_end() and self._front is not None:
            some, self._front = self._front.slice(0, n_rows), self._front.slice(n_rows)
            n_rows -= some.num_rows
            yield some

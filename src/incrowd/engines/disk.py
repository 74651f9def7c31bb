"""The engine of one machine for rows that do not fit into its memory: blocks are files on disk."""

from __future__ import annotations

import os
import secrets
import shutil
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from importlib.metadata import version
from itertools import count as counting_up
from pathlib import Path
from typing import Any

import pyarrow as pa

from incrowd.data.table import Format
from incrowd.engines.base import (
    DEFAULT_MEMORY,
    N_PEOPLE,
    N_ROWS,
    TABLE_ROWS,
    BlockFunction,
    Reading,
    ReleaseFolder,
    conformed,
    plain_schema,
    plain_table,
    require_columns,
    require_countable,
    require_integer_key,
)
from incrowd.engines.duck import Duck, counting, disk_errors_told, ordering
from incrowd.engines.folders import (
    hash_of_location,
    local_folder,
    new_file,
    part_name,
    require_whole,
)
from incrowd.engines.travel import arriving, departing, travel_schema
from incrowd.errors import EngineError, JobError

DUCK_SHARE = 0.45
"""The share of the memory that DuckDB may use; the rest is for blocks of work and the program."""

BLOCK_SHARE = 1 / 64
"""The share of the memory that the rows of one block may take."""

BATCH_ROWS = 1 << 16
"""Rows that come from DuckDB at a time."""

LEAST_BLOCK_BYTES = 4 << 20
"""The least that rows of one block may take, however little memory there is."""


@dataclass(frozen=True)
class DiskBlocks:
    """Rows in files of one schema; ``columns`` are what its fields are called in the files."""

    files: tuple[Path, ...]
    schema: pa.Schema
    columns: tuple[str, ...]

    @property
    def types(self) -> list[pa.DataType]:
        """The types that the columns have in the files."""
        return list(travel_schema(self.schema).types)


class DiskEngine:
    """Rows in Parquet files below a folder; blocks and groups are worked on by threads.

    It gives what ``LocalEngine`` gives. Files are in a private folder of their own (0700), which
    ``close`` removes. No more than ``memory`` bytes are used for rows, as long as a group of
    ``map_groups`` and what ``count`` and ``collect`` return take no more themselves.
    """

    name = "local"

    def __init__(
        self,
        folder: Path,
        threads: int = 0,
        memory: int = DEFAULT_MEMORY,
        block_rows: int = 1 << 18,
    ) -> None:
        if threads < 0:
            raise JobError("the number of threads is negative", remedy="0 means all processors.")
        if block_rows < 1:
            raise JobError("a block has no rows", remedy="Give blocks at least one row.")
        self.threads = threads or len(os.sched_getaffinity(0))
        self.memory_bytes = memory
        self._block_rows = block_rows
        self._batch_rows = min(block_rows, BATCH_ROWS)
        self._block_bytes = max(int(memory * BLOCK_SHARE), LEAST_BLOCK_BYTES)
        self._folder = folder / f"rows-{secrets.token_hex(4)}"
        self._where = folder
        spilled = self._folder / "spilled"
        with disk_errors_told(folder):
            self._folder.mkdir(mode=0o700)
            spilled.mkdir(mode=0o700)
        self._numbers = counting_up()
        self._is_closed = False
        self._duck = Duck(spilled, self.threads, int(memory * DUCK_SHARE), folder)

    @property
    def n_workers(self) -> int:
        """One worker per thread."""
        return self.threads

    def load(self, table: pa.Table) -> DiskBlocks:
        """Write a table to files."""
        table = plain_table(table)
        return self._stored([table], table.schema)

    def read(self, location: str, reading: Reading) -> tuple[DiskBlocks, Format]:
        """Read a file, or the part files of a folder, block by block."""
        from incrowd.data.parts import open_location

        path = Path(location)
        if reading.is_release and path.is_dir():
            require_whole(path)
        source = open_location(
            path,
            delimiter=reading.delimiter,
            encoding=reading.encoding,
            header=reading.header,
            missing_values=reading.missing_values,
        )
        return self._stored(source.tables, source.schema), source.format

    def schema(self, blocks: DiskBlocks) -> pa.Schema:
        """Return the columns of loaded rows."""
        return blocks.schema

    def select(self, blocks: DiskBlocks, names: Sequence[str]) -> DiskBlocks:
        """Return the same files, of which only these columns are read."""
        require_columns(blocks.schema, names)
        places = [blocks.schema.names.index(name) for name in names]
        return DiskBlocks(
            blocks.files,
            pa.schema([blocks.schema.field(place) for place in places]),
            tuple(blocks.columns[place] for place in places),
        )

    def share(self, value: Any) -> Callable[[], Any]:
        """Return a way to the value itself: threads see the memory of this process."""
        return lambda: value

    def collect(self, blocks: DiskBlocks) -> pa.Table:
        """Read all files."""
        self._require_open()
        tables = [_rows_of(file, blocks) for file in blocks.files]
        return pa.concat_tables(tables) if tables else blocks.schema.empty_table()

    def count(self, blocks: DiskBlocks, by: Sequence[str], people: str | None = None) -> pa.Table:
        """Count rows, and distinct people, per combination of ``by`` (DuckDB's aggregates)."""
        require_countable(blocks.schema, by, people)
        self._require_open()
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
        lines = self._duck.table(counting(chosen.columns, chosen.types, person), blocks.files)
        return arriving(lines, schema)

    def counted(self, blocks: DiskBlocks, by: Sequence[str]) -> DiskBlocks:
        """Count rows per combination of ``by`` into files."""
        require_countable(blocks.schema, by, None)
        chosen = self.select(blocks, by)
        schema = chosen.schema.append(pa.field(N_ROWS, pa.int64()))
        if not by or not blocks.files:
            return self._stored([self.count(blocks, by)], schema)
        query = counting(chosen.columns, chosen.types, None)
        batches = self._duck.batches(query, blocks.files, self._block_rows)
        lines = (arriving(pa.Table.from_batches([batch]), schema) for batch in batches)
        return self._stored(lines, schema)

    def tables(self, blocks: DiskBlocks) -> Iterator[pa.Table]:
        """Yield rows in the order in which they were read, a block at a time."""
        self._require_open()
        for file in blocks.files:
            yield _rows_of(file, blocks)

    def renamed(self, blocks: DiskBlocks, names: Sequence[str]) -> DiskBlocks:
        """Return the same rows with other names of columns."""
        fields = [field.with_name(name) for field, name in zip(blocks.schema, names, strict=True)]
        return DiskBlocks(blocks.files, pa.schema(fields), blocks.columns)

    def map_blocks(
        self, blocks: DiskBlocks, function: BlockFunction, schema: pa.Schema
    ) -> DiskBlocks:
        """Apply a function to the rows of every file, on as many threads as the engine has."""
        self._require_open()
        returned = plain_schema(schema)

        def call(file: Path) -> list[Path]:
            result = conformed(function(_rows_of(file, blocks)), returned)
            return [self._write(table) for table in self._cut([result])]

        files = [file for some in self._in_threads(call, blocks.files) for file in some]
        return _blocks(files, returned)

    def map_groups(
        self, blocks: DiskBlocks, key: str, function: BlockFunction, schema: pa.Schema
    ) -> DiskBlocks:
        """Apply a function to all rows of each key, keys in ascending order, no key last.

        Rows are sorted by their key on disk; of the sorted ones, those of the groups that are
        worked on are in memory, one group a thread or several small ones.
        """
        require_integer_key(blocks.schema, key)
        self._require_open()
        returned = plain_schema(schema)

        def call(group: pa.Table) -> pa.Table:
            return conformed(function(group), returned)

        with (
            closing(self._groups(blocks, key)) as groups,
            closing(self._ahead(call, groups)) as results,
        ):
            return self._stored(results, returned)

    def in_order(self, blocks: DiskBlocks) -> Iterator[pa.Table]:
        """Sort rows on disk by their content and bring them here, ``TABLE_ROWS`` at a time."""
        from incrowd.data.write import regrouped

        return regrouped(self._sorted(blocks), TABLE_ROWS)

    def write_folder(self, blocks: DiskBlocks, folder: str, stored: Format) -> None:
        """Write rows in the order of their content, ``TABLE_ROWS`` to a part file."""
        from incrowd.data.write import write_tables

        rows = _Queue(self._sorted(blocks))
        for number in counting_up():
            with disk_errors_told(Path(folder).parent):
                path = new_file(Path(folder) / part_name(number, stored))
                write_tables(rows.next_rows(TABLE_ROWS), blocks.schema, path, stored)
            if rows.is_at_end():
                return

    def new_folder(self, final: str, *, force: bool) -> AbstractContextManager[ReleaseFolder]:
        """Return a folder beside the final name, which it gets when it is published."""
        return local_folder(Path(final), force=force)

    def hash_of(self, location: str) -> str:
        """Return the SHA-256 of a file, or of the names and hashes of a folder's part files."""
        return hash_of_location(Path(location))

    def describe(self) -> dict[str, object]:
        """Return the engine's name, threads and bound on memory, and the versions that computed."""
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
        if not self._is_closed:
            self._is_closed = True
            self._duck.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _require_open(self) -> None:
        if self._is_closed:
            raise EngineError("the engine was closed, and its rows are gone")

    # ── files ───────────────────────────────────────────────────────────────────────────────

    def _stored(self, tables: Iterable[pa.Table], schema: pa.Schema) -> DiskBlocks:
        """Write tables of one schema to files of about a block each, in their order."""
        self._require_open()
        travel_schema(schema)
        return _blocks(self._ahead(self._write, self._cut(tables)), schema)

    def _write(self, table: pa.Table) -> Path:
        from pyarrow import parquet

        with disk_errors_told(self._where):
            path = new_file(self._folder / f"{next(self._numbers):08d}.parquet")
            parquet.write_table(departing(table), path, compression="lz4", store_schema=True)
        return path

    def _cut(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Cut large tables and join small ones to blocks with rows; nothing is copied."""
        held: list[pa.Table] = []
        n_rows = n_bytes = 0
        for table in tables:
            if not table.num_rows:
                continue
            row_bytes = max(1, table.nbytes // table.num_rows)
            size = max(1, min(self._block_rows, self._block_bytes // row_bytes))
            for start in range(0, table.num_rows, size):
                piece = table.slice(start, size)
                if held and (
                    n_rows + piece.num_rows > self._block_rows
                    or n_bytes + piece.num_rows * row_bytes > self._block_bytes
                ):
                    yield pa.concat_tables(held)
                    held, n_rows, n_bytes = [], 0, 0
                held.append(piece)
                n_rows += piece.num_rows
                n_bytes += piece.num_rows * row_bytes
        if held:
            yield pa.concat_tables(held)

    def _sorted(self, blocks: DiskBlocks) -> Generator[pa.Table, None, None]:
        """Yield rows in the order of their content, few at a time.

        Where many rows are equal, they are counted first and the distinct ones sorted.
        """
        self._require_open()
        if not blocks.files:
            return
        is_counted = self._has_many_equal(blocks)
        query = ordering(blocks.columns, blocks.types, is_counted=is_counted)
        with closing(self._duck.batches(query, blocks.files, self._batch_rows)) as batches:
            for batch in batches:
                table = pa.Table.from_batches([batch])
                for some in _repeated(table, self._batch_rows) if is_counted else (table,):
                    yield arriving(some, blocks.schema)

    def _has_many_equal(self, blocks: DiskBlocks) -> bool:
        """Tell from the first file whether sorting distinct rows is less work than sorting rows."""
        query = f"SELECT count(DISTINCT row({', '.join(blocks.columns)})), count(*) FROM rows"
        lines = self._duck.table(query, blocks.files[:1])
        n_distinct, n_rows = (column[0].as_py() for column in lines.columns)
        return bool(2 * n_distinct <= n_rows)

    # ── groups ──────────────────────────────────────────────────────────────────────────────

    def _groups(self, blocks: DiskBlocks, key: str) -> Generator[pa.Table, None, None]:
        """Yield the rows of one key after the other."""
        import numpy as np
        import pyarrow.compute as pc

        if not blocks.files:
            return
        place = blocks.schema.names.index(key)
        column = blocks.columns[place]
        query = f"SELECT {', '.join(blocks.columns)} FROM rows ORDER BY {column} ASC NULLS LAST"
        held: list[pa.Table] = []  # rows of one key, which may go on
        with closing(self._duck.batches(query, blocks.files, self._batch_rows)) as batches:
            for batch in batches:
                if not batch.num_rows:
                    continue
                rows = arriving(pa.Table.from_batches([batch]), blocks.schema)
                keys = rows.column(place).combine_chunks()
                if held and not held[-1].column(place)[-1].equals(keys[0]):
                    yield pa.concat_tables(held)
                    held = []
                is_null = keys.is_null().to_numpy(zero_copy_only=False)
                numbers = pc.fill_null(keys, 0).to_numpy()
                is_edge = (numbers[1:] != numbers[:-1]) | (is_null[1:] != is_null[:-1])
                start = 0
                for end in [*(np.flatnonzero(is_edge) + 1).tolist(), rows.num_rows]:
                    if start:
                        yield pa.concat_tables(held)
                        held = []
                    held.append(rows.slice(start, end - start))
                    start = end
        if held:
            yield pa.concat_tables(held)

    # ── threads ─────────────────────────────────────────────────────────────────────────────

    def _in_threads(
        self, call: Callable[[Any], Any], given: Sequence[Any]
    ) -> Generator[Any, None, None]:
        if self.threads == 1 or len(given) < 2:
            yield from map(call, given)
            return
        # After an error or Ctrl-C ``map`` takes back what no thread has begun, and leaving
        # ``with`` waits for what is under way: a compiled loop cannot be stopped half-way.
        with ThreadPoolExecutor(min(self.threads, len(given))) as pool:
            yield from pool.map(call, given)

    def _ahead(
        self, call: Callable[[pa.Table], Any], tables: Iterable[pa.Table]
    ) -> Generator[Any, None, None]:
        """Call a function with each table on threads; results come in the order of the tables.

        As many tables are under way as there are threads, or more while they are small.
        """
        if self.threads == 1:
            yield from map(call, tables)
            return
        under_way: deque[tuple[Future[Any], int]] = deque()
        n_rows = 0
        with ThreadPoolExecutor(self.threads) as pool:
            try:
                for table in tables:
                    while len(under_way) >= self.threads and (
                        n_rows + table.num_rows > self._block_rows
                        or len(under_way) >= _MOST_UNDER_WAY
                    ):
                        future, n_done = under_way.popleft()
                        n_rows -= n_done
                        yield future.result()
                    under_way.append((pool.submit(call, table), table.num_rows))
                    n_rows += table.num_rows
                    del table
                while under_way:
                    yield under_way.popleft()[0].result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)


_MOST_UNDER_WAY = 1024


def _blocks(files: Iterable[Path], schema: pa.Schema) -> DiskBlocks:
    return DiskBlocks(tuple(files), schema, tuple(f"c{place}" for place in range(len(schema))))


def _repeated(counted: pa.Table, n_rows: int) -> Iterator[pa.Table]:
    """Yield each row as many times as its last column says, up to ``n_rows`` at a time."""
    import numpy as np

    ends = np.cumsum(counted.column(counted.num_columns - 1).to_numpy())
    n_in_all = int(ends[-1]) if len(ends) else 0
    for start in range(0, n_in_all, n_rows):
        numbers = np.arange(start, min(start + n_rows, n_in_all))
        yield counted.take(pa.array(np.searchsorted(ends, numbers, side="right")))


class _Queue:
    """Rows that are taken from the front of a stream of tables."""

    def __init__(self, tables: Iterator[pa.Table]) -> None:
        self._tables = tables
        self._front: pa.Table | None = None

    def is_at_end(self) -> bool:
        """Tell whether there are no more rows."""
        while self._front is None or not self._front.num_rows:
            self._front = next(self._tables, None)
            if self._front is None:
                return True
        return False

    def next_rows(self, n_rows: int) -> Iterator[pa.Table]:
        """Yield the next ``n_rows`` rows, or what there is of them."""
        while n_rows and not self.is_at_end() and self._front is not None:
            some, self._front = self._front.slice(0, n_rows), self._front.slice(n_rows)
            n_rows -= some.num_rows
            yield some


def _rows_of(file: Path, blocks: DiskBlocks) -> pa.Table:
    from pyarrow import parquet

    table = parquet.read_table(file, columns=list(blocks.columns), use_threads=False)
    return arriving(table.select(list(blocks.columns)), blocks.schema)

"""Blocks of rows as Parquet files in one private folder, read and written ahead on threads."""

from __future__ import annotations

import secrets
import shutil
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from incrowd.engines.columns import arriving, departing, travel_schema
from incrowd.engines.disk.counts import disk_errors_told
from incrowd.engines.folders import new_file
from incrowd.errors import EngineError

Given = TypeVar("Given")
Result = TypeVar("Result")

MOST_UNDER_WAY = 1024
"""How many calls may wait for a thread, however small they are."""


def ahead(
    call: Callable[[Given], Result],
    work: Iterable[Given],
    threads: int,
    size_of: Callable[[Given], int] = lambda _: 1,
    room: int = 0,
) -> Generator[Result, None, None]:
    """Call a function with each piece of work on threads, and yield what it returns, in order.

    As many pieces are under way as there are threads, or more while their sizes together are
    within ``room``. After an error, Ctrl-C or ``close`` no further one begins; those under way
    are waited for, since a compiled loop cannot be stopped half-way.
    """
    if threads == 1:
        yield from map(call, work)
        return
    under_way: deque[tuple[Future[Result], int]] = deque()
    total = 0
    with ThreadPoolExecutor(threads) as pool:
        try:
            for piece in work:
                size = size_of(piece)
                while len(under_way) >= threads and (
                    total + size > room or len(under_way) >= MOST_UNDER_WAY
                ):
                    future, size_before = under_way.popleft()
                    total -= size_before
                    yield future.result()
                    del future
                under_way.append((pool.submit(call, piece), size))
                total += size
                del piece
            while under_way:
                yield under_way.popleft()[0].result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


# Blocks of rows as Parquet files in one private folder.


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


class BlockFiles:
    """A private folder (0700) of files (0600) below the folder ``where``.

    A block has at most ``block_rows`` rows and about ``block_bytes`` bytes.
    """

    def __init__(self, where: Path, threads: int, block_rows: int, block_bytes: int) -> None:
        self.where = where
        self.threads = threads
        self.block_rows = block_rows
        self.block_bytes = block_bytes
        self.folder = where / f"rows-{secrets.token_hex(4)}"
        self.spilled = self.folder / "spilled"
        self._numbers = count()
        self._is_closed = False
        with disk_errors_told(where):
            self.folder.mkdir(mode=0o700)
            self.spilled.mkdir(mode=0o700)

    def store(self, tables: Iterable[pa.Table], schema: pa.Schema) -> DiskBlocks:
        """Write tables of one schema to files of about a block each, in their order."""
        self.require_open()
        travel_schema(schema)
        return blocks_of(ahead(self.write, self.cut(tables), self.threads), schema)

    def write(self, table: pa.Table) -> Path:
        """Write rows to a file."""
        from pyarrow import parquet

        with disk_errors_told(self.where):
            path = new_file(self.folder / f"{next(self._numbers):08d}.parquet")
            parquet.write_table(departing(table), path, compression="lz4")
        return path

    def rows_of(self, file: Path, blocks: DiskBlocks) -> pa.Table:
        """Return the rows of one of the files."""
        from pyarrow import parquet

        self.require_open()
        names = list(blocks.columns)
        table = parquet.read_table(file, columns=names, use_threads=False)
        return arriving(table.select(names), blocks.schema)

    def n_rows(self, blocks: DiskBlocks) -> int:
        """Count the rows of all files."""
        from pyarrow import parquet

        return sum(parquet.read_metadata(file).num_rows for file in blocks.files)

    def cut(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Cut large tables and join small ones to blocks with rows; nothing is copied."""
        held: list[pa.Table] = []
        n_rows = n_bytes = 0
        for table in tables:
            if not table.num_rows:
                continue
            row_bytes = max(1, table.nbytes // table.num_rows)
            size = max(1, min(self.block_rows, self.block_bytes // row_bytes))
            for start in range(0, table.num_rows, size):
                piece = table.slice(start, size)
                if held and (
                    n_rows + piece.num_rows > self.block_rows
                    or n_bytes + piece.num_rows * row_bytes > self.block_bytes
                ):
                    yield pa.concat_tables(held)
                    held, n_rows, n_bytes = [], 0, 0
                held.append(piece)
                n_rows += piece.num_rows
                n_bytes += piece.num_rows * row_bytes
        if held:
            yield pa.concat_tables(held)

    def require_open(self) -> None:
        """Raise where the files were removed."""
        if self._is_closed:
            raise EngineError("the engine was closed, and its rows are gone")

    def close(self) -> None:
        """Remove all files."""
        if not self._is_closed:
            self._is_closed = True
            shutil.rmtree(self.folder, ignore_errors=True)


def blocks_of(files: Iterable[Path], schema: pa.Schema) -> DiskBlocks:
    """Return the blocks that files with these columns are."""
    return DiskBlocks(tuple(files), schema, tuple(f"c{place}" for place in range(len(schema))))

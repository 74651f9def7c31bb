"""Blocks of rows as Parquet files in one private folder, and a parallel map over them."""

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

from incrowd.engines.disk.counts import translate_disk_errors
from incrowd.engines.folders import create_file
from incrowd.engines.transfer import from_transfer, to_transfer, transfer_schema
from incrowd.errors import EngineError

Given = TypeVar("Given")
Result = TypeVar("Result")

MOST_PENDING = 1024
"""How many calls may be pending, however small they are."""


def map_ahead(
    call: Callable[[Given], Result],
    work: Iterable[Given],
    threads: int,
    size_of: Callable[[Given], int] = lambda _: 1,
    room: int = 0,
) -> Generator[Result, None, None]:
    """Call a function with each piece of work on threads, and yield the results in order.

    As many pieces are pending as there are threads, or more while their total size is within
    ``room``. After an error, Ctrl-C or ``close`` no further call begins; running ones are waited
    for, since a compiled loop cannot be interrupted.
    """
    if threads == 1:
        yield from map(call, work)
        return
    pending: deque[tuple[Future[Result], int]] = deque()
    total = 0
    with ThreadPoolExecutor(threads) as pool:
        try:
            for piece in work:
                size = size_of(piece)
                while len(pending) >= threads and (
                    total + size > room or len(pending) >= MOST_PENDING
                ):
                    future, size_before = pending.popleft()
                    total -= size_before
                    yield future.result()
                    del future
                pending.append((pool.submit(call, piece), size))
                total += size
                del piece
            while pending:
                yield pending.popleft()[0].result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True)
class DiskBlocks:
    """Rows in files of one schema; ``columns`` are the names of its fields in the files."""

    files: tuple[Path, ...]
    schema: pa.Schema
    columns: tuple[str, ...]

    @property
    def types(self) -> list[pa.DataType]:
        """The types that the columns have in the files."""
        return list(transfer_schema(self.schema).types)


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
        with translate_disk_errors(where):
            self.folder.mkdir(mode=0o700)
            self.spilled.mkdir(mode=0o700)

    def store(self, tables: Iterable[pa.Table], schema: pa.Schema) -> DiskBlocks:
        """Write tables of one schema to files of about a block each, in their order."""
        self.require_open()
        transfer_schema(schema)
        return make_blocks(map_ahead(self.write, self.cut(tables), self.threads), schema)

    def write(self, table: pa.Table) -> Path:
        """Write rows to a file."""
        from pyarrow import parquet

        with translate_disk_errors(self.where):
            path = create_file(self.folder / f"{next(self._numbers):08d}.parquet")
            parquet.write_table(to_transfer(table), path, compression="lz4")
        return path

    def rows_of(self, file: Path, blocks: DiskBlocks) -> pa.Table:
        """Return the rows of one of the files."""
        from pyarrow import parquet

        self.require_open()
        names = list(blocks.columns)
        table = parquet.read_table(file, columns=names, use_threads=False)
        return from_transfer(table.select(names), blocks.schema)

    def n_rows(self, blocks: DiskBlocks) -> int:
        """Count the rows of all files."""
        from pyarrow import parquet

        return sum(parquet.read_metadata(file).num_rows for file in blocks.files)

    def cut(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Split large tables and combine small ones into blocks; nothing is copied."""
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
        """Raise if the files were removed."""
        if self._is_closed:
            raise EngineError("the engine is closed, and its rows were removed")

    def close(self) -> None:
        """Remove all files."""
        if not self._is_closed:
            self._is_closed = True
            shutil.rmtree(self.folder, ignore_errors=True)


def make_blocks(files: Iterable[Path], schema: pa.Schema) -> DiskBlocks:
    """Return files with these columns as blocks."""
    return DiskBlocks(tuple(files), schema, tuple(f"c{place}" for place in range(len(schema))))

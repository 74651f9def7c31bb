"""The engine interface: the operations that methods and audits use, and what each promises.

An engine handles blocks of Arrow tables and knows nothing of roles, k or hierarchies. A function
given to ``map_blocks`` or ``map_groups`` takes and returns a ``pyarrow.Table`` and must not depend
on how rows were split or ordered: it breaks ties by value. What it needs besides its block is in
its closure or, where that is large, sent by ``broadcast``. On a cluster it is shipped to workers,
so it must be picklable and import kernels by module inside itself.

Blocks hold plain columns: ``load`` decodes dictionaries and drops metadata and "not null" flags,
so that a function sees the same types on every engine.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from incrowd.errors import DataError, EngineError, unknown
from incrowd.tables.files.leading_rows import Arrange
from incrowd.tables.table import Format

Blocks = Any
"""An engine's own handle on loaded rows; only that engine looks inside."""

BlockFunction = Callable[[pa.Table], pa.Table]

DEFAULT_MEMORY = 2 << 30
"""The bytes that a search may use for its blocks of work, unless stated otherwise."""

N_ROWS = "n_rows"
"""The column of row counts in what ``count`` returns."""

N_PEOPLE = "n_people"
"""The column of counts of distinct people in what ``count`` returns."""


class Engine(Protocol):
    """Where rows are stored, and how they are grouped."""

    name: str
    memory_bytes: int
    is_out_of_core: bool
    """Whether it reads and writes whole files, so that rows need not fit into memory."""

    @property
    def n_workers(self) -> int:
        """How many block functions run in parallel."""

    def threads_within(self, n_groups: int) -> int:
        """Return how many threads each call of a function may use where so many groups are mapped.

        All together are no more than the engine was told to use.
        """

    def load(self, table: pa.Table) -> Blocks:
        """Load a table; its rows may be split into blocks in any way."""

    def collect(self, blocks: Blocks) -> pa.Table:
        """Return all rows as one table, in no particular order."""

    def count(self, blocks: Blocks, by: Sequence[str], people: str | None = None) -> pa.Table:
        """Count rows (and distinct values of ``people``) per distinct combination of ``by``.

        Returns the columns ``by`` followed by ``n_rows`` (int64) and, with ``people``,
        ``n_people`` (int64). A null equals a null, also among people: all rows of unknown people
        count as one person, so that a group is never counted as larger than it is. A NaN equals
        a NaN, and 0.0 equals −0.0. The order of the result is unspecified. With no ``by`` there
        is one line, the total.
        """

    def map_blocks(self, blocks: Blocks, function: BlockFunction, schema: pa.Schema) -> Blocks:
        """Apply a function to every block, however rows were split into blocks.

        A block has at least one row: without rows, the function is not called. Its result has the
        columns of ``schema``, in that order, and any number of rows.
        """

    def map_groups(
        self, blocks: Blocks, key: str, function: BlockFunction, schema: pa.Schema
    ) -> Blocks:
        """Apply a function once to all rows of each value of an integer column ``key``.

        Rows without a key (null) form a group, too. Keys 0, 1, 2, … are distributed best.
        """

    def broadcast(self, value: Any) -> Callable[[], Any]:
        """Return a getter of a value for block functions, sent to each worker at most once."""

    def describe(self) -> dict[str, object]:
        """Return what ran the job, for the audit: name, threads or master, versions."""

    def close(self) -> None:
        """Release all resources."""


def threads_of(engine: Engine | None) -> int:
    """Return how many threads loops of this process may use: as many as the engine is told to.

    Workers of a cluster are elsewhere: there it is one per processor of this machine at most.
    Without an engine it is one.
    """
    if engine is None:
        return 1
    if engine.name == "spark":
        return max(1, min(engine.n_workers, os.cpu_count() or 1))
    return engine.n_workers


@dataclass(frozen=True)
class ReadOptions:
    """How files of rows are read; what is not stated of a text file is detected.

    With ``is_release`` a folder must be marked as complete. With ``has_plain_zeros`` −0.0 is read
    as 0.0, as releases require.
    """

    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None
    missing_values: tuple[str, ...] = ()
    is_release: bool = False
    has_plain_zeros: bool = False
    sheet: str | None = None
    value_labels: str = "labels"

    @property
    def text_options(self) -> dict[str, Any]:
        """The keyword arguments of ``open_rows`` and ``open_location`` (``tables.read``)."""
        return {
            "delimiter": self.delimiter,
            "encoding": self.encoding,
            "header": self.header,
            "missing_values": self.missing_values,
            "sheet": self.sheet,
            "value_labels": self.value_labels,
        }

    def normalize(self, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """Return the rows of files as the engine loads them."""
        from incrowd.tables.frames import drop_signed_zeros

        return map(drop_signed_zeros, tables) if self.has_plain_zeros else tables


@dataclass(frozen=True)
class PartFile:
    """One file of a folder: its name, its size and the SHA-256 of its bytes."""

    name: str
    n_bytes: int
    sha256: str


class ReleaseFolder(Protocol):
    """A folder of part files that gets its name, or is marked as complete, only by ``publish``."""

    where: str

    def parts(self) -> list[PartFile]:
        """Return the part files written so far, by name."""

    def publish(self, manifest: str) -> None:
        """Write the manifest (JSON) beside the parts, then the marker of a complete folder."""


class OutOfCoreEngine(Engine, Protocol):
    """An engine that reads and writes whole files, so that rows need not fit into memory."""

    def read(self, location: str, reading: ReadOptions) -> tuple[Blocks, Format]:
        """Load a file, or the part files of a folder, as ``tables.read.read_table`` reads them.

        Cells of text files are unchanged strings, empty ones null; typed columns are normalized as
        there. Raises DataError, naming the file, if one is damaged or has other columns.
        """

    def load_tables(self, tables: Iterable[pa.Table], schema: pa.Schema) -> Blocks:
        """Load tables one after the other; this process never holds all of them."""

    def schema(self, blocks: Blocks) -> pa.Schema:
        """Return the columns of loaded rows."""

    def count_in_place(self, blocks: Blocks, by: Sequence[str]) -> Blocks:
        """Count rows as ``count`` does, but keep the result on the engine."""

    def select(self, blocks: Blocks, names: Sequence[str]) -> Blocks:
        """Return the same rows with only these columns, in this order."""

    def iter_sorted(self, blocks: Blocks, n_rows: int | None = None) -> Iterator[pa.Table]:
        """Yield rows sorted by content (``codes.canonical_order``), a table at a time.

        Each table but the last has so many rows: ``TABLE_ROWS`` if not stated.
        """

    def write_folder(
        self, blocks: Blocks, folder: str, stored: Format, arrange: Arrange | None = None
    ) -> None:
        """Write rows, sorted by content, as part files; file names are in the same order.

        ``arrange`` changes the order of rows that are written to a folder of this machine.
        """

    def new_folder(self, final: str, *, force: bool) -> AbstractContextManager[ReleaseFolder]:
        """Return a folder to write to; without ``publish`` it is removed on exit."""

    def hash_location(self, location: str) -> str:
        """Return the SHA-256 of a file, or of the names and hashes of a folder's part files."""


TABLE_ROWS = 1 << 20
"""How many rows ``iter_sorted`` yields at a time: those of a row group of a Parquet release."""


def hash_parts(parts: Iterable[PartFile]) -> str:
    """Return the SHA-256 of what ``sha256sum part-*`` prints for the part files."""
    lines = [f"{part.sha256}  {part.name}\n" for part in sorted(parts, key=lambda part: part.name)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema that blocks have: no dictionaries, no metadata, every column nullable."""
    return pa.schema([pa.field(field.name, _plain_type(field.type)) for field in schema])


def plain_table(table: pa.Table) -> pa.Table:
    """Return the table as blocks hold it; columns that are already plain are not copied."""
    require_distinct_columns(table)
    return table.cast(plain_schema(table.schema))


def require_distinct_columns(table: pa.Table) -> None:
    """Raise unless there are columns, each with a name of its own."""
    if not table.column_names:
        raise DataError("the table has no columns", remedy="Name the columns that are needed.")
    repeated = {name for name in table.column_names if table.column_names.count(name) > 1}
    if repeated:
        raise DataError(
            f"column {sorted(repeated)[0]!r} occurs more than once",
            remedy="Give every column a name of its own.",
        )


def require_columns(schema: pa.Schema, names: Iterable[str]) -> None:
    """Raise unless every name is a column that blocks of this schema have."""
    for name in names:
        if name not in schema.names:
            raise unknown("column", name, schema.names)


def require_countable(schema: pa.Schema, by: Sequence[str], people: str | None) -> None:
    """Raise unless these columns exist and none of them has the name of a count."""
    require_columns(schema, [*by, *([people] if people else [])])
    for name in (N_ROWS, N_PEOPLE):
        if name in by:
            raise DataError(f"column {name!r} has the name of a count", remedy="Rename the column.")


def require_integer_key(schema: pa.Schema, key: str) -> None:
    """Raise unless ``key`` is an integer column."""
    require_columns(schema, [key])
    if not pa.types.is_integer(schema.field(key).type):
        raise EngineError(f"column {key!r} cannot be a key: it is not an integer column")


def conform_result(result: object, schema: pa.Schema) -> pa.Table:
    """Return the result of a block function in the types it declared, or raise.

    A column is cast only if no value is lost (int64 to int32, say).
    """
    if not isinstance(result, pa.Table):
        raise EngineError(f"a block function returned {type(result).__name__}, not a table")
    if result.column_names != schema.names:
        raise EngineError(
            f"a block function returned the columns {result.column_names}"
            f" where it declared {schema.names}"
        )
    columns = []
    for column, field in zip(result.columns, schema, strict=True):
        try:
            columns.append(column.cast(field.type))
        except pa.ArrowException:
            # Arrow's own message would show the value that did not fit.
            raise EngineError(
                f"a block function returned column {field.name!r} as {column.type},"
                f" which does not fit the declared {field.type}"
            ) from None
    return pa.Table.from_arrays(columns, schema=schema)


def _plain_type(arrow_type: pa.DataType) -> pa.DataType:
    return arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type

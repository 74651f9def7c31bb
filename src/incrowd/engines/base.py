"""The verbs that methods and audits are written over, and what every engine promises of them.

An engine knows blocks of Arrow tables and nothing of roles, k or hierarchies. A function given to
``map_blocks`` or ``map_groups`` must not depend on how rows were split or ordered: it breaks ties
by value, and what it needs besides its block travels in its closure or, where that is large,
by ``share``. It takes and returns ``pyarrow.Table``; on a cluster it is shipped to workers, so it
must be picklable by reference or closure and import kernels by module inside itself.

Blocks hold plain columns: ``load`` decodes dictionaries and forgets metadata and "not null"
marks, so that a function sees the same types on every engine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from incrowd.errors import DataError, EngineError, unknown
from incrowd.tables.table import Format

Blocks = Any
"""An engine's own handle on loaded rows; only that engine looks inside."""

BlockFunction = Callable[[pa.Table], pa.Table]

DEFAULT_MEMORY = 2 << 30
"""The bytes that a search may use for its blocks of work, unless it is told."""

N_ROWS = "n_rows"
"""The column of counted rows in what ``count`` returns."""

N_PEOPLE = "n_people"
"""The column of counted distinct people in what ``count`` returns."""


class Engine(Protocol):
    """Where rows live, and how they meet."""

    name: str
    memory_bytes: int
    is_out_of_core: bool
    """Whether whole files lie on it, so that rows need not pass through this process."""

    @property
    def n_workers(self) -> int:
        """How many block functions run side by side."""

    def load(self, table: pa.Table) -> Blocks:
        """Take a table in; its rows may be spread over blocks in any way."""

    def collect(self, blocks: Blocks) -> pa.Table:
        """Bring all rows back as one table, in no promised order."""

    def count(self, blocks: Blocks, by: Sequence[str], people: str | None = None) -> pa.Table:
        """Count rows (and distinct values of ``people``) per distinct combination of ``by``.

        Returns the columns ``by`` followed by ``n_rows`` (int64) and, with ``people``,
        ``n_people`` (int64). A null equals a null, also among people: rows whose person is not
        known count as one person together, so that a crowd is never taken for larger than it is.
        A NaN equals a NaN, and 0.0 equals −0.0. The order of the lines is not promised. With no
        ``by`` there is one line, the whole.
        """

    def map_blocks(self, blocks: Blocks, function: BlockFunction, schema: pa.Schema) -> Blocks:
        """Apply a function to every block, however rows were split into them.

        A block has at least one row: where there are no rows, nothing is called. What the
        function returns has the columns of ``schema``, in that order, and any number of rows.
        """

    def map_groups(
        self, blocks: Blocks, key: str, function: BlockFunction, schema: pa.Schema
    ) -> Blocks:
        """Apply a function once to all rows of each value of an integer column ``key``.

        Rows without a key (null) are a group too. Keys that count up from 0 spread best.
        """

    def share(self, value: Any) -> Callable[[], Any]:
        """Return a way to a value for block functions, sent to each worker at most once."""

    def describe(self) -> dict[str, object]:
        """Say what ran the job, for the audit: name, threads or master, versions."""

    def close(self) -> None:
        """Give back what the engine holds."""


@dataclass(frozen=True)
class Reading:
    """How files of rows are written, where it should not be found out.

    With ``is_release`` a folder must be marked as whole. With ``has_plain_zeros`` −0.0 is taken in
    as 0.0, as is due for what is to be released.
    """

    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None
    missing_values: tuple[str, ...] = ()
    is_release: bool = False
    has_plain_zeros: bool = False

    def taken(self, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """Return the rows of files as they are taken in."""
        from incrowd.tables.frames import drop_signed_zeros

        return map(drop_signed_zeros, tables) if self.has_plain_zeros else tables


@dataclass(frozen=True)
class PartFile:
    """One file of a folder: its name in it, its size and the SHA-256 of its bytes."""

    name: str
    n_bytes: int
    sha256: str


class ReleaseFolder(Protocol):
    """A folder of part files that gets its name, or is marked as whole, only by ``publish``."""

    where: str

    def parts(self) -> list[PartFile]:
        """List the part files that were written so far, by name."""

    def publish(self, manifest: str) -> None:
        """Put the manifest (JSON) beside the parts, then the mark that all is there."""


class OutOfCoreEngine(Engine, Protocol):
    """An engine on which whole files lie, so that rows need not pass through this process."""

    def read(self, location: str, reading: Reading) -> tuple[Blocks, Format]:
        """Take in a file, or the part files of a folder, as ``data.read.read_table`` reads them.

        Cells of text come as they stand, an empty one as null; typed columns are settled alike.
        Raises DataError, naming the file, where one is damaged or has other columns.
        """

    def schema(self, blocks: Blocks) -> pa.Schema:
        """Return the columns of loaded rows."""

    def counted(self, blocks: Blocks, by: Sequence[str]) -> Blocks:
        """Count rows as ``count`` does, and leave the lines where they are."""

    def select(self, blocks: Blocks, names: Sequence[str]) -> Blocks:
        """Return the same rows with these columns alone, in this order."""

    def in_order(self, blocks: Blocks) -> Iterator[pa.Table]:
        """Bring rows here in the order of their content, a table at a time.

        The order is that of ``codes.canonical_order``; each table but the last has
        ``TABLE_ROWS`` rows.
        """

    def write_folder(self, blocks: Blocks, folder: str, stored: Format) -> None:
        """Write rows in the order of their content as part files, in the order of their names."""

    def new_folder(self, final: str, *, force: bool) -> AbstractContextManager[ReleaseFolder]:
        """Return a folder to write to; left without ``publish``, nothing of it stays."""

    def hash_of(self, location: str) -> str:
        """Return the SHA-256 of a file, or of the names and hashes of a folder's part files."""


TABLE_ROWS = 1 << 20
"""How many rows ``in_order`` hands over at a time: those of a row group of a Parquet release."""


def hash_of_parts(parts: Iterable[PartFile]) -> str:
    """Return the SHA-256 of the names and hashes of part files: that of ``sha256sum part-*``."""
    lines = [f"{part.sha256}  {part.name}\n" for part in sorted(parts, key=lambda part: part.name)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema that blocks have: no dictionaries, no metadata, every column nullable."""
    return pa.schema([pa.field(field.name, _plain_type(field.type)) for field in schema])


def plain_table(table: pa.Table) -> pa.Table:
    """Return the table as blocks hold it; columns that are plain already are not copied."""
    if not table.column_names:
        raise DataError("the table has no columns", remedy="Name the columns that are needed.")
    repeated = {name for name in table.column_names if table.column_names.count(name) > 1}
    if repeated:
        raise DataError(
            f"column {sorted(repeated)[0]!r} occurs more than once",
            remedy="Give every column a name of its own.",
        )
    return table.cast(plain_schema(table.schema))


def require_columns(schema: pa.Schema, names: Iterable[str]) -> None:
    """Raise unless every name is a column that blocks of this schema have."""
    for name in names:
        if name not in schema.names:
            raise unknown("column", name, schema.names)


def require_countable(schema: pa.Schema, by: Sequence[str], people: str | None) -> None:
    """Raise unless these columns exist and none of them is called like a count."""
    require_columns(schema, [*by, *([people] if people else [])])
    for name in (N_ROWS, N_PEOPLE):
        if name in by:
            raise DataError(f"column {name!r} has the name of a count", remedy="Rename the column.")


def require_integer_key(schema: pa.Schema, key: str) -> None:
    """Raise unless ``key`` is an integer column."""
    require_columns(schema, [key])
    if not pa.types.is_integer(schema.field(key).type):
        raise EngineError(f"column {key!r} cannot be a key: it does not hold integers")


def conformed(result: object, schema: pa.Schema) -> pa.Table:
    """Return what a block function gave back in the types it declared, or raise.

    A column is cast where no value is lost (int64 to int32, say), never otherwise.
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

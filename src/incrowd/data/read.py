"""Read a table from a file, or say what is wrong with it, where, and how to mend it.

Limits: 10,000 columns (``MAX_COLUMNS``) and 1 MiB a cell (``MAX_CELL_BYTES``); a row of a text
file may have 1 GiB. Every fault is a DataError: an exception of a library never comes through.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from incrowd.data.kinds import NUMBER
from incrowd.data.sniff import MAX_COLUMNS
from incrowd.data.table import Format, Table, format_by_suffix
from incrowd.data.text import MAX_CELL_BYTES, open_text, text_tables
from incrowd.data.typed import CellFaults, refuse_types, settled_block
from incrowd.errors import DataError

__all__ = [
    "MAX_CELL_BYTES",
    "MAX_COLUMNS",
    "RowSource",
    "check_file",
    "check_text",
    "formula_cells",
    "open_rows",
    "read_table",
    "reason_of",
    "without_rows",
]

BATCH_ROWS = 1 << 16
"""Rows of a Parquet file that are decoded at a time."""

_NOT_TEXT = {
    b"PK\x03\x04": "a ZIP archive or a spreadsheet",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet",
    b"%PDF-": "a PDF",
    b"ARROW1\0\0": "an Arrow file",
    b"FEA1": "a Feather file",
    b"\xff\xff\xff\xff": "an Arrow stream",
    b"SQLite format 3\0": "a SQLite database",
}
_SPREADSHEET_RUNS = r"^([=+@-].|[\t\r])"
_NUMBER_ALL_THE_SAME = rf"^({NUMBER}|[+-]?[0-9][0-9.,]*) ?%?$"


@dataclass(frozen=True)
class RowSource:
    """A file, or several, of rows: their columns, how they are stored, and the rows in blocks.

    ``tables`` can be gone through once. A fault may show after rows were handed on: whoever takes
    them throws them away then.
    """

    schema: pa.Schema
    format: Format
    tables: Iterator[pa.Table]


def read_table(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    missing_values: tuple[str, ...] = (),
) -> Table:
    """Read CSV, TSV (also .gz, .zst), Parquet or Arrow; the name's ending tells which.

    Cells of text files come exactly as they stand, as strings, and an empty one is null. What is
    not stated of a text file is found: the delimiter among ``, ; tab |``, the encoding by its
    byte order mark or else UTF-8, the header unless the first line may be data. Without a header
    the columns are ``column_1`` and so on. Parquet and Arrow columns keep their types.

    Raises DataError; a doubt about the delimiter or the header is one too.
    """
    path = Path(path)
    tokens = tuple(missing_values)
    source = open_rows(
        path, delimiter=delimiter, encoding=encoding, header=header, missing_values=tokens
    )
    tables = list(source.tables)
    if not tables:
        raise without_rows(str(path), source.format)
    return Table(pa.concat_tables(tables), source.format, tokens, path.name)


def open_rows(
    path: Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    missing_values: tuple[str, ...] = (),
) -> RowSource:
    """Open a file to read it in blocks, as ``read_table`` reads it; it may turn out to be empty."""
    check_file(path)
    by_name = format_by_suffix(path)
    with _system_errors_told(path):
        if by_name.kind != "csv":
            schema, stored = _typed_head(path, by_name.kind)
            return RowSource(schema, stored, _typed_tables(path, by_name.kind))
        check_text(path)
        dialect, stored = open_text(
            path,
            delimiter=delimiter,
            encoding=encoding,
            header=header,
            missing_values=missing_values,
            expects_tabs=by_name.delimiter == "\t",
        )
    schema = pa.schema([(name, pa.string()) for name in dialect.names])

    def tables() -> Iterator[pa.Table]:
        with _system_errors_told(path):
            yield from text_tables(path, encoding, dialect)

    return RowSource(schema, stored, tables())


def without_rows(where: str, stored: Format) -> DataError:
    """Return the error for a file that has columns and nothing else."""
    if stored.kind != "csv":
        return DataError(f"{where}: there is no row", remedy="Give a table with rows.")
    what = "there is a header and no row" if stored.has_header else "there is no row"
    return DataError(f"{where}: {what}", remedy="Give a file with rows.")


def formula_cells(table: Table) -> dict[str, int]:
    """Count, per column, cells that a spreadsheet would run as formulas; no column without any.

    They begin with ``=``, ``+``, ``-`` or ``@`` and are no numbers, or with a tab or a carriage
    return. They are data and stay as they are: it is for the caller to warn.
    """
    found = {}
    for name, column in zip(table.columns, table.frame.columns, strict=True):
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            continue
        counted = pc.value_counts(column)
        values, counts = counted.field("values"), counted.field("counts")
        runs = pc.match_substring_regex(values, _SPREADSHEET_RUNS)
        is_number = pc.match_substring_regex(values, _NUMBER_ALL_THE_SAME)
        n_cells = pc.sum(counts.filter(pc.and_not(runs, is_number))).as_py() or 0
        if n_cells:
            found[name] = n_cells
    return found


def check_file(path: Path, *, may_be_empty: bool = False) -> None:
    """Raise unless the path is a regular file with something in it that may be read."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        near = _near_names(path)
        raise DataError(
            f"{path}: there is no such file",
            remedy=f"Did you mean {' or '.join(near)}?" if near else "Check the path.",
        ) from None
    except OSError as error:
        raise DataError(f"{path}: it cannot be read ({reason_of(error)})") from None
    if stat.S_ISDIR(mode):
        raise DataError(f"{path}: it is a folder", remedy="Name one file in it.")
    if not stat.S_ISREG(mode):
        raise DataError(
            f"{path}: it is not a regular file",
            remedy="Files are read more than once: write pipes and devices to a file first.",
        )
    if not os.access(path, os.R_OK):
        raise DataError(
            f"{path}: you may not read it", remedy="Ask its owner for the right to read it."
        )
    if path.stat().st_size == 0 and not may_be_empty:
        raise DataError(f"{path}: the file is empty", remedy="Give a file with rows.")


def _near_names(path: Path) -> list[str]:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except (OSError, ValueError):
        return []
    return get_close_matches(path.name, names, n=3, cutoff=0.7)


def check_text(path: Path) -> None:
    """Raise for a file that says in its first bytes that it is something else."""
    with path.open("rb") as file:
        head = file.read(16)
        file.seek(-min(4, path.stat().st_size), os.SEEK_END)
        is_parquet = head.startswith(b"PAR1") and file.read() == b"PAR1"
    found = next((what for mark, what in _NOT_TEXT.items() if head.startswith(mark)), "")
    if is_parquet or found:
        raise DataError(
            f"{path}: it is {found or 'a Parquet file'}, not text",
            remedy="Give it the ending of its kind, or export it as CSV in UTF-8.",
        )


def _typed_head(path: Path, kind: str) -> tuple[pa.Schema, Format]:
    with path.open("rb") as file, _damage_told(path, kind):
        source = _opened(file, kind, path)
        schema = settled_block(_schema_of(source).empty_table()).schema
        return schema, Format(kind, is_stream=isinstance(source, pa.RecordBatchReader))


def _typed_tables(path: Path, kind: str) -> Iterator[pa.Table]:
    faults = CellFaults(str(path))
    with _system_errors_told(path), path.open("rb") as file, _damage_told(path, kind):
        for batch in _batches(_opened(file, kind, path)):
            if batch.num_rows:
                table = pa.Table.from_batches([batch])
                table.validate(full=True)
                table = settled_block(table)
                faults.look(table)
                yield table
    faults.refuse()


@contextmanager
def _system_errors_told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:  # of the system: those of pyarrow have been told apart by now
        raise DataError(f"{path}: it cannot be read ({reason_of(error)})") from None


@contextmanager
def _damage_told(path: Path, kind: str) -> Iterator[None]:
    try:
        yield
    except DataError:
        raise
    except MemoryError:  # a damaged length asks for more than there is, too
        raise DataError(
            f"{path}: it does not fit into memory, or it is damaged",
            remedy="Read it on a larger machine, or write it again.",
        ) from None
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        raise DataError(
            f"{path}: it is no {kind.capitalize()} file, or it is damaged or cut off",
            remedy="Write it again, or fetch it again.",
        ) from None


def _opened(file: Any, kind: str, path: Path) -> Any:
    """Return pyarrow's reader of a Parquet or Arrow file whose columns are all of known types."""
    if kind == "parquet":
        from pyarrow import parquet

        source = parquet.ParquetFile(file)
    else:
        head = file.read(8)
        file.seek(0)
        if head.startswith(b"FEA1"):
            raise DataError(
                f"{path}: it is in the first Feather format, which is no longer read",
                remedy="Write it again as Feather 2, Parquet or CSV.",
            )
        is_stream = not head.startswith(b"ARROW1")
        source = pa.ipc.open_stream(file) if is_stream else pa.ipc.open_file(file)
    refuse_types(_schema_of(source), str(path))
    return source


def _schema_of(source: Any) -> pa.Schema:
    return source.schema_arrow if hasattr(source, "schema_arrow") else source.schema


def _batches(source: Any) -> Iterator[pa.RecordBatch]:
    if hasattr(source, "iter_batches"):
        return cast("Iterator[pa.RecordBatch]", source.iter_batches(BATCH_ROWS))
    if isinstance(source, pa.RecordBatchReader):
        return iter(source)
    return (source.get_batch(number) for number in range(source.num_record_batches))


def reason_of(error: OSError) -> str:
    """Return the system's words for an error, without the path."""
    return os.strerror(error.errno) if error.errno else type(error).__name__

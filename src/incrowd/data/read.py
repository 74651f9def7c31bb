"""Read a table from a file, or say what is wrong with it, where, and how to mend it.

Limits: 10,000 columns (``MAX_COLUMNS``) and 1 MiB a cell (``MAX_CELL_BYTES``); a row of a text
file may have 1 GiB. Every fault is a DataError: an exception of a library never comes through.
"""

from __future__ import annotations

import os
import stat
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from incrowd.data.kinds import NUMBER
from incrowd.data.sniff import MAX_COLUMNS
from incrowd.data.table import Format, Table, format_by_suffix
from incrowd.data.text import MAX_CELL_BYTES, read_text
from incrowd.data.typed import refuse_types, settled
from incrowd.errors import DataError

__all__ = [
    "MAX_CELL_BYTES",
    "MAX_COLUMNS",
    "check_file",
    "check_text",
    "formula_cells",
    "read_table",
    "reason_of",
]

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
    check_file(path)
    by_name = format_by_suffix(path)
    tokens = tuple(missing_values)
    try:
        if by_name.kind == "csv":
            check_text(path)
            frame, stored = read_text(
                path,
                delimiter=delimiter,
                encoding=encoding,
                header=header,
                missing_values=tokens,
                expects_tabs=by_name.delimiter == "\t",
            )
        else:
            frame, stored = _read_typed(path, by_name.kind)
    except OSError as error:  # of the system: those of pyarrow have been told apart by now
        raise DataError(f"{path}: it cannot be read ({reason_of(error)})") from None
    return Table(frame, stored, tokens, path.name)


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


def _read_typed(path: Path, kind: str) -> tuple[pa.Table, Format]:
    with path.open("rb") as file:
        try:
            frame, is_stream = _parquet(file, path) if kind == "parquet" else _arrow(file, path)
            frame.validate(full=True)
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
    return settled(frame, str(path)), Format(kind, is_stream=is_stream)


def _parquet(file: Any, path: Path) -> tuple[pa.Table, bool]:
    from pyarrow import parquet

    source = parquet.ParquetFile(file)
    refuse_types(source.schema_arrow, str(path))
    return source.read(), False


def _arrow(file: Any, path: Path) -> tuple[pa.Table, bool]:
    source = pa.BufferReader(file.read())  # columns point into it: nothing is copied
    head = source.read(8)
    source.seek(0)
    if head.startswith(b"FEA1"):
        raise DataError(
            f"{path}: it is in the first Feather format, which is no longer read",
            remedy="Write it again as Feather 2, Parquet or CSV.",
        )
    is_stream = not head.startswith(b"ARROW1")
    blocks = pa.ipc.open_stream(source) if is_stream else pa.ipc.open_file(source)
    refuse_types(blocks.schema, str(path))
    return blocks.read_all(), is_stream


def reason_of(error: OSError) -> str:
    """Return the system's words for an error, without the path."""
    return os.strerror(error.errno) if error.errno else type(error).__name__

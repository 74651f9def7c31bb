"""Read tables from files and from folders of part files.

Whatever is wrong with a file raises a DataError that says where, what and how to fix it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from incrowd.codes import compact_text, count_values
from incrowd.errors import DataError
from incrowd.tables.columns.formats import is_text
from incrowd.tables.columns.types import NUMBER, to_mask
from incrowd.tables.files.partitions import find_partitions, is_partition, nested_folder_error
from incrowd.tables.files.text import detect_text_format, read_text_blocks
from incrowd.tables.files.text_encodings import WINDOWS_1252
from incrowd.tables.frames import CellChecks, normalize_block, refuse_unsupported_types
from incrowd.tables.table import IN_MEMORY, MANIFEST, SUCCESS, Format, Table, format_by_suffix

BATCH_ROWS = 1 << 16
"""Rows of a Parquet file that are decoded at a time."""

_NOT_TEXT = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "a workbook of an old Excel",
    b"$FL": "an SPSS file",
    b"%PDF-": "a PDF",
    b"ARROW1\0\0": "an Arrow file",
    b"FEA1": "a Feather file",
    b"\xff\xff\xff\xff": "an Arrow stream",
    b"SQLite format 3\0": "a SQLite database",
}
_FORMULA_START = r"^([=+@-].|[\t\r])"
_SIGNED_NUMBER = rf"^({NUMBER}|[+-]?[0-9][0-9.,]*) ?%?$"

_UNFINISHED = (MANIFEST, "_temporary")  # in a folder whose writer has not finished
_MOST_LEVELS = 20  # of folders within a partitioned folder


@dataclass(frozen=True)
class RowSource:
    """The rows of a file or of several: their columns, their format, and the rows in blocks.

    ``tables`` can be iterated once. A fault may be found after the first rows were yielded: the
    caller must then discard them.
    """

    schema: pa.Schema
    format: Format
    tables: Iterator[pa.Table]
    notes: tuple[str, ...] = ()


def read_table(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    missing_values: tuple[str, ...] = (),
    sheet: str | None = None,
    value_labels: str = "labels",
    is_compact: bool = False,
) -> Table:
    """Read CSV, TSV (also .gz, .zst), Parquet, Arrow, Excel, SPSS, Stata or SAS by the extension.

    Cells of text files come exactly as they stand, as strings, and an empty one is null. What is
    not stated of a text file is detected: the delimiter among ``, ; tab |``, the encoding by its
    byte order mark or else by its bytes (UTF-8; UTF-16 or windows-1252 where that is clear), the
    header unless the first line may be data. Without a header the columns are ``column_1`` and so
    on. Columns of other files keep their types. ``sheet`` names that of a workbook, if several hold
    data; ``value_labels`` says whether the labels or the codes of a statistics file are read.
    ``is_compact`` holds repeating text as dictionary arrays (``codes.compact_text``).

    Raises DataError, also where the delimiter or the header is ambiguous.
    """
    path = Path(path)
    tokens = tuple(missing_values)
    source = open_rows(
        path,
        delimiter=delimiter,
        encoding=encoding,
        header=header,
        missing_values=tokens,
        sheet=sheet,
        value_labels=value_labels,
        has_dictionaries=is_compact,
    )
    tables = list(source.tables)
    if not tables:
        raise no_rows_error(str(path), source.format)
    notes = (*source.notes, *notes_on_encoding(source.format, encoding))
    frame = pa.concat_tables(tables)
    del tables
    frame = compact_text(frame) if is_compact else frame
    return Table(frame, source.format, tokens, path.name, notes)


def open_rows(
    path: Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    missing_values: tuple[str, ...] = (),
    sheet: str | None = None,
    value_labels: str = "labels",
    has_dictionaries: bool = False,
) -> RowSource:
    """Open a file to read it in blocks, as ``read_table`` reads it; it may turn out to be empty.

    With ``has_dictionaries``, text that a Parquet file holds as dictionaries is left so.
    """
    check_file(path)
    by_name = format_by_suffix(path)
    with system_errors_as_data_errors(path):
        if by_name.kind in IN_MEMORY:
            table, notes = _read_whole(path, by_name.kind, sheet, value_labels)
            return RowSource(table.schema, by_name, iter([table]), notes)
        if by_name.kind != "csv":
            schema, stored = _typed_head(path, by_name.kind)
            return RowSource(schema, stored, _typed_tables(path, by_name.kind, has_dictionaries))
        check_text(path)
        dialect, stored = detect_text_format(
            path,
            delimiter=delimiter,
            encoding=encoding,
            header=header,
            missing_values=missing_values,
            expects_tabs=by_name.delimiter == "\t",
        )
    schema = pa.schema([(name, pa.string()) for name in dialect.names])

    def tables() -> Iterator[pa.Table]:
        with system_errors_as_data_errors(path):
            yield from read_text_blocks(path, stored.encoding, dialect)

    return RowSource(schema, stored, tables())


def _read_whole(
    path: Path, kind: str, sheet: str | None, value_labels: str
) -> tuple[pa.Table, tuple[str, ...]]:
    """Return the table of a workbook or a statistics file, and what is to be told of it."""
    if kind == "xlsx":
        from incrowd.tables.files.excel import read_excel

        return read_excel(path, sheet), ()
    from incrowd.tables.files.statistics import read_statistics

    return read_statistics(path, kind, value_labels)


def notes_on_encoding(stored: Format, stated: str | None) -> tuple[str, ...]:
    """Return what to tell of the encoding that a text file was found to have."""
    if stated is not None or stored.kind != "csv" or stored.encoding == "utf-8":
        return ()
    name = {"cp1252": WINDOWS_1252}.get(stored.encoding, stored.encoding)
    return (f"read as {name}, detected; another encoding can be stated with --encoding",)


def no_rows_error(where: str, stored: Format) -> DataError:
    """Return the error for a file that has columns and nothing else."""
    if stored.kind != "csv":
        return DataError(f"{where}: no rows", remedy="Give a table with rows.")
    what = "a header and no rows" if stored.has_header else "no rows"
    return DataError(f"{where}: {what}", remedy="Give a file with rows.")


def count_formula_cells(table: Table) -> dict[str, int]:
    """Count, per column, the cells that a spreadsheet would run as formulas; omit columns without.

    They begin with ``=``, ``+``, ``-`` or ``@`` and are not numbers, or with a tab or a carriage
    return. They are data and stay as they are; the caller may warn.
    """
    found = {}
    for name, column in zip(table.columns, table.frame.columns, strict=True):
        if not is_text(column.type):
            continue
        values, counts = count_values(column)
        runs = pc.match_substring_regex(values, _FORMULA_START)
        is_number = pc.match_substring_regex(values, _SIGNED_NUMBER)
        n_cells = int(counts[to_mask(pc.fill_null(pc.and_not(runs, is_number), False))].sum())
        if n_cells:
            found[name] = n_cells
    return found


def check_file(path: Path, *, may_be_empty: bool = False) -> None:
    """Raise unless the path is a regular file with something in it that may be read."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        near = _similar_names(path)
        raise DataError(
            f"{path}: no such file",
            remedy=f"Did you mean {' or '.join(near)}?" if near else "Check the path.",
        ) from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({reason_of(error)})") from None
    if stat.S_ISDIR(mode):
        raise DataError(f"{path}: is a folder", remedy="Name one file in it.")
    if not stat.S_ISREG(mode):
        raise DataError(
            f"{path}: not a regular file",
            remedy="Files are read more than once: write pipes and devices to a file first.",
        )
    if not os.access(path, os.R_OK):
        raise DataError(
            f"{path}: permission denied", remedy="Ask its owner for permission to read it."
        )
    if path.stat().st_size == 0 and not may_be_empty:
        raise DataError(f"{path}: the file is empty", remedy="Give a file with rows.")


def _similar_names(path: Path) -> list[str]:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except (OSError, ValueError):
        return []
    return get_close_matches(path.name, names, n=3, cutoff=0.7)


def check_text(path: Path) -> None:
    """Raise for a file whose first bytes show that it is not text."""
    with path.open("rb") as file:
        head = file.read(16)
        file.seek(-min(4, path.stat().st_size), os.SEEK_END)
        is_parquet = head.startswith(b"PAR1") and file.read() == b"PAR1"
    found = next((what for mark, what in _NOT_TEXT.items() if head.startswith(mark)), "")
    if is_parquet or found:
        raise DataError(
            f"{path}: is {found or 'a Parquet file'}, not text",
            remedy="Give it the matching file extension, or export it as CSV in UTF-8.",
        )


def _typed_head(path: Path, kind: str) -> tuple[pa.Schema, Format]:
    with path.open("rb") as file, damage_as_data_errors(path, kind):
        source = _open_typed(file, kind, path)
        schema = normalize_block(_schema_of(source).empty_table()).schema
        return schema, Format(kind, is_stream=isinstance(source, pa.RecordBatchReader))


def _typed_tables(path: Path, kind: str, has_dictionaries: bool) -> Iterator[pa.Table]:
    faults = CellChecks(str(path))
    with (
        system_errors_as_data_errors(path),
        path.open("rb") as file,
        damage_as_data_errors(path, kind),
    ):
        source = _open_typed(file, kind, path)
        kept = _dictionary_columns(source) if has_dictionaries and kind == "parquet" else ()
        if kept:
            source = type(source)(file, metadata=source.metadata, read_dictionary=kept)
        for batch in _batches(source):
            if batch.num_rows:
                table = pa.Table.from_batches([batch])
                table.validate(full=True)
                table = normalize_block(table, kept)
                faults.check(table)
                yield table
    faults.refuse()


@contextmanager
def system_errors_as_data_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:  # of the system: those of pyarrow are DataErrors by now
        raise DataError(f"{path}: cannot be read ({reason_of(error)})") from None


@contextmanager
def damage_as_data_errors(path: Path, kind: str) -> Iterator[None]:
    try:
        yield
    except DataError:
        raise
    except MemoryError:  # a damaged length asks for more than there is, too
        raise DataError(
            f"{path}: does not fit into memory, or is corrupt",
            remedy="Read it on a larger machine, or write it again.",
        ) from None
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        raise damaged_file_error(str(path), kind) from None


def damaged_file_error(where: str, kind: str) -> DataError:
    """Return the error for a Parquet or Arrow file that cannot be read."""
    return DataError(
        f"{where}: not a valid {kind.capitalize()} file (corrupt or truncated)",
        remedy="Write it again, or fetch it again.",
    )


def _open_typed(file: Any, kind: str, path: Path) -> Any:
    """Return pyarrow's reader of a Parquet or Arrow file; raise for unsupported column types."""
    if kind == "parquet":
        from pyarrow import parquet

        source = parquet.ParquetFile(file)
    else:
        head = file.read(8)
        file.seek(0)
        if head.startswith(b"FEA1"):
            raise DataError(
                f"{path}: Feather version 1 is not supported",
                remedy="Write it again as Feather 2, Parquet or CSV.",
            )
        is_stream = not head.startswith(b"ARROW1")
        source = pa.ipc.open_stream(file) if is_stream else pa.ipc.open_file(file)
    refuse_unsupported_types(_schema_of(source), str(path))
    return source


_MOST_OF_CHUNK = 0.25  # of a column's bytes, up to which its dictionary is one of few values,
_MOST_A_CELL = 0.125  # or of a byte for each of its cells


def _dictionary_columns(source: Any) -> tuple[str, ...]:
    """Return the text columns of a Parquet file whose dictionaries hold few values."""
    groups = [source.metadata.row_group(place) for place in range(source.metadata.num_row_groups)]
    return tuple(
        field.name
        for place, field in enumerate(source.schema_arrow)
        if is_text(field.type) and _has_few_values([group.column(place) for group in groups])
    )


def _has_few_values(chunks: Sequence[Any]) -> bool:
    if not all(chunk.has_dictionary_page for chunk in chunks):
        return False
    n_bytes = sum(chunk.data_page_offset - chunk.dictionary_page_offset for chunk in chunks)
    of_chunks = _MOST_OF_CHUNK * sum(chunk.total_compressed_size for chunk in chunks)
    return bool(n_bytes <= max(of_chunks, _MOST_A_CELL * sum(chunk.num_values for chunk in chunks)))


def _schema_of(source: Any) -> pa.Schema:
    return source.schema_arrow if hasattr(source, "schema_arrow") else source.schema


def _batches(source: Any) -> Iterator[pa.RecordBatch]:
    if hasattr(source, "iter_batches"):
        return cast("Iterator[pa.RecordBatch]", source.iter_batches(BATCH_ROWS))
    if isinstance(source, pa.RecordBatchReader):
        return iter(source)
    return (source.get_batch(number) for number in range(source.num_record_batches))


def reason_of(error: OSError) -> str:
    """Return the system's message for an error, without the path."""
    return os.strerror(error.errno) if error.errno else type(error).__name__


# ── folders of part files ───────────────────────────────────────────────────────────────────


def part_files(
    folder: Path,
    kind_of: Callable[[Path], str] | None = None,
    *,
    may_be_partitioned: bool = False,
) -> list[Path]:
    """Return the data files of a folder, by name; raise where they are not all of one format.

    ``kind_of`` returns the format of a path; by default that of a table, by its extension.
    """
    paths = data_files(folder, may_be_partitioned=may_be_partitioned)
    require_one_format(str(folder), paths, kind_of)
    return paths


def require_one_format(
    folder: str, paths: Sequence[Path], kind_of: Callable[[Path], str] | None = None
) -> None:
    """Raise unless part files are all of one format, by their names."""
    kind_of = kind_of or (lambda path: format_by_suffix(path).kind)
    kinds = {kind_of(path): path for path in reversed(paths)}
    if len(kinds) > 1:
        first, second = sorted(kinds.values())[:2]
        raise DataError(
            f"{folder}: its part files have different formats ({first.name}, {second.name})",
            remedy="Keep files of one format in the folder: move the others away.",
        )


def data_files(folder: Path, *, may_be_partitioned: bool = False) -> list[Path]:
    """Return the files of a folder that are data, by name.

    Names that begin with ``_`` or ``.`` are not. Raises DataError for a folder that was not
    finished (a manifest or ``_temporary`` without ``_SUCCESS``), or that holds none or folders;
    those of partitions (``year=2020``) only if it may not be partitioned.
    """
    paths = list(_data_files_in(folder, folder, _MOST_LEVELS if may_be_partitioned else 0))
    if not paths:
        raise no_part_file_error(str(folder))
    return paths


def _data_files_in(folder: Path, top: Path, n_levels: int) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise DataError(f"{folder}: cannot be read ({reason_of(error)})") from None
    names = {entry.name for entry in entries}
    if SUCCESS not in names and names.intersection(_UNFINISHED):
        raise incomplete_folder_error(str(folder))
    for entry in entries:
        is_folder = entry.is_dir()
        if entry.name.startswith((".", "_")) and not (is_folder and is_partition(entry.name)):
            continue
        if not is_folder:
            yield folder / entry.name
        elif n_levels and is_partition(entry.name):
            yield from _data_files_in(folder / entry.name, top, n_levels - 1)
        else:
            raise nested_folder_error(str(top), entry.name)


def no_part_file_error(folder: str) -> DataError:
    """Return the error for a folder without part files."""
    return DataError(f"{folder}: contains no part files", remedy="Check the path.")


def open_location(
    location: Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    missing_values: tuple[str, ...] = (),
    sheet: str | None = None,
    value_labels: str = "labels",
) -> RowSource:
    """Open a file, or the part files of a folder, to read rows in blocks.

    Part files share one dialect and one list of columns, those of the first, to which the folders
    of partitions add theirs. A part file may be empty, as long as another has rows.
    """
    paths: list[Path] = [location]
    folders: list[tuple[str, ...]] = [()]
    if location.is_dir():
        paths = part_files(location, may_be_partitioned=True)
        folders = folders_of_parts(location, paths)
    is_text = format_by_suffix(paths[0]).kind == "csv"
    partitions = find_partitions(folders, str(location), is_text=is_text)
    first = open_rows(
        paths[0],
        delimiter=delimiter,
        encoding=encoding,
        header=header,
        missing_values=missing_values,
        sheet=sheet,
        value_labels=value_labels,
    )
    stored = first.format

    def rest() -> Iterator[RowSource]:
        for path in paths[1:]:
            source = open_rows(
                path,
                delimiter=stored.delimiter if is_text else None,
                encoding=encoding,
                header=stored.has_header if is_text else None,
                missing_values=missing_values,
                sheet=sheet,
                value_labels=value_labels,
            )
            if source.schema != first.schema:
                raise different_columns_error(str(path), source.schema, paths[0].name, first.schema)
            yield source

    def tables() -> Iterator[pa.Table]:
        n_rows = 0
        for source, names in zip(chain([first], rest()), folders, strict=True):
            for table in partitions.extend(source.tables, names):
                n_rows += table.num_rows
                yield table
        if not n_rows:
            raise no_rows_error(str(location), stored)

    schema = partitions.extend_schema(first.schema, str(location))
    return replace(first, schema=schema, tables=tables())


def read_folder(
    folder: Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    missing_values: tuple[str, ...] = (),
    sheet: str | None = None,
    value_labels: str = "labels",
    is_compact: bool = False,
) -> Table:
    """Read the part files of a folder into memory, as ``read_table`` reads a file."""
    source = open_location(
        folder,
        delimiter=delimiter,
        encoding=encoding,
        header=header,
        missing_values=missing_values,
        sheet=sheet,
        value_labels=value_labels,
    )
    notes = (*source.notes, *notes_on_encoding(source.format, encoding))
    frame = pa.concat_tables(source.tables)
    frame = compact_text(frame) if is_compact else frame
    return Table(frame, source.format, tuple(missing_values), folder.name, notes)


def folders_of_parts(location: Path, paths: Sequence[Path]) -> list[tuple[str, ...]]:
    """Return the names of the folders between a location and each of its part files."""
    return [path.relative_to(location).parts[:-1] for path in paths]


def incomplete_folder_error(location: str) -> DataError:
    """Return the error for a folder without the marker that it is complete."""
    return DataError(
        f"{location}: the folder is incomplete: it contains no {SUCCESS}",
        remedy="Its writer did not finish: write it again.",
    )


def different_columns_error(
    name: str, schema: pa.Schema, first: str, expected: pa.Schema
) -> DataError:
    """Return the error for a part file whose columns are not those of the first."""
    if schema.names == expected.names:
        pairs = enumerate(zip(schema.types, expected.types, strict=True), 1)
        number = next(number for number, (kind, other) in pairs if kind != other)
        what = f"the type of column {number} differs from {first}"
    elif len(schema) != len(expected):
        what = f"has {len(schema):,} columns, and {first} has {len(expected):,}"
    else:
        what = f"the names of its columns differ from those of {first}"
    return DataError(f"{name}: {what}", remedy="Write all part files with the same columns.")


def reread_table(
    path: Path, stored: Format, columns: Sequence[str], missing_values: tuple[str, ...]
) -> Table:
    """Read a release back as it was written; without a header its columns get their names back."""
    if stored.kind != "csv":
        return read_table(path, missing_values=missing_values, is_compact=True)
    table = read_table(
        path,
        delimiter=stored.delimiter,
        encoding="utf-8",
        header=stored.has_header,
        missing_values=missing_values,
        is_compact=True,
    )
    if stored.has_header:
        return table
    return replace(table, frame=table.frame.rename_columns(list(columns)))

"""A folder of part files as one table: which files they are, and their rows in blocks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pyarrow as pa

from incrowd.data.read import RowSource, open_rows, reason_of, without_rows
from incrowd.data.table import MANIFEST, SUCCESS, format_by_suffix
from incrowd.errors import DataError

_UNFINISHED = (MANIFEST, "_temporary")


def part_files(folder: Path, kind_of: Callable[[Path], str] | None = None) -> list[Path]:
    """Return the files of a folder that hold rows, by name.

    As ``data_files`` does; raises as well where they are not all of one kind (``kind_of`` a path,
    that of a table if it is not given).
    """
    paths = data_files(folder)
    kind_of = kind_of or (lambda path: format_by_suffix(path).kind)
    kinds = {kind_of(path): path for path in reversed(paths)}
    if len(kinds) > 1:
        first, second = sorted(kinds.values())[:2]
        raise DataError(
            f"{folder}: its part files are not of one kind ({first.name}, {second.name})",
            remedy="Read files of one kind: move the others away.",
        )
    return paths


def data_files(folder: Path) -> list[Path]:
    """Return the files of a folder that are data, by name.

    Names that begin with ``_`` or ``.`` are not. Raises DataError for a folder that was not
    finished (a manifest or ``_temporary`` without ``_SUCCESS``), or that holds none or folders.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise DataError(f"{folder}: it cannot be read ({reason_of(error)})") from None
    names = {entry.name for entry in entries}
    if SUCCESS not in names and names.intersection(_UNFINISHED):
        raise not_whole(str(folder))
    parts = [entry for entry in entries if not entry.name.startswith(("_", "."))]
    for entry in parts:
        if entry.is_dir():
            raise DataError(
                f"{folder}: there is a folder in it, {entry.name!r}",
                remedy="Part files lie beside each other: folders by value (year=2020) are not "
                "read, since the value is in no file.",
            )
    if not parts:
        raise DataError(f"{folder}: there is no part file in it", remedy="Check the path.")
    return [folder / entry.name for entry in parts]


def open_location(
    location: Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    missing_values: tuple[str, ...] = (),
) -> RowSource:
    """Open a file, or the part files of a folder, to read rows in blocks.

    Part files are written alike: what is found of the first holds for all of them, and each has
    the columns of the first. One without rows is fine, as long as others have some.
    """
    paths = part_files(location) if location.is_dir() else [location]
    first = open_rows(
        paths[0],
        delimiter=delimiter,
        encoding=encoding,
        header=header,
        missing_values=missing_values,
    )
    stored = first.format

    def rest() -> Iterator[RowSource]:
        is_text = stored.kind == "csv"
        for path in paths[1:]:
            source = open_rows(
                path,
                delimiter=stored.delimiter if is_text else None,
                encoding=encoding,
                header=stored.has_header if is_text else None,
                missing_values=missing_values,
            )
            if source.schema != first.schema:
                raise other_columns(str(path), source.schema, paths[0].name, first.schema)
            yield source

    def tables() -> Iterator[pa.Table]:
        n_rows = 0
        for source in chain([first], rest()):
            for table in source.tables:
                n_rows += table.num_rows
                yield table
        if not n_rows:
            raise without_rows(str(location), stored)

    return replace(first, tables=tables())


def not_whole(location: str) -> DataError:
    """Return the error for a folder without the mark that all of it is there."""
    return DataError(
        f"{location}: the folder is not whole: there is no {SUCCESS} in it",
        remedy="Whoever wrote it did not finish: write it again.",
    )


def other_columns(name: str, schema: pa.Schema, first: str, expected: pa.Schema) -> DataError:
    """Return the error for a part file whose columns are not those of the first."""
    if schema.names == expected.names:
        pairs = enumerate(zip(schema.types, expected.types, strict=True), 1)
        number = next(number for number, (kind, other) in pairs if kind != other)
        what = f"column {number} has another type than in {first}"
    elif len(schema) != len(expected):
        what = f"it has {len(schema):,} columns, and {first} has {len(expected):,}"
    else:
        what = f"its columns are called otherwise than those of {first}"
    return DataError(f"{name}: {what}", remedy="Write all part files with the same columns.")

"""A table as it was read: columns in their order, and how the file was written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from incrowd.errors import DataError, ProblemList, unknown

if TYPE_CHECKING:
    from incrowd.tables.columns.formats import ColumnReading

COMPRESSIONS = {".gz": "gz", ".zst": "zst"}

SUCCESS, MANIFEST = "_SUCCESS", "_manifest.json"
"""The mark of a whole folder, and the list of its part files."""


@dataclass(frozen=True)
class Format:
    """How a table is stored, so that a release can come back the same way."""

    kind: str = "csv"  # csv, parquet, arrow, xlsx, or one of STATISTICS
    compression: str = ""  # "", gz or zst (csv only)
    delimiter: str = ","
    encoding: str = "utf-8"  # how the input was decoded; releases are utf-8, or utf-8-sig
    has_header: bool = True
    newline: str = "\n"
    is_stream: bool = False  # arrow only: the streaming format instead of the file format
    quoted_columns: tuple[int, ...] | None = None  # csv only: where to quote; None: by the rows


STATISTICS = ("sav", "dta", "sas7bdat", "xpt")
"""The formats of SPSS, Stata and SAS, which are read and not written."""

IN_MEMORY = ("xlsx", *STATISTICS)
"""The formats that are read into memory as a whole."""

SUFFIXES = {
    ".csv": Format(),
    ".tsv": Format(delimiter="\t"),
    ".txt": Format(),
    ".parquet": Format("parquet"),
    ".pq": Format("parquet"),
    ".arrow": Format("arrow"),
    ".feather": Format("arrow"),
    ".ipc": Format("arrow"),
    ".arrows": Format("arrow", is_stream=True),
    ".xlsx": Format("xlsx"),
    ".sav": Format("sav"),
    ".zsav": Format("sav"),
    ".dta": Format("dta"),
    ".sas7bdat": Format("sas7bdat"),
    ".xpt": Format("xpt"),
}

_OTHER_SPREADSHEETS = (".xls", ".xlsb", ".xlsm", ".ods", ".numbers")


def format_by_suffix(path: Path) -> Format:
    """Return the format by a file's extension: kind, compression, and tabs for .tsv.

    Case does not matter. Raises DataError for an unknown extension.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = COMPRESSIONS.get(suffixes[-1], "") if suffixes else ""
    if compression:
        suffixes.pop()
    known = SUFFIXES.get(suffixes[-1]) if suffixes else None
    if suffixes and suffixes[-1] in _OTHER_SPREADSHEETS:
        raise DataError(
            f"{path}: {suffixes[-1]} workbooks are not supported",
            remedy="Open it in Excel (or LibreOffice) and save it as .xlsx.",
        )
    if known is None:
        ending = f"ends in {suffixes[-1]!r}" if suffixes else "has no ending"
        raise DataError(
            f"{path}: the name {ending}, which is not a known table format",
            remedy=f"Known are {', '.join(SUFFIXES)}; .csv, .tsv and .txt may be followed by "
            ".gz or .zst.",
        )
    if compression and known.kind != "csv":
        raise DataError(
            f"{path}: {known.kind} files are not compressed as a whole",
            remedy=f"Leave {path.suffix} off; of an input, unpack it first.",
        )
    return replace(known, compression=compression)


def suffix_of(stored: Format) -> str:
    """Return the file extension of a format."""
    like = Format(
        stored.kind,
        delimiter="\t" if stored.kind == "csv" and stored.delimiter == "\t" else ",",
        is_stream=stored.is_stream,
    )
    suffix = next(suffix for suffix, known in SUFFIXES.items() if known == like)
    return suffix + next((end for end, by in COMPRESSIONS.items() if by == stored.compression), "")


@dataclass(frozen=True)
class Table:
    """Columns as Arrow arrays; a null is a missing value.

    Columns of text files are strings exactly as they stand in the file (an empty cell is null);
    columns of Parquet and Arrow files and of frames keep their types. ``missing_values`` are
    tokens that also mean missing; they stay in the columns as they were read. ``notes`` tell what
    was detected or changed on reading. ``readings`` are the
    columns whose dates or numbers are in the canonical form here and in another one in the file.
    """

    frame: pa.Table
    format: Format = field(default_factory=Format)
    missing_values: tuple[str, ...] = ()
    name: str = "the table"
    notes: tuple[str, ...] = ()
    readings: Mapping[str, ColumnReading] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.frame.num_rows)

    @property
    def columns(self) -> list[str]:
        """The columns' names, in the file's order."""
        return list(self.frame.column_names)

    def require(self, names: list[str] | tuple[str, ...], where: str) -> None:
        """Raise unless every name is a column, naming the near ones of each that is not."""
        missing_columns(names, self.columns, where).refuse()


def missing_columns(names: Iterable[str], columns: list[str], where: str) -> ProblemList:
    """Return a problem per name that is not among the columns, each with the near ones."""
    problems = ProblemList()
    problems.extend(
        unknown("column", name, columns, where=where) for name in names if name not in columns
    )
    return problems

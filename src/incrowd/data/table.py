"""A table as it was read: columns in their order, and how the file was written."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from incrowd.errors import unknown


@dataclass(frozen=True)
class Format:
    """How a table is stored, so that a release can come back the same way."""

    kind: str = "csv"  # csv, parquet or arrow
    compression: str = ""  # "", gz or zst (csv only)
    delimiter: str = ","
    encoding: str = "utf-8"  # how the input was decoded; releases are written in UTF-8
    has_header: bool = True
    newline: str = "\n"


@dataclass(frozen=True)
class Table:
    """Columns as Arrow arrays; a null is a missing value.

    Columns of text files are strings exactly as they stand in the file (an empty cell is null);
    columns of Parquet and Arrow files and of frames keep their types. ``missing_values`` are
    tokens that also mean missing; they stay in the columns as they were read.
    """

    frame: pa.Table
    format: Format = field(default_factory=Format)
    missing_values: tuple[str, ...] = ()
    name: str = "the table"

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.frame.num_rows)

    @property
    def columns(self) -> list[str]:
        """The columns' names, in the file's order."""
        return list(self.frame.column_names)

    def require(self, names: list[str] | tuple[str, ...], where: str) -> None:
        """Raise unless every name is a column, naming the near ones."""
        for name in names:
            if name not in self.frame.column_names:
                raise unknown("column", name, self.columns, where=where)

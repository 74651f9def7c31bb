"""How data are written and what they hold, where it must be stated: tables, sets, rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incrowd.errors import JobError, unknown
from incrowd.guarantees.evidence import TABLES
from incrowd.options import documented, option
from incrowd.sets.sets import BIPARTITE, GRAPHS
from incrowd.transactions.closure import CLOSURES

if TYPE_CHECKING:
    from pathlib import Path

    from incrowd.engines.base import ReadOptions
    from incrowd.sets.format import SetOptions
    from incrowd.tables.columns.normalize import StatedFormats
    from incrowd.tables.table import Table


VALUE_LABELS = ("labels", "codes")
SET_KINDS = ("baskets", "edges", "pairs", "lists", "npz", "mtx", "one-hot")


@documented
@dataclass(frozen=True)
class InputOptions:
    """How the data file is written, where it should not be found out."""

    delimiter: str | None = option(None, help="Delimiter; detected if omitted.")
    encoding: str | None = option(
        None, help="Text encoding; UTF-8, UTF-16 and windows-1252 are detected."
    )
    header: bool | None = option(
        None, help="Whether the first line holds column names; detected if omitted."
    )
    missing_values: tuple[str, ...] = option(
        (), help="Further tokens for missing values besides the empty cell: '?,NA'."
    )
    date_formats: Mapping[str, str] = option(
        {},
        flag="--date-format",
        help="How a column of text writes dates, COLUMN=dd.mm.yyyy (d.m.yyyy, dd/mm/yyyy, "
        "m/d/yyyy, 'dd.mm.yyyy HH:MM', 'dd.mm.yy 1930-2029'; text: no dates). Repeatable; detected "
        "where the values decide.",
        about=TABLES,
    )
    number_formats: Mapping[str, str] = option(
        {},
        flag="--number-format",
        help="How a column of text writes 1234.5, COLUMN=1.234,5 (1234,5; 1,234.5; '1.234,5 kg'; "
        "text: no numbers). Repeatable; detected where the values decide.",
        about=TABLES,
    )
    sheet: str | None = option(
        None, help="Sheet of an Excel workbook, if several hold data.", about=TABLES
    )
    value_labels: str = option(
        "labels",
        help="Of SPSS, Stata and SAS files, read labels (of columns in which every value has one) "
        "or codes.",
        choices=VALUE_LABELS,
        about=TABLES,
    )

    def __post_init__(self) -> None:
        if self.value_labels not in VALUE_LABELS:
            raise unknown("choice", self.value_labels, VALUE_LABELS, where="[input] value_labels")
        if self.date_formats or self.number_formats:
            self.stated_formats.refuse_unreadable()
            for column in self.date_formats:
                if column in self.number_formats:
                    raise JobError(
                        f"column {column!r} has both a date format and a number format",
                        remedy="State one of them.",
                    )

    @property
    def stated_formats(self) -> StatedFormats:
        """How columns of text write dates and numbers, where it is stated."""
        from incrowd.tables.columns.normalize import StatedFormats

        return StatedFormats(self.date_formats, self.number_formats)

    @property
    def reading(self) -> ReadOptions:
        """How an engine reads files, as they stand."""
        from incrowd.engines.base import ReadOptions

        return ReadOptions(
            self.delimiter,
            self.encoding,
            self.header,
            self.missing_values,
            sheet=self.sheet,
            value_labels=self.value_labels,
        )


@documented
@dataclass(frozen=True)
class SetInput:
    """How a file of sets is written and what its rows and items are, where it must be stated."""

    graph: str = option(
        BIPARTITE,
        help="Kind of graph: bipartite (rows and items), or directed or undirected between the "
        "same nodes.",
        choices=GRAPHS,
    )
    kind: str | None = option(
        None,
        flag="--set-kind",
        help="Storage format of sets, if not given by the file extension.",
        choices=SET_KINDS,
    )
    row_column: str | None = option(
        None, help="Column with row names, if a file has more than two columns."
    )
    item_column: str | None = option(None, help="Column with item names, or with lists of them.")
    values: str = option(
        "binary",
        help="Matrix values: binary (0 and 1 only), or nonzero (any number other than 0 is an "
        "entry).",
        choices=("binary", "nonzero"),
    )
    items: str | None = option(
        None,
        help="File with the public list of all items, one per line; required by differential "
        "privacy.",
    )
    row_k: str | None = option(
        None, help="File with columns row and k: per-record k; other rows have --k."
    )

    def reading(self, options: InputOptions, memory: int | None = None) -> SetOptions:
        """How a file of sets is read, in so much memory if that is stated."""
        from incrowd.sets.format import SetOptions

        return SetOptions(
            graph=self.graph,
            kind=self.kind,
            row_column=self.row_column,
            item_column=self.item_column,
            delimiter=options.delimiter,
            encoding=options.encoding,
            header=options.header,
            values=self.values,
            memory=memory,
        )


@documented
@dataclass(frozen=True)
class RuleInput:
    """Which items are sensitive and which rules are to be protected."""

    file: str | None = option(
        None, flag="--rules", help="File with the rules to protect, one per line: a b -> s t."
    )
    mine: int | None = option(
        None,
        flag="--mine-rules",
        help="Protect all rules that the original data violate, with up to this many public items.",
        minimum=1,
        maximum=3,
    )
    generate: int | None = option(
        None,
        flag="--generate-rules",
        help="Protect this many rules drawn at random from the data, for experiments.",
        minimum=1,
    )
    closure: str = option(
        "none",
        help="Closure of the rules: also every sensitive item for each public part, or all "
        "subsets of it too.",
        choices=CLOSURES,
    )
    sensitive_items: str | None = option(
        None,
        help="Sensitive items, released unchanged: a file with one per line, a list a,b,c, or "
        "share:0.1 (drawn at random). All other items are public.",
    )
    weights: str | None = option(
        None, help="File with columns item and weight: weight of an item's information loss."
    )
    save: str | None = option(
        None,
        flag="--save-rules",
        help="Write the protected rules to this file (mode 0600).",
    )

    def __post_init__(self) -> None:
        if self.closure not in CLOSURES:
            raise unknown("closure", self.closure, CLOSURES, where="[rules] closure")
        for name, value, least in (("mine", self.mine, 1), ("generate", self.generate, 1)):
            if value is not None and (type(value) is not int or value < least):
                raise JobError(
                    f"[rules] {name} is not a whole number of {least} or more",
                    remedy="State 2, for example.",
                )
        if self.mine is not None and self.mine > 3:
            raise JobError(
                "[rules] mine: rules are mined with up to 3 public items",
                remedy="State 1, 2 or 3.",
            )

    @property
    def sources(self) -> list[str]:
        """Where rules come from, as flags."""
        named = {"--rules": self.file, "--mine-rules": self.mine, "--generate-rules": self.generate}
        return [flag for flag, value in named.items() if value is not None]


def read_input(path: Path, options: InputOptions, *, is_compact: bool = False) -> Table:
    """Read a table, or the part files of a folder, as the user says they are written.

    ``is_compact`` holds repeating text as dictionary arrays.
    """
    from incrowd.tables.files.read import read_folder, read_table

    read = read_folder if path.is_dir() else read_table
    return read(
        path,
        delimiter=options.delimiter,
        encoding=options.encoding,
        header=options.header,
        missing_values=options.missing_values,
        sheet=options.sheet,
        value_labels=options.value_labels,
        is_compact=is_compact,
    )


def read_columns(path: Path, options: InputOptions) -> list[str]:
    """Return the names of a table's columns from the beginning of its file, or of its first one."""
    from incrowd.tables.files.read import open_location

    source = open_location(
        path,
        delimiter=options.delimiter,
        encoding=options.encoding,
        header=options.header,
        missing_values=options.missing_values,
        sheet=options.sheet,
        value_labels=options.value_labels,
    )
    return list(source.schema.names)

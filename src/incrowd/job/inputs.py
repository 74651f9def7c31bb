"""How data are written and what they hold, where it must be stated: tables, sets, rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from incrowd.errors import JobError, unknown
from incrowd.options import option
from incrowd.sets.sets import BIPARTITE, GRAPHS
from incrowd.transactions.closure import CLOSURES

if TYPE_CHECKING:
    from pathlib import Path

    from incrowd.engines.base import Reading
    from incrowd.sets.format import SetOptions
    from incrowd.tables.table import Table

SET_KINDS = ("baskets", "edges", "pairs", "lists", "npz", "mtx")


@dataclass(frozen=True)
class InputOptions:
    """How the data file is written, where it should not be found out."""

    delimiter: str | None = option(None, help="What separates cells; found if not stated.")
    encoding: str | None = option(None, help="The text's encoding; UTF-8 or a BOM is found.")
    header: bool | None = option(
        None, help="Whether the first line names the columns; found if not stated."
    )
    missing_values: tuple[str, ...] = option(
        (), help="More tokens that mean missing, besides the empty cell: '?,NA'."
    )

    @property
    def reading(self) -> Reading:
        """How an engine reads files, as they stand."""
        from incrowd.engines.base import Reading

        return Reading(self.delimiter, self.encoding, self.header, self.missing_values)


@dataclass(frozen=True)
class SetInput:
    """How a file of sets is written and what its rows and items are, where it must be stated."""

    graph: str = option(
        BIPARTITE,
        help="What rows and items are: two kinds of things, or the same nodes of a graph.",
        choices=GRAPHS,
    )
    kind: str | None = option(
        None,
        flag="--set-kind",
        help="How sets are stored, if not as the file's ending says.",
        choices=SET_KINDS,
    )
    row_column: str | None = option(
        None, help="The column that names rows, where a file has more than two."
    )
    item_column: str | None = option(
        None, help="The column that names items, or holds their lists."
    )
    values: str = option(
        "binary",
        help="What a matrix may hold: 0 and 1 alone, or any number, where all but 0 is an entry.",
        choices=("binary", "nonzero"),
    )
    items: str | None = option(
        None, help="A public list of all items, one a line: differential privacy needs it."
    )
    row_k: str | None = option(
        None, help="A file with the columns row and k: each person's own k; others have --k."
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


@dataclass(frozen=True)
class RuleInput:
    """Which items are sensitive and which rules are to be protected."""

    file: str | None = option(
        None, flag="--rules", help="The rules to protect, one a line: a b -> s t."
    )
    mine: int | None = option(
        None,
        flag="--mine-rules",
        help="Protect the rules that the data as they are would break, with up to so many public "
        "items.",
        minimum=1,
        maximum=3,
    )
    generate: int | None = option(
        None,
        flag="--generate-rules",
        help="Protect so many rules drawn from the data by the seed, for experiments.",
        minimum=1,
    )
    closure: str = option(
        "none",
        help="Also protect each rule's public part against every sensitive item, or all its "
        "subsets too.",
        choices=CLOSURES,
    )
    sensitive_items: str | None = option(
        None,
        help="The items that are sensitive and stay as they are: a file with one a line, a list "
        "a,b,c, or share:0.1, a share drawn by the seed. All others are public.",
    )
    weights: str | None = option(
        None, help="A file with the columns item and weight: what generalizing an item costs."
    )
    save: str | None = option(
        None,
        flag="--save-rules",
        help="Write the rules that were protected to this file (mode 0600).",
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


def read_input(path: Path, options: InputOptions) -> Table:
    """Read a table as the user says it is written."""
    from incrowd.tables.read import read_table

    return read_table(
        path,
        delimiter=options.delimiter,
        encoding=options.encoding,
        header=options.header,
        missing_values=options.missing_values,
    )

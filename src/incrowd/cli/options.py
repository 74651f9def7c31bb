"""Options that several commands have in common, said once."""

from __future__ import annotations

from typing import Annotated

import typer

Quasi = Annotated[
    str | None,
    typer.Option(
        "--quasi", help="Columns people could be known by: a,b,c.", rich_help_panel="Columns"
    ),
]
Sensitive = Annotated[
    str | None,
    typer.Option(
        "--sensitive", help="Columns nobody should learn of a person.", rich_help_panel="Columns"
    ),
]
Person = Annotated[
    str | None,
    typer.Option(
        "--person",
        help="The column that tells people apart, where one has several rows: groups count people.",
        rich_help_panel="Columns",
    ),
]
Hierarchies = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        help="COLUMN=FILE | ranges | mean | intervals:5,10,20 | prefix | dates:month,year | flat | "
        "auto. May be given several times; a column without one gets auto.",
        rich_help_panel="Columns",
    ),
]
Bottoms = Annotated[
    list[str] | None,
    typer.Option(
        "--bottom",
        help="COLUMN=NUMBER: numbers below it are shown as one. May be given several times.",
        rich_help_panel="Columns",
    ),
]
Tops = Annotated[
    list[str] | None,
    typer.Option(
        "--top",
        help="COLUMN=NUMBER: numbers above it are shown as one. May be given several times.",
        rich_help_panel="Columns",
    ),
]
Bins = Annotated[
    list[str] | None,
    typer.Option(
        "--bins",
        help="COLUMN=NUMBER: cut a column of numbers into so many bins of equal counts, each shown "
        "as its median; 0 keeps it as it is. Several times.",
        rich_help_panel="Columns",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
ShowValues = Annotated[
    bool, typer.Option("--show-values", help="Allow examples of values in messages.")
]
Debug = Annotated[bool, typer.Option("--debug", help="Show a traceback on errors.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite what is there already.")]

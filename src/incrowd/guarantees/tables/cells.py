"""Which cells show nothing: a ``*``, and the ways in which a value can be missing.

A cell is missing where it is null, NaN, the empty text or one of the stated tokens. ``as-value``
counting never asks: there every token is the value it is written as.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import polars as pl

from incrowd.hierarchies.tree import STAR

if TYPE_CHECKING:
    import pyarrow as pa


def to_frame(table: pa.Table, names: Sequence[str]) -> pl.DataFrame:
    """Return a table with its columns renamed by position; dictionaries become plain text.

    Positions instead of the file's own names: a released column may be called anything.
    """
    frame = pl.DataFrame(pl.from_arrow(table.rename_columns(list(names))))
    coded = [
        name for name, kind in frame.schema.items() if isinstance(kind, pl.Categorical | pl.Enum)
    ]
    return frame.with_columns(pl.col(coded).cast(pl.String)) if coded else frame


def shows_nothing(name: str, kind: pl.DataType, missing_values: Iterable[str]) -> pl.Expr:
    """Return the expression that is true where a cell is ``*`` or missing."""
    column = pl.col(name)
    if kind == pl.String:
        return column.is_null() | column.is_in([STAR, "", *missing_values])
    if not kind.is_numeric():
        return column.is_null()
    blank = column.is_null()
    if kind.is_float():
        blank = blank | column.is_nan()
    numbers = [number for number in map(_number, missing_values) if number is not None]
    return blank | column.cast(pl.Float64).is_in(numbers) if numbers else blank


def blank_out(
    frame: pl.DataFrame, names: Sequence[str], missing_values: Iterable[str]
) -> pl.DataFrame:
    """Return the frame with null in the place of every cell of ``names`` that shows nothing."""
    tokens = tuple(missing_values)
    return frame.with_columns(
        pl.when(~shows_nothing(name, frame.schema[name], tokens)).then(pl.col(name)).alias(name)
        for name in names
    )


def _number(token: str) -> float | None:
    try:
        return float(token)
    except ValueError:
        return None

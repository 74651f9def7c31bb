"""Data frames in and out: pandas, polars and pyarrow, each back as the kind that it came as."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from incrowd.data.table import Format, Table
from incrowd.data.typed import fresh, settled
from incrowd.errors import DataError

FRAME_KINDS = ("pandas", "polars", "pyarrow")

SPARK = "spark"
"""The kind of frames whose rows lie elsewhere."""

_WHERE = "the frame"


def is_spark_frame(frame: Any) -> bool:
    """Whether it is a frame of Spark, or of Spark Connect."""
    from narwhals import dependencies

    return dependencies.is_pyspark_dataframe(frame) or dependencies.is_pyspark_connect_dataframe(
        frame
    )


def from_frame(frame: Any, *, missing_values: tuple[str, ...] = ()) -> tuple[Table, str]:
    """Take a frame's columns in, and say which kind it was, for ``to_frame``.

    A pandas index is dropped, categories become their values, NaN and empty strings are missing;
    a lazy polars frame is collected. Raises DataError for nested or mixed columns and for names
    that are not text, and for anything that is not a frame.
    """
    from narwhals import dependencies

    if dependencies.is_pandas_dataframe(frame):
        taken, kind = _from_pandas(frame), "pandas"
    elif dependencies.is_polars_dataframe(frame):
        taken, kind = frame.to_arrow(), "polars"
    elif dependencies.is_polars_lazyframe(frame):
        taken, kind = _collected(frame), "polars"
    elif isinstance(frame, pa.Table):
        taken, kind = frame, "pyarrow"
    else:
        raise DataError(
            f"{type(frame).__name__} is not a frame that can be read",
            remedy=f"Give a frame of {', '.join(FRAME_KINDS)}, or the path of a file.",
        )
    plain = settled(taken, _WHERE)
    return Table(plain, Format("arrow"), tuple(missing_values), _WHERE), kind


def as_table(frame: Any) -> Table:
    """Return a table as it is, and anything else as ``from_frame`` takes it in."""
    return frame if isinstance(frame, Table) else from_frame(frame)[0]


def to_frame(table: pa.Table, kind: str) -> Any:
    """Hand a table out as a frame of the kind, in memory of its own.

    In pandas, whole numbers and booleans with missing values are nullable (Int64, boolean): as
    floats or objects they would come back as something else.
    """
    plain = fresh(table)
    if kind == "pyarrow":
        return plain
    if kind == "polars":
        import polars as pl

        return pl.from_arrow(plain)
    if kind == "pandas":
        return _to_pandas(plain)
    raise ValueError(f"no frame is of the kind {kind!r}")


def _collected(frame: Any) -> pa.Table:
    from polars.exceptions import PolarsError

    try:
        return frame.collect().to_arrow()
    except (PolarsError, OSError) as error:
        raise DataError(
            f"the lazy frame cannot be collected ({type(error).__name__})",
            remedy="Collect it yourself to see why, and give what you get.",
        ) from None


def _from_pandas(frame: Any) -> pa.Table:
    names = list(frame.columns)
    unnamed = [position for position, name in enumerate(names, 1) if not isinstance(name, str)]
    if unnamed:
        raise DataError(
            f"{_WHERE}: {len(unnamed)} names of columns are not text (first: column {unnamed[0]})",
            remedy="Name them: frame.columns = [str(name) for name in frame.columns].",
        )
    columns = []
    for position, name in enumerate(names):
        series = frame.iloc[:, position]
        try:
            column = pa.array(series, from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            kinds = sorted({type(value).__name__ for value in series.dropna()})
            raise DataError(
                f"{_WHERE}: column {name!r} cannot be read as one type "
                f"(dtype {series.dtype}; it holds {', '.join(kinds[:4])})",
                remedy=f"Make it one: frame[{name!r}] = frame[{name!r}].astype(str), for example.",
            ) from None
        columns.append(column)
    return pa.table(columns, names=names)


def _to_pandas(plain: pa.Table) -> Any:
    import pandas as pd

    nullable = {
        pa.int8(): pd.Int8Dtype(),
        pa.int16(): pd.Int16Dtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.uint8(): pd.UInt8Dtype(),
        pa.uint16(): pd.UInt16Dtype(),
        pa.uint32(): pd.UInt32Dtype(),
        pa.uint64(): pd.UInt64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }
    columns = {}
    for name, column in zip(plain.column_names, plain.columns, strict=True):
        mapper = nullable.get if column.null_count else None
        columns[name] = column.to_pandas(types_mapper=mapper)
    return pd.DataFrame(columns)

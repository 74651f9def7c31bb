"""Convert data frames (pandas, polars, pyarrow) to tables and back.

Columns are normalized to the few Arrow types that incrowd uses, and refused where they have
another type.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Container, Iterable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from incrowd.errors import DataError, unknown
from incrowd.tables.files.sniff import MAX_COLUMNS, check_names
from incrowd.tables.files.text import MAX_CELL_BYTES, LongCells
from incrowd.tables.frame_types import named_levels
from incrowd.tables.table import Format, Table

BLOCK_ROWS = 1 << 16
"""Rows that are copied and written at a time: fixed, since chunks show in the bytes of a file."""

_PART_BYTES = 1 << 30  # of strings in one array, well below what 32-bit offsets can address


def normalize_table(frame: pa.Table, where: str) -> pa.Table:
    """Return the table with plain types, no metadata, and nulls for everything missing.

    Integers, floats, decimals, booleans, dates, times and strings stay what they are;
    dictionaries are decoded. Raises DataError for nested and other types, for names that are
    empty or occur twice, for no rows or columns and for cells beyond the limits.
    """
    refuse_unsupported_types(frame.schema, where)
    if frame.num_rows == 0:
        raise DataError(f"{where}: no rows", remedy="Give a table with rows.")
    faults = CellChecks(where)
    plain = normalize_block(frame)
    faults.check(plain)
    faults.refuse()
    return plain


def normalize_block(block: pa.Table, kept: Container[str] = ()) -> pa.Table:
    """Normalize some of a table's rows; the resulting types do not depend on which rows.

    The columns of text named in ``kept`` stay dictionary arrays.
    """
    columns = [
        _blank_to_null(column) if name in kept else _normalize_column(column)
        for name, column in zip(block.column_names, block.columns, strict=True)
    ]
    return pa.table(columns, names=list(block.column_names))


def drop_signed_zeros(block: pa.Table) -> pa.Table:
    """Return the rows with 0.0 for every −0.0: counted as one value, but two in a file."""
    for number, field in enumerate(block.schema):
        if types.is_floating(field.type):
            zero = pa.scalar(0.0, field.type)
            block = block.set_column(number, field, pc.add(block.column(number), zero))
    return block


class CellChecks:
    """Checks of normalized cells, block by block: none too long, none with a NUL."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._long_cells = LongCells(where)
        self._with_nul: dict[int, str] = {}  # columns' names by number

    def check(self, block: pa.Table) -> None:
        """Check the next rows."""
        cells = [_to_check(column) for column in block.columns]
        block = pa.table(cells, names=list(block.column_names))
        self._long_cells.check(block)
        for number, name in enumerate(block.column_names, 1):
            column = block.column(number - 1)
            is_text = types.is_string(column.type)
            if is_text and pc.any(pc.match_substring(column, "\0")).as_py():
                self._with_nul[number] = name

    def refuse(self) -> None:
        """Raise if any check has failed."""
        self._long_cells.refuse()
        for number in sorted(self._with_nul):
            raise DataError(
                f"{self._where}: column {number} holds text with NUL characters",
                remedy="Remove them: text files cannot contain them.",
                examples=[self._with_nul[number]],
            )


def _to_check(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """Return the cells that have to be looked at: of a dictionary array none if no entry has to."""
    if not types.is_dictionary(column.type):
        return column
    entries = pa.chunked_array([chunk.dictionary for chunk in column.chunks])
    longest = pc.max(pc.binary_length(entries)).as_py() or 0
    if longest > MAX_CELL_BYTES or pc.any(pc.match_substring(entries, "\0")).as_py():
        return _decode_dictionary(column)
    return pa.nulls(len(column))


def refuse_unsupported_types(schema: pa.Schema, where: str) -> None:
    """Raise for no columns, too many, unnamed ones, and nested or unsupported types."""
    if not len(schema):
        raise DataError(f"{where}: no columns", remedy="Give a table with columns.")
    if len(schema) > MAX_COLUMNS:
        raise DataError(
            f"{where}: {len(schema):,} columns, and a table may have {MAX_COLUMNS:,}",
            remedy="Keep the columns that the release needs.",
        )
    check_names(list(schema.names), where)
    for field in schema:
        if types.is_nested(field.type):
            raise DataError(
                f"{where}: column {field.name!r} is nested ({_shorten(field.type)})",
                remedy="Give each value a column of its own, or leave the column out.",
            )
        if not _is_known(field.type):
            raise DataError(
                f"{where}: column {field.name!r} has the type {_shorten(field.type)}, which is not "
                "supported",
                remedy="Turn it into numbers, text or dates, or leave the column out.",
            )


def copy_detached(frame: pa.Table) -> pa.Table:
    """Return a copy of the rows in new arrays that contain nothing else.

    Neither unused categories nor metadata come along, nor rows around a slice, nor what lies in
    memory under a null (masking a value leaves it there, and an Arrow file would carry it out).
    Chunks have ``BLOCK_ROWS`` rows, however those of ``frame`` were cut.
    """
    names = list(frame.column_names)
    blocks = []
    for start in range(0, max(1, frame.num_rows), BLOCK_ROWS):
        block = frame.slice(start, BLOCK_ROWS)
        rows = pa.array(np.arange(block.num_rows, dtype=np.int64))
        columns = [
            _overwrite_nulls(_decode_dictionary(column).take(rows)) for column in block.columns
        ]
        blocks.append(pa.table(columns, names=names).combine_chunks())
    return pa.concat_tables(blocks)


def _overwrite_nulls(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Put a value that the column shows anyway under its nulls."""
    if column.null_count == 0 or types.is_null(column.type):
        return column
    nothing = pa.scalar(None, column.type)
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), column.type)])
    shown = column.drop_null()[0]
    return pc.if_else(pc.is_valid(column), column.fill_null(shown), nothing)


def _decode_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    is_dictionary = types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if is_dictionary else column


def _normalize_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    column = _decode_dictionary(column)
    kind = column.type
    if types.is_float16(kind):
        column = column.cast(pa.float32())
    elif types.is_date64(kind):
        column = column.cast(pa.date32())
    elif types.is_large_string(kind) or kind == pa.string_view():
        wide = column.cast(pa.large_string())
        parts = [part for chunk in wide.chunks for part in _narrow(chunk)]
        column = pa.chunked_array(parts, pa.string())
    is_absent = None
    if types.is_string(column.type):
        is_absent = pc.equal(column, "")
    elif types.is_floating(column.type):
        is_absent = pc.is_nan(column)
    if is_absent is not None and pc.any(is_absent).as_py():
        column = pc.if_else(pc.fill_null(is_absent, True), pa.scalar(None, column.type), column)
    return column


def _blank_to_null(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a dictionary array of text with null for empty texts."""
    chunks = []
    for chunk in column.chunks:
        blank = chunk.dictionary.index("").as_py()
        if blank >= 0:
            nothing = pa.scalar(None, chunk.indices.type)
            places = pc.if_else(pc.equal(chunk.indices, blank), nothing, chunk.indices)
            chunk = pa.DictionaryArray.from_arrays(places, chunk.dictionary)
        chunks.append(chunk)
    return pa.chunked_array(chunks, column.type)


def _narrow(chunk: pa.Array) -> list[pa.Array]:
    """Cast large strings to strings, in parts that 32-bit offsets can address."""
    if chunk.nbytes > _PART_BYTES and len(chunk) > 1:
        half = len(chunk) // 2
        return [*_narrow(chunk.slice(0, half)), *_narrow(chunk.slice(half))]
    return [chunk.cast(pa.string())]


def _is_known(kind: pa.DataType) -> bool:
    if types.is_dictionary(kind):
        return _is_known(kind.value_type)
    if types.is_string(kind) or types.is_large_string(kind) or kind == pa.string_view():
        return True
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    is_time = types.is_date(kind) or types.is_timestamp(kind) or types.is_time(kind)
    return bool(is_number or is_time or types.is_boolean(kind) or types.is_null(kind))


def _shorten(kind: pa.DataType) -> str:
    text = str(kind).replace("\n", " ")
    return text if len(text) <= 60 else text[:59] + "…"


# ── data frames ─────────────────────────────────────────────────────────────────────────────

FRAME_KINDS = ("pandas", "polars", "pyarrow")

SPARK = "spark"
"""The kind of frames whose rows are on a cluster."""

_WHERE = "the frame"


def is_spark_frame(frame: Any) -> bool:
    """Whether it is a data frame of Spark or Spark Connect."""
    if "pyspark" not in sys.modules:
        return False
    from narwhals import dependencies

    return dependencies.is_pyspark_dataframe(frame) or dependencies.is_pyspark_connect_dataframe(
        frame
    )


def from_frame(
    frame: Any, *, missing_values: tuple[str, ...] = (), index: Iterable[str] | None = ()
) -> tuple[Table, str]:
    """Convert a frame to a table, and return its kind, for ``to_frame``.

    Of a pandas index the levels that ``index`` names (all named ones for None) are columns, and
    the others are dropped. Categories become their values, NaN and empty strings are missing; a
    lazy polars frame is collected. Raises DataError for nested or mixed columns and for names that
    are not text, and for anything that is not a frame.
    """
    taken, kind = arrow_of(frame, index)
    plain = normalize_table(taken, _WHERE)
    return Table(plain, Format("arrow"), tuple(missing_values), _WHERE), kind


def arrow_of(frame: Any, index: Iterable[str] | None = ()) -> tuple[pa.Table, str]:
    """Return a frame as Arrow, with whatever types it has, and its kind."""
    from narwhals import dependencies

    if dependencies.is_pandas_dataframe(frame):
        levels = list(named_levels(frame, index))
        taken, kind = _from_pandas(frame.reset_index(level=levels) if levels else frame), "pandas"
    elif dependencies.is_polars_dataframe(frame):
        taken, kind = frame.to_arrow(), "polars"
    elif dependencies.is_polars_lazyframe(frame):
        taken, kind = _collect(frame), "polars"
    elif isinstance(frame, pa.Table):
        taken, kind = frame, "pyarrow"
    else:
        raise unsupported_frame_error(frame)
    return taken, kind


def unsupported_frame_error(frame: object) -> DataError:
    """Return the error for what is no frame of a known kind."""
    return DataError(
        f"{type(frame).__name__} is not a supported data frame",
        remedy=f"Give a frame of {', '.join(FRAME_KINDS)}, or the path of a file.",
    )


def as_table(frame: Any) -> Table:
    """Return a table unchanged, and anything else as ``from_frame`` converts it."""
    return frame if isinstance(frame, Table) else from_frame(frame)[0]


def to_frame(table: pa.Table, kind: str) -> Any:
    """Convert a table to a frame of the kind, in memory of its own.

    In pandas, whole numbers and booleans with missing values are nullable (Int64, boolean): as
    floats or objects they would come back as something else.
    """
    plain = copy_detached(table)
    if kind == "pyarrow":
        return plain
    if kind == "polars":
        import polars as pl

        return pl.from_arrow(plain)
    if kind == "pandas":
        return _to_pandas(plain)
    raise ValueError(f"unknown kind of frame {kind!r}")


def to_kind(table: pa.Table, kind: str | None = None) -> Any:
    """Convert a table to a frame of the stated kind: pandas where it is installed, else polars."""
    if kind is None:
        kind = "pandas" if find_spec("pandas") else "polars"
    if kind not in FRAME_KINDS:
        raise unknown("kind of frame", str(kind), FRAME_KINDS)
    return to_frame(table, kind)


def _collect(frame: Any) -> pa.Table:
    from polars.exceptions import PolarsError

    try:
        return frame.collect().to_arrow()
    except (PolarsError, OSError) as error:
        raise DataError(
            f"the lazy frame cannot be collected ({type(error).__name__})",
            remedy="Collect it yourself to see why, and pass the result.",
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


def frame_hash(frame: pa.Table) -> str:
    """Return the SHA-256 of a frame as an Arrow stream."""
    frame = pa.table([_decode_dictionary(one) for one in frame.columns], names=frame.column_names)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, frame.schema) as writer:
        writer.write_table(frame.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()

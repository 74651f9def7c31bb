"""The transfer form of columns: how they are sent to Spark and DuckDB and back.

There they are named ``c0``, ``c1``, … and have types that every system reads alike (times as
numbers, unsigned integers as wider ones); the receiver restores names and types. So names with
dots, names that differ only in case, and time zones are never subject to a system's own rules, and
no column name appears in a query plan or a log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from incrowd.errors import EngineError


def transfer_name(schema: pa.Schema, name: str) -> str:
    """Return the name of a column in the transfer form."""
    return f"c{schema.names.index(name)}"


def transfer_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of the transfer form; raise, naming the column, if a type has none."""
    fields = []
    for number, field in enumerate(schema):
        transfer_type = _transfer_type(field.type)
        if transfer_type is None:
            raise EngineError(
                f"column {field.name!r}: the engine does not support {field.type}",
                remedy="Leave the column out, or turn it into text or numbers.",
            )
        fields.append(pa.field(f"c{number}", transfer_type))
    return pa.schema(fields)


def to_transfer(table: pa.Table) -> pa.Table:
    """Return a table of plain columns in the transfer form."""
    schema = transfer_schema(table.schema)
    columns = [
        _cast(column, field.type) for column, field in zip(table.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def from_transfer(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table in the transfer form with its names and types restored.

    Columns beyond those of ``schema`` are dropped.
    """
    columns = [
        _cast(column, field.type) for column, field in zip(table.columns, schema, strict=False)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _transfer_type(arrow_type: pa.DataType) -> pa.DataType | None:
    types = pa.types
    as_they_are: Iterable[Callable[[Any], bool]] = (
        types.is_boolean,
        types.is_signed_integer,
        types.is_float32,
        types.is_float64,
        types.is_decimal128,
    )
    if any(is_kind(arrow_type) for is_kind in as_they_are):
        return arrow_type
    if types.is_null(arrow_type) or _is_text(arrow_type):
        return pa.string()
    if types.is_binary(arrow_type) or types.is_large_binary(arrow_type):
        return pa.binary()
    if types.is_fixed_size_binary(arrow_type):
        return pa.binary()
    if types.is_uint64(arrow_type):
        return pa.decimal128(20, 0)
    if types.is_unsigned_integer(arrow_type):
        return pa.int64()
    if types.is_date32(arrow_type) or types.is_time32(arrow_type):
        return pa.int32()
    if types.is_temporal(arrow_type) and not types.is_interval(arrow_type):
        return pa.int64()
    return pa.float32() if types.is_float16(arrow_type) else None


def _is_text(arrow_type: pa.DataType) -> bool:
    return any(
        is_kind(arrow_type)
        for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    )


def _cast(column: pa.ChunkedArray, arrow_type: pa.DataType) -> pa.ChunkedArray:
    # Arrow casts nothing to the type of columns that hold nothing but nulls.
    if pa.types.is_null(arrow_type):
        return pa.chunked_array([pa.nulls(len(column))])
    return column.cast(arrow_type)

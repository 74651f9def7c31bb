"""Columns as they travel to Spark and DuckDB and back.

They are called ``c0``, ``c1``, … there and have types that all read alike (times as numbers,
unsigned numbers as wider ones), and are turned back wherever they arrive: names with dots, names
that differ in case only and time zones meet no other rules than ours, and no column name stands
in a plan or a log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from incrowd.errors import EngineError


def travel_name(schema: pa.Schema, name: str) -> str:
    """Return what a column is called where it travels."""
    return f"c{schema.names.index(name)}"


def travel_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema in which these columns travel, or raise naming one that cannot go."""
    fields = []
    for number, field in enumerate(schema):
        travelling = _travel_type(field.type)
        if travelling is None:
            raise EngineError(
                f"column {field.name!r}: the engine does not take {field.type}",
                remedy="Leave the column out, or turn it into text or numbers.",
            )
        fields.append(pa.field(f"c{number}", travelling))
    return pa.schema(fields)


def departing(table: pa.Table) -> pa.Table:
    """Return a table of plain columns as it travels."""
    schema = travel_schema(table.schema)
    columns = [
        _cast(column, field.type) for column, field in zip(table.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def arriving(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a travelled table with its names and types back; columns after them are dropped."""
    columns = [
        _cast(column, field.type) for column, field in zip(table.columns, schema, strict=False)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _travel_type(arrow_type: pa.DataType) -> pa.DataType | None:
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

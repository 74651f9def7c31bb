"""Conversion between Spark's own column types and the transfer form (``engines.transfer``).

Everything here is an expression that Spark evaluates itself: no row passes through Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyarrow import types

from incrowd.engines.transfer import transfer_schema
from incrowd.errors import DataError
from incrowd.tables.frames import refuse_unsupported_types

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_MICROS_OF_DAY = 86_400_000_000


def normalize_schema(schema: pa.Schema, where: str) -> pa.Schema:
    """Return the normalized types of columns; raise, naming the column, if one is not supported.

    The types are those that ``tables.frames`` gives; every column is nullable.
    """
    refuse_unsupported_types(schema, where)
    return pa.schema([pa.field(field.name, _normalize_type(field.type)) for field in schema])


def schema_of_frame(frame: Any, where: str) -> pa.Schema:
    """Return the normalized schema of a Spark frame; raise, naming the column, if unsupported."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_type

    fields = []
    for field in frame.schema.fields:
        try:
            kind = to_arrow_type(field.dataType, timezone="UTC")
        except PySparkException:
            raise DataError(
                f"{where}: column {field.name!r} has the type {field.dataType.simpleString()}, "
                "which is not supported",
                remedy="Turn it into numbers, text or dates, or leave the column out.",
            ) from None
        fields.append(pa.field(field.name, kind))
    return normalize_schema(pa.schema(fields), where)


def is_native(kind: pa.DataType) -> bool:
    """Return whether Spark itself reads columns of this type from Parquet files."""
    return not (types.is_time(kind) or types.is_float16(kind) or types.is_decimal256(kind))


def to_transfer_frame(frame: Any, schema: pa.Schema, *, has_plain_zeros: bool = False) -> Any:
    """Return a frame of Spark's own types, normalized, in the transfer form (c0, c1, …).

    With ``has_plain_zeros`` −0.0 becomes 0.0.
    """
    named = frame.toDF(*[f"c{number}" for number in range(len(schema))])
    columns = []
    for given, field, to_be in zip(named.schema.fields, schema, _spark_types(schema), strict=True):
        column = _to_transfer_type(given.name, given.dataType.typeName(), field.type)
        if has_plain_zeros and types.is_floating(field.type):
            column = f"CASE WHEN {given.name} = 0 THEN 0 ELSE {column} END"
        columns.append(f"CAST({column} AS {to_be}) AS {given.name}")
    return named.selectExpr(*columns)


def from_transfer_frame(frame: Any, schema: pa.Schema) -> Any:
    """Return a frame in the transfer form with its names restored, in Spark's own types.

    Unsigned integers become wider ones, and times are truncated to microseconds.
    """
    columns = [
        f"{_from_transfer_type(f'c{number}', field.type)} AS c{number}"
        for number, field in enumerate(schema)
    ]
    return frame.selectExpr(*columns).toDF(*schema.names)


def sort_keys(schema: pa.Schema, sql: Any) -> list[Any]:
    """Return the sort keys of columns in the transfer form: nulls first, −0.0 before 0.0."""
    keys = []
    for number, field in enumerate(schema):
        name = f"c{number}"
        keys.append(sql.expr(name).asc_nulls_first())
        if types.is_floating(field.type):
            # Spark compares the two zeros as equal; only their texts differ.
            text = sql.expr(f"CASE WHEN {name} = 0 THEN CAST({name} AS STRING) END")
            keys.append(text.asc_nulls_first())
    return keys


def _to_transfer_type(name: str, given: str, kind: pa.DataType) -> str:
    """Return the expression for a column whose Spark type is called ``given``."""
    if types.is_null(kind):
        return "NULL"
    if types.is_string(kind):
        return f"NULLIF(CAST({name} AS STRING), '')"  # cast: it may have a collation
    if types.is_floating(kind):
        return f"CASE WHEN NOT isnan({name}) THEN {name} END"
    if types.is_date(kind):
        return f"unix_date({name})"
    if types.is_time(kind) and given != "integer" and given != "long":
        return _convert_unit(f"time_to_micros({name})", "us", kind.unit)
    if types.is_timestamp(kind) and given == "timestamp":
        return _convert_unit(f"unix_micros({name})", "us", kind.unit)
    if types.is_timestamp(kind) and given == "timestamp_ntz":
        # From its parts: a cast would use the session's time zone.
        minutes = f"CAST(hour({name}) * 60 + minute({name}) AS BIGINT)"
        micros = f"CAST(extract(SECOND FROM {name}) * 1000000 AS BIGINT)"
        days = f"CAST(unix_date(CAST({name} AS DATE)) AS BIGINT)"
        return _convert_unit(
            f"({days} * {_MICROS_OF_DAY} + {minutes} * 60000000 + {micros})", "us", kind.unit
        )
    return name


def _from_transfer_type(name: str, kind: pa.DataType) -> str:
    if types.is_null(kind):
        return "CAST(NULL AS STRING)"
    if types.is_date(kind):
        return f"date_from_unix_date({name})"
    if types.is_time(kind):
        return f"time_from_micros({_convert_unit(f'CAST({name} AS BIGINT)', kind.unit, 'us')})"
    if types.is_timestamp(kind):
        micros = _convert_unit(name, kind.unit, "us")
        if kind.tz is not None:
            return f"timestamp_micros({micros})"
        of_day = f"pmod({micros}, {_MICROS_OF_DAY})"
        days = f"CAST(({micros} - {of_day}) DIV {_MICROS_OF_DAY} AS INT)"
        midnight = f"CAST(date_from_unix_date({days}) AS TIMESTAMP_NTZ)"
        return f"{midnight} + make_dt_interval(0, 0, 0, {of_day} / CAST(1000000 AS DECIMAL(7, 0)))"
    return name


def _convert_unit(column: str, unit: str, to_be: str) -> str:
    """Return an expression that converts units of time, rounding down."""
    given, asked = _PER_SECOND[unit], _PER_SECOND[to_be]
    if asked >= given:
        return f"({column} * {asked // given}L)" if asked > given else column
    step = f"{given // asked}L"
    return f"(({column} - pmod({column}, {step})) DIV {step})"


def _spark_types(schema: pa.Schema) -> list[str]:
    from pyspark.sql.pandas.types import from_arrow_schema

    fields = from_arrow_schema(transfer_schema(schema)).fields
    return [field.dataType.simpleString() for field in fields]


def _normalize_type(kind: pa.DataType) -> pa.DataType:
    if types.is_dictionary(kind):
        return _normalize_type(kind.value_type)
    rules: tuple[tuple[Callable[[pa.DataType], bool], pa.DataType], ...] = (
        (types.is_float16, pa.float32()),
        (types.is_date64, pa.date32()),
        (types.is_large_string, pa.string()),
        (types.is_string_view, pa.string()),
    )
    return next((settled for is_kind, settled in rules if is_kind(kind)), kind)

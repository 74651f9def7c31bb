"""What goes to Spark's workers and comes back: columns, functions and errors.

Columns travel as ``c0``, ``c1``, … in types that Spark and Arrow read alike (times as numbers,
unsigned numbers as wider ones), and are turned back wherever they arrive: names with dots, names
that differ in case only and time zones meet Spark's own rules nowhere, and no column name stands
in a plan or a log. An error of a worker comes back as its kind and place; its text may quote a
value and stays behind.
"""

from __future__ import annotations

import base64
import json
import re
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

import pyarrow as pa

from incrowd import errors
from incrowd.engines.base import BlockFunction, conformed
from incrowd.errors import EngineError, IncrowdError

_MARK = re.compile(r"incrowd-worker:([A-Za-z0-9+/=]+):")

_REVIVED = frozenset(
    ("InputError", "JobError", "DataError", "HierarchyError", "EngineError", "InfeasibleError")
)


class WorkerError(Exception):
    """How an error leaves a worker: a coded line of what may be told."""


def travel_name(schema: pa.Schema, name: str) -> str:
    """Return what a column is called on Spark."""
    return f"c{schema.names.index(name)}"


def travel_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema that these columns have on Spark, or raise naming one that cannot go."""
    fields = []
    for number, field in enumerate(schema):
        travelling = _travel_type(field.type)
        if travelling is None:
            raise EngineError(
                f"column {field.name!r}: the Spark engine does not take {field.type}",
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


def on_blocks(
    function: BlockFunction, given: pa.Schema, returned: pa.Schema
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function as Spark's ``mapInArrow`` calls it: once for a whole partition."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        partition = [batch for batch in batches if batch.num_rows]
        if partition:
            yield from _call(
                function, pa.Table.from_batches(partition), given, returned
            ).to_batches()

    return run


def on_groups(
    function: BlockFunction, given: pa.Schema, returned: pa.Schema
) -> Callable[[pa.Table], pa.Table]:
    """Return the function as Spark's ``applyInArrow`` calls it: once for a group."""

    def run(group: pa.Table) -> pa.Table:
        return _call(function, group, given, returned)

    return run


def told_error(error: BaseException) -> IncrowdError:
    """Return the error to raise on the driver for one that Spark reported, without values."""
    coded = _MARK.search(str(error))
    if coded:
        told = json.loads(base64.b64decode(coded[1]))
        revived: IncrowdError = getattr(errors, told["kind"])(told["what"], remedy=told["remedy"])
        return revived
    if "Python worker exited unexpectedly" in str(error):
        return EngineError(
            "a worker of Spark ended before its work was done",
            remedy="Often it had too little memory: ask for more partitions.",
        )
    return EngineError(
        f"Spark could not do its work: {_kind_of(error)}",
        remedy="The session's own log may say more; it can hold values of people's data.",
    )


def _call(
    function: BlockFunction, travelled: pa.Table, given: pa.Schema, returned: pa.Schema
) -> pa.Table:
    with _told_without_values():
        return departing(conformed(function(arriving(travelled, given)), returned))


@contextmanager
def _told_without_values() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise WorkerError(_coded(error)) from None


def _coded(error: Exception) -> str:
    if isinstance(error, IncrowdError) and type(error).__name__ in _REVIVED:
        told = {"kind": type(error).__name__, "what": error.what, "remedy": error.remedy}
    else:
        what = f"a block function failed on a worker of Spark: {type(error).__name__}"
        told = {"kind": "EngineError", "what": what + _place_of(error), "remedy": ""}
    return f"incrowd-worker:{base64.b64encode(json.dumps(told).encode()).decode()}:"


def _place_of(error: Exception) -> str:
    """Return the file's name and line of code that failed."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" in {PurePath(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""


def _kind_of(error: BaseException) -> str:
    """Return the kind of an error of Spark, with its condition or Java class, without its text."""
    words = [type(error).__name__]
    condition = getattr(error, "getCondition", lambda: None)()
    java = getattr(error, "java_exception", None)
    if condition:
        words.append(str(condition))
    elif java is not None:
        words.append(str(java.getClass().getName()))
    return ", ".join(words)


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

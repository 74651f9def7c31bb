"""Typed columns of Parquet, Arrow and data frames, brought to the few types that incrowd knows.

On the way in, a column is refused if it is nested or no table's value, and an empty string or NaN
becomes what an empty cell is: missing. −0.0 becomes 0.0 in what is to be released; in a release
that is checked it stays, since anyone can see it. On the way out, columns are built anew, so that
a container holds nothing but what is released.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from incrowd.data.sniff import MAX_COLUMNS, check_names
from incrowd.data.text import LongCells
from incrowd.errors import DataError

BLOCK_ROWS = 1 << 16
"""Rows that are copied and written at a time: fixed, since chunks show in the bytes of a file."""

_PART_BYTES = 1 << 30  # of strings in one array, well below what 32-bit offsets can address


def settled(frame: pa.Table, where: str) -> pa.Table:
    """Return the table with plain types, no metadata and nulls for all that is missing.

    Integers, floats, decimals, booleans, dates, times and strings stay what they are;
    dictionaries are decoded. Raises DataError for nested and other types, for names that are
    empty or occur twice, for no rows or columns and for cells beyond the limits.
    """
    refuse_types(frame.schema, where)
    if frame.num_rows == 0:
        raise DataError(f"{where}: there is no row", remedy="Give a table with rows.")
    faults = CellFaults(where)
    plain = settled_block(frame)
    faults.look(plain)
    faults.refuse()
    return plain


def settled_block(block: pa.Table) -> pa.Table:
    """Return some rows with plain types and nulls; the types are the same for any of the rows."""
    columns = [_settled(column) for column in block.columns]
    return pa.table(columns, names=list(block.column_names))


def plain_zeros(block: pa.Table) -> pa.Table:
    """Return the rows with 0.0 for every −0.0: one value to whoever counts, two in a file."""
    for number, field in enumerate(block.schema):
        if types.is_floating(field.type):
            zero = pa.scalar(0.0, field.type)
            block = block.set_column(number, field, pc.add(block.column(number), zero))
    return block


class CellFaults:
    """What settled cells must not be, looked for block by block: too long, or with a NUL."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._long_cells = LongCells(where)
        self._with_nul: dict[int, str] = {}  # columns' names by number

    def look(self, block: pa.Table) -> None:
        """Look at the next rows."""
        self._long_cells.look(block)
        for number, name in enumerate(block.column_names, 1):
            column = block.column(number - 1)
            is_text = types.is_string(column.type)
            if is_text and pc.any(pc.match_substring(column, "\0")).as_py():
                self._with_nul[number] = name

    def refuse(self) -> None:
        """Raise where there was one."""
        self._long_cells.refuse()
        for number in sorted(self._with_nul):
            raise DataError(
                f"{self._where}: column {number} holds text with NUL characters",
                remedy="Take them out: text files cannot hold them.",
                examples=[self._with_nul[number]],
            )


def refuse_types(schema: pa.Schema, where: str) -> None:
    """Raise for columns that no table of values has: none, too many, unnamed, nested, binary."""
    if not len(schema):
        raise DataError(f"{where}: there is no column", remedy="Give a table with columns.")
    if len(schema) > MAX_COLUMNS:
        raise DataError(
            f"{where}: there are {len(schema):,} columns, and a table may have {MAX_COLUMNS:,}",
            remedy="Keep the columns that the release needs.",
        )
    check_names(list(schema.names), where)
    for field in schema:
        if types.is_nested(field.type):
            raise DataError(
                f"{where}: column {field.name!r} is nested ({_short(field.type)})",
                remedy="Give each value a column of its own, or leave the column out.",
            )
        if not _is_known(field.type):
            raise DataError(
                f"{where}: column {field.name!r} has the type {_short(field.type)}, which is not "
                "supported",
                remedy="Turn it into numbers, text or dates, or leave the column out.",
            )


def fresh(frame: pa.Table) -> pa.Table:
    """Return the same rows in new arrays that hold nothing else.

    Neither unused categories nor metadata come along, nor rows around a slice, nor what lies in
    memory under a null (masking a value leaves it there, and an Arrow file would carry it out).
    Chunks have ``BLOCK_ROWS`` rows, however those of ``frame`` were cut.
    """
    names = list(frame.column_names)
    blocks = []
    for start in range(0, max(1, frame.num_rows), BLOCK_ROWS):
        block = frame.slice(start, BLOCK_ROWS)
        rows = pa.array(np.arange(block.num_rows, dtype=np.int64))
        columns = [_blanked(_decoded(column).take(rows)) for column in block.columns]
        blocks.append(pa.table(columns, names=names).combine_chunks())
    return pa.concat_tables(blocks)


def _blanked(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Put a value that the column shows anyway under its nulls."""
    if column.null_count == 0 or types.is_null(column.type):
        return column
    nothing = pa.scalar(None, column.type)
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), column.type)])
    shown = column.drop_null()[0]
    return pc.if_else(pc.is_valid(column), column.fill_null(shown), nothing)


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    is_dictionary = types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if is_dictionary else column


def _settled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    column = _decoded(column)
    kind = column.type
    if types.is_float16(kind):
        column = column.cast(pa.float32())
    elif types.is_date64(kind):
        column = column.cast(pa.date32())
    elif types.is_large_string(kind) or kind == pa.string_view():
        wide = column.cast(pa.large_string())
        parts = [part for chunk in wide.chunks for part in _narrowed(chunk)]
        column = pa.chunked_array(parts, pa.string())
    is_absent = None
    if types.is_string(column.type):
        is_absent = pc.equal(column, "")
    elif types.is_floating(column.type):
        is_absent = pc.is_nan(column)
    if is_absent is not None and pc.any(is_absent).as_py():
        column = pc.if_else(pc.fill_null(is_absent, True), pa.scalar(None, column.type), column)
    return column


def _narrowed(chunk: pa.Array) -> list[pa.Array]:
    """Cast large strings to strings, in parts that 32-bit offsets can address."""
    if chunk.nbytes > _PART_BYTES and len(chunk) > 1:
        half = len(chunk) // 2
        return [*_narrowed(chunk.slice(0, half)), *_narrowed(chunk.slice(half))]
    return [chunk.cast(pa.string())]


def _is_known(kind: pa.DataType) -> bool:
    if types.is_dictionary(kind):
        return _is_known(kind.value_type)
    if types.is_string(kind) or types.is_large_string(kind) or kind == pa.string_view():
        return True
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    is_time = types.is_date(kind) or types.is_timestamp(kind) or types.is_time(kind)
    return bool(is_number or is_time or types.is_boolean(kind) or types.is_null(kind))


def _short(kind: pa.DataType) -> str:
    text = str(kind).replace("\n", " ")
    return text if len(text) <= 60 else text[:59] + "…"

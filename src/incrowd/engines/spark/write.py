"""Rows that leave Spark in the order of their content: to this process, or as part files.

Part files are made by our own writer within the tasks, so they are the files that a release on one
machine would have: no metadata of Spark, nothing but the rows. Spark has no way to store bytes as
they are except one: its text files are a string's bytes and a line end. So the bytes go there as
strings, and the line end is a byte that the file ends in anyway: the ``1`` of Parquet's ``PAR1``
and of Arrow's ``ARROW1``, or a line end. Spark's own commit protocol sees to it that a task which
ran twice, or died halfway, leaves one file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from incrowd.engines.columns import arriving
from incrowd.engines.spark.travel import told_without_values
from incrowd.tables.table import Format
from incrowd.tables.write import write_tables

BLOB_SCHEMA = "rows binary"
FILE_SCHEMA = "value string"

_PIECE_BYTES = 1 << 26  # of a file that travel to Spark as one string


def to_blobs(
    schema: pa.Schema,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for ``mapInArrow`` that packs travelling rows for ``from_blob``."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                with told_without_values():
                    table = arriving(pa.Table.from_batches([batch]), schema)
                    sink = pa.BufferOutputStream()
                    with pa.ipc.new_stream(sink, table.schema) as writer:
                        writer.write_table(table)
                    blob = pa.array([sink.getvalue().to_pybytes()], pa.binary())
                yield pa.RecordBatch.from_arrays([blob], names=["rows"])

    return run


def from_blob(blob: bytes | bytearray) -> pa.Table:
    """Return the rows that ``to_blobs`` packed."""
    return pa.ipc.open_stream(pa.py_buffer(blob)).read_all()


def last_byte(stored: Format) -> str:
    """Return what every file of this format ends in, as Spark's line end."""
    if stored.kind == "csv":
        return stored.newline[-1]
    return "\0" if stored.is_stream else "1"


def packing(stored: Format) -> str:
    """Return Spark's word for how files of text are packed."""
    return {"": "none", "gz": "gzip", "zst": "zstd"}[stored.compression]


def to_files(
    schema: pa.Schema, stored: Format
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for ``mapInArrow`` that makes a file of a partition's travelling rows.

    A partition without rows makes none. Spark packs the file where it is to be packed.
    """
    end = last_byte(stored).encode()
    unpacked = replace(stored, compression="")

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = next((batch for batch in batches if batch.num_rows), None)
        if first is None:
            return

        def tables() -> Iterator[pa.Table]:
            yield arriving(pa.Table.from_batches([first]), schema)
            for batch in batches:
                if batch.num_rows:
                    yield arriving(pa.Table.from_batches([batch]), schema)

        with told_without_values():
            content = file_of(tables(), schema, unpacked)
        yield from _pieces(content, end)

    return run


def file_of(tables: Iterator[pa.Table], schema: pa.Schema, stored: Format) -> bytes:
    """Return the bytes of a file; they lie in memory alone."""
    descriptor = os.memfd_create("part")
    try:
        path = Path(f"/proc/self/fd/{descriptor}")
        write_tables(tables, schema, path, stored)
        return path.read_bytes()
    finally:
        os.close(descriptor)


def _pieces(content: bytes, end: bytes) -> Iterator[pa.RecordBatch]:
    """Yield a file's bytes cut behind bytes that Spark will write, without these."""
    if not content.endswith(end):
        raise ValueError("a file ends in another byte than its format says")
    start = 0
    while start < len(content):
        cut = content.find(end, min(start + _PIECE_BYTES, len(content) - 1))
        piece = pa.array([content[start:cut]], pa.binary())
        # Not all of it is text: Spark hands on a string's bytes without looking at them.
        text = pa.Array.from_buffers(pa.string(), 1, piece.buffers())
        yield pa.RecordBatch.from_arrays([text], names=["value"])
        start = cut + 1

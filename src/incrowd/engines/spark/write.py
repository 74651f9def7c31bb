"""Sorted rows that leave Spark: to this process, or as part files.

Part files are made by our own writer within the tasks, so they equal those of a release made on one
machine: no Spark metadata, nothing but the rows. Spark can store raw bytes in one way only: its
text files are a string's bytes followed by a line separator. So the bytes are passed as strings,
and the separator is the byte that the file ends with anyway: the ``1`` of Parquet's ``PAR1`` and of
Arrow's ``ARROW1``, or a newline. Spark's commit protocol ensures that a task which ran twice, or
failed halfway, leaves one file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from incrowd.engines.spark.workers import hide_values
from incrowd.engines.transfer import from_transfer
from incrowd.tables.table import Format
from incrowd.tables.write import write_tables

BLOB_SCHEMA = "rows binary"
FILE_SCHEMA = "value string"

_PIECE_BYTES = 1 << 26  # of a file that are passed to Spark as one string


def make_blob_packer(
    schema: pa.Schema,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for ``mapInArrow`` that packs rows for ``unpack_blob``."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                with hide_values():
                    table = from_transfer(pa.Table.from_batches([batch]), schema)
                    sink = pa.BufferOutputStream()
                    with pa.ipc.new_stream(sink, table.schema) as writer:
                        writer.write_table(table)
                    blob = pa.array([sink.getvalue().to_pybytes()], pa.binary())
                yield pa.RecordBatch.from_arrays([blob], names=["rows"])

    return run


def unpack_blob(blob: bytes | bytearray) -> pa.Table:
    """Return the rows that ``make_blob_packer`` packed."""
    return pa.ipc.open_stream(pa.py_buffer(blob)).read_all()


def last_byte(stored: Format) -> str:
    """Return the last character of every file of this format, for Spark's line separator."""
    if stored.kind == "csv":
        return stored.newline[-1]
    return "\0" if stored.is_stream else "1"


def compression_name(stored: Format) -> str:
    """Return Spark's name of the compression of text files."""
    return {"": "none", "gz": "gzip", "zst": "zstd"}[stored.compression]


def make_file_writer(
    schema: pa.Schema, stored: Format
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for ``mapInArrow`` that makes a file of a partition's rows.

    A partition without rows makes none. Spark does the compression.
    """
    end = last_byte(stored).encode()
    uncompressed = replace(stored, compression="")

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = next((batch for batch in batches if batch.num_rows), None)
        if first is None:
            return

        def tables() -> Iterator[pa.Table]:
            yield from_transfer(pa.Table.from_batches([first]), schema)
            for batch in batches:
                if batch.num_rows:
                    yield from_transfer(pa.Table.from_batches([batch]), schema)

        with hide_values():
            content = make_file(tables(), schema, uncompressed)
        yield from _pieces(content, end)

    return run


def make_file(tables: Iterator[pa.Table], schema: pa.Schema, stored: Format) -> bytes:
    """Return the bytes of a file, which is written in memory."""
    descriptor = os.memfd_create("part")
    try:
        path = Path(f"/proc/self/fd/{descriptor}")
        write_tables(tables, schema, path, stored)
        return path.read_bytes()
    finally:
        os.close(descriptor)


def _pieces(content: bytes, end: bytes) -> Iterator[pa.RecordBatch]:
    """Yield a file's bytes, split after separators, which Spark adds again."""
    if not content.endswith(end):
        raise ValueError("the file does not end with the last byte of its format")
    start = 0
    while start < len(content):
        cut = content.find(end, min(start + _PIECE_BYTES, len(content) - 1))
        piece = pa.array([content[start:cut]], pa.binary())
        # Not all of it is text: Spark passes a string's bytes on without validating them.
        text = pa.Array.from_buffers(pa.string(), 1, piece.buffers())
        yield pa.RecordBatch.from_arrays([text], names=["value"])
        start = cut + 1

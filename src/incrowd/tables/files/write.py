"""Write tables: the same rows give the same bytes, and the file contains nothing besides them."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.codes import count_values
from incrowd.errors import DataError
from incrowd.tables.columns.types import labels_of
from incrowd.tables.files.sniff import DELIMITERS
from incrowd.tables.frames import BLOCK_ROWS, copy_detached
from incrowd.tables.table import STATISTICS, Format, format_by_suffix
from incrowd.threads import iter_in_threads

GROUP_ROWS = 16 * BLOCK_ROWS
"""Rows of a row group of a Parquet file: fixed, since they show in its bytes."""

_BLOCK_BYTES = 1 << 24  # of cells that are turned into text at a time
_BYTE_ORDER_MARK = "\ufeff"
_ALWAYS_QUOTED = ('"', "\r", "\n", _BYTE_ORDER_MARK)  # a cell's own mark must not begin a file


def format_of_path(path: str | os.PathLike[str], like: Format | None = None) -> Format:
    """Return the format that an output's name asks for; text keeps the dialect of ``like``.

    Releases are UTF-8 whatever the input was. Raises DataError for an ending that is not known.
    """
    asked = format_by_suffix(Path(path))
    if asked.kind in STATISTICS:
        raise DataError(
            f"{path}: files of SPSS, Stata and SAS are read, but not written",
            remedy="Name the release .csv, .xlsx or .parquet.",
        )
    if like is None or like.kind != asked.kind:
        return asked
    if asked.kind == "xlsx":
        return asked
    if asked.kind == "arrow":
        return replace(asked, is_stream=asked.is_stream or like.is_stream)
    delimiter = asked.delimiter if asked.delimiter == "\t" else like.delimiter
    return replace(like, compression=asked.compression, delimiter=delimiter, encoding="utf-8")


def write_table(frame: pa.Table, path: str | os.PathLike[str], format: Format) -> None:
    """Write a table so that it reads back the same; on disk when this returns.

    Text is UTF-8; where a cell of a column must be quoted, all of that column's are (see
    ``find_quoted_columns``), and a null is an empty cell. Parquet and Arrow files are written from
    fresh arrays, without metadata of their origin. Raises OSError as the system does (no space
    left, no right to write); what was written by then is the caller's.
    """
    write_tables(iter([frame]), frame.schema, path, format)


def write_tables(
    tables: Iterator[pa.Table], schema: pa.Schema, path: str | os.PathLike[str], format: Format
) -> None:
    """Write tables with the columns of ``schema`` as one, to the bytes of ``write_table``.

    However the rows are cut into tables, the bytes are the same; no more of them are held than
    the largest table has, and ``GROUP_ROWS``, unless the format leaves open which columns of a
    text file are quoted: then all of them are.
    """
    if format.kind == "csv" and format.quoted_columns is None:
        held = list(tables)
        format = replace(format, quoted_columns=find_quoted_columns(held, format))
        tables = iter(held)
    with Path(path).open("wb") as file:
        if format.kind == "csv":
            with compressed_stream(file, format.compression) as stream:
                for block in _text_blocks(tables, schema, format):
                    stream.write(block)
        elif format.kind == "parquet":
            _write_parquet(tables, schema, file)
        elif format.kind == "arrow":
            _write_arrow(tables, schema, file, format.is_stream)
        elif format.kind == "xlsx":
            from incrowd.tables.files.excel import write_excel

            rows = pa.concat_tables([schema.empty_table(), *tables])
            write_excel(rows, file, Path(path).absolute().parent)
        else:
            raise ValueError(f"unknown format {format.kind!r}")
        file.flush()
        os.fsync(file.fileno())


def regroup(tables: Iterable[pa.Table], n_rows: int) -> Iterator[pa.Table]:
    """Yield the same rows in tables of ``n_rows`` rows each but the last; nothing is copied."""
    held: list[pa.Table] = []
    n_held = 0
    for table in tables:
        start = 0
        while start < table.num_rows:
            piece = table.slice(start, n_rows - n_held)
            start += piece.num_rows
            n_held += piece.num_rows
            held.append(piece)
            if n_held == n_rows:
                whole, held, n_held = pa.concat_tables(held), [], 0
                yield whole
                del whole
        del table  # or it would be in memory while the next one is made
    if held:
        yield pa.concat_tables(held)


@contextmanager
def compressed_stream(file: Any, compression: str) -> Iterator[Any]:
    """Yield a stream that compresses into ``file``, without a file name or time."""
    if compression == "gz":
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as stream:
            yield stream
    elif compression == "zst":
        # pyarrow closes what it packs into, and the caller still has to flush to the disk
        with (
            os.fdopen(os.dup(file.fileno()), "wb") as same_file,
            pa.CompressedOutputStream(same_file, "zstd") as stream,
        ):
            yield stream
    else:
        yield file


# ── text ────────────────────────────────────────────────────────────────────────────────────


def find_quoted_columns(tables: Iterable[pa.Table], stored: Format) -> tuple[int, ...]:
    """Return the positions of the columns whose cells are quoted, all of them and the name too.

    Those are columns with a cell that would not read back otherwise. Readers that detect how a
    file is written look at its first rows only, so a quote that first occurs later is missed.
    Where the delimiter is not a comma, or there is one column, cells with any usual delimiter count
    as well: a reader that detects it would take ``{a|b|c}`` in every row for three columns.
    """
    found: set[int] = set()
    n_columns = 0
    for table in tables:
        n_columns = table.num_columns
        marks = _special_marks(stored.delimiter, n_columns)
        for position, column in enumerate(table.columns):
            if position not in found and _has_mark(column, marks, is_alone=n_columns == 1):
                found.add(position)
    return tuple(sorted(found))


def _has_mark(column: pa.ChunkedArray, marks: list[bytes], *, is_alone: bool) -> bool:
    """Return whether a cell has to be quoted: a missing one in the only column is, too."""
    if pa.types.is_dictionary(column.type):
        entries = [part.dictionary for part in column.chunks]
        entries += [pa.nulls(1, column.type.value_type)] * bool(column.null_count)
        if not _has_mark(pa.chunked_array(entries), marks, is_alone=is_alone):
            return False
        column = pa.chunked_array([count_values(column)[0]])  # without entries of no cell
    cells = pa.table([column], names=["c"])
    for block in chain.from_iterable(map(_split_block, regroup([cells], BLOCK_ROWS))):
        labels = pc.fill_null(labels_of(block.column(0)), "")
        content = join_bytes(labels).to_pybytes()
        if any(mark in content for mark in marks):
            return True
        if is_alone and pc.any(pc.equal(labels, "")).as_py():
            return True
    return False


def _special_marks(delimiter: str, n_columns: int) -> list[bytes]:
    """Return the characters that make a cell one that has to be quoted."""
    detected = DELIMITERS if delimiter != "," or n_columns == 1 else ()
    return [mark.encode() for mark in dict.fromkeys((delimiter, *_ALWAYS_QUOTED, *detected))]


def _text_blocks(tables: Iterator[pa.Table], schema: pa.Schema, stored: Format) -> Iterator[Any]:
    quoted = set(stored.quoted_columns or ())
    is_alone = len(schema) == 1
    if stored.encoding == "utf-8-sig":
        yield _BYTE_ORDER_MARK.encode()
    if stored.has_header:
        marks = _special_marks(stored.delimiter, len(schema))
        names = [
            _quoted_text(name)
            if position in quoted or any(mark in name.encode() for mark in marks)
            else name
            for position, name in enumerate(schema.names)
        ]
        yield (stored.delimiter.join(names) + stored.newline).encode()
    ends = [stored.delimiter] * (len(schema) - 1) + [stored.newline]

    def text_of(block: pa.Table) -> pa.Buffer:
        cells = [
            _text_cells(column, end, is_quoted=position in quoted, is_alone=is_alone)
            for position, (column, end) in enumerate(zip(block.columns, ends, strict=True))
        ]
        return join_bytes(pc.binary_join_element_wise(*cells, ""))

    blocks = chain.from_iterable(map(_split_block, regroup(tables, BLOCK_ROWS)))
    yield from iter_in_threads(text_of, blocks)


def _split_block(block: pa.Table) -> list[pa.Table]:
    """Halve a block of wide or long cells until one Arrow string can hold its text."""
    n_bytes = sum(map(_text_bytes, block.columns)) + 32 * block.num_rows * block.num_columns
    if n_bytes <= _BLOCK_BYTES or block.num_rows == 1:
        return [block]
    half = block.num_rows // 2
    return [*_split_block(block.slice(0, half)), *_split_block(block.slice(half))]


def _text_bytes(column: pa.ChunkedArray) -> int:
    """Return how much text a column may be; a dictionary's longest value may be in every cell."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = [pc.max(pc.binary_length(part.dictionary)).as_py() or 0 for part in column.chunks]
    return len(column) * max(lengths, default=0)


def _text_cells(
    column: pa.ChunkedArray, end: str, *, is_quoted: bool, is_alone: bool
) -> pa.Array | pa.ChunkedArray:
    """Return cells as they are written: quoted or not, nulls as nothing, and what follows each.

    Nothing at all on a line would be no row to most readers, so a null in the only column is a
    quoted nothing. A dictionary's values are put into this form once, not cell by cell.
    """
    if pa.types.is_dictionary(column.type):
        parts = [_written_entries(part, end, is_quoted, is_alone) for part in column.chunks]
        return parts[0] if len(parts) == 1 else pa.chunked_array(parts)
    cells = pc.fill_null(labels_of(column), "")
    if is_quoted:
        quoted = pc.binary_join_element_wise('"', pc.replace_substring(cells, '"', '""'), '"', "")
        cells = quoted if is_alone else pc.if_else(pc.equal(cells, ""), "", quoted)
    return pc.binary_join_element_wise(cells, end, "")


def _written_entries(
    part: pa.DictionaryArray, end: str, is_quoted: bool, is_alone: bool
) -> pa.Array:
    entries = pa.concat_arrays([part.dictionary, pa.nulls(1, part.dictionary.type)])
    written = _text_cells(pa.chunked_array([entries]), end, is_quoted=is_quoted, is_alone=is_alone)
    return written.take(part.indices.fill_null(len(part.dictionary)))


def _quoted_text(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def join_bytes(texts: pa.Array | pa.ChunkedArray) -> pa.Buffer:
    """Return the bytes of all texts, none of them null, one after the other: as they lie there."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    _, offsets, content = texts.buffers()
    if not len(texts) or content is None:
        return pa.py_buffer(b"")
    width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    places = np.frombuffer(offsets, width)[texts.offset : texts.offset + len(texts) + 1]
    start, stop = int(places[0]), int(places[-1])
    return content.slice(start, stop - start)


# ── typed ───────────────────────────────────────────────────────────────────────────────────


def _write_parquet(tables: Iterator[pa.Table], schema: pa.Schema, file: Any) -> None:
    from pyarrow import parquet

    with parquet.ParquetWriter(
        file,
        copy_detached(schema.empty_table()).schema,
        version="2.6",
        data_page_version="1.0",
        compression="snappy",
    ) as writer:
        for rows in regroup(tables, GROUP_ROWS):
            writer.write_table(copy_detached(rows))
            del rows


def _write_arrow(tables: Iterator[pa.Table], schema: pa.Schema, file: Any, is_stream: bool) -> None:
    new_writer = pa.ipc.new_stream if is_stream else pa.ipc.new_file
    with new_writer(file, copy_detached(schema.empty_table()).schema) as writer:
        for rows in regroup(tables, GROUP_ROWS):
            writer.write_table(copy_detached(rows))
            del rows

"""Read text files as tables: every cell unchanged, every fault with its line.

The file passes once through a stream that decompresses it, checks its encoding and yields UTF-8;
pyarrow parses the rows. Only a file that is refused is read again, slowly, to say where and why.
Lines are counted from 1, as an editor shows them.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from incrowd.errors import DataError
from incrowd.tables.files.sniff import (
    Dialect,
    parse_delimiter,
    records,
    sniff,
    unclosed_quote_error,
)
from incrowd.tables.files.text_encodings import detect_encoding
from incrowd.tables.table import Format

MAX_CELL_BYTES = 1 << 20
"""The longest cell, in bytes of UTF-8."""

_SAMPLE_BYTES = 1 << 17  # what the dialect is detected from
_LARGEST_SAMPLE = 1 << 28  # by then the first two rows must be complete
_BLOCK_BYTES = (1 << 22, 1 << 26, 1 << 30)  # a row must fit into a block: larger ones on demand
_GUARD = b"guard"  # the cells of a row added before the file's first row and after its last one
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_COMPRESSION_OF_MAGIC = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst"}
_CODEC_OF_COMPRESSION = {"gz": "gzip", "zst": "zstd"}


def detect_text_format(
    path: Path,
    *,
    delimiter: str | None,
    encoding: str | None,
    header: bool | None,
    missing_values: tuple[str, ...],
    expects_tabs: bool,
) -> tuple[Dialect, Format]:
    """Detect how a text file is written: its encoding from all of it, the rest from its beginning.

    An encoding that is not clear is UTF-8 until a line does not decode.
    """
    if encoding is None:
        encoding = _detect_unmarked(path)
    stated = parse_delimiter(delimiter) if delimiter is not None else None
    with open_stream(path, encoding) as stream:
        dialect = _detect_dialect(stream, str(path), stated, header, missing_values, expects_tabs)
        stored = Format(
            "csv",
            stream.compression,
            dialect.delimiter,
            stream.encoding,
            dialect.has_header,
            dialect.newline,
        )
    return dialect, stored


def read_text_blocks(path: Path, encoding: str | None, dialect: Dialect) -> Iterator[pa.Table]:
    """Yield the rows of a text file a few megabytes at a time.

    All columns are strings, an empty cell is null, nothing is trimmed or converted. A blank line
    is skipped, except in a file of one column, where it is a missing value. A fault may be found
    after the first rows were yielded.
    """
    where = str(path)
    long_cells = LongCells(where)
    n_given = 0
    for block_bytes in _BLOCK_BYTES:
        n_seen = 0
        with open_stream(path, encoding) as stream:
            try:
                for table in _parse(stream, dialect, block_bytes):
                    n_seen += table.num_rows
                    if n_seen > n_given:  # others were yielded in smaller blocks already
                        table = table.slice(max(0, table.num_rows - (n_seen - n_given)))
                        n_given = n_seen
                        long_cells.check(table)
                        yield table
            except _UnparsedError:
                pass
            else:
                long_cells.refuse()
                return
        _explain(path, encoding, dialect)
    raise DataError(f"{where}: its rows cannot be parsed", remedy="Is a row longer than 1 GiB?")


def _detect_dialect(
    stream: TextStream,
    where: str,
    delimiter: str | None,
    header: bool | None,
    missing_values: tuple[str, ...],
    expects_tabs: bool,
) -> Dialect:
    n_bytes = _SAMPLE_BYTES
    while n_bytes <= _LARGEST_SAMPLE:
        sample, is_whole = stream.peek(n_bytes)
        if is_whole and not sample.strip(b"\r\n"):
            raise DataError(f"{where}: the file is empty", remedy="Give a file with rows.")
        dialect = sniff(
            sample,
            is_whole,
            where,
            delimiter=delimiter,
            header=header,
            missing_values=missing_values,
            expects_tabs=expects_tabs,
        )
        if dialect is not None:
            return dialect
        n_bytes *= 16
    raise DataError(
        f"{where}: the first two rows do not end within {_LARGEST_SAMPLE >> 20} MiB",
        remedy="Is a quoted value never closed, or is it not a table?",
    )


def _parse(stream: TextStream, dialect: Dialect, block_bytes: int) -> Iterator[pa.Table]:
    """Yield the rows; raise _UnparsedError if pyarrow refuses them or a quote is never closed.

    A guard row goes before them, since pyarrow would strip a byte order mark from the first cell,
    and one after them, which an unclosed quote would swallow.
    """
    from pyarrow import csv

    names = dialect.names
    guard = dialect.delimiter.encode().join([_GUARD] * len(names)) + b"\n"
    stream.last_line = guard
    stream.skip(dialect.header_bytes)
    stream.put_before(guard)
    held: pa.Table | None = None  # the last rows so far: the guard after them may be among them
    n_guards = 1
    try:
        with csv.open_csv(
            stream,
            read_options=csv.ReadOptions(column_names=names, block_size=block_bytes),
            parse_options=csv.ParseOptions(
                delimiter=dialect.delimiter,
                newlines_in_values=True,
                ignore_empty_lines=len(names) > 1,
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
                check_utf8=False,  # the stream has checked it
            ),
        ) as reader:
            for batch in reader:
                rows = pa.Table.from_batches([batch]).slice(n_guards)
                n_guards = 0 if batch.num_rows else n_guards
                if rows.num_rows:
                    if held is not None:
                        yield held
                    held = rows
    except (pa.ArrowInvalid, pa.ArrowCapacityError):
        raise _UnparsedError from None
    if held is None:
        raise _UnparsedError
    end = held.slice(held.num_rows - 1)
    if any(column[0].as_py() != _GUARD.decode() for column in end.columns):
        raise _UnparsedError
    if held.num_rows > 1:
        yield held.slice(0, held.num_rows - 1)


class _UnparsedError(Exception):
    """Rows that cannot be parsed in blocks of the size that was tried."""


class LongCells:
    """Counts the cells of string columns that are longer than ``MAX_CELL_BYTES``."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._n_rows = 0
        self._found: dict[int, tuple[int, int, str]] = {}  # by column: cells, first row, name

    def check(self, table: pa.Table) -> None:
        """Count them in the next rows."""
        for number, name in enumerate(table.column_names, 1):
            column = table.column(number - 1)
            if not pa.types.is_string(column.type):
                continue
            longest = pc.max(pc.binary_length(column)).as_py() or 0
            if longest > MAX_CELL_BYTES:
                lengths = pc.fill_null(pc.binary_length(column), 0).to_numpy()
                rows = (lengths > MAX_CELL_BYTES).nonzero()[0]
                first = self._n_rows + int(rows[0]) + 1
                n_before, first, _ = self._found.get(number, (0, first, name))
                self._found[number] = n_before + len(rows), first, name
        self._n_rows += table.num_rows

    def refuse(self) -> None:
        """Raise if any cell was too long."""
        for number, (n_cells, first, name) in sorted(self._found.items()):
            raise DataError(
                f"{self._where}: column {number} has {n_cells:,} cells longer than "
                f"{MAX_CELL_BYTES >> 20} MiB (first in row {first:,})",
                remedy="A cell that long is hardly a value; is a quote missing?",
                examples=[name],
            )


# ── the stream ──────────────────────────────────────────────────────────────────────────────


class TextStream(io.RawIOBase):
    """A text file as checked UTF-8 bytes, decompressed, without its byte order mark.

    Raises DataError with the line where bytes do not decode or are NUL, and where the compressed
    file is corrupt. The last line always ends in a newline; ``last_line`` follows, if not empty.
    """

    def __init__(self, source: Any, where: str, compression: str, encoding: str | None) -> None:
        self.where = where
        self.compression = compression
        self.last_line = b""
        self._source = source
        head = self._read_source(1 << 16)
        self.encoding, n_marks = _resolve_encoding(head, encoding, where)
        self._unchecked = head[n_marks:]
        self._decoder = codecs.getincrementaldecoder(self.encoding)("strict")
        self._ready = b""
        self._n_lines = 0  # complete lines that were checked
        self._ends_line = True
        self._is_ended = False

    def readable(self) -> bool:
        """It is a stream to read from."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return up to ``size`` bytes of UTF-8; none at the end."""
        while not self._is_ended and (size < 0 or len(self._ready) < size):
            self._ready += self._read_checked(max(size - len(self._ready), 1 << 16))
        taken = self._ready if size < 0 else self._ready[:size]
        self._ready = self._ready[len(taken) :]
        return taken

    def peek(self, size: int) -> tuple[bytes, bool]:
        """Return up to ``size`` bytes without consuming them, and whether that is everything."""
        self._ready = self.read(size) + self._ready
        return self._ready[:size], self._is_ended and len(self._ready) <= size

    def skip(self, size: int) -> None:
        """Skip the next bytes."""
        while size > 0 and (passed := self.read(min(size, 1 << 24))):
            size -= len(passed)

    def put_before(self, line: bytes) -> None:
        """Make a line come next."""
        self._ready = line + self._ready

    def lines(self) -> Iterator[bytes]:
        """Yield line after line, with their ends."""
        rest = b""
        while block := self.read(1 << 24):
            lines = (rest + block).splitlines(keepends=True)
            rest = lines.pop()  # it may go on, or its \\r be followed by \\n
            yield from lines
        if rest:
            yield rest

    def _read_checked(self, size: int) -> bytes:
        """Return the next piece as UTF-8, or the last line when the file has ended."""
        raw = self._unchecked or self._read_source(size)
        self._unchecked = b""
        try:
            if self.encoding == "utf-8" and raw.isascii() and not self._decoder.getstate()[0]:
                text = raw
            else:
                text = self._decoder.decode(raw, final=not raw).encode()
        except UnicodeDecodeError as error:
            raise self._undecodable(error) from None
        if b"\0" in text:
            raise self._not_text(text)
        self._n_lines += _count_line_ends(text)
        if text:
            self._ends_line = text[-1:] in (b"\n", b"\r")
        if not raw:
            self._is_ended = True
            text += b"" if self._ends_line else b"\n"
            text += self.last_line
        return text

    def _read_source(self, size: int) -> bytes:
        try:
            return bytes(self._source.read(size))
        except (OSError, pa.ArrowException) as error:
            if isinstance(error, OSError) and error.errno:
                raise
            raise DataError(
                f"{self.where}: not a valid .{self.compression} file (corrupt or truncated)",
                remedy="Decompress it by hand to see how far it goes, or fetch it again.",
            ) from None

    def _undecodable(self, error: UnicodeDecodeError) -> DataError:
        if self.encoding == "utf-8" and b"\0" in error.object:
            return self._not_text(error.object)
        before = error.object[: error.start].decode(self.encoding).encode()
        line = self._n_lines + _count_line_ends(before) + 1
        return DataError(
            f"{self.where}: line {line:,} is not {self.encoding}",
            remedy="State its encoding with --encoding: windows-1252 (Western European), "
            "windows-1250 (Central European) and utf-16 are common.",
        )

    def _not_text(self, text: bytes) -> DataError:
        line = self._n_lines + _count_line_ends(text[: text.index(b"\0")]) + 1
        return DataError(
            f"{self.where}: line {line:,} holds a NUL byte, so it is not text in {self.encoding}",
            remedy="Export it as CSV in UTF-8. If it is UTF-16 without a mark, say "
            "--encoding utf-16-le.",
        )


def _count_line_ends(text: bytes) -> int:
    """Count line ends; a carriage return is one only where there are no others."""
    return text.count(b"\n") or text.count(b"\r")


def _resolve_encoding(head: bytes, stated: str | None, where: str) -> tuple[str, int]:
    """Return the encoding (byte order mark, else stated, else UTF-8) and the mark's length."""
    marks = [(name, len(mark)) for mark, name in _BYTE_ORDER_MARKS if head.startswith(mark)]
    marked, n_marks = marks[0] if marks else ("", 0)
    if stated is None:
        return marked or "utf-8", n_marks
    try:
        name = codecs.lookup(stated).name
        "".encode(name)  # a codec such as base64 is not a text encoding
    except (LookupError, ValueError):
        raise DataError(
            f"unknown text encoding {stated!r}",
            remedy="Common ones are utf-8, windows-1252, iso-8859-15 and utf-16.",
        ) from None
    name = name.removesuffix("-sig")
    if marked and not marked.startswith(name):
        raise DataError(
            f"{where}: its byte order mark says {marked}, and --encoding says {stated}",
            remedy="Leave --encoding out.",
        )
    if not marked and name in ("utf-16", "utf-32"):
        raise DataError(
            f"{where}: without a byte order mark, {name} can be read in two ways",
            remedy=f"State --encoding {name}-le (usual) or {name}-be.",
        )
    return marked or name, n_marks


def _detect_unmarked(path: Path) -> str | None:
    """Return the encoding of a file without a byte order mark; None if it has one or is unclear.

    A file that cannot be read is left to the stream, which says what is wrong with it.
    """
    with suppress(OSError, pa.ArrowException), _open_source(path) as (source, _):
        head = bytes(source.read(1 << 16))
        if any(head.startswith(mark) for mark, _ in _BYTE_ORDER_MARKS):
            return None

        def read(size: int) -> bytes:
            nonlocal head
            piece, head = head or bytes(source.read(size)), b""
            return piece

        return detect_encoding(read)
    return None


@contextmanager
def open_stream(path: Path, encoding: str | None) -> Iterator[TextStream]:
    """Open a text file, compressed or not, as a stream of UTF-8."""
    with _open_source(path) as (source, compression):
        yield TextStream(source, str(path), compression, encoding)


@contextmanager
def _open_source(path: Path) -> Iterator[tuple[Any, str]]:
    """Open a file to read its bytes, decompressed; also yields the name of the compression."""
    with path.open("rb") as file:
        head = file.read(4)
        file.seek(0)
        compression = next(
            (name for mark, name in _COMPRESSION_OF_MAGIC.items() if head.startswith(mark)), ""
        )
        source: Any = file
        if compression:
            source = pa.CompressedInputStream(file, _CODEC_OF_COMPRESSION[compression])
        yield source, compression


# ── explaining what is wrong ───────────────────────────────────────────────────────────────────


def _explain(path: Path, encoding: str | None, dialect: Dialect) -> None:
    """Read the file again, row by row, and raise for what is wrong; return if nothing is."""
    where, n_columns = str(path), len(dialect.names)
    n_rows = -1 if dialect.has_header else 0
    n_fewer = n_more = 0
    first_lines: list[str] = []
    with open_stream(path, encoding) as stream:
        for record in records(stream.lines(), dialect.delimiter):
            if not record.is_closed:
                raise unclosed_quote_error(where, record.line)
            if record.is_blank:
                continue
            n_rows += 1
            longest = max(len(cell) for cell in record.cells)
            if longest > MAX_CELL_BYTES:
                raise DataError(
                    f"{where}: the row that begins on line {record.line:,} has a cell of "
                    f"{longest:,} bytes, and the longest may be {MAX_CELL_BYTES:,}",
                    remedy="A cell that long is hardly a value; is a quote missing?",
                )
            n_cells = len(record.cells)
            if n_cells != n_columns:
                n_fewer, n_more = n_fewer + (n_cells < n_columns), n_more + (n_cells > n_columns)
                if len(first_lines) < 5:
                    first_lines.append(f"{record.line:,} ({n_cells:,})")
    if not first_lines:
        return
    shown = ", ".join(first_lines) + (", …" if n_fewer + n_more > len(first_lines) else "")
    raise DataError(
        f"{where}: {n_fewer + n_more:,} of {n_rows:,} rows do not have the {n_columns:,} cells of "
        f"the first ({n_fewer:,} have fewer, {n_more:,} more); lines (cells): {shown}",
        remedy=f"Quote values that hold the delimiter {dialect.delimiter!r}, or state the right "
        "--delimiter; delete lines above the header.",
    )

"""Sets in text files: lines cut into cells by whole blocks, baskets and edge lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.errors import DataError, unknown
from incrowd.sets.build import Pairs, from_pairs
from incrowd.sets.format import (
    BASKETS,
    BLANKS,
    EDGES,
    MemoryLimit,
    SetFile,
    SetFormat,
    SetOptions,
    SetSource,
)
from incrowd.sets.names import NameCoder, find_names, renumber, to_integers
from incrowd.sets.sets import BIPARTITE, IN_MEMORY, EntryStorage, GrowingArray
from incrowd.tables.files.read import check_text
from incrowd.tables.files.sniff import (
    DELIMITERS,
    check_names,
    parse_delimiter,
    records,
    unclosed_quote_error,
)
from incrowd.tables.files.text import MAX_CELL_BYTES, TextStream, open_stream

WHOLE_LINES = ""
"""The delimiter of a file with one cell a line."""

_BLOCK_BYTES = 1 << 22
_MOST_LINE_BYTES = 1 << 28
_QUOTE, _LF, _CR, _BLANK, _TAB = b'"\n\r \t'


@dataclass(frozen=True, eq=False)
class Block:
    """Whole lines of a file: cell c is ``data[begins[c]:ends[c]]``, quotes included.

    ``n_cells`` says for each line how many cells it has; an empty line has none. ``first_line``
    is the number of the block's first line, from 1.
    """

    where: str
    data: NDArray[np.uint8]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    n_cells: NDArray[np.int64]
    first_line: int

    @cached_property
    def firsts(self) -> NDArray[np.int64]:
        """The first cell of each line."""
        return np.cumsum(self.n_cells) - self.n_cells

    def line_of(self, cell: int) -> int:
        """Return the number of the line on which a cell begins."""
        return self.first_line + _n_lines(self.data[: self.begins[cell]].tobytes())

    def texts(
        self, cells: NDArray[np.int64] | None = None, *, may_be_empty: bool = False
    ) -> pa.Array:
        """Return cells, or those of the given numbers (ascending), unquoted.

        Raises DataError for one that is too long, or empty unless it may be.
        """
        begins, ends = self.begins, self.ends
        if cells is not None:
            begins, ends = begins[cells], ends[cells]
        is_quoted = (ends > begins) & (self.data[np.minimum(begins, len(self.data) - 1)] == _QUOTE)
        has_quotes = bool(is_quoted.any())
        if has_quotes:
            begins, ends = begins + is_quoted, ends - is_quoted
        lengths = ends - begins
        least = 0 if may_be_empty else 1
        if len(lengths) and (lengths.min() < least or lengths.max() > MAX_CELL_BYTES):
            at = int(np.flatnonzero((lengths < least) | (lengths > MAX_CELL_BYTES))[0])
            line = self.line_of(at if cells is None else int(cells[at]))
            raise DataError(
                f"{self.where}: line {line:,} has a name that is "
                + ("empty" if lengths[at] < 1 else f"longer than {MAX_CELL_BYTES >> 20} MiB"),
                remedy="Give every row and every item a name.",
            )
        texts = _gathered(self.data, begins, ends, lengths)
        if has_quotes:
            single = pc.replace_substring(texts, '""', '"')
            texts = pc.if_else(pa.array(is_quoted), single, texts)
        return texts

    def require_width(self, n_columns: int, remedy: str) -> None:
        """Raise unless each line that is not empty has this number of cells."""
        odd = np.flatnonzero((self.n_cells != n_columns) & (self.n_cells > 0))
        if len(odd):
            first = int(odd[0])
            raise DataError(
                f"{self.where}: line {self.line_of(int(self.firsts[first])):,} has "
                f"{int(self.n_cells[first]):,} cells, and {n_columns:,} are expected",
                remedy=remedy,
            )


def read_blocks(
    stream: TextStream, delimiter: str, where: str, first_line: int = 1
) -> Iterator[Block]:
    """Cut what is left of a stream into blocks of cells; ``first_line`` is its next line."""
    rest = b""
    is_ended = False
    while not is_ended:
        piece = stream.read(max(_BLOCK_BYTES, len(rest)))
        is_ended = not piece
        raw = rest + piece
        cut = _last_line_end(raw, is_ended)
        if cut == 0 and raw and is_ended:
            raise unclosed_quote_error(where, first_line + _n_lines(raw[: raw.rindex(b'"')]))
        if len(raw) - cut > _MOST_LINE_BYTES:
            raise DataError(
                f"{where}: line {first_line + _n_lines(raw[:cut]):,} is longer than "
                f"{_MOST_LINE_BYTES >> 20} MiB",
                remedy="Is a quoted name never closed, or is it no file of sets?",
            )
        rest = raw[cut:]
        if cut:
            yield _cells(raw[:cut], delimiter, where, first_line)
            first_line += _n_lines(raw[:cut])


def read_first_block(sample: bytes, is_whole: bool, delimiter: str, where: str, line: int) -> Block:
    """Cut the beginning of a file into cells, as far as whole lines go."""
    cut = _last_line_end(sample, is_whole)
    if cut == 0 and not sample:
        raise DataError(f"{where}: there is no entry", remedy="Give a file with entries.")
    if cut == 0:
        raise DataError(
            f"{where}: the line that begins on line {line:,} does not end",
            remedy="Is a quoted name never closed, or is it no file of sets?",
        )
    return _cells(sample[:cut], delimiter, where, line)


def _last_line_end(raw: bytes, is_ended: bool) -> int:
    """Return how far whole lines go that end outside of quotes; 0 if there are none."""
    ends_in = b"\r" if b"\n" not in raw and is_ended else b"\n"
    if b'"' not in raw:
        return raw.rfind(ends_in) + 1
    data = np.frombuffer(raw, dtype=np.uint8)
    is_open = np.bitwise_xor.accumulate(data == _QUOTE)
    ends = np.flatnonzero((data == ends_in[0]) & ~is_open)
    if is_ended and is_open[-1]:
        return 0
    return int(ends[-1]) + 1 if len(ends) else 0


def _cells(raw: bytes, delimiter: str, where: str, first_line: int) -> Block:
    data = np.frombuffer(raw, dtype=np.uint8)
    is_end = data == _LF
    is_return = np.zeros(0, dtype=np.bool_)
    if b"\r" in raw:  # \\r\\n is one end, a lone \\r is one too
        is_return = data == _CR
        is_return[:-1] &= is_end[1:]
        is_return[-1] = False
        is_end |= (data == _CR) & ~is_return
    is_open = np.zeros(0, dtype=np.bool_)
    if b'"' in raw:
        is_open = np.bitwise_xor.accumulate(data == _QUOTE)
        is_end &= ~is_open
    line_ends = np.flatnonzero(is_end)
    if delimiter == BLANKS:
        is_gap = (data == _BLANK) | (data == _TAB)
        if len(is_return):
            is_gap |= is_return
        if len(is_open):
            is_gap &= ~is_open
        is_gap |= is_end
        turns = np.flatnonzero(np.diff(is_gap, prepend=True))  # gap to cell, cell to gap, …
        begins, ends = turns[::2], turns[1::2]
        n_cells = np.diff(np.searchsorted(begins, line_ends), prepend=0)
    else:
        is_cut = is_end.copy()
        if delimiter:
            is_delimiter = data == ord(delimiter)
            is_cut |= is_delimiter & ~is_open if len(is_open) else is_delimiter
        ends = np.flatnonzero(is_cut)
        begins = np.concatenate([[0], ends[:-1] + 1])
        if len(is_return):
            ends = ends - (is_return[np.maximum(ends, 1) - 1] & is_end[ends] & (ends > begins))
        n_cells = np.diff(np.flatnonzero(is_end[np.flatnonzero(is_cut)]), prepend=-1)
        begins, ends, n_cells = _drop_blank_lines(begins, ends, n_cells)
    block = Block(where, data, begins, ends, n_cells, first_line)
    if len(is_open):
        _refuse_loose_quotes(block, is_open)
    return block


def _drop_blank_lines(
    begins: NDArray[np.int64], ends: NDArray[np.int64], n_cells: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Take the one, empty cell of a line with nothing on it away."""
    firsts = np.cumsum(n_cells) - n_cells
    is_blank = (n_cells == 1) & (begins[firsts] == ends[firsts])
    if not is_blank.any():
        return begins, ends, n_cells
    is_cell = np.ones(len(begins), dtype=np.bool_)
    is_cell[firsts[is_blank]] = False
    return begins[is_cell], ends[is_cell], np.where(is_blank, 0, n_cells)


def _refuse_loose_quotes(block: Block, is_open: NDArray[np.bool_]) -> None:
    """Raise for a quote that neither opens nor closes a cell nor is doubled in a quoted one."""
    data = block.data
    quotes = np.flatnonzero(data == _QUOTE)
    is_begin = np.zeros(len(data) + 1, dtype=np.bool_)
    is_begin[block.begins] = True
    is_finish = np.zeros(len(data) + 1, dtype=np.bool_)
    is_finish[block.ends] = True
    opens = is_open[quotes]
    after_quote = (quotes > 0) & (data[np.maximum(quotes, 1) - 1] == _QUOTE)
    before_quote = data[np.minimum(quotes + 1, len(data) - 1)] == _QUOTE
    is_fine = np.where(opens, is_begin[quotes] | after_quote, is_finish[quotes + 1] | before_quote)
    if not is_fine.all():
        at = int(quotes[~is_fine][0])
        line = block.first_line + _n_lines(data[:at].tobytes())
        raise DataError(
            f"{block.where}: line {line:,} has a quote inside a name that is not quoted as a whole",
            remedy='Put the whole name between quotes, and write a quote in it twice: "5"" nails".',
        )


def _gathered(
    data: NDArray[np.uint8],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    lengths: NDArray[np.int64],
) -> pa.Array:
    step = np.zeros(len(data) + 1, dtype=np.int8)
    step[begins] += 1
    step[ends] -= 1
    content = data[np.cumsum(step, dtype=np.int8)[:-1].astype(np.bool_)]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(content))


def _n_lines(raw: bytes) -> int:
    """Count line ends; a carriage return is one only where there are no others."""
    return raw.count(b"\n") or raw.count(b"\r")


# Sets from text: baskets with a row a line, and edge lists with an entry a line.

_SAMPLE_BYTES = 1 << 17
_SAMPLE_LINES = 1000
_COMMENTS = (b"#", b"%")
_WHOLE = r"^-?[0-9]+$"
_WHOLE_CELL = re.compile(rb'"[^"\r\n]*"|(?<![^\s,;|])\([^\s"]*\)')


def basket_blocks(source: SetSource, options: SetOptions) -> Iterator[tuple[SetFormat, Block]]:
    """Yield the lines of part after part, a block at a time, and how the part is written."""
    for path in source.parts:
        check_text(path)
        with open_stream(path, options.encoding) as stream:
            stored = SetFormat(BASKETS, stream.compression, newline=detect_newline(stream))
            for block in read_blocks(stream, BLANKS, str(path)):
                yield stored, block


def read_baskets(
    source: SetSource,
    options: SetOptions,
    listed: pa.Array | None,
    storage: EntryStorage = IN_MEMORY,
) -> SetFile:
    """Read a file with the items of a row on every line; an empty line is an empty set."""
    where, name = source.where, source.path.name
    room = MemoryLimit(options, where, storage)
    items = NameCoder(storage=storage)
    sizes = GrowingArray(np.int32)
    stored: SetFormat | None = None
    for of_part, block in basket_blocks(source, options):
        stored = stored or of_part
        sizes.append(block.n_cells)
        room.require(sizes.length, 0, items.n_entries + len(block.begins), items.n_text)
        items.add(block.texts())
    n_rows = sizes.length
    if n_rows == 0 or stored is None:
        raise DataError(f"{where}: it is empty", remedy="Give a file with rows.")
    if listed is not None and len(listed) != n_rows:
        raise DataError(
            f"{where}: there are {n_rows:,} lines, and {name}.rows lists {len(listed):,} rows",
            remedy="List the rows of this very file, or take the list away.",
        )
    codes, names = items.finish()
    room.require(n_rows, len(names), len(codes))
    pairs = Pairs(None, codes, n_rows, len(names), sizes.finish())
    del codes
    sets, notes = from_pairs(pairs, listed, names, options, where, storage)
    return SetFile(sets, stored, notes, name)


def read_edges(
    source: SetSource,
    options: SetOptions,
    listed: pa.Array | None,
    ending: str,
    storage: EntryStorage = IN_MEMORY,
) -> SetFile:
    """Read a file with a row and an item on every line, in two columns or in two of several.

    Part files are written alike: what is found of the first with entries holds for all of them.
    """
    where, name = source.where, source.path.name
    room = MemoryLimit(options, where, storage)
    rows, items = NameCoder(storage=storage), NameCoder(storage=storage)
    found: _Dialect | None = None
    stored = SetFormat(EDGES, "", options.delimiter or BLANKS)
    notes = []
    for path in source.parts:
        check_text(path)
        with open_stream(path, options.encoding) as stream:
            first_line = 1 + skip_comments(stream)
            if first_line > 1:
                notes.append(f"{path}: {first_line - 1:,} lines of comments are left out")
            is_empty = not stream.peek(1)[0]
            if is_empty and (listed is not None or len(source.parts) > 1):
                if found is None:
                    stored = replace(stored, compression=stream.compression)
                continue
            if found is None:
                found = _detect_dialect(stream, options, str(path), ending, first_line)
                stored = _stored(found, stream)
            for firsts, block in _entries(stream, found, str(path), first_line):
                room.require(0, 0, rows.n_entries + len(firsts), rows.n_text + items.n_text)
                rows.add(block.texts(firsts + found.row_column))
                items.add(block.texts(firsts + found.item_column))
    built = sets_from_coders(rows, items, listed, options, where, storage)
    return SetFile(built.sets, stored, [*notes, *built.notes], name)


def _stored(found: _Dialect, stream: TextStream) -> SetFormat:
    return SetFormat(
        EDGES,
        stream.compression,
        found.delimiter,
        detect_newline(stream),
        found.has_header,
        found.names[found.row_column] if found.has_header else "",
        found.names[found.item_column] if found.has_header else "",
    )


def _entries(
    stream: TextStream, found: _Dialect, where: str, first_line: int
) -> Iterator[tuple[NDArray[np.int64], Block]]:
    """Cut a file into blocks, with where each line's cells begin; its header is left out."""
    is_header = found.has_header
    remedy = "Give every line its row and its item; quote names that hold the delimiter."
    for block in read_blocks(stream, found.delimiter, where, first_line):
        block.require_width(len(found.names), remedy)
        firsts = block.firsts[block.n_cells > 0]
        if is_header and len(firsts):
            top = block.texts(np.arange(len(found.names)) + firsts[0], may_be_empty=True)
            if top.to_pylist() != found.names:
                raise DataError(
                    f"{where}: the names of its columns differ from those of the first part file",
                    remedy="Write all part files with the same columns, each with its header.",
                )
            firsts, is_header = firsts[1:], False
        yield firsts, block


def sets_from_coders(
    rows: NameCoder,
    items: NameCoder,
    listed: pa.Array | None,
    options: SetOptions,
    where: str,
    storage: EntryStorage = IN_MEMORY,
) -> SetFile:
    """Return the sets of named pairs, with the listed rows that have no pair as empty sets."""
    row_codes, row_names = rows.finish()
    if listed is not None:
        row_names, row_codes = _number_by_list(listed, row_names, row_codes, where)
    elif not len(row_codes):
        raise DataError(f"{where}: there is no entry", remedy="Give a file with entries.")
    item_codes, item_names = items.finish()
    if listed is not None and options.graph != BIPARTITE:
        item_names, item_codes = _number_by_list(listed, item_names, item_codes, where)
    n_text = row_names.nbytes + item_names.nbytes
    MemoryLimit(options, where, storage).require(
        len(row_names), len(item_names), len(row_codes), n_text
    )
    pairs = Pairs(row_codes, item_codes, len(row_names), len(item_names))
    del row_codes, item_codes
    sets, notes = from_pairs(pairs, row_names, item_names, options, where, storage)
    return SetFile(sets, SetFormat(), notes)


def read_name_list(path: Path, options: SetOptions) -> pa.Array | None:
    """Return the names in ``path``, one a line, or None where there is no such file."""
    if not path.exists():
        return None
    room = MemoryLimit(options, str(path))
    names = NameCoder()
    with open_stream(path, "utf-8") as stream:
        for block in read_blocks(stream, WHOLE_LINES, str(path)):
            block.require_width(1, "Give one name a line.")
            room.require(names.n_entries + len(block.begins), 0, 0)
            names.add(block.texts())
    codes, distinct = names.finish()
    if len(distinct) < len(codes):
        raise DataError(
            f"{path}: {len(codes) - len(distinct):,} names are listed more than once",
            remedy="List every name once.",
        )
    return to_integers(distinct.take(pa.array(codes)))  # in the order of the file


def _number_by_list(
    listed: pa.Array, names: pa.Array, codes: NDArray[np.int32], where: str
) -> tuple[pa.Array, NDArray[np.int32]]:
    """Number entries by the list of all rows; raises where one is of a row that is not in it."""
    names = to_integers(names)
    if not len(names) or listed.equals(names):
        return listed, codes
    place = find_names(names, listed)
    if (place < 0).any():
        raise DataError(
            f"{where}: {int((place < 0).sum()):,} of its names are not in its list of rows",
            remedy=f"List every row, or every node, in {where}.rows, or take the list away.",
        )
    renumber(codes, place)
    return listed, codes


# ── how an edge list is written ─────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Dialect:
    delimiter: str
    has_header: bool
    names: list[str]
    row_column: int
    item_column: int


def _detect_dialect(
    stream: TextStream, options: SetOptions, where: str, ending: str, first_line: int
) -> _Dialect:
    sample, is_whole = stream.peek(_SAMPLE_BYTES)
    while not is_whole and sample.count(b"\n") < 2 and len(sample) < _SAMPLE_BYTES << 8:
        sample, is_whole = stream.peek(len(sample) * 4)
    lines = sample.splitlines(keepends=True)
    lines = lines if is_whole or len(lines) < 2 else lines[:-1]
    if options.delimiter is not None:
        delimiter = BLANKS if options.delimiter == BLANKS else parse_delimiter(options.delimiter)
    else:
        delimiter = _detect_delimiter(lines[:_SAMPLE_LINES], where, ending)
    block = read_first_block(sample, is_whole, delimiter, where, first_line)
    top, *below = _sample_lines(block, _SAMPLE_LINES)
    header = options.header
    if header is None and len(top) < 2:
        raise _one_column(where)
    if header is None:
        header = _has_header(top, below, options, where)
    names = top if header else [f"column_{number}" for number in range(1, len(top) + 1)]
    if header:
        check_names(names, where, of_file=True)
    return _Dialect(delimiter, header, names, *choose_columns(names, options, where))


def choose_columns(names: list[str], options: SetOptions, where: str) -> tuple[int, int]:
    """Return the places of the row's and the item's column: the only two, or as stated."""
    if len(names) < 2:
        raise _one_column(where)
    for stated in (options.row_column, options.item_column):
        if stated is not None and stated not in names:
            raise unknown("column", stated, names, where=where)
    if len(names) > 2 and (options.row_column is None or options.item_column is None):
        raise DataError(
            f"{where}: there are {len(names):,} columns, and sets need two of them",
            remedy="State row_column and item_column.",
        )
    row = names.index(options.row_column) if options.row_column is not None else None
    item = names.index(options.item_column) if options.item_column is not None else None
    if row is None:
        row = 0 if item is None else 1 - item
    if item is None:
        item = 1 - row
    if row == item:
        raise DataError(
            f"{where}: row and item are the same column", remedy="Name two different columns."
        )
    return row, item


def _one_column(where: str) -> DataError:
    return DataError(
        f"{where}: there is one column, and sets need two: row and item",
        remedy="Give a row and an item on every line; a file with the items of a row on every "
        "line is called .dat.",
    )


def _detect_delimiter(lines: list[bytes], where: str, ending: str) -> str:
    """Find the delimiter by which all lines have one number of cells; blanks if there is none."""
    widths_by = {}
    lines = [_WHOLE_CELL.sub(b"x", line) for line in lines]  # what they hold delimits nothing
    for delimiter in DELIMITERS:
        found = [record for record in records(lines, delimiter) if not record.is_blank]
        widths_by[delimiter] = [len(record.cells) for record in found] or [0]
    agreeing = [by for by, widths in widths_by.items() if min(widths) == max(widths) > 1]
    if not agreeing:
        agreeing = [
            by
            for by, widths in widths_by.items()
            if widths[0] > 1 and 2 * widths.count(widths[0]) >= len(widths)
        ]
    by_ending = {".csv": ",", ".tsv": "\t"}.get(ending, "")
    if by_ending in agreeing:
        return by_ending
    if len(agreeing) > 1:
        raise DataError(
            f"{where}: the delimiter is ambiguous; it could be "
            + " or ".join("a tab" if by == "\t" else f"'{by}'" for by in agreeing),
            remedy="State the delimiter.",
        )
    return agreeing[0] if agreeing else BLANKS


def _sample_lines(block: Block, n_lines: int) -> list[list[str]]:
    """Return the cells of the first lines that are not blank; raises if there are none."""
    firsts = block.firsts[block.n_cells > 0][: n_lines + 1].tolist()
    if not firsts:
        raise DataError(f"{block.where}: there is no entry", remedy="Give a file with entries.")
    if len(firsts) <= n_lines:
        firsts.append(len(block.begins))
    cells = block.texts(np.arange(firsts[-1]), may_be_empty=True).to_pylist()
    return [cells[first:end] for first, end in pairwise(firsts)]


def _has_header(top: list[str], below: list[list[str]], options: SetOptions, where: str) -> bool:
    """Tell whether the first line names the columns, or ask.

    A whole number in it says that it is data, a word above whole numbers alone that it is not.
    """
    stated = {options.row_column, options.item_column} - {None}
    if stated and stated <= set(top):
        return True
    texts = pa.array(top, pa.string())
    is_whole = pc.match_substring_regex(texts, _WHOLE).to_pylist()
    if any(is_whole):
        return False
    for place in range(len(top)):
        cells = [line[place] for line in below if len(line) == len(top)]
        if cells and pc.all(pc.match_substring_regex(pa.array(cells), _WHOLE)).as_py():
            return True
    raise DataError(
        f"{where}: the first line may be names of columns or an entry",
        remedy="State --header if it names the columns, or --no-header if it is an entry.",
    )


def skip_comments(stream: TextStream) -> int:
    """Pass over the lines at the beginning that start with # or %; return how many."""
    n_lines, size = 0, _SAMPLE_BYTES
    while True:
        sample, is_whole = stream.peek(size)
        if not sample.startswith(_COMMENTS):
            return n_lines
        end = sample.find(b"\n") + 1
        if not end and not is_whole and size < _SAMPLE_BYTES << 8:
            size *= 4
            continue
        stream.skip(end or len(sample))
        n_lines += 1


def detect_newline(stream: TextStream) -> str:
    sample, _ = stream.peek(_SAMPLE_BYTES)
    if b"\r\n" in sample:
        return "\r\n"
    return "\r" if b"\r" in sample and b"\n" not in sample else "\n"

"""Text cut into cells, whole blocks of lines at a time.

Cells are separated by one delimiter, by any run of blanks and tabs, or by line ends alone. They
may be quoted as in CSV: a quoted cell holds whatever it likes, a quote in it is doubled. A quote
inside a cell that is not quoted is refused, since the next reader may take it for another thing.
Everything is arrays: nothing is done line by line but to say where a fault is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.data.set_format import BLANKS
from incrowd.data.sniff import unclosed
from incrowd.data.text import MAX_CELL_BYTES, TextStream
from incrowd.errors import DataError

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


def blocks(stream: TextStream, delimiter: str, where: str, first_line: int = 1) -> Iterator[Block]:
    """Cut what is left of a stream into blocks of cells; ``first_line`` is its next line."""
    rest = b""
    is_ended = False
    while not is_ended:
        piece = stream.read(max(_BLOCK_BYTES, len(rest)))
        is_ended = not piece
        raw = rest + piece
        cut = _last_line_end(raw, is_ended)
        if cut == 0 and raw and is_ended:
            raise unclosed(where, first_line + _n_lines(raw[: raw.rindex(b'"')]))
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


def first_block(sample: bytes, is_whole: bool, delimiter: str, where: str, line: int) -> Block:
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
        begins, ends, n_cells = _without_blank_lines(begins, ends, n_cells)
    block = Block(where, data, begins, ends, n_cells, first_line)
    if len(is_open):
        _refuse_loose_quotes(block, is_open)
    return block


def _without_blank_lines(
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

"""Detect how a text file is written: its records, its delimiter, and whether it has a header.

What is ambiguous is an error that asks for the flag that states it: a header taken for a person,
or a person for a header, would go unnoticed until it does harm.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from incrowd.errors import DataError
from incrowd.tables.columns.types import ISO_DATE, NUMBER

DELIMITERS = (",", ";", "\t", "|")
"""The delimiters that are detected; any other single ASCII character can be stated."""

MAX_COLUMNS = 10_000
"""The most columns that a table may have."""

DELIMITER_NAMES = {
    "tab": "\t",
    "\\t": "\t",
    "comma": ",",
    "semicolon": ";",
    "pipe": "|",
    "space": " ",
}
"""Names of delimiters that are hard to type in a shell."""

_QUOTE = b'"'
_NUMBER_OR_DATE = re.compile(f"{NUMBER}|{ISO_DATE}")
_MISSING_WORDS = {"na", "n/a", "nan", "null", "none", "nil", "missing", "unknown"}


@dataclass(frozen=True)
class Record:
    """One row of cells, the line it begins on (from 1), and its length in bytes, line end too."""

    line: int
    cells: list[bytes]
    n_bytes: int
    is_blank: bool = False
    is_closed: bool = True


@dataclass(frozen=True)
class Dialect:
    """How a text file is written, detected or stated; ``header_bytes`` precede its first row."""

    delimiter: str
    newline: str
    has_header: bool
    names: list[str]
    header_bytes: int


def records(lines: Iterable[bytes], delimiter: str) -> Iterator[Record]:
    """Cut lines (with their ends) into records, as RFC 4180 and pyarrow do.

    A quote opens a quoted value only at the beginning of a cell, and is doubled inside one. The
    last record is not ``is_closed`` where its quoted value never ends.
    """
    cut = delimiter.encode()
    cells: list[bytes] = []
    parts: list[bytes] = []  # of the cell being read
    in_quotes = False
    first_line = n_bytes = 0
    for number, line in enumerate(lines, 1):
        body = line.rstrip(b"\r\n")
        if in_quotes:
            n_bytes += len(line)
        else:
            first_line, n_bytes, cells = number, len(line), []
            if _QUOTE not in body:
                yield Record(number, body.split(cut), n_bytes, is_blank=not body)
                continue
        position, begins_cell = 0, not in_quotes
        while True:
            if in_quotes:
                close = body.find(_QUOTE, position)
                if close < 0:  # the value goes on in the next line
                    parts.append(body[position:] + line[len(body) :])
                    break
                parts.append(body[position:close])
                position = close + 1
                if body.startswith(_QUOTE, position):
                    parts.append(_QUOTE)
                    position += 1
                    continue
                in_quotes = False
            elif begins_cell and body.startswith(_QUOTE, position):
                in_quotes, begins_cell = True, False
                position += 1
                continue
            end = body.find(cut, position)
            parts.append(body[position : end if end >= 0 else len(body)])
            cells.append(b"".join(parts))
            parts = []
            if end < 0:
                yield Record(first_line, cells, n_bytes)
                break
            position, begins_cell = end + 1, True
    if in_quotes:
        yield Record(first_line, [*cells, b"".join(parts)], n_bytes, is_closed=False)


def sniff(
    sample: bytes,
    is_whole: bool,
    where: str,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    missing_values: tuple[str, ...] = (),
    expects_tabs: bool = False,
) -> Dialect | None:
    """Detect how a file is written from its beginning; None if the sample is too short for it.

    Raises DataError where the delimiter or the header is ambiguous, and for names of columns that
    are empty or occur twice.
    """
    lines = sample.splitlines(keepends=True)
    n_lines = max(1000, len(sample) // 64)
    if len(lines) > n_lines:  # a thousand short rows tell as much as a sample full of them
        lines, is_whole = lines[:n_lines], False
    if delimiter is None:
        delimiter = _detect_delimiter(lines, is_whole, where, expects_tabs)
        if delimiter is None:
            return None
    found = list(_complete_records(lines, delimiter, is_whole))
    first = next((at for at, record in enumerate(found) if not record.is_blank), None)
    if first is None or (len(found) < 2 and not is_whole):
        return None
    top = found[first]
    if not top.is_closed:
        raise unclosed_quote_error(where, top.line)
    if len(top.cells) > MAX_COLUMNS:
        raise DataError(
            f"{where}: line {top.line} has {len(top.cells):,} cells, and a table may have "
            f"{MAX_COLUMNS:,} columns",
            remedy="Keep the columns that the release needs, or state the --delimiter.",
        )
    texts = [cell.decode() for cell in top.cells]
    if header is None:
        below = [record for record in found[first + 1 :] if not record.is_blank]
        header = _has_header(texts, below, where, missing_values)
    names = texts if header else [f"column_{number}" for number in range(1, len(texts) + 1)]
    check_names(names, where, of_file=True)
    before = sum(record.n_bytes for record in found[:first])
    end = next((end for end in (b"\r\n", b"\n", b"\r") if lines[top.line - 1].endswith(end)), b"\n")
    return Dialect(
        delimiter, end.decode(), header, names, before + top.n_bytes if header else before
    )


def check_names(names: list[str], where: str, *, of_file: bool = False) -> None:
    """Raise unless every column has a name of its own.

    Names appear only in the examples: a first line taken for a header may be a person's row.
    """
    maybe = " Where the first line is data, say --no-header." if of_file else ""
    empty = [number for number, name in enumerate(names, 1) if not name.strip()]
    if empty:
        raise DataError(
            f"{where}: {_list_numbers('column', empty)} without a name",
            remedy=f"Name every column, or delete it.{maybe}",
        )
    if len(set(names)) < len(names):
        twice = [name for name, times in Counter(names).items() if times > 1]
        numbers = [number for number, name in enumerate(names, 1) if name in set(twice)]
        raise DataError(
            f"{where}: {_list_numbers('column', numbers)} share a name with another column",
            remedy=f"Give each column a name of its own.{maybe}",
            examples=twice,
        )


def unclosed_quote_error(where: str, line: int) -> DataError:
    """Return the error for a quoted value that never ends."""
    return DataError(
        f"{where}: a quoted value in the row that begins on line {line:,} is never closed",
        remedy='Close it with ", and write a quote inside a quoted value twice.',
    )


def parse_delimiter(stated: str) -> str:
    """Return the character that a user stated, possibly by a name such as ``tab``."""
    delimiter = DELIMITER_NAMES.get(stated.lower(), stated)
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise DataError(
            f"the delimiter {stated!r} is not one ASCII character",
            remedy="State one character, such as ';', or one of: "
            + ", ".join(DELIMITER_NAMES)
            + ".",
        )
    return delimiter


def _complete_records(lines: list[bytes], delimiter: str, is_whole: bool) -> Iterator[Record]:
    """Return the sample's complete records; one that the sample's end may cut is left out."""
    last: Record | None = None
    for record in records(lines, delimiter):
        if last is not None:
            yield last
        last = record
    if last is not None and is_whole:
        yield last


def _detect_delimiter(
    lines: list[bytes], is_whole: bool, where: str, expects_tabs: bool
) -> str | None:
    """Return the delimiter that gives all rows the same number of cells, at least two."""
    widths_by: dict[str, list[int]] = {}
    for delimiter in DELIMITERS:
        found = [
            record
            for record in _complete_records(lines, delimiter, is_whole)
            if not record.is_blank
        ]
        widths_by[delimiter] = [len(record.cells) for record in found]
        if not found or (len(found) < 2 and not is_whole):
            return None
    if expects_tabs and widths_by["\t"][0] > 1:
        return "\t"
    agreeing = [by for by, widths in widths_by.items() if min(widths) == max(widths) > 1]
    if not agreeing:  # some rows are ragged: take what splits most rows like the first
        agreeing = [
            by
            for by, widths in widths_by.items()
            if widths[0] > 1 and 2 * widths.count(widths[0]) >= len(widths)
        ]
    if not agreeing:  # or what splits nearly all rows alike: there are lines above the header
        agreeing = [
            by
            for by, widths in widths_by.items()
            if (usual := Counter(widths).most_common(1)[0])[0] > 1 and usual[1] >= 0.8 * len(widths)
        ]
    if len(agreeing) == 1:
        return agreeing[0]
    if agreeing or any(widths[0] > 1 for widths in widths_by.values()):
        could_be = [by for by in DELIMITERS if by in agreeing or widths_by[by][0] > 1]
        raise DataError(
            f"{where}: the delimiter is ambiguous; it could be "
            + " or ".join("a tab" if by == "\t" else f"'{by}'" for by in could_be),
            remedy="State it with --delimiter.",
        )
    return "\t" if expects_tabs else ","  # one column


def _has_header(
    top: list[str], below: list[Record], where: str, missing_values: tuple[str, ...]
) -> bool:
    """Return whether the first line names the columns; raise where it is ambiguous.

    It does if a word is above a column of numbers. Without that proof, a number in it is a reason
    to doubt, and so is a word that occurs again below it; both together prove that it is data.
    """
    missing = {"", *missing_values}
    columns: list[set[str]] = [set() for _ in top]
    for record in below:
        if len(record.cells) == len(top):
            for seen, cell in zip(columns, record.cells, strict=True):
                seen.add(cell.decode(errors="replace").strip())
    has_number = repeats = False
    for name, seen in zip([cell.strip() for cell in top], columns, strict=True):
        values = {value for value in seen if value not in missing}
        values = {value for value in values if value.lower() not in _MISSING_WORDS}
        is_word = _is_word(name, missing)
        if is_word and values and all(_NUMBER_OR_DATE.fullmatch(value) for value in values):
            return True
        has_number |= _NUMBER_OR_DATE.fullmatch(name) is not None
        repeats |= is_word and name in values
    if has_number and repeats:
        return False
    if has_number or repeats:
        reason = "has numbers in it" if has_number else "holds values that occur again below it"
        raise DataError(
            f"{where}: the first line {reason}, so it may be names of columns or data",
            remedy="State --header if it names the columns, or --no-header if it is data.",
        )
    return True


def _is_word(text: str, missing: set[str]) -> bool:
    if text in missing or text.lower() in _MISSING_WORDS or _NUMBER_OR_DATE.fullmatch(text):
        return False
    return any(character.isalpha() for character in text)


def _list_numbers(noun: str, numbers: list[int]) -> str:
    """Return ``columns 3, 7 and 12 more``."""
    shown = ", ".join(str(number) for number in numbers[:5])
    more = f" and {len(numbers) - 5:,} more" if len(numbers) > 5 else ""
    return f"{noun}{'s' if len(numbers) > 1 else ''} {shown}{more}"

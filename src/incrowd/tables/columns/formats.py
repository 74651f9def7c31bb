"""Formats of dates and numbers in columns of text: how they are converted and restored.

Everything inside understands one way of writing: ISO dates (``2024-03-05``, ``2024-03-05 08:15``)
and numbers with a decimal point and nothing else (``1234.50``). A format converts cells from the
way of the file (``05.03.2024``, ``1.234,50 €``) to that and back, and only cells that come back as
exactly the same text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.errors import JobError
from incrowd.tables.columns.types import to_mask

AS_TEXT = "text"
"""What is stated of a column whose values are to be taken as they are."""

SPACES = " \u00a0\u2009\u202f"
THOUSANDS = (".", ",", "'", "\u2019", *SPACES)
TIME = r"(?P<rest>[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?)"

CHUNK = 1 << 14  # distinct values that are looked at before it is asked whether to go on

_DAYS_IN_MONTH = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])

_STRPTIME = {
    "%H:%M:%S": "HH:MM:SS",
    "%H:%M": "HH:MM",
    "%d": "dd",
    "%m": "mm",
    "%Y": "yyyy",
    "%y": "yy",
}


@dataclass(frozen=True)
class DateFormat:
    """A way to write dates: the order of day, month and year, and what separates them.

    ``day``, ``month`` and ``hour`` are the least numbers of digits (1: no leading zero).
    A year of two digits lies in the hundred years from ``first_year``. A time of day may follow
    after a blank, whether or not ``time`` (``HH:MM``) names it.

    >>> DateFormat.parse("dd.mm.yyyy").normalize(pa.array(["05.03.2024", "2024"])).to_pylist()
    ['2024-03-05', None]
    """

    order: str
    separator: str
    day: int = 2
    month: int = 2
    year: int = 4
    hour: int = 2
    first_year: int = 1930
    time: str = field(default="", compare=False)

    noun = "dates"

    @classmethod
    def parse(cls, text: str, where: str = "date format") -> DateFormat:
        """Read ``dd.mm.yyyy``, ``m/d/yyyy HH:MM``, ``dd.mm.yy 1930-2029`` or ``%d.%m.%Y``."""
        stated = text.strip()
        for code, words in _STRPTIME.items():
            stated = stated.replace(code, words)
        match = re.fullmatch(
            r"(?P<date>[dmyDMY]+(?P<sep>[./-])[dmyDMY]+(?P=sep)[dmyDMY]+)"
            r"(?:[ T](?P<time>HH?:MM(?::SS)?))?(?: (?P<first>[0-9]{4})-(?P<last>[0-9]{4}))?",
            stated,
        )
        fields = match["date"].lower().split(match["sep"]) if match else []
        order = "".join(part[0] for part in fields)
        digits = {part[0]: len(part) for part in fields if len(set(part)) == 1}
        is_known = (
            order in ("dmy", "mdy", "ymd")
            and digits.get("d") in (1, 2)
            and digits.get("m") in (1, 2)
            and digits.get("y") in ((4,) if order == "ymd" else (2, 4))
        )
        has_years = match is not None and match["first"] is not None
        is_hundred = not has_years or (
            match is not None
            and digits.get("y") == 2
            and int(match["last"]) - int(match["first"]) == 99
        )
        if match is None or not is_known or not is_hundred:
            raise JobError(
                f"{where}: {text!r} is not a date format",
                remedy="Write dd.mm.yyyy, d.m.yyyy, dd/mm/yyyy, m/d/yyyy, yyyy/mm/dd, with a time "
                "dd.mm.yyyy HH:MM, with two-digit years 'dd.mm.yy 1930-2029', or text.",
            )
        return cls(
            order,
            match["sep"],
            digits["d"],
            digits["m"],
            digits["y"],
            1 if (match["time"] or "HH").startswith("H:") else 2,
            int(match["first"]) if match["first"] else 1930,
            match["time"] or "",
        )

    @property
    def text(self) -> str:
        """The format as a user states it."""
        words = {"d": "d" * self.day, "m": "m" * self.month, "y": "y" * self.year}
        stated = self.separator.join(words[part] for part in self.order)
        if self.time:
            stated += f" {self.time}"
        return stated if self.year == 4 else f"{stated} {self.first_year}-{self.first_year + 99}"

    @property
    def is_canonical(self) -> bool:
        """Whether dates are ISO dates already."""
        return self == DateFormat("ymd", "-")

    @cached_property
    def _pattern(self) -> str:
        short = {1: "[1-9][0-9]?", 2: "[0-9]{2}"}
        hour = {1: "1?[0-9]|2[0-3]", 2: "[01][0-9]|2[0-3]"}[self.hour]
        parts = {
            "d": f"(?P<day>{short[self.day]})",
            "m": f"(?P<month>{short[self.month]})",
            "y": f"(?P<year>[0-9]{{{self.year}}})",
        }
        date = re.escape(self.separator).join(parts[part] for part in self.order)
        return rf"^(?P<lead> *){date}(?: (?P<hour>{hour}):{TIME})?(?P<trail> *)$"

    def fits(self, texts: pa.Array) -> NDArray[np.bool_]:
        """Return which texts are dates of this format."""
        return to_mask(pc.is_valid(self.normalize(texts)))

    def normalize(self, texts: pa.Array) -> pa.Array:
        """Return each text as an ISO date, null where it is not a date of this format."""
        parts = pc.extract_regex(texts, self._pattern)
        day, month, year = (field_of(parts, name) for name in ("day", "month", "year"))
        if self.year == 2:
            numbers = to_numbers(year)
            century = self.first_year // 100 * 100
            numbers = numbers + century + 100 * (numbers + century < self.first_year)
            year = pa.array(np.char.zfill(numbers.astype(str), 4), pa.string())
        is_day = _is_day(to_numbers(year), to_numbers(month), to_numbers(day))
        is_day &= to_mask(pc.is_valid(parts))
        iso = pc.binary_join_element_wise(
            field_of(parts, "lead"),
            pc.binary_join_element_wise(year, _padded(month), _padded(day), "-"),
            _time_of(parts, _padded(field_of(parts, "hour"))),
            field_of(parts, "trail"),
            "",
        )
        return pc.if_else(pa.array(is_day), iso, pa.scalar(None, iso.type))

    def restore(self, texts: pa.Array) -> pa.Array:
        """Return each ISO date as it is written in this format, null where it is not one."""
        parts = pc.extract_regex(
            texts,
            r"^(?P<lead> *)(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
            rf"(?: (?P<hour>[01][0-9]|2[0-3]):{TIME})?(?P<trail> *)$",
        )
        year, month, day = (field_of(parts, name) for name in ("year", "month", "day"))
        is_day = _is_day(to_numbers(year), to_numbers(month), to_numbers(day))
        is_day &= to_mask(pc.is_valid(parts))
        if self.year == 2:
            offset = to_numbers(year) - self.first_year
            is_day &= (offset >= 0) & (offset < 100)
            year = pc.utf8_slice_codeunits(year, 2, 4)
        hour = field_of(parts, "hour")
        written = {
            "d": day if self.day == 2 else _unpadded(day),
            "m": month if self.month == 2 else _unpadded(month),
            "y": year,
        }
        shown = pc.binary_join_element_wise(
            field_of(parts, "lead"),
            pc.binary_join_element_wise(*(written[part] for part in self.order), self.separator),
            _time_of(parts, hour if self.hour == 2 else _unpadded(hour)),
            field_of(parts, "trail"),
            "",
        )
        return pc.if_else(pa.array(is_day), shown, pa.scalar(None, shown.type))


@dataclass(frozen=True)
class NumberFormat:
    """A way to write numbers: what separates decimals and thousands, and a constant unit.

    >>> NumberFormat.parse("1.234,5 €").normalize(pa.array(["1.234,50 €", "12 kg"])).to_pylist()
    ['1234.50', None]
    """

    decimal: str = "."
    thousands: str = ""
    prefix: str = ""
    suffix: str = ""

    noun = "numbers"

    @classmethod
    def parse(cls, text: str, where: str = "number format") -> NumberFormat:
        """Read how one thousand two hundred thirty-four and a half is written: ``1.234,5 €``."""
        match = re.fullmatch(
            r"(?P<prefix>[^0-9]*)1(?P<thousands>[^0-9]?)234(?:(?P<decimal>[.,])5)?(?P<suffix>[^0-9]*)",
            text,
        )
        thousands = match["thousands"] if match else ""
        decimal = (match["decimal"] if match else None) or ("." if thousands != "." else ",")
        if match is None or thousands == decimal or (thousands and thousands not in THOUSANDS):
            raise JobError(
                f"{where}: {text!r} is not a number format",
                remedy="Write 1234.5 as the column writes it: 1.234,5 or 1234,5 or '1.234,5 kg', "
                "or text.",
            )
        return cls(decimal, thousands, match["prefix"], match["suffix"])

    @property
    def text(self) -> str:
        """The format as a user states it."""
        return f"{self.prefix}1{self.thousands}234{self.decimal}5{self.suffix}"

    @property
    def is_canonical(self) -> bool:
        """Whether numbers are plain already."""
        return self == NumberFormat()

    @cached_property
    def _pattern(self) -> str:
        whole = "[0-9]+"
        if self.thousands:
            group = f"{re.escape(self.thousands)}[0-9]{{3}}"
            whole = f"[1-9][0-9]{{0,2}}(?:{group})+|[0-9]{{1,3}}"
        return (
            rf"^(?P<lead> *){_escape(self.prefix)}(?P<sign>[+-]?)(?P<whole>{whole})"
            rf"(?:{re.escape(self.decimal)}(?P<fraction>[0-9]+))?{_escape(self.suffix)}"
            r"(?P<trail> *)$"
        )

    def fits(self, texts: pa.Array) -> NDArray[np.bool_]:
        """Return which texts are numbers of this format."""
        return to_mask(pc.fill_null(pc.match_substring_regex(texts, self._pattern), False))

    def normalize(self, texts: pa.Array) -> pa.Array:
        """Return each text as a plain number, null where it is not a number of this format."""
        parts = pc.extract_regex(texts, self._pattern)
        whole = field_of(parts, "whole")
        if self.thousands:
            whole = pc.replace_substring(whole, self.thousands, "")
        return self._join(parts, "", whole, ".", "")

    def restore(self, texts: pa.Array) -> pa.Array:
        """Return each plain number as it is written in this format, null where it is not one."""
        whole = "[1-9][0-9]{3,}|[0-9]{1,3}" if self.thousands else "[0-9]+"
        parts = pc.extract_regex(
            texts,
            rf"^(?P<lead> *)(?P<sign>[+-]?)(?P<whole>{whole})"
            r"(?:\.(?P<fraction>[0-9]+))?(?P<trail> *)$",
        )
        written = field_of(parts, "whole")
        if self.thousands:
            written = _in_groups(written, self.thousands)
        return self._join(parts, self.prefix, written, self.decimal, self.suffix)

    @staticmethod
    def _join(parts: pa.Array, prefix: str, whole: pa.Array, decimal: str, suffix: str) -> pa.Array:
        fraction = field_of(parts, "fraction")
        point = pc.if_else(pc.equal(fraction, ""), "", decimal)
        joined = pc.binary_join_element_wise(
            field_of(parts, "lead"),
            prefix,
            field_of(parts, "sign"),
            whole,
            point,
            fraction,
            suffix,
            field_of(parts, "trail"),
            "",
        )
        return pc.if_else(pc.is_valid(parts), joined, pa.scalar(None, joined.type))


ColumnFormat = DateFormat | NumberFormat


def parse_format(text: str, kind: type[ColumnFormat], where: str) -> ColumnFormat | None:
    """Return a stated format; None where the column's values are to be taken as they are."""
    return None if text.strip().lower() == AS_TEXT else kind.parse(text, where)


# ── conversion of columns ───────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class ColumnReading:
    """A format as a column is read in it: ``tokens`` mean missing and are never converted."""

    format: ColumnFormat
    tokens: tuple[str, ...] = ()

    def normalize(self, column: Any) -> Any:
        """Return a column with its cells in the canonical form; others stay as they are."""
        return convert(column, lambda texts: self._converted(texts, self.format.normalize))

    def restore(self, column: Any) -> Any:
        """Return a column with canonical cells as the file writes them; others stay."""
        return convert(column, lambda texts: self._converted(texts, self.format.restore))

    def _converted(self, texts: pa.Array, way: Callable[[pa.Array], pa.Array]) -> pa.Array:
        found = way(texts)
        if self.tokens:
            is_token = pc.is_in(texts, pa.array(self.tokens, texts.type))
            found = pc.if_else(is_token, pa.scalar(None, found.type), found)
        return pc.coalesce(found.cast(texts.type), texts)

    def unfit(self, values: pa.Array) -> NDArray[np.bool_]:
        """Return which distinct values, none of them missing, are not written in this format."""
        return ~self.format.fits(values)

    def conflicts(self, values: pa.Array) -> NDArray[np.bool_]:
        """Return which distinct values would not come back: what is written in another way and
        reads as the canonical form of this one, and what would read as a token.
        """
        unfit = self.unfit(values)
        others = values.filter(pa.array(unfit))
        changed = pc.not_equal(self._converted(others, self.format.restore), others)
        conflicts = np.zeros(len(values), dtype=np.bool_)
        conflicts[unfit] = to_mask(changed)
        if self.tokens:
            shown = self.format.restore(pa.array(self.tokens, values.type))
            conflicts |= to_mask(pc.is_in(values, shown.drop_null()))
        return conflicts


def convert(column: Any, function: Callable[[pa.Array], pa.Array]) -> Any:
    """Apply a function of texts to a column, once for each distinct value where values repeat.

    Nulls stay null, and a dictionary stays one.
    """
    if not isinstance(column, pa.ChunkedArray):
        converted = convert(pa.chunked_array([column]), function)
        return converted.chunk(0) if converted.num_chunks == 1 else converted.combine_chunks()
    if column.type == pa.string_view():
        column = column.cast(pa.large_string())
    is_kept = pa.types.is_dictionary(column.type)
    if not is_kept and not repeats(column):
        return pa.chunked_array(
            [function(_text_array(part)) for part in column.chunks], type=column.type
        )
    encoded = column.unify_dictionaries() if is_kept else column.dictionary_encode()
    if not encoded.num_chunks:
        return column
    values = function(_text_array(encoded.chunk(0).dictionary))
    if is_kept:
        return pa.chunked_array(
            [pa.DictionaryArray.from_arrays(part.indices, values) for part in encoded.chunks]
        )
    return pa.chunked_array([values.take(part.indices) for part in encoded.chunks])


def repeats(column: pa.ChunkedArray) -> bool:
    """Whether the first cells of a column hold few distinct values."""
    head = column.slice(0, 4 * CHUNK)
    return 2 * len(pc.unique(head)) <= len(head)


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of a type holds text."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()
    )


def _text_array(texts: pa.Array) -> pa.Array:
    """Return texts as an array that every function takes."""
    return texts.cast(pa.large_string()) if texts.type == pa.string_view() else texts


# ── parts of texts ──────────────────────────────────────────────────────────────────────────


def _escape(text: str) -> str:
    """Return a literal for RE2, which knows no escapes of letters beyond ASCII."""
    return "".join(re.escape(sign) if sign.isascii() else sign for sign in text)


def field_of(parts: pa.Array, name: str) -> pa.Array:
    return pc.fill_null(pc.struct_field(parts, name), "")


def to_numbers(digits: pa.Array) -> NDArray[np.int64]:
    """Return texts of digits as numbers, 0 for nothing."""
    padded = pc.if_else(pc.equal(digits, ""), "0", digits)
    return np.array(padded.cast(pa.int64()).to_numpy(zero_copy_only=False), dtype=np.int64)


def _is_day(
    year: NDArray[np.int64], month: NDArray[np.int64], day: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which days exist in the calendar."""
    is_month = (month >= 1) & (month <= 12)
    is_leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    longest = _DAYS_IN_MONTH[np.where(is_month, month, 0)] + (is_leap & (month == 2))
    fits: NDArray[np.bool_] = is_month & (day >= 1) & (day <= longest) & (year >= 1)
    return fits


def _padded(digits: pa.Array) -> pa.Array:
    return pc.utf8_lpad(digits, 2, "0")


def _unpadded(digits: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(digits, "^0([0-9])$", r"\1")


def _time_of(parts: pa.Array, hour: pa.Array) -> pa.Array:
    rest = field_of(parts, "rest")
    time = pc.binary_join_element_wise(" ", pc.binary_join_element_wise(hour, rest, ":"), "")
    return pc.if_else(pc.equal(rest, ""), "", time)


def _in_groups(digits: pa.Array, mark: str) -> pa.Array:
    """Return digits in groups of three: ``1234567`` becomes ``1.234.567``."""
    pattern = f"([0-9])([0-9]{{3}})($|{_escape(mark)})"
    while True:
        grouped = pc.replace_substring_regex(digits, pattern, rf"\1{mark}\2\3")
        if grouped.equals(digits):
            return grouped
        digits = grouped

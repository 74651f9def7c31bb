"""Detect what a column contains: numbers, dates, codes or categories, from its values alone.

Everything is decided on distinct values, so a column costs one pass of counting; patterns and
calendars are then applied to those, which are few for all but identifiers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.codes import count_values

NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
"""A number in a cell: a decimal point, no thousands separators, never inf or nan."""

ISO_DATE = (
    r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
"""A date, with or without a time of day; that the day exists is checked separately."""

DOMINANT_SHARE = 0.9
"""The share of cells that must fit a kind for the others to be reported as odd."""

_SHOWN = 5  # odd rows and odd values that are named
_LONGEST_INTEGER = 18  # digits that surely fit 64 bits
_LONGEST_ARRAY = 2**31 - 1  # bytes that the offsets of a plain Arrow string array can address
_WORDS = ({"true", "false"}, {"yes", "no"})  # one of the pair is enough to be a boolean
_LETTERS = ({"t", "f"}, {"y", "n"})  # a lone letter is too little: both must occur


@dataclass(frozen=True)
class ColumnKind:
    """What a column holds, and what in it does not fit.

    ``n_values`` counts distinct values that are not missing, ``n_missing`` cells. Where at least
    nine in ten cells fit a kind and some do not, ``kind`` is ``category``, ``dominant_kind`` is the
    kind that most fit, ``n_odd`` counts the cells that do not, and ``odd_rows`` (from 1) and
    ``odd_examples`` name the first few. The examples are people's values: show them with care.
    """

    kind: str
    n_values: int = 0
    n_missing: int = 0
    dominant_kind: str = ""
    n_odd: int = 0
    odd_rows: tuple[int, ...] = ()
    odd_examples: tuple[str, ...] = ()


def kind_of(column: pa.Array | pa.ChunkedArray, missing_values: Sequence[str] = ()) -> ColumnKind:
    """Detect what a column contains; nulls and ``missing_values`` are missing.

    ``integer`` and ``decimal`` are numbers, ``date`` is an ISO date with or without a time,
    ``boolean`` a pair of words (true/false, yes/no, t/f, y/n), ``code`` digits in which some
    leading zero matters (ZIP codes) or that are too long for a number, ``empty`` is all missing,
    and ``category`` is everything else. Blanks around a value do not matter.
    """
    is_dictionary = pa.types.is_dictionary(column.type)
    values, counts = count_values(column if is_dictionary else _plain(column))
    return kind_of_values(values, counts, missing_values, column)


def kind_of_values(
    values: pa.Array,
    counts: NDArray[np.int64],
    missing_values: Sequence[str] = (),
    column: pa.Array | pa.ChunkedArray | None = None,
) -> ColumnKind:
    """The same of a column's distinct values and how many cells hold each.

    Rows with odd values are named where the column itself is given.
    """
    values = _plain(values)
    labels = labels_of(values)
    is_missing = to_mask(pc.is_null(labels)) | to_mask(
        pc.is_in(labels, _to_strings(["", *missing_values]))
    )
    n_missing = int(counts[is_missing].sum())
    labels, counts = labels.filter(pa.array(~is_missing)), counts[~is_missing]
    if len(labels) == 0:
        return ColumnKind("empty", 0, n_missing)
    if pa.types.is_integer(values.type):
        return ColumnKind("integer", len(labels), n_missing)

    trimmed = pc.utf8_trim_whitespace(labels)
    n_cells = int(counts.sum())
    for is_fitting in (_is_number, _is_date):
        fits = is_fitting(trimmed)
        n_fitting = int(counts[fits].sum())
        if n_fitting < DOMINANT_SHARE * n_cells or n_fitting == 0:
            continue
        kind = _numeric_or_date_kind(trimmed.filter(pa.array(fits)))
        if n_fitting == n_cells:
            return ColumnKind(kind, len(labels), n_missing)
        odd = values.filter(pa.array(~is_missing)).filter(pa.array(~fits))
        odd_rows = np.zeros(0, dtype=np.int64)
        if column is not None:
            odd_rows = np.flatnonzero(to_mask(pc.is_in(_plain(column), odd)))[:_SHOWN] + 1
        return ColumnKind(
            "category",
            len(labels),
            n_missing,
            kind,
            n_cells - n_fitting,
            tuple(odd_rows.tolist()),
            tuple(labels_of(odd)[:_SHOWN].to_pylist()),
        )
    kind = "boolean" if _is_boolean(trimmed) else "category"
    return ColumnKind(kind, len(labels), n_missing)


def labels_of(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return each value as text; strings are their own label, nulls stay null.

    Whole numbers are digits whatever their type (5 and 5.0 are both '5'), other floats the
    shortest text that reads back the same, booleans 'true' and 'false', dates and times ISO; a
    timestamp at midnight is a date, one with a time zone is written in UTC. NaN is null. A label
    depends on its value alone, so parts of a column can be labelled separately.
    """
    if isinstance(column, pa.ChunkedArray):
        parts = [labels_of(chunk) for chunk in column.chunks] or [pa.array([], pa.string())]
        if sum(part.nbytes for part in parts) > _LONGEST_ARRAY:
            parts = [part.cast(pa.large_string()) for part in parts]
        return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
    column, kind = _plain(column), _plain(column).type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return column
    if pa.types.is_floating(kind):
        return _float_labels(column)
    if pa.types.is_timestamp(kind):
        return _timestamp_labels(column)
    if pa.types.is_date64(kind):
        column = column.cast(pa.date32())
    labels = column.cast(pa.string())
    return _strip_zeros(labels) if pa.types.is_time(kind) else labels


def parse_numbers(labels: Iterable[str | None] | pa.Array) -> NDArray[np.float64]:
    """Return each label as a number, NaN where it is not one; surrounding blanks do not matter."""
    texts = pc.utf8_trim_whitespace(_to_strings(labels))
    is_number = pc.fill_null(pc.match_substring_regex(texts, f"^{NUMBER}$"), False)
    digits = pc.utf8_ltrim(pc.if_else(is_number, texts, pa.scalar(None, pa.string())), "+")
    numbers = np.array(pc.fill_null(digits.cast(pa.float64()), np.nan).to_numpy(), dtype=np.float64)
    numbers[np.isinf(numbers)] = np.nan
    return numbers


def parse_dates(labels: Iterable[str | None]) -> list[date | None]:
    """Return the day of each label that is an ISO date or date and time, else None."""
    shape = re.compile(ISO_DATE)
    return [
        _day(label.strip()[:10]) if label and shape.fullmatch(label.strip()) else None
        for label in labels
    ]


def parse_days(labels: Iterable[str | None]) -> NDArray[np.float64]:
    """Return the day of each label as ``date.toordinal`` counts it, NaN where it is not a date."""
    days = (math.nan if day is None else float(day.toordinal()) for day in parse_dates(labels))
    return np.fromiter(days, dtype=np.float64)


def days_as_text(days: Iterable[float]) -> list[str]:
    """Return ordinals of days as ISO dates; the parts of a day are cut off."""
    return [date.fromordinal(int(day)).isoformat() for day in days]


# ── judging distinct values ─────────────────────────────────────────────────────────────────


def _numeric_or_date_kind(numbers_or_dates: pa.Array) -> str:
    """Name the kind of values that are all numbers or all dates."""
    if not _is_number(numbers_or_dates[:1])[0]:
        return "date"
    if to_mask(pc.ascii_is_decimal(numbers_or_dates)).all():
        lengths = pc.binary_length(numbers_or_dates).to_numpy()
        has_zero = to_mask(pc.starts_with(numbers_or_dates, "0")) & (lengths > 1)
        return "code" if has_zero.any() or lengths.max() > _LONGEST_INTEGER else "integer"
    is_integer = _matches(numbers_or_dates, f"[+-]?[0-9]{{1,{_LONGEST_INTEGER}}}")
    return "integer" if is_integer.all() else "decimal"


def _is_number(trimmed: pa.Array) -> NDArray[np.bool_]:
    return _matches(trimmed, NUMBER)


def _is_date(trimmed: pa.Array) -> NDArray[np.bool_]:
    shaped = _matches(trimmed, ISO_DATE)
    days = pc.utf8_slice_codeunits(trimmed.filter(pa.array(shaped)), 0, 10)
    missing_days = [day for day in pc.unique(days).to_pylist() if _day(day) is None]
    if missing_days:  # the 30th of February has the shape of a date
        shaped[shaped] = ~to_mask(pc.is_in(days, _to_strings(missing_days)))
    return shaped


def _is_boolean(trimmed: pa.Array) -> bool:
    if len(trimmed) > 6:  # the spellings of two words that people mix: Yes, yes, YES, No, no, NO
        return False
    words = set(pc.utf8_lower(trimmed).to_pylist())
    return any(words <= pair for pair in _WORDS) or words in _LETTERS


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


# ── texts of typed values ───────────────────────────────────────────────────────────────────


def _float_labels(column: pa.Array) -> pa.Array:
    numbers = column.cast(pa.float64())
    is_whole = pc.fill_null(
        pc.and_(pc.less(pc.abs(numbers), 2.0**53), pc.equal(numbers, pc.round(numbers))), False
    )
    nothing = pa.scalar(None, pa.float64())
    whole = pc.if_else(is_whole, numbers, nothing).cast(pa.int64()).cast(pa.string())
    is_number = pc.is_finite(numbers)
    infinite = pc.if_else(pc.is_inf(numbers), column, pa.scalar(None, column.type))
    other = pc.if_else(is_number, column, infinite).cast(pa.string())
    return pc.coalesce(whole, other)


def _timestamp_labels(column: pa.Array) -> pa.Array:
    in_utc = column.type.tz is not None
    texts = column.cast(pa.timestamp(column.type.unit)).cast(pa.string())
    texts = _strip_zeros(pc.replace_substring(texts, " ", "T"))
    if in_utc:
        return pc.binary_join_element_wise(texts, "Z", "")
    return pc.replace_substring_regex(texts, "T00:00:00$", "")


def _strip_zeros(texts: pa.Array) -> pa.Array:
    """Cut zeros at the end of a fraction of a second, and the point if nothing is left."""
    shorter = pc.replace_substring_regex(texts, r"(\.[0-9]*[1-9])0+$", r"\1")
    return pc.replace_substring_regex(shorter, r"\.0+$", "")


# ── Arrow types ─────────────────────────────────────────────────────────────────────


def _plain(column: Any) -> Any:
    """Return the column without a dictionary and with strings that every function takes."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _plain(column.cast(kind.value_type))
    if kind == pa.string_view():
        return column.cast(pa.large_string())
    return column


def _to_strings(labels: Iterable[str | None] | pa.Array) -> pa.Array:
    return labels if isinstance(labels, pa.Array) else pa.array(list(labels), pa.string())


def _matches(texts: pa.Array, pattern: str) -> NDArray[np.bool_]:
    """Return which texts fit the pattern from end to end."""
    return to_mask(pc.match_substring_regex(texts, f"^({pattern})$"))


def to_mask(flags: Any) -> NDArray[np.bool_]:
    """Return Arrow booleans as a NumPy mask."""
    copied = {} if isinstance(flags, pa.ChunkedArray) else {"zero_copy_only": False}
    return np.array(flags.to_numpy(**copied), dtype=np.bool_)

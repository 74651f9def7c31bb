"""Detect how a column of text writes dates and numbers, from its values alone.

At least nine in ten cells must fit a format. Where the values allow two readings, none is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.tables.columns.formats import (
    CHUNK,
    SPACES,
    THOUSANDS,
    TIME,
    ColumnFormat,
    DateFormat,
    NumberFormat,
    field_of,
    repeats,
    to_numbers,
)
from incrowd.tables.columns.types import DOMINANT_SHARE, ISO_DATE, NUMBER, to_mask

_CURRENCY = r"(?:[€$£¥₹]|EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|HUF|JPY|CNY|INR|Fr\.)"
_SHORT_UNIT = (
    r"(?:%|‰|°C|°F|°|µg|mcg|ng|mg|kg|g|µm|mm|cm|dm|km|m|ml|mL|cl|dl|l|L|ms|s|min|h|"
    r"mmHg|bpm|kcal|kJ|kW|Hz)"
)
_PREFIX = rf"(?:{_CURRENCY}[{SPACES}]?)?"
_SUFFIX = (
    rf"(?:[{SPACES}]?(?:{_CURRENCY}|{_SHORT_UNIT})|[{SPACES}][\p{{L}}µ][\p{{L}}µ²³/·]{{0,14}})?"
)
_DATE_SHAPE = (
    r"^ *(?P<a>[0-9]{1,4})(?P<s>[./-])(?P<b>[0-9]{1,2})(?P<t>[./-])(?P<c>[0-9]{1,4})"
    rf"(?: (?P<hour>[0-9]{{1,2}}):{TIME})? *$"
)
_NUMBER_SHAPE = (
    rf"^ *(?P<prefix>{_PREFIX})[+-]?"
    rf"(?P<body>[0-9](?:[0-9.,'\x{{2019}}{SPACES}]*[0-9])?)(?P<suffix>{_SUFFIX}) *$"
)
_IN_GROUPS = r"^ *[+-]?(?:[0-9]{1,3}|[1-9][0-9]{0,2}(?:\.[0-9]{3})+) *$"
_PLAIN_ALONE = rf"^ *(?:[+-]?[0-9]*\.(?:[0-9]{{1,2}}|[0-9]{{4,}})|{ISO_DATE}) *$"
"""ISO dates and decimals that are no thousands: only the canonical way of writing has them."""
_EITHER_SHAPE = "|".join(
    re.sub(r"\(\?P<[a-z]+>", "(?:", shape) for shape in (_DATE_SHAPE, _NUMBER_SHAPE)
)


def unit_of(values: pa.Array, counts: NDArray[np.int64]) -> tuple[str, str]:
    """Return what stands before and after most of a column's numbers; nothing for no numbers."""
    shaped = _shaped(values, counts, _NUMBER_SHAPE)
    if shaped is None or not shaped.any():
        return "", ""
    return _commonest_unit(values.filter(pa.array(shaped)), counts[shaped])


@dataclass(frozen=True)
class Detection:
    """What a column's values show: a format, or several between which they do not decide.

    ``format`` is None for a column that holds neither, or holds plain numbers or ISO dates.
    """

    format: ColumnFormat | None = None
    choices: tuple[ColumnFormat, ...] = ()


NOTHING = Detection()


def may_have_format(column: pa.ChunkedArray, tokens: Sequence[str] = ()) -> bool:
    """Whether ``detect_format`` could find something in a column of text, from its cells.

    Where values repeat, counting them is quicker than looking at cells. Else a column of names, of
    ISO dates or of plain decimals is given up after about a tenth of its cells, uncounted: more
    cells than may be odd fit no other way of writing.
    """
    if pa.types.is_dictionary(column.type) or repeats(column):
        return True
    missing = pa.array(["", *tokens], column.type)
    n_cells, n_hopeless, has_marks = len(column) - column.null_count, 0, False
    for chunk in column.chunks:
        for start in range(0, len(chunk), CHUNK):
            cells = chunk.slice(start, CHUNK).drop_null()
            if not has_marks and to_mask(pc.ascii_is_decimal(cells)).all():
                continue
            has_marks = True
            cells = cells.filter(pc.invert(pc.is_in(cells, missing)))
            is_plain = pc.match_substring_regex(cells, _PLAIN_ALONE)
            shaped = pc.match_substring_regex(cells, _EITHER_SHAPE)
            n_hopeless += len(cells) - (pc.sum(pc.and_not(shaped, is_plain)).as_py() or 0)
            if n_cells - n_hopeless < DOMINANT_SHARE * n_cells:
                return False
    return has_marks


def detect_format(values: pa.Array, counts: NDArray[np.int64]) -> Detection:
    """Detect how distinct texts, none of them missing, write dates or numbers.

    ``counts`` are the cells that hold each. At least nine in ten cells must fit.
    """
    if not len(values) or _fits_all(values, ISO_DATE):
        return NOTHING
    if _fits_all(values, NUMBER):
        if not _fits_all(values, _IN_GROUPS, is_anchored=True):
            return NOTHING
        has_point = to_mask(pc.match_substring(values, ".")).any()
        choices = (NumberFormat(",", "."), NumberFormat())
        return Detection(choices=choices) if has_point else NOTHING
    for detect, shape in ((_detect_dates, _DATE_SHAPE), (_detect_numbers, _NUMBER_SHAPE)):
        shaped = _shaped(values, counts, shape)
        if shaped is not None:
            found = detect(values.filter(pa.array(shaped)), counts[shaped], int(counts.sum()))
            if found != NOTHING:
                return found
    return NOTHING


def _detect_dates(texts: pa.Array, counts: NDArray[np.int64], n_cells: int) -> Detection:
    parts = pc.extract_regex(texts, _DATE_SHAPE)
    first, middle, last = (field_of(parts, name) for name in "abc")
    separator = _commonest(field_of(parts, "s"), counts)
    is_year_first = _commonest(pc.utf8_length(first), counts) == 4
    year = 4 if is_year_first else _commonest(pc.utf8_length(last), counts)
    if year not in (2, 4):
        return NOTHING
    hours = field_of(parts, "hour")
    has_time = to_mask(pc.not_equal(hours, ""))
    time = ""
    if has_time.any():
        hour_digits = _digits(hours.filter(pa.array(has_time)), counts[has_time])
        has_seconds = to_mask(pc.match_substring(field_of(parts, "rest"), ":")).any()
        time = "H" * hour_digits + ":MM" + (":SS" if has_seconds else "")
    hour = 1 if time.startswith("H:") else 2
    if is_year_first:
        month, day = _digits(middle, counts), _digits(last, counts)
        formats = [DateFormat("ymd", separator, day, month, 4, hour, time=time)]
    else:
        one, two = _digits(first, counts), _digits(middle, counts)
        formats = [DateFormat("dmy", separator, one, two, year, hour, time=time)]
        if separator != ".":
            formats.append(DateFormat("mdy", separator, two, one, year, hour, time=time))
    if year == 2 and _has_doubtful_century(last):
        formats = [replace(way, first_year=start) for way in formats for start in (1930, 1969)]
    return _choose(formats, texts, counts, n_cells)


def _has_doubtful_century(years: pa.Array) -> bool:
    """Whether some two-digit year is one of 30 to 68.

    Spreadsheets read those as 19xx, POSIX as 20xx; on all others the two agree.
    """
    numbers = to_numbers(years)
    return bool(((numbers >= 30) & (numbers <= 68)).any())


def _detect_numbers(texts: pa.Array, counts: NDArray[np.int64], n_cells: int) -> Detection:
    prefix, suffix = _commonest_unit(texts, counts)
    marks = [mark for mark in THOUSANDS if to_mask(pc.match_substring(texts, mark)).any()]
    formats = [
        NumberFormat(decimal, thousands, prefix, suffix)
        for decimal in (".", ",")
        for thousands in ("", *marks)
        if thousands != decimal
    ]
    return _choose(formats, texts, counts, n_cells)


def _commonest_unit(texts: pa.Array, counts: NDArray[np.int64]) -> tuple[str, str]:
    """Return what stands before and after most numbers.

    A quarter of the cells is enough: what nine in ten have is the commonest among them.
    """
    n_some = int(np.searchsorted(np.cumsum(counts), counts.sum() / 4)) + 1
    parts, counts = pc.extract_regex(texts[:n_some], _NUMBER_SHAPE), counts[:n_some]
    around = pc.binary_join_element_wise(field_of(parts, "prefix"), field_of(parts, "suffix"), "\0")
    prefix, _, suffix = _commonest(around, counts).partition("\0")
    return prefix, suffix


def _choose(
    formats: Sequence[ColumnFormat], texts: pa.Array, counts: NDArray[np.int64], n_cells: int
) -> Detection:
    """Return the format that most cells fit; several where they fit as well and say otherwise.

    Days and months are decided by values that only one order allows: if there are such values for
    both orders, neither is chosen. Formats that too many cells do not fit are given up on the way.
    """
    n_unfit = dict.fromkeys(range(len(formats)), n_cells - int(counts.sum()))
    fits = np.zeros((len(formats), len(texts)), dtype=np.bool_)
    for start in range(0, len(texts), CHUNK):
        part = slice(start, start + CHUNK)
        for place in list(n_unfit):
            fits[place, part] = formats[place].fits(texts[part])
            n_unfit[place] += int(counts[part][~fits[place, part]].sum())
            if n_cells - n_unfit[place] < DOMINANT_SHARE * n_cells:
                del n_unfit[place]
    if not n_unfit:
        return NOTHING
    best = min(n_unfit, key=n_unfit.__getitem__)
    rivals = [best]
    others = texts.filter(pa.array(~fits[best]))
    for place, way in enumerate(formats):
        is_equal = n_unfit.get(place) == n_unfit[best]
        contradicts = isinstance(way, DateFormat) and bool(way.fits(others).any())
        if place != best and (is_equal or contradicts):
            rivals += [place] if all(_differ(way, formats[r], texts) for r in rivals) else []
    if len(rivals) > 1:
        return Detection(choices=tuple(formats[place] for place in sorted(rivals)))
    return NOTHING if formats[best].is_canonical else Detection(formats[best])


def _differ(one: ColumnFormat, other: ColumnFormat, texts: pa.Array) -> bool:
    """Whether two formats read some text differently."""
    parts = (texts.slice(start, CHUNK) for start in range(0, len(texts), CHUNK))
    return any(not one.normalize(part).equals(other.normalize(part)) for part in parts)


# ── shapes and counts ───────────────────────────────────────────────────────────────────────


def _fits_all(values: pa.Array, pattern: str, *, is_anchored: bool = False) -> bool:
    """Whether every text fits a pattern but for blanks around it; stops at the first that fails."""
    whole = pattern if is_anchored else f"^ *(?:{pattern}) *$"
    return all(
        to_mask(pc.match_substring_regex(values.slice(start, CHUNK), whole)).all()
        for start in range(0, len(values), CHUNK)
    )


def _shaped(values: pa.Array, counts: NDArray[np.int64], shape: str) -> NDArray[np.bool_] | None:
    """Return which texts have a shape; None as soon as too many cells do not have it."""
    n_cells = int(counts.sum())
    n_unfit, found = 0, []
    for start in range(0, len(values), CHUNK):
        fits = to_mask(pc.match_substring_regex(values.slice(start, CHUNK), shape))
        n_unfit += int(counts[start : start + CHUNK][~fits].sum())
        if n_cells - n_unfit < DOMINANT_SHARE * n_cells:
            return None
        found.append(fits)
    return np.concatenate(found)


def _digits(fields: pa.Array, counts: NDArray[np.int64]) -> int:
    """Return the least number of digits of a day, a month or an hour, by what is commonest."""
    short = to_mask(pc.match_substring_regex(fields, "^[0-9]$"))
    padded = to_mask(pc.match_substring_regex(fields, "^0[0-9]$"))
    return 1 if int(counts[short].sum()) > int(counts[padded].sum()) else 2


def _commonest(values: pa.Array, counts: NDArray[np.int64]) -> Any:
    """Return the value that most cells have; of equally common ones the least."""
    encoded = values.dictionary_encode()
    sums = np.bincount(encoded.indices.to_numpy(zero_copy_only=False), weights=counts)
    common: Iterable[Any] = (
        value
        for value, total in zip(encoded.dictionary.to_pylist(), sums, strict=True)
        if total == sums.max()
    )
    return min(common)

"""Group values level by level: by intervals, leading characters, the calendar, or frequency.

Each returns, for every level above the values, the group of each value and the groups' labels.
Levels nest: a group lies within one group of the next level.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.errors import HierarchyError

Levels = list[tuple[NDArray[Any], list[str]]]

EXACT_INTEGERS = 2**53  # 64-bit floats represent all integers up to here
GROUP_SIZE = 4  # how many neighbours a group by frequency holds, about
MEMBERS_SHOWN = 6  # members up to which a group by frequency is written out


# ── numbers ─────────────────────────────────────────────────────────────────────────────────


def group_by_interval(
    column: str,
    numbers: NDArray[np.float64],
    widths: Sequence[float],
    *,
    lower: float | None = None,
    upper: float | None = None,
    is_whole: bool,
) -> Levels:
    """Group numbers into intervals of rising widths, on the multiples of the width.

    With ``lower`` the grid starts there and what is less is one open group, ``<20``; with
    ``upper`` what is not less is one, ``>=80``. Whole numbers read ``20-24``, others ``[20, 25)``.
    A number on an edge is in the interval that starts there, exactly: edges are compared as the
    floats that their decimals read as.
    """
    stated = [Fraction(str(number)) for number in (*widths, lower or 0, upper or 0)]
    scale = math.lcm(*(number.denominator for number in stated))  # all edges are whole in 1/scale
    units = [int(number * scale) for number in stated]
    origin, end = units[-2], units[-1]
    farthest = float(np.abs(numbers).max()) * scale + abs(origin) + 2 * units[len(widths) - 1]
    if farthest >= EXACT_INTEGERS:
        raise HierarchyError(
            f"column {column!r}: its numbers are too large to be put into such intervals exactly",
            remedy="State wider intervals, prefix or flat.",
        )
    bin_of_value = _bin_numbers(numbers, origin, units[0], scale)
    outermost = int(np.abs(bin_of_value).max()) + 2
    if lower is not None:
        bin_of_value[numbers < lower] = -outermost
    is_above = np.zeros(len(numbers), dtype=np.bool_)
    if upper is not None:
        is_above = numbers >= upper
    levels: Levels = []
    for width in units[: len(widths)]:
        wider = np.floor_divide(bin_of_value, width // units[0])
        if lower is not None:
            wider[bin_of_value == -outermost] = -outermost
        wider[is_above] = outermost
        bins, group_of_value = np.unique(wider, return_inverse=True)
        labels = []
        for place in bins.tolist():
            if place == -outermost and lower is not None:
                labels.append(f"<{format_decimal(Fraction(origin, scale))}")
            elif place == outermost:
                labels.append(f">={format_decimal(Fraction(end, scale))}")
            else:
                first = origin + place * width
                beyond = first + width if upper is None else min(first + width, end)
                labels.append(_interval_label(first, beyond, scale, is_whole))
        levels.append((group_of_value, labels))
    return levels


def _bin_numbers(
    numbers: NDArray[np.float64], origin: int, width: int, scale: int
) -> NDArray[np.int64]:
    """Return ``bin`` with origin + bin·width ≤ number·scale < origin + (bin + 1)·width."""
    bins: NDArray[np.int64] = np.floor((numbers * scale - origin) / width).astype(np.int64)
    while True:
        # the ratio of two whole numbers is rounded once, as the same decimal is when it is read
        first = (origin + bins * width) / float(scale)
        beyond = (origin + (bins + 1) * width) / float(scale)
        step = (numbers >= beyond).astype(np.int64) - (numbers < first)
        if not step.any():
            return bins
        bins += step


def _interval_label(first: int, beyond: int, scale: int, is_whole: bool) -> str:
    if not is_whole or first % scale or beyond % scale:
        return (
            f"[{format_decimal(Fraction(first, scale))}, {format_decimal(Fraction(beyond, scale))})"
        )
    low, high = first // scale, beyond // scale - 1
    if low == high:
        return str(low)
    return f"{low}-{high}" if low >= 0 else f"{low} to {high}"


def format_decimal(number: Fraction) -> str:
    """Return the exact decimal of a number, without trailing zeros."""
    if number.denominator == 1:
        return str(number.numerator)
    exact = Decimal(number.numerator) / Decimal(number.denominator)
    return format(exact.normalize(), "f")


# ── codes ───────────────────────────────────────────────────────────────────────────────────


def group_by_prefix(codes: Sequence[str], drops: Sequence[int]) -> Levels:
    """Group codes by their leading characters: ``32601`` → ``3260*`` → ``326**``.

    ``drops`` are the numbers of characters that each level masks, counted from the end of the
    longest code; a shorter code stays itself until a level reaches into it.
    """
    texts = pa.array(codes, pa.string())
    lengths = pc.utf8_length(texts)
    longest = pc.max(lengths).as_py()
    levels: Levels = []
    for drop in drops:
        kept = longest - drop
        if kept <= 0:
            break
        masked = pc.binary_join_element_wise(
            pc.utf8_slice_codeunits(texts, 0, kept), pa.scalar("*" * drop), ""
        )
        level = pc.if_else(pc.greater(lengths, kept), masked, texts).dictionary_encode()
        levels.append((level.indices.to_numpy(), level.dictionary.to_pylist()))
    return levels


# ── dates ───────────────────────────────────────────────────────────────────────────────────


def group_by_calendar(
    values: Sequence[str], ordinals: NDArray[np.float64], units: Sequence[str]
) -> Levels:
    """Group days by calendar units, fine to coarse: ``2024-03``, ``2024-Q1``, ``2020-2029``.

    ``ordinals`` are numbers of days as ``datetime.date.toordinal`` counts them. A day that groups
    times and is also a value itself (midnight) is labelled apart: ``2024-03-05 (day)``.
    """
    since_1970 = ordinals.astype(np.int64) - date(1970, 1, 1).toordinal()
    stamps = since_1970.astype("datetime64[D]")
    months = stamps.astype("datetime64[M]").astype(np.int64)  # since January 1970
    number_of_day = {
        "day": since_1970,
        "month": months,
        "quarter": months // 3,
        "year": months // 12,
        "decade": (months // 12 + 1970) // 10,
    }
    levels: Levels = []
    for unit in units:
        periods, group_of_day, sizes = np.unique(
            number_of_day[unit], return_inverse=True, return_counts=True
        )
        labels = [_period_label(unit, period) for period in periods.tolist()]
        if unit == "day":
            alone = set(values)
            labels = [
                f"{label} (day)" if size > 1 and label in alone else label
                for label, size in zip(labels, sizes.tolist(), strict=True)
            ]
        levels.append((group_of_day, labels))
    return levels


def _period_label(unit: str, number: int) -> str:
    if unit == "day":
        return str(np.datetime64(number, "D"))
    if unit == "month":
        return f"{1970 + number // 12:04d}-{number % 12 + 1:02d}"
    if unit == "quarter":
        return f"{1970 + number // 4:04d}-Q{number % 4 + 1}"
    if unit == "year":
        return f"{1970 + number:04d}"
    return f"{number * 10:04d}-{number * 10 + 9:04d}"


# ── categories ──────────────────────────────────────────────────────────────────────────────


def group_by_frequency(labels: Sequence[str], counts: NDArray[np.int64]) -> Levels:
    """Group values that occur about equally often, by fours, then fours of groups, and so on.

    Ties are broken by label. A group's label names its members in their own order, not by
    frequency, which it would disclose.
    """
    falling = (-counts).tolist()
    order = sorted(range(len(labels)), key=lambda place: (falling[place], labels[place]))
    group_of_value = np.empty(len(labels), dtype=np.int64)
    group_of_value[order] = np.arange(len(labels))
    n_groups = len(labels)
    levels: Levels = []
    while n_groups > GROUP_SIZE:
        n_wider = -(-n_groups // GROUP_SIZE)
        # spread evenly, so that no group is left with a single member
        group_of_value = group_of_value * n_wider // n_groups
        n_groups = n_wider
        members: list[list[str]] = [[] for _ in range(n_groups)]
        for label, group in sorted(zip(labels, group_of_value.tolist(), strict=True)):
            members[group].append(label)
        levels.append((group_of_value, [_set_label(names) for names in members]))
    return levels


def _set_label(members: list[str]) -> str:
    shown = [
        _member_label(name) for name in (members if len(members) <= MEMBERS_SHOWN else members[:2])
    ]
    if len(members) > MEMBERS_SHOWN:
        shown.append(f"… +{len(members) - 2}")
    return "{" + ", ".join(shown) + "}"


def _member_label(name: str) -> str:
    is_plain = name == name.strip() and name and not any(sign in name for sign in ',{}"…')
    return name if is_plain else json.dumps(name, ensure_ascii=False)

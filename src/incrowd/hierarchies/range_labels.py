"""Released labels of ranges (``20-24``, ``<20``, ``0.5 to <0.75``) read back as numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import DataError, JobError, unknown
from incrowd.hierarchies.tree import STAR
from incrowd.tables.frames import unsupported_frame_error

if TYPE_CHECKING:
    import pyarrow as pa

_NUMBER = r"[+-]?\d+(?:\.\d+)?"
_ONE = re.compile(_NUMBER, re.ASCII)
_BELOW = re.compile(rf"<({_NUMBER})", re.ASCII)
_FROM = re.compile(rf">(=?)({_NUMBER})", re.ASCII)
_HALF_OPEN = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (rf"\[({_NUMBER}), ({_NUMBER})\)", rf"({_NUMBER}) to <({_NUMBER})")
)
_CLOSED = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (rf"({_NUMBER}) to ({_NUMBER})", r"(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)")
)

OPEN_RANGES = ("missing", "bound")
"""What the midpoint of a range without a second bound is: none, or its one bound."""

DECIMALS = (".", ",")

LOWER, UPPER = "_lower", "_upper"
"""What the names of the two columns of bounds end in."""


@dataclass(frozen=True)
class NumberRange:
    """The numbers that a label stands for; a bound is infinite where the label states none.

    >>> parse_range("20-24")
    NumberRange(lower=20.0, upper=24.0, has_lower=True, has_upper=True)
    >>> parse_range("0.5 to <0.75").has_upper, parse_range("2024-03") is None
    (False, True)
    """

    lower: float
    upper: float
    has_lower: bool = True
    has_upper: bool = True
    """Whether the bounds themselves belong to the range."""

    @property
    def is_one_number(self) -> bool:
        """Whether it is a number as it was, not generalized."""
        return self.lower == self.upper


def parse_range(label: str) -> NumberRange | None:
    """Return the range that a label stands for; None where it is no range and no number."""
    text = label.strip()
    if _ONE.fullmatch(text):
        return NumberRange(float(text), float(text))
    for patterns, has_upper in ((_HALF_OPEN, False), (_CLOSED, True)):
        for pattern in patterns:
            found = pattern.fullmatch(text)
            if found:
                low, high = float(found[1]), float(found[2])
                # a month such as 2024-03 has the shape of a range, and runs backwards
                return NumberRange(low, high, has_upper=has_upper) if low <= high else None
    below, start = _BELOW.fullmatch(text), _FROM.fullmatch(text)
    if below:
        return NumberRange(-math.inf, float(below[1]), has_upper=False)
    if start:
        return NumberRange(float(start[2]), math.inf, has_lower=bool(start[1]))
    return None


def closed_bounds(labels: Iterable[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the greatest number that each label may stand for; NaN if none."""
    bounds = [_close(parse_range(label)) for label in labels]
    low, high = np.asarray(bounds, dtype=np.float64).reshape(-1, 2).T
    return low, high


def _close(span: NumberRange | None) -> tuple[float, float]:
    if span is None:
        return math.nan, math.nan
    low = span.lower if span.has_lower else math.nextafter(span.lower, math.inf)
    high = span.upper if span.has_upper else math.nextafter(span.upper, -math.inf)
    return low, high


# Columns of a frame: each range as its midpoint, or as two columns of bounds.


def convert_ranges(
    frame: Any,
    columns: Iterable[str] | None = None,
    *,
    bounds: bool = False,
    limits: Mapping[str, tuple[float, float]] | None = None,
    open_ranges: str = OPEN_RANGES[0],
    decimal: str = ".",
) -> Any:
    """Return a pandas, polars or pyarrow frame with ranges as numbers; other columns stay.

    Without ``columns`` those are converted that ``find_range_columns`` finds.
    """
    import narwhals as nw

    if open_ranges not in OPEN_RANGES:
        raise unknown("midpoint of open ranges", str(open_ranges), OPEN_RANGES, where="open_ranges")
    if decimal not in DECIMALS:
        raise unknown("decimal mark", str(decimal), DECIMALS, where="decimal")
    limits = dict(limits or {})
    rows = _rows_of(frame)
    stated = find_range_columns(frame, decimal=decimal) if columns is None else _listed(columns)
    for name in (*stated, *limits):
        if name not in rows.columns:
            raise unknown("column", str(name), rows.columns, where="the frame")
    names, added = [], []
    for name in rows.columns:
        if name not in stated:
            names.append(name)
            continue
        spans = _Spans.of(rows[name].to_arrow(), decimal)
        spans.refuse_odd(name)
        low, high = _limited(spans.bounds, limits.get(name), name)
        numbers = {name: _midpoints(low, high, open_ranges)}
        if bounds:
            numbers = {name + LOWER: low, name + UPPER: high}
        names += numbers
        added += [
            nw.new_series(heading, _finite(values), nw.Float64, backend=rows.implementation)
            for heading, values in numbers.items()
        ]
    if len(set(names)) < len(names):
        raise DataError(
            "a column of bounds would have the name of another column",
            remedy=f"Rename the columns that end in {LOWER!r} or {UPPER!r}.",
        )
    return rows.with_columns(*added).select(names).to_native()


def find_range_columns(
    frame: Any, among: Iterable[str] | None = None, decimal: str = "."
) -> tuple[str, ...]:
    """Return the columns of text in which every cell is a range, a number, a star or missing.

    At least one cell must be a range: a column of codes is none.
    """
    rows = _rows_of(frame)
    looked_at = rows.columns if among is None else [name for name in among if name in rows.columns]
    return tuple(
        name
        for name in looked_at
        if _is_text(rows[name]) and _Spans.of(rows[name].to_arrow(), decimal).are_ranges
    )


def _rows_of(frame: Any) -> Any:
    import narwhals as nw

    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        raise unsupported_frame_error(frame) from None


def _with_point(text: str) -> str:
    """Return a label with decimal points for decimal commas."""
    return re.sub(r"(?<=\d),(?=\d)", ".", text)


def _listed(columns: Iterable[str]) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else tuple(columns)


def _is_text(column: Any) -> bool:
    import narwhals as nw

    return column.dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object)


@dataclass(frozen=True, eq=False)
class _Spans:
    """The ranges of a column: ``bounds[row]``, NaN for stars and missing cells."""

    bounds: NDArray[np.float64]
    odd: tuple[str, ...]
    has_range: bool

    @classmethod
    def of(cls, column: pa.Array, decimal: str = ".") -> _Spans:
        """Read every distinct label once."""
        import pyarrow as pa

        from incrowd.tables.columns.types import labels_of

        encoded = labels_of(column).dictionary_encode()
        texts: list[str] = encoded.dictionary.to_pylist()
        spans = [parse_range(_with_point(text) if decimal == "," else text) for text in texts]
        nothing = (math.nan, math.nan)
        of_text = [nothing if span is None else (span.lower, span.upper) for span in spans]
        of_code = np.asarray([*of_text, nothing], dtype=np.float64)
        codes = encoded.indices.fill_null(pa.scalar(len(texts), encoded.indices.type))
        odd = tuple(
            text
            for text, span in zip(texts, spans, strict=True)
            if span is None and text.strip() not in (STAR, "")
        )
        has_range = any(span is not None and not span.is_one_number for span in spans)
        return cls(of_code[codes.to_numpy(zero_copy_only=False)], odd, has_range)

    @property
    def are_ranges(self) -> bool:
        return self.has_range and not self.odd

    def refuse_odd(self, name: str) -> None:
        if self.odd:
            raise DataError(
                f"column {name!r}: {len(self.odd):,} of its values are neither ranges nor numbers",
                remedy="Name columns of numbers, or none: then those that hold ranges are found.",
                examples=self.odd,
            )


def _limited(
    spans: NDArray[np.float64], limits: tuple[float, float] | None, name: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bounds, with stated limits in place of those that are open."""
    low, high = spans.T.copy()
    if limits is None:
        return low, high
    try:
        least, greatest = (float(limit) for limit in limits)
    except (TypeError, ValueError):
        raise JobError(
            f"limits of {name!r}: not two numbers", remedy=f"Write  limits={{{name!r}: (0, 100)}}."
        ) from None
    low[np.isneginf(low)], high[np.isposinf(high)] = least, greatest
    if (low > high).any():
        raise JobError(
            f"limits of {name!r}: an open range of the release lies beyond them",
            remedy="State limits that hold every value.",
        )
    return low, high


def _midpoints(
    low: NDArray[np.float64], high: NDArray[np.float64], open_ranges: str
) -> NDArray[np.float64]:
    if open_ranges == "bound":
        low, high = np.where(np.isinf(low), high, low), np.where(np.isinf(high), low, high)
    with np.errstate(invalid="ignore"):
        return np.asarray((low + high) / 2)


def _finite(numbers: NDArray[np.float64]) -> list[float | None]:
    """Return the numbers, None for a bound or a midpoint that there is not."""
    return [number if math.isfinite(number) else None for number in numbers.tolist()]

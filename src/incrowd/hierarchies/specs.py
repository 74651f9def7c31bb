"""How a user states a column's hierarchy: a file, a builder with its settings, or ``auto``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from incrowd.errors import JobError, unknown
from incrowd.hierarchies.templates.table import TEMPLATES

MEAN = "mean"
AGE, DAYS_SINCE = "age", "days-since"
DERIVED_KINDS = (AGE, DAYS_SINCE)  # which turn a date into a whole number before it is grouped
BUILDERS = ("auto", "flat", "intervals", "ranges", "prefix", "dates")
KINDS = (*BUILDERS, *DERIVED_KINDS, *TEMPLATES, MEAN, "file")
NUMBER_KINDS = (
    "auto",
    "flat",
    "intervals",
    "ranges",
    "ages",
    MEAN,
)  # what may group derived numbers
GRID_KINDS = ("intervals", "ranges")  # which take numbers, from and to
DATE_UNITS = ("day", "month", "quarter", "year", "decade")
DEFAULT_DATE_UNITS = ("month", "year", "decade")
MISSING_CHOICES = ("refuse", "suppress")
FILE_ENDINGS = (".csv", ".tsv", ".txt", ".json", ".toml")

Number = int | float


@dataclass(frozen=True)
class HierarchySpec:
    """What was asked for as a column's hierarchy, before any data is read.

    ``widths`` are those of ``intervals``, each a multiple of the one before; ``lower`` starts
    their grid and ``upper`` ends it, with open bins beyond; those of ``ranges`` are at most one,
    the step of the grid, and so are those of ``mean``, what means are rounded to. ``drops`` says
    how many characters of the longest code each level of ``prefix`` masks, ``units`` the levels
    of ``dates``. A template (``icd10``, ``postcode``, …) may have a ``variant``, the country of
    postcodes. ``age`` and ``days-since`` turn dates into completed years or days before or since
    a ``reference``, an ISO date or another column, and group these numbers by ``of_number``. With
    ``missing = "suppress"`` a value that has no place goes directly under the root.

    >>> HierarchySpec.parse("intervals:5,10,20").widths
    (5, 10, 20)
    >>> HierarchySpec.parse("intervals:5,10,20").to_toml()
    {'intervals': [5, 10, 20]}
    """

    kind: str = "auto"
    widths: tuple[Number, ...] = ()
    lower: Number | None = None
    upper: Number | None = None
    drops: tuple[int, ...] = ()
    units: tuple[str, ...] = ()
    variant: str = ""
    path: Path | None = None
    missing: str = "refuse"
    reference: str = ""
    of_number: HierarchySpec | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown("hierarchy", self.kind, KINDS)
        if self.is_derived:
            self._check_derived()
        elif self.reference or self.of_number is not None:
            raise JobError(f"{self.kind}: only {' and '.join(DERIVED_KINDS)} have a reference")
        if self.missing not in MISSING_CHOICES:
            raise unknown("choice of missing", str(self.missing), MISSING_CHOICES)
        if self.kind == "intervals":
            self._check_intervals()
        if self.kind == "ranges":
            self._check_ranges()
        if self.kind == MEAN:
            self._check_mean()
        if self.kind == "prefix" and not _is_increasing(self.drops, at_least=1):
            raise JobError(
                "prefix: the numbers of masked characters must be whole and rise",
                remedy="State them as  prefix:1,3  or leave them out for a level per character.",
            )
        for unit in self.units:
            if unit not in DATE_UNITS:
                raise unknown("level of dates", unit, DATE_UNITS)
        if list(self.units) != sorted(set(self.units), key=DATE_UNITS.index):
            raise JobError(
                "dates: the levels must go from fine to coarse, each once",
                remedy=f"Their order is {', '.join(DATE_UNITS)}.",
            )
        if self.variant:
            variants = TEMPLATES[self.kind].variants if self.kind in TEMPLATES else ()
            if self.variant not in variants:
                raise unknown(f"variant of {self.kind}", str(self.variant), variants)
        if (self.kind == "file") != (self.path is not None):
            raise JobError("a hierarchy from a file needs the file's path, and no other has one")

    @property
    def is_derived(self) -> bool:
        """Whether the column is turned into whole numbers first: an age, or days."""
        return self.kind in DERIVED_KINDS

    @property
    def reference_date(self) -> date | None:
        """The day that is counted from; None where the reference is a column."""
        try:
            return date.fromisoformat(self.reference)
        except ValueError:
            return None

    @property
    def number_spec(self) -> HierarchySpec:
        """How the derived numbers are grouped."""
        return replace(self.of_number or HierarchySpec(), missing=self.missing)

    @property
    def derivation(self) -> str:
        """What the column holds after it was derived, in words; nothing where it is not."""
        day = self.reference if self.reference_date else f"the date in {self.reference!r}"
        if self.kind == AGE:
            return f"age in completed years on {day}"
        return f"days since {day}" if self.is_derived else ""

    @property
    def grouping_kind(self) -> str:
        """The builder that groups the column, after it was derived."""
        return self.number_spec.kind if self.is_derived else self.kind

    def with_grouping(self, kind: str) -> HierarchySpec:
        """Return the same derivation grouped by another builder, where none is stated."""
        is_open = self.is_derived and self.of_number is None
        return replace(self, of_number=HierarchySpec(kind)) if is_open else self

    def _check_derived(self) -> None:
        remedy = (
            f"Name a date or a column of dates:  {self.kind}:2026-01-01  or  "
            f"{self.kind}:COLUMN,intervals:5,10."
        )
        if not isinstance(self.reference, str) or not self.reference.strip():
            raise JobError(f"{self.kind}: needs a reference", remedy=remedy)
        looks_like_date = re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", self.reference)
        if looks_like_date and self.reference_date is None:
            raise JobError(f"{self.kind}: {self.reference} is not a day", remedy=remedy)
        if self.of_number is not None and self.of_number.kind not in NUMBER_KINDS:
            raise JobError(
                f"{self.kind}: {self.of_number.kind} does not group numbers",
                remedy=f"State one of {', '.join(NUMBER_KINDS)} after the reference.",
            )

    def _check_intervals(self) -> None:
        remedy = "State rising widths, each a multiple of the one before:  intervals:5,10,20."
        if not self.widths or not all(_is_number(width) and width > 0 for width in self.widths):
            raise JobError("intervals: needs at least one width above 0", remedy=remedy)
        exact = [Fraction(str(width)) for width in self.widths]
        for narrow, wide in pairwise(exact):
            if wide <= narrow or (wide / narrow).denominator != 1:
                raise JobError(
                    f"intervals: {_format_number(wide)} is not a multiple of "
                    f"{_format_number(narrow)}",
                    remedy=remedy,
                )
        for bound in (self.lower, self.upper):
            if bound is not None and not _is_number(bound):
                raise JobError("intervals: from and to must be numbers", remedy=remedy)
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            raise JobError("intervals: from must lie below to", remedy="Swap the two bounds.")

    def _check_ranges(self) -> None:
        remedy = "State the step and, if you like, the ends of the grid:  ranges:5,from=20,to=80."
        if len(self.widths) > 1 or not all(_is_number(w) and w > 0 for w in self.widths):
            raise JobError("ranges: the step must be one positive number", remedy=remedy)
        bounds = [bound for bound in (self.lower, self.upper) if bound is not None]
        if not all(_is_number(bound) for bound in bounds):
            raise JobError("ranges: from and to must be numbers", remedy=remedy)
        if len(bounds) < 2:
            return
        low, high = (Fraction(str(bound)) for bound in bounds)
        if not self.widths:
            raise JobError("ranges: from and to need a step", remedy=remedy)
        if low >= high or ((high - low) / Fraction(str(self.widths[0]))).denominator != 1:
            raise JobError(
                "ranges: the step does not lead from one end to the other", remedy=remedy
            )

    def _check_mean(self) -> None:
        if len(self.widths) > 1 or not all(_is_number(w) and w > 0 for w in self.widths):
            raise JobError(
                "mean: what means are rounded to must be one positive number",
                remedy="State it as  mean:10  or leave it out.",
            )
        if self.missing != "refuse":
            raise JobError(
                "mean: a missing cell has no part in a mean",
                remedy="Leave  missing  out, and such rows or the column too.",
            )

    # ── as text ─────────────────────────────────────────────────────────────────────────────

    @classmethod
    def parse(cls, text: str, base: Path | None = None) -> HierarchySpec:
        """Read the form of the command line; a file's path is relative to ``base``.

        ``auto``, ``flat``, ``prefix``, ``prefix:1,3``, ``dates:month,year``, ``intervals:5,10,20``,
        ``intervals:5,10,from=20,to=80``, ``ranges``, ``ranges:5,from=20,to=80``, ``mean``,
        ``mean:10``, ``age:2026-01-01``, ``days-since:COLUMN,intervals:7,28``, a template
        (``icd10``, ``postcode:DE``, ``country``, ``ages``, ``isco``), or a file; each may end in
        ``,missing=suppress``.
        """
        stated = text.strip()
        missing = "refuse"
        if ",missing=" in stated:
            stated, _, missing = stated.rpartition(",missing=")
        kind, colon, rest = stated.partition(":")
        if kind not in KINDS or kind == "file":
            if stated.lower().endswith(FILE_ENDINGS) or "/" in stated or os.sep in stated:
                return cls("file", path=(base or Path()) / stated, missing=missing)
            raise _unknown_hierarchy_error(stated)
        if kind in DERIVED_KINDS:
            reference, comma, grouped = rest.partition(",")
            of_number = cls.parse(grouped) if comma else None
            return cls(kind, reference=reference.strip(), of_number=of_number, missing=missing)
        words = [word.strip() for word in rest.split(",")] if colon else []
        bounds = dict(word.split("=", 1) for word in words if "=" in word)
        plain = [word for word in words if "=" not in word]
        is_grid = kind in GRID_KINDS
        takes = ("from", "to") if is_grid else ()
        for name in bounds:
            if name not in takes:
                raise unknown("setting", name, [*takes, "missing"], where=f"hierarchy {text!r}")
        if is_grid or kind == MEAN:
            return cls(
                kind,
                widths=tuple(_parse_number(word, text) for word in plain),
                lower=_parse_number(bounds["from"], text) if "from" in bounds else None,
                upper=_parse_number(bounds["to"], text) if "to" in bounds else None,
                missing=missing,
            )
        if kind == "prefix":
            return cls(
                kind, drops=tuple(_parse_whole(word, text) for word in plain), missing=missing
            )
        if kind == "dates":
            return cls(kind, units=tuple(plain), missing=missing)
        if kind in TEMPLATES and TEMPLATES[kind].variants and len(plain) <= 1:
            return cls(kind, variant="".join(plain).upper(), missing=missing)
        if colon:
            raise JobError(f"hierarchy {text!r}: {kind} takes no numbers", remedy=f"State  {kind}.")
        return cls(kind, missing=missing)

    def text(self) -> str:
        """Return the form of the command line."""
        if self.kind == "file":
            stated = str(self.path)
        elif self.is_derived:
            stated = f"{self.kind}:{self.reference}"
            if self.of_number is not None:
                stated += f",{self.of_number.text()}"
        else:
            words = [_format_number(width) for width in (*self.widths, *self.drops)] + list(
                self.units
            )
            words += [self.variant] if self.variant else []
            if self.lower is not None:
                words.append(f"from={_format_number(self.lower)}")
            if self.upper is not None:
                words.append(f"to={_format_number(self.upper)}")
            stated = f"{self.kind}:{','.join(words)}" if words else self.kind
        return stated if self.missing == "refuse" else f"{stated},missing={self.missing}"

    # ── as TOML ─────────────────────────────────────────────────────────────────────────────

    @classmethod
    def from_toml(cls, value: Any, column: str, base: Path | None = None) -> HierarchySpec:
        """Read a value of a job's ``[hierarchies]``: a text as above, or a table of one builder.

        ``{ intervals = [5, 10], from = 20, to = 80 }``, ``{ ranges = 5 }``, ``{ mean = 10 }``,
        ``{ prefix = true }``, ``{ prefix = [1, 3] }``, ``{ dates = ["month", "year"] }``,
        ``{ postcode = "DE" }``,
        ``{ age = "2026-01-01", intervals = [5, 10] }``, ``{ days-since = "admission" }``,
        ``{ file = "x.csv", missing = "suppress" }``.
        """
        try:
            if isinstance(value, str):
                return cls.parse(value, base)
            if isinstance(value, Mapping):
                return cls._from_table(dict(value), base)
        except JobError as error:
            raise JobError(f"column {column!r}: {error.what}", remedy=error.remedy) from None
        raise JobError(
            f"column {column!r}: its hierarchy is neither a text nor a table",
            remedy='Write  age = "auto"  or  age = { intervals = [5, 10, 20] }.',
        )

    @classmethod
    def _from_table(cls, table: dict[str, Any], base: Path | None) -> HierarchySpec:
        missing = table.pop("missing", "refuse")
        derived = [name for name in table if name in DERIVED_KINDS]
        if len(derived) == 1:
            reference = table.pop(derived[0])
            of_number = cls._from_table(table, base) if table else None
            return cls(derived[0], reference=reference, of_number=of_number, missing=missing)
        kinds = [name for name in table if name in KINDS]
        if len(kinds) != 1:
            raise JobError(
                f"its hierarchy names {len(kinds)} builders",
                remedy=f"State one of {', '.join(KINDS)}.",
            )
        (kind,) = kinds
        stated = table.pop(kind)
        lower, upper = None, None
        if kind in GRID_KINDS:
            lower, upper = table.pop("from", None), table.pop("to", None)
        for name in table:
            raise unknown("setting", name, [kind, "missing", "from", "to"], where="its hierarchy")
        if kind == "file":
            if not isinstance(stated, str) or not stated:
                raise JobError("file is not a path", remedy='Write  { file = "x.csv" }.')
            return cls(kind, path=(base or Path()) / stated, missing=missing)
        if stated is True and kind != "intervals":
            stated = []
        listed = tuple(stated) if isinstance(stated, (list, tuple)) else (stated,)
        if kind in GRID_KINDS or kind == MEAN:
            return cls(kind, widths=listed, lower=lower, upper=upper, missing=missing)
        if kind == "prefix":
            return cls(kind, drops=listed, missing=missing)
        if kind == "dates" and all(isinstance(unit, str) for unit in listed):
            return cls(kind, units=listed, missing=missing)
        if kind in TEMPLATES and len(listed) == 1 and isinstance(listed[0], str):
            return cls(kind, variant=listed[0].upper(), missing=missing)
        if listed:
            raise JobError(f"{kind} cannot be {stated!r}", remedy=f"Write  {{ {kind} = true }}.")
        return cls(kind, missing=missing)

    def to_toml(self, base: Path | None = None) -> str | dict[str, Any]:
        """Return the value for a job's ``[hierarchies]``; a path relative to ``base``."""
        table: dict[str, Any] = {self.kind: True}
        if self.is_derived:
            table[self.kind] = self.reference
            if self.of_number is not None:
                grouped = self.of_number.to_toml(base)
                table |= {grouped: True} if isinstance(grouped, str) else grouped
        if self.path is not None:
            table["file"] = os.path.relpath(self.path, base) if base else str(self.path)
        elif self.widths or self.drops or self.units:
            table[self.kind] = list(self.widths or self.drops or self.units)
        elif self.variant:
            table[self.kind] = self.variant
        if self.lower is not None:
            table["from"] = self.lower
        if self.upper is not None:
            table["to"] = self.upper
        if self.missing != "refuse":
            table["missing"] = self.missing
        if table == {self.kind: True} and self.kind in ("auto", "flat", "ranges", *TEMPLATES, MEAN):
            return self.kind
        if len(table) == 1 and self.path is not None and _reads_as_file(table["file"]):
            return str(table["file"])
        return table


def _unknown_hierarchy_error(text: str) -> JobError:
    builders = [kind for kind in KINDS if kind != "file"]
    error = unknown("hierarchy", text.partition(":")[0], builders)
    error.remedy += f" Or state a file ending in {', '.join(FILE_ENDINGS)}."
    return error


def _reads_as_file(text: str) -> bool:
    try:
        return HierarchySpec.parse(text).path == Path(text)
    except JobError:
        return False


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def _is_increasing(numbers: tuple[Any, ...], at_least: int) -> bool:
    if not all(type(number) is int and number >= at_least for number in numbers):
        return False
    return all(low < high for low, high in pairwise(numbers))


def _parse_number(word: str, text: str) -> Number:
    try:
        return int(word)
    except ValueError:
        pass
    try:
        return float(word)
    except ValueError:
        raise JobError(
            f"hierarchy {text!r}: {word!r} is not a number", remedy="Write  intervals:5,10,20."
        ) from None


def _parse_whole(word: str, text: str) -> int:
    if not word.isdecimal():
        raise JobError(f"hierarchy {text!r}: {word!r} is not a whole number", remedy="prefix:1,3")
    return int(word)


def _format_number(number: Number | Fraction) -> str:
    return str(int(number)) if number == int(number) else str(float(number))

"""Ages and days derived from dates before a column is encoded.

An age is the number of completed years from a date of birth to a reference; a relative date is the
number of days since a reference, negative before it. The reference is a day, or the column of
another date in the same row. After that the column holds whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.codes import factorize
from incrowd.errors import DataError
from incrowd.hierarchies.specs import AGE, HierarchySpec
from incrowd.tables.columns.formats import is_text
from incrowd.tables.columns.types import labels_of, parse_dates, to_mask

if TYPE_CHECKING:
    from incrowd.hierarchies.tree import Hierarchy
    from incrowd.tables.table import Table

_SHOWN = 5  # rows that are named
_NO_DAY = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Counts:
    """How many cells of a derived column are not what they should be, and some of their rows."""

    n_odd: int = 0
    n_odd_references: int = 0
    n_negative: int = 0
    n_without_reference: int = 0
    rows: tuple[int, ...] = ()

    @property
    def numbers(self) -> list[int]:
        """The four counts, as ``of_numbers`` takes them."""
        return [self.n_odd, self.n_odd_references, self.n_negative, self.n_without_reference]

    @classmethod
    def of_numbers(cls, numbers: Iterable[int]) -> Counts:
        """Return counts that were sent as numbers."""
        n_odd, n_odd_references, n_negative, n_without_reference = numbers
        return cls(n_odd, n_odd_references, n_negative, n_without_reference)


def derived_specs(specs: Mapping[str, HierarchySpec]) -> dict[str, HierarchySpec]:
    """Return the columns that become ages or days."""
    return {name: spec for name, spec in specs.items() if spec.is_derived}


def reference_columns(specs: Mapping[str, HierarchySpec]) -> tuple[str, ...]:
    """Return the columns that ages and days are counted to or from, each once."""
    named = [spec.reference for spec in specs.values() if spec.is_derived]
    is_column = [spec.reference_date is None for spec in specs.values() if spec.is_derived]
    return tuple(dict.fromkeys(n for n, is_one in zip(named, is_column, strict=True) if is_one))


def derive_columns(
    table: Table, specs: Mapping[str, HierarchySpec]
) -> tuple[Table, dict[str, HierarchySpec], list[str]]:
    """Return the table with ages and days in place of dates, what groups them, and notes.

    Every reference is read as it was before. Raises where a cell or a reference is not a date and
    where an age is negative, unless the column's missing is ``suppress``: then such a cell is left
    as it is, or missing. A missing date stays missing, and one without a reference becomes so.
    """
    derived = derived_specs(specs)
    if not derived:
        return table, dict(specs), []
    table.require(list(derived), "hierarchies")
    table.require(list(reference_columns(derived)), "reference of a date")
    frame, counts = derive_frame(table.frame, derived, table.missing_values)
    notes = [
        said
        for name, spec in derived.items()
        for said in judge_derived(table.name, name, spec, counts[name])
    ]
    readings = {name: way for name, way in table.readings.items() if name not in derived}
    grouped = {name: spec.number_spec if spec.is_derived else spec for name, spec in specs.items()}
    return replace(table, frame=frame, readings=readings), grouped, notes


def name_derivations(
    hierarchies: Iterable[Hierarchy], specs: Mapping[str, HierarchySpec]
) -> tuple[Hierarchy, ...]:
    """Return hierarchies of which the origin states the derivation that came before, too."""
    named = []
    for tree in hierarchies:
        spec = specs.get(tree.name)
        if spec is not None and spec.is_derived:
            tree = replace(tree, origin=f"{spec.kind}:{spec.reference},{tree.origin}")
        named.append(tree)
    return tuple(named)


def derive_frame(
    frame: pa.Table, derived: Mapping[str, HierarchySpec], tokens: tuple[str, ...]
) -> tuple[pa.Table, dict[str, Counts]]:
    """Return rows with ages and days in place of dates, and what does not fit in each column."""
    result, counts = frame, {}
    for name, spec in derived.items():
        column, counts[name] = _derive(frame, name, spec, tokens)
        result = result.set_column(frame.column_names.index(name), name, column)
    return result, counts


def derived_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that a column has after it was derived: text stays text."""
    return pa.string() if is_text(kind) else pa.int64()


def judge_derived(where: str, column: str, spec: HierarchySpec, counts: Counts) -> list[str]:
    """Raise where a column's cells cannot be derived; else return notes on what it holds now."""
    at, is_strict = f"{where}, column {column!r}", spec.missing == "refuse"
    rows = ", ".join(str(row) for row in counts.rows)
    mend = "Correct them, or name tokens of missing cells with --missing-values."
    problems = (
        (counts.n_odd, f"{counts.n_odd:,} cells are not dates", mend),
        (
            counts.n_odd_references,
            f"{counts.n_odd_references:,} cells of the reference {spec.reference!r} are not dates",
            mend,
        ),
        (
            counts.n_negative,
            f"{counts.n_negative:,} dates lie after the reference, so that ages would be negative",
            "Correct them, or state a later reference.",
        ),
    )
    for n_cells, what, remedy in problems:
        if n_cells and is_strict:
            shown = f" (row {rows}{', …' if n_cells > _SHOWN else ''})" if rows else ""
            raise DataError(
                f"{at}: {what}{shown}",
                remedy=f"{remedy}\nOr group the others without them:  "
                f"--hierarchy {column}={spec.text()},missing=suppress.",
            )
    said = f"column {column!r}: {spec.derivation}"
    n_missing = counts.n_without_reference + (0 if is_strict else counts.n_negative)
    return [f"{said} ({n_missing:,} cells without one are missing)" if n_missing else said]


def _derive(
    frame: pa.Table, name: str, spec: HierarchySpec, tokens: tuple[str, ...]
) -> tuple[pa.ChunkedArray, Counts]:
    column = frame.column(name)
    day, is_missing = _days_of(column, tokens)
    reference = np.full(len(day), _NO_DAY, dtype=np.int64)
    lacks_reference = np.zeros(len(day), dtype=np.bool_)
    if spec.reference_date is not None:
        reference[:] = np.datetime64(spec.reference_date, "D").astype(np.int64)
    else:
        reference, lacks_reference = _days_of(frame.column(spec.reference), tokens)
    is_odd = (day == _NO_DAY) & ~is_missing
    is_there = ~is_missing & ~is_odd
    is_odd_reference = is_there & (reference == _NO_DAY) & ~lacks_reference
    has_both = is_there & (reference != _NO_DAY)
    numbers = np.zeros(len(day), dtype=np.int64)
    count = _completed_years if spec.kind == AGE else _days_since
    numbers[has_both] = count(day[has_both], reference[has_both])
    is_negative = has_both & (numbers < 0) if spec.kind == AGE else np.zeros_like(has_both)
    is_shown = has_both & ~is_negative
    faulty = is_odd if is_odd.any() else is_odd_reference if is_odd_reference.any() else is_negative
    counts = Counts(
        int(is_odd.sum()),
        int(is_odd_reference.sum()),
        int(is_negative.sum()),
        int((is_there & lacks_reference).sum()),
        tuple((np.flatnonzero(faulty)[:_SHOWN] + 1).tolist()),
    )
    shown = pa.array(numbers, mask=~is_shown)
    if not is_text(column.type):
        return pa.chunked_array([shown]), counts
    # what is missing, or not a date, stays as it is written
    texts = labels_of(column).cast(pa.string())
    is_kept = pa.array(is_missing | is_odd)
    cells = pc.if_else(is_kept, texts, shown.cast(pa.string()))
    return pa.chunked_array([cells]), counts


def _days_of(
    column: pa.ChunkedArray, tokens: tuple[str, ...]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the days since 1970 of a column's cells, and which cells are missing."""
    cells = factorize(column)
    labels = labels_of(cells.values)
    missing = pa.array(["", *tokens], labels.type)
    is_missing = np.append(to_mask(pc.is_in(labels, missing)) | to_mask(pc.is_null(labels)), True)
    first = np.datetime64("1970-01-01", "D").item().toordinal()
    days = [
        _NO_DAY if day is None else day.toordinal() - first
        for day in parse_dates(labels.to_pylist())
    ]
    day_of_code = np.array([*days, _NO_DAY], dtype=np.int64)
    day_of_code[is_missing] = _NO_DAY
    return day_of_code[cells.codes], is_missing[cells.codes]


def _days_since(day: NDArray[np.int64], reference: NDArray[np.int64]) -> NDArray[np.int64]:
    return day - reference


def _completed_years(birth: NDArray[np.int64], reference: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ages; who was born on 29 February completes a year on 1 March of common years."""
    months_and_days = []
    for days in (birth, reference):
        stamps = days.astype("datetime64[D]")
        months = stamps.astype("datetime64[M]")
        day_of_month = (stamps - months.astype("datetime64[D]")).astype(np.int64)
        months_and_days.append((months.astype(np.int64), day_of_month))
    (birth_month, birth_day), (month, day) = months_and_days
    passed: NDArray[np.int64] = month - birth_month - (day < birth_day)
    return passed // 12

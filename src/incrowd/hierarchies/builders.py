"""Build the hierarchy of a column from its values, or read it from a file.

Groups are built on grids that are fixed beforehand (multiples of a width, calendar months, leading
characters), never on the least or largest value of the data: a range fitted to the data would put a
real person on each of its edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.codes import count_values, factorize
from incrowd.errors import DataError, HierarchyError
from incrowd.hierarchies.doctor import examine, pluralize, refuse_errors
from incrowd.hierarchies.files import hierarchy_from_paths, read_paths
from incrowd.hierarchies.groupings import (
    Levels,
    build_ranges,
    find_grid,
    group_by_calendar,
    group_by_frequency,
    group_by_interval,
    group_by_prefix,
)
from incrowd.hierarchies.means import choose_mean_unit
from incrowd.hierarchies.proposals import choose_hierarchy
from incrowd.hierarchies.specs import DEFAULT_DATE_UNITS, GRID_KINDS, MEAN, HierarchySpec
from incrowd.hierarchies.templates.build import build_from_template, settle_variant
from incrowd.hierarchies.templates.table import TEMPLATES
from incrowd.hierarchies.tree import STAR, Hierarchy
from incrowd.tables.columns.types import (
    ColumnKind,
    kind_of_values,
    labels_of,
    parse_days,
    parse_numbers,
)
from incrowd.tables.table import Table

MOST_CODE_LEVELS = 64
NUMERIC_BUILDERS = (
    "intervals",
    "ranges",
    "dates",
    "flat",
)  # what groups, or at least orders, by numbers or days


WHOLE_KINDS = ("integer", "code")  # kinds of columns whose numbers are all whole


def hierarchy_for(
    column: str, table: Table, spec: HierarchySpec | None = None, known: Sequence[str] = ()
) -> tuple[Hierarchy, list[str]]:
    """Return the column's hierarchy, with a leaf for every cell, and notes on how it was built.

    It also has a leaf for every ``known`` value, whether a cell holds it or not.

    Without a spec one is built (``auto``). A missing cell is a leaf of its own directly under the
    root, unless a file says otherwise: the empty cell's label is ``""``, a token's is the token.
    Raises where a value has no leaf, is literally ``*``, or has the label of a group.
    """
    table.require([column], "hierarchies")
    return hierarchy_of_values(column, ColumnValues.of(column, table).with_known(known), spec)


def hierarchy_of_values(
    column: str, values: ColumnValues, spec: HierarchySpec | None = None
) -> tuple[Hierarchy, list[str]]:
    """Like ``hierarchy_for``, of a column whose values were counted elsewhere."""
    why = "" if spec else "no hierarchy was stated; "
    spec = spec or HierarchySpec()
    if spec.kind == MEAN:
        _refuse_missing(column, values)
    if spec.path is not None:
        tree, notes = _read_covering(spec.path, spec.missing == "suppress", column, values)
    elif not values.labels:
        tree = Hierarchy.from_groups(column, values.missing or [""], [], origin="flat")
        return tree, [f"column {column!r}: every cell is missing"]
    else:
        tree = build_hierarchy(spec, column, values.labels, values.kind, values.counts)
        notes = []
        if spec.kind == "auto":
            notes.append(f"column {column!r}: {why}built {tree.origin}")
    outside = [label for label in values.missing if label not in tree.leaf_of_value]
    if outside:
        tree = tree.with_leaves(outside)
        notes.append(
            f"column {column!r}: {values.n_missing:,} missing cells are a value of their own, "
            "directly under the root" + (" (an empty cell stays empty)" if "" in outside else "")
        )
        _refuse_shared_labels(tree)
    return tree, notes


@dataclass(frozen=True)
class ColumnValues:
    """The distinct values of a column that are not missing, sorted, and what is missing."""

    labels: list[str]
    counts: NDArray[np.int64]
    kind: ColumnKind
    missing: list[str]
    n_missing: int

    @classmethod
    def of(cls, column: str, table: Table) -> ColumnValues:
        """Count a column's values; raise where one is literally ``*``."""
        cells = table.frame.column(column)
        values, counts = count_values(cells)
        where = f"{table.name}, column {column!r}"
        kind = kind_of_values(values, counts, table.missing_values, cells)
        return cls.of_counts(where, values, counts, table.missing_values, kind)

    @classmethod
    def of_counts(
        cls,
        where: str,
        cells: pa.Array,
        n_of_cell: NDArray[np.int64],
        missing_values: tuple[str, ...],
        kind: ColumnKind | None = None,
    ) -> ColumnValues:
        """Like ``of``, from a column's distinct cells and the number of each."""
        distinct = factorize(
            pc.fill_null(labels_of(cells), "")
        )  # several values may have one label
        n_of_label = np.bincount(
            distinct.codes, weights=n_of_cell, minlength=distinct.n_values
        ).astype(np.int64)
        order = pc.array_sort_indices(distinct.values)
        values = distinct.values.take(order)
        counts = n_of_label[order.to_numpy()]
        starred = pc.index(values, STAR).as_py()
        if starred >= 0:
            raise DataError(
                f"{where}: {counts[starred]:,} cells are already '*', "
                "which is how a release writes a suppressed cell",
                remedy="Replace them in the data by another token, such as 'unknown'.",
            )
        tokens = pa.array(["", *missing_values], values.type)
        is_missing = pc.is_in(values, tokens).to_numpy(zero_copy_only=False)
        return cls(
            values.filter(pa.array(~is_missing)).to_pylist(),
            counts[~is_missing],
            kind or kind_of_values(cells, n_of_cell, missing_values),
            values.filter(pa.array(is_missing)).to_pylist(),
            int(counts[is_missing].sum()),
        )

    def with_known(self, known: Sequence[str]) -> ColumnValues:
        """Return the values with others that are known and that no cell holds."""
        held = {*self.labels, *self.missing}
        labels = [*self.labels, *(label for label in dict.fromkeys(known) if label not in held)]
        if len(labels) == len(self.labels):
            return self
        counts = np.append(self.counts, np.zeros(len(labels) - len(self.labels), np.int64))
        kind = self.kind
        if not kind.dominant_kind:
            kind = kind_of_values(pa.array(labels, pa.string()), np.maximum(counts, 1))
        order = sorted(range(len(labels)), key=labels.__getitem__)
        return replace(
            self, labels=[labels[place] for place in order], counts=counts[order], kind=kind
        )


def _read_covering(
    path: Path, is_lenient: bool, column: str, values: ColumnValues
) -> tuple[Hierarchy, list[str]]:
    """Read a hierarchy that covers the values, or puts those without a leaf under its root."""
    content, where = read_paths(path), path.name
    problems = examine(
        content.paths, column, values.labels, where=where, is_ladder=content.is_ladder
    )
    refuse_errors(
        [found for found in problems if not (is_lenient and found.name == "missing-value")]
    )
    notes = [found.what for found in problems if found.severity == "warning"]
    tree = hierarchy_from_paths(content, column, origin=where)
    absent = [label for label in values.labels if label not in tree.leaf_of_value]
    if absent:
        notes.append(
            f"column {column!r}: {pluralize(absent, 'value')} without a leaf in {where}, put "
            "directly under the root"
        )
    return tree.with_leaves(absent), notes


# ── building ────────────────────────────────────────────────────────────────────────────────


def build_hierarchy(
    spec: HierarchySpec,
    column: str,
    labels: Sequence[str],
    kind: ColumnKind,
    counts: NDArray[np.int64] | None = None,
) -> Hierarchy:
    """Build a hierarchy of distinct values that are not missing.

    ``counts`` says how many rows hold each, which ``auto`` groups categories by. The leaves are in
    the order of their numbers or days, or else of their labels, whatever order they came in.
    """
    if counts is None:
        counts = np.ones(len(labels), dtype=np.int64)
    if spec.kind == MEAN:
        return _build_for_means(spec, column, labels, kind, counts)
    order = sorted(range(len(labels)), key=labels.__getitem__)
    labels, counts = [labels[place] for place in order], counts[order]
    numbers = _parse_numbers_or_days(spec, labels, kind)
    plan = _settle_plan(spec, column, labels, kind)
    if plan.kind in TEMPLATES:
        tree = build_from_template(
            plan.kind,
            plan.variant,
            column,
            labels,
            counts,
            is_lenient=plan.missing == "suppress",
            origin=plan.text(),
        )
        _refuse_shared_labels(tree)
        return tree
    outside: list[str] = []
    noun = "date" if plan.kind == "dates" else "number"
    if plan.kind not in NUMERIC_BUILDERS:
        numbers = None
    if numbers is not None:
        has_none = np.isnan(numbers)
        is_strict = plan.missing == "refuse" and plan.kind != "flat"
        if has_none.all() or (is_strict and has_none.any()):
            raise _odd_values_error(noun, column, int(counts[has_none].sum()), kind)
        outside = [labels[place] for place in np.flatnonzero(has_none)]
        inside = np.argsort(numbers, kind="stable")[: len(labels) - len(outside)]
        labels, counts, numbers = [labels[p] for p in inside], counts[inside], numbers[inside]
    if plan.kind == "ranges" and numbers is not None and numbers[0] < numbers[-1]:
        tree = _build_ranges(plan, column, labels, numbers, kind, counts).with_leaves(outside)
        _refuse_shared_labels(tree)
        return tree
    root = (np.zeros(len(labels), dtype=np.int64), [STAR])  # also above a group that holds all
    tree = Hierarchy.from_groups(
        column,
        labels,
        [*_group_levels(plan, column, labels, numbers, kind, counts), root],
        values=numbers,
        origin=plan.text() if plan.kind != "auto" else "groups by frequency",
    )
    tree = tree.with_leaves(outside)
    _refuse_shared_labels(tree)
    return tree


def _parse_numbers_or_days(
    spec: HierarchySpec, labels: list[str], kind: ColumnKind
) -> NDArray[np.float64] | None:
    """Return the number or day behind each label, NaN for none; None where names are grouped."""
    what = kind.dominant_kind or kind.kind
    asks_nothing = spec.kind in ("auto", "flat")
    if spec.kind == "dates" or (asks_nothing and what == "date"):
        return parse_days(labels)
    if spec.kind in GRID_KINDS or (asks_nothing and what in ("integer", "decimal")):
        return parse_numbers(labels)
    return None


def _settle_plan(
    spec: HierarchySpec, column: str, labels: list[str], kind: ColumnKind
) -> HierarchySpec:
    """Return what is built: ``auto`` by what suits the column, a template with its variant.

    ``auto`` again is groups by frequency.
    """
    if spec.kind == "auto":
        plan = choose_hierarchy(column, labels, kind, spec.missing)
        may_be_odd = spec.missing == "suppress" or plan.kind in ("flat", *TEMPLATES)
        if kind.dominant_kind and not may_be_odd:
            is_named = kind.dominant_kind in ("date", "code")
            noun = kind.dominant_kind if is_named else "number"
            raise _odd_values_error(noun, column, 0, kind)
        return plan
    if spec.kind in TEMPLATES:
        return replace(spec, variant=settle_variant(spec.kind, spec.variant, column, labels))
    return spec


def _build_ranges(
    plan: HierarchySpec,
    column: str,
    labels: list[str],
    numbers: NDArray[np.float64],
    kind: ColumnKind,
    counts: NDArray[np.int64],
) -> Hierarchy:
    """Return the ranges of numbers that are not all equal; the origin states the whole grid."""
    grid = find_grid(
        column,
        numbers,
        counts,
        is_whole=(kind.dominant_kind or kind.kind) in WHOLE_KINDS,
        step=plan.widths[0] if plan.widths else None,
        lower=plan.lower,
        upper=plan.upper,
    )
    step, lower, upper = (
        int(number) if number.denominator == 1 else float(number)
        for number in (grid.step, grid.first, grid.last)
    )
    # a grid of one edge is stated by its lower end
    found = replace(plan, widths=(step,), lower=lower, upper=upper if upper > lower else None)
    return build_ranges(column, labels, numbers, grid, found.text())


def _build_for_means(
    spec: HierarchySpec,
    column: str,
    labels: Sequence[str],
    kind: ColumnKind,
    counts: NDArray[np.int64],
) -> Hierarchy:
    """Return the ranges that means stand for, with what means are rounded to."""
    is_none = np.isnan(parse_numbers(labels))
    if is_none.any():
        raise DataError(
            f"column {column!r}: {pluralize(range(int(counts[is_none].sum())), 'row')} without a "
            "number, and only numbers have a mean",
            remedy="Leave the column or these rows out, or use another method: --method cluster.",
            examples=[labels[place] for place in np.flatnonzero(is_none)[:3]],
        )
    tree = build_hierarchy(HierarchySpec("ranges"), column, labels, kind, counts)
    grid = HierarchySpec.parse(tree.origin).widths
    unit = choose_mean_unit(
        column,
        spec.widths[0] if spec.widths else None,
        Fraction(str(grid[0])) if grid else None,
        tree,
        kind.kind in WHOLE_KINDS,
    )
    size = int(unit) if unit.denominator == 1 else float(unit)
    return replace(tree, mean_unit=unit, origin=replace(spec, widths=(size,)).text())


def _refuse_missing(column: str, values: ColumnValues) -> None:
    if values.n_missing or not values.labels:
        raise DataError(
            f"column {column!r}: {values.n_missing:,} cells are missing, and only numbers have a "
            "mean",
            remedy="Leave the column or these rows out, or use another method: --method cluster.",
        )


def _group_levels(
    plan: HierarchySpec,
    column: str,
    labels: list[str],
    numbers: NDArray[np.float64] | None,
    kind: ColumnKind,
    counts: NDArray[np.int64],
) -> Levels:
    if plan.kind in ("flat", "ranges"):  # ranges of a single number are none
        return []
    if plan.kind == "intervals" and numbers is not None:
        is_whole = (kind.dominant_kind or kind.kind) in WHOLE_KINDS
        return group_by_interval(
            column, numbers, plan.widths, lower=plan.lower, upper=plan.upper, is_whole=is_whole
        )
    if plan.kind == "dates" and numbers is not None:
        return group_by_calendar(labels, numbers, plan.units or DEFAULT_DATE_UNITS)
    if plan.kind == "prefix":
        longest = max(len(label) for label in labels)
        if longest > MOST_CODE_LEVELS and not plan.drops:
            raise HierarchyError(
                f"column {column!r}: its values are up to {longest} characters long, too long for "
                "a level per character",
                remedy="State how many characters each level masks:  prefix:10,20.",
            )
        return group_by_prefix(labels, plan.drops or range(1, longest))
    return group_by_frequency(labels, counts)


def _odd_values_error(noun: str, column: str, n_rows: int, kind: ColumnKind) -> DataError:
    is_named = kind.dominant_kind in {"number": ("integer", "decimal", "code")}.get(noun, (noun,))
    n_odd = kind.n_odd if is_named else n_rows
    shown = ""
    if is_named:
        rows = ", ".join(str(row) for row in kind.odd_rows)
        shown = f" (row {rows}{', …' if n_odd > len(kind.odd_rows) else ''})"
    verb = "holds" if n_odd == 1 else "hold"
    stated = "prefix" if noun == "code" else "auto,missing=suppress"
    return DataError(
        f"column {column!r}: {pluralize(range(n_odd), 'row')} {verb} no {noun}{shown}",
        remedy="If they mean missing, say so:  --missing-values '?,NA'.\n"
        f"Or group nothing:  --hierarchy {column}=flat.  Or take them as they are:  "
        f"--hierarchy {column}={stated}"
        + (".  " if noun == "code" else "  (puts them directly under the root)."),
        examples=kind.odd_examples if is_named else (),
    )


def _refuse_shared_labels(tree: Hierarchy) -> None:
    groups = set(tree.all_labels[tree.n_leaves :])
    shared = [label for label in tree.labels[: tree.n_leaves] if label in groups]
    if shared or len(groups) < tree.n_all_nodes - tree.n_leaves:
        raise HierarchyError(
            f"column {tree.name!r}: {pluralize(shared, 'value')} with the label of a group, so "
            "that a released cell could mean either",
            remedy="Give these values another name in the data, or the groups in the hierarchy.",
            examples=shared,
        )

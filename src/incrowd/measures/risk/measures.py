"""Measures of re-identification risk: group sizes, and candidates in a population."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.codes import factorize
from incrowd.encoding.encode import encode_labels, nodes_of
from incrowd.encoding.fitting import (
    FittingColumn,
    count_fitted,
    fit_by_hierarchy,
    fit_by_text,
    number_distinct_rows,
)
from incrowd.errors import InputError
from incrowd.hierarchies.tree import Hierarchy
from incrowd.tables.table import Table


@dataclass(frozen=True, eq=False)
class Cells:
    """A table's columns as codes, ``codes[column][row]`` below ``n_codes[column]``.

    ``person_of_row`` numbers people where one may have several rows.
    """

    names: tuple[str, ...]
    codes: tuple[NDArray[np.int32], ...]
    labels: tuple[list[str], ...]
    n_rows: int
    person_of_row: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, frame: pa.Table, names: tuple[str, ...], person: pa.ChunkedArray | None) -> Cells:
        """Number the cells; a missing cell is a value, shown as the empty text."""
        codes, labels = [], []
        for name in names:
            cells = encode_labels(frame.column(name))
            codes.append(cells.codes + np.int32(1))
            labels.append(["", *cells.labels])
        people = None
        if person is not None:
            people = encode_labels(person).codes.astype(np.int64) + 1
        return cls(names, tuple(codes), tuple(labels), frame.num_rows, people)

    def groups(self, without: int | None = None) -> NDArray[np.int64]:
        """Number the groups; ``without`` is a column that is taken to show ``*`` everywhere."""
        columns = [
            (codes, len(self.labels[place]))
            for place, codes in enumerate(self.codes)
            if place != without
        ]
        return number_distinct_rows(columns, self.n_rows)

    def sizes(self, group_of_row: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many rows, or people, each group has."""
        if self.person_of_row is None:
            return np.bincount(group_of_row).astype(np.int64)
        n_people = int(self.person_of_row.max(initial=0)) + 1
        pairs = np.unique(group_of_row * n_people + self.person_of_row)
        return np.bincount(pairs // n_people).astype(np.int64)

    @property
    def counts(self) -> str:
        """What groups count."""
        return "rows" if self.person_of_row is None else "people"


def risk_of_rows(cells: Cells, without: int | None = None) -> NDArray[np.float64]:
    """Return every row's risk: one divided by the size of its group."""
    group_of_row = cells.groups(without)
    return 1.0 / cells.sizes(group_of_row)[group_of_row]


def summarize_risk(risk: NDArray[np.float64], threshold: float) -> dict[str, Any]:
    """Return the highest, mean and lowest risk, and how many rows are above the threshold."""
    if not len(risk):
        return dict.fromkeys(("highest", "mean", "lowest", "share_above"), 0.0) | {"n_above": 0}
    n_above = int((risk > threshold).sum())
    return {
        "highest": float(risk.max()),
        "mean": float(risk.mean()),
        "lowest": float(risk.min()),
        "share_above": n_above / len(risk),
        "n_above": n_above,
    }


def column_contributions(cells: Cells, threshold: float) -> list[dict[str, Any]]:
    """Return how far the measures fall if one column shows ``*`` everywhere, the largest first.

    Columns are ranked by the fall of the mean risk, then of the share above the threshold.
    """
    whole = summarize_risk(risk_of_rows(cells), threshold)
    found = []
    for place, name in enumerate(cells.names):
        left = summarize_risk(risk_of_rows(cells, place), threshold)
        found.append(
            {
                "column": name,
                "mean_without": left["mean"],
                "highest_without": left["highest"],
                "share_above_without": left["share_above"],
                "mean_falls_by": whole["mean"] - left["mean"],
                "share_above_falls_by": whole["share_above"] - left["share_above"],
            }
        )
    return sorted(found, key=lambda item: (-item["mean_falls_by"], -item["share_above_falls_by"]))


def value_contributions(cells: Cells, threshold: float, most: int) -> list[dict[str, Any]]:
    """Return the values that rows above the threshold have, those of the most such rows first.

    ``share_of_at_risk`` is which share of the rows at risk has the value, ``share_at_risk`` which
    share of the rows with the value is at risk.
    """
    is_at_risk = risk_of_rows(cells) > threshold
    n_at_risk = int(is_at_risk.sum())
    if not n_at_risk:
        return []
    found = []
    for name, codes, labels in zip(cells.names, cells.codes, cells.labels, strict=True):
        n_rows = np.bincount(codes, minlength=len(labels))
        n_of_value = np.bincount(codes[is_at_risk], minlength=len(labels))
        for code in np.argsort(-n_of_value, kind="stable")[:most].tolist():
            if n_of_value[code]:
                found.append(
                    {
                        "column": name,
                        "value": labels[code],
                        "n_rows": int(n_rows[code]),
                        "n_at_risk": int(n_of_value[code]),
                        "share_of_at_risk": int(n_of_value[code]) / n_at_risk,
                        "share_at_risk": int(n_of_value[code]) / int(n_rows[code]),
                    }
                )
    found.sort(key=lambda item: (-item["n_at_risk"], -item["share_at_risk"]))
    return found[:most]


# Risk against a population: how many of its people each released row could be.


@dataclass(frozen=True, eq=False)
class PopulationMatches:
    """How many rows of the population, one row a person, each released row could be.

    ``columns`` are those that both have; ``n_unplaced`` counts the population's cells that a
    hierarchy does not place.
    """

    n_fitting: NDArray[np.int64]
    columns: tuple[str, ...]
    n_population: int
    n_unplaced: int = 0
    by_text: tuple[str, ...] = field(default=())


def match_population(
    shown: pa.Table,
    quasi: tuple[str, ...],
    population: Table,
    hierarchies: Mapping[str, Hierarchy],
    person: str | None = None,
) -> PopulationMatches:
    """Count the population's rows that each shown row fits, in the columns that both have.

    A cell fits a value that is the same or lies under it; ``*`` fits all; a column without a
    hierarchy is compared by its texts. A number that its hierarchy does not have is fitted by
    ranges over both of its neighbours: never too many, so that the risk is never too low.
    """
    columns = tuple(name for name in quasi if name in population.columns)
    if not columns:
        raise InputError(
            f"{population.name}: the population has none of the quasi-identifying columns",
            remedy=f"Give a table with some of the columns {', '.join(quasi)}.",
        )
    means = [
        name for name in columns if name in hierarchies and hierarchies[name].mean_unit is not None
    ]
    if means:
        raise InputError(
            f"columns {', '.join(means)} show means, which fit no single value",
            remedy="Leave --population out: against it, only values, groups and '*' are counted.",
        )
    _require_distinct_people(population, person)
    fitting: list[FittingColumn] = []
    n_unplaced = 0
    for name in columns:
        known = population.frame.column(name)
        if name in hierarchies:
            low, high, unplaced = _locate_cells(known, hierarchies[name])
            n_unplaced += unplaced
            nodes = nodes_of(shown.column(name), hierarchies[name], "the release")
            fitting.append(fit_by_hierarchy(low, nodes, hierarchies[name], high))
        else:
            fitting.append(fit_by_text(known, shown.column(name)))
    return PopulationMatches(
        count_fitted(fitting),
        columns,
        population.n_rows,
        n_unplaced,
        tuple(name for name in columns if name not in hierarchies),
    )


def _require_distinct_people(population: Table, person: str | None) -> None:
    if person is None or person not in population.columns:
        return
    n_people = factorize(population.frame.column(person)).n_values
    if n_people < population.n_rows:
        raise InputError(
            f"{population.name}: column {person!r} has {n_people} people for {population.n_rows} "
            "rows",
            remedy="Give a population with one row for each of its people.",
        )


def _locate_cells(
    column: pa.ChunkedArray, hierarchy: Hierarchy
) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """Return the leaves between which each cell lies, the same twice where it is a leaf."""
    cells = encode_labels(column)
    low = np.full(len(cells.labels) + 1, -1, dtype=np.int32)
    high = low.copy()
    numbers = hierarchy.values
    order = np.zeros(0, dtype=np.int64)
    if numbers is not None:
        order = np.argsort(np.where(np.isnan(numbers), np.inf, numbers), kind="stable")
        order = order[~np.isnan(numbers[order])]
    for code, label in enumerate([*cells.labels, ""]):
        leaf = hierarchy.leaf_of_value.get(label, -1)
        low[code] = high[code] = leaf
        if leaf < 0 and numbers is not None and len(order):
            low[code], high[code] = _neighbours(label, numbers, order)
    unplaced = low[cells.codes] < 0
    return low[cells.codes], high[cells.codes], int(unplaced.sum())


def _neighbours(
    label: str, numbers: NDArray[np.float64], order: NDArray[np.int64]
) -> tuple[int, int]:
    try:
        number = float(label)
    except ValueError:
        return -1, -1
    place = int(np.searchsorted(numbers[order], number))
    if not 0 < place < len(order):
        return -1, -1
    is_there = numbers[order[place]] == number
    below = order[place] if is_there else order[place - 1]
    return int(below), int(order[place])

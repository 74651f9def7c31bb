"""Risk against a population: how many of its people each released row could be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.codes import numbered
from incrowd.data.encoding import coded, nodes_of
from incrowd.data.fitting import FittingColumn, by_hierarchy, by_text, count_fitted
from incrowd.data.hierarchy import Hierarchy
from incrowd.data.table import Table
from incrowd.errors import InputError


@dataclass(frozen=True, eq=False)
class Against:
    """How many rows of the population, one row a person, each released row could be.

    ``columns`` are those that both have; ``n_unplaced`` counts the population's cells that a
    hierarchy does not place.
    """

    n_fitting: NDArray[np.int64]
    columns: tuple[str, ...]
    n_population: int
    n_unplaced: int = 0
    by_text: tuple[str, ...] = field(default=())


def against_population(
    shown: pa.Table,
    quasi: tuple[str, ...],
    population: Table,
    hierarchies: Mapping[str, Hierarchy],
    person: str | None = None,
) -> Against:
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
    _refuse_repeated_people(population, person)
    fitting: list[FittingColumn] = []
    n_unplaced = 0
    for name in columns:
        known = population.frame.column(name)
        if name in hierarchies:
            low, high, unplaced = _placed(known, hierarchies[name])
            n_unplaced += unplaced
            nodes = nodes_of(shown.column(name), hierarchies[name], "the release")
            fitting.append(by_hierarchy(low, nodes, hierarchies[name], high))
        else:
            fitting.append(by_text(known, shown.column(name)))
    return Against(
        count_fitted(fitting),
        columns,
        population.n_rows,
        n_unplaced,
        tuple(name for name in columns if name not in hierarchies),
    )


def _refuse_repeated_people(population: Table, person: str | None) -> None:
    if person is None or person not in population.columns:
        return
    n_people = numbered(population.frame.column(person)).n_values
    if n_people < population.n_rows:
        raise InputError(
            f"{population.name}: column {person!r} has {n_people} people for {population.n_rows} "
            "rows",
            remedy="Give a population with one row for each of its people.",
        )


def _placed(
    column: pa.ChunkedArray, hierarchy: Hierarchy
) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """Return the leaves between which each cell lies, the same twice where it is a leaf."""
    cells = coded(column)
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

"""Columns that look like identifiers of people, and the distinct values that tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.codes import count_values
from incrowd.tables.columns.types import labels_of, to_mask
from incrowd.tables.names import is_about_people, meaning_of
from incrowd.tables.table import Table


@dataclass(frozen=True, eq=False)
class DistinctValues:
    """The distinct values of a column that are not missing, and how many cells hold each."""

    labels: pa.Array
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, table: Table, name: str) -> DistinctValues:
        """Count the values of a column."""
        column = table.frame.column(name)
        is_dictionary = pa.types.is_dictionary(column.type)  # of text: its values are labels
        labels, counts = count_values(column if is_dictionary else labels_of(column))
        missing = pa.array(["", *table.missing_values], labels.type)
        kept = pc.and_(pc.is_valid(labels), pc.invert(pc.is_in(labels, missing)))
        return cls(labels.filter(kept), counts[to_mask(kept)])

    @property
    def n_cells(self) -> int:
        """How many cells are not missing."""
        return int(self.counts.sum())

    def share_matching(self, pattern: str) -> float:
        """Return the share of distinct values that match."""
        if not len(self.labels):
            return 0.0
        trimmed = pc.utf8_trim_whitespace(self.labels)
        return float(pc.mean(pc.match_substring_regex(trimmed, pattern)).as_py())


def repeating_identifiers(table: Table) -> list[str]:
    """Return the columns that look like identifiers of people and have repeated values."""
    found = []
    for name in table.columns:
        meaning = meaning_of(name)
        if meaning is None or not meaning.is_person_key:
            continue
        column = table.frame.column(name)
        if len(column.unique()) == len(column):  # the usual case, without counting
            continue
        values = DistinctValues.of(table, name)
        if is_repeating_key(name, len(values.labels), values.n_cells):
            found.append(name)
    return found


def is_repeating_key(name: str, n_values: int, n_cells: int) -> bool:
    """Return whether so many values in so many cells may be people with several rows each."""
    # few values are kinds of something, not people, unless the name speaks of people
    fewest = 10 if is_about_people(name) else max(10, 0.05 * n_cells)
    return fewest <= n_values < n_cells

"""A table's columns as sets: one item for each value of a column, named ``column=value``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from incrowd.data.one_hot import bit_name, categories
from incrowd.data.set_build import Pairs, from_pairs
from incrowd.data.set_format import SetOptions
from incrowd.data.sets import Sets
from incrowd.data.table import Table
from incrowd.errors import DataError, JobError


def sets_of_columns(table: Table, columns: Sequence[str]) -> Sets:
    """Return the set of values that each row has in the columns: one-hot, without the zeros.

    A token for missing is a value like any other, and a missing cell is the item ``column=``, so
    that every row has as many items as there are columns. Items are in the order of their names.
    """
    if not columns or len(set(columns)) < len(columns):
        raise JobError(
            "columns for sets are missing or stated twice", remedy="Name each column once."
        )
    found = categories(table, columns)
    names = [bit_name(name, value) for name, values in found.blocks.items() for value in values]
    if len(set(names)) < len(names):
        raise DataError(
            f"{table.name}: two values would be one item",
            remedy="Rename the column that holds '=' in its name.",
        )
    firsts = np.cumsum(found.n_values) - found.n_values
    items = (found.codes + firsts[:, None].astype(np.int32)).ravel()
    rows = np.tile(np.arange(table.n_rows, dtype=np.int32), len(columns))
    pairs = Pairs(rows, items, table.n_rows, len(names))
    sets, _ = from_pairs(pairs, None, pa.array(names), SetOptions(), table.name)
    return sets

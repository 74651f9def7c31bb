"""Columns as features that a released row and an original one have in common.

A column of numbers is one feature: the number, or the mean of the numbers under a generalized
cell. Any other column is a feature per node: the share of the cell's values that lie under the
node. That is 1 at the cell's own node and above it, less below it, 0 beside it; an original value
has 1 at itself and everything above it. So a coarse node means the same to a released row and to
an original one, and a linear model sees the expectation of what it would see of the value itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.utility.cells import Codes, Column, Numbers

MOST_TERMS = 60
"""Nodes of one column that are features: those that most training rows are expected under."""

Features = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Encoder:
    """How cells become features: for each column a row of them per node."""

    columns: tuple[Column, ...]
    tables: tuple[Features, ...]

    @classmethod
    def of(cls, columns: Sequence[Column], cells: Sequence[Codes]) -> Encoder:
        """Choose features by the cells that a model is trained on."""
        tables = [
            _of_nodes(column, nodes) if column.numbers is None else _of_numbers(column, nodes)
            for column, nodes in zip(columns, cells, strict=True)
        ]
        return cls(tuple(columns), tuple(tables))

    def features(
        self, cells: Sequence[Codes], numbers: Sequence[Numbers | None] | None = None
    ) -> Features:
        """Return a row of features per row of cells; stated numbers stand for themselves."""
        stated = numbers or [None] * len(cells)
        parts = []
        for table, nodes, own in zip(self.tables, cells, stated, strict=True):
            part = table[nodes]
            if own is not None:
                part[:, 0] = np.where(np.isnan(own), part[:, 0], own)
            parts.append(part)
        return np.concatenate(parts, axis=1)


def _of_numbers(column: Column, nodes: Codes) -> Features:
    """Return each node's mean number, the training rows' mean where it has none, and missing."""
    assert column.numbers is not None
    is_number = ~np.isnan(column.numbers)
    n_numbers = column.under(is_number)
    total = column.under(np.where(is_number, column.numbers, 0.0))
    mean = np.divide(total, n_numbers, out=np.zeros(column.n_nodes), where=n_numbers > 0.5)
    of_rows = nodes[n_numbers[nodes] > 0.5]
    filled = float(mean[of_rows].mean()) if len(of_rows) else 0.0
    mean = np.where(n_numbers > 0.5, mean, filled)
    if is_number.all():
        return np.asarray(mean[:, None], dtype=np.float32)
    return np.asarray(np.stack([mean, column.share_under(~is_number)], axis=1), dtype=np.float32)


def _of_nodes(column: Column, nodes: Codes) -> Features:
    """Return, for every node, the share of its values under each node that is a feature."""
    expected = column.under(column.spread(nodes))
    spans, chosen = np.unique(np.stack([column.first, column.end]), axis=1, return_index=True)
    weight = expected[chosen]
    order = np.lexsort((np.arange(len(chosen)), -weight))[:MOST_TERMS]
    first, end = spans[:, np.sort(order)]
    overlap = np.minimum(column.end[:, None], end) - np.maximum(column.first[:, None], first)
    return np.asarray(np.maximum(overlap, 0) / column.sizes[:, None], dtype=np.float32)

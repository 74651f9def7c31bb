"""Columns before and after as numbers and as features, and what a generalized cell says of its
values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd.encoding.encode import encode_labels
from incrowd.hierarchies.groupings import holds_days
from incrowd.tables.columns.types import labels_of, parse_days, parse_numbers

if TYPE_CHECKING:
    import pyarrow as pa

    from incrowd.checking.material import OwnTable, TableMaterial
    from incrowd.hierarchies.tree import Hierarchy


Codes = NDArray[np.int32]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Column:
    """A published column: ``before`` has a value per original row, ``after`` a node per released
    row.

    Values are numbered from 0, and the node of a value has its number. ``place[value]`` is where
    it stands in the order, ``first[node]`` and ``end[node]`` are the span of a node in it.
    ``numbers`` are behind the values where all are numbers, NaN where a value is missing.
    ``whole`` is the node of a cell that says nothing. Where ``is_date``, numbers are days as
    ``date.toordinal`` counts them.
    """

    name: str
    role: str
    labels: tuple[str, ...]
    before: Codes
    after: Codes
    place: NDArray[np.int64]
    first: NDArray[np.int64]
    end: NDArray[np.int64]
    whole: int
    is_missing: NDArray[np.bool_]
    numbers: Numbers | None = None
    is_date: bool = False

    @property
    def n_values(self) -> int:
        """How many values there are, missing included."""
        return len(self.labels)

    @property
    def n_nodes(self) -> int:
        """How many nodes there are, values included."""
        return len(self.first)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many values lie under each node."""
        return self.end - self.first

    def under(self, number_of_value: NDArray[Any]) -> Numbers:
        """Return the sum of a number per value over the values under each node."""
        running = np.zeros(self.n_values + 1)
        running[self.place + 1] = number_of_value
        np.cumsum(running, out=running)
        return np.asarray(running[self.end] - running[self.first])

    def share_under(self, is_meant: NDArray[np.bool_]) -> Numbers:
        """Return which share of the values under each node is meant."""
        return self.under(is_meant) / self.sizes

    def spread(self, nodes: Codes) -> Numbers:
        """Return how many of these cells each value is expected to have."""
        weight = np.bincount(nodes, minlength=self.n_nodes) / self.sizes
        change = np.zeros(self.n_values + 1)
        np.add.at(change, self.first, weight)
        np.subtract.at(change, self.end, weight)
        spread = np.cumsum(change[:-1])[self.place]
        return np.asarray(np.maximum(spread, 0.0))

    def counted(self, values: Codes) -> Numbers:
        """Return how many cells each value has."""
        return np.bincount(values, minlength=self.n_values).astype(np.float64)


def columns_of(material: TableMaterial) -> list[Column]:
    """Return the published columns of a release beside its original, quasi-identifying ones first.

    A column of means counts each mean as the value nearest to it, as its reader would.
    """
    own = require_owner(material)
    columns = [_quasi_column(material, own, position) for position in range(own.before.n_columns)]
    roles = dict.fromkeys(material.schema.sensitive, "sensitive")
    roles |= dict.fromkeys(material.schema.insensitive, "insensitive")
    tokens = own.original.missing_values
    for name, role in roles.items():
        cells = own.original.frame.column(name)
        columns.append(_unchanged_column(name, role, cells, own.original_row, tokens))
    return columns


def require_owner(material: TableMaterial) -> OwnTable:
    """Return what only the owner has: without it nothing can be compared."""
    if material.own is None:
        raise ValueError("utility compares a release with its original, which only its owner has")
    return material.own


def _quasi_column(material: TableMaterial, own: OwnTable, position: int) -> Column:
    name, hierarchy = own.before.names[position], own.before.hierarchies[position]
    place, first, end = leaf_spans(hierarchy)
    values = hierarchy.values
    labels = hierarchy.labels[: hierarchy.n_leaves]
    tokens = ("", *own.original.missing_values)
    is_missing = np.array([label in tokens for label in labels], dtype=np.bool_)
    if values is not None and bool(np.isnan(values[~is_missing]).any()):
        values = None
    if hierarchy.mean_unit is not None:
        after = _nearest_leaves(hierarchy, material.released.frame.column(name))
    else:
        after = own.after.nodes[position, own.original_row]
    return Column(
        name,
        "quasi-identifying",
        labels,
        own.before.nodes[position],
        after,
        place,
        first,
        end,
        hierarchy.root,
        is_missing,
        values,
        values is not None and holds_days(hierarchy),
    )


def _unchanged_column(
    name: str,
    role: str,
    cells: pa.ChunkedArray,
    original_row: NDArray[np.int64],
    tokens: tuple[str, ...],
) -> Column:
    """Return a column that is released as it is; missing is one more value, after all others."""
    found = encode_labels(cells, tokens)
    labels = (*found.labels, *([""] if found.has_missing else []))
    before = np.where(found.codes < 0, len(found.labels), found.codes).astype(np.int32)
    is_missing = np.zeros(len(labels), dtype=np.bool_)
    is_missing[len(found.labels) :] = True
    numbers = parse_numbers(list(labels))
    has_numbers = bool(found.labels) and not np.isnan(numbers[~is_missing]).any()
    is_date = bool(found.labels) and not has_numbers
    if is_date:
        days = parse_days(labels)
        is_date = not bool(np.isnan(days[~is_missing]).any())
        numbers, has_numbers = (days, True) if is_date else (numbers, False)
    places = np.arange(len(labels), dtype=np.int64)
    first = np.append(places, 0)
    end = np.append(places + 1, len(labels))
    return Column(
        name,
        role,
        labels,
        before,
        before[original_row],
        places,
        first,
        end,
        len(labels),
        is_missing,
        numbers if has_numbers else None,
        is_date,
    )


def leaf_spans(
    hierarchy: Hierarchy,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the place of every leaf, and the span of places of every node, ranges included."""
    place = hierarchy.leaf_order.astype(np.int64)
    first = np.full(hierarchy.n_all_nodes, hierarchy.n_leaves, dtype=np.int64)
    last = np.full(hierarchy.n_all_nodes, -1, dtype=np.int64)
    first[: hierarchy.n_leaves] = last[: hierarchy.n_leaves] = place
    depth = hierarchy.depth
    for level in range(int(depth.max(initial=0)), 0, -1):
        nodes = np.flatnonzero(depth == level)
        np.minimum.at(first, hierarchy.parent[nodes], first[nodes])
        np.maximum.at(last, hierarchy.parent[nodes], last[nodes])
    runs = hierarchy.runs
    if runs is not None:
        is_number = runs.cell_of_leaf >= 0
        of_cell = runs.cell_of_leaf[is_number]
        low = np.full(runs.n_cells, hierarchy.n_leaves, dtype=np.int64)
        high = np.full(runs.n_cells, -1, dtype=np.int64)
        np.minimum.at(low, of_cell, place[is_number])
        np.maximum.at(high, of_cell, place[is_number])
        further = slice(hierarchy.n_nodes, hierarchy.n_all_nodes)
        first[further] = low[runs.first[further]]
        last[further] = high[runs.last[further]]
    return place, first, last + 1


def _nearest_leaves(hierarchy: Hierarchy, cells: pa.ChunkedArray) -> Codes:
    """Return the leaf whose number is nearest to each shown mean; the root where none is shown."""
    assert hierarchy.values is not None
    leaves = np.flatnonzero(~np.isnan(hierarchy.values))
    leaves = leaves[np.argsort(hierarchy.values[leaves], kind="stable")]
    numbers = hierarchy.values[leaves]
    shown = parse_numbers(labels_of(cells))
    after = np.clip(np.searchsorted(numbers, shown), 1, max(len(numbers) - 1, 1))
    after = np.minimum(after, len(numbers) - 1)
    below = np.maximum(after - 1, 0)
    nearest = np.where(shown - numbers[below] <= numbers[after] - shown, below, after)
    return np.where(np.isnan(shown), hierarchy.root, leaves[nearest]).astype(np.int32)


# Columns as features that a released row and an original one have in common.

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
            _node_features(column, nodes)
            if column.numbers is None
            else _number_features(column, nodes)
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


def _number_features(column: Column, nodes: Codes) -> Features:
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


def _node_features(column: Column, nodes: Codes) -> Features:
    """Return, for every node, the share of its values under each node that is a feature."""
    expected = column.under(column.spread(nodes))
    spans, chosen = np.unique(np.stack([column.first, column.end]), axis=1, return_index=True)
    weight = expected[chosen]
    order = np.lexsort((np.arange(len(chosen)), -weight))[:MOST_TERMS]
    first, end = spans[:, np.sort(order)]
    overlap = np.minimum(column.end[:, None], end) - np.maximum(column.first[:, None], first)
    return np.asarray(np.maximum(overlap, 0) / column.sizes[:, None], dtype=np.float32)

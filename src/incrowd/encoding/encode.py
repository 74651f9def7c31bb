"""Encode a table's quasi-identifiers as nodes of hierarchies, and decode a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.codes import MOST_DISTINCT, ColumnCodes, factorize
from incrowd.encoding.coding import Coding, add_coded_nodes, note_on_coding, refuse_uncodable
from incrowd.encoding.rows import Rows
from incrowd.errors import DataError, HierarchyError
from incrowd.hierarchies.builders import ColumnValues, hierarchy_for
from incrowd.hierarchies.means import mean_cells
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.hierarchies.tree import STAR, Hierarchy
from incrowd.tables.columns.formats import is_text
from incrowd.tables.columns.types import labels_of
from incrowd.tables.schema import Schema
from incrowd.tables.table import Table


def encode(
    table: Table,
    quasi: tuple[str, ...],
    specs: Mapping[str, HierarchySpec],
    codings: Mapping[str, Coding] | None = None,
    known: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Rows, list[str]]:
    """Return the quasi-identifiers as leaves, and notes on how hierarchies were built.

    A column without a spec gets an automatic hierarchy. A missing cell is a leaf of its own, and
    so is every ``known`` value of a column, whether a cell holds it or not. The hierarchies of
    coded columns have a node above the values beyond each limit.
    """
    codings, known = codings or {}, known or {}
    for name in codings:
        refuse_uncodable(f"{table.name}, column {name!r}", ColumnValues.of(name, table))
    notes: list[str] = []
    nodes = np.empty((len(quasi), table.n_rows), dtype=np.int32)
    hierarchies = []
    for position, name in enumerate(quasi):
        hierarchy, hierarchy_notes = hierarchy_for(
            name, table, specs.get(name), known.get(name, ())
        )
        notes.extend(hierarchy_notes)
        if name in codings:
            hierarchy = add_coded_nodes(hierarchy, codings[name])
        nodes[position] = nodes_of(table.frame.column(name), hierarchy, table.name)
        hierarchies.append(hierarchy)
        if name in codings:
            n_of_leaf = np.bincount(nodes[position], minlength=hierarchy.n_leaves)
            notes.append(note_on_coding(hierarchy, codings[name], n_of_leaf))
    return Rows(quasi, nodes, tuple(hierarchies)), notes


def nodes_of(column: pa.ChunkedArray, hierarchy: Hierarchy, where: str) -> NDArray[np.int32]:
    """Return the node of each cell by its label; a null is the leaf labelled ''."""
    cells = factorize(column)
    labels = [label or "" for label in labels_of(cells.values).to_pylist()]
    if cells.has_missing:
        labels.append("")
    nodes = [hierarchy.node_of_label.get(label, -1) for label in labels]
    unknown = sorted({label for label, node in zip(labels, nodes, strict=True) if node < 0})
    if unknown:
        raise HierarchyError(
            f"{where}, column {hierarchy.name!r}: {len(unknown)} values are not in its hierarchy",
            remedy="The column's cells must be values or groups of that hierarchy.",
            examples=unknown,
        )
    return np.array(nodes, dtype=np.int32)[cells.codes]


@dataclass(frozen=True, eq=False)
class LabelCodes:
    """A column as codes of its labels: ``texts[codes[row]]`` is the cell's label, −1 is missing."""

    codes: NDArray[np.int32]
    texts: pa.Array
    has_missing: bool

    @cached_property
    def labels(self) -> list[str]:
        """The texts as a list; a column of identifiers may have as many as it has rows."""
        return list(self.texts.to_pylist())


def encode_labels(column: pa.ChunkedArray, missing_values: tuple[str, ...] = ()) -> LabelCodes:
    """Encode a column as codes of its distinct labels, sorted; nulls and tokens are −1."""
    cells = factorize(column)
    labels = labels_of(cells.values)
    if missing_values:
        tokens = pa.array(missing_values, labels.type)
        labels = pc.if_else(pc.is_in(labels, tokens), pa.scalar(None, labels.type), labels)
    distinct = factorize(labels)  # several values may have one label, and some none
    order = pc.array_sort_indices(distinct.values)
    rank_of_label = np.full(distinct.n_codes, -1, dtype=np.int32)
    rank_of_label[order.to_numpy()] = np.arange(distinct.n_values, dtype=np.int32)
    rank_of_value = np.append(rank_of_label[distinct.codes], np.int32(-1))
    codes = rank_of_value[cells.codes]
    return LabelCodes(codes, distinct.values.take(order), bool((codes < 0).any()))


def decode(rows: Rows, table: Table, schema: Schema) -> tuple[pa.Table, NDArray[np.int64]]:
    """Return the released columns in the table's order, and each released row's original row.

    A quasi-identifying column of which nothing was generalized keeps its type; any other is text.
    A column that shows means shows those of ``rows.group_of_row``.
    Text whose values repeat comes as a dictionary of the released values, a fraction of its size.
    Everything is built from new arrays, so that nothing unreleased remains in memory behind them.
    """
    kept = np.flatnonzero(~rows.is_suppressed)
    columns: dict[str, pa.Array | pa.ChunkedArray] = {}
    for name in table.columns:
        if name in schema.quasi:
            position = rows.names.index(name)
            columns[name] = _released_cells(rows, position, table.frame.column(name), kept)
        elif name in schema.published:
            columns[name] = _take_rows(table.frame.column(name), kept)
    return pa.table(columns), kept


def _released_cells(
    rows: Rows, position: int, original: pa.ChunkedArray, kept: NDArray[np.int64]
) -> pa.Array:
    hierarchy = rows.hierarchies[position]
    if hierarchy.mean_unit is not None:
        if rows.group_of_row is None:
            raise ValueError("a column shows means, and the search names no groups")
        leaves = nodes_of(original, hierarchy, "the original")[kept]
        return mean_cells(hierarchy, leaves, rows.group_of_row[kept])
    nodes = rows.nodes[position][kept]
    if bool((nodes < hierarchy.n_leaves).all()):
        return _take_rows(original, kept)
    return shown_cells(hierarchy, nodes)


def shown_cells(hierarchy: Hierarchy, nodes: NDArray[np.int32]) -> pa.DictionaryArray:
    """Return the labels that nodes are shown as; the leaf labelled '' as a null."""
    shown = np.flatnonzero(np.bincount(nodes, minlength=hierarchy.n_all_nodes))
    labels = [hierarchy.all_labels[node] for node in shown.tolist()]
    texts = pa.array([label for label in labels if label], pa.string())
    has_text = np.array([bool(label) for label in labels], dtype=np.bool_)
    place_of_node = np.zeros(hierarchy.n_all_nodes, dtype=np.int32)
    place_of_node[shown] = np.where(has_text, np.cumsum(has_text) - 1, len(texts))
    return ColumnCodes(place_of_node[nodes], texts).to_array()


def _take_rows(column: pa.ChunkedArray, kept: NDArray[np.int64]) -> pa.Array | pa.ChunkedArray:
    taken = column if len(kept) == len(column) else column.take(pa.array(kept))
    is_dictionary = pa.types.is_dictionary(taken.type)
    if not (is_dictionary or pa.types.is_string(taken.type)):
        return taken
    cells = factorize(taken)
    if cells.n_values <= len(taken) * MOST_DISTINCT:
        return cells.to_array()
    return taken.cast(taken.type.value_type) if is_dictionary else taken


def refuse_stars(table: Table, names: tuple[str, ...]) -> None:
    """Raise where a released cell is literally ``*`` before anything was suppressed."""
    for name in names:
        column = table.frame.column(name)
        if not is_text(column.type):
            continue
        cells = factorize(column)
        star = pc.index(cells.values, STAR).as_py()
        if star >= 0:
            starred = np.flatnonzero(cells.codes == star)
            raise DataError(
                f"{table.name}, column {name!r}: {len(starred)} cells are already '*' "
                f"(first in row {starred[0] + 1}), which is how a release writes a suppressed cell",
                remedy="Replace them in the data by another token, such as 'unknown'.",
            )


def star_missing(before: Rows, after: Rows, missing_values: tuple[str, ...]) -> NDArray[np.int32]:
    """Return the nodes of ``after`` with every missing cell of ``before`` at its root.

    Rows that are shown equal stay equal: they are missing in the same columns, or masked there.
    """
    nodes = after.nodes.copy()
    for column, hierarchy in enumerate(before.hierarchies):
        leaves = [hierarchy.leaf_of_value.get(token, -1) for token in ("", *missing_values)]
        nodes[column, np.isin(before.nodes[column], leaves)] = hierarchy.root
    return nodes

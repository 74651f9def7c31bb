"""From a table to codes and back: once in, at the edge, and once out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.codes import RowKey, numbered
from incrowd.data.builders import hierarchy_for
from incrowd.data.coding import Coding, coded_hierarchy, refuse_uncodable
from incrowd.data.dataset import Rows
from incrowd.data.hierarchy import STAR, Hierarchy
from incrowd.data.kinds import labels_of
from incrowd.data.schema import Schema
from incrowd.data.specs import HierarchySpec
from incrowd.data.table import Table
from incrowd.errors import DataError, HierarchyError


def encode(
    table: Table,
    quasi: tuple[str, ...],
    specs: Mapping[str, HierarchySpec],
    codings: Mapping[str, Coding] | None = None,
) -> tuple[Rows, list[str]]:
    """Return the quasi-identifying columns as leaves, and notes on how hierarchies came about.

    A column without a spec gets an automatic hierarchy. A missing cell is a leaf of its own. The
    hierarchies of coded columns have a node above the values beyond each limit.
    """
    codings = codings or {}
    refuse_uncodable(table, codings)
    notes: list[str] = []
    nodes = np.empty((len(quasi), table.n_rows), dtype=np.int32)
    hierarchies = []
    for position, name in enumerate(quasi):
        hierarchy, said = hierarchy_for(name, table, specs.get(name))
        if name in codings:
            hierarchy = coded_hierarchy(hierarchy, codings[name])
        nodes[position] = nodes_of(table.frame.column(name), hierarchy, table.name)
        hierarchies.append(hierarchy)
        notes.extend(said)
        if name in codings:
            notes.append(_coded_note(hierarchy, codings[name], nodes[position]))
    return Rows(quasi, nodes, tuple(hierarchies)), notes


def _coded_note(hierarchy: Hierarchy, coding: Coding, leaves: NDArray[np.int32]) -> str:
    counts = []
    for label in filter(None, coding.labels):
        node = hierarchy.node_of_label.get(label, -1)
        n_cells = int((hierarchy.parent[leaves] == node).sum())
        counts.append(f"{n_cells} cells are coded as {label} or coarser")
    return f"column {hierarchy.name!r}: {', '.join(counts)}"


def nodes_of(column: pa.ChunkedArray, hierarchy: Hierarchy, where: str) -> NDArray[np.int32]:
    """Return the node of each cell by its label; a null is the leaf labelled ''."""
    cells = coded(column)
    node_of_code = np.empty(len(cells.labels) + 1, dtype=np.int32)
    unknown = []
    for code, label in enumerate([*cells.labels, ""]):
        node = hierarchy.node_of_label.get(label, -1)
        node_of_code[code] = node
        if node < 0 and (label or cells.has_missing):
            unknown.append(label)
    if unknown:
        raise HierarchyError(
            f"{where}, column {hierarchy.name!r}: {len(unknown)} values are not in its hierarchy",
            remedy="The column's cells must be values or groups of that hierarchy.",
            examples=unknown,
        )
    return node_of_code[cells.codes]  # code −1, missing, is the last entry


@dataclass(frozen=True)
class Coded:
    """A column as numbers: ``labels[codes[row]]`` is the cell's text, −1 is missing."""

    codes: NDArray[np.int32]
    labels: list[str]
    has_missing: bool


def coded(column: pa.ChunkedArray, missing_values: tuple[str, ...] = ()) -> Coded:
    """Number a column's distinct texts in sorted order; nulls and tokens are −1."""
    cells = numbered(column)
    label_of_code: list[str | None] = [*labels_of(cells.values).to_pylist(), None]
    is_missing = {None, *missing_values}
    labels = sorted({label for label in label_of_code if label is not None} - is_missing)
    rank_of_label = {label: rank for rank, label in enumerate(labels)}
    rank_of_code = np.array(
        [-1 if label is None else rank_of_label.get(label, -1) for label in label_of_code],
        dtype=np.int32,
    )
    codes = rank_of_code[cells.codes]
    return Coded(codes, labels, bool((codes < 0).any()))


def decode(rows: Rows, table: Table, schema: Schema) -> tuple[pa.Table, NDArray[np.int64]]:
    """Return the released columns in the table's order, and each released row's original row.

    A quasi-identifying column of which nothing was generalized keeps its type; any other is text.
    Everything is built from fresh arrays, so that nothing unreleased hides in the container.
    """
    kept = np.flatnonzero(~rows.is_suppressed)
    columns: dict[str, pa.Array] = {}
    for name in table.columns:
        if name in schema.quasi:
            position = rows.names.index(name)
            columns[name] = _released_cells(rows, position, table.frame.column(name), kept)
        elif name in schema.published:
            columns[name] = _fresh(table.frame.column(name), kept)
    return pa.table(columns), kept


def _released_cells(
    rows: Rows, position: int, original: pa.ChunkedArray, kept: NDArray[np.int64]
) -> pa.Array:
    hierarchy = rows.hierarchies[position]
    nodes = rows.nodes[position][kept]
    if bool((nodes < hierarchy.n_leaves).all()):
        return _fresh(original, kept)
    shown, codes = np.unique(nodes, return_inverse=True)
    labels = [hierarchy.all_labels[node] for node in shown.tolist()]
    texts = pa.array([label if label else None for label in labels], pa.string())
    return texts.take(pa.array(codes.astype(np.int64)))


def _fresh(column: pa.ChunkedArray, kept: NDArray[np.int64]) -> pa.Array:
    taken = column.take(pa.array(kept))
    if isinstance(taken, pa.ChunkedArray):
        taken = taken.combine_chunks()
    if pa.types.is_dictionary(taken.type):
        taken = taken.dictionary_decode()
    return taken


def canonical_order(frame: pa.Table) -> NDArray[np.int64]:
    """Return the order of rows by their full content, so that the order carries nothing.

    Column by column, missing first; each column is sorted once, as its distinct values. Equal rows
    keep their order. One number per row is held, and one column's ranks at a time.
    """
    key = RowKey(frame.num_rows)
    for column in frame.columns:
        cells = numbered(column, has_signed_zeros=True)
        rank_of_code = np.zeros(cells.n_codes, dtype=np.int32)  # missing cells have rank 0
        order = pc.array_sort_indices(cells.values).to_numpy()
        rank_of_code[order] = np.arange(1, cells.n_codes, dtype=np.int32)
        key.add(rank_of_code[cells.codes], cells.n_codes)
    return np.argsort(key.numbers, kind="stable")


def refuse_stars(table: Table, names: tuple[str, ...]) -> None:
    """Raise where a released cell is literally ``*`` before anything was suppressed."""
    for name in names:
        column = table.frame.column(name)
        if pa.types.is_dictionary(column.type):
            column = labels_of(column)
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            continue
        starred = np.flatnonzero(
            pc.fill_null(pc.equal(column, STAR), False).to_numpy(zero_copy_only=False)
        )
        if len(starred):
            raise DataError(
                f"{table.name}, column {name!r}: {len(starred)} cells are already '*' "
                f"(first in row {starred[0] + 1}), which is how a release writes a suppressed cell",
                remedy="Replace them in the data by another token, such as 'unknown'.",
            )

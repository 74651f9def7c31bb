"""Which released row each original row becomes, where rows stay on an engine: looked up among the
distinct ones and generalized block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.checking.examine import K_OF_ROW
from incrowd.codes import RowKey, canonical_order, factorize, stable_order
from incrowd.encoding.encode import nodes_of, shown_cells
from incrowd.encoding.rows import Rows
from incrowd.engines.base import Blocks, OutOfCoreEngine
from incrowd.errors import EngineError
from incrowd.hierarchies.tree import Hierarchy
from incrowd.methods.shared.fragments import sort_into_runs, sort_key
from incrowd.tables.columns.normalize import Readings, normalize_frame
from incrowd.tables.columns.types import labels_of
from incrowd.tables.schema import Schema

if TYPE_CHECKING:
    from incrowd.flow.distinct_rows import DistinctRows


def assign_by_content(
    distinct: NDArray[np.int64], after: NDArray[np.int32], others: pa.Table
) -> NDArray[np.int32]:
    """Return ``after[column, row]`` with places traded among rows that a search took as equal.

    ``distinct[row]`` is the same number for such rows; ``others`` are the released columns that
    are not generalized.
    """
    shown = _numbers(after)
    rows = _shown_differently(distinct, shown)
    if not len(rows):
        return after
    by_content = np.arange(len(rows), dtype=np.int64)
    if others.num_columns:
        by_content = canonical_order(others.take(pa.array(rows)).combine_chunks())
    takers = rows[by_content[stable_order(distinct[rows][by_content])]]
    by_shown = stable_order(shown[rows])
    places = rows[by_shown[stable_order(distinct[rows][by_shown])]]
    assigned = after.copy()
    assigned[:, takers] = after[:, places]
    return assigned


def _shown_differently(distinct: NDArray[np.int64], shown: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows with equals that show something else, in ascending order."""
    order = stable_order(distinct)
    ordered = distinct[order]
    is_same_row = ordered[1:] == ordered[:-1]
    differs = is_same_row & (shown[order[1:]] != shown[order[:-1]])
    if not differs.any():
        return np.zeros(0, dtype=np.int64)
    run_of_place = np.concatenate([[0], np.cumsum(~is_same_row)])
    is_parted = np.zeros(int(run_of_place[-1]) + 1, dtype=np.bool_)
    is_parted[run_of_place[1:][differs]] = True
    return np.sort(order[is_parted[run_of_place]])


def _numbers(nodes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return a number per row that sorts rows by their nodes, the first column first."""
    key = RowKey(nodes.shape[1])
    for column in nodes:
        key.add(column, int(column.max(initial=0)) + 1)
    return key.numbers


# Where a row of nodes stands among known ones: rows as one number, found by halving.

_ROOM = 1 << 62


@dataclass(frozen=True, eq=False)
class Lookup:
    """Finds rows of nodes among those it was made of.

    ``prefixes[column]`` are the sorted numbers that the columns before it come to, where those
    have to be numbered anew for the next column to fit; None where it fits. ``keys`` are the
    rows' numbers, sorted, ``places`` the rows that have them.
    """

    n_nodes: tuple[int, ...]
    prefixes: tuple[NDArray[np.int64] | None, ...]
    keys: NDArray[np.int64]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, nodes: NDArray[np.int32], n_nodes: tuple[int, ...]) -> Lookup:
        """Make it of distinct rows: ``nodes[column, row]`` lies below ``n_nodes[column]``."""
        key = np.zeros(nodes.shape[1], dtype=np.int64)
        used = 1
        prefixes: list[NDArray[np.int64] | None] = []
        for column, size in zip(nodes, n_nodes, strict=True):
            prefix = None
            if used * size >= _ROOM:
                prefix, key = np.unique(key, return_inverse=True)
                used = len(prefix)
            prefixes.append(prefix)
            key = key * size + column
            used *= size
        places = np.argsort(key, kind="stable")
        return cls(n_nodes, tuple(prefixes), key[places], places)

    def find(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the place of each row; raise where one was never seen."""
        key = np.zeros(nodes.shape[1], dtype=np.int64)
        for column, size, prefix in zip(nodes, self.n_nodes, self.prefixes, strict=True):
            if prefix is not None:
                key = _find_positions(prefix, key)
            key = key * size + column
        return self.places[_find_positions(self.keys, key)]


def _find_positions(known: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.int64]:
    place = np.minimum(np.searchsorted(known, asked), max(0, len(known) - 1))
    if len(asked) and (not len(known) or not np.array_equal(known[place], asked)):
        raise _changed()
    return place


def _changed() -> EngineError:
    return EngineError(
        "a row has other values than when rows were counted",
        remedy="Nothing was released. Make sure that nobody writes to the data meanwhile.",
    )


# What rows show, put on them where they lie: block functions for an engine.

PART = "part of the rows"
"""The column that says where rows meet whose equals are released in several groups."""

ROWS_PER_PART = 250_000


@dataclass(frozen=True, eq=False)
class Shown:
    """What the rows that a search tells apart are released as.

    ``count[f]`` of those equal to ``row[f]`` show ``nodes[:, f]``, or are left out where
    ``is_left_out[f]``. Sorted by row; no two of a row are the same.
    """

    row: NDArray[np.int64]
    nodes: NDArray[np.int32]
    is_left_out: NDArray[np.bool_]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, row: NDArray[np.int64], after: Rows, count: NDArray[np.int64]) -> Shown:
        """Put together what shows the same: ``count[i]`` of those equal to ``row[i]`` each."""
        n_nodes = [hierarchy.n_all_nodes for hierarchy in after.hierarchies]
        columns = [row, *after.nodes, after.is_suppressed.astype(np.int32)]
        sizes = [int(row.max(initial=0)) + 1, *n_nodes, 2]
        order, start = sort_into_runs(sort_key(columns, sizes, len(row)))
        first = order[start[:-1]]
        summed = np.add.reduceat(count[order], start[:-1]) if len(order) else count
        nodes = np.ascontiguousarray(after.nodes[:, first])
        return cls(row[first], nodes, after.is_suppressed[first], summed.astype(np.int64))

    @property
    def n_left_out(self) -> int:
        """How many rows are left out."""
        return int(self.count[self.is_left_out].sum())

    def groups(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return ``nodes[column, group]`` of what is released, and how many rows show each."""
        kept = ~self.is_left_out
        return np.ascontiguousarray(self.nodes[:, kept]), self.count[kept]


@dataclass(frozen=True, eq=False)
class Generalization:
    """What every row shows, by its quasi-identifying cells and others that conditions look at.

    ``lookup`` finds a row among the distinct ones; those that a search takes as equal have the
    same ``row_of_line``. The rows equal to d are shown as the fragments from ``first[d]`` up to
    ``first[d + 1]``, in the order of their columns ``compared``. ``is_shown_as_text[column]``
    where some row shows more than a value of its own. ``k_of_line`` is each distinct row's own k,
    where there is one.
    """

    published: tuple[str, ...]
    compared: tuple[str, ...]
    names: tuple[str, ...]
    hierarchies: tuple[Hierarchy, ...]
    looked_at: tuple[str, ...]
    labels: tuple[pa.Array, ...]
    lookup: Lookup
    row_of_line: NDArray[np.int64]
    first: NDArray[np.int64]
    nodes: NDArray[np.int32]
    is_left_out: NDArray[np.bool_]
    count: NDArray[np.int64]
    is_shown_as_text: tuple[bool, ...]
    readings: Readings
    k_of_line: NDArray[np.int32] | None = None

    @classmethod
    def of(
        cls, distinct: DistinctRows, shown: Shown, published: Sequence[str], schema: Schema
    ) -> Generalization:
        """Make it of distinct rows and what became of those that a search told apart.

        ``published`` are the columns of the release in their order.
        """
        rows, searched = distinct.rows, distinct.searched
        first = np.searchsorted(shown.row, np.arange(searched.rows.n_rows + 1))
        sizes = [hierarchy.n_all_nodes for hierarchy in rows.hierarchies]
        sizes += [len(labels) + 1 for labels in distinct.labels]
        released, _ = shown.groups()
        is_shown = tuple(
            bool((column >= hierarchy.n_leaves).any())
            for column, hierarchy in zip(released, rows.hierarchies, strict=True)
        )
        return cls(
            tuple(published),
            tuple(name for name in schema.published if name not in rows.names),
            rows.names,
            rows.hierarchies,
            distinct.looked_at,
            distinct.labels,
            Lookup.of(np.vstack([rows.nodes, distinct.codes]), tuple(sizes)),
            searched.row_of_line,
            first.astype(np.int64),
            shown.nodes,
            shown.is_left_out,
            shown.count,
            is_shown,
            distinct.readings,
            distinct.conditions.k_of_row,
        )

    @property
    def parts_rows(self) -> bool:
        """Whether rows that are equal are released in several groups, or some of them left out."""
        return bool((np.diff(self.first) > 1).any())

    @property
    def columns(self) -> list[str]:
        """The columns that are published, and those that conditions look at besides."""
        return list(dict.fromkeys([*self.published, *self.looked_at]))

    def lines_of_block(self, block: pa.Table) -> NDArray[np.int64]:
        """Return where a block's rows are among the distinct ones."""
        cells = normalize_frame(block.select(list(self.names)), self.readings)
        found = [
            nodes_of(cells.column(name), hierarchy, "the data")
            for name, hierarchy in zip(self.names, self.hierarchies, strict=True)
        ]
        found += [
            _codes_of(block.column(name), labels)
            for name, labels in zip(self.looked_at, self.labels, strict=True)
        ]
        return self.lookup.find(np.asarray(found, dtype=np.int32))

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Return the columns of released rows, of the blocks' columns."""
        text = {
            name for name, is_text in zip(self.names, self.is_shown_as_text, strict=True) if is_text
        }
        return pa.schema(
            [
                pa.field(name, pa.string()) if name in text else given.field(name)
                for name in self.published
            ]
        )

    def show(self, block: pa.Table, nodes: NDArray[np.int32]) -> pa.Table:
        """Return a block with what its rows show, after each cell was held against its original."""
        from incrowd.guarantees.tables.truth import prove_key

        columns = []
        for name in self.published:
            column = block.column(name)
            if name in self.names:
                place = self.names.index(name)
                if self.is_shown_as_text[place]:
                    cells = shown_cells(self.hierarchies[place], nodes[place])
                    if name in self.readings:
                        cells = self.readings[name].restore(cells)
                    column = pa.chunked_array([labels_of(cells)])
            columns.append(column)
        released = pa.table(columns, names=list(self.published))
        quasi = list(self.names)
        proof = prove_key(
            normalize_frame(block.select(quasi), self.readings),
            normalize_frame(released.select(quasi), self.readings),
            np.arange(block.num_rows, dtype=np.int64),
            self.names,
            dict(zip(self.names, self.hierarchies, strict=True)),
        )
        if not proof.holds:
            raise EngineError(f"a block was generalized wrongly: {proof.summary}")
        return released


def _codes_of(column: pa.ChunkedArray, labels: pa.Array) -> NDArray[np.int32]:
    """Return the number of each cell among sorted labels; how many those are where it is null."""
    cells = factorize(column)
    codes = pc.index_in(labels_of(cells.values).cast(labels.type), labels)
    if codes.null_count:
        raise _changed()
    return np.append(codes.to_numpy(zero_copy_only=False), len(labels)).astype(np.int32)[
        cells.codes
    ]


KEPT, LEFT_OUT, WITH_OWN_K = "kept", "left out", "with their own k"
"""Which rows are asked for: the released ones, those left out as they were, the released ones
with each row's own k beside them."""


@dataclass(frozen=True, eq=False)
class ShowRows:
    """Generalize a block in which equal rows that share fragments are together, if any do."""

    generalization: Callable[[], Generalization]
    asked: str = KEPT

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return what the rows show, places among equal rows by their other columns."""
        made = self.generalization()
        line = made.lines_of_block(block)
        row = made.row_of_line[line]
        fragment = self._fragments(made, row)
        shown = np.vstack([made.nodes[:, fragment], made.is_left_out[fragment]]).astype(np.int32)
        if made.parts_rows:
            shown = assign_by_content(row, shown, block.select(list(made.compared)))
        is_left_out = shown[-1] == 1
        chosen = np.flatnonzero(is_left_out if self.asked == LEFT_OUT else ~is_left_out)
        if len(chosen) < block.num_rows:
            block = block.take(pa.array(chosen))
        if self.asked == LEFT_OUT:
            return block.select(list(made.published))
        released = made.show(block, shown[:-1, chosen])
        if self.asked == WITH_OWN_K and made.k_of_line is not None:
            return released.append_column(K_OF_ROW, pa.array(made.k_of_line[line[chosen]]))
        return released

    @staticmethod
    def _fragments(made: Generalization, row: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a fragment per row, each as often as it counts."""
        fragment = made.first[row]
        is_parted = made.first[row + 1] - fragment > 1
        rows = np.flatnonzero(is_parted)
        if not len(rows):
            return fragment
        rows = rows[np.argsort(row[rows], kind="stable")]
        starts = np.flatnonzero(np.diff(row[rows], prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
            distinct = int(row[rows[start]])
            of_row = np.arange(made.first[distinct], made.first[distinct + 1])
            if int(made.count[of_row].sum()) != end - start:
                raise EngineError("rows that are equal did not meet in one part")
            fragment[rows[start:end]] = np.repeat(of_row, made.count[of_row])
        return fragment


@dataclass(frozen=True, eq=False)
class PlaceRows:
    """Say of a block's rows where they meet those equals with which they share fragments."""

    generalization: Callable[[], Generalization]
    n_parts: int

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return the rows with a part each; rows with one fragment may be in any."""
        made = self.generalization()
        row = made.row_of_line[made.lines_of_block(block)]
        is_parted = made.first[row + 1] - made.first[row] > 1
        anywhere = np.arange(block.num_rows, dtype=np.int64) * self.n_parts // block.num_rows
        part = np.where(is_parted, row % self.n_parts, anywhere)
        return block.append_column(PART, pa.array(part, pa.int64()))


def generalize_blocks(
    engine: OutOfCoreEngine,
    blocks: Blocks,
    generalization: Generalization,
    n_rows: int,
    asked: str = KEPT,
) -> Blocks:
    """Return the rows that are asked for on the engine, with the columns that are published."""
    rows = engine.select(blocks, generalization.columns)
    given = engine.schema(rows)
    returned = generalization.schema(given)
    if asked == LEFT_OUT:
        returned = pa.schema([given.field(name) for name in generalization.published])
    elif asked == WITH_OWN_K:
        returned = returned.append(pa.field(K_OF_ROW, pa.int32()))
    shared = engine.broadcast(generalization)
    show = ShowRows(shared, asked)
    if not generalization.parts_rows:
        return engine.map_blocks(rows, show, returned)
    n_parts = max(1, -(-n_rows // ROWS_PER_PART))
    placed = engine.map_blocks(
        rows, PlaceRows(shared, n_parts), given.append(pa.field(PART, pa.int64()))
    )
    return engine.map_groups(placed, PART, show, returned)

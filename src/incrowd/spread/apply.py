"""Fragments put on the rows where they lie: block functions for an engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.data.dataset import Rows
from incrowd.data.encoding import nodes_of, shown_cells
from incrowd.data.hierarchy import Hierarchy
from incrowd.data.kinds import labels_of
from incrowd.engines.base import Blocks, SpreadEngine
from incrowd.errors import EngineError
from incrowd.methods.fragments import Fragments
from incrowd.spread.assign import assigned_by_content
from incrowd.spread.lookup import Lookup

PART = "part of the rows"
"""The column that says where rows meet whose equals are released in several groups."""

ROWS_PER_PART = 250_000


@dataclass(frozen=True, eq=False)
class Generalization:
    """What every row shows, by its quasi-identifying values.

    Distinct row d is shown as the fragments from ``first[d]`` up to ``first[d + 1]``.
    ``is_shown_as_text[column]`` where some row shows more than a value of its own.
    """

    names: tuple[str, ...]
    hierarchies: tuple[Hierarchy, ...]
    lookup: Lookup
    first: NDArray[np.int64]
    nodes: NDArray[np.int32]
    count: NDArray[np.int64]
    is_shown_as_text: tuple[bool, ...]

    @classmethod
    def of(cls, rows: Rows, fragments: Fragments) -> Generalization:
        """Make it of distinct rows and what became of them."""
        first = np.searchsorted(fragments.row, np.arange(rows.n_rows + 1))
        sizes = tuple(hierarchy.n_all_nodes for hierarchy in rows.hierarchies)
        is_text = tuple(
            bool((column >= hierarchy.n_leaves).any())
            for column, hierarchy in zip(fragments.nodes, rows.hierarchies, strict=True)
        )
        return cls(
            rows.names,
            rows.hierarchies,
            Lookup.of(rows.nodes, sizes),
            first.astype(np.int64),
            fragments.nodes,
            fragments.count,
            is_text,
        )

    @property
    def parts_rows(self) -> bool:
        """Whether rows that are equal are released in several groups."""
        return bool((np.diff(self.first) > 1).any())

    def nodes_of_block(self, block: pa.Table) -> NDArray[np.int32]:
        """Return the leaves of a block's quasi-identifying cells."""
        nodes = np.empty((len(self.names), block.num_rows), dtype=np.int32)
        for place, (name, hierarchy) in enumerate(zip(self.names, self.hierarchies, strict=True)):
            nodes[place] = nodes_of(block.column(name), hierarchy, "the data")
        return nodes

    def shown(self, block: pa.Table, nodes: NDArray[np.int32]) -> pa.Table:
        """Return a block with what its rows show, after each cell was held against its original."""
        from incrowd.audit.key import prove_key

        columns = []
        for name in block.column_names:
            column = block.column(name)
            if name in self.names:
                place = self.names.index(name)
                if self.is_shown_as_text[place]:
                    cells = shown_cells(self.hierarchies[place], nodes[place])
                    column = pa.chunked_array([labels_of(cells)])
            columns.append(column)
        released = pa.table(columns, names=block.column_names)
        quasi = list(self.names)
        proof = prove_key(
            block.select(quasi),
            released.select(quasi),
            np.arange(block.num_rows, dtype=np.int64),
            self.names,
            dict(zip(self.names, self.hierarchies, strict=True)),
        )
        if not proof.holds:
            raise EngineError(f"a block was generalized wrongly: {proof.summary}")
        return released


@dataclass(frozen=True, eq=False)
class ShowRows:
    """Generalize a block whose equal rows all show the same."""

    generalization: Callable[[], Generalization]

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return what the rows show."""
        made = self.generalization()
        place = made.lookup.find(made.nodes_of_block(block))
        return made.shown(block, made.nodes[:, made.first[place]])


@dataclass(frozen=True, eq=False)
class PlaceRows:
    """Say of a block's rows where they meet those equals with which they share fragments."""

    generalization: Callable[[], Generalization]
    n_parts: int

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return the rows with a part each; rows with one fragment may be in any."""
        made = self.generalization()
        place = made.lookup.find(made.nodes_of_block(block))
        is_parted = made.first[place + 1] - made.first[place] > 1
        anywhere = np.arange(block.num_rows, dtype=np.int64) * self.n_parts // block.num_rows
        part = np.where(is_parted, place % self.n_parts, anywhere)
        return block.append_column(PART, pa.array(part, pa.int64()))


@dataclass(frozen=True, eq=False)
class ShowParts:
    """Generalize the rows of one part, in which equal rows that share fragments are together."""

    generalization: Callable[[], Generalization]

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return what the rows show, places among equal rows by their other columns."""
        made = self.generalization()
        block = block.drop_columns([PART])
        before = made.nodes_of_block(block)
        place = made.lookup.find(before)
        after = made.nodes[:, self._fragments(made, place)]
        others = block.select([name for name in block.column_names if name not in made.names])
        return made.shown(block, assigned_by_content(before, after, others))

    @staticmethod
    def _fragments(made: Generalization, place: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a fragment per row, each as often as it counts."""
        fragment = made.first[place]
        is_parted = made.first[place + 1] - fragment > 1
        rows = np.flatnonzero(is_parted)
        rows = rows[np.argsort(place[rows], kind="stable")]
        starts = np.flatnonzero(np.diff(place[rows], prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
            distinct = int(place[rows[start]])
            of_row = np.arange(made.first[distinct], made.first[distinct + 1])
            if int(made.count[of_row].sum()) != end - start:
                raise EngineError("rows that are equal did not meet in one part")
            fragment[rows[start:end]] = np.repeat(of_row, made.count[of_row])
        return fragment


def released_blocks(
    engine: SpreadEngine,
    blocks: Blocks,
    published: list[str],
    generalization: Generalization,
    n_rows: int,
) -> Blocks:
    """Return the released rows on the engine, in the order of columns that is asked for."""
    rows = engine.select(blocks, published)
    given = engine.schema(rows)
    returned = pa.schema(
        [
            pa.field(name, pa.string()) if _is_text(generalization, name) else given.field(name)
            for name in published
        ]
    )
    shared = engine.share(generalization)
    if not generalization.parts_rows:
        return engine.map_blocks(rows, ShowRows(shared), returned)
    n_parts = max(1, -(-n_rows // ROWS_PER_PART))
    placed = engine.map_blocks(
        rows, PlaceRows(shared, n_parts), given.append(pa.field(PART, pa.int64()))
    )
    return engine.map_groups(placed, PART, ShowParts(shared), returned)


def _is_text(generalization: Generalization, name: str) -> bool:
    if name not in generalization.names:
        return False
    return generalization.is_shown_as_text[generalization.names.index(name)]

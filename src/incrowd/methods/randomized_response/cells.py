"""The cells that may hold an entry, numbered: every cell is one draw of randomized response."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.data.sets import BIPARTITE, UNDIRECTED, Sets
from incrowd.errors import DataError

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Cells:
    """Cells row by row: rows × items; in graphs without loops, if so; in undirected ones v > u."""

    n_rows: int
    n_items: int
    graph: str
    has_self_loops: bool

    @classmethod
    def of(cls, sets: Sets, *, self_loops: bool) -> Cells:
        """Return the cells of these rows and items; refuse entries that are in none."""
        is_graph = sets.graph != BIPARTITE
        if is_graph and sets.n_rows != sets.n_items:
            raise DataError(
                f"a graph of {sets.n_rows} rows and {sets.n_items} items: both must be its nodes",
                remedy="Read the file as a graph, so that every node is a row and an item.",
            )
        cells = cls(sets.n_rows, sets.n_items, sets.graph, self_loops or not is_graph)
        if not cells.has_self_loops:
            n_loops = int(np.count_nonzero(sets.items == _row_of_entry(sets)))
            if n_loops:
                raise DataError(
                    f"{n_loops} nodes list themselves, and self_loops is false",
                    remedy="Set self_loops = true, or leave these entries out: whether nodes may "
                    "list themselves is public.",
                )
        return cells

    @property
    def is_undirected(self) -> bool:
        """Whether a pair of nodes is one cell."""
        return self.graph == UNDIRECTED

    @property
    def n_cells(self) -> int:
        """How many cells there are: a function of n and m alone."""
        if self.is_undirected:
            return self.n_rows * (self.n_rows + (1 if self.has_self_loops else -1)) // 2
        return self.n_rows * (self.n_items - (0 if self.has_self_loops else 1))

    @property
    def n_cells_of_row(self) -> int:
        """How many cells a change of one row can change; a pair counts for both of its nodes."""
        return self.n_items

    def ranks(self, sets: Sets) -> Whole:
        """Return the numbers of the cells that hold an entry, ascending.

        In an undirected graph an edge that is listed once counts as if listed twice.
        """
        rows, items = _row_of_entry(sets), sets.items.astype(np.int64)
        if not self.is_undirected:
            return np.asarray(self.first_of_row(rows) + items - self._n_skipped(rows, items))
        low, high = np.minimum(rows, items), np.maximum(rows, items)
        ranks: Whole = np.unique(self.first_of_row(low) + high - low - (not self.has_self_loops))
        return ranks

    def sets_of(self, ranks: Whole, like: Sets) -> Sets:
        """Return the sets with entries in these cells, which are ascending."""
        if not self.is_undirected:
            width = max(self.n_items - (not self.has_self_loops), 1)
            rows = ranks // width
            items = ranks - rows * width
            if not self.has_self_loops:
                items += items >= rows
        else:
            firsts = self.first_of_row(np.arange(self.n_rows, dtype=np.int64))
            low = np.searchsorted(firsts, ranks, side="right") - 1
            high = low + ranks - firsts[low] + (not self.has_self_loops)
            is_pair = low != high
            both = np.concatenate([low * self.n_rows + high, (high * self.n_rows + low)[is_pair]])
            both.sort(kind="stable")
            rows, items = both // max(self.n_rows, 1), both % max(self.n_rows, 1)
        starts = np.searchsorted(rows, np.arange(self.n_rows + 1)).astype(np.int64)
        return like.with_entries(starts, items.astype(np.int32))

    def first_of_row(self, rows: Whole) -> Whole:
        """Return the number of each row's first cell."""
        if not self.is_undirected:
            return rows * (self.n_items - (not self.has_self_loops))
        if self.has_self_loops:
            return rows * self.n_rows - rows * (rows - 1) // 2
        return rows * (2 * self.n_rows - rows - 1) // 2

    def _n_skipped(self, rows: Whole, items: Whole) -> Whole:
        """Return how many cells of the row before the item do not exist: the node's own."""
        if self.has_self_loops:
            return np.zeros_like(items)
        return (items > rows).astype(np.int64)


def _row_of_entry(sets: Sets) -> Whole:
    return np.repeat(np.arange(sets.n_rows, dtype=np.int64), sets.sizes)

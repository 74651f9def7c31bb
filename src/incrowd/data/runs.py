"""All runs of neighbouring cells of a grid, as further nodes beside a hierarchy's tree.

A tree over cells holds few of the ranges that a group of rows may need. The other runs are nodes
too: they are numbered after the tree's, the methods that walk trees never meet them, and labels,
prices and audits know them. Cells here are those that hold a value, in rising order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of a hierarchy with ``n_tree`` nodes in its tree.

    ``node_of[first, last]`` is the node of the run of cells from first to last: a node of the
    tree where the tree has it, else one of the further nodes, which are numbered from ``n_tree``
    on and written as ``labels``. The run of all cells is the root. ``cell_of_leaf`` is −1 for a
    leaf that is no number. A cell holds numbers from ``low`` to ``high``.
    """

    n_tree: int
    cell_of_leaf: NDArray[np.int32]
    node_of: NDArray[np.int32]
    labels: tuple[str, ...]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def n_cells(self) -> int:
        """How many cells hold a value."""
        return len(self.low)

    @property
    def n_nodes(self) -> int:
        """How many nodes there are, those of the tree included."""
        return self.n_tree + len(self.labels)

    @cached_property
    def first(self) -> NDArray[np.int32]:
        """The first cell of each node, −1 for a leaf that is no number."""
        return np.asarray(self._cells[0])

    @cached_property
    def last(self) -> NDArray[np.int32]:
        """The last cell of each node, −1 for a leaf that is no number."""
        return np.asarray(self._cells[1])

    @cached_property
    def least_above(self) -> NDArray[np.int32]:
        """The least node of the tree at or above each further node."""
        above = np.full((self.n_cells, self.n_cells), self.n_tree - 1, dtype=np.int32)
        inner = np.arange(len(self.cell_of_leaf), self.n_tree)
        width = self.last[inner] - self.first[inner]
        # the widest first: what lies within a narrower node is written over
        for node in inner[np.argsort(-width, kind="stable")].tolist():
            inside = slice(int(self.first[node]), int(self.last[node]) + 1)
            above[inside, inside] = node
        further = slice(self.n_tree, self.n_nodes)
        return np.asarray(above[self.first[further], self.last[further]], dtype=np.int32)

    @cached_property
    def width(self) -> NDArray[np.float64]:
        """The span of the numbers that each node stands for, 0 for a leaf."""
        is_inner = np.arange(self.n_nodes) >= len(self.cell_of_leaf)
        return np.where(is_inner, self.high[self.last] - self.low[self.first], 0.0)

    def under_further(self, number_of_leaf: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of a number per leaf over the leaves under each further node."""
        is_number = self.cell_of_leaf >= 0
        of_cell = np.zeros(self.n_cells + 1, dtype=np.int64)
        np.add.at(of_cell, self.cell_of_leaf[is_number] + 1, number_of_leaf[is_number])
        before = np.cumsum(of_cell)
        first, last = self.first[self.n_tree :], self.last[self.n_tree :]
        return np.asarray(before[last + 1] - before[first], dtype=np.int64)

    def is_within(self, below: NDArray[np.int32], above: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return, pair by pair, whether a node's cells lie within those of another run."""
        is_run = (self.first[below] >= 0) & (above >= len(self.cell_of_leaf))
        starts = self.first[above] <= self.first[below]
        return is_run & starts & (self.last[below] <= self.last[above])

    def with_leaves(self, n_more: int) -> Runs:
        """Return the same runs after more leaves, which are no numbers, came after the leaves."""
        n_leaves = len(self.cell_of_leaf)
        return Runs(
            self.n_tree + n_more,
            np.concatenate([self.cell_of_leaf, np.full(n_more, -1, dtype=np.int32)]),
            np.where(self.node_of >= n_leaves, self.node_of + n_more, self.node_of).astype(
                np.int32
            ),
            self.labels,
            self.low,
            self.high,
        )

    @cached_property
    def _cells(self) -> NDArray[np.int32]:
        cells = np.full((2, self.n_nodes), -1, dtype=np.int32)
        first, last = np.triu_indices(self.n_cells)
        cells[0, self.node_of[first, last]] = first
        cells[1, self.node_of[first, last]] = last
        cells[:, : len(self.cell_of_leaf)] = self.cell_of_leaf
        return cells

"""A column's tree, or its runs of cells, cut down to what its rows need, as kernels take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd.hierarchies.tree import Runs
from incrowd.methods.shared.forest import Walk

if TYPE_CHECKING:
    from incrowd.methods.shared.recreate.kernels.state import Space
    from incrowd.methods.shared.recreate.search import Plan


LARGEST_TABLE = 1 << 18
"""A column's meetings of node and value are tabulated up to this many."""

MOST_LINES = 128
"""How many lines a column has at most in the index of boxes."""


@dataclass(frozen=True, eq=False)
class ColumnTree:
    """The part of a column's tree that its rows need: values that occur, nodes where they meet.

    ``rank[node]`` is a node's number in the whole walk, or that of a range beyond the tree;
    ``leaf[value]`` is a value's node. A node covers the values from ``first`` up to ``last``.
    ``cells`` is there where any run of neighbouring cells is a node.
    """

    rank: NDArray[np.int32]
    parent: NDArray[np.int32]
    first: NDArray[np.int32]
    last: NDArray[np.int32]
    leaf: NDArray[np.int32]
    cells: Cells | None = None

    @classmethod
    def of(cls, walk: Walk, values: NDArray[np.int32], runs: Runs | None = None) -> ColumnTree:
        """Return the tree of these values: leaves in the order of the walk, each once."""
        if runs is not None:
            return _runs_of(walk, values, runs)
        low, high = values[:-1].copy(), values[1:].copy()
        while np.any(low != high):  # neighbours climb until they meet
            is_lower = low > high
            is_higher = high > low
            low[is_lower] = walk.parent[low[is_lower]]
            high[is_higher] = walk.parent[high[is_higher]]
        rank = np.unique(np.concatenate([values, low])).astype(np.int32)
        parent = np.zeros(len(rank), dtype=np.int32)
        open_nodes: list[int] = []
        ends = walk.end[rank].tolist()
        for node, start in enumerate(rank.tolist()):
            while open_nodes and ends[open_nodes[-1]] <= start:
                open_nodes.pop()
            parent[node] = open_nodes[-1] if open_nodes else node
            open_nodes.append(node)
        return cls(
            rank,
            parent,
            np.searchsorted(values, rank).astype(np.int32),
            np.searchsorted(values, walk.end[rank]).astype(np.int32),
            np.searchsorted(rank, values).astype(np.int32),
        )

    def meets(self) -> NDArray[np.int32]:
        """Return ``meets[node, value]``, the lowest node above both."""
        table = np.empty((len(self.rank), len(self.leaf)), dtype=np.int32)
        for node in range(len(self.rank)):  # a parent comes before its children
            if node:
                table[node] = table[self.parent[node]]
            table[node, self.first[node] : self.last[node]] = node
        return table

    def outermost_cells(self) -> NDArray[np.int32]:
        """Return the first and the last cell of each node; zeros in a tree without cells."""
        if self.cells is None:
            return np.zeros((2, len(self.rank)), dtype=np.int32)
        return np.stack([self.cells.first, self.cells.last])


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells that hold a value of these rows, and their runs.

    ``of_value[value]``; ``first`` and ``last`` are the outermost cells of each node.
    ``runs[last · (last + 1) / 2 + first]`` is the node of a run. Values that are no numbers share
    a cell of their own after the others, whose runs are all the root; the root's first cell is
    then −1.
    """

    of_value: NDArray[np.int32]
    first: NDArray[np.int32]
    last: NDArray[np.int32]
    runs: NDArray[np.int32]


def _runs_of(walk: Walk, values: NDArray[np.int32], runs: Runs) -> ColumnTree:
    """Return all runs of the cells that hold one of these values.

    The nodes are the root, the values, then runs of several values. Where something is no
    number, the run of all numbers is a node of its own even if a release shows it as the root.
    """
    cell_of_value = runs.cell_of_leaf[walk.node_at[values]]
    is_number = cell_of_value >= 0
    has_others = not is_number.all()
    # numbers come first in a walk, in their order; the rest hangs under the root
    held, own_cell = np.unique(cell_of_value[is_number], return_inverse=True)
    of_value = np.full(len(values), len(held), dtype=np.int32)
    of_value[is_number] = own_cell
    starts = np.searchsorted(of_value, np.arange(len(held) + 1))
    last, first = np.tril_indices(len(held))
    n_values = starts[last + 1] - starts[first]
    shown = runs.node_of[held[first], held[last]]
    is_node = (n_values > 1) & ((shown != runs.n_tree - 1) | has_others)
    node_of_run = np.zeros((len(held) + 1) * (len(held) + 2) // 2, dtype=np.int32)
    node_of_run[: len(shown)][is_node] = 1 + len(values) + np.arange(int(is_node.sum()))
    node_of_run[: len(shown)][n_values == 1] = 1 + starts[first[n_values == 1]]
    first, last, shown = first[is_node], last[is_node], shown[is_node]
    place = np.arange(len(values))
    root_cells = (-1, len(held)) if has_others else (0, len(held) - 1)
    return ColumnTree(
        _joined([0], values, walk.ranks(shown)),
        np.zeros(1 + len(values) + len(shown), dtype=np.int32),
        _joined([0], place, starts[first]),
        _joined([len(values)], place + 1, starts[last + 1]),
        (1 + place).astype(np.int32),
        Cells(
            of_value,
            _joined([root_cells[0]], of_value, first),
            _joined([root_cells[1]], of_value, last),
            node_of_run,
        ),
    )


def _joined(*parts: Any) -> NDArray[np.int32]:
    return np.asarray(np.concatenate(parts), dtype=np.int32)


def space_of(
    distinct: NDArray[np.int32],
    count: NDArray[np.int64],
    trees: list[ColumnTree],
    plan: Plan,
) -> Space:
    """Return distinct rows, ``distinct[column, row]`` in ranks, and trees as kernels take them."""
    from incrowd.methods.shared.recreate.kernels.state import Space

    n_columns, n_distinct = distinct.shape
    n_values = [len(tree.leaf) for tree in trees]
    value_start = np.cumsum([0, *n_values])
    node_start = np.cumsum([0, *(len(tree.rank) for tree in trees)])
    value = np.empty((n_distinct, n_columns), dtype=np.int32)
    prices, meets, lines = [], [], []
    meet_start = np.full(node_start[-1], -1, dtype=np.int64)
    run_start = np.zeros(node_start[-1], dtype=np.int64)
    n_tabulated = n_lines = 0
    for column, tree in enumerate(trees):
        value[:, column] = np.searchsorted(tree.rank[tree.leaf], distinct[column])
        cost = plan.cost_to_root[plan.columns[column]][tree.rank].astype(np.int64)
        prices.append(cost.max() - cost)
        nodes = np.arange(node_start[column], node_start[column + 1])
        if tree.cells is not None:
            meet_start[nodes] = -2 - n_tabulated
            run_start[nodes] = n_tabulated + len(tree.leaf)
            own_runs = (tree.cells.runs + node_start[column]).astype(np.int32)
            meets.append(np.concatenate([tree.cells.of_value, own_runs]))
            n_tabulated += meets[-1].size
        elif len(tree.rank) * len(tree.leaf) <= LARGEST_TABLE:
            meet_start[nodes] = n_tabulated + (nodes - nodes[0]) * len(tree.leaf)
            meets.append((tree.meets() + node_start[column]).astype(np.int32).ravel())
            n_tabulated += meets[-1].size
        n_own = min(MOST_LINES, n_values[column])
        lines.append(n_lines + np.arange(n_values[column]) * n_own // n_values[column])
        n_lines += n_own
    node_price = np.concatenate(prices)
    leaf = _numbered_on([tree.leaf for tree in trees], node_start)
    own_price = node_price[leaf[value + value_start[:-1]]].sum(axis=1)
    parent = _numbered_on([tree.parent for tree in trees], node_start)
    first = np.concatenate([tree.first for tree in trees])
    last = np.concatenate([tree.last for tree in trees])
    cells = np.concatenate([tree.outermost_cells() for tree in trees], axis=1)
    key = np.random.default_rng(0).integers(-(1 << 63), (1 << 63) - 1, len(node_price))
    columns = np.zeros((3, n_columns + 1), dtype=np.int64)
    columns[0], columns[1] = value_start, node_start
    columns[2, :-1] = np.argsort([-number for number in n_values], kind="stable")
    return Space(
        value=value,
        rows=np.stack([count, own_price]).astype(np.int64),
        columns=columns,
        values=np.stack([leaf, np.concatenate(lines)]).astype(np.int64),
        nodes=np.stack(
            [parent, first, last, node_price, key, meet_start, *cells, run_start]
        ).astype(np.int64),
        meets=np.concatenate([np.zeros(0, dtype=np.int32), *meets]),
        is_index_exact=max(n_values) <= MOST_LINES,
        scale=max(1, *(int(part.max()) for part in prices)),
        is_together=plan.is_together,
    )


def _numbered_on(tables: list[NDArray[np.int32]], start: NDArray[np.int64]) -> NDArray[np.int32]:
    """Put tables of nodes one after the other, each column's nodes after the last column's."""
    shifted = [table + first for table, first in zip(tables, start[:-1], strict=True)]
    return np.asarray(np.concatenate(shifted), dtype=np.int32)

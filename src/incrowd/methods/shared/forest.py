"""Hierarchies as kernels take them: numbered by a walk, one column after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.hierarchies.tree import Hierarchy


@dataclass(frozen=True, eq=False)
class Walk:
    """A hierarchy's nodes numbered by a walk: a node before what lies under it.

    Values that share an ancestor stand together, numbers in their numeric order.
    ``rank_of_node[node]`` is a node's number in the walk, ``node_at[rank]`` the way back;
    ``parent`` and ``end``, the first rank after those under a node, are in ranks too.
    """

    rank_of_node: NDArray[np.int32]
    node_at: NDArray[np.int32]
    parent: NDArray[np.int32]
    end: NDArray[np.int32]

    def ranks(self, nodes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the ranks of nodes; a range beyond the tree keeps its number."""
        return _looked_up(self.rank_of_node, nodes)

    def nodes(self, ranks: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the nodes of ranks, as ``ranks`` gives them."""
        return _looked_up(self.node_at, ranks)

    def by_rank(self, number_of_node: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return a number per node, those of ranges beyond the tree included, by rank."""
        n_tree = len(self.node_at)
        return np.concatenate([number_of_node[self.node_at], number_of_node[n_tree:]])

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> Walk:
        """Return the walk of a hierarchy."""
        nodes = np.arange(hierarchy.n_nodes)
        first = np.full(hierarchy.n_nodes, hierarchy.n_leaves, dtype=np.int64)
        first[: hierarchy.n_leaves] = hierarchy.leaf_order
        n_under = np.ones(hierarchy.n_nodes, dtype=np.int64)
        for node in range(hierarchy.n_nodes - 1):
            above = hierarchy.parent[node]
            first[above] = min(first[above], first[node])
            n_under[above] += n_under[node]
        # nodes with the same first leaf are above each other: the highest number is the highest
        node_at = np.lexsort([-nodes, first])
        rank_of_node = np.empty(hierarchy.n_nodes, dtype=np.int32)
        rank_of_node[node_at] = nodes
        return cls(
            rank_of_node,
            node_at.astype(np.int32),
            rank_of_node[hierarchy.parent[node_at]],
            (nodes + n_under[node_at]).astype(np.int32),
        )


@dataclass(frozen=True, eq=False)
class Forest:
    """The walks of all columns; plain arrays alone, so that it can be sent to workers."""

    walks: tuple[Walk, ...]

    @classmethod
    def of(cls, hierarchies: Sequence[Hierarchy]) -> Forest:
        """Return the forest of a table's hierarchies."""
        return cls(tuple(Walk.of(hierarchy) for hierarchy in hierarchies))

    @property
    def start(self) -> NDArray[np.int64]:
        """Where each column's numbers begin, and the end of all."""
        counts = [len(walk.parent) for walk in self.walks]
        return np.cumsum([0, *counts]).astype(np.int64)

    @property
    def parent(self) -> NDArray[np.int32]:
        """The parent of every node of every column."""
        return self.flat([walk.parent + np.int32(first) for walk, first in self._placed()])

    @property
    def end(self) -> NDArray[np.int32]:
        """The first number after those under every node of every column."""
        return self.flat([walk.end + np.int32(first) for walk, first in self._placed()])

    def flat(self, tables: Sequence[NDArray[np.int32]]) -> NDArray[np.int32]:
        """Put tables in ranks, one per column, one after the other."""
        return np.concatenate([np.zeros(0, dtype=np.int32), *tables])

    def in_ranks(self, nodes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return ``nodes[column, row]`` as numbers of each column's walk."""
        ranks = np.empty_like(nodes)
        for column, walk in enumerate(self.walks):
            ranks[column] = walk.ranks(nodes[column])
        return ranks

    def in_nodes(self, ranks: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return numbers of each column's walk as nodes again."""
        nodes = np.empty_like(ranks)
        for column, walk in enumerate(self.walks):
            nodes[column] = walk.nodes(ranks[column])
        return nodes

    def _placed(self) -> list[tuple[Walk, int]]:
        return list(zip(self.walks, self.start[:-1].tolist(), strict=True))


def _looked_up(table: NDArray[np.int32], numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the table's entries; numbers beyond its end stay as they are."""
    is_beyond = numbers >= len(table)
    if not is_beyond.any():
        return table[numbers]
    return np.where(is_beyond, numbers, table[np.where(is_beyond, 0, numbers)]).astype(np.int32)

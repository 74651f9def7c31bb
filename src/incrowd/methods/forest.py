"""Hierarchies as kernels take them: numbered by a walk, one column after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.data.hierarchy import Hierarchy


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
            ranks[column] = walk.rank_of_node[nodes[column]]
        return ranks

    def in_nodes(self, ranks: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return numbers of each column's walk as nodes again."""
        nodes = np.empty_like(ranks)
        for column, walk in enumerate(self.walks):
            nodes[column] = walk.node_at[ranks[column]]
        return nodes

    def _placed(self) -> list[tuple[Walk, int]]:
        return list(zip(self.walks, self.start[:-1].tolist(), strict=True))

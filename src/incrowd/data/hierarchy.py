"""Generalization hierarchies: a tree of labels, leaves first, root last.

Node numbers are chosen so that everything is one look-up: leaves are 0 … n_leaves − 1, every
parent has a larger number than its children, the root is the last node and its own parent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import HierarchyError

STAR = "*"
"""How a suppressed cell, and a cell at the root of its hierarchy, is written."""


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A tree over a column's values.

    ``labels[node]`` is what a release shows for a node; the root is always shown as ``*``.
    ``parent[node]`` is the next more general node. ``values`` holds the numbers behind the leaves
    where the leaves are numbers (else None); leaf order is then the numeric order.
    ``edge_weights[node]``, where given, is the user's price for the step from node to parent.
    """

    name: str
    labels: tuple[str, ...]
    parent: NDArray[np.int32]
    n_leaves: int
    values: NDArray[np.float64] | None = None
    edge_weights: NDArray[np.float64] | None = None
    origin: str = ""

    def __post_init__(self) -> None:
        nodes = np.arange(len(self.labels))
        if len(self.parent) != len(self.labels) or not 0 < self.n_leaves <= len(self.labels):
            raise ValueError("one parent per label, and at least one leaf")
        if not np.all(self.parent[:-1] > nodes[:-1]) or self.parent[-1] != nodes[-1]:
            raise ValueError("parents must have larger numbers than their children, root last")

    # ── building ────────────────────────────────────────────────────────────────────────────

    @classmethod
    def from_ladder(
        cls,
        name: str,
        levels: Sequence[Sequence[str]],
        *,
        values: NDArray[np.float64] | None = None,
        origin: str = "",
    ) -> Hierarchy:
        """Build from one list of labels per level: ``levels[level][leaf]``, leaves first.

        A root level is added unless the last level has one label only. A label that repeats
        that of its only child is the same node. The caller has made sure that it is a tree (the
        doctor names what is not); equal labels on one level are one node.
        """
        leaves = list(levels[0])
        n_leaves = len(leaves)
        ladders = [list(level) for level in levels[1:]]
        if not ladders or len(set(ladders[-1])) > 1:
            ladders.append([STAR] * n_leaves)
        ladders[-1] = [STAR] * n_leaves
        labels: list[str] = list(leaves)
        parent: list[int] = [-1] * n_leaves
        current = list(range(n_leaves))  # current[leaf]: its highest node so far
        for ladder in ladders:
            children: dict[str, dict[int, None]] = {}
            for leaf, label in enumerate(ladder):
                children.setdefault(label, {})[current[leaf]] = None
            node_of_label: dict[str, int] = {}
            for label, below in children.items():
                only = next(iter(below))
                if len(below) == 1 and labels[only] == label:
                    node_of_label[label] = only  # the same node, one level higher
                    continue
                node_of_label[label] = len(labels)
                for child in below:
                    parent[child] = len(labels)
                labels.append(label)
                parent.append(-1)
            current = [node_of_label[label] for label in ladder]
        if len(labels) == n_leaves:  # a single leaf that is its own root: give it one
            parent[0] = len(labels)
            labels.append(STAR)
            parent.append(-1)
        parent[-1] = len(labels) - 1
        return cls(
            name, tuple(labels), np.asarray(parent, dtype=np.int32), n_leaves, values, None, origin
        )

    @classmethod
    def from_parents(
        cls,
        name: str,
        parent_of: Mapping[str, str],
        *,
        weight_of: Mapping[str, float] | None = None,
        origin: str = "",
    ) -> Hierarchy:
        """Build from child → parent by label; the one label without a parent is the root."""
        inner = set(parent_of.values())
        roots = sorted(inner - set(parent_of))
        if len(roots) != 1:
            raise HierarchyError(
                f"column {name!r}: the hierarchy has {len(roots)} roots",
                remedy="Give every node but one a parent, up to a single root.",
                examples=roots,
            )
        loops = [label for label in parent_of if _climbs_forever(label, parent_of)]
        if loops:
            raise HierarchyError(
                f"column {name!r}: {len(loops)} nodes of the hierarchy climb in a cycle",
                remedy="Every node must reach the root by climbing to its parent.",
                examples=loops,
            )
        leaves = [label for label in parent_of if label not in inner]
        height = dict.fromkeys(leaves, 0)
        for leaf in leaves:
            label, steps = leaf, 0
            while label in parent_of:
                label, steps = parent_of[label], steps + 1
                height[label] = max(height.get(label, 0), steps)
        above = sorted((label for label in height if label in inner), key=lambda x: height[x])
        order = leaves + above
        number = {label: node for node, label in enumerate(order)}
        parent = [number[parent_of.get(label, label)] for label in order]
        weights = None
        if weight_of:
            weights = np.asarray([float(weight_of.get(label, 0.0)) for label in order])
        return cls(
            name,
            (*order[:-1], STAR),
            np.asarray(parent, dtype=np.int32),
            len(leaves),
            None,
            weights,
            origin,
        )

    def with_leaves(self, extra: Iterable[str]) -> Hierarchy:
        """Return the tree with more leaves directly under its root (for missing-value tokens)."""
        new = [label for label in extra if label not in self.leaf_of_value]
        if not new:
            return self
        shift = len(new)
        renumber = np.arange(self.n_nodes) + np.where(np.arange(self.n_nodes) < self.n_leaves, 0, shift)
        root = self.n_nodes - 1 + shift
        parent = np.concatenate(
            [
                renumber[self.parent[: self.n_leaves]],
                np.full(shift, root),
                renumber[self.parent[self.n_leaves :]],
            ]
        ).astype(np.int32)
        labels = (*self.labels[: self.n_leaves], *new, *self.labels[self.n_leaves :])
        values = self.values
        if values is not None:
            values = np.concatenate([values, np.full(shift, np.nan)])
        weights = self.edge_weights
        if weights is not None:
            top = float(weights[: self.n_leaves].max(initial=0.0))
            weights = np.concatenate(
                [weights[: self.n_leaves], np.full(shift, top), weights[self.n_leaves :]]
            )
        return Hierarchy(
            self.name, labels, parent, self.n_leaves + shift, values, weights, self.origin
        )

    # ── looking up ──────────────────────────────────────────────────────────────────────────

    @property
    def n_nodes(self) -> int:
        """How many nodes there are, the root included."""
        return len(self.labels)

    @property
    def root(self) -> int:
        """The number of the root."""
        return len(self.labels) - 1

    @cached_property
    def leaf_of_value(self) -> dict[str, int]:
        """The leaf of each value."""
        return {label: leaf for leaf, label in enumerate(self.labels[: self.n_leaves])}

    @cached_property
    def node_of_label(self) -> dict[str, int]:
        """The node of each label; where a leaf and an inner node share one, the inner node."""
        return {label: node for node, label in enumerate(self.labels)}

    @cached_property
    def depth(self) -> NDArray[np.int32]:
        """Steps from each node up to the root."""
        depth = np.zeros(self.n_nodes, dtype=np.int32)
        for node in range(self.n_nodes - 2, -1, -1):
            depth[node] = depth[self.parent[node]] + 1
        return depth

    @cached_property
    def height(self) -> NDArray[np.int32]:
        """The longest way from each node down to a leaf."""
        height = np.zeros(self.n_nodes, dtype=np.int32)
        for node in range(self.n_nodes - 1):
            above = self.parent[node]
            height[above] = max(height[above], height[node] + 1)
        return height

    @cached_property
    def leaf_count(self) -> NDArray[np.int64]:
        """How many leaves lie at or under each node."""
        count = np.zeros(self.n_nodes, dtype=np.int64)
        count[: self.n_leaves] = 1
        for node in range(self.n_nodes - 1):
            count[self.parent[node]] += count[node]
        return count

    @cached_property
    def leaf_order(self) -> NDArray[np.int32]:
        """The position of each leaf in a walk of the tree, so that a node's leaves are a run.

        Children are walked by their least number behind the leaves where leaves are numbers, else
        in the order of the file.
        """
        key = np.full(self.n_nodes, np.inf)
        key[: self.n_leaves] = np.arange(self.n_leaves)
        if self.values is not None:
            key[: self.n_leaves] = np.where(np.isnan(self.values), np.inf, self.values)
        for node in range(self.n_nodes - 1):
            key[self.parent[node]] = min(key[self.parent[node]], key[node])
        children: list[list[int]] = [[] for _ in range(self.n_nodes)]
        for node in range(self.n_nodes - 1):
            children[self.parent[node]].append(node)
        order = np.zeros(self.n_leaves, dtype=np.int32)
        position = 0
        stack = [self.root]
        while stack:
            node = stack.pop()
            if node < self.n_leaves:
                order[node] = position
                position += 1
                continue
            stack.extend(sorted(children[node], key=lambda child: (key[child], child), reverse=True))
        return order

    def ancestors(self, node: int) -> list[int]:
        """Return the node and everything above it, up to the root."""
        path = [node]
        while path[-1] != self.root:
            path.append(int(self.parent[path[-1]]))
        return path

    def is_ancestor(
        self, above: NDArray[np.int32], below: NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        """Return, pair by pair, whether ``above`` is ``below`` or one of its ancestors."""
        found: NDArray[np.bool_] = above == below
        climbing = below
        for _ in range(int(self.depth.max(initial=0))):
            climbing = self.parent[climbing]
            found = found | (above == climbing)
        return found

    @cached_property
    def width(self) -> NDArray[np.float64]:
        """The span of the numbers under each node, where leaves are numbers (else zeros)."""
        low = np.full(self.n_nodes, np.inf)
        high = np.full(self.n_nodes, -np.inf)
        if self.values is not None:
            low[: self.n_leaves] = np.where(np.isnan(self.values), np.inf, self.values)
            high[: self.n_leaves] = np.where(np.isnan(self.values), -np.inf, self.values)
        for node in range(self.n_nodes - 1):
            above = self.parent[node]
            low[above] = min(low[above], low[node])
            high[above] = max(high[above], high[node])
        return np.where(high >= low, high - low, 0.0)


def _climbs_forever(label: str, parent_of: Mapping[str, str]) -> bool:
    seen = set()
    while label in parent_of:
        if label in seen:
            return True
        seen.add(label)
        label = parent_of[label]
    return False

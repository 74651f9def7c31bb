"""Generalization hierarchies: trees of labels over a column's values.

Nodes are numbered leaves first, root last. A hierarchy on a grid of numbers also has every range of
neighbouring cells (a run) as a node beside the tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.errors import HierarchyError

STAR = "*"
"""How a suppressed cell, and a cell at the root of its hierarchy, is written."""


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of a hierarchy with ``n_tree`` nodes in its tree.

    ``node_of[first, last]`` is the node of the run of cells from first to last: a node of the
    tree where the tree has it, else one of the further nodes, which are numbered from ``n_tree``
    on and written as ``labels``. The run of all cells is the root. ``cell_of_leaf`` is −1 for a
    leaf that is not a number. A cell holds numbers from ``low`` to ``high``.
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
        """The first cell of each node, −1 for a leaf that is not a number."""
        return np.asarray(self._cells[0])

    @cached_property
    def last(self) -> NDArray[np.int32]:
        """The last cell of each node, −1 for a leaf that is not a number."""
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
        """Return the runs with more leaves, which are not numbers, after the leaves."""
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


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A tree over a column's values.

    ``labels[node]`` is what a release shows for a node; the root is always shown as ``*``.
    ``parent[node]`` is the next more general node. ``values`` holds the numbers behind the leaves
    where the leaves are numbers (else None); leaf order is then the numeric order.
    ``edge_weights[node]``, where given, is the user's cost of the step from node to parent.
    ``costs[node, depth]``, where given, is the user's cost of an ancestor at that depth.
    ``runs``, where given, are all ranges that a cell may show, most of them beyond the tree.
    ``mean_unit``, where given: cells show their group's mean, rounded to multiples of it.
    """

    name: str
    labels: tuple[str, ...]
    parent: NDArray[np.int32]
    n_leaves: int
    values: NDArray[np.float64] | None = None
    edge_weights: NDArray[np.float64] | None = None
    origin: str = ""
    costs: NDArray[np.float64] | None = None
    runs: Runs | None = None
    mean_unit: Fraction | None = None

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
        that of its only child is the same node. The caller has made sure that it is a tree
        (see ``doctor.examine``); equal labels on one level are one node.
        """
        groups = []
        for level in levels[1:]:
            encoded = pa.array(level, pa.string()).dictionary_encode()
            groups.append((encoded.indices.to_numpy(), encoded.dictionary.to_pylist()))
        return cls.from_groups(name, levels[0], groups, values=values, origin=origin)

    @classmethod
    def from_groups(
        cls,
        name: str,
        leaves: Sequence[str],
        levels: Sequence[tuple[NDArray[Any], Sequence[str]]],
        *,
        values: NDArray[np.float64] | None = None,
        origin: str = "",
    ) -> Hierarchy:
        """Build from ``(group_of_leaf, label_of_group)`` per level above the leaves.

        What ``from_ladder`` says of roots and repeated labels holds here too. O(leaves) per level.
        """
        n_leaves = len(leaves)
        if n_leaves == 0:
            raise HierarchyError(f"column {name!r}: a hierarchy needs at least one value")
        levels = list(levels)
        if not levels or len(np.unique(levels[-1][0])) > 1:
            levels.append((np.zeros(n_leaves, dtype=np.int64), [STAR]))
        top_group = int(levels[-1][0][0])
        levels[-1] = (levels[-1][0], [STAR] * (top_group + 1))
        labels = list(leaves)
        parent_of = np.full(n_leaves + sum(len(names) for _, names in levels), -1, dtype=np.int64)
        node_of_leaf = np.arange(n_leaves)  # the highest node of each leaf so far
        for group_of_leaf, label_of_group in levels:
            group_of_node = np.full(len(labels), -1, dtype=np.int64)
            group_of_node[node_of_leaf] = group_of_leaf
            if not np.array_equal(group_of_node[node_of_leaf], group_of_leaf):
                raise HierarchyError(
                    f"column {name!r}: the levels of the hierarchy do not nest",
                    remedy="Every group of a level must lie within one group of the next.",
                )
            children = np.flatnonzero(group_of_node >= 0)
            group_of_child = group_of_node[children]
            groups, first, n_children = np.unique(
                group_of_child, return_index=True, return_counts=True
            )
            node_of_group = np.full(int(groups.max()) + 1, -1, dtype=np.int64)
            for group, position, n_below in zip(
                groups.tolist(), first.tolist(), n_children.tolist(), strict=True
            ):
                only = int(children[position])
                label = label_of_group[group]
                if n_below == 1 and labels[only] == label and (only >= n_leaves or label != STAR):
                    node_of_group[group] = only  # the same node, one level higher
                else:
                    node_of_group[group] = len(labels)
                    labels.append(label)
            above = node_of_group[group_of_child]
            is_step = above != children
            parent_of[children[is_step]] = above[is_step]
            node_of_leaf = node_of_group[group_of_leaf]
        root = len(labels) - 1
        parent = parent_of[: len(labels)]
        parent[root] = root
        return _renumber(name, labels, parent, values, None, origin)

    @classmethod
    def from_parents(
        cls,
        name: str,
        parent_of: Mapping[str, str],
        *,
        weight_of: Mapping[str, float] | None = None,
        values: NDArray[np.float64] | None = None,
        origin: str = "",
    ) -> Hierarchy:
        """Build from child → parent by label; the one label without a parent is the root.

        A step that ``weight_of`` does not name weighs 1. ``values`` are in the leaves' order,
        which is their order in ``parent_of``.
        """
        labels = list(dict.fromkeys(chain(parent_of, parent_of.values())))
        number = {label: node for node, label in enumerate(labels)}
        n_roots = len(labels) - len(parent_of)
        if n_roots != 1:
            raise HierarchyError(
                f"column {name!r}: the hierarchy has {n_roots} roots",
                remedy="Give every node but one a parent, up to a single root.",
                examples=labels[len(parent_of) :],
            )
        root = len(labels) - 1  # children come first, and the root is no child
        parent = np.fromiter(
            chain((number[label] for label in parent_of.values()), [root]), np.int64, len(labels)
        )
        top = parent
        for _ in range(len(labels).bit_length()):
            top = top[top]
        in_loop = np.flatnonzero(top != root)
        if len(in_loop):
            raise HierarchyError(
                f"column {name!r}: {len(in_loop)} nodes of the hierarchy form a cycle",
                remedy="Every node must reach the root by climbing to its parent.",
                examples=[labels[node] for node in in_loop[:3]],
            )
        weights = None
        if weight_of:
            weights = np.asarray([float(weight_of.get(label, 1.0)) for label in labels])
        labels[root] = STAR
        return _renumber(name, labels, parent, values, weights, origin)

    @classmethod
    def from_paths(
        cls,
        name: str,
        paths: Iterable[Sequence[str]],
        *,
        weight_of: Mapping[str, float] | None = None,
        origin: str = "",
    ) -> Hierarchy:
        """Build from the way up of each leaf, leaf first, root last; one label is one node.

        Paths may be of unequal length; a label that repeats the one before it is skipped.
        ``doctor.examine`` says what is wrong with paths that are refused here.
        """
        parent_of: dict[str, str] = {}
        for path in paths:
            for child, above in pairwise(path):
                if child != above and parent_of.setdefault(child, above) != above:
                    raise HierarchyError(
                        f"column {name!r}: a label of the hierarchy has two parents",
                        remedy="Give each label one parent.",
                        examples=[child],
                    )
        return cls.from_parents(name, parent_of, weight_of=weight_of, origin=origin)

    def with_leaves(self, extra: Iterable[str]) -> Hierarchy:
        """Return the tree with more leaves directly under its root (for missing-value tokens)."""
        new = [label for label in dict.fromkeys(extra) if label not in self.leaf_of_value]
        if not new:
            return self
        shift = len(new)
        nodes = np.arange(self.n_nodes)
        renumber = nodes + np.where(nodes < self.n_leaves, 0, shift)
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
        runs = None if self.runs is None else self.runs.with_leaves(shift)
        n_leaves = self.n_leaves + shift
        return Hierarchy(
            self.name, labels, parent, n_leaves, values, weights, self.origin, runs=runs
        )

    # ── looking up ──────────────────────────────────────────────────────────────────────────

    @property
    def n_nodes(self) -> int:
        """How many nodes the tree has, the root included."""
        return len(self.labels)

    @property
    def n_all_nodes(self) -> int:
        """How many nodes there are, ranges beyond the tree included."""
        return self.n_nodes if self.runs is None else self.runs.n_nodes

    @property
    def root(self) -> int:
        """The number of the root."""
        return len(self.labels) - 1

    @cached_property
    def leaf_of_value(self) -> dict[str, int]:
        """The leaf of each value."""
        return {label: leaf for leaf, label in enumerate(self.labels[: self.n_leaves])}

    @cached_property
    def all_labels(self) -> tuple[str, ...]:
        """The label of every node, ranges beyond the tree included."""
        return self.labels if self.runs is None else (*self.labels, *self.runs.labels)

    @cached_property
    def node_of_label(self) -> dict[str, int]:
        """The node of each label; where a leaf and an inner node share one, the inner node."""
        return {label: node for node, label in enumerate(self.all_labels)}

    @cached_property
    def depth(self) -> NDArray[np.int32]:
        """Steps from each node up to the root."""
        return _depth(self.parent, self.root)

    @cached_property
    def height(self) -> NDArray[np.int32]:
        """The longest way from each node down to a leaf."""
        height = np.zeros(self.n_nodes, dtype=np.int32)
        for nodes in self._upwards:
            np.maximum.at(height, self.parent[nodes], height[nodes] + 1)
        return height

    @cached_property
    def leaf_count(self) -> NDArray[np.int64]:
        """How many leaves lie at or under each node."""
        count = np.zeros(self.n_nodes, dtype=np.int64)
        count[: self.n_leaves] = 1
        for nodes in self._upwards:
            np.add.at(count, self.parent[nodes], count[nodes])
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
        self._spread_up(np.minimum, key)
        start = np.zeros(self.n_nodes, dtype=np.int64)  # the position of a node's first leaf
        for nodes in reversed(self._upwards):
            above = self.parent[nodes]
            walked = nodes[np.lexsort((nodes, key[nodes], above))]
            above = self.parent[walked]
            before = np.cumsum(self.leaf_count[walked]) - self.leaf_count[walked]
            first = np.searchsorted(above, above, side="left")
            start[walked] = start[above] + before - before[first]
        return start[: self.n_leaves].astype(np.int32)

    @cached_property
    def leaf_spans(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The places in ``leaf_order`` that each node covers, ranges beyond the tree included.

        A node covers those from the first of its numbers to before the second.
        """
        low = np.full(self.n_nodes, np.inf)
        high = np.full(self.n_nodes, -np.inf)
        low[: self.n_leaves] = high[: self.n_leaves] = self.leaf_order
        self._spread_up(np.minimum, low)
        self._spread_up(np.maximum, high)
        if self.runs is not None:
            runs = self.runs
            is_number = runs.cell_of_leaf >= 0
            cell, place = runs.cell_of_leaf[is_number], self.leaf_order[is_number]
            first, last = np.full(runs.n_cells, np.inf), np.full(runs.n_cells, -np.inf)
            np.minimum.at(first, cell, place)
            np.maximum.at(last, cell, place)
            low = np.append(low, first[runs.first[runs.n_tree :]])
            high = np.append(high, last[runs.last[runs.n_tree :]])
        return low.astype(np.int32), (high + 1).astype(np.int32)

    @cached_property
    def width(self) -> NDArray[np.float64]:
        """The span of the numbers under each node, where leaves are numbers (else zeros).

        A range on a grid spans its cells, as far as the data reach, not only what occurs in it.
        """
        if self.runs is not None:
            return self.runs.width[: self.n_nodes]
        low = np.full(self.n_nodes, np.inf)
        high = np.full(self.n_nodes, -np.inf)
        if self.values is not None:
            low[: self.n_leaves] = np.where(np.isnan(self.values), np.inf, self.values)
            high[: self.n_leaves] = np.where(np.isnan(self.values), -np.inf, self.values)
        self._spread_up(np.minimum, low)
        self._spread_up(np.maximum, high)
        return np.subtract(high, low, out=np.zeros(self.n_nodes), where=high >= low)

    @cached_property
    def ladder(self) -> NDArray[np.int32]:
        """``ladder[level, leaf]``: the leaf's highest node that is at most ``level`` steps high.

        Level 0 is the leaves, the last level is the root, and levels nest: ARX's columns. Where
        the tree has leaves of unequal depth, a node waits until its parent's level is reached.
        """
        climbing = np.arange(self.n_leaves, dtype=np.int32)
        rungs = [climbing]
        for level in range(1, int(self.height[self.root]) + 1):
            above = self.parent[climbing]
            climbing = np.where(self.height[above] <= level, above, climbing)
            rungs.append(climbing)
        return np.stack(rungs)

    def ancestors(self, node: int) -> list[int]:
        """Return the node and everything above it, up to the root."""
        path = [node]
        while path[-1] != self.root:
            path.append(int(self.parent[path[-1]]))
        return path

    def is_ancestor(self, above: NDArray[np.int32], below: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return, pair by pair, whether ``above`` is ``below`` or one of its ancestors."""
        found: NDArray[np.bool_] = above == below
        if self.runs is not None:
            found |= (above == self.root) | self.runs.is_within(below, above)
            return found
        climbing = below
        for _ in range(int(self.depth.max(initial=0))):
            climbing = self.parent[climbing]
            found = found | (above == climbing)
        return found

    def over_all_nodes(self, number_of_node: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a number per node of the tree, for ranges beyond it that of the least above."""
        if self.runs is None:
            return number_of_node
        return np.concatenate([number_of_node, number_of_node[self.runs.least_above]])

    def sum_to_root(self, step: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return, per node, the sum of ``step`` over itself and its ancestors below the root."""
        total = np.zeros(self.n_nodes)
        for nodes in reversed(self._upwards):
            total[nodes] = total[self.parent[nodes]] + step[nodes]
        return total

    @cached_property
    def _upwards(self) -> list[NDArray[np.intp]]:
        """The nodes below the root in groups of equal depth, the deepest first."""
        return _nodes_by_depth(self.depth)

    def _spread_up(self, rule: np.ufunc, number: NDArray[np.float64]) -> None:
        for nodes in self._upwards:
            rule.at(number, self.parent[nodes], number[nodes])


def _depth(parent: NDArray[Any], root: int) -> NDArray[np.int32]:
    """Return the steps from each node to the root, by jumps that double. O(n log depth)."""
    depth = np.ones(len(parent), dtype=np.int32)
    depth[root] = 0
    jump = parent
    while bool((jump != root).any()):
        depth += depth[jump]
        jump = jump[jump]
    return depth


def _nodes_by_depth(depth: NDArray[np.int32]) -> list[NDArray[np.intp]]:
    order = np.argsort(-depth, kind="stable")
    cuts = np.flatnonzero(np.diff(depth[order])) + 1
    return np.split(order, cuts)[:-1]


def _renumber(
    name: str,
    labels: Sequence[str],
    parent: NDArray[np.int64],
    values: NDArray[np.float64] | None,
    weights: NDArray[np.float64] | None,
    origin: str,
) -> Hierarchy:
    """Return the tree under its one numbering; ``labels`` are in any order, the root last."""
    n_nodes, root = len(labels), len(labels) - 1
    is_leaf = np.ones(n_nodes, dtype=np.bool_)
    is_leaf[parent] = False
    leaves = np.flatnonzero(is_leaf)
    height = np.zeros(n_nodes, dtype=np.int32)
    first_leaf = np.full(n_nodes, n_nodes, dtype=np.int64)
    first_leaf[leaves] = leaves
    for nodes in _nodes_by_depth(_depth(parent, root)):
        np.maximum.at(height, parent[nodes], height[nodes] + 1)
        np.minimum.at(first_leaf, parent[nodes], first_leaf[nodes])
    inner = np.flatnonzero(~is_leaf)
    order = np.concatenate([leaves, inner[np.lexsort((first_leaf[inner], height[inner]))]])
    new_of_old = np.empty(n_nodes, dtype=np.int32)
    new_of_old[order] = np.arange(n_nodes, dtype=np.int32)
    shown = tuple(labels[node] for node in order.tolist())
    if shown.index(STAR) != root:
        raise HierarchyError(
            f"column {name!r}: a value or a group below the root has the label '*'",
            remedy="'*' is how a release writes the root: give it another name.",
        )
    return Hierarchy(
        name,
        shown,
        new_of_old[parent[order]],
        len(leaves),
        values,
        None if weights is None else weights[order],
        origin,
    )

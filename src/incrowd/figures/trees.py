"""Trees to draw: hierarchies with what became of their values, and the splits of a partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.figures.blocks import Node, Tree
from incrowd.hierarchies.tree import Hierarchy

MOST_NODES = 120
"""Nodes that are drawn, the heaviest; the others would be thinner than a line."""

LEAST_SHARE, LEAST_SHOWN_SHARE = 1 / 60, 1 / 150
"""Nodes of less than these shares of all rows are not drawn: where nothing is shown at them or
below, and where something is."""

Counts = NDArray[np.int64]


def hierarchy_tree(hierarchy: Hierarchy, before: Counts, after: Counts) -> Tree:
    """Return a hierarchy with the rows under each node, and those that a release shows there.

    ``before`` and ``after`` count rows by node. Ranges beyond the tree are counted at the least
    node above them.
    """
    n_nodes = hierarchy.n_nodes
    shown = after[:n_nodes].astype(np.int64).copy()
    n_beyond = 0
    if hierarchy.runs is not None and len(after) > n_nodes:
        n_beyond = int(after[n_nodes:].sum())
        np.add.at(shown, hierarchy.runs.least_above, after[n_nodes:])
    under = _count_under(hierarchy, before[:n_nodes])
    kept = _choose_nodes(hierarchy, under, _count_under(hierarchy, shown))
    nodes = _walk_order(hierarchy, kept, under, shown)
    n_left = int((under > 0).sum()) - len(nodes)
    note = (
        "A field is as high as the rows that belong to it; the stronger its colour, the more of "
        "them are shown just so. The root is *."
    )
    if n_left:
        note += f" {n_left:,} smaller nodes are not drawn."
    if n_beyond:
        note += f" {n_beyond:,} cells show a range between two levels: here at the wider one."
    return Tree(
        "The hierarchy, and where rows ended in it",
        nodes,
        weight_title="rows shown so",
        span_title="rows that belong to it",
        note=note,
    )


def _count_under(hierarchy: Hierarchy, counts: Counts) -> Counts:
    """Return the rows at or below each node."""
    under = counts.astype(np.int64).copy()
    depth = hierarchy.depth
    for level in range(int(depth.max(initial=0)), 0, -1):
        nodes = np.flatnonzero(depth == level)
        np.add.at(under, hierarchy.parent[nodes], under[nodes])
    return under


def _choose_nodes(hierarchy: Hierarchy, under: Counts, shown_under: Counts) -> set[int]:
    """Return the nodes to draw: nobody's parent is left out, since it is at least as heavy."""
    share = np.where(shown_under > 0, LEAST_SHOWN_SHARE, LEAST_SHARE)
    is_heavy = under >= np.maximum(1, under[hierarchy.root] * share)
    found = np.flatnonzero(is_heavy)
    order = np.lexsort((found, hierarchy.depth[found], -under[found]))
    return set(found[order][:MOST_NODES].tolist())


def _walk_order(
    hierarchy: Hierarchy, kept: set[int], under: Counts, shown: Counts
) -> tuple[Node, ...]:
    """Return nodes, parents before children, siblings as a walk of the tree meets them."""
    first_leaf = np.full(hierarchy.n_nodes, hierarchy.n_leaves, dtype=np.int64)
    first_leaf[: hierarchy.n_leaves] = hierarchy.leaf_order
    depth = hierarchy.depth
    for level in range(int(depth.max(initial=0)), 0, -1):
        nodes = np.flatnonzero(depth == level)
        np.minimum.at(first_leaf, hierarchy.parent[nodes], first_leaf[nodes])
    ordered = sorted(kept, key=lambda node: (int(depth[node]), int(first_leaf[node]), node))
    place_of = {node: place for place, node in enumerate(ordered)}
    return tuple(
        Node(
            hierarchy.labels[node] or "(missing)",
            -1 if node == hierarchy.root else place_of[int(hierarchy.parent[node])],
            float(shown[node]),
            bool(shown[node]),
            float(under[node]),
        )
        for node in ordered
    )


def split_data(left: Any, right: Any, n_items: Any) -> tuple[dict[str, Any], ...]:
    """Return a tree of splits as plain data: each node's parent (−1) and number of items.

    ``left[node]`` and ``right[node]`` are a node's children, −1 for a part that was not split.
    Children come after their parents.
    """
    parent = [-1] * len(n_items)
    order = [0] if len(n_items) else []
    for node in order:
        for child in (int(left[node]), int(right[node])):
            if child >= 0:
                parent[child] = node
                order.append(child)
    place_of = {node: place for place, node in enumerate(order)}
    return tuple(
        {
            "parent": -1 if parent[node] < 0 else place_of[parent[node]],
            "n_items": int(n_items[node]),
            "is_part": int(left[node]) < 0,
        }
        for node in order
    )


def split_tree(splits: Sequence[dict[str, Any]]) -> Tree:
    """Return the splits by which a search came to its parts of items.

    Each split has ``parent``, ``n_items``, ``is_part`` (it was not split further) and, where
    stated, ``label``.
    """
    order = sorted(range(len(splits)), key=lambda place: (-splits[place]["n_items"], place))
    kept = sorted(set(order[:MOST_NODES]))
    place_of = {old: new for new, old in enumerate(kept)}
    nodes = []
    for old in kept:
        split = splits[old]
        nodes.append(
            Node(
                str(split.get("label") or f"{split['n_items']:,}"),
                place_of.get(split["parent"], -1),
                float(split["n_items"]) if split["is_part"] else 0.0,
                bool(split["is_part"]),
                float(split["n_items"]),
            )
        )
    n_left = len(splits) - len(nodes)
    note = (
        "Numbers of items. All public items on the left are split, as long as every promise "
        "holds, into the parts that the release shows: the coloured fields."
    )
    if n_left:
        note += f" {n_left:,} smaller nodes are not drawn."
    return Tree(
        "How the items were split into parts",
        tuple(nodes),
        weight_title="items shown as one",
        span_title="items",
        note=note,
    )

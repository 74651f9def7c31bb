"""Trees to draw: hierarchies with what became of their values, and the splits of a partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.figures.blocks import Node, Tree
from incrowd.hierarchies.tree import Hierarchy

MOST_NODES = 60
"""Splits that are drawn, the heaviest."""

MOST_LINES, MOST_UNSHOWN_LINES = 26, 16
"""Lines of labels that a hierarchy is drawn in; siblings beyond it share one. With so many lines
no more are added for nodes at and below which nothing is shown."""

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
    shown_under = _count_under(hierarchy, shown)
    kept = _choose_nodes(hierarchy, under, shown_under)
    nodes = _walk_order(hierarchy, kept, _Rows(under, shown, shown_under))
    note = (
        "The root (*) is on the left, values on the right. The stronger a field's colour, the "
        "more of its rows are shown as its label; the higher it is, the more rows belong to it."
    )
    if n_beyond:
        note += f" {n_beyond:,} cells show a range between two levels: here at the wider one."
    return Tree(
        "The hierarchy, and where rows ended in it",
        nodes,
        weight_title="rows shown so",
        span_title="rows that belong to it",
        note=note,
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows by node: those that belong to it, those shown at it, those shown at it and below."""

    under: Counts
    shown: Counts
    shown_under: Counts


def _count_under(hierarchy: Hierarchy, counts: Counts) -> Counts:
    """Return the rows at or below each node."""
    under = counts.astype(np.int64).copy()
    depth = hierarchy.depth
    for level in range(int(depth.max(initial=0)), 0, -1):
        nodes = np.flatnonzero(depth == level)
        np.add.at(under, hierarchy.parent[nodes], under[nodes])
    return under


def _choose_nodes(hierarchy: Hierarchy, under: Counts, shown_under: Counts) -> set[int]:
    """Return the nodes to draw, from the root down: where something is shown first, heavy first.

    Nobody's parent is left out. A node's children that are not drawn share a line.
    """
    children: dict[int, list[int]] = {}
    for node in np.flatnonzero(under > 0).tolist():
        if node != hierarchy.root:
            children.setdefault(int(hierarchy.parent[node]), []).append(node)
    kept = {hierarchy.root}
    n_kept_below: dict[int, int] = {}
    n_lines = 1
    waiting: list[tuple[bool, int, int]] = []

    def wait(node: int) -> None:
        for child in children.get(node, ()):
            heappush(waiting, (not shown_under[child], -int(under[child]), child))

    wait(hierarchy.root)
    while waiting:
        _, _, node = heappop(waiting)
        parent = int(hierarchy.parent[node])
        n_siblings, n_before = len(children[parent]), n_kept_below.get(parent, 0)
        # the first child takes its parent's line, the last one that of the others
        added = int(n_before + 1 < n_siblings)
        if n_lines + added > (MOST_LINES if shown_under[node] else MOST_UNSHOWN_LINES):
            continue
        n_lines += added
        n_kept_below[parent] = n_before + 1
        kept.add(node)
        wait(node)
    return kept


def _walk_order(hierarchy: Hierarchy, kept: set[int], rows: _Rows) -> tuple[Node, ...]:
    """Return nodes, parents before children, siblings as a walk of the tree meets them."""
    first_leaf = np.full(hierarchy.n_nodes, hierarchy.n_leaves, dtype=np.int64)
    first_leaf[: hierarchy.n_leaves] = hierarchy.leaf_order
    depth = hierarchy.depth
    for level in range(int(depth.max(initial=0)), 0, -1):
        nodes = np.flatnonzero(depth == level)
        np.minimum.at(first_leaf, hierarchy.parent[nodes], first_leaf[nodes])
    ordered = sorted(kept, key=lambda node: (int(depth[node]), int(first_leaf[node]), node))
    place_of = {node: place for place, node in enumerate(ordered)}
    drawn = [
        Node(
            hierarchy.labels[node] or "(missing)",
            -1 if node == hierarchy.root else place_of[int(hierarchy.parent[node])],
            float(rows.shown[node]),
            bool(rows.shown[node]),
            float(rows.under[node]),
        )
        for node in ordered
    ]
    return (*drawn, *_other_nodes(hierarchy, kept, place_of, rows))


def _other_nodes(
    hierarchy: Hierarchy, kept: set[int], place_of: dict[int, int], rows: _Rows
) -> list[Node]:
    """Return one node for all children of a drawn node that are not drawn, where others are."""
    has_drawn = {int(hierarchy.parent[node]) for node in kept if node != hierarchy.root}
    left: dict[int, list[int]] = {}
    for node in np.flatnonzero(rows.under > 0).tolist():
        parent = int(hierarchy.parent[node])
        if node not in kept and parent in has_drawn:
            left.setdefault(parent, []).append(node)
    found = []
    for parent, nodes in sorted(left.items()):
        n_shown = int(rows.shown_under[nodes].sum())
        label = "1 other" if len(nodes) == 1 else f"{len(nodes):,} others"
        n_under = float(rows.under[nodes].sum())
        found.append(Node(label, place_of[parent], float(n_shown), bool(n_shown), n_under))
    return found


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

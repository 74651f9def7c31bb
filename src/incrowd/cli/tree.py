"""How a hierarchy looks in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.cli.terminal import results

if TYPE_CHECKING:
    from incrowd.data.hierarchy import Hierarchy

MOST_LINES = 60  # of a drawing, about
DEEPEST = 12  # levels that are drawn


def draw_tree(tree: Hierarchy) -> None:
    """Draw the tree on standard output, large ones abbreviated to fit about MOST_LINES."""
    from rich.text import Text
    from rich.tree import Tree

    children = _children(tree)
    shown = next((few for few in (12, 6, 4, 3) if _n_lines(tree, children, few) <= MOST_LINES), 2)

    def grow(branch: Tree, node: int, depth: int) -> None:
        below = children[node]
        hidden = len(below) - shown if len(below) > shown + 1 else 0
        for place, child in enumerate(below):
            if hidden and shown - 1 <= place < len(below) - 1:
                if place == shown - 1:
                    branch.add(Text(f"… {hidden:,} more", style="dim"))
                continue
            twig = branch.add(Text(_line(tree, children, child)))
            if not _is_bundle(tree, children, child) and depth < DEEPEST:
                grow(twig, child, depth + 1)

    picture = Tree(Text(_line(tree, children, tree.root)))
    if not _is_bundle(tree, children, tree.root):
        grow(picture, tree.root, 1)
    results().print(picture)


def _children(tree: Hierarchy) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in range(tree.n_nodes)]
    first_leaf = [tree.n_leaves] * tree.n_nodes
    for leaf, place in enumerate(tree.leaf_order.tolist()):
        first_leaf[leaf] = place
    for node in range(tree.n_nodes - 1):
        above = int(tree.parent[node])
        children[above].append(node)
        first_leaf[above] = min(first_leaf[above], first_leaf[node])
    for below in children:
        below.sort(key=first_leaf.__getitem__)
    return children


def _is_bundle(tree: Hierarchy, children: list[list[int]], node: int) -> bool:
    """Whether all children are leaves, which then stand on the node's own line."""
    return all(child < tree.n_leaves for child in children[node])


def _n_lines(tree: Hierarchy, children: list[list[int]], shown: int) -> int:
    """Return how many lines a drawing has that shows so many children of each node."""
    lines, nodes = 0, [tree.root]
    while nodes and lines <= MOST_LINES:
        lines += len(nodes)
        wide = [children[node] for node in nodes if not _is_bundle(tree, children, node)]
        nodes = [child for below in wide for child in [*below[: shown - 1], *below[-1:]]]
    return lines


def _line(tree: Hierarchy, children: list[list[int]], node: int) -> str:
    label = _printable(tree.labels[node])
    below = children[node]
    if not below:
        return label
    if not _is_bundle(tree, children, node):
        n_values = int(tree.leaf_count[node])
        return f"{label}  ({n_values:,} {'value' if n_values == 1 else 'values'})"
    names = [_printable(tree.labels[child]) for child in below]
    if len(names) > 8:
        names = [*names[:5], f"… {len(names) - 6:,} more", names[-1]]
    return f"{label}: {', '.join(names)}"


def _printable(label: str) -> str:
    """Return a label that cannot move the cursor or hide itself."""
    safe = "".join(sign if sign.isprintable() else "�" for sign in label)
    return (safe if len(safe) <= 60 else safe[:59] + "…") or "(empty)"

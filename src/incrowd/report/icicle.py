"""Where the nodes of a tree lie in its drawing: the root on the left, what is below to its right.

A node is as high as its share of the whole, so that children fill their parent from the top.
"""

from __future__ import annotations

from dataclasses import dataclass

from incrowd.figures.blocks import Tree


@dataclass(frozen=True)
class Place:
    """A node's place: its column, and from where to where it reaches, as shares of the height.

    ``share`` is how much of what belongs to it lies at the node itself.
    """

    label: str
    column: int
    top: float
    bottom: float
    share: float
    is_shown: bool


def spans(tree: Tree) -> list[float]:
    """Return how much belongs to each node and all below it."""
    if tree.nodes and all(node.span is not None for node in tree.nodes):
        return [float(node.span or 0.0) for node in tree.nodes]
    below = [node.weight for node in tree.nodes]
    for place in range(len(tree.nodes) - 1, 0, -1):
        parent = tree.nodes[place].parent
        if parent >= 0:
            below[parent] += below[place]
    return below


def places(tree: Tree) -> list[Place]:
    """Return the place of every node that belongs to something; O(nodes)."""
    below = spans(tree)
    found: list[Place] = []
    column = [0] * len(tree.nodes)
    top = [0.0] * len(tree.nodes)
    next_free = [0.0] * len(tree.nodes)
    whole = sum(span for node, span in zip(tree.nodes, below, strict=True) if node.parent < 0)
    root_free = 0.0
    for place, node in enumerate(tree.nodes):
        height = below[place] / whole if whole > 0 else 0.0
        if node.parent < 0:
            top[place], root_free = root_free, root_free + height
        else:
            column[place] = column[node.parent] + 1
            top[place] = next_free[node.parent]
            next_free[node.parent] += height
        next_free[place] = top[place]
        if height > 0:
            share = min(1.0, node.weight / below[place])
            found.append(
                Place(
                    node.label,
                    column[place],
                    top[place],
                    top[place] + height,
                    share,
                    node.is_shown,
                )
            )
    return found

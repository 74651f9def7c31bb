"""Losses by their definitions, cell by cell: lists, Counter and loops, no NumPy.

A column is a ``Tree``; a table is a list of rows, each a list of one node per column. A
suppressed row of the release is None.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass


@dataclass
class Tree:
    """A hierarchy as plain lists: parent of each node, leaves first, root last."""

    parent: list[int]
    n_leaves: int
    values: list[float] | None = None
    weights: list[float] | None = None

    @property
    def root(self) -> int:
        return len(self.parent) - 1

    def path(self, node: int) -> list[int]:
        """The node and all above it."""
        nodes = [node]
        while nodes[-1] != self.root:
            nodes.append(self.parent[nodes[-1]])
        return nodes

    def leaves(self, node: int) -> list[int]:
        """The leaves at or under a node."""
        return [leaf for leaf in range(self.n_leaves) if node in self.path(leaf)]

    def height(self, node: int) -> int:
        """The longest way from a leaf up to a node."""
        return max(self.path(leaf).index(node) for leaf in self.leaves(node))

    def span(self, node: int) -> float:
        """The range of the numbers under a node."""
        assert self.values is not None
        under = [self.values[leaf] for leaf in self.leaves(node)]
        under = [value for value in under if not math.isnan(value)]
        return max(under) - min(under) if under else 0.0

    def is_numeric(self) -> bool:
        """Whether ranges can be measured."""
        return self.values is not None and self.span(self.root) > 0

    def steps(self, leaf: int, node: int) -> list[int]:
        """The nodes left behind on the way from a leaf up to a node."""
        path = self.path(leaf)
        return path[: path.index(node)]

    def weight(self, node: int) -> float:
        """The price of the step from a node to its parent."""
        return 1.0 if self.weights is None else self.weights[node]


def price(tree: Tree, metric: str, leaf: int, node: int) -> float:
    """What showing a node in place of a leaf costs."""
    if metric == "loss":
        return (len(tree.leaves(node)) - 1) / max(1, tree.n_leaves - 1)
    if metric in ("ncp", "total") and tree.is_numeric():
        return tree.span(node) / tree.span(tree.root)
    if metric == "ncp":
        return 0.0 if node == leaf else len(tree.leaves(node)) / tree.n_leaves
    if metric == "total":
        return tree.height(node) / tree.height(tree.root)
    if metric.startswith("distortion"):
        beta = float(metric.partition(":")[2] or 1)
        levels = tree.height(tree.root)
        climbed = sum(1 / (len(tree.path(below)) - 1) ** beta for below in tree.steps(leaf, node))
        return climbed / sum(1 / level**beta for level in range(1, levels + 1))
    steps = tree.steps(leaf, node)
    if metric == "llm":
        return float(sum(len(tree.leaves(tree.parent[below])) for below in steps))
    if metric == "wllm":
        return sum(len(tree.leaves(tree.parent[below])) * tree.weight(below) for below in steps)
    if metric == "weights":
        return sum(tree.weight(below) for below in steps)
    raise AssertionError(metric)


def share(
    trees: list[Tree], before: list[list[int]], after: list[list[int] | None], metric: str
) -> float:
    """Σ price over Σ price of everything at the root."""
    lost = most = 0.0
    for originals, shown in zip(before, after, strict=True):
        for column, tree in enumerate(trees):
            leaf = originals[column]
            lost += price(tree, metric, leaf, tree.root if shown is None else shown[column])
            most += price(tree, metric, leaf, tree.root)
    return lost / most if most else 0.0


def released_cells(trees: list[Tree], after: list[list[int] | None]) -> list[tuple[int, int]]:
    """Every cell of the release as (column, node), suppressed rows at the root."""
    return [
        (column, tree.root if shown is None else shown[column])
        for shown in after
        for column, tree in enumerate(trees)
    ]


def gcp(trees: list[Tree], after: list[list[int] | None]) -> float:
    """The mean penalty of the released cells."""
    cells = released_cells(trees, after)
    penalties = [
        # a leaf has no penalty; above, the price does not depend on which leaf it was
        0.0 if node < trees[column].n_leaves else price(trees[column], "ncp", -1, node)
        for column, node in cells
    ]
    return sum(penalties) / len(cells)


def precision(trees: list[Tree], after: list[list[int] | None]) -> float:
    """1 − the mean relative height."""
    cells = released_cells(trees, after)
    heights = [trees[column].height(node) for column, node in cells]
    tops = [trees[column].height(trees[column].root) for column, _ in cells]
    return 1 - sum(high / top for high, top in zip(heights, tops, strict=True)) / len(cells)


def suppressed_cells(trees: list[Tree], after: list[list[int] | None]) -> float:
    """The share of cells at the root."""
    cells = released_cells(trees, after)
    return sum(node == trees[column].root for column, node in cells) / len(cells)


def non_uniform_entropy(
    trees: list[Tree], before: list[list[int]], after: list[list[int] | None]
) -> float:
    """Bits lost over bits that can be lost."""
    lost = most = 0.0
    for column, tree in enumerate(trees):
        originals = [row[column] for row in before]
        for leaf, shown in zip(originals, after, strict=True):
            node = tree.root if shown is None else shown[column]
            same = originals.count(leaf)
            under = sum(other in tree.leaves(node) for other in originals)
            lost -= math.log2(same / under)
            most -= math.log2(same / len(originals))
    return lost / most if most > 1e-12 else 0.0


def group_sizes(after: list[list[int] | None]) -> list[int]:
    """Sizes of the released groups."""
    return list(Counter(tuple(shown) for shown in after if shown is not None).values())


def discernibility(after: list[list[int] | None]) -> float:
    """Σ |E|² + n per suppressed row."""
    return sum(size * size for size in group_sizes(after)) + after.count(None) * len(after)


def average_class_size(after: list[list[int] | None], k: int) -> float:
    """Mean released group size over k."""
    sizes = group_sizes(after)
    return sum(sizes) / len(sizes) / k if sizes else len(after) / k

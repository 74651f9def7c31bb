"""The hierarchy of a column of numbers on a grid: a tree of ranges, and all other ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from incrowd.data.grid import Grid
from incrowd.data.groupings import Levels
from incrowd.data.hierarchy import STAR, Hierarchy
from incrowd.data.runs import Runs


def ranges_hierarchy(
    column: str, labels: Sequence[str], numbers: NDArray[np.float64], grid: Grid, origin: str
) -> Hierarchy:
    """Return the hierarchy of rising numbers on a grid, with every run of its cells as a node.

    The tree goes from values to cells, to halves of halves of the cells that hold a value, up to
    the root; a run goes from a cell that holds a value to another. A cell of one whole number is
    that value.
    """
    place_of_cell, cell_of_leaf = np.unique(grid.cells_of(numbers), return_inverse=True)
    starts = np.append(np.searchsorted(cell_of_leaf, np.arange(len(place_of_cell))), len(labels))

    def label(first: int, last: int) -> str:
        members = labels[starts[first] : starts[last + 1]]
        return grid.label(int(place_of_cell[first]), int(place_of_cell[last]), members)

    levels: Levels = []
    for spans in reversed(_halves(len(place_of_cell))):
        span_of_cell = np.repeat(np.arange(len(spans)), [last - first + 1 for first, last in spans])
        levels.append((span_of_cell[cell_of_leaf], [label(*span) for span in spans]))
    root = (np.zeros(len(labels), dtype=np.int64), [STAR])
    tree = Hierarchy.from_groups(column, labels, [*levels, root], values=numbers, origin=origin)
    bounds = [
        grid.bounds(place, float(numbers[0]), float(numbers[-1]))
        for place in place_of_cell.tolist()
    ]
    node_of = np.full((len(bounds), len(bounds)), -1, dtype=np.int32)
    further: list[str] = []
    for first in range(len(bounds)):
        for last in range(first, len(bounds)):
            is_all = first == 0 and last == len(bounds) - 1
            name = STAR if is_all else label(first, last)
            node = tree.node_of_label.get(name)
            if node is None:
                node = tree.n_nodes + len(further)
                further.append(name)
            node_of[first, last] = node
    low, high = np.asarray(bounds).T
    runs = Runs(tree.n_nodes, cell_of_leaf.astype(np.int32), node_of, tuple(further), low, high)
    return replace(tree, runs=runs)


def _halves(n_cells: int) -> list[list[tuple[int, int]]]:
    """Return the cells in ever smaller spans, (first, last): two halves first, then cells."""
    spans = [(0, n_cells - 1)]
    levels = []
    while len(spans) < n_cells:
        halved = []
        for first, last in spans:
            middle = (first + last) // 2
            halved += [(first, middle), (middle + 1, last)] if first < last else [(first, last)]
        spans = halved
        levels.append(spans)
    return levels

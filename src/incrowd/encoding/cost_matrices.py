"""User-defined costs of generalization: a matrix per column, node by node.

A matrix follows no rule (greedy's paper, §II-B): costs of steps need not add up, nor must a higher
ancestor cost more than a lower one. It is kept as ``costs[node, depth]``, the cost of
generalizing a node to its ancestor at that depth (the root's is 0).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from incrowd.encoding.rows import Rows
from incrowd.errors import HierarchyError, InputError
from incrowd.hierarchies.costs import FIXED_POINT_BITS, cost_to_root
from incrowd.hierarchies.tree import Hierarchy

CostMatrix = NDArray[np.float64]
StatedCosts = dict[tuple[int, int], float]
"""Cells that are not empty: the cost from a node to another."""


def add_costs(rows: Rows, paths: Mapping[str, str]) -> Rows:
    """Return rows whose hierarchies know the costs that files state, by column."""
    hierarchies = [
        replace(tree, costs=read_costs(Path(paths[name]), tree)) if name in paths else tree
        for name, tree in zip(rows.names, rows.hierarchies, strict=True)
    ]
    return replace(rows, hierarchies=tuple(hierarchies))


def read_costs(path: Path, hierarchy: Hierarchy) -> CostMatrix:
    """Read a CSV of costs from the node of its line to the node of its column.

    The labels of nodes stand in the first line and the first column. Every node needs the cost of
    each of its ancestors. Cells of other pairs are empty, 0, or what it costs to generalize the
    line's node to where the two meet, as the paper prints them. The leaf of missing cells, which
    no file names, costs as much as the most expensive leaf.
    """
    where = f"{path.name}, costs of column {hierarchy.name!r}"
    if hierarchy.runs is not None:
        raise HierarchyError(
            f"{where}: the column's ranges are grown from the data, so costs cannot name them",
            remedy="Give the column a hierarchy: --hierarchy COLUMN=FILE or intervals:5,10.",
        )
    lines = _read_lines(path, where)
    across = _parse_nodes(lines[0][1:], hierarchy, where)
    down = _parse_nodes([line[0] for line in lines[1:]], hierarchy, where)
    stated: StatedCosts = {}
    unclear: list[str] = []
    for node, line in zip(down, lines[1:], strict=True):
        if len(line) != len(lines[0]):
            raise HierarchyError(
                f"{where}: a line has {len(line)} cells, the first line {len(lines[0])}",
                remedy="Give every line one cell per node.",
                examples=[line[0]],
            )
        for above, text in zip(across, line[1:], strict=True):
            if text.strip():
                number = _parse_cost(text)
                if math.isnan(number):
                    unclear.append(text)
                stated[node, above] = number
    if unclear:
        raise HierarchyError(
            f"{where}: {len(unclear)} cells are not numbers of 0 or more",
            remedy="State costs as numbers of 0 or more; leave cells of other pairs empty.",
            examples=unclear[:3],
        )
    return _arrange_by_depth(stated, hierarchy, where)


def costs_by_depth(hierarchy: Hierarchy, metric: str) -> CostMatrix:
    """Return a hierarchy's own costs, or a metric's in the same form."""
    if hierarchy.costs is not None:
        return hierarchy.costs
    to_root = cost_to_root(hierarchy, metric)
    costs = np.zeros((hierarchy.n_nodes, int(hierarchy.depth.max(initial=0)) + 1))
    for node in range(hierarchy.n_nodes):
        for above in hierarchy.ancestors(node):
            costs[node, hierarchy.depth[above]] = to_root[node] - to_root[above]
    return costs


def fixed_point_matrices(
    hierarchies: tuple[Hierarchy, ...], metric: str
) -> list[NDArray[np.int64]]:
    """Return every column's costs by depth as whole numbers, on one scale for all columns."""
    tables = [costs_by_depth(hierarchy, metric) for hierarchy in hierarchies]
    largest = max((float(table.max(initial=0.0)) for table in tables), default=0.0)
    scale = 2.0 ** (FIXED_POINT_BITS - math.ceil(math.log2(largest))) if largest > 0 else 1.0
    return [np.rint(table * scale).astype(np.int64) for table in tables]


def _read_lines(path: Path, where: str) -> list[list[str]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{where}: the file cannot be read ({type(error).__name__})", remedy="Check the path."
        ) from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=lambda mark: len(next(csv.reader([first], delimiter=mark), [])))
    lines = [line for line in csv.reader(text.splitlines(), delimiter=delimiter) if any(line)]
    if len(lines) < 2 or len(lines[0]) < 2:
        raise HierarchyError(
            f"{where}: not a matrix",
            remedy="Give the labels of nodes in the first line and column.",
        )
    return lines


def _parse_nodes(labels: list[str], hierarchy: Hierarchy, where: str) -> list[int]:
    """Return the nodes of labels, each of which must name one node, once."""
    if len(set(hierarchy.labels)) < hierarchy.n_nodes:
        raise HierarchyError(
            f"{where}: two nodes of the hierarchy have one label, so costs cannot tell them apart",
            remedy="Give every node of the hierarchy a label of its own.",
        )
    labels = [label.strip() for label in labels]
    unknown = [label for label in labels if label not in hierarchy.node_of_label]
    if unknown:
        raise HierarchyError(
            f"{where}: {len(unknown)} labels are not in the hierarchy",
            remedy="Use the labels of the hierarchy; its root is '*'.",
            examples=unknown[:3],
        )
    if len(set(labels)) < len(labels):
        raise HierarchyError(
            f"{where}: a label occurs twice", remedy="Give every node one line and one column."
        )
    return [hierarchy.node_of_label[label] for label in labels]


def _parse_cost(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) and number >= 0 else math.nan


def _arrange_by_depth(stated: StatedCosts, hierarchy: Hierarchy, where: str) -> CostMatrix:
    """Return the costs to ancestors, after a check of every pair."""
    unnamed = hierarchy.leaf_of_value.get("", -1)
    costs = np.zeros((hierarchy.n_nodes, int(hierarchy.depth.max(initial=0)) + 1))
    missing: list[str] = []
    for node in range(hierarchy.n_nodes):
        for above in hierarchy.ancestors(node)[1:]:
            if (node, above) not in stated and node != unnamed:
                missing.append(f"{hierarchy.labels[node]} → {hierarchy.labels[above]}")
            costs[node, hierarchy.depth[above]] = stated.get((node, above), 0.0)
    if missing:
        raise HierarchyError(
            f"{where}: {len(missing)} costs of a node to an ancestor are missing",
            remedy="State what it costs to generalize every node to each node above it.",
            examples=missing[:3],
        )
    if unnamed >= 0:
        named = [leaf for leaf in range(hierarchy.n_leaves) if leaf != unnamed]
        costs[unnamed, 0] = costs[named, 0].max(initial=0.0)
    _refuse_contradictions(stated, costs, hierarchy, where)
    return costs


def _refuse_contradictions(
    stated: StatedCosts, costs: CostMatrix, hierarchy: Hierarchy, where: str
) -> None:
    """Raise where a pair that does not lie above each other is given a cost of its own."""
    paths = [hierarchy.ancestors(node) for node in range(hierarchy.n_nodes)]
    wrong = []
    for (node, other), cost in stated.items():
        meeting = next(above for above in paths[node] if above in paths[other])
        if cost not in (0.0, costs[node, hierarchy.depth[meeting]]):
            wrong.append(f"{hierarchy.labels[node]} → {hierarchy.labels[other]}")
    if wrong:
        raise HierarchyError(
            f"{where}: {len(wrong)} cells contradict the costs to ancestors",
            remedy="Leave a cell empty unless its column is above its line, or state the cost of "
            "generalizing the line's node to where the two meet.",
            examples=wrong[:3],
        )

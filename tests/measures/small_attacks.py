"""Small releases to attack: random tables, recoded group by group along their hierarchies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from oracles.generated import tables


def least_above(tree, nodes):
    """Return the least node above all of these."""
    ways = [tree.ancestors(node) for node in nodes]
    return next(node for node in ways[0] if all(node in way for way in ways))


def way_above(hierarchies):
    """Return the labels at and above a value, by column."""

    def above(name, value):
        tree = hierarchies[name]
        return {tree.labels[node] for node in tree.ancestors(tree.leaf_of_value[value])}

    return above


@st.composite
def releases(draw, k=1):
    """Draw (original, released, original_row, hierarchies): groups of at least k, in any order."""
    rows = draw(tables(most_rows=14))
    n_rows = rows.n_rows
    order = draw(st.permutations(range(n_rows)))
    n_groups = draw(st.integers(1, max(1, n_rows // k)))
    group_of = {row: min(place // k, n_groups - 1) for place, row in enumerate(order)}
    nodes = np.array(rows.nodes)
    for group in set(group_of.values()):
        members = [row for row in range(n_rows) if group_of[row] == group]
        for column, tree in enumerate(rows.hierarchies):
            nodes[column, members] = least_above(
                tree, [int(rows.nodes[column, m]) for m in members]
            )
    original_row = np.array(draw(st.permutations(range(n_rows))), dtype=np.int64)
    original, released = {}, {}
    for column, (name, tree) in enumerate(zip(rows.names, rows.hierarchies, strict=True)):
        original[name] = [tree.labels[node] for node in rows.nodes[column]]
        released[name] = [tree.labels[node] for node in nodes[column][original_row]]
    hierarchies = dict(zip(rows.names, rows.hierarchies, strict=True))
    return pa.table(original), pa.table(released), original_row, hierarchies

"""Small releases beside their originals: every cell at, or anywhere above, its value."""

import numpy as np
import pyarrow as pa

from incrowd.checking.material import OwnTable, TableMaterial
from incrowd.encoding.encode import encode
from incrowd.encoding.rows import Rows
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.tables.schema import Schema
from incrowd.tables.table import Table

SPECS = {
    "age": HierarchySpec.parse("ranges:5,from=20,to=60"),
    "height": HierarchySpec.parse("intervals:10,20"),
    "zip": HierarchySpec.parse("prefix"),
}
QUASI = tuple(SPECS)


def small_table(n_rows, seed):
    draw = np.random.default_rng(seed)
    ages = [str(age) if age < 78 else None for age in draw.integers(15, 80, n_rows).tolist()]
    return Table(
        pa.table(
            {
                "age": pa.array(ages, pa.string()),
                "height": [str(number) for number in draw.integers(150, 200, n_rows).tolist()],
                "zip": [f"{number:03d}" for number in draw.integers(0, 30, n_rows).tolist()],
                "ill": draw.choice(["no", "yes", "maybe"], n_rows).tolist(),
            }
        )
    )


def release_of(table, seed, *, how="random", left_out=0.2, sensitive=("ill",)):
    """Generalize cells at random, not at all ("none") or to the root ("all")."""
    before, _ = encode(table, QUASI, SPECS)
    draw = np.random.default_rng([seed, 7])
    nodes = before.nodes.copy()
    for column, hierarchy in enumerate(before.hierarchies):
        if how == "all":
            nodes[column] = hierarchy.root
        elif how == "random":
            for row in range(before.n_rows):
                every = np.arange(hierarchy.n_all_nodes, dtype=np.int32)
                leaf = np.full(len(every), before.nodes[column, row], dtype=np.int32)
                nodes[column, row] = draw.choice(every[hierarchy.is_ancestor(every, leaf)])
    is_suppressed = draw.random(before.n_rows) < left_out
    if is_suppressed.all():
        is_suppressed[0] = False
    for column, hierarchy in enumerate(before.hierarchies):
        nodes[column, is_suppressed] = hierarchy.root
    after = Rows(before.names, nodes, before.hierarchies, is_suppressed)
    original_row = draw.permutation(np.flatnonzero(~is_suppressed))
    own = OwnTable(table, original_row, before, after)
    released = table.frame.take(pa.array(original_row))
    for column, name in enumerate(QUASI):
        labels = before.hierarchies[column].all_labels
        shown = [labels[node] or None for node in nodes[column, original_row].tolist()]
        released = released.set_column(
            released.column_names.index(name), name, pa.array(shown, pa.string())
        )
    return TableMaterial(Table(released), Schema(QUASI, sensitive), own)

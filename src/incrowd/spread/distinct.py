"""A table's hierarchies and distinct rows, from counts that its engine makes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.codes import RowKey
from incrowd.data.builders import ColumnValues, hierarchy_of_values
from incrowd.data.dataset import Rows
from incrowd.data.encoding import nodes_of
from incrowd.engines.base import N_ROWS, Blocks, Engine
from incrowd.job import Job


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct quasi-identifying rows of a table as leaves, and how many rows equal each."""

    rows: Rows
    n_of_row: NDArray[np.int64]
    notes: tuple[str, ...]

    @property
    def n_all(self) -> int:
        """How many rows the table has."""
        return int(self.n_of_row.sum())

    def counts_of_leaves(self) -> list[NDArray[np.int64]]:
        """Return, per column, how many rows hold each node."""
        return [
            np.bincount(nodes, weights=self.n_of_row, minlength=hierarchy.n_all_nodes).astype(
                np.int64
            )
            for nodes, hierarchy in zip(self.rows.nodes, self.rows.hierarchies, strict=True)
        ]


def distinct_rows(engine: Engine, blocks: Blocks, job: Job, where: str) -> DistinctRows:
    """Count a table's values and distinct rows on its engine; encode those here.

    Raises as reading and encoding a table does.
    """
    quasi = job.schema.quasi
    counted = engine.count(blocks, list(quasi))
    n_of_line = counted.column(N_ROWS).to_numpy()
    hierarchies, nodes = [], np.empty((len(quasi), counted.num_rows), dtype=np.int32)
    notes: list[str] = []
    for place, name in enumerate(quasi):
        cells = counted.select([name]).append_column(N_ROWS, counted.column(N_ROWS))
        by_value = cells.group_by(name).aggregate([(N_ROWS, "sum")])
        values = ColumnValues.of_counts(
            f"{where}, column {name!r}",
            by_value.column(name).combine_chunks(),
            by_value.column(f"{N_ROWS}_sum").to_numpy(),
            job.input.missing_values,
        )
        hierarchy, said = hierarchy_of_values(name, values, job.hierarchies.get(name))
        nodes[place] = nodes_of(counted.column(name), hierarchy, where)
        hierarchies.append(hierarchy)
        notes += said
    del counted
    # several values of a column may have one label, and so one leaf
    key = RowKey(nodes.shape[1])
    for column, hierarchy in zip(nodes, hierarchies, strict=True):
        key.add(column, hierarchy.n_all_nodes)
    order = np.argsort(key.numbers, kind="stable")
    ordered = key.numbers[order]
    first = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
    n_of_row = np.add.reduceat(n_of_line[order], first) if len(first) else n_of_line
    rows = Rows(quasi, np.ascontiguousarray(nodes[:, order[first]]), tuple(hierarchies))
    return DistinctRows(rows, n_of_row.astype(np.int64), tuple(notes))

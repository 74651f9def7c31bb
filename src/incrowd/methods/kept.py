"""The rows that a method works on: all but the suppressed ones, and the way back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.data.dataset import Rows, Trace
from incrowd.methods.conditions import Conditions, PackedConditions


def kept_rows(rows: Rows, conditions: Conditions) -> tuple[Rows, PackedConditions]:
    """Return the rows that are not suppressed, and the packed conditions of those alone."""
    if not rows.is_suppressed.any():
        return rows, conditions.packed(rows.n_rows)
    kept = np.flatnonzero(~rows.is_suppressed)
    nodes = np.ascontiguousarray(rows.nodes[:, kept])
    return (
        Rows(rows.names, nodes, rows.hierarchies),
        conditions.take(kept).packed(len(kept)),
    )


LEFT_OUT = -1
"""What stands in place of a node where a search leaves a row out of the release."""


def put_back(rows: Rows, nodes: NDArray[np.int32], trace: Trace | None = None) -> Rows:
    """Return all rows, the kept ones with their new nodes, the suppressed ones at the roots.

    Rows whose nodes are LEFT_OUT are suppressed too.
    """
    is_left_out = np.any(nodes == LEFT_OUT, axis=0)
    if not rows.is_suppressed.any() and not is_left_out.any():
        return rows.with_nodes(nodes, trace=trace)
    is_suppressed = rows.is_suppressed.copy()
    is_suppressed[~rows.is_suppressed] = is_left_out
    roots = np.asarray([[hierarchy.root] for hierarchy in rows.hierarchies], dtype=np.int32)
    every = np.repeat(roots, rows.n_rows, axis=1) if rows.n_columns else rows.nodes.copy()
    every[:, ~is_suppressed] = nodes[:, ~is_left_out]
    return rows.with_nodes(every, is_suppressed, trace)


def n_suppressible_of(conditions: Conditions) -> int:
    """Return how many rows a search may leave out that tests groups against all rows' values.

    None where groups must be close to the whole: leaving rows out would move the whole.
    """
    if any(column.t >= 0 for column in conditions.sensitive):
        return 0
    return conditions.n_suppressible


class Validity:
    """Tests spans of rows in a given order against packed conditions."""

    def __init__(self, rows: NDArray[np.int64], limits: PackedConditions) -> None:
        from incrowd.kernels.validity import scratch_for

        self._rows = rows.astype(np.int32)
        self._limits = limits
        self._scratch = scratch_for(limits)

    def of_span(self, start: int, end: int) -> bool:
        """Return whether the rows from ``start`` up to ``end`` are valid as one group."""
        from incrowd.kernels.validity import is_valid

        return bool(is_valid(self._rows[start:end], end - start, self._limits, self._scratch))

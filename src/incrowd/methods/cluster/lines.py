"""The rows of a search as lines: a row, or as many equal ones as nothing tells apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.methods.conditions import PackedConditions
from incrowd.methods.fragments import Fragments


@dataclass(frozen=True, eq=False)
class Lines:
    """``count[line]`` rows equal to row ``row[line]``, which has ``nodes[column, line]``.

    Where groups are tested by their size alone, a row is a distinct one, and there may be several
    lines of it that begin in different groups; else every line is one row. ``start[column, line]``
    are nodes that another search released, where this one begins with its groups; ``limits``
    speak of the lines.
    """

    row: NDArray[np.int64]
    nodes: NDArray[np.int32]
    count: NDArray[np.int64]
    limits: PackedConditions
    start: NDArray[np.int32] | None = None

    @classmethod
    def of_rows(
        cls, nodes: NDArray[np.int32], count: NDArray[np.int64], limits: PackedConditions
    ) -> Lines:
        """Return a line per row."""
        return cls(np.arange(nodes.shape[1]), nodes, count, limits)

    @classmethod
    def continued(
        cls, nodes: NDArray[np.int32], found: Fragments, limits: PackedConditions
    ) -> Lines:
        """Return the lines of rows that a search has released; ``nodes[column, row]`` are theirs.

        Where rows are told apart, all of them are there, in their order.
        """
        of_line = np.ascontiguousarray(nodes[:, found.row])
        return cls(found.row, of_line, found.count, limits, found.nodes)

    @property
    def n_rows(self) -> int:
        """How many rows the lines stand for."""
        return int(self.count.sum())

    def take(self, places: NDArray[np.int64]) -> Lines:
        """Return some of the lines."""
        limits = self.limits
        return Lines(
            self.row[places],
            np.ascontiguousarray(self.nodes[:, places]),
            self.count[places],
            limits.of_rows(
                limits.k_of_row[places] if limits.k_of_row.size else limits.k_of_row,
                limits.person_of_row[places] if limits.person_of_row.size else limits.person_of_row,
                limits.code_of_row[:, places] if limits.code_of_row.size else limits.code_of_row,
            ),
            None if self.start is None else np.ascontiguousarray(self.start[:, places]),
        )

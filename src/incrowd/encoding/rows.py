"""What methods search: rows as nodes of hierarchies, and the trace of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from incrowd.hierarchies.tree import Hierarchy


@dataclass(frozen=True)
class Trace:
    """What a search reports: figures and notes for the audit, settings to repeat it.

    ``settings`` are fields of the method that were left open, with the values chosen: the method
    with these makes the same release.
    """

    figures: Mapping[str, int | float | str] = field(default_factory=dict)
    settings: Mapping[str, int | float | str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Rows:
    """A table's quasi-identifying columns as nodes of their hierarchies.

    ``nodes[column, row]`` is a node of ``hierarchies[column]``: a leaf before a method has run, a
    leaf or an ancestor of it afterwards. Row numbers never change: row 7 of what a method returns
    is row 7 of what it was given. A row with ``is_suppressed`` is left out of the release.
    ``attribute_of_column`` says which column's one-hot code each column is a bit of, where columns
    are bits. ``group_of_row`` says which rows form a group where columns show means, which nodes
    do not tell. ``trace`` is that of the search that made these nodes.
    """

    names: tuple[str, ...]
    nodes: NDArray[np.int32]
    hierarchies: tuple[Hierarchy, ...]
    is_suppressed: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    trace: Trace = field(default_factory=Trace)
    group_of_row: NDArray[np.int32] | None = None
    attribute_of_column: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if self.nodes.shape[0] != len(self.names) or len(self.names) != len(self.hierarchies):
            raise ValueError("one row of nodes and one hierarchy per column")
        if self.is_suppressed.size == 0 and self.n_rows:
            object.__setattr__(self, "is_suppressed", np.zeros(self.n_rows, dtype=np.bool_))

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.nodes.shape[1])

    @property
    def n_columns(self) -> int:
        """How many quasi-identifying columns there are."""
        return len(self.names)

    def with_nodes(
        self,
        nodes: NDArray[np.int32],
        is_suppressed: NDArray[np.bool_] | None = None,
        trace: Trace | None = None,
    ) -> Rows:
        """Return the same columns with other nodes, and the trace of what made those."""
        kept = self.is_suppressed if is_suppressed is None else is_suppressed
        return replace(self, nodes=nodes, is_suppressed=kept, trace=trace or Trace())

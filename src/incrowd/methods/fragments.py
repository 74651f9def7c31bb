"""Distinct rows and how many there are of each: what a search needs where k alone counts.

A table of 10⁹ rows may have 10⁶ distinct ones. Where groups are tested by their size alone, equal
rows are exchangeable, so a search of the distinct rows with their numbers is a search of the table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from incrowd.data.dataset import Rows, Trace

if TYPE_CHECKING:
    from incrowd.engines.base import Engine
    from incrowd.progress import Progress


@dataclass(frozen=True, eq=False)
class Fragments:
    """Distinct rows as they are released: ``count[f]`` of those equal to ``row[f]`` show
    ``nodes[:, f]``.

    Sorted by row, the fragments of a row by their nodes, the first column first; no two of a row
    show the same.
    """

    row: NDArray[np.int64]
    nodes: NDArray[np.int32]
    count: NDArray[np.int64]
    trace: Trace = field(default_factory=Trace)


class DistinctMethod(Protocol):
    """A method of tables that can search distinct rows with their numbers."""

    @property
    def spreads(self) -> bool:
        """Whether it can as it is set."""

    def run_distinct(
        self,
        rows: Rows,
        n_of_row: NDArray[np.int64],
        k: int,
        engine: Engine,
        seed: int,
        progress: Progress,
    ) -> Fragments:
        """Return the distinct rows generalized so that equal released rows number k or more.

        ``rows`` are distinct leaves in any order, ``n_of_row[row]`` of each. The result depends
        on their content alone: not on their order, the engine, or its threads.
        """

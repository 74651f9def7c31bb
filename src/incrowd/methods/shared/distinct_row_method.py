"""Methods with one search for rows and for distinct rows with their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from incrowd.methods.base import TableMethod

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.encoding.rows import Rows
    from incrowd.engines.base import Engine
    from incrowd.methods.shared.conditions import Conditions, PackedConditions
    from incrowd.methods.shared.fragments import Fragments
    from incrowd.progress import Progress


@dataclass(frozen=True)
class DistinctRowMethod(TableMethod):
    """Runs the search of a method on a table, or on its distinct rows with their numbers."""

    def run(
        self,
        rows: Rows,
        conditions: Conditions,
        engine: Engine,
        seed: int,
        progress: Progress,
    ) -> Rows:
        """Return the rows generalized so that rows with equal nodes form valid groups.

        Suppressed rows are left out of every group and come back at the roots; the search may
        leave out more. What it did is in the trace.
        """
        from functools import partial

        from incrowd.methods.shared.fragments import search_rows

        search = partial(
            self._search, conditions=conditions, engine=engine, seed=seed, progress=progress
        )
        is_collapsed = self._takes_equals_as_one and conditions.is_size_only
        return search_rows(rows, conditions, search, is_collapsed=is_collapsed)

    def run_distinct(
        self,
        rows: Rows,
        n_of_row: NDArray[np.int64],
        conditions: Conditions,
        engine: Engine,
        seed: int,
        progress: Progress,
    ) -> Fragments:
        """Return distinct rows with their numbers as ``run`` releases the rows they stand for."""
        from functools import partial

        from incrowd.methods.shared.fragments import search_distinct

        if not self._takes_equals_as_one:
            raise ValueError("this search parts equal rows one by one")
        search = partial(
            self._search, conditions=conditions, engine=engine, seed=seed, progress=progress
        )
        return search_distinct(rows, n_of_row, conditions, search)

    @property
    def _takes_equals_as_one(self) -> bool:
        """Whether equal rows are searched as one with a number where their size alone counts."""
        return True

    def _search(
        self,
        rows: Rows,
        n_of_row: NDArray[np.int64],
        limits: PackedConditions,
        *,
        conditions: Conditions,
        engine: Engine,
        seed: int,
        progress: Progress,
    ) -> Fragments:
        """Search groups of rows of which there are several each."""
        raise NotImplementedError

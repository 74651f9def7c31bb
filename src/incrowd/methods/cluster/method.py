"""The cluster method of tables and sets: its settings, and the way to groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.errors import JobError
from incrowd.guarantees.evidence import SETS, TABLES
from incrowd.methods.base import SetMethod
from incrowd.methods.shared.distinct_row_method import DistinctRowMethod
from incrowd.methods.shared.options import (
    AUTO,
    KEEPS,
    METRICS,
    parse_effort,
    require_metric,
    seconds_of,
)
from incrowd.options import documented, option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.encoding.rows import Rows
    from incrowd.engines.base import Engine
    from incrowd.methods.shared.conditions import Conditions, PackedConditions
    from incrowd.methods.shared.fragments import Fragments
    from incrowd.methods.shared.set_groups.vote import Found, SetConditions
    from incrowd.progress import Progress
    from incrowd.sets.sets import Sets


LEAST_CHUNK = 1_000


@documented
@dataclass(frozen=True)
class Cluster(DistinctRowMethod, SetMethod):
    """Gather near rows in groups, then change a few groups at a time while less is lost.

    Searches of incrowd's own. Tables are split top down, then a few near groups at a time are
    dissolved and rebuilt cheaper (ruin and recreate); every group has at least k rows at all times,
    equal rows may end in different groups, and more than 40,000 distinct rows are searched in
    blocks. Time grows with the effort, and with k for each change.

    Sets are gathered by their common items, then rows move and swap on the exact objective, the
    Jaccard similarity of all entries. Above half as many again as ``chunk_rows`` rows are searched
    in chunks of near ones (minhashes, Esfandiari et al. 2022, Appendix D), whose groups then meet
    again. About O(entries · near rows) a pass.
    """

    name: ClassVar[str] = "cluster"
    n_kernels: ClassVar[int] = 90
    keeps: ClassVar[frozenset[str]] = KEEPS | {"smooth", "majority", "suppression"}
    works_in_chunks: ClassVar[bool] = True

    metric: str = option(
        "loss",
        help="Information loss to minimize.",
        choices=METRICS,
        about=TABLES,
    )
    effort: str | int = option(
        AUTO,
        help="Search effort: a number of iterations, a time (10s, 2m), or quick, auto or full. "
        "Tables: auto is 40 iterations per distinct row (10 above 40,000 of them) divided "
        "by the square root of k, a third if l, t, people or a per-record k are asked "
        "for; quick is a quarter, full ten times as many. Sets: 2, 8 or 60 passes over "
        "all groups.",
    )
    keep_identical_together: bool = option(
        False,
        help="Keep rows with equal quasi-identifiers in one group.",
        about=TABLES,
    )
    chunk_rows: int = option(
        100_000,
        help="Approximate number of rows searched at once; larger data are split into chunks "
        "of similar rows.",
        minimum=LEAST_CHUNK,
        about=SETS,
    )

    def __post_init__(self) -> None:
        require_metric(self.metric)
        object.__setattr__(self, "effort", parse_effort(self.effort))
        if type(self.chunk_rows) is not int or self.chunk_rows < LEAST_CHUNK:
            raise JobError(
                f"chunk_rows is not a whole number of {LEAST_CHUNK} or more",
                remedy="State --chunk-rows 100000, for example.",
            )

    @property
    def runs_on_distinct_rows(self) -> bool:
        """Whether distinct rows can be searched: not by seconds, which vary."""
        return not seconds_of(self.effort)

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
        from incrowd.methods.shared.recreate.table import search_table

        return search_table(
            rows,
            n_of_row,
            limits,
            conditions=conditions,
            engine=engine,
            seed=seed,
            progress=progress,
            metric=self.metric,
            effort=self.effort,
            is_together=self.keep_identical_together,
        )

    def search(
        self, sets: Sets, conditions: SetConditions, engine: Engine, seed: int, progress: Progress
    ) -> Found:
        """Return groups of rows, each with as many as the most demanding of them asks for."""
        from incrowd.methods.cluster.sets.search import search
        from incrowd.methods.shared.set_groups.vote import Found

        found = search(
            sets,
            conditions,
            engine=engine,
            effort=self.effort,
            seed=seed,
            progress=progress,
            chunk_rows=self.chunk_rows,
        )
        return Found(
            found.group_of_row,
            {"passes": found.n_passes, "chunks": found.n_chunks},
            {"effort": found.n_passes} if found.n_passes else {},
        )

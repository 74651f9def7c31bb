"""The Mondrian method of tables and sets: its settings, and the way to groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.errors import JobError
from incrowd.guarantees.evidence import TABLES
from incrowd.methods.base import SetMethod
from incrowd.methods.shared.distinct_row_method import DistinctRowMethod
from incrowd.methods.shared.options import (
    KEEPS,
    METRICS,
    NONE,
    parse_polish,
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


@documented
@dataclass(frozen=True)
class Mondrian(DistinctRowMethod, SetMethod):
    """Cut the rows in two, and each part again, while both parts stay valid.

    Follows multidimensional partitioning (LeFevre, DeWitt and Ramakrishnan 2006), strict and
    relaxed: tables along the widest column. Deviation: a strict cut falls between the children of
    the node that covers a part, not between values, so that both sides can be shown as nodes of
    the hierarchy; where the cut nearest the median is not valid, the next nearest is tried. About
    O(rows · columns · depth).

    Sets are cut by the item that about half of the rows hold, the baseline of Esfandiari et al.
    2022, §6. Deviation: only items that somebody in a part holds are ever looked at, never
    rows × items. About O(entries · log rows + groups · items of a part).
    """

    name: ClassVar[str] = "mondrian"
    n_kernels: ClassVar[int] = 13
    keeps: ClassVar[frozenset[str]] = KEEPS | {"smooth", "majority", "suppression"}

    metric: str = option(
        "loss",
        help="Information loss that decides which column is cut next.",
        choices=METRICS,
        about=TABLES,
    )
    strict: bool = option(
        True,
        help="Strict partitioning keeps equal rows together; otherwise (relaxed) cut at the "
        "median row.",
        about=TABLES,
    )

    polish: str | int = option(
        NONE,
        help="Effort of a second search (that of cluster) that improves the groups; see "
        "cluster's effort, or none.",
        about=TABLES,
    )

    def __post_init__(self) -> None:
        require_metric(self.metric)
        object.__setattr__(self, "polish", parse_polish(self.polish))
        if type(self.strict) is not bool:
            raise JobError("strict is neither true nor false", remedy="State one of the two.")

    @property
    def runs_on_distinct_rows(self) -> bool:
        """Whether distinct rows can be searched: strict cuts keep them whole, seconds vary."""
        return self.strict and not seconds_of(self.polish)

    @property
    def _takes_equals_as_one(self) -> bool:
        return self.strict

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
        """Cut rows of which there are several each, then polish."""
        from dataclasses import replace

        from incrowd.encoding.rows import Trace
        from incrowd.engines.base import threads_of
        from incrowd.methods.shared.cuts import cut_rows
        from incrowd.methods.shared.fragments import Collapsed, Fragments
        from incrowd.methods.shared.recreate.blocks import polish

        is_size_only = conditions.is_size_only
        nodes = cut_rows(
            rows,
            limits,
            is_size_only,
            self.metric,
            self.strict,
            progress,
            n_of_row,
            threads_of(engine),
        )
        found = Fragments.of_each(nodes, n_of_row)
        if self.polish == NONE:
            return found
        whole = None
        if is_size_only and not self.strict:  # equal rows were cut apart one by one
            whole = Collapsed.of(rows)
            rows = whole.rows
            found = Fragments.of(whole.distinct_of_row, nodes, n_of_row)
        found = polish(
            rows,
            found,
            self.metric,
            conditions,
            limits,
            engine,
            seed,
            self.polish,
            progress,
            is_together=self.strict,
        )
        if whole is not None:
            found = Fragments.of_each(whole.expand(found), n_of_row, found.trace)
        iterations = found.trace.figures["iterations"]
        return replace(found, trace=Trace({"iterations": iterations}, {"polish": iterations}))

    def search(
        self,
        sets: Sets,
        conditions: SetConditions,
        engine: Engine,
        seed: int,
        progress: Progress,
    ) -> Found:
        """Return groups of rows, each with as many as the most demanding of them asks for.

        There is no chance in it, so that the seed plays no part, and it runs in this process, on
        the engine's number of threads; they change nothing.
        """
        from incrowd.engines.base import threads_of
        from incrowd.methods.shared.set_groups.cut import cut_rows

        del seed
        return cut_rows(sets, conditions, progress, threads_of(engine))

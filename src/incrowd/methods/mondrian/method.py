"""The Mondrian method: its settings, and the way from rows to released rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.errors import JobError
from incrowd.fields import option
from incrowd.methods.effort import NONE, stated_polish
from incrowd.methods.options import KEEPS, METRICS, require_metric

if TYPE_CHECKING:
    from incrowd.data.dataset import Rows
    from incrowd.engines.base import Engine
    from incrowd.methods.conditions import Conditions
    from incrowd.progress import Progress


@dataclass(frozen=True)
class Mondrian:
    """Cut the table in two along its widest column, and each part again, while both stay valid.

    Follows multidimensional partitioning (LeFevre, DeWitt and Ramakrishnan 2006), strict and
    relaxed. Deviation: a strict cut falls between the children of the node that covers a part,
    not between values, so that both sides can be shown as nodes of the hierarchy; where the cut
    nearest the median is not valid, the next nearest is tried. About O(rows · columns · depth).
    """

    name: ClassVar[str] = "mondrian"
    keeps: ClassVar[frozenset[str]] = KEEPS

    metric: str = option(
        "loss",
        help="What generalizing costs: it decides which column is the widest.",
        choices=METRICS,
    )
    strict: bool = option(
        True,
        help="Keep equal rows together; if not, cut at the median row, even through equal values.",
    )

    polish: str | int = option(
        NONE,
        help="The effort of a second search, that of cluster, which makes the groups cheaper; "
        "stated as cluster's effort is, or none.",
    )

    def __post_init__(self) -> None:
        require_metric(self.metric)
        object.__setattr__(self, "polish", stated_polish(self.polish))
        if type(self.strict) is not bool:
            raise JobError("strict is neither true nor false", remedy="State one of the two.")

    def run(
        self,
        rows: Rows,
        conditions: Conditions,
        engine: Engine,
        seed: int,
        progress: Progress,
    ) -> Rows:
        """Return the rows generalized so that rows with equal nodes form valid groups.

        Suppressed rows are left out of every group and come back at the roots. The cutting runs in
        this process, whatever the engine, and there is no chance in it: the seed and the engine
        are for the polish, which may also leave rows out.
        """
        from incrowd.data.dataset import Trace
        from incrowd.methods.cluster.polish import polish
        from incrowd.methods.kept import kept_rows, put_back
        from incrowd.methods.mondrian.search import cut_rows

        kept, limits = kept_rows(rows, conditions)
        if kept.n_rows == 0:
            return put_back(rows, kept.nodes)
        nodes = cut_rows(kept, limits, conditions.is_size_only, self.metric, self.strict, progress)
        if self.polish == NONE:
            return put_back(rows, nodes)
        nodes, iterations = polish(
            kept,
            nodes,
            self.metric,
            conditions,
            limits,
            engine,
            seed,
            self.polish,
            progress,
            is_together=self.strict,
        )
        return put_back(rows, nodes, Trace({"iterations": iterations}, {"polish": iterations}))

"""The cluster method: its settings, and the way from rows to released rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.fields import option
from incrowd.methods.effort import AUTO, stated_effort
from incrowd.methods.options import KEEPS, METRICS, require_metric

if TYPE_CHECKING:
    from incrowd.data.dataset import Rows
    from incrowd.engines.base import Engine
    from incrowd.methods.conditions import Conditions
    from incrowd.progress import Progress


@dataclass(frozen=True)
class Cluster:
    """Split the table top down, then tear up a few near groups at a time and rebuild them cheaper.

    A search of incrowd's own (ruin and recreate). Every group has at least k rows at every moment.
    Equal rows may end in different groups. Tables of more than 40,000 distinct rows are searched
    in blocks. Time grows with the effort, and with k for each change.
    """

    name: ClassVar[str] = "cluster"
    keeps: ClassVar[frozenset[str]] = KEEPS

    metric: str = option(
        "loss",
        help="What generalizing costs: the search makes this loss small.",
        choices=METRICS,
    )
    effort: str | int = option(
        AUTO,
        help="How many changes the search tries, or how long it searches (10s, 2m), or quick, "
        "auto or full: auto takes 40 changes per distinct row (10 above 40,000 of them), divided "
        "by the square root of k, a third where more is asked than one k; quick a quarter, full "
        "ten times as many.",
    )
    keep_identical_together: bool = option(
        False,
        help="Keep rows with the same quasi-identifying values in one group.",
    )

    def __post_init__(self) -> None:
        require_metric(self.metric)
        object.__setattr__(self, "effort", stated_effort(self.effort))

    def run(
        self,
        rows: Rows,
        conditions: Conditions,
        engine: Engine,
        seed: int,
        progress: Progress,
    ) -> Rows:
        """Return the rows generalized so that rows with equal nodes form groups of at least k.

        Suppressed rows are left out of every group and come back at the roots. The number of
        changes that the effort came to is in the trace: with it the search does the same again.
        """
        from time import perf_counter

        from incrowd.methods.cluster.budget import Budget
        from incrowd.methods.cluster.search import Plan
        from incrowd.methods.kept import kept_rows, n_suppressible_of, put_back
        from incrowd.methods.mondrian.search import cut_rows

        budget = Budget(self.effort, perf_counter())
        kept, limits = kept_rows(rows, conditions)
        if kept.n_rows == 0:
            return put_back(rows, kept.nodes)
        is_size_only = conditions.is_size_only
        start = None
        if not is_size_only or self.keep_identical_together:
            start = cut_rows(kept, limits, is_size_only, self.metric, True, progress)
        plan = Plan.of(
            kept,
            self.metric,
            limits,
            seed,
            is_size_only=is_size_only,
            is_together=self.keep_identical_together,
            n_suppressible=n_suppressible_of(conditions),
        )
        nodes, trace = budget.search(kept.nodes, plan, limits, engine, progress, start)
        return put_back(rows, nodes, trace)

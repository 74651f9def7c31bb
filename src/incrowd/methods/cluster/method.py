"""The cluster method: its settings, and the way from rows to released rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.errors import JobError
from incrowd.fields import option
from incrowd.methods.effort import AUTO, seconds_of, stated_effort
from incrowd.methods.options import METRICS, require_metric

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
    keeps: ClassVar[frozenset[str]] = frozenset({"k-anonymity"})

    metric: str = option(
        "loss",
        help="What generalizing costs: the search makes this loss small.",
        choices=METRICS,
    )
    effort: str | int = option(
        AUTO,
        help="How many changes the search tries, or how long it searches (10s, 2m), or quick, "
        "auto or full: auto takes 40 changes per distinct row (10 above 40,000 of them), divided "
        "by the square root of k; quick a quarter, full ten times as many.",
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

        from incrowd.data.dataset import Trace
        from incrowd.methods.cluster.blocks import block_of_row, search_blocks
        from incrowd.methods.cluster.budget import iterations_within, stated_iterations
        from incrowd.methods.cluster.search import Plan, search_rows
        from incrowd.methods.kept import kept_rows, put_back

        started = perf_counter()
        _require_k_alone(conditions)
        kept, _ = kept_rows(rows, conditions)
        if kept.n_rows == 0:
            return put_back(rows, kept.nodes)
        plan = Plan.of(kept, self.metric, conditions.k, seed)
        blocks, n_distinct = block_of_row(kept.nodes, plan)
        if seconds_of(self.effort):
            iterations = iterations_within(
                seconds_of(self.effort), started, kept.nodes, plan, blocks, engine.n_workers
            )
        else:
            iterations = stated_iterations(self.effort, n_distinct, conditions.k)
        plan = plan.with_effort(iterations, n_distinct)
        if blocks.max() == 0:
            nodes = search_rows(kept.nodes, plan, 0, progress)
        else:
            nodes = search_blocks(kept.nodes, plan, blocks, engine, progress)
        trace = Trace({"iterations": iterations}, {"effort": iterations})
        return put_back(rows, nodes, trace)


def _require_k_alone(conditions: Conditions) -> None:
    """Raise unless one k for all rows is all that is asked for."""
    asked = [
        (conditions.k_of_row is not None, "a k per person"),
        (conditions.person_of_row is not None, "groups that count people"),
        (any(column.l > 0 for column in conditions.sensitive), "l-diversity"),
        (any(column.t >= 0 for column in conditions.sensitive), "t-closeness"),
    ]
    names = [name for is_asked, name in asked if is_asked]
    if names:
        raise JobError(
            f"method cluster does not keep {' and '.join(names)}",
            remedy="Take --method greedy, which does.",
        )

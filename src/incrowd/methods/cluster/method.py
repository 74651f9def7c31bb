"""The cluster method: its settings, and the way from rows to released rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.fields import option
from incrowd.methods.effort import AUTO, seconds_of, stated_effort
from incrowd.methods.line_method import LineMethod
from incrowd.methods.options import KEEPS, METRICS, require_metric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.data.dataset import Rows
    from incrowd.engines.base import Engine
    from incrowd.methods.conditions import Conditions, PackedConditions
    from incrowd.methods.fragments import Fragments
    from incrowd.progress import Progress


@dataclass(frozen=True)
class Cluster(LineMethod):
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

    @property
    def spreads(self) -> bool:
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
        from time import perf_counter

        from incrowd.methods.cluster.budget import Budget
        from incrowd.methods.cluster.lines import Lines
        from incrowd.methods.cluster.search import Plan
        from incrowd.methods.fragments import Fragments
        from incrowd.methods.kept import n_suppressible_of
        from incrowd.methods.mondrian.search import cut_rows

        begun = perf_counter()
        is_size_only = conditions.is_size_only
        lines = Lines.of_rows(rows.nodes, n_of_row, limits)
        if not is_size_only or self.keep_identical_together:
            nodes = cut_rows(rows, limits, is_size_only, self.metric, True, progress, n_of_row)
            lines = Lines.continued(rows.nodes, Fragments.of_each(nodes, n_of_row), limits)
        plan = Plan.of(
            rows,
            self.metric,
            limits,
            seed,
            is_size_only=is_size_only,
            is_together=self.keep_identical_together,
            n_suppressible=n_suppressible_of(conditions),
            n_rows=int(n_of_row.sum()),
        )
        return Budget(self.effort, begun).search(lines, plan, engine, progress)

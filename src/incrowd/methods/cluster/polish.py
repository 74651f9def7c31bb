"""The search as a second step: groups that another method made, made cheaper."""

from __future__ import annotations

import time

from incrowd.data.dataset import Rows
from incrowd.engines.base import Engine
from incrowd.methods.cluster.budget import Budget
from incrowd.methods.cluster.lines import Lines
from incrowd.methods.cluster.search import Plan
from incrowd.methods.conditions import Conditions, PackedConditions
from incrowd.methods.fragments import Fragments
from incrowd.methods.kept import n_suppressible_of
from incrowd.progress import Progress


def polish(
    rows: Rows,
    found: Fragments,
    metric: str,
    conditions: Conditions,
    limits: PackedConditions,
    engine: Engine,
    seed: int,
    effort: int | str,
    progress: Progress,
    *,
    is_together: bool,
) -> Fragments:
    """Return rows after an effort, every group valid; the trace tells how many changes it came to.

    ``found`` is what another method released ``rows`` as, which are distinct where groups are
    tested by their size alone. Without heat the loss never rises. Rows that are left out come back
    as LEFT_OUT.
    """
    begun = time.perf_counter()
    plan = Plan.of(
        rows,
        metric,
        limits,
        seed,
        is_size_only=conditions.is_size_only,
        is_together=is_together,
        n_suppressible=n_suppressible_of(conditions),
        n_rows=int(found.count.sum()),
    )
    lines = Lines.continued(rows.nodes, found, limits)
    return Budget(effort, begun).search(lines, plan, engine, progress)

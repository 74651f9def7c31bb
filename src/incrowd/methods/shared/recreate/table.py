"""The whole search of a table: first groups, then ever cheaper ones."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from incrowd.encoding.rows import Rows
from incrowd.engines.base import Engine
from incrowd.methods.shared.conditions import Conditions, PackedConditions, n_suppressible_of
from incrowd.methods.shared.cuts import cut_rows
from incrowd.methods.shared.fragments import Fragments
from incrowd.methods.shared.options import AUTO
from incrowd.methods.shared.recreate.blocks import Budget
from incrowd.methods.shared.recreate.search import Plan
from incrowd.methods.shared.recreate.start import CountedRows
from incrowd.progress import Progress


def search_table(
    rows: Rows,
    n_of_row: NDArray[np.int64],
    limits: PackedConditions,
    *,
    conditions: Conditions,
    engine: Engine,
    seed: int,
    progress: Progress,
    metric: str = "loss",
    effort: str | int = AUTO,
    is_together: bool = False,
) -> Fragments:
    """Search groups of rows of which there are ``n_of_row`` each.

    ``is_together`` keeps equal rows in one group. Where more than k is asked, or equal rows stay
    together, the search begins with the groups of strict Mondrian cuts.
    """
    begun = perf_counter()
    is_size_only = conditions.is_size_only
    counted = CountedRows.of_rows(rows.nodes, n_of_row, limits)
    if not is_size_only or is_together:
        nodes = cut_rows(rows, limits, is_size_only, metric, True, progress, n_of_row)
        counted = CountedRows.continue_from(rows.nodes, Fragments.of_each(nodes, n_of_row), limits)
    plan = Plan.of(
        rows,
        metric,
        limits,
        seed,
        is_size_only=is_size_only,
        is_together=is_together,
        n_suppressible=n_suppressible_of(conditions),
        n_rows=int(n_of_row.sum()),
    )
    return Budget(effort, begun).search(counted, plan, engine, progress)

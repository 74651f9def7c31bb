"""The search as a second step: groups that another method made, made cheaper."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.data.dataset import Rows
from incrowd.engines.base import Engine
from incrowd.methods.cluster.blocks import search_table
from incrowd.methods.cluster.search import Plan
from incrowd.methods.conditions import PackedConditions
from incrowd.progress import Progress


def polish(
    rows: Rows,
    released: NDArray[np.int32],
    metric: str,
    limits: PackedConditions,
    engine: Engine,
    seed: int,
    effort: int,
    progress: Progress,
    *,
    is_size_only: bool,
    is_together: bool,
    n_suppressible: int,
) -> NDArray[np.int32]:
    """Return ``released[column, row]`` after so many changes: every group valid, none dearer.

    Without heat the loss never rises. Rows that are left out come back as LEFT_OUT.
    """
    plan = Plan.of(
        rows,
        metric,
        limits,
        seed,
        is_size_only=is_size_only,
        is_together=is_together,
        n_suppressible=n_suppressible,
    ).with_effort(effort, rows.nodes)
    return search_table(rows.nodes, plan, limits, engine, progress, released)

"""The search as a second step: groups that another method made, made cheaper."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from incrowd.data.dataset import Rows, Trace
from incrowd.engines.base import Engine
from incrowd.methods.cluster.budget import Budget
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
    effort: int | str,
    progress: Progress,
    *,
    is_size_only: bool,
    is_together: bool,
    n_suppressible: int,
) -> tuple[NDArray[np.int32], Trace]:
    """Return ``released[column, row]`` after an effort, every group valid; and what was done.

    Without heat the loss never rises. Rows that are left out come back as LEFT_OUT.
    """
    begun = time.perf_counter()
    plan = Plan.of(
        rows,
        metric,
        limits,
        seed,
        is_size_only=is_size_only,
        is_together=is_together,
        n_suppressible=n_suppressible,
    )
    return Budget(effort, begun).search(rows.nodes, plan, limits, engine, progress, released)

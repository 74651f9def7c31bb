"""The search as a second step: groups that another method made, made cheaper."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from incrowd.data.dataset import Rows
from incrowd.engines.base import Engine
from incrowd.methods.cluster.budget import Budget
from incrowd.methods.cluster.search import Plan
from incrowd.methods.conditions import Conditions, PackedConditions
from incrowd.methods.kept import n_suppressible_of
from incrowd.progress import Progress


def polish(
    rows: Rows,
    released: NDArray[np.int32],
    metric: str,
    conditions: Conditions,
    limits: PackedConditions,
    engine: Engine,
    seed: int,
    effort: int | str,
    progress: Progress,
    *,
    is_together: bool,
) -> tuple[NDArray[np.int32], int]:
    """Return ``released[column, row]`` after an effort, every group valid; and how many changes.

    Without heat the loss never rises. Rows that are left out come back as LEFT_OUT.
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
    )
    polished, trace = Budget(effort, begun).search(
        rows.nodes, plan, limits, engine, progress, released
    )
    return polished, int(trace.figures["iterations"])

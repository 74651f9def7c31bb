"""Cases by data set, measured one after the other."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.shared.datasets import DataSet
from benchmarks.shared.measured import Case, stem_of
from incrowd.progress import Progress

Measured = dict[str, Any]
Plan = list[tuple[DataSet, list[Case]]]

OWN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("greedy", {"metric": "loss"}),
    ("mondrian", {}),
    ("cluster", {}),
)
"""Our own methods, all made to keep the same loss low."""


def measured_plan(
    name: str, plan: Plan, folder: Path, progress: Progress
) -> tuple[list[Measured], list[Measured]]:
    """Measure the cases of every data set; return the results and what the data were."""
    total = sum(len(cases) for _, cases in plan)
    results: list[Measured] = []
    records = []

    for data, cases in plan:
        records.append(data.record(folder))
        with stem_of(data, folder) as stem:
            results += stem.run(cases, _counter(progress, f"measuring {name}", results, total))
    return results, records


def _counter(
    progress: Progress, stage: str, before: list[Measured], total: int
) -> Callable[[], None]:
    n_done = len(before)

    def done() -> None:
        nonlocal n_done
        n_done += 1
        progress(stage, n_done, total)

    return done


def cores() -> int:
    """Return how many threads a run in parts takes: one per processor."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def own(method: str, settings: dict[str, Any], k: int) -> Case:
    """Return the case of a method with all cores."""
    return {"method": method, "settings": settings, "k": k, "threads": cores()}

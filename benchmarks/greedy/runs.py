"""Measured searches on tables: time, peak memory and loss together, one process each."""

from __future__ import annotations

import hashlib
import pickle
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.greedy.data import DataSet
from benchmarks.shared import processes
from benchmarks.shared.cases import Measured, Task
from benchmarks.shared.processes import Case, measure_forked
from benchmarks.shared.provenance import cores
from incrowd.encoding.rows import Rows
from incrowd.engines.base import BlockFunction
from incrowd.engines.local.engine import LocalBlocks, LocalEngine
from incrowd.measures.losses.tables import METRICS, count_tables, group_sizes
from incrowd.methods.greedy.search import Plan, merge
from incrowd.methods.shared.conditions import Conditions
from incrowd.methods.table import METHODS
from incrowd.progress import silent

FEW = 50
"""Loops are compiled on this many rows."""

SHOWN_LOSSES = ("nllm", "loss", "ncp")

OWN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("greedy", {"metric": "loss"}),
    ("mondrian", {}),
    ("cluster", {}),
)
"""Our own methods, all set to keep the same loss low."""


def method_case(method: str, settings: dict[str, Any], k: int) -> Case:
    """Return the case of a method with all cores."""
    return {"method": method, "settings": settings, "k": k, "threads": cores()}


def task_of(data: DataSet, cases: Sequence[Case]) -> Task:
    """Return the task that measures cases on one data set, one after the other.

    A case has ``method``, ``settings``, ``k`` and ``threads``; with ``search`` greedy runs with its
    index or its scan, on ``workers`` threads, and the merges are compared; with ``repeats`` the
    least time counts; with ``counts_bytes`` what partitions send is counted.
    """
    return processes.task_of("benchmarks.greedy.runs", data, cases)


# ── inside the processes ────────────────────────────────────────────────────────────────────────


def load(stated: dict[str, Any], folder: Path) -> Rows:
    """Read or generate a data set."""
    return DataSet(**stated).load(folder)


def brief(case: Case) -> Case:
    """Return a case that needs the same loops, on a few rows and in no time."""
    settings = dict(case["settings"])
    if "effort" in settings:  # a time has loops of its own, which learn how long a change takes
        settings["effort"] = 20 if isinstance(settings["effort"], int) else "0.01s"
    is_parted = settings.pop("partitions", 1) != 1
    preset, _ = settings.pop("preset", "none"), settings.pop("processors", 0)
    if is_parted or preset in ("pgpkaa", "h-pgpkaa"):
        settings["partitions"] = 2
    return {**case, "k": 2, "threads": 1, "settings": settings}


def compile_loops(rows: Rows, brief: Case, _: Path) -> None:
    """Search a few rows."""
    few = rows.with_nodes(rows.nodes[:, :FEW].copy(), rows.is_suppressed[:FEW].copy())
    _search(few, brief)


def measure_case(rows: Rows, case: Case, _: Path) -> list[Measured]:
    """Measure one case in a child."""
    n_distinct = len(group_sizes(rows.nodes, [tree.n_nodes for tree in rows.hierarchies]))
    return [{"n_distinct": n_distinct, **measure_forked(partial(measure, rows, case))}]


def measure(rows: Rows, case: Case) -> Measured:
    """Measure one case in this process.

    ``seconds`` are on the clock, ``busy_seconds`` CPU time of all threads, ``first_thread_seconds``
    that of the calling thread: what the clock would show at best if other cores were free.
    """
    clocks = {
        "seconds": time.perf_counter,
        "busy_seconds": time.process_time,
        "first_thread_seconds": time.thread_time,
    }
    least = dict.fromkeys(clocks, float("inf"))
    for _ in range(case.get("repeats", 1)):
        started = {name: clock() for name, clock in clocks.items()}
        after, figures = _search(rows, case)
        least = {name: min(least[name], clocks[name]() - started[name]) for name in clocks}
    counted = count_tables(rows, after, case["k"])
    smallest = int(counted.group_sizes.min())
    if smallest < case["k"]:
        raise RuntimeError(f"a group of {smallest} rows was released: {case}")
    return {
        **{name: round(taken, 3) for name, taken in least.items()},
        "losses": {name: round(METRICS[name].function(counted), 6) for name in SHOWN_LOSSES},
        "n_groups": len(counted.group_sizes),
        **figures,
    }


def _search(rows: Rows, case: Case) -> tuple[Rows, Measured]:
    """Run a case's search; return the released rows and its figures."""
    if "search" in case:
        return _merge(rows, case)
    method: Any = METHODS[case["method"]](**case["settings"])
    engine = CountingEngine(threads=case.get("threads", 1))
    after = method.run(rows, Conditions(case["k"]), engine, 0, silent)
    sent = engine.sent if case.get("counts_bytes") else {}
    return after, {**after.trace.figures, **sent}


class CountingEngine(LocalEngine):
    """Counts the bytes that partitions would move between machines, as Arrow tables and pickles.

    ``out``: the rows of all partitions; ``largest_out``: those of the largest; ``plan``: what every
    partition gets besides (trees, prices, conditions); ``back``: the released rows of all.
    """

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.sent = {"out": 0, "largest_out": 0, "plan": 0, "back": 0}

    def map_groups(
        self, blocks: LocalBlocks, key: str, function: BlockFunction, schema: pa.Schema
    ) -> LocalBlocks:
        """Count what goes out and what comes back, and do what the engine does."""
        rows = self.collect(blocks)
        n_most = int(np.bincount(rows.column(key).to_numpy()).max(initial=0))
        found = super().map_groups(blocks, key, function, schema)
        self.sent = {
            "out": rows.nbytes,
            "largest_out": rows.nbytes * n_most // max(1, rows.num_rows),
            "plan": len(pickle.dumps(function, protocol=5)),
            "back": self.collect(found).nbytes,
        }
        return found


def _merge(rows: Rows, case: Case) -> tuple[Rows, Measured]:
    """Run greedy with its index or its scan; the figures tell the merges and their order."""
    limits = Conditions(case["k"]).packed(rows.n_rows)
    plan = Plan.of(rows, case["settings"]["metric"], limits, True)
    with_index, workers = case["search"] == "index", case.get("workers", 1)
    merged = merge(rows.nodes, plan, limits, with_index=with_index, workers=workers)
    figures = {
        "n_merges": len(merged.merged_into) - len(merged.run_start) + 1,
        "merges_sha256": hashlib.sha256(merged.merged_into.tobytes()).hexdigest(),
    }
    return rows.with_nodes(merged.released()), figures

"""Searches on one thread and on several, in one process: time, CPU and whether they are the same.

Runs on one and on several threads take turns, and the least time of each counts: other work on the
machine disturbs both alike. ``longest`` is the CPU time of the busiest thread, which no other work
changes: with a core for each thread a search cannot take less. (The caller's thread works along in
all of these searches; those that hand all work to others would need another bound.)
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.greedy.data import ZIP_POPULATION, voters, zip_population
from benchmarks.rules.data import SHOP, RuleData
from benchmarks.sets.data import user_lists
from benchmarks.shared.cases import Measured
from benchmarks.shared.processes import call_apart
from benchmarks.shared.provenance import require_file
from incrowd.engines.base import Engine
from incrowd.engines.local.engine import LocalEngine
from incrowd.methods.mondrian.method import Mondrian
from incrowd.methods.rbat.method import Rbat
from incrowd.methods.shared.conditions import Conditions, SensitiveCondition
from incrowd.methods.shared.item_parts import KmConditions, RuleConditions
from incrowd.methods.shared.set_groups.vote import SetConditions
from incrowd.progress import silent

SEARCHES = ("mondrian", "mondrian-l", "mondrian-lists", "rules", "km")
N_THREADS = (1, 2)
REPEATS = 3
ELECTIONS = 8

Search = Callable[[Engine], bytes]
"""Searches on an engine's threads, and returns its result as bytes."""


def measure(search: str, sizes: tuple[int, ...], folder: Path) -> list[Measured]:
    """Measure a search in a process of its own, a run for each number of threads."""
    runs: list[Measured] = call_apart(
        "benchmarks.scale.threads", search, str(folder), *map(str, sizes)
    )
    return runs


# ── inside the process ──────────────────────────────────────────────────────────────────────────


def _tables(name: str, folder: Path, n_rows: int) -> Search:
    rows = voters(n_rows, zip_population(require_file(folder, ZIP_POPULATION)), 1)
    conditions = Conditions(5)
    if name == "mondrian-l":
        codes = np.random.default_rng(0).integers(0, ELECTIONS, n_rows).astype(np.int32)
        conditions = Conditions(5, sensitive=(SensitiveCondition(codes, ELECTIONS, 2.0),))
    return lambda engine: Mondrian().run(rows, conditions, engine, 0, silent).nodes.tobytes()


def _lists(_name: str, _: Path, n_rows: int, n_items: int) -> Search:
    sets = user_lists(n_rows, n_items)
    conditions = SetConditions("smooth", 8)
    return lambda engine: (
        Mondrian().search(sets, conditions, engine, 0, silent).group_of_row.tobytes()
    )


def _baskets(
    name: str, folder: Path, n_rows: int, n_items: int, longest: int, n_rules: int
) -> Search:
    sets, is_sensitive, rules = RuleData(SHOP, n_rules, n_rows, n_items, longest).load(folder)
    weight = np.ones(sets.n_items)
    conditions: RuleConditions | KmConditions = RuleConditions(5, 0.9, rules, is_sensitive, weight)
    if name == "km":
        conditions = KmConditions(5, 2, is_sensitive, weight)
    return lambda engine: Rbat().search(sets, conditions, engine, 0, silent).part_of_item.tobytes()


def main(name: str, folder: str, *sizes: str) -> list[Measured]:
    """Run a search on each number of threads in turn; return the least of each."""
    make: dict[str, Callable[..., Search]] = {
        "mondrian-lists": _lists,
        "rules": _baskets,
        "km": _baskets,
    }
    search = make.get(name, _tables)(name, Path(folder), *map(int, sizes))
    search(LocalEngine(2))  # kernels are loaded or compiled
    found: dict[int, list[dict[str, Any]]] = {n_threads: [] for n_threads in N_THREADS}
    for _ in range(REPEATS):
        for n_threads, runs in found.items():
            runs.append(_run(search, n_threads))
    return [
        {
            "search": name,
            "n_rows": int(sizes[0]),
            "threads": n_threads,
            **{key: min(run[key] for run in runs) for key in ("seconds", "cpu", "longest")},
            "sha256": runs[0]["sha256"],
        }
        for n_threads, runs in found.items()
    ]


def _run(search: Search, n_threads: int) -> dict[str, Any]:
    seconds_of_thread: list[float] = []
    run_thread = threading.Thread.run

    def watched(thread: threading.Thread) -> None:
        run_thread(thread)
        seconds_of_thread.append(time.thread_time())

    setattr(threading.Thread, "run", watched)  # noqa: B010
    try:
        started, cpu, own = time.perf_counter(), time.process_time(), time.thread_time()
        result = search(LocalEngine(n_threads))
        seconds_of_thread.append(time.thread_time() - own)
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    finally:
        setattr(threading.Thread, "run", run_thread)  # noqa: B010
    return {
        "seconds": round(seconds, 3),
        "cpu": round(cpu, 3),
        "longest": round(max(seconds_of_thread), 3),
        "sha256": hashlib.sha256(result).hexdigest(),
    }

"""Measured runs on sets: time, peak memory, Jaccard similarity and an audit, one process each.

A search leaves its groups in a file, and another child lets them vote, audits the release as the
product does, and counts what was lost: a run whose audit does not hold does not count. Groups of
``facility`` and ``mondrian`` are the same whatever is promised of them; they are searched for once
and vote under every guarantee.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.sets.data import SetData
from benchmarks.sets.paper import GROUPINGS
from benchmarks.shared import processes
from benchmarks.shared.cases import Measured, Task
from benchmarks.shared.processes import Case, measure_forked, run_forked
from incrowd.engines.local.engine import LocalEngine
from incrowd.guarantees.sets.promises import SetEvidence
from incrowd.guarantees.table import GUARANTEES
from incrowd.measures.losses.sets import measure_set_losses
from incrowd.methods.shared.set_groups.vote import SetConditions, shown
from incrowd.methods.table import METHODS
from incrowd.progress import silent
from incrowd.sets.order import canonical_order
from incrowd.sets.sets import Sets

FEW = 2_000
"""Loops are compiled on this many rows."""

MEASURED = ("jaccard", "suppressed", "created", "item_error", "seconds", "cpu_seconds")
"""What is averaged over seeds."""

GROUPED_FOR_ANY = ("facility", "mondrian", *GROUPINGS)
"""Methods whose groups do not depend on the guarantee."""


def task_of(data: SetData, cases: Sequence[Case]) -> Task:
    """Return the task that measures cases on some data: a result per guarantee of each.

    A case has ``method``, ``settings``, ``k``, ``guarantees`` that its groups vote under, and
    ``n_seeds``; with ``outcome`` it is not run, and that says why.
    """
    return processes.task_of("benchmarks.sets.runs", data, cases)


def measure_case(instances: Sequence[Sets], case: Case, scratch: Path) -> list[Measured]:
    """Measure a case with every seed, each in a child; return a result for each guarantee.

    The n-th seed searches the n-th instance, where there are several.
    """
    if "outcome" in case:
        return [{}]
    by_guarantee: dict[str, list[Measured]] = {name: [] for name in case["guarantees"]}
    together = case["method"] in GROUPED_FOR_ANY
    target = scratch / "groups.npy"
    for seed in range(case["n_seeds"]):
        sets = instances[seed % len(instances)]
        searched: dict[str, Any] = {}
        for guarantee, runs in by_guarantee.items():
            if not searched or not together:
                searched = measure_forked(partial(search, sets, case, guarantee, seed, target))
            lost = run_forked(partial(look_at, sets, case, guarantee, target))
            runs.append({**searched, **lost})
    return [{"guarantee": name, **average(runs)} for name, runs in by_guarantee.items()]


def search(
    sets: Sets, case: Case, guarantee: str, seed: int, target: Path | None = None
) -> Measured:
    """Search for groups in this process; they are written to ``target``."""
    started = time.perf_counter()
    if case["method"] in GROUPINGS:
        group_of_row = GROUPINGS[case["method"]](sets, case["k"], seed)
    else:
        method: Any = METHODS[case["method"]](**case["settings"])
        conditions = SetConditions(guarantee, case["k"])
        found = method.search(sets, conditions, LocalEngine(threads=1), seed, silent)
        group_of_row = found.group_of_row
    seconds = time.perf_counter() - started
    if target is not None:
        np.save(target, group_of_row)
    return {"seconds": round(seconds, 3)}


def look_at(sets: Sets, case: Case, guarantee: str, target: Path) -> Measured:
    """Let the groups of a file vote; audit the release and say what it lost."""
    k = case["k"]
    released = shown(sets, np.load(target), SetConditions(guarantee, k))
    order = canonical_order(released, None)
    evidence = SetEvidence(released.take(order), sets, order)
    vote = {} if guarantee == "suppression" else {"vote": "half"}
    conditions: Any = GUARANTEES[guarantee]
    findings = conditions(k, **vote).check(evidence)
    broken = [finding.summary for finding in findings if finding.holds is False]
    if broken or not any(finding.holds for finding in findings):
        raise RuntimeError(f"the audit refused a measured release: {broken}")
    losses = measure_set_losses(sets, released)
    return {
        **{name: getattr(losses, name) for name in ("jaccard", "suppressed", "created")},
        "item_error": losses.item_error,
        "n_kept": losses.n_kept,
        "n_groups": findings[0].figures["n_groups"],
        "largest_group": findings[0].figures["largest_group"],
    }


def average(runs: Sequence[dict[str, Any]]) -> Measured:
    """Return means and deviations over runs with different seeds, and the largest memory."""
    means: dict[str, Any] = {"n_seeds": len(runs)}
    for name in MEASURED:
        values = [run[name] for run in runs]
        means[name] = round(statistics.fmean(values), 6)
        if len(values) > 1 and name in ("jaccard", "suppressed", "created"):
            means[f"{name}_deviation"] = round(statistics.stdev(values), 6)
    for name in ("n_kept", "n_groups", "largest_group"):
        means[name] = round(statistics.fmean(run[name] for run in runs), 1)
    means["peak_memory_bytes"] = max(run["peak_memory_bytes"] for run in runs)
    return means


# ── inside the processes ────────────────────────────────────────────────────────────────────────


def load(stated: dict[str, Any], folder: Path) -> list[Sets]:
    """Read or draw the instances of some data."""
    return SetData(**stated).instances(folder)


def brief(case: Case) -> Case | None:
    """Return a case that needs the same loops."""
    if "outcome" in case:
        return None
    is_in_orders = case["method"] == "facility" and case["settings"].get("variant") != "alg1"
    settings = {**case["settings"], **({"orders": 1} if is_in_orders else {})}
    return {"method": case["method"], "settings": settings, "guarantees": case["guarantees"]}


def compile_loops(instances: Sequence[Sets], brief: Case, scratch: Path) -> None:
    """Run a brief case on a few rows, from the search to the audit."""
    few = instances[0].take(np.arange(min(FEW, instances[0].n_rows)))
    case = {**brief, "k": min(8, max(2, few.n_rows // 8))}
    target = scratch / "few.npy"
    for guarantee in case["guarantees"]:
        search(few, case, guarantee, 0, target)
        look_at(few, case, guarantee, target)

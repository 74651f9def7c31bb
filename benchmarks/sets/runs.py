"""Measured runs on sets: time, peak memory, Jaccard similarity and an audit, one process each.

Data are read by one process and saved; a *stem* loads them and compiles the loops, and each search
is forked off it. A search leaves its groups in a file, and another child lets them vote, audits
the release as the product does, and counts what was lost: a run whose audit does not hold does not
count. Groups of ``facility`` and ``mondrian`` are the same whatever is promised of them; they are
searched for once and vote under every guarantee.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.sets.data import SetData, reload, save
from benchmarks.shared.measured import forked
from benchmarks.shared.stem import answers

if TYPE_CHECKING:
    from incrowd.sets.sets import Sets

Case = dict[str, Any]
"""``method``, ``settings``, ``k``, ``guarantees`` that its groups vote under, and ``n_seeds``.
With ``outcome`` it is not run: that says why."""

FEW = 2_000
"""Loops are compiled on this many rows."""

MEASURED = ("jaccard", "suppressed", "created", "item_error", "seconds", "cpu_seconds")
"""What is averaged over seeds."""

GROUPED_FOR_ANY = ("facility", "mondrian")
"""Methods whose groups do not depend on the guarantee."""


def measured_cases(data: SetData, cases: Sequence[Case], folder: Path) -> list[dict[str, Any]]:
    """Measure cases on some data, one after the other: a result for each guarantee of each."""
    said = answers("benchmarks.sets.runs", asdict(data), cases, folder)
    return [result for answer in said for result in answer]


def measure_case(instances: Sequence[Sets], case: Case, scratch: Path) -> list[dict[str, Any]]:
    """Measure a case with every seed, each in a child; return a result for each guarantee.

    The n-th seed searches the n-th instance, where there are several.
    """
    if "outcome" in case:
        return [case]
    by_guarantee: dict[str, list[dict[str, Any]]] = {name: [] for name in case["guarantees"]}
    together = case["method"] in GROUPED_FOR_ANY
    target = scratch / "groups.npy"
    for seed in range(case["n_seeds"]):
        sets = instances[seed % len(instances)]
        searched: dict[str, Any] = {}
        for guarantee, runs in by_guarantee.items():
            if not searched or not together:
                searched = forked(partial(search, sets, case, guarantee, seed, target))
            looked_at = forked(partial(look_at, sets, case, guarantee, target))
            for own in ("peak_memory_bytes", "cpu_seconds"):
                looked_at.pop(own)
            runs.append({**searched, **looked_at})
    stated = {name: value for name, value in case.items() if name != "guarantees"}
    return [
        {**stated, "guarantee": guarantee, **averaged(runs)}
        for guarantee, runs in by_guarantee.items()
    ]


def search(
    sets: Sets, case: Case, guarantee: str, seed: int, target: Path | None = None
) -> dict[str, Any]:
    """Search for groups in this process; they are written to ``target``."""
    from incrowd.engines.local.engine import LocalEngine
    from incrowd.methods.shared.of_sets.vote import SetPromise
    from incrowd.methods.table import METHODS
    from incrowd.progress import silent

    method: Any = METHODS[case["method"]](**case["settings"])
    engine = LocalEngine(threads=1)
    started = time.perf_counter()
    found = method.search(sets, SetPromise(guarantee, case["k"]), engine, seed, silent)
    seconds = time.perf_counter() - started
    if target is not None:
        np.save(target, found.group_of_row)
    return {"seconds": round(seconds, 3)}


def look_at(sets: Sets, case: Case, guarantee: str, target: Path) -> dict[str, Any]:
    """Let the groups of a file vote; audit the release and say what it lost."""
    from incrowd.guarantees.sets.promises import SetEvidence
    from incrowd.guarantees.table import GUARANTEES
    from incrowd.measures.losses.sets import set_losses
    from incrowd.methods.shared.of_sets.vote import SetPromise, shown
    from incrowd.sets.order import canonical_order

    k = case["k"]
    released = shown(sets, np.load(target), SetPromise(guarantee, k))
    order = canonical_order(released, None)
    evidence = SetEvidence(released.take(order), sets, order)
    vote = {} if guarantee == "suppression" else {"vote": "half"}
    promise: Any = GUARANTEES[guarantee]
    findings = promise(k, **vote).check(evidence)
    broken = [finding.summary for finding in findings if finding.holds is False]
    if broken or not any(finding.holds for finding in findings):
        raise RuntimeError(f"the audit refused a measured release: {broken}")
    losses = set_losses(sets, released)
    return {
        **{name: getattr(losses, name) for name in ("jaccard", "suppressed", "created")},
        "item_error": losses.item_error,
        "n_kept": losses.n_kept,
        "n_groups": findings[0].figures["n_groups"],
        "largest_group": findings[0].figures["largest_group"],
    }


def averaged(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return means and deviations over runs with different seeds, and the largest memory."""
    said: dict[str, Any] = {"n_seeds": len(runs)}
    for name in MEASURED:
        values = [run[name] for run in runs]
        said[name] = round(statistics.fmean(values), 6)
        if len(values) > 1 and name in ("jaccard", "suppressed", "created"):
            said[f"{name}_deviation"] = round(statistics.stdev(values), 6)
    for name in ("n_kept", "n_groups", "largest_group"):
        said[name] = round(statistics.fmean(run[name] for run in runs), 1)
    said["peak_memory_bytes"] = max(run["peak_memory_bytes"] for run in runs)
    return said


# ── inside the processes ────────────────────────────────────────────────────────────────────────


def few(sets: Sets) -> Sets:
    """Return few of the rows, on which the same loops are compiled."""
    return sets.take(np.arange(min(FEW, sets.n_rows)))


def compile_loops(sets: Sets, case: Case, scratch: Path) -> None:
    """Run a case on a few rows, from the search to the audit."""
    some = few(sets)
    brief = {**case, "k": min(case["k"], max(2, some.n_rows // 8))}
    brief["settings"] = {**case["settings"], **({"orders": 1} if _is_in_orders(case) else {})}
    target = scratch / "few.npy"
    for guarantee in case["guarantees"]:
        search(some, brief, guarantee, 0, target)
        look_at(some, brief, guarantee, target)


def _is_in_orders(case: Case) -> bool:
    return bool(case["method"] == "facility" and case["settings"].get("variant") != "alg1")


def _main(words: list[str]) -> None:
    if words[0] == "prepare":
        stated, folder, target = words[1:]
        save(SetData(**json.loads(stated)).instances(Path(folder)), Path(target))
        return
    saved = Path(words[1])
    instances = reload(saved)
    compiled: set[str] = set()
    for case in json.load(sys.stdin):
        kind = json.dumps([case["method"], case["settings"], case.get("guarantees")])
        if kind not in compiled and "outcome" not in case:
            compile_loops(instances[0], case, saved.parent)
            compiled.add(kind)
        print(json.dumps(measure_case(instances, case, saved.parent)), flush=True)


if __name__ == "__main__":
    _main(sys.argv[1:])

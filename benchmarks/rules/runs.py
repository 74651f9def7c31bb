"""Measured searches for parts of items: time, peak memory, losses and an audit, one process each.

A search leaves its parts in a file, and another child makes the release of them, audits it as the
product does and counts what was lost: a run whose audit does not hold does not count.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rules.data import RuleData, Transactions
from benchmarks.shared import processes
from benchmarks.shared.cases import Measured, Task
from benchmarks.shared.processes import Case, measure_forked, run_forked
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import JobError
from incrowd.guarantees.transactions.promises import KmAnonymity, RuleEvidence, RuleProtection
from incrowd.measures.losses.transactions import measure_rule_losses
from incrowd.methods.rbat.method import Rbat
from incrowd.methods.shared.item_parts import KmConditions, RuleConditions
from incrowd.progress import silent
from incrowd.transactions.generalized import generalize_sets
from incrowd.transactions.mine import MOST_RULES, mine_rules
from incrowd.transactions.samples import generate_rules

FEW = 2_000
"""Loops are compiled on this many rows, …"""

FEW_RULES = 20
"""… with so many rules."""

N_QUERIES = 10_000
"""Ten times the paper's: of random queries few are answered with more than 0."""

LOSSES = (
    "log2_utility_loss",
    "log2_utility_loss_unscaled",
    "are_subsets",
    "are_share",
    "n_answered",
    "share_ungeneralized",
    "mean_part_size",
    "largest_part",
    "n_public",
    "n_parts",
)


def task_of(data: RuleData, cases: Sequence[Case]) -> Task:
    """Return the task that measures cases on some data, one after the other.

    A case has ``settings`` of the method, ``k``, and ``confidence`` with ``n_rules``, the first so
    many, or ``m``.
    """
    return processes.task_of("benchmarks.rules.runs", data, cases)


def conditions_of(transactions: Transactions, case: Case) -> RuleConditions | KmConditions:
    """Return what a case promises, in the numbers of the search."""
    weight = np.ones(transactions.sets.n_items)
    if "m" in case:
        return KmConditions(case["k"], case["m"], transactions.is_sensitive, weight)
    rules = transactions.rules.take(np.arange(case["n_rules"]))
    return RuleConditions(case["k"], case["confidence"], rules, transactions.is_sensitive, weight)


def search(transactions: Transactions, case: Case, target: Path | None = None) -> Measured:
    """Search for parts in this process; they are written to ``target``."""
    method = Rbat(**case["settings"])
    conditions = conditions_of(transactions, case)
    started = time.perf_counter()
    found = method.search(transactions.sets, conditions, LocalEngine(threads=1), 0, silent)
    seconds = time.perf_counter() - started
    if target is not None:
        np.save(target, found.part_of_item)
    figures = {
        name: figure for name, figure in found.figures.items() if isinstance(figure, int | float)
    }
    return {
        "seconds": round(seconds, 3),
        "skewness": found.tree.skewness,
        "n_nodes": len(found.tree.left),
        "figures": figures,
        "parts_sha256": hashlib.sha256(found.part_of_item.tobytes()).hexdigest(),
    }


def look_at(transactions: Transactions, case: Case, target: Path) -> Measured:
    """Make the release of the parts in a file; audit it and say what it lost."""
    sets, is_sensitive, _ = transactions
    released = generalize_sets(sets, np.load(target), is_sensitive)
    sensitive = frozenset(str(item) for item in np.flatnonzero(is_sensitive).tolist())
    guarantee: KmAnonymity | RuleProtection
    if "m" in case:
        guarantee = KmAnonymity(case["k"], case["m"])
        evidence = RuleEvidence(released, sensitive=sensitive)
    else:
        guarantee = RuleProtection(case["k"], case["confidence"])
        rules = transactions.rules.take(np.arange(case["n_rules"]))
        evidence = RuleEvidence(released, rules=rules, sensitive=sensitive)
    started = time.perf_counter()
    findings = guarantee.check(evidence)
    seconds = time.perf_counter() - started
    broken = [finding.summary for finding in findings if finding.holds is False]
    if broken or not any(finding.holds for finding in findings):
        raise RuntimeError(f"the audit refused a measured release: {broken}")
    losses = measure_rule_losses(sets, released, is_sensitive, n_queries=N_QUERIES).as_dict()
    return {"audit_seconds": round(seconds, 3), **{name: losses[name] for name in LOSSES}}


# ── inside the processes ────────────────────────────────────────────────────────────────────────


def load(stated: dict[str, Any], folder: Path) -> Transactions:
    """Read or draw transactions."""
    return RuleData(**stated).load(folder)


def few(transactions: Transactions) -> Transactions:
    """Return few of the rows and rules that they can keep, on which the same loops are compiled."""
    sets, is_sensitive, _ = transactions
    some = sets.take(np.arange(min(FEW, sets.n_rows)))
    rules = generate_rules(some, is_sensitive, FEW_RULES, public=(2, 2), sensitive=(1, 1))
    return Transactions(some, is_sensitive, rules)


def brief(case: Case) -> Case:
    """Return a case that needs the same loops and that few rows can keep."""
    brief = {**case, "k": 2}
    return brief | ({"n_rules": FEW_RULES, "confidence": 1.0} if "n_rules" in case else {})


def compile_loops(transactions: Transactions, brief: Case, scratch: Path) -> None:
    """Run a brief case on a few rows, from the search to the audit."""
    some = few(transactions)
    target = scratch / "few.npy"
    search(some, brief, target)
    look_at(some, brief, target)


def measure_case(transactions: Transactions, case: Case, scratch: Path) -> list[Measured]:
    """Measure one case in a child, and let another look at its parts."""
    base = measure_forked(dict)["peak_memory_bytes"]
    target = scratch / "parts.npy"
    result = measure_forked(partial(search, transactions, case, target))
    result |= run_forked(partial(look_at, transactions, case, target))
    shape = {"n_rows": transactions.sets.n_rows, "n_entries": transactions.sets.n_entries}
    return [{**shape, "base_memory_bytes": base, **result}]


# ── mined rules ─────────────────────────────────────────────────────────────────────────────────


def mined_case(data: RuleData, k: int, confidence: float, sizes: Sequence[int]) -> Task:
    """Return the task that mines rules of up to so many public items each."""

    def task(folder: Path) -> list[Measured]:
        record = data.record(folder)
        transactions = data.load(folder)
        mine(few(transactions), {"k": 2, "confidence": 1.0, "largest": 1})
        results = []
        for largest in sizes:
            case = {"k": k, "confidence": confidence, "largest": largest}
            found = measure_forked(partial(mine, transactions, case))
            results.append({"data": record, "n_rows": transactions.sets.n_rows, **case, **found})
        return results

    return task


def mine(transactions: Transactions, case: Case) -> Measured:
    """Mine the rules that transactions break; too many are an outcome."""
    started = time.perf_counter()
    try:
        rules = mine_rules(
            transactions.sets,
            transactions.is_sensitive,
            case["k"],
            case["confidence"],
            case["largest"],
        )
        figures: Measured = {"n_rules": rules.n_rules}
    except JobError:
        figures = {"outcome": f"more than {MOST_RULES:,}"}
    return {"seconds": round(time.perf_counter() - started, 3), **figures}

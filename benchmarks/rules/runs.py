"""Measured searches for parts of items: time, peak memory, losses and an audit, one process each.

Transactions are read or drawn by one process and saved; a *stem* loads them and compiles the loops,
and each search is forked off it. A search leaves its parts in a file, and another child makes the
release of them, audits it as the product does and counts what was lost: a run whose audit does not
hold does not count.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.rules.data import RuleData, Transactions, reload, save
from benchmarks.shared.measured import forked
from benchmarks.shared.stem import answers

if TYPE_CHECKING:
    from incrowd.methods.shared.item_parts import KmPromise, RulePromise

Case = dict[str, Any]
"""``settings`` of the method, ``k``, and ``confidence`` with ``n_rules``, the first so many, or
``m``."""

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


def measured_cases(data: RuleData, cases: Sequence[Case], folder: Path) -> list[dict[str, Any]]:
    """Measure cases on some data, one after the other."""
    said = answers("benchmarks.rules.runs", asdict(data), cases, folder)
    record = data.record(folder)
    return [{"data": record, **case, **answer} for case, answer in zip(cases, said, strict=True)]


def promise_of(transactions: Transactions, case: Case) -> RulePromise | KmPromise:
    """Return what a case promises, in the numbers of the search."""
    from incrowd.methods.shared.item_parts import KmPromise, RulePromise

    weight = np.ones(transactions.sets.n_items)
    if "m" in case:
        return KmPromise(case["k"], case["m"], transactions.is_sensitive, weight)
    rules = transactions.rules.take(np.arange(case["n_rules"]))
    return RulePromise(case["k"], case["confidence"], rules, transactions.is_sensitive, weight)


def search(transactions: Transactions, case: Case, target: Path | None = None) -> dict[str, Any]:
    """Search for parts in this process; they are written to ``target``."""
    from incrowd.engines.local.engine import LocalEngine
    from incrowd.methods.rbat.method import Rbat
    from incrowd.progress import silent

    method = Rbat(**case["settings"])
    promise = promise_of(transactions, case)
    started = time.perf_counter()
    found = method.search(transactions.sets, promise, LocalEngine(threads=1), 0, silent)
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


def look_at(transactions: Transactions, case: Case, target: Path) -> dict[str, Any]:
    """Make the release of the parts in a file; audit it and say what it lost."""
    from incrowd.guarantees.transactions.promises import KmAnonymity, RuleEvidence, RuleProtection
    from incrowd.measures.losses.transactions import rule_losses
    from incrowd.transactions.generalized import generalized_sets

    sets, is_sensitive, _ = transactions
    released = generalized_sets(sets, np.load(target), is_sensitive)
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
    losses = rule_losses(sets, released, is_sensitive, n_queries=N_QUERIES).as_dict()
    return {"audit_seconds": round(seconds, 3), **{name: losses[name] for name in LOSSES}}


# ── inside the processes ────────────────────────────────────────────────────────────────────────


def few(transactions: Transactions) -> Transactions:
    """Return few of the rows and rules that they can keep, on which the same loops are compiled."""
    from incrowd.transactions.samples import generate_rules

    sets, is_sensitive, _ = transactions
    some = sets.take(np.arange(min(FEW, sets.n_rows)))
    rules = generate_rules(some, is_sensitive, FEW_RULES, public=(2, 2), sensitive=(1, 1))
    return Transactions(some, is_sensitive, rules)


def compile_loops(transactions: Transactions, case: Case, scratch: Path) -> None:
    """Run a case on a few rows, from the search to the audit."""
    brief = {**case, "k": 2}
    if "n_rules" in case:
        brief |= {"n_rules": FEW_RULES, "confidence": 1.0}
    some = few(transactions)
    target = scratch / "few.npy"
    search(some, brief, target)
    look_at(some, brief, target)


def _main(words: list[str]) -> None:
    if words[0] == "prepare":
        stated, folder, saved_as = words[1:]
        save(RuleData(**json.loads(stated)).made(Path(folder)), Path(saved_as))
        return
    saved = Path(words[1])
    transactions = reload(saved)
    target = saved.with_name("parts.npy")
    compiled: set[str] = set()
    for case in json.load(sys.stdin):
        kind = json.dumps([case["settings"], case.get("m")])
        if kind not in compiled:
            compile_loops(transactions, case, saved.parent)
            compiled.add(kind)
        base = forked(dict)["peak_memory_bytes"]
        found = forked(partial(search, transactions, case, target))
        looked_at = forked(partial(look_at, transactions, case, target))
        for own in ("peak_memory_bytes", "cpu_seconds"):
            looked_at.pop(own)
        shape = {"n_rows": transactions.sets.n_rows, "n_entries": transactions.sets.n_entries}
        result = {**shape, "base_memory_bytes": base, **found, **looked_at}
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    _main(sys.argv[1:])

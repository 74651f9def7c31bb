"""Beside the searches: a plain RBAT with the same data and parts, and rules that are mined."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.rules.data import RuleData, Transactions
from benchmarks.rules.plain import plain_rbat
from benchmarks.rules.runs import Case, compile_loops, few, search
from benchmarks.rules.sizes import RulesSizes
from benchmarks.shared.cases import Task
from benchmarks.shared.measured import forked

if TYPE_CHECKING:
    from benchmarks.shared.plans import Measured


def plain_case(data: RuleData, cases: list[Case]) -> Task:
    """Return the task that times the plain search and ours, and holds their parts together."""

    def task(folder: Path) -> list[Measured]:
        import tempfile

        record = data.record(folder)
        transactions = data.made(folder)
        results = []
        with tempfile.TemporaryDirectory() as scratch:
            target = Path(scratch) / "parts.npy"
            for case in cases:
                compile_loops(transactions, case, Path(scratch))
                ours = forked(partial(search, transactions, case, target))
                plainly = forked(partial(_plainly, transactions, case, target))
                shape = {"n_rows": transactions.sets.n_rows, "n_items": transactions.sets.n_items}
                for way, found in (("incrowd", ours), ("plain", plainly)):
                    results.append({"data": record, **case, **shape, "way": way, **found})
        return results

    return task


def _plainly(transactions: Transactions, case: Case, target: Path) -> dict[str, Any]:
    """Search the plain way; raise where the parts are others than those in the file."""
    sets, is_sensitive, rules = transactions
    rows = [row.tolist() for row in np.split(sets.items, sets.starts[1:-1])]
    sensitive = frozenset(np.flatnonzero(is_sensitive).tolist())
    stated = []
    for number in range(case["n_rules"]):
        public, told = rules.rule(number)
        stated.append((tuple(map(int, public)), tuple(map(int, told))))
    started = time.perf_counter()
    parts = plain_rbat(
        rows,
        sensitive,
        stated,
        case["k"],
        case["confidence"],
        case["settings"]["alpha"],
    )
    seconds = time.perf_counter() - started
    part_of_item = np.load(target)
    ours = sorted(
        tuple(np.flatnonzero(part_of_item == part).tolist())
        for part in range(int(part_of_item.max()) + 1)
    )
    if ours != parts:
        raise RuntimeError("the plain search found other parts")
    return {"seconds": round(seconds, 3), "n_parts": len(parts)}


def mined_case(data: RuleData, sizes: RulesSizes) -> Task:
    """Return the task that mines rules of every size."""

    def task(folder: Path) -> list[Measured]:
        record = data.record(folder)
        transactions = data.made(folder)
        _mined(few(transactions), {"k": 2, "confidence": 1.0, "largest": 1})
        results = []
        for largest in sizes.largest:
            case = {"k": sizes.k, "confidence": sizes.confidence, "largest": largest}
            found = forked(partial(_mined, transactions, case))
            results.append({"data": record, "n_rows": transactions.sets.n_rows, **case, **found})
        return results

    return task


def _mined(transactions: Transactions, case: dict[str, Any]) -> dict[str, Any]:
    from incrowd.errors import JobError
    from incrowd.transactions.mine import MOST_RULES, mine_rules

    started = time.perf_counter()
    try:
        rules = mine_rules(
            transactions.sets,
            transactions.is_sensitive,
            case["k"],
            case["confidence"],
            case["largest"],
        )
        said: dict[str, Any] = {"n_rules": rules.n_rules}
    except JobError:
        said = {"outcome": f"more than {MOST_RULES:,}"}
    return {"seconds": round(time.perf_counter() - started, 3), **said}

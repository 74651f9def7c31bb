"""The workload ``rules``: transactions beside the paper of MR-RBAT, in parts of named cases.

======  ==============================================================================
part    what it measures
======  ==============================================================================
growth  Figure 1: time, memory and error by the number of transactions, for some α
alpha   Figure 3: time, error and skewness by α; our order of items, and improvement
items   Figure 4: time and error by the number of items
rules   Figure 5: time by the number of rules and γ; the parts must be the same
real    transactions of shops and web sites
mined   rules that these break, and how long it takes to find them
km      kᵐ-anonymity of them
plain   against a plain sequential RBAT with Python's sets
======  ==============================================================================

Memon and Shao (2015).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.rules.beside import mined_case, plain_case
from benchmarks.rules.data import REAL, SHOP, RuleData
from benchmarks.rules.runs import Case, measured_cases
from benchmarks.rules.sizes import FULL, SMALL, RulesSizes
from benchmarks.shared.cases import Planned, Task, run_cases
from benchmarks.shared.plans import Measured
from incrowd.progress import Progress

__all__ = ["FULL", "PARTS", "SMALL", "run"]

ORDERS = ("paper", "together")


def run(
    folder: Path,
    parts: tuple[str, ...],
    progress: Progress,
    *,
    cases: tuple[str, ...] = (),
    sizes: RulesSizes = FULL,
    before: Mapping[str, Any] | None = None,
    keep: Callable[[Measured], None] | None = None,
) -> Measured:
    """Measure some parts or cases, or all; the others stay as they were ``before``.

    ``keep`` is given all results after every case.
    """
    return run_cases(
        "rules",
        PARTS,
        folder,
        parts,
        progress,
        cases=cases,
        sizes=sizes,
        is_small=sizes != FULL,
        before=before,
        keep=keep,
    )


def _shop(sizes: RulesSizes, **other: Any) -> RuleData:
    n_rows, n_items = sizes.baskets
    stated = {"n_rules": sizes.n_rules, "n_rows": n_rows, "n_items": n_items}
    return RuleData(SHOP, **{**stated, "longest": sizes.longest, **other})


def _case(sizes: RulesSizes, **settings: Any) -> Case:
    return {
        "settings": {"alpha": 4, "gamma": 4, "order": "paper", "improve": 0, **settings},
        "k": sizes.k,
        "confidence": sizes.confidence,
        "n_rules": sizes.n_rules,
    }


def _measured(data: RuleData, cases: list[Case]) -> Task:
    def task(folder: Path) -> list[Measured]:
        return measured_cases(data, cases, folder)

    return task


def growth(sizes: RulesSizes) -> dict[str, Task]:
    """Plan ever more transactions, with α = 4 always and with the others on the fewer.

    As many are also drawn anew, since of selected ones many are equal and counted together.
    """
    planned = {}
    for times in sizes.times:
        cases = [_case(sizes)]
        if times <= sizes.most_times_of_others:
            cases += [_case(sizes, alpha=alpha) for alpha in sizes.alphas if alpha != 4]
        planned[f"times-{times:g}"] = _measured(_shop(sizes, times=times), cases)
    for fold in sizes.drawn_times:
        data = _shop(sizes, n_rows=fold * sizes.baskets[0])
        planned[f"drawn-{fold}"] = _measured(data, [_case(sizes)])
    return planned


def alpha(sizes: RulesSizes) -> dict[str, Task]:
    """Plan every α in both orders of items, and what is improved after α = 4."""
    data = _shop(sizes, times=sizes.alpha_times)
    planned = {
        f"alpha-{one}": _measured(data, [_case(sizes, alpha=one, order=order) for order in ORDERS])
        for one in sizes.alphas
    }
    cases = [_case(sizes, order=order, improve="auto") for order in ORDERS]
    return {**planned, "improved": _measured(data, cases)}


def items(sizes: RulesSizes) -> dict[str, Task]:
    """Plan more and fewer items, with α = 4 and item by item."""
    return {
        f"items-{n_items}": _measured(
            _shop(sizes, n_items=n_items), [_case(sizes), _case(sizes, alpha="full")]
        )
        for n_items in sizes.n_items
    }


def rules(sizes: RulesSizes) -> dict[str, Task]:
    """Plan more and fewer rules with every γ, which must change no part."""
    most = max(sizes.n_rules_varied)
    return {
        f"rules-{n_rules}": _same_parts(
            _measured(
                _shop(sizes, n_rules=most),
                [{**_case(sizes, gamma=gamma), "n_rules": n_rules} for gamma in sizes.gammas],
            )
        )
        for n_rules in sizes.n_rules_varied
    }


def _same_parts(task: Task) -> Task:
    def checked(folder: Path) -> list[Measured]:
        found = task(folder)
        if len({one["parts_sha256"] for one in found}) != 1:
            raise RuntimeError("γ changed the parts that were found")
        return found

    return checked


def real(sizes: RulesSizes) -> dict[str, Task]:
    """Plan real transactions as in the paper, in our order, item by item, and improved."""
    settings: list[dict[str, Any]] = [
        {},
        {"alpha": "full"},
        {"order": "together"},
        {"order": "together", "improve": "auto"},
    ]
    return {
        f"real-{name}": _measured(
            RuleData(name, sizes.n_rules, sizes.most_rows),
            [_case(sizes, **one) for one in settings],
        )
        for name in REAL
    }


def mined(sizes: RulesSizes) -> dict[str, Task]:
    """Plan the search for rules that real transactions break."""
    return {f"mined-{name}": mined_case(RuleData(name, 1, sizes.most_rows), sizes) for name in REAL}


def km(sizes: RulesSizes) -> dict[str, Task]:
    """Plan kᵐ-anonymity of real transactions."""
    return {
        f"km-{name}": _measured(
            RuleData(name, 1, sizes.most_rows),
            [
                {"settings": {"improve": improve}, "k": sizes.k, "m": m}
                for m in sizes.all_m
                for improve in (0, "auto")
            ],
        )
        for name in REAL
    }


def plain(sizes: RulesSizes) -> dict[str, Task]:
    """Plan a plain sequential RBAT beside ours, on a size that it can do."""
    n_rows, n_items, n_rules = sizes.plain
    data = _shop(sizes, n_rows=n_rows, n_items=n_items, n_rules=n_rules)
    data = RuleData(**{**vars(data), "longest": min(sizes.longest, n_items // 2)})
    return {"plain": plain_case(data, [{**_case(sizes), "n_rules": n_rules}])}


PARTS: dict[str, Planned] = {
    "growth": growth,
    "alpha": alpha,
    "items": items,
    "rules": rules,
    "real": real,
    "mined": mined,
    "km": km,
    "plain": plain,
}

"""The workload ``rules``: transactions beside the paper of MR-RBAT, in parts of named cases.

======  ==============================================================================
part    what it measures
======  ==============================================================================
growth  Figure 1: time, memory and error by the number of transactions, for some α
nodes   Figure 2: time by the number of workers of a Spark cluster, each of one core
alpha   Figure 3: time, error and skewness by α; our order of items, and improvement
items   Figure 4: time and error by the number of items
rules   Figure 5: time and rounds by the number of rules and γ; the parts must be the same
real    transactions of shops and web sites
mined   rules that these break, and how long it takes to find them
km      kᵐ-anonymity of them
plain   against a plain sequential RBAT with Python's sets
======  ==============================================================================

Memon and Shao (2015).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.rules.data import REAL, SHOP, RuleData
from benchmarks.rules.page import CHARTS, TABLES
from benchmarks.rules.plain import plain_case
from benchmarks.rules.runs import mined_case, task_of
from benchmarks.scale.runs import Command, Place, measure
from benchmarks.shared.cases import Measured, Task, Workload
from benchmarks.shared.processes import Case

ORDERS = ("paper", "together")


@dataclass(frozen=True)
class Sizes:
    """The data, rules and settings of every part; the paper's defaults where it states some.

    ``baskets`` are the rows and items of 1X; real files are taken whole with ``most_rows`` of 0.
    """

    baskets: tuple[int, int] = (515_597, 1_657)
    longest: int = 164
    n_rules: int = 4_000
    k: int = 5
    confidence: float = 0.9
    times: tuple[float, ...] = (0.5, 1, 2, 4, 8, 16)
    most_times_of_others: float = 1
    drawn_times: tuple[int, ...] = (4, 8, 16)
    nodes: tuple[int, ...] = (1, 2)
    node_memory: int = 1_536
    alphas: tuple[int | str, ...] = (1, 4, 16, 64, "full")
    alpha_times: float = 2
    gammas: tuple[int, ...] = (1, 4, 16)
    n_items: tuple[int, ...] = (500, 1_000, 1_657, 3_000, 6_000)
    n_rules_varied: tuple[int, ...] = (1_000, 4_000, 16_000)
    most_gamma_of_others: int = 4
    most_rows: int = 0
    all_m: tuple[int, ...] = (1, 2, 3)
    largest: tuple[int, ...] = (1, 2, 3)
    plain: tuple[int, int, int] = (50_000, 300, 1_000)


FULL = Sizes()

SMALL = Sizes(
    baskets=(1_500, 120),
    longest=30,
    n_rules=60,
    k=3,
    times=(0.5, 1, 2),
    drawn_times=(2,),
    nodes=(1,),
    node_memory=1_024,
    alphas=(1, 4, "full"),
    alpha_times=1,
    gammas=(1, 4),
    n_items=(60, 120),
    n_rules_varied=(30, 60),
    most_rows=300,
    all_m=(1, 2),
    largest=(1,),
    plain=(400, 30, 20),
)
"""The same parts in a minute or so; ``plain`` is rows, items and rules."""


def _shop(sizes: Sizes, **other: Any) -> RuleData:
    n_rows, n_items = sizes.baskets
    stated = {"n_rules": sizes.n_rules, "n_rows": n_rows, "n_items": n_items}
    return RuleData(SHOP, **{**stated, "longest": sizes.longest, **other})


def _case(sizes: Sizes, **settings: Any) -> Case:
    return {
        "settings": {"alpha": 4, "gamma": 4, "order": "paper", "improve": 0, **settings},
        "k": sizes.k,
        "confidence": sizes.confidence,
        "n_rules": sizes.n_rules,
    }


def growth(sizes: Sizes) -> dict[str, Task]:
    """Plan ever more transactions, with α = 4 always and with the others on the fewer.

    As many are also drawn anew, since of selected ones many are equal and counted together.
    """
    planned = {}
    for times in sizes.times:
        cases = [_case(sizes)]
        if times <= sizes.most_times_of_others:
            cases += [_case(sizes, alpha=alpha) for alpha in sizes.alphas if alpha != 4]
        planned[f"times-{times:g}"] = task_of(_shop(sizes, times=times), cases)
    for fold in sizes.drawn_times:
        data = _shop(sizes, n_rows=fold * sizes.baskets[0])
        planned[f"drawn-{fold}"] = task_of(data, [_case(sizes)])
    return planned


def nodes(sizes: Sizes) -> dict[str, Task]:
    """Plan whole runs on clusters of this machine: read, counted, written and audited there."""
    n_rows, n_items = sizes.baskets
    words = ["--k", str(sizes.k), "--confidence", str(sizes.confidence)]
    words += ["--rules", "{folder}/rules.txt", "--sensitive-items", "{folder}/sensitive.txt"]
    words += ["--alpha", "4", "--gamma", "4", "--order", "paper", "--rounds", "engine"]
    wanted = Command(
        "baskets", (n_rows, n_items, sizes.longest, sizes.n_rules), tuple(words), "rbat"
    )
    return {
        f"nodes-{number}": partial(
            measure,
            wanted,
            Place(f"nodes-{number}", n_workers=number, executor_memory=sizes.node_memory),
        )
        for number in sizes.nodes
    }


def alpha(sizes: Sizes) -> dict[str, Task]:
    """Plan every α in both orders of items, and what is improved after α = 4."""
    data = _shop(sizes, times=sizes.alpha_times)
    planned = {
        f"alpha-{one}": task_of(data, [_case(sizes, alpha=one, order=order) for order in ORDERS])
        for one in sizes.alphas
    }
    cases = [_case(sizes, order=order, improve="auto") for order in ORDERS]
    return {**planned, "improved": task_of(data, cases)}


def items(sizes: Sizes) -> dict[str, Task]:
    """Plan more and fewer items, with α = 4 and item by item."""
    return {
        f"items-{n_items}": task_of(
            _shop(sizes, n_items=n_items), [_case(sizes), _case(sizes, alpha="full")]
        )
        for n_items in sizes.n_items
    }


def rules(sizes: Sizes) -> dict[str, Task]:
    """Plan more and fewer rules, in one process and in rounds; the larger γ for 4,000 alone.

    Neither γ nor rounds may change a part.
    """
    most = max(sizes.n_rules_varied)
    planned = {}
    for n_rules in sizes.n_rules_varied:
        settings = [{"rounds": "driver", "gamma": 1}]
        settings += [
            {"rounds": "engine", "gamma": gamma}
            for gamma in sizes.gammas
            if n_rules == sizes.n_rules or gamma <= sizes.most_gamma_of_others
        ]
        cases = [{**_case(sizes, **stated), "n_rules": n_rules} for stated in settings]
        planned[f"rules-{n_rules}"] = _same_parts(task_of(_shop(sizes, n_rules=most), cases))
    return planned


def _same_parts(task: Task) -> Task:
    def checked(folder: Path) -> list[Measured]:
        found = task(folder)
        if len({one["parts_sha256"] for one in found}) != 1:
            raise RuntimeError("γ changed the parts that were found")
        return found

    return checked


def real(sizes: Sizes) -> dict[str, Task]:
    """Plan real transactions as in the paper, in our order, item by item, and improved."""
    settings: list[dict[str, Any]] = [
        {},
        {"alpha": "full"},
        {"order": "together"},
        {"order": "together", "improve": "auto"},
    ]
    return {
        f"real-{name}": task_of(
            RuleData(name, sizes.n_rules, sizes.most_rows),
            [_case(sizes, **one) for one in settings],
        )
        for name in REAL
    }


def mined(sizes: Sizes) -> dict[str, Task]:
    """Plan the search for rules that real transactions break."""
    return {
        f"mined-{name}": mined_case(
            RuleData(name, 1, sizes.most_rows), sizes.k, sizes.confidence, sizes.largest
        )
        for name in REAL
    }


def km(sizes: Sizes) -> dict[str, Task]:
    """Plan kᵐ-anonymity of real transactions."""
    return {
        f"km-{name}": task_of(
            RuleData(name, 1, sizes.most_rows),
            [
                {"settings": {"improve": improve}, "k": sizes.k, "m": m}
                for m in sizes.all_m
                for improve in (0, "auto")
            ],
        )
        for name in REAL
    }


def plain(sizes: Sizes) -> dict[str, Task]:
    """Plan a plain sequential RBAT beside ours, on a size that it can do."""
    n_rows, n_items, n_rules = sizes.plain
    data = _shop(sizes, n_rows=n_rows, n_items=n_items, n_rules=n_rules)
    data = replace(data, longest=min(sizes.longest, n_items // 2))
    return {"plain": plain_case(data, [{**_case(sizes), "n_rules": n_rules}])}


WORKLOAD = Workload(
    "rules",
    {
        "growth": growth,
        "nodes": nodes,
        "alpha": alpha,
        "items": items,
        "rules": rules,
        "real": real,
        "mined": mined,
        "km": km,
        "plain": plain,
    },
    FULL,
    SMALL,
    TABLES,
    CHARTS,
)

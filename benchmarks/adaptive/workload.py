"""The workload ``adaptive``: adaptive anonymity beside its paper, in parts of named cases.

=========  ==========================================================================
part       what it measures
=========  ==========================================================================
exact      Table II: covers on two networks against the least cover there is
large      Table III: utility, time per iteration and memory on large tables
memory     peak memory by rows, time per pair against plain searches, working sets
searches   Adult: partition, cover and sweeps, and what an attacker believes of each
scaling    Figures 4 to 6: the cover on one and two threads, on Spark, and by rows
=========  ==========================================================================

Khan, Choromanski, Pothen, Ferdous, Halappanavar and Tumeo (2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.adaptive.data import WishedTable
from benchmarks.adaptive.exact import exact_case
from benchmarks.adaptive.nearest import nearest_case
from benchmarks.adaptive.page import TABLES, THREADS, WORKING_SETS
from benchmarks.adaptive.runs import task_of
from benchmarks.shared.cases import Measured, Task, Workload
from benchmarks.shared.processes import Case
from benchmarks.shared.provenance import cores

ENTRY_BYTES = 4
"""What an entry of the working set takes, in the paper and here."""


@dataclass(frozen=True)
class Sizes:
    """The tables of every part. ``adult_rows`` of 0 and the like take the whole table."""

    network_k: tuple[int, int] = (2, 10)
    networks: tuple[str, ...] = ("caltech36", "reed98")
    network_rows: int = 0
    optimum_seconds: float = 600.0
    k: tuple[int, int] = (5, 100)
    adult_rows: int = 0
    census_rows: int = 40_000
    census_first_rows: int = 158_285
    poker_rows: int = 0
    hands_rows: int = 500_000
    payments_rows: int = 74_528
    payments_first_rows: int = 745_280
    growth_rows: tuple[int, ...] = (10_000, 100_000, 500_000)
    plain_rows: int = 100_000
    sweeps: int = 3
    threaded: tuple[tuple[str, int, int], ...] = (
        ("caltech36", 0, 20),
        ("reed98", 0, 20),
        ("adult", 0, 4),
        ("census", 8_000, 2),
        ("hands", 20_000, 2),
        ("payments", 10_000, 2),
    )
    shares: tuple[float, ...] = (0.125, 0.25, 0.5, 1.0)
    share_rows: int = 32_561
    repeats: int = 3


FULL = Sizes()

SMALL = Sizes(
    network_rows=120,
    optimum_seconds=20.0,
    k=(2, 12),
    adult_rows=600,
    census_rows=300,
    census_first_rows=400,
    poker_rows=500,
    hands_rows=600,
    payments_rows=300,
    payments_first_rows=500,
    growth_rows=(300, 600),
    plain_rows=500,
    sweeps=1,
    threaded=(("caltech36", 120, 2), ("hands", 300, 2)),
    shares=(0.5, 1.0),
    share_rows=600,
    repeats=1,
)
"""The same parts in a minute or so."""


def exact(sizes: Sizes) -> dict[str, Task]:
    """Plan the networks: every cover to convergence, and the least cover of the first iteration."""
    return {
        name: exact_case(_network(name, sizes), sizes.optimum_seconds) for name in sizes.networks
    }


def _network(name: str, sizes: Sizes) -> WishedTable:
    return WishedTable(name, *sizes.network_k, sizes.network_rows)


def large(sizes: Sizes) -> dict[str, Task]:
    """Plan the large tables: to convergence where that takes minutes, else an iteration or two."""
    k = sizes.k
    return {
        "adult": _covered(WishedTable("adult", *k, sizes.adult_rows), is_audited=True),
        "census": _covered(WishedTable("census", *k, sizes.census_rows, False), is_audited=True),
        "census-first": _covered(WishedTable("census", *k, sizes.census_first_rows, False), 2),
        "poker": _covered(WishedTable("poker", *k, sizes.poker_rows), is_audited=True),
        "hands-first": _covered(WishedTable("hands", *k, sizes.hands_rows), 2),
        "payments": _covered(WishedTable("payments", *k, sizes.payments_rows), is_audited=True),
        "payments-first": _covered(WishedTable("payments", *k, sizes.payments_first_rows), 1),
    }


def _covered(wished: WishedTable, most_iterations: int = 0, **more: Any) -> Task:
    settings = {"most_iterations": most_iterations} if most_iterations else {}
    case: Case = {"steps": [["cover", settings]], "threads": cores(), **more}
    return task_of(wished, [case])


def memory(sizes: Sizes) -> dict[str, Task]:
    """Plan growth on hands of poker, plain searches beside ours, and working sets."""
    planned = {
        f"growth-{n_rows}": _covered(WishedTable("hands", *sizes.k, n_rows), 1)
        for n_rows in sizes.growth_rows
    }
    planned["plain"] = nearest_case(WishedTable("hands", *sizes.k, sizes.plain_rows))
    tables = [WishedTable("adult", *sizes.k, sizes.adult_rows)]
    tables.append(WishedTable("poker", *sizes.k, sizes.poker_rows))
    for wished in tables:
        planned[f"working-set-{wished.name}"] = _working_sets(wished)
    return planned


def _working_sets(wished: WishedTable) -> Task:
    """Plan two iterations with room for so many entries of four bytes a row, or for nearly none."""

    def task(folder: Path) -> list[Measured]:
        n_rows = wished.problem(folder).n_rows
        cases = []
        for name in WORKING_SETS:
            entries = 0 if name == "on the fly" else int(name) * wished.highest * n_rows
            settings = {"most_iterations": 2, "memory_bytes": max(1, ENTRY_BYTES * entries)}
            cases.append({"steps": [["cover", settings]], "threads": cores(), "working_set": name})
        return task_of(wished, cases)(folder)

    return task


def searches(sizes: Sizes) -> dict[str, Task]:
    """Plan the searches on Adult, each with what an attacker believes of what it released."""
    attributes = WishedTable("adult", *sizes.k, sizes.adult_rows, False)
    bits = WishedTable("adult", *sizes.k, sizes.adult_rows)
    free = ["sweeps", {"n_sweeps": sizes.sweeps, "is_bound": False}]
    bound = ["sweeps", {"n_sweeps": sizes.sweeps, "is_bound": True}]
    partition = ["partition", {"effort": "auto"}]
    as_values = ["partition", {"effort": "auto", "is_as_value": True}]
    planned: dict[str, tuple[WishedTable, list[Any]]] = {
        "partition": (attributes, [partition]),
        "partition-bounded-sweeps": (attributes, [partition, bound]),
        "partition-sweeps": (attributes, [partition, free]),
        "partition-as-values": (attributes, [as_values]),
        "cover": (attributes, [["cover", {}]]),
        "cover-sweeps": (attributes, [["cover", {}], free]),
        "bits-cover": (bits, [["cover", {}]]),
        "bits-cover-sweeps": (bits, [["cover", {}], free]),
    }
    return {
        name: task_of(wished, [{"steps": steps, "threads": cores(), "is_audited": True}])
        for name, (wished, steps) in planned.items()
    }


def scaling(sizes: Sizes) -> dict[str, Task]:
    """Plan the cover on one and two threads: by table, by rows, and on Spark's local workers."""
    planned = {}
    for name, n_rows, most_iterations in sizes.threaded:
        k = sizes.network_k if name in sizes.networks else sizes.k
        wished = WishedTable(name, *k, n_rows, name != "census")
        planned[f"threads-{name}"] = _threaded(wished, most_iterations, sizes.repeats)
    for share in sizes.shares:
        wished = WishedTable("adult", *sizes.k, round(share * sizes.share_rows))
        planned[f"rows-{share:g}"] = _threaded(wished, 2, sizes.repeats)
    adult = WishedTable("adult", *sizes.k, sizes.adult_rows)
    planned["spark"] = _threaded(adult, 4, 1, engine="spark")
    return planned


def _threaded(wished: WishedTable, most_iterations: int, repeats: int, **more: Any) -> Task:
    """Plan the same search on each number of threads, again and again."""
    steps = [["cover", {"most_iterations": most_iterations}]]
    cases: list[Case] = [
        {"steps": steps, "threads": threads, "repeat": repeat, **more}
        for threads in THREADS
        for repeat in range(repeats)
    ]
    return task_of(wished, cases)


WORKLOAD = Workload(
    "adaptive",
    {"exact": exact, "large": large, "memory": memory, "searches": searches, "scaling": scaling},
    FULL,
    SMALL,
    TABLES,
)

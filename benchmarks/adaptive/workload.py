"""The workload ``adaptive``: adaptive anonymity beside its paper, in parts of named cases.

=========  ==========================================================================
part       what it measures
=========  ==========================================================================
exact      Table II: covers on two networks against the least cover there is
large      Table III: utility, time per iteration and memory on large tables
memory     peak memory by rows, time per pair against plain searches, working sets
searches   Adult: partition, cover and sweeps, and what an attacker believes of each
=========  ==========================================================================

Every result says where it was measured, so that a part, or one long case, can be measured anew by
itself. Khan, Choromanski, Pothen, Ferdous, Halappanavar and Tumeo (2018).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.adaptive.data import Wished
from benchmarks.adaptive.exact import exact_case
from benchmarks.adaptive.paper import WORKING_SETS
from benchmarks.adaptive.plain import plain_case
from benchmarks.adaptive.runs import Case, measured_cases
from benchmarks.adaptive.sizes import FULL, SMALL, AdaptiveSizes
from benchmarks.shared.cases import Task, run_cases
from benchmarks.shared.plans import Measured, cores
from incrowd.progress import Progress

ENTRY_BYTES = 4
"""What an entry of the working set takes, in the paper and here."""

__all__ = ["FULL", "PARTS", "SMALL", "run"]


def run(
    folder: Path,
    parts: tuple[str, ...],
    progress: Progress,
    *,
    cases: tuple[str, ...] = (),
    sizes: AdaptiveSizes = FULL,
    before: Mapping[str, Any] | None = None,
    keep: Callable[[Measured], None] | None = None,
) -> Measured:
    """Measure some parts or cases, or all; the others stay as they were ``before``.

    ``keep`` is given all results after every case, since the next may take long.
    """
    return run_cases(
        "adaptive",
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


def exact(sizes: AdaptiveSizes) -> dict[str, Task]:
    """Plan the networks: every cover to convergence, and the least cover of the first iteration."""
    return {name: exact_case(_network(name, sizes), sizes) for name in sizes.networks}


def _network(name: str, sizes: AdaptiveSizes) -> Wished:
    return Wished(name, *sizes.network_k, sizes.network_rows)


def large(sizes: AdaptiveSizes) -> dict[str, Task]:
    """Plan the large tables: to convergence where that takes minutes, else an iteration or two."""
    k = sizes.k
    return {
        "adult": _covered(Wished("adult", *k, sizes.adult_rows), is_audited=True),
        "census": _covered(Wished("census", *k, sizes.census_rows, False), is_audited=True),
        "census-first": _covered(Wished("census", *k, sizes.census_first_rows, False), 2),
        "poker": _covered(Wished("poker", *k, sizes.poker_rows), is_audited=True),
        "hands-first": _covered(Wished("hands", *k, sizes.hands_rows), 2),
        "payments": _covered(Wished("payments", *k, sizes.payments_rows), is_audited=True),
        "payments-first": _covered(Wished("payments", *k, sizes.payments_first_rows), 1),
    }


def _covered(wished: Wished, most_iterations: int = 0, **more: Any) -> Task:
    settings = {"most_iterations": most_iterations} if most_iterations else {}
    case: Case = {"steps": [["cover", settings]], "threads": cores(), **more}
    return _alone(wished, [case])


def _alone(wished: Wished, cases: list[Case]) -> Task:
    def task(folder: Path) -> list[Measured]:
        table = wished.record(folder)
        results = measured_cases(wished, cases, folder, lambda: None)
        return [{"table": table, **result} for result in results]

    return task


def memory(sizes: AdaptiveSizes) -> dict[str, Task]:
    """Plan growth on hands of poker, plain searches beside ours, and working sets."""
    planned = {
        f"growth-{n_rows}": _covered(Wished("hands", *sizes.k, n_rows), 1)
        for n_rows in sizes.growth_rows
    }
    planned["plain"] = plain_case(Wished("hands", *sizes.k, sizes.plain_rows))
    tables = [Wished("adult", *sizes.k, sizes.adult_rows)]
    tables.append(Wished("poker", *sizes.k, sizes.poker_rows))
    for wished in tables:
        planned[f"working-set-{wished.name}"] = _working_sets(wished)
    return planned


def _working_sets(wished: Wished) -> Task:
    """Plan two iterations with room for so many entries of four bytes a row, or for nearly none."""

    def task(folder: Path) -> list[Measured]:
        n_rows = wished.problem(folder).n_rows
        cases = []
        for name in WORKING_SETS:
            entries = 0 if name == "on the fly" else int(name) * wished.highest * n_rows
            settings = {"most_iterations": 2, "memory_bytes": max(1, ENTRY_BYTES * entries)}
            cases.append({"steps": [["cover", settings]], "threads": cores(), "working_set": name})
        return _alone(wished, cases)(folder)

    return task


def searches(sizes: AdaptiveSizes) -> dict[str, Task]:
    """Plan the searches on Adult, each with what an attacker believes of what it released."""
    attributes = Wished("adult", *sizes.k, sizes.adult_rows, False)
    bits = Wished("adult", *sizes.k, sizes.adult_rows)
    free = ["sweeps", {"n_sweeps": sizes.sweeps, "is_bound": False}]
    bound = ["sweeps", {"n_sweeps": sizes.sweeps, "is_bound": True}]
    partition = ["partition", {"effort": "auto"}]
    as_values = ["partition", {"effort": "auto", "is_as_value": True}]
    planned: dict[str, tuple[Wished, list[Any]]] = {
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
        name: _alone(wished, [{"steps": steps, "threads": cores(), "is_audited": True}])
        for name, (wished, steps) in planned.items()
    }


PARTS: dict[str, Callable[[AdaptiveSizes], dict[str, Task]]] = {
    "exact": exact,
    "large": large,
    "memory": memory,
    "searches": searches,
}

"""The workload ``scale``: the whole product in memory, on disk and on Spark, in named cases.

==========  =========================================================================
part        what it measures
==========  =========================================================================
places      voters through ``greedy`` at every place, in one part and in several
workers     the same rows by one worker and by two; twice the rows by two (weak scaling)
many        ten times as many voters, within stated memory
yardsticks  ``mondrian`` and ``cluster`` on the same voters
lists       user lists
adaptive    a table in which everybody has an own k, by the paper's cover
rules       baskets with rules
most        a hundred times as many voters, on disk; not part of a run of all parts
==========  =========================================================================

Every run is the command itself in a process of its own. The cost model of the docs is fitted to
what is measured here, when tables are made (``scale_model``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.scale.runs import Place, Wanted, measured, voters
from benchmarks.scale.sizes import FULL, SMALL, ScaleSizes
from benchmarks.shared.cases import Planned, Task, chosen, run_cases
from benchmarks.shared.plans import Measured
from incrowd.progress import Progress

__all__ = ["FULL", "PARTS", "SMALL", "run"]

MEMORY, DISK, SPARK, ONE_WORKER, TWO_WORKERS = PLACES = (
    "memory",
    "disk",
    "spark-local",
    "one-worker",
    "two-workers",
)


def run(
    folder: Path,
    parts: tuple[str, ...],
    progress: Progress,
    *,
    cases: tuple[str, ...] = (),
    sizes: ScaleSizes = FULL,
    before: Mapping[str, Any] | None = None,
    keep: Callable[[Measured], None] | None = None,
) -> Measured:
    """Measure some parts or cases, or all but ``most``; the others stay as they were ``before``.

    ``keep`` is given all results after every case. Where Spark cannot start, that is told before
    anything is measured.
    """
    from incrowd.engines.spark.session import unavailable

    wanted = parts or tuple(part for part in PARTS if part != "most" or cases)
    named = [name for tasks in chosen(PARTS, wanted, cases, sizes).values() for name in tasks]
    missing = unavailable()
    if missing and any(not name.startswith((MEMORY, DISK)) for name in named):
        raise missing
    return run_cases(
        "scale",
        PARTS,
        folder,
        wanted,
        progress,
        cases=cases,
        sizes=sizes,
        is_small=sizes != FULL,
        before=before,
        keep=keep,
    )


def place_of(name: str, sizes: ScaleSizes, memory: str = "") -> Place:
    """Return a place by name; files of the disk and of Spark are folders of parts."""
    mb = sizes.executor_memory
    return {
        MEMORY: Place(MEMORY, memory),
        DISK: Place(DISK, memory or sizes.memory, is_folder=True),
        SPARK: Place(SPARK, is_folder=True, master="local[2]"),
        ONE_WORKER: Place(ONE_WORKER, is_folder=True, n_workers=1, executor_memory=mb),
        TWO_WORKERS: Place(TWO_WORKERS, is_folder=True, n_workers=2, executor_memory=mb),
    }[name]


def _task(wanted: Wanted, place: Place) -> Task:
    return partial(measured, wanted, place)


def _greedy(
    sizes: ScaleSizes, place: str, n_rows: int, partitions: int, memory: str = ""
) -> dict[str, Task]:
    wanted = voters(n_rows, "greedy", sizes.k, partitions)
    name = f"{place}-{n_rows}-p{partitions}" + (f"-{memory}" if memory else "")
    return {name: _task(wanted, place_of(place, sizes, memory))}


def places(sizes: ScaleSizes) -> dict[str, Task]:
    """Plan voters everywhere, in one part and in several."""
    planned: dict[str, Task] = {}
    for partitions in sizes.partitions:
        for place in (MEMORY, DISK, SPARK):
            planned |= _greedy(sizes, place, sizes.voters, partitions)
    return planned


def workers(sizes: ScaleSizes) -> dict[str, Task]:
    """Plan one worker and two; the lengths of the cost model's lines are measured by the way."""
    partitions = sizes.partitions[-1]
    planned: dict[str, Task] = {}
    for place in (ONE_WORKER, TWO_WORKERS):
        planned |= _greedy(sizes, place, sizes.voters, partitions)
    for n_rows in sizes.fit_voters:
        for place in (TWO_WORKERS, DISK):
            planned |= _greedy(sizes, place, n_rows, partitions)
    return planned


def many(sizes: ScaleSizes) -> dict[str, Task]:
    """Plan ten times the voters: in memory, within two bounds, on Spark and on two workers."""
    first, last = sizes.many_partitions[0], sizes.many_partitions[-1]
    planned = _greedy(sizes, DISK, sizes.many_voters, first)
    planned |= _greedy(sizes, MEMORY, sizes.many_voters, first, sizes.more_memory)
    planned |= _greedy(sizes, TWO_WORKERS, sizes.many_voters, first)
    planned |= _greedy(sizes, SPARK, sizes.many_voters, first)
    planned |= _greedy(sizes, DISK, sizes.many_voters, 1)
    if last != first:
        planned |= _greedy(sizes, DISK, sizes.many_voters, last)
    planned |= _greedy(sizes, ONE_WORKER, sizes.many_voters, first)
    return planned


def yardsticks(sizes: ScaleSizes) -> dict[str, Task]:
    """Plan the other methods on the same voters, in memory, on disk and on Spark."""
    planned = {}
    for method, more in (("mondrian", ()), ("cluster", ("--effort", "quick"))):
        wanted = voters(sizes.voters, method, sizes.k, 0, *more)
        for place in (MEMORY, DISK, SPARK):
            planned[f"{place}-{method}-{sizes.voters}"] = _task(wanted, place_of(place, sizes))
    return planned


def lists(sizes: ScaleSizes) -> dict[str, Task]:
    """Plan user lists in memory, in a bound, and with chunks on Spark; many of them in a bound."""
    words = ("--guarantee", "smooth", "--k", "8", "--effort", "quick")
    wanted = Wanted("lists", (sizes.lists, sizes.list_items), words, "cluster")
    found = {
        MEMORY: Place(MEMORY),
        DISK: Place(DISK, sizes.list_memory),
        SPARK: Place(SPARK, master="local[2]"),
    }
    planned = {f"{name}-lists-{sizes.lists}": _task(wanted, place) for name, place in found.items()}
    wanted = Wanted("lists", (sizes.many_lists, sizes.list_items), words, "cluster")
    place = Place(DISK, sizes.many_list_memory)
    return planned | {f"{DISK}-lists-{sizes.many_lists}": _task(wanted, place)}


def adaptive(sizes: ScaleSizes) -> dict[str, Task]:
    """Plan payments with a k each: neighbours by blocks of rows, here and on Spark."""
    from benchmarks.adaptive.generated import PAYMENT_VALUES

    names = ",".join(f"attribute-{number}" for number in range(len(PAYMENT_VALUES)))
    words = ["--guarantee", "adaptive", "--k-column", "k", "--posterior", "report"]
    words += ["--quasi", names, "--search", "cover", "--rounds", "3", "--sweeps", "0"]
    wanted = Wanted("payments", (sizes.payments,), tuple(words), "adaptive")
    found = {MEMORY: Place(MEMORY), SPARK: Place(SPARK, master="local[2]")}
    name = f"payments-{sizes.payments}"
    return {f"{place}-{name}": _task(wanted, where) for place, where in found.items()}


def rules(sizes: ScaleSizes) -> dict[str, Task]:
    """Plan baskets: counted by the driver, and fewer of them in rounds where the rows lie.

    Every question of a round is a job on Spark, and there are some for every split.
    """
    words = ["--k", "5", "--confidence", "0.9", "--rules", "{folder}/rules.txt"]
    words += ["--sensitive-items", "{folder}/sensitive.txt", "--alpha", "4", "--gamma", "4"]
    words += ["--order", "paper", "--improve", "none"]
    planned = {}
    for shape, ways in ((sizes.baskets, ("driver",)), (sizes.round_baskets, ("driver", "engine"))):
        for way in ways:
            wanted = Wanted("baskets", shape, (*words, "--rounds", way), "rbat")
            for place in (Place(MEMORY), Place(SPARK, master="local[2]")):
                planned[f"{place.name}-{way}-{shape[0]}"] = _task(wanted, place)
    return planned


def most(sizes: ScaleSizes) -> dict[str, Task]:
    """Plan as many voters as the disk allows, out of core."""
    partitions = 2 * sizes.many_partitions[-1]
    return _greedy(sizes, DISK, sizes.most_voters, partitions, sizes.more_memory)


PARTS: dict[str, Planned] = {
    "places": places,
    "workers": workers,
    "many": many,
    "yardsticks": yardsticks,
    "lists": lists,
    "adaptive": adaptive,
    "rules": rules,
    "most": most,
}

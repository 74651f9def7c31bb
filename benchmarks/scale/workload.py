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
threads     the searches alone on one thread and on two
most        a hundred times as many voters, on disk; not part of a run of all parts
==========  =========================================================================

Every run is the command itself in a process of its own. The cost model of the docs is fitted to
what is measured here, when tables are made (``model.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from benchmarks.adaptive.data import PAYMENT_VALUES
from benchmarks.scale import runs
from benchmarks.scale import threads as thread_runs
from benchmarks.scale.page import TABLES
from benchmarks.scale.runs import Command, Place, voters
from benchmarks.shared.cases import Task, Workload

MEMORY, DISK, SPARK, ONE_WORKER, TWO_WORKERS = PLACES = (
    "memory",
    "disk",
    "spark-local",
    "one-worker",
    "two-workers",
)


@dataclass(frozen=True)
class Sizes:
    """The data of every part, and how the rows are cut and held.

    ``voters`` are measured on every place; ``fit_voters`` besides, on those that the cost model
    is made for, since a line needs more than one point; ``most_voters`` on the disk alone.
    Baskets are rows, items, the longest row, and rules.
    """

    k: int = 5
    voters: int = 1_000_000
    fit_voters: tuple[int, ...] = (250_000, 2_000_000)
    many_voters: int = 10_000_000
    most_voters: int = 100_000_000
    partitions: tuple[int, ...] = (1, 4)
    many_partitions: tuple[int, ...] = (4, 8)
    memory: str = "2GB"
    more_memory: str = "4GB"
    executor_memory: int = 2_048
    lists: int = 1_000_000
    list_items: int = 100_000
    list_memory: str = "2GB"
    many_lists: int = 10_000_000
    many_list_memory: str = "4GB"
    payments: int = 20_000
    baskets: tuple[int, int, int, int] = (515_597, 1_657, 164, 4_000)
    round_baskets: tuple[int, int, int, int] = (100_000, 100, 60, 100)


FULL = Sizes()

SMALL = Sizes(
    voters=4_000,
    fit_voters=(2_000, 8_000),
    many_voters=12_000,
    most_voters=16_000,
    partitions=(1, 2),
    many_partitions=(2,),
    memory="300MB",
    more_memory="400MB",
    executor_memory=1_024,
    lists=1_000,
    list_items=200,
    list_memory="300MB",
    many_lists=1_500,
    many_list_memory="400MB",
    payments=300,
    baskets=(900, 100, 30, 20),
    round_baskets=(800, 100, 30, 20),
)
"""The same parts on few rows; most of the time Spark starts."""


def place_of(name: str, sizes: Sizes, memory: str = "") -> Place:
    """Return a place by name; files of the disk and of Spark are folders of parts."""
    mb = sizes.executor_memory
    return {
        MEMORY: Place(MEMORY, memory),
        DISK: Place(DISK, memory or sizes.memory, is_folder=True),
        SPARK: Place(SPARK, is_folder=True, master="local[2]"),
        ONE_WORKER: Place(ONE_WORKER, is_folder=True, n_workers=1, executor_memory=mb),
        TWO_WORKERS: Place(TWO_WORKERS, is_folder=True, n_workers=2, executor_memory=mb),
    }[name]


def _task(wanted: Command, place: Place) -> Task:
    return partial(runs.measure, wanted, place)


def _greedy(
    sizes: Sizes, place: str, n_rows: int, partitions: int, memory: str = ""
) -> dict[str, Task]:
    wanted = voters(n_rows, "greedy", sizes.k, partitions)
    name = f"{place}-{n_rows}-p{partitions}" + (f"-{memory}" if memory else "")
    return {name: _task(wanted, place_of(place, sizes, memory))}


def places(sizes: Sizes) -> dict[str, Task]:
    """Plan voters everywhere, in one part and in several."""
    planned: dict[str, Task] = {}
    for partitions in sizes.partitions:
        for place in (MEMORY, DISK, SPARK):
            planned |= _greedy(sizes, place, sizes.voters, partitions)
    return planned


def workers(sizes: Sizes) -> dict[str, Task]:
    """Plan one worker and two; the lengths of the cost model's lines are measured by the way."""
    partitions = sizes.partitions[-1]
    planned: dict[str, Task] = {}
    for place in (ONE_WORKER, TWO_WORKERS):
        planned |= _greedy(sizes, place, sizes.voters, partitions)
    for n_rows in sizes.fit_voters:
        for place in (TWO_WORKERS, DISK):
            planned |= _greedy(sizes, place, n_rows, partitions)
    return planned


def many(sizes: Sizes) -> dict[str, Task]:
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


def yardsticks(sizes: Sizes) -> dict[str, Task]:
    """Plan the other methods on the same voters, in memory, on disk and on Spark."""
    planned = {}
    for method, more in (("mondrian", ()), ("cluster", ("--effort", "quick"))):
        wanted = voters(sizes.voters, method, sizes.k, 0, *more)
        for place in (MEMORY, DISK, SPARK):
            planned[f"{place}-{method}-{sizes.voters}"] = _task(wanted, place_of(place, sizes))
    return planned


def lists(sizes: Sizes) -> dict[str, Task]:
    """Plan user lists in memory, in a bound, and with chunks on Spark; many of them in a bound."""
    wanted = runs.lists(sizes.lists, sizes.list_items, "--effort", "quick")
    found = {
        MEMORY: Place(MEMORY),
        DISK: Place(DISK, sizes.list_memory),
        SPARK: Place(SPARK, master="local[2]"),
    }
    planned = {f"{name}-lists-{sizes.lists}": _task(wanted, place) for name, place in found.items()}
    wanted = runs.lists(sizes.many_lists, sizes.list_items, "--effort", "quick")
    place = Place(DISK, sizes.many_list_memory)
    return planned | {f"{DISK}-lists-{sizes.many_lists}": _task(wanted, place)}


def adaptive(sizes: Sizes) -> dict[str, Task]:
    """Plan payments with a k each: neighbours by blocks of rows, here and on Spark."""
    names = ",".join(f"attribute-{number}" for number in range(len(PAYMENT_VALUES)))
    words = ["--guarantee", "adaptive", "--k-column", "k", "--posterior", "report"]
    words += ["--quasi", names, "--search", "cover", "--rounds", "3", "--sweeps", "0"]
    wanted = Command("payments", (sizes.payments,), tuple(words), "adaptive")
    found = {MEMORY: Place(MEMORY), SPARK: Place(SPARK, master="local[2]")}
    name = f"payments-{sizes.payments}"
    return {f"{place}-{name}": _task(wanted, where) for place, where in found.items()}


def rules(sizes: Sizes) -> dict[str, Task]:
    """Plan baskets: counted by the driver, and fewer of them in rounds where the rows lie.

    Every question of a round is a job on Spark, and there are some for every split.
    """
    words = ["--k", "5", "--confidence", "0.9", "--rules", "{folder}/rules.txt"]
    words += ["--sensitive-items", "{folder}/sensitive.txt", "--alpha", "4", "--gamma", "4"]
    words += ["--order", "paper", "--improve", "none"]
    planned = {}
    for shape, ways in ((sizes.baskets, ("driver",)), (sizes.round_baskets, ("driver", "engine"))):
        for way in ways:
            wanted = Command("baskets", shape, (*words, "--rounds", way), "rbat")
            for place in (Place(MEMORY), Place(SPARK, master="local[2]")):
                planned[f"{place.name}-{way}-{shape[0]}"] = _task(wanted, place)
    return planned


def threads(sizes: Sizes) -> dict[str, Task]:
    """Plan the searches in which the caller's thread works along with others."""
    size_of: dict[str, tuple[int, ...]] = {
        "mondrian-lists": (sizes.lists, sizes.list_items),
        "rules": sizes.baskets,
        "km": sizes.baskets,
    }
    return {
        f"threads-{search}": partial(
            thread_runs.measure, search, size_of.get(search, (sizes.voters,))
        )
        for search in thread_runs.SEARCHES
    }


def most(sizes: Sizes) -> dict[str, Task]:
    """Plan as many voters as the disk allows, out of core."""
    partitions = 2 * sizes.many_partitions[-1]
    return _greedy(sizes, DISK, sizes.most_voters, partitions, sizes.more_memory)


WORKLOAD = Workload(
    "scale",
    {
        "places": places,
        "workers": workers,
        "many": many,
        "yardsticks": yardsticks,
        "lists": lists,
        "adaptive": adaptive,
        "rules": rules,
        "threads": threads,
        "most": most,
    },
    FULL,
    SMALL,
    TABLES,
    on_request=("most",),
)

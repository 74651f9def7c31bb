"""The workload ``greedy``: its index, growth, the paper's tables, peers, and loss against time.

========  ============================================================================
part      what it measures
========  ============================================================================
index     greedy with its index against the plain scan: time, and the very same merges
growth    time and memory by the number of rows, and every method on the same voters
paper     the paper's grid of processors, k and rows
shared    PGkAA: the plain scan on one thread and on several, with the very same merges
schemes   the paper's two sort orders before partitioning, and none
bytes     what partitions send and get back
boundary  one part, many parts, and many parts with their cuts repaired
peers     other packages on the same table; ``PEERS_PYTHON`` in the environment may name
          another Python that has those which this one lacks
curve     loss against time: ``cluster`` by effort, beside the quicker methods
========  ============================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.greedy.data import DataSet
from benchmarks.greedy.page import CHARTS, TABLES
from benchmarks.greedy.peers import measure_peers
from benchmarks.greedy.runs import OWN, method_case, task_of
from benchmarks.shared.cases import Measured, Task, Workload
from benchmarks.shared.processes import Case


@dataclass(frozen=True)
class Sizes:
    """The grid of every part. Efforts are what ``Cluster`` takes: ``"10s"`` or a number."""

    index_k: tuple[int, ...] = (2, 10, 100)
    index_repeats: int = 3
    index_voters: int = 1_000_000
    index_voters_k: tuple[int, ...] = (10,)
    growth_rows: tuple[int, ...] = (10_000, 100_000, 1_000_000, 10_000_000)
    growth_methods_up_to: int = 1_000_000
    paper_k: tuple[int, ...] = (2, 3, 5, 10, 100)
    paper_processors: tuple[int, ...] = (2, 8, 32, 64, 128)
    unsorted_processors: tuple[int, ...] = (2, 8, 32)
    paper_voters: tuple[int, ...] = (60_000, 120_000, 240_000, 500_000, 1_000_000)
    voter_processors: tuple[int, ...] = (32, 64, 128)
    shared_workers: tuple[int, ...] = (1, 2)
    shared_repeats: int = 3
    shared_voters: int = 100_000
    shared_voters_k: tuple[int, ...] = (10,)
    schemes_k: tuple[int, ...] = (2, 10, 100)
    schemes_processors: tuple[int, ...] = (8, 32)
    bytes_k: int = 10
    bytes_processors: tuple[int, ...] = (2, 8, 32)
    bytes_voters: tuple[int, ...] = (60_000, 1_000_000)
    boundary_k: tuple[int, ...] = (10, 100)
    boundary_partitions: int = 32
    peer_k: tuple[int, ...] = (10, 100)
    peer_seconds: int = 100
    curve_data: tuple[str, ...] = ("adult", "cup98")
    curve_k: tuple[int, ...] = (2, 5, 10, 100)
    curve_efforts: tuple[int | str, ...] = ("0.1s", "0.5s", "2s", "10s", "60s")


FULL = Sizes()

SMALL = Sizes(
    index_k=(3,),
    index_repeats=1,
    index_voters=3_000,
    index_voters_k=(3,),
    growth_rows=(1_000, 4_000),
    growth_methods_up_to=1_000,
    paper_k=(2, 5),
    paper_processors=(2, 4),
    unsorted_processors=(2,),
    paper_voters=(2_000, 4_000),
    voter_processors=(4,),
    shared_repeats=1,
    shared_voters=3_000,
    shared_voters_k=(3,),
    schemes_k=(5,),
    schemes_processors=(4,),
    bytes_k=5,
    bytes_processors=(2, 4),
    bytes_voters=(2_000,),
    boundary_k=(5,),
    boundary_partitions=4,
    peer_k=(5,),
    peer_seconds=30,
    curve_k=(5,),
    curve_efforts=(50, 500),
)
"""The same parts in a minute or so, on Adult-sized files or smaller."""


def index(sizes: Sizes) -> dict[str, Task]:
    """Plan greedy with its index and with the plain scan; every merge must be the same."""

    def pairs(metrics: tuple[str, ...], all_k: tuple[int, ...], repeats: int) -> list[Case]:
        return [
            {
                "method": "greedy",
                "search": search,
                "settings": {"metric": metric},
                "k": k,
                "repeats": repeats,
            }
            for metric in metrics
            for k in all_k
            for search in ("index", "scan")
        ]

    adult = pairs(("nllm", "ncp"), sizes.index_k, sizes.index_repeats)
    voters = pairs(("nllm",), sizes.index_voters_k, 1)
    return {
        "index-adult-nine": _same_merges(DataSet("adult-nine"), adult),
        f"index-voters-{sizes.index_voters}": _same_merges(
            DataSet("voters", sizes.index_voters), voters
        ),
    }


def _same_merges(data: DataSet, cases: list[Case], n_each: int = 2) -> Task:
    """Return the task of cases of which so many, one after the other, must make the same merges."""

    def task(folder: Path) -> list[Measured]:
        results = task_of(data, cases)(folder)
        for place, one in enumerate(results):
            if one["merges_sha256"] != results[place - place % n_each]["merges_sha256"]:
                raise RuntimeError(f"other merges than those of the search before: {one}")
        return results

    return task


def growth(sizes: Sizes) -> dict[str, Task]:
    """Plan ever more voters, and every method on those that are not too many.

    The longest list is measured a second time with all ZIP codes covered: most distinct rows.
    """
    greedy = method_case("greedy", {}, 10)
    planned = {}
    for n_rows in sizes.growth_rows:
        cases = [greedy]
        if n_rows <= sizes.growth_methods_up_to:
            cases += [method_case(method, settings, 5) for method, settings in OWN]
        planned[f"growth-{n_rows}"] = task_of(DataSet("voters", n_rows), cases)
    most = max(sizes.growth_rows)
    planned[f"growth-{most}-all-covered"] = task_of(DataSet("voters", most, 1_026), [greedy])
    return planned


def paper(sizes: Sizes) -> dict[str, Task]:
    """Plan the paper's grid of processors, k and rows; parts are shared by all cores here."""
    adult = _grid(sizes.paper_processors, sizes.paper_k)
    adult += [
        _preset("pgpkaa", n, k, reorganize="none")
        for k in sizes.paper_k
        for n in sizes.unsorted_processors
    ]
    planned = {"paper-adult-nine": task_of(DataSet("adult-nine"), adult)}
    for n_rows in sizes.paper_voters:
        is_last = n_rows == max(sizes.paper_voters)
        processors = sizes.paper_processors if is_last else sizes.voter_processors
        cases = _grid(processors, sizes.paper_k)
        planned[f"paper-voters-{n_rows}"] = task_of(DataSet("voters", n_rows), cases)
    return planned


def _grid(processors: tuple[int, ...], all_k: tuple[int, ...]) -> list[Case]:
    many = [(preset, n) for preset in ("pgpkaa", "h-pgpkaa") for n in processors]
    return [_preset(preset, n, k) for k in all_k for preset, n in (("gkaa", 1), *many)]


def _preset(preset: str, processors: int, k: int, **more: Any) -> Case:
    return method_case("greedy", {"preset": preset, "processors": processors, **more}, k)


def shared(sizes: Sizes) -> dict[str, Task]:
    """Plan the scan on ever more threads, and the index; every merge must be the same."""

    def cases(all_k: tuple[int, ...], repeats: int) -> list[Case]:
        searches = [("scan", workers) for workers in sizes.shared_workers]
        return [
            {
                "method": "greedy",
                "search": search,
                "workers": workers,
                "settings": {"metric": "nllm"},
                "k": k,
                "repeats": repeats,
            }
            for k in all_k
            for search, workers in (*searches, ("index", 1))
        ]

    n_each = len(sizes.shared_workers) + 1
    adult = cases(sizes.paper_k, sizes.shared_repeats)
    voters = cases(sizes.shared_voters_k, 1)
    return {
        "shared-adult-nine": _same_merges(DataSet("adult-nine"), adult, n_each),
        f"shared-voters-{sizes.shared_voters}": _same_merges(
            DataSet("voters", sizes.shared_voters), voters, n_each
        ),
    }


def schemes(sizes: Sizes) -> dict[str, Task]:
    """Plan partitions of Adult by every sort order."""
    cases = [
        _preset("pgpkaa", n, k, reorganize=reorganize)
        for n in sizes.schemes_processors
        for reorganize in ("scheme-2", "scheme-1", "values-first", "none")
        for k in sizes.schemes_k
    ]
    return {"schemes": task_of(DataSet("adult-nine"), cases)}


def bytes_moved(sizes: Sizes) -> dict[str, Task]:
    """Plan what partitions send on Adult (Figure 7) and on voters (Figure 10, without PGkAA)."""

    def cases(processors: tuple[int, ...], *presets: str) -> list[Case]:
        return [
            {**_preset(preset, n, sizes.bytes_k), "counts_bytes": True}
            for preset in (*presets, "pgpkaa", "h-pgpkaa")
            for n in processors
        ]

    adult = cases(sizes.bytes_processors, "pgkaa")
    planned = {"bytes-adult-nine": task_of(DataSet("adult-nine"), adult)}
    for n_rows in sizes.bytes_voters:
        some = cases(sizes.voter_processors)
        planned[f"bytes-voters-{n_rows}"] = task_of(DataSet("voters", n_rows), some)
    return planned


def boundary(sizes: Sizes) -> dict[str, Task]:
    """Plan one part, many parts, and many parts with their cuts repaired."""
    parted = {"partitions": sizes.boundary_partitions}
    settings: list[dict[str, Any]] = [
        {"partitions": 1},
        {**parted, "repair": "no"},
        {**parted, "repair": "yes"},
    ]
    cases = [method_case("greedy", stated, k) for k in sizes.boundary_k for stated in settings]
    return {"boundary": task_of(DataSet("adult-nine"), cases)}


def peers(sizes: Sizes) -> dict[str, Task]:
    """Plan our methods and every peer that this or another Python has."""
    own = task_of(
        DataSet("adult"),
        [
            method_case(method, settings, k)
            for k in sizes.peer_k
            for method, settings in (*OWN, ("mondrian", {"strict": False}))
        ],
    )

    def task(folder: Path) -> list[Measured]:
        return [*own(folder), *measure_peers(folder, sizes.peer_k, sizes.peer_seconds)]

    return {"peers": task}


def curve(sizes: Sizes) -> dict[str, Task]:
    """Plan ``cluster`` with growing effort, beside the quicker methods."""
    searches: list[tuple[str, dict[str, Any]]] = [("greedy", {"metric": "loss"}), ("mondrian", {})]
    searches += [("cluster", {"effort": effort}) for effort in sizes.curve_efforts]
    cases = [
        method_case(method, settings, k) for k in sizes.curve_k for method, settings in searches
    ]
    return {f"curve-{name}": task_of(DataSet(name), cases) for name in sizes.curve_data}


WORKLOAD = Workload(
    "greedy",
    {
        "index": index,
        "growth": growth,
        "paper": paper,
        "shared": shared,
        "schemes": schemes,
        "bytes": bytes_moved,
        "boundary": boundary,
        "peers": peers,
        "curve": curve,
    },
    FULL,
    SMALL,
    TABLES,
    CHARTS,
)

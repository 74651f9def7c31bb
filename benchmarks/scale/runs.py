"""One measured run of the whole product at one place: a file in, an audited release out.

``incrowd run`` is a process of its own, watched with everything below it and below the cluster
that it uses; Spark's event log tells what was shuffled. A first run on few rows compiles the loops
of this machine. Workers of a cluster get the package anew with every session and compile their
loops anew: there that is part of the run, as it is for everybody.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from benchmarks.scale.data import write_data
from benchmarks.scale.spark import log_settings, read_events, standalone, sum_tasks
from benchmarks.shared.cases import Measured
from benchmarks.shared.processes import run_watched

FEW = {
    "voters": (3_000,),
    "lists": (3_000, 1_000),
    "payments": (300,),
    "baskets": (800, 100, 30, 20),
}
"""The sizes of data on which loops are compiled."""

RELEASE = "release.parquet"
SHUFFLED_PARTITIONS = 8

QUASI = ("zip", "sex", "race", "birth_year", "party")


@dataclass(frozen=True)
class Place:
    """Where a run's rows live: in memory, on disk, in a Spark session or on a cluster.

    ``memory`` is what the run is told that it may use; ``n_workers`` are those of a standalone
    cluster of one core each, ``executor_memory`` their MB.
    """

    name: str
    memory: str = ""
    is_folder: bool = False
    master: str = ""
    n_workers: int = 0
    executor_memory: int = 2_048

    @property
    def is_spark(self) -> bool:
        """Whether Spark runs it."""
        return bool(self.master or self.n_workers)

    @property
    def n_cores(self) -> int:
        """How many tasks run at a time."""
        if self.master:
            return int(self.master.removeprefix("local[").removesuffix("]"))
        return self.n_workers or (os.cpu_count() or 1)


@dataclass(frozen=True)
class Command:
    """What is run: the kind of data and their sizes, and the words that the command is given."""

    data: str
    sizes: tuple[int, ...]
    words: tuple[str, ...]
    method: str
    partitions: int = 0

    @property
    def few(self) -> Command:
        """The same on few rows: what compiles the same loops, those of chunks included."""
        is_in_chunks = self.data == "lists" and "--chunk-rows" not in self.words
        chunks = ("--chunk-rows", "1000") if is_in_chunks else ()
        return replace(self, sizes=FEW[self.data], words=(*self.words, *chunks))


def voters(n_rows: int, method: str, k: int, partitions: int = 0, *more: str) -> Command:
    """Return a run on voters; ``partitions`` of 0 leaves them to the method."""
    words = ["--quasi", ",".join(QUASI), "--sensitive", "elections", "--k", str(k)]
    words += ["--method", method, *more]
    for name in QUASI:
        words += ["--hierarchy", f"{name}={{folder}}/{name}.csv"]
    if partitions:
        words += ["--partitions", str(partitions)]
    return Command("voters", (n_rows,), tuple(words), method, partitions)


def lists(n_rows: int, n_items: int, *more: str, method: str = "cluster") -> Command:
    """Return a run on user lists."""
    words = ("--guarantee", "smooth", "--k", "8", "--method", method, *more)
    return Command("lists", (n_rows, n_items), words, method)


def measure(wanted: Command, place: Place, folder: Path) -> list[Measured]:
    """Run the product there; return its own account and what it took."""
    _warm_up(wanted.few, Place("disk", is_folder=place.is_folder), folder)
    source, record = write_data(wanted.data, wanted.sizes, folder)
    found = _run(wanted, place, source)
    stated = {"method": wanted.method, "partitions": wanted.partitions, "place": place.name}
    memory = {"memory": place.memory} if place.memory else {}
    return [{**stated, **memory, "n_cores": place.n_cores, "data": record, **found}]


@cache
def _warm_up(wanted: Command, place: Place, folder: Path) -> None:
    source, _ = write_data(wanted.data, wanted.sizes, folder)
    _run(wanted, place, source)


def _run(wanted: Command, place: Place, source: Path) -> Measured:
    with tempfile.TemporaryDirectory(prefix="incrowd-scale-run-", dir=source.parent) as scratch:
        room = Path(scratch)
        with _cluster(place, room) as (master, processes):
            words = words_of(wanted, place, source, room, master)
            # Where workers keep compiled loops; a folder of their own would be removed with them.
            cache_folder = os.environ.get("NUMBA_CACHE_DIR") or str(source.parent / "compiled")
            took = run_watched(
                [sys.executable, "-m", "incrowd", *words],
                room / "account.json",
                room / "messages.txt",
                processes,
                NUMBA_CACHE_DIR=cache_folder,
            )
        audit = json.loads((room / "account.json").read_text("utf-8"))
        found = {**took, **read_account(audit)}
        if place.is_spark:
            found |= sum_tasks(read_events(room / "events"), audit["stages"])
        return {**found, "released_bytes": _size_of(room / RELEASE)}


@contextmanager
def _cluster(place: Place, room: Path) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield the master to name, and the processes that work for it besides the command's own."""
    if not place.n_workers:
        yield place.master, ()
        return
    own = room / "cluster"
    own.mkdir()
    with standalone(own, place.n_workers, place.executor_memory) as cluster:
        yield cluster.address, cluster.processes


def words_of(
    wanted: Command, place: Place, source: Path, room: Path, master: str = ""
) -> list[str]:
    """Return the command of a run.

    On a cluster files are named by an address, which this machine's workers read themselves.
    """
    name = wanted.data if place.is_folder else f"{wanted.data}.parquet"
    paths = source / name, room / RELEASE
    is_address = bool(place.n_workers) and place.is_folder
    data, output = (path.as_uri() if is_address else str(path) for path in paths)
    words = ["run", data, *(word.format(folder=source) for word in wanted.words)]
    words += ["-o", f"{output}/" if place.is_folder else output, "--json"]
    if place.memory:
        words += ["--memory", place.memory]
    if not place.is_spark:
        return words
    (room / "events").mkdir()
    settings = log_settings(room / "events")
    if place.n_workers:
        settings["spark.executor.memory"] = f"{place.executor_memory}m"
        # As many as a session of this machine takes: 200, Spark's own, are for larger clusters.
        settings["spark.sql.shuffle.partitions"] = str(SHUFFLED_PARTITIONS)
    words += ["--engine", "spark", "--spark-master", master]
    for key, value in settings.items():
        words += ["--spark-conf", f"{key}={value}"]
    return words


def _size_of(release: Path) -> int:
    """Return the bytes of a release, which is a file or a folder of part files."""
    parts = release.glob("part-*") if release.is_dir() else [release]
    return sum(part.stat().st_size for part in parts)


LOSSES = ("nllm", "loss", "jaccard", "suppressed", "created", "share_ungeneralized", "n_parts")


def read_account(audit: Measured) -> Measured:
    """Return what results keep of a run's own account; raise where its audit does not hold."""
    if not audit["holds"]:
        raise RuntimeError("the audit of a measured run does not hold")
    kept = {name: audit[name] for name in ("stages", "n_rows", "n_groups", "release_sha256")}
    kept["parameters"] = audit["method"]["parameters"]
    kept["driver_memory_bytes"] = audit["peak_memory_bytes"]
    lost = {name: audit["losses"][name] for name in LOSSES if name in audit["losses"]}
    return {**kept, "losses": lost}

"""The workload ``stages``: a run and a check of many rows, beside polars and DuckDB.

Every round runs the checkout that is measured, the one named by ``INCROWD_BEFORE`` (if it is set),
polars and DuckDB one after the other, so that all meet the same load; what several rounds took is
the least of each figure. The method is ``mondrian``, since its search takes least.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from pyarrow import csv

from benchmarks.greedy.data import ZIP_POPULATION
from benchmarks.scale.data import write_data
from benchmarks.shared import launch
from benchmarks.shared.cases import Measured, Task, Workload
from benchmarks.shared.provenance import file_sha256
from benchmarks.stages.page import TABLES
from incrowd.samples.census import census

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
BEFORE = "INCROWD_BEFORE"
"""The variable that names another checkout to measure beside this one."""

VOTERS = ("zip", "sex", "race", "birth_year", "party")
CENSUS = ("age", "sex", "zip", "education", "marital_status")


@dataclass(frozen=True)
class Sizes:
    """How many rows, and how many rounds."""

    n_rows: int = 1_000_000
    rounds: int = 3


FULL = Sizes()
SMALL = Sizes(n_rows=5_000, rounds=1)


@dataclass(frozen=True)
class Source:
    """A file, the words that state its roles, and what results say of it."""

    path: Path
    quasi: tuple[str, ...]
    words: tuple[str, ...]
    record: Measured


def formats(sizes: Sizes) -> dict[str, Task]:
    """Plan a text file and a Parquet file."""
    return {name: partial(measure_format, sizes, name) for name in ("csv", "parquet")}


def measure_format(sizes: Sizes, suffix: str, folder: Path) -> list[Measured]:
    """Measure runs and checks of one format; ``folder`` holds the data sets."""
    checkouts = {"now": ROOT}
    if os.environ.get(BEFORE):
        checkouts["before"] = Path(os.environ[BEFORE]).resolve()
    with tempfile.TemporaryDirectory(prefix="incrowd-stages-") as scratch:
        room = Room(Path(scratch), write_source(sizes, suffix, folder, Path(scratch)))
        for name, checkout in checkouts.items():
            room.run(name, checkout)  # bytecode and loops are compiled
        taken: dict[str, list[Measured]] = {}
        for _ in range(sizes.rounds):
            for peer in ("polars", "duckdb"):
                taken.setdefault(peer, []).append(room.peer(peer))
            for name, checkout in checkouts.items():
                taken.setdefault(f"run {name}", []).append(room.run(name, checkout))
                taken.setdefault(f"check {name}", []).append(room.check(name, checkout))
    record = room.source.record
    return [{"data": record, "what": name, **least(runs)} for name, runs in taken.items()]


def write_source(sizes: Sizes, suffix: str, folder: Path, scratch: Path) -> Source:
    """Write the data: voters where their ZIP codes are known, or else the made-up census."""
    path = scratch / f"data.{suffix}"
    words: tuple[str, ...] = ()
    if (folder / ZIP_POPULATION).exists():
        written, record = write_data("voters", (sizes.n_rows,), folder)
        frame, quasi, sensitive = (
            pa.parquet.read_table(written / "voters.parquet"),
            VOTERS,
            "elections",
        )
        for name in quasi:
            words += ("--hierarchy", f"{name}={written / name}.csv")
    else:
        frame, quasi, sensitive = census(sizes.n_rows), CENSUS, "diagnosis"
        frame = frame.select([*quasi, sensitive])
        record = {"name": "census", "n_rows": sizes.n_rows}
    frame = frame.cast(pa.schema([(name, pa.string()) for name in frame.column_names]))
    if suffix == "csv":
        csv.write_csv(frame, path, csv.WriteOptions(quoting_style="none"))
    else:
        pa.parquet.write_table(frame, path)
    words = ("--quasi", ",".join(quasi), "--sensitive", sensitive, "--k", "5", *words)
    sizes_of = {"n_bytes": path.stat().st_size, "table_bytes": frame.nbytes}
    return Source(path, quasi, words, {**record, **sizes_of, "sha256": file_sha256(path)})


@dataclass(frozen=True)
class Room:
    """A folder in which commands are measured, each in a process of its own."""

    folder: Path
    source: Source

    def run(self, name: str, checkout: Path) -> Measured:
        """Anonymize the file with a checkout's code."""
        release = str(self._release(name))
        words = [*self.source.words, "--method", "mondrian", "-o", release, "--force", "--json"]
        return self._incrowd(checkout, "run", str(self.source.path), *words)

    def check(self, name: str, checkout: Path) -> Measured:
        """Check the release with a checkout's code."""
        hierarchies = self.source.words.index("5") + 1
        words = self.source.words[:hierarchies]
        return self._incrowd(checkout, "check", str(self._release(name)), *words, "--json")

    def peer(self, name: str) -> Measured:
        """Read, group and write the file with another package."""
        data, columns = str(self.source.path), ",".join(self.source.quasi)
        written = str(self.folder / f"{name}{self.source.path.suffix}")
        return self._python({}, str(HERE / "peers.py"), name, data, columns, written)

    def _release(self, name: str) -> Path:
        return self.folder / f"{name}{self.source.path.suffix}"

    def _incrowd(self, checkout: Path, *words: str) -> Measured:
        variables = {"PYTHONPATH": str(checkout / "src")}
        return self._python(variables, str(HERE / "probe.py"), *words)

    def _python(self, variables: dict[str, str], script: str, *words: str) -> Measured:
        """Run a script that keeps its stages; return what they and all of it took."""
        kept, out, errors = (str(self.folder / name) for name in ("stages.json", "out", "errors"))
        unwanted = ("PYTHONDONTWRITEBYTECODE",)
        inherited = {key: value for key, value in os.environ.items() if key not in unwanted}
        environment = {**inherited, "PYTHONPYCACHEPREFIX": str(self.folder / "bytecode")}
        command = [sys.executable, script, kept, *words]
        finished = subprocess.run(
            [sys.executable, "-I", "-S", launch.__file__, "-", out, errors, *command],
            env={**environment, **variables},
            stdout=subprocess.PIPE,
            check=True,
        )
        taken: Measured = json.loads(finished.stdout)
        if taken.pop("status"):
            last = Path(errors).read_text("utf-8", "replace")[-1_500:]
            raise RuntimeError(f"a measured command failed: {' '.join(words)}\n{last}")
        return {**taken, "stages": separate(json.loads(Path(kept).read_text("utf-8")), taken)}


def separate(stages: dict[str, Any], taken: Measured) -> dict[str, Any]:
    """Return stages that do not overlap: the audit without re-reading, and the end of a run."""
    stages = {name: dict(figures) for name, figures in stages.items()}
    end = {}
    for figure in ("cpu_seconds", "seconds"):
        if "re-read" in stages:
            stages["audit"][figure] -= stages["re-read"][figure]
        rest = taken[figure] - sum(of_stage[figure] for of_stage in stages.values())
        end[figure] = max(0.0, rest)
    return {**stages, "end": end}


def least(runs: list[Measured]) -> Measured:
    """Return the least of each figure of several runs."""
    figures = ("seconds", "cpu_seconds")
    stages = {
        name: {
            figure: round(min(run["stages"][name][figure] for run in runs), 4) for figure in figures
        }
        for name in runs[0]["stages"]
    }
    whole = {name: min(run[name] for run in runs) for name in (*figures, "peak_memory_bytes")}
    return {**whole, "stages": stages}


WORKLOAD = Workload("stages", {"formats": formats}, FULL, SMALL, TABLES, needs_data=False)

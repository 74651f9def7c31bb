"""The workload ``start``: first and second runs of every method, and commands, beside bare imports.

========  ============================================================================
part      what it measures
========  ============================================================================
commands  bare imports, ``--help``, ``--version``, ``check`` and runs on few rows
methods   every method with every guarantee that it keeps: the first run with the built
          library, the first run that compiles, later runs
========  ============================================================================

Both can be measured in another installation (``--python``, ``--user``), whose results are kept
under a name of its own (``--place``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from benchmarks.shared.cases import Measured, Task, Workload
from benchmarks.start.jobs import Job, every_job
from benchmarks.start.page import CHECKOUT, TABLES
from benchmarks.start.runs import (
    CHECK,
    RUNS,
    Installation,
    measure_bare,
    measure_command,
    measure_job,
)


@dataclass(frozen=True)
class Sizes:
    """How many rows, and for the floor; how often what takes little is repeated; and where."""

    n_rows: int = 2_000
    few_rows: int = 100
    repeats: int = 3
    may_compile: bool = True
    python: str = ""
    user: str = ""
    place: str = CHECKOUT

    @property
    def installation(self) -> Installation:
        """What is measured."""
        return Installation(self.python, self.user)

    def name_of(self, case: str) -> str:
        """Return the name of a case at this place."""
        return case if self.place == CHECKOUT else f"{self.place}-{case}"


FULL = Sizes()
SMALL = Sizes(n_rows=300, repeats=1, may_compile=False)


def commands(sizes: Sizes) -> dict[str, Task]:
    """Plan commands that read nothing, runs on few rows, and a check."""

    def bare(_: object) -> list[Measured]:
        return _at(sizes, measure_bare(sizes.installation, sizes.repeats))

    def command(name: str, _: object) -> list[Measured]:
        n_rows = sizes.n_rows if name == CHECK else sizes.few_rows
        return _at(sizes, measure_command(name, sizes.installation, n_rows, sizes.repeats))

    planned: dict[str, Task] = {"bare": bare}
    planned |= {name: partial(command, name) for name in (*RUNS, CHECK)}
    return {sizes.name_of(name): task for name, task in planned.items()}


def methods(sizes: Sizes) -> dict[str, Task]:
    """Plan every method with every guarantee and condition that it keeps."""

    def started(job: Job, _: object) -> list[Measured]:
        compiles = sizes.may_compile and sizes.place == CHECKOUT  # which is the same everywhere
        found = measure_job(job, sizes.installation, sizes.n_rows, sizes.repeats, compiles)
        return _at(sizes, found)

    return {sizes.name_of(job.name): partial(started, job) for job in every_job()}


def _at(sizes: Sizes, runs: list[Measured]) -> list[Measured]:
    return [{"place": sizes.place, **run} for run in runs]


WORKLOAD = Workload(
    "start",
    {"commands": commands, "methods": methods},
    FULL,
    SMALL,
    TABLES,
    needs_data=False,
)

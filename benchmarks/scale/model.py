"""A cost model of a run: what each stage takes by rows and distinct rows, fitted to measured runs.

A stage has work that is shared out, the tasks, and the rest, which waits for the driver. Both are
lines: tasks by the number of rows (those of the search by distinct rows), the rest by the number of
distinct rows, which is what the driver handles. On so many cores

    seconds = start + Σ over stages (rest + tasks / cores) + shuffled bytes / network

What tasks cost in any case, the start of Python and compiling, every worker pays for itself at the
same time: further cores do not shorten it. The rest of the tasks is taken to spread evenly, and
cores to be as fast as those that were measured; a network is added, since two workers on one
machine have none. Runs on disk have no tasks: all of a stage is a line by rows, the search's by
distinct rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.greedy.data import N_YEARS, N_ZIP_CODES, PARTIES, RACES, SEXES
from benchmarks.scale.spark import STAGES
from benchmarks.shared.page import NOT_MEASURED, Result, runs_of, short_time, table_of

MILLION = 1e6

Run = Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """What a number costs: something in any case, and something for every million."""

    fixed: float
    per_million: float

    def at(self, count: float) -> float:
        """Return what so many cost."""
        return self.fixed + self.per_million * count / MILLION


def fit_line(points: Iterable[tuple[float, float]]) -> Line:
    """Return the line of least squares that neither falls nor begins below nothing.

    ``points`` are counts and what they cost. One point, or several of the same count, make a line
    through nothing.
    """
    pairs = [(count / MILLION, cost) for count, cost in points]
    if not pairs:
        raise ValueError("no line without a point")
    n = len(pairs)
    mean_count = sum(count for count, _ in pairs) / n
    mean_cost = sum(cost for _, cost in pairs) / n
    spread = sum((count - mean_count) ** 2 for count, _ in pairs)
    if spread > 0:
        slope = sum((c - mean_count) * (cost - mean_cost) for c, cost in pairs) / spread
        fixed = mean_cost - slope * mean_count
        if slope < 0:
            return Line(mean_cost, 0.0)
        if fixed >= 0:
            return Line(fixed, slope)
    squares = sum(count**2 for count, _ in pairs)
    through = sum(count * cost for count, cost in pairs) / squares if squares else 0.0
    return Line(0.0, through)


@dataclass(frozen=True)
class StageCost:
    """One stage: its tasks and the rest, in seconds."""

    tasks: Line
    rest: Line
    is_by_distinct: bool
    fitted_cores: float = 1.0

    def seconds(self, n_rows: float, n_distinct: float, n_cores: float) -> float:
        """Return how long it takes."""
        shared_out = Line(0.0, self.tasks.per_million).at(self._count(n_rows, n_distinct))
        return self.unshortened(n_rows, n_distinct) + shared_out / n_cores

    def unshortened(self, n_rows: float, n_distinct: float) -> float:
        """Return what no further core makes shorter; without tasks it goes by rows."""
        has_tasks = self.tasks != Line(0.0, 0.0)
        rest = self.rest.at(n_distinct if has_tasks else self._count(n_rows, n_distinct))
        return rest + self.tasks.fixed / self.fitted_cores

    def _count(self, n_rows: float, n_distinct: float) -> float:
        return n_distinct if self.is_by_distinct else n_rows


@dataclass(frozen=True)
class Machines:
    """A cluster: its workers, the cores of each, and bytes a second that each sends."""

    n_workers: int
    n_cores: int
    network: float = 1.25e9

    @property
    def all_cores(self) -> int:
        """How many tasks run at a time."""
        return self.n_workers * self.n_cores


@dataclass(frozen=True)
class Model:
    """What a run costs: its start, its stages, the bytes it shuffles and the memory it holds."""

    start: float
    stages: Mapping[str, StageCost]
    shuffled: Line
    driver_memory: Line
    worker_memory: Line

    def stage_seconds(self, n_rows: float, n_distinct: float, n_cores: float) -> dict[str, float]:
        """Return how long each stage takes on so many cores."""
        return {
            name: cost.seconds(n_rows, n_distinct, n_cores) for name, cost in self.stages.items()
        }

    def seconds(self, n_rows: float, n_distinct: float, machines: Machines | int) -> float:
        """Return how long a run takes on a cluster, or on so many cores without a network."""
        cores = machines if isinstance(machines, int) else machines.all_cores
        total = self.start + sum(self.stage_seconds(n_rows, n_distinct, cores).values())
        if isinstance(machines, Machines):
            total += self.shuffled.at(n_rows) / (machines.n_workers * machines.network)
        return total

    def waiting(self, n_rows: float, n_distinct: float) -> float:
        """Return the seconds of a run that no further worker makes shorter."""
        stages = self.stages.values()
        return self.start + sum(cost.unshortened(n_rows, n_distinct) for cost in stages)


def with_search_of(model: Model, other: Model, n_cores: int) -> Model:
    """Return a model whose tasks of the search grow as another's search did on so many cores.

    The loops are the same everywhere; compiling them hides how they grow in short runs.
    """
    own, others = model.stages["search"], other.stages["search"].rest
    tasks = Line(own.tasks.fixed, others.per_million * n_cores)
    return replace(model, stages={**model.stages, "search": replace(own, tasks=tasks)})


def model_of(runs: Sequence[Run]) -> Model:
    """Fit a model to runs of one method at one place."""
    if not runs:
        raise ValueError("no model without a run")
    has_tasks = all("tasks_by_stage" in run for run in runs)
    stages = {}
    for name in STAGES:
        is_by_distinct = name == "search"
        counts = [_count(run, is_by_distinct) for run in runs]
        tasks = [_task_seconds(run, name) for run in runs]
        rest = [_rest_seconds(run, name) for run in runs]
        by = [_count(run, is_by_distinct or has_tasks) for run in runs]
        stages[name] = StageCost(
            fit_line(zip(counts, tasks, strict=True)) if has_tasks else Line(0.0, 0.0),
            fit_line(zip(by, rest, strict=True)),
            is_by_distinct,
            sum(run["n_cores"] for run in runs) / len(runs),
        )
    starts = [run["seconds"] - sum(run["stages"].values()) for run in runs]
    return Model(
        start=sum(starts) / len(starts),
        stages=stages,
        shuffled=fit_line((run["n_rows"], run.get("shuffle_bytes", 0)) for run in runs),
        driver_memory=fit_line((_count(run, True), run["driver_memory_bytes"]) for run in runs),
        worker_memory=fit_line(
            (run["n_rows"] / run["n_cores"], run["worker_memory_bytes"]) for run in runs
        ),
    )


def _count(run: Run, is_by_distinct: bool) -> float:
    return float(run["data"]["n_distinct"] if is_by_distinct else run["n_rows"])


def _task_seconds(run: Run, stage: str) -> float:
    by_stage = run.get("tasks_by_stage", {})
    seconds: float = by_stage[stage]["task_seconds"] if stage in by_stage else 0.0
    return seconds


def _rest_seconds(run: Run, stage: str) -> float:
    """Return what of a stage is not its tasks, as many at a time as there are cores."""
    shared_out = _task_seconds(run, stage) / run["n_cores"]
    return max(0.0, float(run["stages"][stage]) - float(shared_out))


def distinct_at(n_rows: float, known: Sequence[tuple[float, float]], most: float) -> float:
    """Return how many distinct rows so many rows have: a power of their number, up to ``most``.

    ``known`` are rows and distinct rows; the power is that between the first and the last.
    """
    (first, few), (last, many) = min(known), max(known)
    if first == last:
        return min(most, many * n_rows / last)
    power = math.log(many / few) / math.log(last / first)
    return float(min(most, many * (n_rows / last) ** power))


# ── the docs ────────────────────────────────────────────────────────────────────────────────────

FITTED_PLACES = ("two-workers", "disk")
PLACE = {"two-workers": "Spark, two workers", "disk": "on disk"}

MOST_DISTINCT = N_ZIP_CODES * len(SEXES) * len(RACES) * N_YEARS * len(PARTIES)
"""As many distinct rows as voters can have."""

FORETOLD = (100_000_000, 1_000_000_000)
CLUSTERS = (Machines(4, 4), Machines(16, 8), Machines(64, 8))


def _greedy_runs(measured: Result, place: str) -> list[Result]:
    """Return the runs of ``greedy`` on voters at a place, by rows."""
    found = [run for part in ("places", "workers", "many") for run in runs_of(measured, part)]
    found = [run for run in found if run["place"] == place and run["method"] == "greedy"]
    return sorted(found, key=lambda run: run["n_rows"])


def _split(measured: Result, place: str) -> tuple[list[Result], list[Result]]:
    """Return the runs that a model is fitted to, and those that it is checked against.

    Of the most rows, those with as many parts as the others are for the check.
    """
    runs = _greedy_runs(measured, place)
    checked = [run for run in runs_of(measured, "many") if run in runs]
    partitions = max((run["partitions"] for run in runs if run not in checked), default=0)
    fit = [run for run in runs if run not in checked and run["partitions"] == partitions]
    return fit, [run for run in checked if run["partitions"] == partitions]


def model_at(measured: Result, place: str) -> Model | None:
    """Return the model of a place, or None where nothing was measured to fit it to."""
    fit, _ = _split(measured, place)
    if not fit:
        return None
    model, disk = model_of(fit), _split(measured, "disk")[0]
    if place == "disk" or not disk:
        return model
    return with_search_of(model, model_of(disk), disk[0]["n_cores"])


def _lines(measured: Result) -> str:
    rows = []
    for place in FITTED_PLACES:
        model = model_at(measured, place)
        if model is None:
            continue
        rows.append(f"| {PLACE[place]} | start and end | – | {short_time(model.start)} |")
        for name, cost in model.stages.items():
            by = "distinct rows" if cost.is_by_distinct else "rows"
            tasks = _seconds(cost.tasks, by) if cost.tasks != Line(0.0, 0.0) else "–"
            rest_by = "rows" if tasks == "–" and not cost.is_by_distinct else "distinct rows"
            rows.append(f"| {PLACE[place]} | {name} | {tasks} | {_seconds(cost.rest, rest_by)} |")
    if not rows:
        return NOT_MEASURED
    return table_of("| place | stage | its tasks, on one core | the rest |", rows)


def _seconds(line: Line, by: str) -> str:
    return f"{line.fixed:.2f} s + {line.per_million:.2f} s per million {by}"


def _bytes(measured: Result) -> str:
    rows = []
    for place in FITTED_PLACES:
        model = model_at(measured, place)
        if model is None:
            continue
        shuffled = "–"
        if model.shuffled.per_million:
            shuffled = f"{model.shuffled.per_million / 1e6:.1f} bytes a row"
        driver, worker = "within `--memory`", "–"
        if place != "disk":
            worker = _memory(model.worker_memory, "rows of a task")
            driver = _memory(model.driver_memory, "distinct rows")
        rows.append(f"| {PLACE[place]} | {shuffled} | {driver} | {worker} |")
    if not rows:
        return NOT_MEASURED
    head = "| place | shuffled | the driver's Python holds | a worker's Python holds |"
    return table_of(head, rows)


def _memory(line: Line, by: str) -> str:
    return f"{line.fixed / 2**20:.0f} MB + {line.per_million / 2**20:.0f} MB per million {by}"


def _check(measured: Result) -> str:
    rows = []
    for place in FITTED_PLACES:
        model = model_at(measured, place)
        _, checked = _split(measured, place)
        if model is None:
            continue
        for run in checked:
            n_rows, n_distinct = run["n_rows"], run["data"]["n_distinct"]
            named = f"{PLACE[place]}, {n_rows:,} rows"
            foretold = model.stage_seconds(n_rows, n_distinct, run["n_cores"])
            start = run["seconds"] - sum(run["stages"].values())
            pairs = {"start and end": (model.start, start)}
            pairs |= {name: (foretold[name], run["stages"][name]) for name in foretold}
            pairs["all"] = (model.seconds(n_rows, n_distinct, run["n_cores"]), run["seconds"])
            for name, (before, after) in pairs.items():
                rows.append(_compared(named, name, before, after))
            if "shuffle_bytes" in run:
                pair = (model.shuffled.at(n_rows) / 2**20, run["shuffle_bytes"] / 2**20)
                rows.append(_compared(named, "shuffled", *pair, unit="MB"))
    if not rows:
        return NOT_MEASURED
    return table_of("| run | stage | foretold | measured | foretold / measured |", rows)


def _compared(run: str, name: str, before: float, after: float, unit: str = "") -> str:
    shown = [f"{one:.0f} {unit}" if unit else short_time(one) for one in (before, after)]
    ratio = f"{before / after:.2f}" if after else "–"
    return f"| {run} | {name} | {shown[0]} | {shown[1]} | {ratio} |"


def _foretold(measured: Result) -> str:
    spark, disk = (model_at(measured, place) for place in FITTED_PLACES)
    if spark is None or disk is None:
        return NOT_MEASURED
    runs = [run for place in FITTED_PLACES for run in _greedy_runs(measured, place)]
    known = sorted({(run["n_rows"], run["data"]["n_distinct"]) for run in runs})
    rows = []
    for n_rows in FORETOLD:
        n_distinct = distinct_at(n_rows, known, MOST_DISTINCT)
        for machines in CLUSTERS:
            seconds = spark.seconds(n_rows, n_distinct, machines)
            waiting = spark.waiting(n_rows, n_distinct)
            rows.append(
                f"| {n_rows:,} | {n_distinct:,.0f} | {machines.n_workers} workers × "
                f"{machines.n_cores} cores | {short_time(seconds)} | {short_time(waiting)} | "
                f"{spark.shuffled.at(n_rows) / 2**30:.1f} GB | "
                f"{spark.driver_memory.at(n_distinct) / 2**30:.1f} GB |"
            )
        seconds = disk.seconds(n_rows, n_distinct, 1)
        rows.append(
            f"| {n_rows:,} | {n_distinct:,.0f} | this machine, on disk | {short_time(seconds)} | "
            "– | – | within `--memory` |"
        )
    head = "| rows | distinct rows | where | time | of that no worker shortens | shuffled |"
    return table_of(f"{head} the driver's Python |", rows)


MODEL_TABLES: dict[str, Callable[[Result], str]] = {
    "scale-model-lines": _lines,
    "scale-model-bytes": _bytes,
    "scale-model-check": _check,
    "scale-model-foretold": _foretold,
}

"""The cost model of the workload ``scale`` in tables: its lines, its check, what it foretells."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.scale.model import Line, Machines, Model, distinct_at, model_of, with_search_of
from benchmarks.shared.table_text import NOT_MEASURED, Result, short_time, table_of
from benchmarks.shared.voters import N_YEARS, N_ZIP_CODES, PARTIES, RACES, SEXES

FITTED_PLACES = ("two-workers", "disk")
PLACE = {"two-workers": "Spark, two workers", "disk": "on disk"}

MOST_DISTINCT = N_ZIP_CODES * len(SEXES) * len(RACES) * N_YEARS * len(PARTIES)
"""As many distinct rows as voters can have."""

FORETOLD = (100_000_000, 1_000_000_000)
CLUSTERS = (Machines(4, 4), Machines(16, 8), Machines(64, 8))


def _greedy_runs(measured: Result, place: str) -> list[Result]:
    """Return the runs of ``greedy`` on voters at a place, by rows."""
    found = [run for part in ("places", "workers", "many") for run in _runs_of(measured, part)]
    found = [run for run in found if run["place"] == place and run["method"] == "greedy"]
    return sorted(found, key=lambda run: run["n_rows"])


def _runs_of(measured: Result, part: str) -> Iterator[Result]:
    for case in measured["parts"].get(part, {"results": {}})["results"].values():
        yield from case["runs"]


def _split(measured: Result, place: str) -> tuple[list[Result], list[Result]]:
    """Return the runs that a model is fitted to, and those that it is checked against.

    Of the most rows, those with as many parts as the others are for the check.
    """
    runs = _greedy_runs(measured, place)
    checked = [run for run in _runs_of(measured, "many") if run in runs]
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

"""The tables of the workload ``stages``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from benchmarks.shared.page import Result, Runs, case_table, megabytes, table_of

STAGES = ("start", "read", "encode", "search", "decode", "write", "re-read", "audit", "end")
WORK = ("read", "group", "write")
WHEN = ("before", "now")
PEERS = {"polars": "polars", "duckdb": "DuckDB"}
FORMATS = {"csv": "CSV", "parquet": "Parquet"}


def _stage_table(cases: Runs) -> str:
    """Return the CPU time of each stage, with the time on the clock, before and now."""
    columns = _columns(cases, "run")
    rows = [_row(name, columns.values(), partial(_stage, name)) for name in STAGES]
    rows.append(_row("**all but the search**", columns.values(), lambda run: _seconds(beside(run))))
    for peer, name in PEERS.items():
        works = {head: _work(cases[head[0]], peer) for head in columns}
        cells = " | ".join(_seconds(work) for work in works.values())
        rows.append(f"| {name}: read, group, write | {cells} |")
        ratios = (f"{beside(run) / works[head]:.1f}" for head, run in columns.items())
        rows.append(f"| **times {name}** | {' | '.join(ratios)} |")
    rows.append(
        _row("peak memory", columns.values(), lambda run: megabytes(run["peak_memory_bytes"]))
    )
    rows.append(_row("beyond the table", columns.values(), _beyond))
    return table_of(_head("stage", columns), rows)


def _check_table(cases: Runs) -> str:
    """Return what a check takes, beside DuckDB reading and grouping the file."""
    columns = _columns(cases, "check")
    names = ("start", "read", "audit", "end")
    rows = [_row(name, columns.values(), partial(_stage, name)) for name in names]
    rows.append(_row("**check**", columns.values(), _both))
    for label, parts in (("into memory", ("read", "group")), ("in one query", ("read and group",))):
        works = {head: _work(cases[head[0]], "duckdb", parts) for head in columns}
        cells = " | ".join(_seconds(work) for work in works.values())
        rows.append(f"| DuckDB: read and group, {label} | {cells} |")
        ratios = (f"{run['cpu_seconds'] / works[head]:.1f}" for head, run in columns.items())
        rows.append(f"| **times DuckDB, {label}** | {' | '.join(ratios)} |")
    rows.append(
        _row("peak memory", columns.values(), lambda run: megabytes(run["peak_memory_bytes"]))
    )
    return table_of(_head("stage", columns), rows)


def _stage(name: str, run: Result) -> str:
    return _both(run["stages"][name])


def beside(run: Result) -> float:
    """Return the CPU time of a run without its search."""
    return float(run["cpu_seconds"] - run["stages"]["search"]["cpu_seconds"])


def _columns(cases: Runs, command: str) -> dict[tuple[str, str], Result]:
    return {
        (name, when): run
        for name, runs in cases.items()
        for when in WHEN
        for run in runs
        if run["what"] == f"{command} {when}"
    }


def _work(runs: list[Result], peer: str, parts: tuple[str, ...] = WORK) -> float:
    (run,) = (run for run in runs if run["what"] == peer)
    return float(sum(run["stages"][part]["cpu_seconds"] for part in parts))


def _head(first: str, columns: Mapping[tuple[str, str], Result]) -> str:
    return f"| {first} | {' | '.join(f'{FORMATS[name]}, {when}' for name, when in columns)} |"


def _row(name: str, runs: Iterable[Result], cell: Callable[[Result], str]) -> str:
    return f"| {name} | {' | '.join(cell(run) for run in runs)} |"


def _both(figures: Result) -> str:
    return f"{_seconds(figures['cpu_seconds'])} ({figures['seconds']:.2f})"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f}"


def _beyond(run: Result) -> str:
    return megabytes(run["peak_memory_bytes"] - run["data"]["table_bytes"])


TABLES = {
    "stages-run": case_table("formats", _stage_table),
    "stages-check": case_table("formats", _check_table),
}

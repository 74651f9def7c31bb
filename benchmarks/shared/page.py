"""Tables of the docs, made from results: nothing in them is typed by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

NOT_MEASURED = "(not measured yet)"

Result = dict[str, Any]
Runs = dict[str, list[Result]]
"""The runs of each case, by its name."""


Column = tuple[str, Callable[[Result], object]]
"""A column of a table: its head, and the cell of a run."""


def table_of(head: str, rows: Iterable[str]) -> str:
    """Return a table with the line under its head."""
    rule = "| " + " | ".join("---" for _ in head.strip("|").split("|")) + " |"
    return "\n".join([head, rule, *rows])


def line_per_run(columns: Sequence[Column], runs: Iterable[Result]) -> str:
    """Return a table with a line for each run."""
    head = " | ".join(name for name, _ in columns)
    rows = (" | ".join(str(cell(run)) for _, cell in columns) for run in runs)
    return table_of(f"| {head} |", (f"| {row} |" for row in rows))


def run_table(
    part: str, *columns: Column, is_wanted: Callable[[str], bool] = bool
) -> Callable[[Result], str]:
    """Return how a table with a line for each run of a part is made."""

    def make(cases: Runs) -> str:
        return line_per_run(columns, (run for runs in cases.values() for run in runs))

    return case_table(part, make, is_wanted)


def case_table(
    parts: str | tuple[str, ...],
    make: Callable[[Runs], str],
    is_wanted: Callable[[str], bool] = bool,
) -> Callable[[Result], str]:
    """Return how a table is made from the runs of the wanted cases of a part or of several.

    Machine and commits stand under it; where nothing was measured, it says so.
    """

    def table(measured: Result) -> str:
        cases = {
            name: case
            for part in ((parts,) if isinstance(parts, str) else parts)
            for name, case in cases_of(measured, part).items()
            if is_wanted(name)
        }
        if not cases:
            return NOT_MEASURED
        made = make({name: case["runs"] for name, case in cases.items()})
        commits = dict.fromkeys(case["commit"] or "unknown" for case in cases.values())
        cores = dict.fromkeys(str(case["machine"]["cores"]) for case in cases.values())
        trial = "a small trial, " if any(case["is_small"] for case in cases.values()) else ""
        word = "commit" if len(commits) == 1 else "commits"
        return f"{made}\n\n({trial}{' or '.join(cores)} cores, {word} {', '.join(commits)})"

    return table


def cases_of(measured: Result, part: str) -> dict[str, Result]:
    """Return the results of a part by case, none if it was not measured."""
    found: dict[str, Result] = measured["parts"].get(part, {"results": {}})["results"]
    return found


def runs_of(measured: Result, part: str) -> list[Result]:
    """Return all runs of a part, one case after the other."""
    return [run for case in cases_of(measured, part).values() for run in case["runs"]]


def begins(*words: str) -> Callable[[str], bool]:
    """Return whether a case's name begins with one of the words."""
    return lambda name: name.startswith(words)


def percent(share: float) -> str:
    """Return a share in percent, to a hundredth."""
    return f"{100 * share:.2f}"


def short_time(seconds: float) -> str:
    """Return seconds, or minutes from ten of them on."""
    if seconds < 9.95:
        return f"{seconds:.2f} s"
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def both_times(run: Result) -> str:
    """Return the time on the clock, and in brackets the CPU time of all cores."""
    return f"{short_time(run['seconds'])} ({short_time(run['cpu_seconds'])})"


def megabytes(n_bytes: float) -> str:
    """Return a number of bytes in MB."""
    return f"{n_bytes / 2**20:.0f} MB"


def peak_memory(run: Result) -> str:
    """Return a run's peak memory."""
    return megabytes(run["peak_memory_bytes"])


def search_memory(run: Result) -> str:
    """Return what a run's search took of its peak memory."""
    return megabytes(run["peak_memory_bytes"] - run["base_memory_bytes"])


TIME: Column = ("time (CPU)", both_times)
MEMORY: Column = ("peak memory", peak_memory)

"""The tables of starts: CPU seconds, and as multiples of bare imports in the same run."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from benchmarks.shared.page import (
    Result,
    Runs,
    case_table,
    line_per_run,
    megabytes,
    peak_memory,
    short_time,
    table_of,
)

CHECKOUT = "checkout"
"""The place of the code that runs the benchmark."""

COMMANDS = {
    "python": "`python -c pass`",
    **{f"import-{name}": f"`import {name}`" for name in ("numpy", "polars", "pyarrow", "numba")},
    "imports": "`import numpy, polars, pyarrow, numba` (bare imports)",
    "import-incrowd": "`import incrowd`",
    "version": "`incrowd --version`",
    "help": "`incrowd --help`",
    "run-help": "`incrowd run --help`",
    "mondrian": "`incrowd run`, `mondrian`",
    "cluster": "`incrowd run`, `cluster`",
    "smooth": "`incrowd run`, `cluster`, smooth",
    "km": "`incrowd run`, `rbat`, km",
    "check": "`incrowd check`",
}


def _here(cases: Runs) -> list[Result]:
    return [run for runs in cases.values() for run in runs if run["place"] == CHECKOUT]


def _multiple(run: Result, imports: Result) -> str:
    return f"{run['cpu_seconds'] / imports['cpu_seconds']:.2f}×"


def _cell(name: str) -> Callable[[Result], str]:
    """Return how the CPU time of one kind of run is shown, with its multiple of bare imports."""

    def cell(run: Result) -> str:
        if name not in run:
            return "–"
        taken = run[name]
        return f"{short_time(taken['cpu_seconds'])} ({_multiple(taken, run['imports'])})"

    return cell


def _method(run: Result) -> str:
    return f"`{run['method']}`" + (f", {run['search']}" if run["search"] else "")


def _times_warm(run: Result) -> str:
    return f"{run['first']['cpu_seconds'] / run['warm']['cpu_seconds']:.2f}"


def _methods(cases: Runs) -> str:
    return line_per_run(
        (
            ("method", _method),
            ("keeps", lambda run: run["promise"]),
            ("rows", lambda run: f"{run['n_rows']:,}"),
            ("bare imports", lambda run: short_time(run["imports"]["cpu_seconds"])),
            ("warm", _cell("warm")),
            ("first, with the built library", _cell("first")),
            ("first, compiling", _cell("compiling")),
            ("later, cached by Numba", _cell("cached")),
            ("first / warm", _times_warm),
            ("clock: warm, first", lambda run: ", ".join(_clock(run, "warm", "first"))),
            ("peak memory: warm, first", lambda run: ", ".join(_memory(run, "warm", "first"))),
            ("kernels of the first", lambda run: _kernels(run["first"])),
        ),
        _here(cases),
    )


def _clock(run: Result, *names: str) -> list[str]:
    return [short_time(run[name]["seconds"]) for name in names]


def _memory(run: Result, *names: str) -> list[str]:
    return [megabytes(run[name]["peak_memory_bytes"]) for name in names]


def _kernels(taken: Result) -> str:
    return str(taken["kernels"])


def _commands(cases: Runs) -> str:
    runs = _here(cases)
    by_name = {run["command"]: run for run in runs}
    rows = []
    for name, shown in COMMANDS.items():
        if name not in by_name:
            continue
        run = by_name[name]
        imports = run["imports"] if "imports" in run else by_name["imports"]
        n_rows = f"{run['n_rows']:,}" if "n_rows" in run else "–"
        rows.append(
            f"| {shown} | {n_rows} | {short_time(run['cpu_seconds'])} | "
            f"{_multiple(run, imports)} | {short_time(run['seconds'])} | {peak_memory(run)} |"
        )
    return table_of("| command | rows | CPU | × bare imports | clock | peak memory |", rows)


def _places(cases: Runs) -> str:
    by_place: dict[str, list[Result]] = {}
    for runs in cases.values():
        for run in runs:
            by_place.setdefault(run["place"], []).append(run)
    rows = []
    for place, runs in by_place.items():
        kernels = dict.fromkeys(_kernels(run["first"]) for run in runs)
        ratio = max(run["first"]["cpu_seconds"] / run["warm"]["cpu_seconds"] for run in runs)
        rows.append(
            f"| {place} | {len(runs)} | {', '.join(kernels)} | {_range(runs, 'warm')} | "
            f"{_range(runs, 'first')} | {ratio:.2f} | {_range(runs, 'compiling')} |"
        )
    head = "| installation | jobs | kernels of the first | warm | first | largest first / warm |"
    return table_of(f"{head} first, compiling |", rows)


def _range(runs: list[Result], name: str) -> str:
    taken = [run[name]["cpu_seconds"] for run in runs if name in run]
    if not taken:
        return "–"
    return f"{short_time(median(taken))} (at most {short_time(max(taken))})"


TABLES: dict[str, Callable[[Result], str]] = {
    "start-commands": case_table("commands", _commands),
    "start-methods": case_table("methods", _methods),
    "start-places": case_table("methods", _places),
}

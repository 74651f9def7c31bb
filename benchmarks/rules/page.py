"""Tables and a chart of the workload ``rules``, made from whatever cases were measured."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.shared.charts import Chart, Panel, Series
from benchmarks.shared.page import (
    MEMORY,
    TIME,
    Column,
    Result,
    Runs,
    both_times,
    case_table,
    cases_of,
    line_per_run,
    percent,
    run_table,
    search_memory,
    table_of,
)

DRAWN = "drawn-"
"""How cases begin whose data are not selected from 1X."""

LEAST_ANSWERED = 30
"""An error of fewer queries says nothing."""


def _of_settings(name: str) -> Callable[[Result], object]:
    return lambda run: run["settings"][name]


def _of_data(name: str) -> Callable[[Result], object]:
    return lambda run: run["data"][name]


def _count(name: str) -> Callable[[Result], str]:
    return lambda run: f"{run[name]:,}"


def _error(name: str) -> Callable[[Result], str]:
    """Return an error, where enough queries have an answer to be counted."""
    return lambda run: "–" if run["n_answered"] < LEAST_ANSWERED else f"{run[name]:.3f}"


def _utility_loss(run: Result) -> str:
    loss = run["log2_utility_loss"]
    return "–" if loss is None else f"{loss:.1f}"


def _shape(run: Result) -> str:
    return f"{run['n_rows']:,} × {run['n_public']:,}"


DATA: Column = ("data", _of_data("name"))
ROWS: Column = ("transactions", _count("n_rows"))
SHAPE: Column = ("transactions × public items", _shape)
ALPHA: Column = ("α", _of_settings("alpha"))
ORDER: Column = ("order", lambda run: f"`{run['settings']['order']}`")
IMPROVED: Column = ("improved", lambda run: "yes" if run["settings"]["improve"] else "no")
ALONE: Column = ("items left alone, %", lambda run: percent(run["share_ungeneralized"]))
PARTS: tuple[Column, ...] = (
    ("parts", _count("n_parts")),
    ("largest part", lambda run: run["largest_part"]),
)
ERRORS: tuple[Column, ...] = (
    ("error, subsets", _error("are_subsets")),
    ("error, share", _error("are_share")),
)
LOST = (*PARTS, ("log₂ of UL", _utility_loss), *ERRORS, ("skewness", _count("skewness")))


def _growth(cases: Runs) -> str:
    runs = []
    for name, found in cases.items():
        fold = name.rpartition("-")[2]
        label = f"{fold}X, drawn anew" if name.startswith(DRAWN) else f"{fold}X"
        runs += [{**run, "label": label} for run in found]
    columns: list[Column] = [
        ("data", lambda run: run["label"]),
        ROWS,
        ALPHA,
        TIME,
        ("µs a transaction", lambda run: f"{1e6 * run['cpu_seconds'] / run['n_rows']:.1f}"),
        MEMORY,
        ("of that by the search", search_memory),
        *LOST,
    ]
    return line_per_run(columns, runs)


def _growth_chart(measured: Result) -> Chart:
    """Return time and error by the number of transactions, a line for every α."""
    runs = [
        run
        for name, case in cases_of(measured, "growth").items()
        if not name.startswith(DRAWN)
        for run in case["runs"]
    ]
    alphas = dict.fromkeys(run["settings"]["alpha"] for run in runs)

    def lines(figure: str) -> tuple[Series, ...]:
        return tuple(
            Series(
                f"α = {alpha}",
                tuple(
                    (run["data"]["times"], run[figure])
                    for run in runs
                    if run["settings"]["alpha"] == alpha and run[figure] is not None
                ),
            )
            for alpha in alphas
        )

    panels = (
        Panel("CPU time in seconds", lines("cpu_seconds")),
        Panel("error by share", lines("are_share")),
    )
    return Chart("Growth", panels, "times 515,597 transactions", "", base=2)


def _rules(cases: Runs) -> str:
    gammas = list(
        dict.fromkeys(run["settings"]["gamma"] for runs in cases.values() for run in runs)
    )
    rows = []
    for runs in cases.values():
        by_gamma = {run["settings"]["gamma"]: both_times(run) for run in runs}
        cells = [by_gamma.get(gamma, "–") for gamma in gammas]
        cells += [str(cell(runs[0])) for _, cell in LOST]
        rows.append(f"| {runs[0]['n_rules']:,} | {' | '.join(cells)} |")
    heads = [f"γ = {gamma}, time (CPU)" for gamma in gammas] + [name for name, _ in LOST]
    return table_of(f"| rules | {' | '.join(heads)} |", rows)


def _plain(cases: Runs) -> str:
    names = {"incrowd": "`rbat`", "plain": "plain, with Python's sets"}
    runs = [run for found in cases.values() for run in found]
    ours = next(run for run in runs if run["way"] == "incrowd")
    columns: list[Column] = [
        ("search", lambda run: names[run["way"]]),
        ("transactions × items", lambda run: f"{run['n_rows']:,} × {run['n_items']:,}"),
        ("rules", _count("n_rules")),
        TIME,
        MEMORY,
        ("CPU against ours", lambda run: f"{run['cpu_seconds'] / ours['cpu_seconds']:.0f}×"),
    ]
    return line_per_run(columns, runs)


TABLES: dict[str, Callable[[Result], str]] = {
    "rules-growth": case_table("growth", _growth),
    "rules-alpha": run_table("alpha", ALPHA, ORDER, IMPROVED, TIME, MEMORY, ALONE, *LOST),
    "rules-items": run_table(
        "items",
        ("items", lambda run: f"{run['data']['n_items']:,}"),
        *(ALPHA, TIME, MEMORY, ALONE),
        *LOST,
    ),
    "rules-rules": case_table("rules", _rules),
    "rules-real": run_table(
        "real", DATA, SHAPE, ALPHA, ORDER, IMPROVED, TIME, MEMORY, ALONE, *LOST
    ),
    "rules-mined": run_table(
        "mined",
        DATA,
        ROWS,
        ("public items", lambda run: run["largest"]),
        ("broken rules", lambda run: run.get("outcome") or f"{run['n_rules']:,}"),
        TIME,
        MEMORY,
    ),
    "rules-km": run_table(
        "km",
        DATA,
        SHAPE,
        ("m", lambda run: run["m"]),
        *(IMPROVED, TIME, MEMORY),
        *PARTS,
        ("items generalized, %", lambda run: percent(1 - run["share_ungeneralized"])),
        ("mean size of a shown part", lambda run: f"{run['mean_part_size']:.2f}"),
        *ERRORS,
    ),
    "rules-plain": case_table("plain", _plain),
}

CHARTS: dict[str, Callable[[Result], Chart]] = {"rules-growth.svg": _growth_chart}

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
    short_time,
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


def _is_by_rounds(run: Result) -> bool:
    return bool(run["settings"]["rounds"] == "engine")


def _rules(cases: Runs) -> str:
    every = [run for runs in cases.values() for run in runs if _is_by_rounds(run)]
    gammas = sorted({run["settings"]["gamma"] for run in every})
    rows = []
    for runs in cases.values():
        alone = next(run for run in runs if not _is_by_rounds(run))
        of_gamma = {run["settings"]["gamma"]: run for run in runs if _is_by_rounds(run)}
        cells = [both_times(alone)]
        for gamma in gammas:
            run = of_gamma.get(gamma)
            cells.append("–" if run is None else f"{run['figures']['n_rounds']}: {both_times(run)}")
        cells += [str(cell(alone)) for _, cell in LOST]
        rows.append(f"| {alone['n_rules']:,} | {' | '.join(cells)} |")
    heads = ["one process, time (CPU)"]
    heads += [f"γ = {gamma}, rounds: time (CPU)" for gamma in gammas]
    heads += [name for name, _ in LOST]
    return table_of(f"| rules | {' | '.join(heads)} |", rows)


def _figure(name: str) -> Callable[[Result], str]:
    return lambda run: f"{run['figures'][name]:,}"


def _rounds(cases: Runs) -> str:
    runs = [run for found in cases.values() for run in found if _is_by_rounds(run)]
    columns: list[Column] = [
        ("rules", _count("n_rules")),
        ("γ", _of_settings("gamma")),
        ("splits tried", _figure("splits_tried")),
        ("levels", _figure("levels")),
        ("rounds", _figure("n_rounds")),
        ("that place items", _figure("side_rounds")),
        ("that check rules", _figure("check_rounds")),
        ("items placed", _figure("items_placed")),
        ("rules checked", _figure("rules_checked")),
        ("sums returned", lambda run: f"{run['figures']['bytes_returned'] / 2**20:.1f} MB"),
        ("rounds of Algorithm 2, at most", _figure("rounds_of_paper")),
    ]
    return line_per_run(columns, runs)


def _nodes(cases: Runs) -> str:
    runs = [run for found in cases.values() for run in found]
    first = runs[0]
    columns: list[Column] = [
        ("workers", lambda run: run["n_cores"]),
        ROWS,
        ("time", lambda run: short_time(run["seconds"])),
        *(
            (f"of that {what}", lambda run, name=name: short_time(run["stages"][name]))
            for name, what in (
                ("read", "reading"),
                ("search", "the search"),
                ("write", "writing"),
                ("audit", "the audit"),
            )
        ),
        ("speed-up", lambda run: f"{first['seconds'] / run['seconds']:.2f}"),
        (
            "speed-up of the search",
            lambda run: f"{first['stages']['search'] / run['stages']['search']:.2f}",
        ),
        ("tasks", _count("n_tasks")),
        ("time of tasks", lambda run: short_time(run["task_seconds"])),
        ("rounds", lambda run: run["parameters"]["n_rounds"]),
        (
            "same bytes",
            lambda run: "yes" if run["release_sha256"] == first["release_sha256"] else "**no**",
        ),
    ]
    return line_per_run(columns, runs)


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
    "rules-nodes": case_table("nodes", _nodes),
    "rules-alpha": run_table("alpha", ALPHA, ORDER, IMPROVED, TIME, MEMORY, ALONE, *LOST),
    "rules-items": run_table(
        "items",
        ("items", lambda run: f"{run['data']['n_items']:,}"),
        *(ALPHA, TIME, MEMORY, ALONE),
        *LOST,
    ),
    "rules-rules": case_table("rules", _rules),
    "rules-rounds": case_table("rules", _rounds),
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

"""Tables and a drawing of the workload ``rules``, made from whatever cases were measured."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.shared.chart import Axes, Panel, Series, draw
from benchmarks.shared.table_text import (
    Result,
    any_case,
    of_cases,
    peak_memory,
    percent,
    short_time,
    table_of,
)

Runs = dict[str, list[Result]]


DRAWN = "drawn-"
"""How cases begin whose data are not selected from 1X."""

LEAST_ANSWERED = 30
"""An error of fewer queries says nothing."""

LOST = "parts | largest part | log₂ of UL | error, subsets | error, share | skewness"


def _both(run: Result) -> str:
    """Return the time on the clock and that of the processor."""
    return f"{short_time(run['seconds'])} ({short_time(run['cpu_seconds'])})"


def _own_memory(run: Result) -> str:
    return f"{(run['peak_memory_bytes'] - run['base_memory_bytes']) / 2**20:.0f} MB"


def _errors(run: Result) -> str:
    """Return the error in both readings, where enough queries have an answer to be counted."""
    if run["n_answered"] < LEAST_ANSWERED:
        return "– | –"
    return f"{run['are_subsets']:.3f} | {run['are_share']:.3f}"


def _lost(run: Result) -> str:
    loss = run["log2_utility_loss"]
    return (
        f"{run['n_parts']:,} | {run['largest_part']} | {'–' if loss is None else f'{loss:.1f}'} | "
        f"{_errors(run)} | {run['skewness']:,}"
    )


def _left_alone(run: Result) -> str:
    return percent(run["share_ungeneralized"])


def _improved(run: Result) -> str:
    return "yes" if run["settings"]["improve"] else "no"


def _growth(cases: Runs) -> str:
    rows = []
    for name, runs in cases.items():
        fold = name.rpartition("-")[2]
        data = f"{fold}X, drawn anew" if name.startswith(DRAWN) else f"{fold}X"
        for run in runs:
            rows.append(
                f"| {data} | {run['n_rows']:,} | {run['settings']['alpha']} | "
                f"{_both(run)} | {1e6 * run['cpu_seconds'] / run['n_rows']:.1f} | "
                f"{peak_memory(run)} | {_own_memory(run)} | {_lost(run)} |"
            )
    head = (
        "| data | transactions | α | time (CPU) | µs a transaction | peak memory | of that by the "
        f"search | {LOST} |"
    )
    return table_of(head, rows)


def _growth_drawing(measured: Result) -> str:
    """Return time and error by the number of transactions, a line for every α."""
    found = measured["parts"].get("growth", {"results": {}})["results"]
    selected = [case["runs"] for name, case in found.items() if not name.startswith(DRAWN)]
    runs = [run for of_case in selected for run in of_case]
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

    panels = [
        Panel("CPU time in seconds", lines("cpu_seconds")),
        Panel("error by share", lines("are_share")),
    ]
    return draw("Growth", panels, Axes("times 515,597 transactions", "", 2))


def _alpha(cases: Runs) -> str:
    rows = [
        f"| {run['settings']['alpha']} | `{run['settings']['order']}` | {_improved(run)} | "
        f"{_both(run)} | {peak_memory(run)} | {_left_alone(run)} | {_lost(run)} |"
        for runs in cases.values()
        for run in runs
    ]
    return table_of(
        f"| α | order | improved | time (CPU) | peak memory | items left alone, % | {LOST} |", rows
    )


def _items(cases: Runs) -> str:
    rows = [
        f"| {run['data']['n_items']:,} | {run['settings']['alpha']} | {_both(run)} | "
        f"{peak_memory(run)} | {_left_alone(run)} | {_lost(run)} |"
        for runs in cases.values()
        for run in runs
    ]
    return table_of(
        f"| items | α | time (CPU) | peak memory | items left alone, % | {LOST} |", rows
    )


def _rules(cases: Runs) -> str:
    gammas = list(
        dict.fromkeys(run["settings"]["gamma"] for runs in cases.values() for run in runs)
    )
    rows = []
    for runs in cases.values():
        by_gamma = {run["settings"]["gamma"]: _both(run) for run in runs}
        times = " | ".join(by_gamma.get(gamma, "–") for gamma in gammas)
        rows.append(f"| {runs[0]['n_rules']:,} | {times} | {_lost(runs[0])} |")
    head = " | ".join(f"γ = {gamma}, time (CPU)" for gamma in gammas)
    return table_of(f"| rules | {head} | {LOST} |", rows)


def _real(cases: Runs) -> str:
    rows = [
        f"| {run['data']['name']} | {run['n_rows']:,} × {run['n_public']:,} | "
        f"{run['settings']['alpha']} | `{run['settings']['order']}` | {_improved(run)} | "
        f"{_both(run)} | {peak_memory(run)} | {_left_alone(run)} | {_lost(run)} |"
        for runs in cases.values()
        for run in runs
    ]
    head = (
        "| data | transactions × public items | α | order | improved | time (CPU) | peak memory | "
        f"items left alone, % | {LOST} |"
    )
    return table_of(head, rows)


def _mined(cases: Runs) -> str:
    rows = [
        f"| {run['data']['name']} | {run['n_rows']:,} | {run['largest']} | "
        f"{run.get('outcome') or format(run['n_rules'], ',')} | {_both(run)} | "
        f"{peak_memory(run)} |"
        for runs in cases.values()
        for run in runs
    ]
    head = "| data | transactions | public items | broken rules | time (CPU) | peak memory |"
    return table_of(head, rows)


def _km(cases: Runs) -> str:
    rows = [
        f"| {run['data']['name']} | {run['n_rows']:,} × {run['n_public']:,} | {run['m']} | "
        f"{_improved(run)} | {_both(run)} | {peak_memory(run)} | {run['n_parts']:,} | "
        f"{run['largest_part']} | "
        f"{percent(1 - run['share_ungeneralized'])} | {run['mean_part_size']:.2f} | "
        f"{_errors(run)} |"
        for runs in cases.values()
        for run in runs
    ]
    head = (
        "| data | transactions × public items | m | improved | time (CPU) | peak memory | parts | "
        "largest part | items generalized, % | mean size of a shown part | error, subsets | error, "
        "share |"
    )
    return table_of(head, rows)


def _plain(cases: Runs) -> str:
    names = {"incrowd": "`rbat`", "plain": "plain, with Python's sets"}
    rows = []
    for runs in cases.values():
        ours = next(run for run in runs if run["way"] == "incrowd")
        for run in runs:
            rows.append(
                f"| {names[run['way']]} | {run['n_rows']:,} × {run['n_items']:,} | "
                f"{run['n_rules']:,} | {_both(run)} | {peak_memory(run)} | "
                f"{run['cpu_seconds'] / ours['cpu_seconds']:.0f}× |"
            )
    head = "| search | transactions × items | rules | time (CPU) | peak memory | CPU against ours |"
    return table_of(head, rows)


RULES_TABLES: dict[str, Callable[[Result], str]] = {
    "rules-growth": of_cases("growth", any_case, _growth),
    "rules-alpha": of_cases("alpha", any_case, _alpha),
    "rules-items": of_cases("items", any_case, _items),
    "rules-rules": of_cases("rules", any_case, _rules),
    "rules-real": of_cases("real", any_case, _real),
    "rules-mined": of_cases("mined", any_case, _mined),
    "rules-km": of_cases("km", any_case, _km),
    "rules-plain": of_cases("plain", any_case, _plain),
}

RULES_DRAWINGS: dict[str, Callable[[Result], str]] = {"rules-growth.svg": _growth_drawing}

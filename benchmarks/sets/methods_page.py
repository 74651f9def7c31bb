"""Tables of the methods of sets, side by side: by data set, by k, by parameter, and as an ε."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.sets import paper as printed
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

DATA = {
    "block-model": "block model",
    "adult": "Adult",
    "playstore": "playstore",
    "ca-condmat": "co-authors (ca-condmat)",
    "cit-hepph": "citations (cit-hepph)",
    "groceries": "groceries",
    "msweb": "msweb",
    "bms-webview1": "bms-webview1",
    "kosarak70k": "kosarak70k",
    "retail": "retail",
    "t10i4d100k": "t10i4d100k",
}
METHODS: dict[str, tuple[str, bool | None]] = {
    "`cluster`": ("cluster", None),
    "`facility`, uncut as in the paper": ("facility", False),
    "`facility`": ("facility", True),
    "`mondrian`": ("mondrian", None),
}
"""By heading: a method, and whether its groups are cut."""

PROMISES = ("smooth", "suppression", "majority")

Runs = dict[str, list[Result]]


def _is(run: Result, heading: str) -> bool:
    method, is_cut = METHODS[heading]
    return bool(run["method"] == method and run["settings"].get("cut") in (is_cut, None))


def _one(runs: list[Result], heading: str, promise: str, k: int) -> Result | None:
    for run in runs:
        if _is(run, heading) and run.get("guarantee") == promise and run["k"] == k:
            return run
    return None


def _shape(data: Result) -> str:
    return f"{data['n_rows']:,} × {data['n_items']:,}"


def mean_of(run: Result | None) -> str:
    """Return a run's similarity and its deviation."""
    if run is None:
        return "–"
    deviation = run.get("jaccard_deviation")
    return percent(run["jaccard"]) + ("" if deviation is None else f" ± {100 * deviation:.2f}")


def _printed(name: str, column: str) -> tuple[float, float, float] | None:
    return printed.TABLE_3.get(printed.OF_THE_KIND.get(name, name), {}).get(column)


def _reasons(cases: Runs) -> str:
    """Return what was not run, and why, as a line under a table."""
    said = [
        f"{_heading(run)} on {DATA[name]}: {run['outcome']}"
        for name, runs in cases.items()
        for run in runs
        if "outcome" in run
    ]
    return f"\n\nNot run: {'; '.join(said)}." if said else ""


def _heading(run: Result) -> str:
    return next(heading for heading in METHODS if _is(run, heading))


# ── Tables 1 and 3 ──────────────────────────────────────────────────────────────────────────────


def _measured_promises(cases: Runs) -> Iterator[tuple[str, str, list[Result]]]:
    for name, runs in cases.items():
        for promise in PROMISES:
            if any(_one(runs, heading, promise, printed.K) for heading in METHODS):
                yield name, promise, runs


def _jaccard(cases: Runs) -> str:
    rows = []
    for name, promise, runs in _measured_promises(cases):
        found = " | ".join(mean_of(_one(runs, way, promise, printed.K)) for way in METHODS)
        own, mondrian = _printed(name, promise), _printed(name, "mondrian")
        theirs = "–" if own is None else f"{own[0]:.1f}"
        baseline = f"{mondrian[0]:.1f}" if mondrian and promise == "suppression" else "–"
        kind = printed.OF_THE_KIND.get(name)
        of = f" ({kind})" if kind and own else ""
        rows.append(
            f"| {DATA[name]} | {_shape(runs[0]['data'])} | {promise} | {found} | {theirs}{of} | "
            f"{baseline} |"
        )
    head = (
        f"| data | rows × items | promise | {' | '.join(METHODS)} | the paper's method | the "
        "paper, Mondrian |"
    )
    return table_of(head, rows) + _reasons(cases)


def _changes(cases: Runs) -> str:
    rows = []
    for name, promise, runs in _measured_promises(cases):
        found = [_one(runs, way, promise, printed.K) for way in METHODS]
        cells = [
            "–" if run is None else f"{percent(run['suppressed'])} / {percent(run['created'])}"
            for run in found
        ]
        own = _printed(name, promise)
        theirs = "–" if own is None else f"{own[1]:.1f} / {own[2]:.1f}"
        rows.append(f"| {DATA[name]} | {promise} | {' | '.join(cells)} | {theirs} |")
    head = f"| data | promise | {' | '.join(METHODS)} | the paper's method |"
    return table_of(head, rows)


def _times(cases: Runs) -> str:
    rows = []
    for name, runs in cases.items():
        suppressed = _one(runs, "`cluster`", "suppression", printed.K)
        found = [_one(runs, way, "smooth", printed.K) for way in METHODS]
        cells = [
            "–"
            if run is None
            else f"{short_time(run['cpu_seconds'])} ({short_time(run['seconds'])}), "
            f"{peak_memory(run)}, {run['n_seeds']} {'run' if run['n_seeds'] == 1 else 'runs'}"
            for run in (found[0], suppressed, *found[1:])
        ]
        rows.append(f"| {DATA[name]} | {runs[0]['data']['n_entries']:,} | {' | '.join(cells)} |")
    own, *others = METHODS
    head = f"| data | entries | {own}, smooth | {own}, suppression | {' | '.join(others)} |"
    return table_of(head, rows)


def _by_k(cases: Runs) -> str:
    every_k = _every_k(cases)
    rows = []
    for name, runs in cases.items():
        for promise in ("smooth", "suppression"):
            for heading in METHODS:
                if heading == "`mondrian`" and promise == "smooth":
                    continue
                found = [_one(runs, heading, promise, k) for k in every_k]
                if any(found):
                    cells = " | ".join(mean_of(run) for run in found)
                    rows.append(f"| {DATA[name]} | {promise} | {heading} | {cells} |")
    head = f"| data | promise | method | {' | '.join(f'k = {k}' for k in every_k)} |"
    return table_of(head, rows)


def _every_k(cases: Runs) -> list[int]:
    return sorted({run["k"] for runs in cases.values() for run in runs})


def _curves_by_k(measured: Result) -> str:
    """Draw Figures 3(a) and 5: similarity by k."""
    cases = runs_of(measured, "tables")
    panels = []
    for name, runs in cases.items():
        series = []
        for heading, promise in (
            ("`cluster`", "smooth"),
            ("`facility`, uncut as in the paper", "smooth"),
            ("`cluster`", "suppression"),
            ("`facility`", "suppression"),
            ("`mondrian`", "suppression"),
        ):
            found = [_one(runs, heading, promise, k) for k in _every_k(cases)]
            points = tuple((run["k"], 100 * run["jaccard"]) for run in found if run)
            series.append(Series(f"{heading.replace('`', '')}, {promise}", points))
        panels.append(Panel(DATA[name], tuple(series)))
    return draw("Jaccard similarity by k", panels, Axes("k", "Jaccard similarity in percent", 2))


def runs_of(measured: Result, part: str) -> Runs:
    """Return a part's runs by case."""
    found = measured["parts"].get(part, {"results": {}})["results"]
    return {name: case["runs"] for name, case in found.items()}


# ── parameters ──────────────────────────────────────────────────────────────────────────────────


def _parameters(cases: Runs) -> str:
    rows = []
    for runs in cases.values():
        for run in runs:
            if run["guarantee"] != "smooth":
                continue
            settings = run["settings"]
            other = next(
                one
                for one in runs
                if one["settings"] == settings and one["guarantee"] == "suppression"
            )
            given = f"α = {settings['alpha']:g}" if "alpha" in settings else ""
            given = given or f"β = {settings['beta']:g}"
            rows.append(
                f"| {DATA[run['data']['name']]} | {settings.get('variant', 'practical')} | {given} "
                f"| {mean_of(run)} | {mean_of(other)} | {run['largest_group']:,.0f} | "
                f"{short_time(run['cpu_seconds'])} |"
            )
    head = "| data | variant | | smooth | suppression | largest group shown | CPU time |"
    return table_of(head, rows)


# ── the ε that keeps as much ────────────────────────────────────────────────────────────────────


def _epsilon_of(run: Result) -> float | None:
    """Return the ε for edges whose expected similarity is that of a run."""
    from incrowd.methods.randomized_response.search import epsilon_for

    data = run["data"]
    if not 0 < run["jaccard"] < 1:
        return None
    return epsilon_for(run["jaccard"], data["n_entries"] / (data["n_rows"] * data["n_items"]))


FIGURE_6 = {"`cluster`": "cluster", "`facility`, uncut as in the paper": "facility, uncut"}


def _k_against_epsilon(cases: Runs) -> str:
    every_k = _every_k(cases)
    rows = []
    for name, runs in cases.items():
        for heading in FIGURE_6:
            found = [_one(runs, heading, "smooth", k) for k in every_k]
            needed = [_epsilon_of(run) if run else None for run in found]
            if any(needed):
                cells = " | ".join("–" if one is None else f"{one:.2f}" for one in needed)
                rows.append(f"| {DATA[name]} | {heading} | {cells} |")
    head = f"| data | method | {' | '.join(f'k = {k}' for k in every_k)} |"
    said = "; ".join(f"{what}: {epsilon}" for what, epsilon in printed.EPSILON_OF_K)
    return f"{table_of(head, rows)}\n\nThe paper: {said}."


def _curves_of_epsilon(measured: Result) -> str:
    """Draw Figure 6: the ε that is as good as a k."""
    cases = runs_of(measured, "tables")
    panels = []
    for heading, title in FIGURE_6.items():
        series = []
        for name in ("block-model", "adult", "playstore", "ca-condmat", "cit-hepph"):
            found = [_one(cases.get(name, []), heading, "smooth", k) for k in _every_k(cases)]
            needed = [(run["k"], _epsilon_of(run)) for run in found if run]
            points = tuple((k, epsilon) for k, epsilon in needed if epsilon is not None)
            series.append(Series(DATA[name], points))
        panels.append(Panel(title, tuple(series)))
    return draw("The ε for edges that keeps as much as k", panels, Axes("k", "ε", 2))


METHOD_TABLES: dict[str, Callable[[Result], str]] = {
    "sets-jaccard": of_cases("tables", any_case, _jaccard),
    "sets-changes": of_cases("tables", any_case, _changes),
    "sets-times": of_cases("tables", any_case, _times),
    "sets-by-k": of_cases("tables", any_case, _by_k),
    "sets-parameters": of_cases("parameters", any_case, _parameters),
    "sets-k-epsilon": of_cases("tables", any_case, _k_against_epsilon),
}

METHOD_DRAWINGS: dict[str, Callable[[Result], str]] = {
    "sets-by-k.svg": _curves_by_k,
    "sets-epsilon.svg": _curves_of_epsilon,
}

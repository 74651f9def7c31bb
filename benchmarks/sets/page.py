"""Tables and charts of the workload ``sets``, made from whatever cases were measured.

Beside ours stands what Esfandiari et al. (2022) print: Table 3 (k = 8) and, from its Appendix D,
deviations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.shared.charts import Chart, Panel, Series
from benchmarks.shared.page import (
    Result,
    Runs,
    begins,
    both_times,
    case_table,
    cases_of,
    peak_memory,
    percent,
    short_time,
    table_of,
)
from incrowd.methods.randomized_response.search import epsilon_for

PAPER_K = 8

TABLE_3: dict[str, dict[str, tuple[float, float, float]]] = {
    "block-model": {
        "mondrian": (2.2, 97.8, 0.0),
        "suppression": (16.4, 83.6, 0.0),
        "smooth": (68.1, 17.7, 21.0),
    },
    "adult": {
        "mondrian": (59.9, 40.1, 0.0),
        "suppression": (64.8, 35.2, 0.0),
        "smooth": (85.0, 8.9, 7.2),
    },
    "playstore": {
        "mondrian": (51.2, 48.8, 0.0),
        "suppression": (39.2, 60.8, 0.0),
        "smooth": (66.1, 26.2, 11.6),
    },
    "dblp": {"suppression": (4.3, 95.7, 0.0), "smooth": (7.4, 92.5, 1.4)},
    "stanford": {"suppression": (48.0, 52.0, 0.0), "smooth": (52.6, 46.1, 2.4)},
    "user-lists": {"suppression": (67.3, 32.7, 0.0), "smooth": (71.0, 27.7, 1.9)},
}
"""Percent of Jaccard similarity, of entries suppressed and created. Smooth and suppression are of
the paper's own method, Mondrian of another's, by suppression. Table 1 is a part of it."""

OF_THE_KIND = {"ca-condmat": "dblp", "cit-hepph": "stanford"}
"""Data of the same kind, not the same data: the paper's are larger."""

EPSILON_OF_K = (
    ("adult and playstore, k from 4 to 64", "about 4 to 5"),
    ("k = 16 on the data that need most", "11"),
)
"""Appendix D on Figure 6: the ε for edges that keeps as much as a k."""

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


def _mean(run: Result | None) -> str:
    """Return a run's similarity and its deviation."""
    if run is None:
        return "–"
    deviation = run.get("jaccard_deviation")
    return percent(run["jaccard"]) + ("" if deviation is None else f" ± {100 * deviation:.2f}")


def _printed(name: str, column: str) -> tuple[float, float, float] | None:
    return TABLE_3.get(OF_THE_KIND.get(name, name), {}).get(column)


def _reasons(cases: Runs) -> str:
    """Return what was not run, and why, as a line under a table."""
    reasons = [
        f"{_heading(run)} on {DATA[name]}: {run['outcome']}"
        for name, runs in cases.items()
        for run in runs
        if "outcome" in run
    ]
    return f"\n\nNot run: {'; '.join(reasons)}." if reasons else ""


def _heading(run: Result) -> str:
    return next(heading for heading in METHODS if _is(run, heading))


# ── Tables 1 and 3 ──────────────────────────────────────────────────────────────────────────────


def _measured_promises(cases: Runs) -> Iterator[tuple[str, str, list[Result]]]:
    for name, runs in cases.items():
        for promise in PROMISES:
            if any(_one(runs, heading, promise, PAPER_K) for heading in METHODS):
                yield name, promise, runs


def _jaccard(cases: Runs) -> str:
    rows = []
    for name, promise, runs in _measured_promises(cases):
        found = " | ".join(_mean(_one(runs, way, promise, PAPER_K)) for way in METHODS)
        own, mondrian = _printed(name, promise), _printed(name, "mondrian")
        theirs = "–" if own is None else f"{own[0]:.1f}"
        baseline = f"{mondrian[0]:.1f}" if mondrian and promise == "suppression" else "–"
        kind = OF_THE_KIND.get(name)
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
        found = [_one(runs, way, promise, PAPER_K) for way in METHODS]
        cells = [
            "–" if run is None else f"{percent(run['suppressed'])} / {percent(run['created'])}"
            for run in found
        ]
        own = _printed(name, promise)
        theirs = "–" if own is None else f"{own[1]:.1f} / {own[2]:.1f}"
        rows.append(f"| {DATA[name]} | {promise} | {' | '.join(cells)} | {theirs} |")
    head = f"| data | promise | {' | '.join(METHODS)} | the paper's method |"
    return table_of(head, rows)


WAYS_OF_THE_PAPER = {
    "clusters whole": ("facility", ("smooth", "suppression")),
    "clusters divided": ("divided", ("smooth", "suppression")),
    "Mondrian, first column": ("first-column", ("suppression",)),
}
"""By heading: the grouping, and the guarantees that the paper has it under."""


def _paper(cases: Runs) -> str:
    rows = []
    for runs in cases.values():
        name = runs[0]["data"]["name"]
        for promise in ("smooth", "suppression"):
            cells = []
            for method, promises in WAYS_OF_THE_PAPER.values():
                found = [
                    run for run in runs if (run["method"], run["guarantee"]) == (method, promise)
                ]
                cells.append(_mean(found[0]) if promise in promises else "–")
            own, mondrian = _printed(name, promise), _printed(name, "mondrian")
            theirs = "–" if promise == "smooth" or mondrian is None else f"{mondrian[0]:.1f}"
            cells[2:2] = ["–" if own is None else f"{own[0]:.1f}"]
            rows.append(f"| {DATA[name]} | {promise} | {' | '.join(cells)} | {theirs} |")
    whole, divided, mondrian_heading = WAYS_OF_THE_PAPER
    head = (
        f"| data | promise | {whole} | {divided} | the paper | {mondrian_heading} | "
        "the paper, Mondrian |"
    )
    return table_of(head, rows)


def _most(cases: Runs) -> str:
    ways = ("`cluster`", "`facility`")
    rows = []
    for case, (run,) in ((name, runs) for name, runs in cases.items() if name.startswith(MOST)):
        name = case.removeprefix(MOST)
        for promise, at_most in run["jaccard_at_most"].items():
            cells = []
            for way in ways:
                found = _one(cases.get(name, []), way, promise, run["k"])
                share = "–" if found is None else f"{100 * found['jaccard'] / at_most:.1f}"
                cells += ["–" if found is None else percent(found["jaccard"]), share]
            rows.append(f"| {DATA[name]} | {promise} | {percent(at_most)} | {' | '.join(cells)} |")
    columns = " | ".join(f"{way} | share of the bound" for way in ways)
    return table_of(f"| data | promise | at most | {columns} |", rows)


MOST = "most-"
"""How the names of cases begin that say what no release can exceed."""


def _times(cases: Runs) -> str:
    rows = []
    for name, runs in cases.items():
        suppressed = _one(runs, "`cluster`", "suppression", PAPER_K)
        found = [_one(runs, way, "smooth", PAPER_K) for way in METHODS]
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
                    cells = " | ".join(_mean(run) for run in found)
                    rows.append(f"| {DATA[name]} | {promise} | {heading} | {cells} |")
    head = f"| data | promise | method | {' | '.join(f'k = {k}' for k in every_k)} |"
    return table_of(head, rows)


def _every_k(cases: Runs) -> list[int]:
    return sorted({run["k"] for runs in cases.values() for run in runs})


def _curves_by_k(measured: Result) -> Chart:
    """Draw Figures 3(a) and 5: similarity by k."""
    cases = _cases(measured, "tables")
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
    title = "Jaccard similarity by k"
    return Chart(title, tuple(panels), "k", "Jaccard similarity in percent", base=2)


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
                f"| {_mean(run)} | {_mean(other)} | {run['largest_group']:,.0f} | "
                f"{short_time(run['cpu_seconds'])} |"
            )
    head = "| data | variant | | smooth | suppression | largest group shown | CPU time |"
    return table_of(head, rows)


# ── the ε that keeps as much ────────────────────────────────────────────────────────────────────


def _epsilon_of(run: Result) -> float | None:
    """Return the ε for edges whose expected similarity is that of a run."""
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
    printed = "; ".join(f"{what}: {epsilon}" for what, epsilon in EPSILON_OF_K)
    return f"{table_of(head, rows)}\n\nThe paper: {printed}."


def _curves_of_epsilon(measured: Result) -> Chart:
    """Draw Figure 6: the ε that is as good as a k."""
    cases = _cases(measured, "tables")
    panels = []
    for heading, title in FIGURE_6.items():
        series = []
        for name in ("block-model", "adult", "playstore", "ca-condmat", "cit-hepph"):
            found = [_one(cases.get(name, []), heading, "smooth", k) for k in _every_k(cases)]
            needed = [(run["k"], _epsilon_of(run)) for run in found if run]
            points = tuple((k, epsilon) for k, epsilon in needed if epsilon is not None)
            series.append(Series(DATA[name], points))
        panels.append(Panel(title, tuple(series)))
    return Chart("The ε for edges that keeps as much as k", tuple(panels), "k", "ε", base=2)


# ── noise ───────────────────────────────────────────────────────────────────────────────────────


def _density(cases: Runs) -> str:
    (runs,) = cases.values()
    wanted = sorted({run["wanted_jaccard"] for run in runs})
    rows = []
    for density in dict.fromkeys(run["wanted_density"] for run in runs):
        cells = [
            f"{run['epsilon']:.2f} ({100 * run['jaccard']:.1f})"
            for similarity in wanted
            for run in runs
            if (run["wanted_density"], run["wanted_jaccard"]) == (density, similarity)
        ]
        rows.append(f"| {density:g} | {' | '.join(cells)} |")
    head = f"| density | {' | '.join(f'{100 * one:.0f}%' for one in wanted)} |"
    return table_of(head, rows)


def _epsilon(cases: Runs) -> str:
    every = sorted({run["epsilon"] for runs in cases.values() for run in runs})
    rows = []
    for epsilon in every:
        cells = []
        for runs in cases.values():
            run = next((one for one in runs if one["epsilon"] == epsilon), None)
            cells.append("–" if run is None else _noise_cell(run))
        rows.append(f"| {epsilon:g} | {' | '.join(cells)} |")
    heads = [
        f"{DATA[runs[0]['data']['name']]}, density {runs[0]['density']:.2g}"
        for runs in cases.values()
    ]
    return table_of(f"| ε | {' | '.join(heads)} |", rows)


def _noise_cell(run: Result) -> str:
    expected = percent(run["expected_jaccard"])
    return (
        f"refused ({expected})" if "outcome" in run else f"{percent(run['jaccard'])} ({expected})"
    )


def _bound(cases: Runs) -> str:
    rows = []
    for runs in cases.values():
        for run in runs:
            data = run["data"]
            kept = run["n_kept"] / data["n_rows"]
            of_blocks = percent(run["block_jaccard"]) if run["guarantee"] == "smooth" else "–"
            rows.append(
                f"| {data['n_rows']:,}, blocks of {data['block_size']} | {run['k']} | "
                f"{run['guarantee']} | {run['entries_a_row']:.1f} | {kept:.2f} | "
                f"{run['most_kept_a_row']:.1f} | {_mean(run)} | {of_blocks} |"
            )
    head = (
        "| rows | k | promise | entries a row, expected | kept a row | the theorem's most by "
        "suppression | Jaccard | expected of the blocks themselves |"
    )
    return table_of(head, rows)


# ── learning ────────────────────────────────────────────────────────────────────────────────────

NODE_DP = "learning-node-dp"
LEARNED = {
    "learning-cluster-smooth": "cluster, smooth",
    "learning-facility-smooth": "facility uncut, smooth",
    "learning-cluster-suppression": "cluster, suppression",
    "learning-mondrian": "mondrian, suppression",
}


def _accuracy(run: Result) -> str:
    return f"{percent(run['accuracy'])} ± {100 * run['interval']:.2f}"


def _learning(cases: Runs) -> str:
    learned = {name: cases[name] for name in LEARNED if name in cases}
    rows = []
    for k in sorted({run["k"] for runs in learned.values() for run in runs}):
        cells = []
        for runs in learned.values():
            run = next((one for one in runs if one["k"] == k), None)
            cells.append(f"{_accuracy(run)} ({percent(run['jaccard'])})" if run else "–")
        rows.append(f"| k = {k} | {' | '.join(cells)} |")
    for run in cases.get("learning-baselines", []):
        rows.append(f"| {run['name']} | {_accuracy(run)} |" + " |" * (len(learned) - 1))
    return table_of(f"| | {' | '.join(LEARNED[name] for name in learned)} |", rows)


def _learning_noise(cases: Runs) -> str:
    rows = [f"| {run['epsilon']:g} | {_accuracy(run)} |" for runs in cases.values() for run in runs]
    return table_of("| ε, of a whole row | accuracy |", rows)


def _curves_of_learning(measured: Result) -> Chart:
    """Draw Figure 4: accuracy by k, with intervals."""
    cases = _cases(measured, "learning")
    every_k = [run["k"] for name in LEARNED for run in cases.get(name, [])]
    ends = (min(every_k, default=1), max(every_k, default=2))
    series = [
        Series(
            title,
            tuple((run["k"], 100 * run["accuracy"]) for run in cases.get(name, [])),
            tuple(100 * run["interval"] for run in cases.get(name, [])),
        )
        for name, title in LEARNED.items()
    ]
    lines = [(run["name"], run) for run in cases.get("learning-baselines", [])]
    noisy = cases.get(NODE_DP, [])
    lines += [(f"node DP, ε = {run['epsilon']:g}", run) for run in noisy[:1]]
    everything = [*series]
    for title, run in lines:
        everything.append(Series(title, tuple((k, 100 * run["accuracy"]) for k in ends)))
    close = [one for one in everything if not one.name.startswith("node DP")]
    panels = Panel("with node DP", tuple(everything)), Panel("without", tuple(close))
    return Chart("Accuracy by k", panels, "k", "accuracy in percent", base=2)


# ── scale and neighbours ────────────────────────────────────────────────────────────────────────


def _scale(cases: Runs) -> str:
    rows = []
    for name, runs in cases.items():
        for run in runs:
            data, given, lost = run["data"], run["parameters"], run["losses"]
            millions = data["n_rows"] / 1e6
            how = "quick" if name.startswith("quick") else "as it comes"
            rows.append(
                f"| {data['n_rows']:,} | {data['n_entries']:,} | {how}, {given['chunks']} "
                f"{'chunk' if given['chunks'] == 1 else 'chunks'}, {given['passes']} passes | "
                f"{both_times(run)} | "
                f"{run['seconds'] / millions:.1f} | {run['stages']['search'] / millions:.1f} | "
                f"{run['stages']['audit'] / millions:.1f} | "
                f"{run['peak_memory_bytes'] / 2**30:.2f} GB | {percent(lost['jaccard'])} | "
                f"{percent(lost['suppressed'])} / {percent(lost['created'])} |"
            )
    head = (
        "| rows | entries | effort | the whole run (CPU) | seconds per million rows | of that "
        "searching | of that the audit | peak memory | Jaccard | suppressed / created |"
    )
    return table_of(head, rows)


def _chunks(cases: Runs) -> str:
    rows = []
    for runs in cases.values():
        for run in runs:
            data, given, lost = run["data"], run["parameters"], run["losses"]
            repairs = {0: ", as in the paper", None: ""}.get(
                given.get("repairs"), f", repaired {given.get('repairs')} times"
            )
            millions = data["n_rows"] / 1e6
            rows.append(
                f"| {data['n_rows']:,} | `{run['method']}`{repairs} | {given['chunks']} | "
                f"{both_times(run)} | {run['cpu_seconds'] / millions:.0f} | {peak_memory(run)} | "
                f"{percent(lost['jaccard'])} | "
                f"{percent(lost['suppressed'])} / {percent(lost['created'])} |"
            )
    head = (
        "| rows | method | chunks | the whole run (CPU) | CPU seconds per million rows | "
        "peak memory | Jaccard | suppressed / created |"
    )
    return table_of(head, rows)


QUESTIONS = {"jaccard": "most alike (Jaccard)", "hamming": "sum of nearest distances (Hamming)"}


def _neighbours(cases: Runs) -> str:
    rows = []
    for runs in cases.values():
        ours = next(run for run in runs if run["way"] == "incrowd")
        for run in runs:
            name = run["way"]
            package = {"SciPy": "scipy", "scikit-learn": "scikit-learn"}.get(name)
            shown = f"{name} {run['versions'][package]}" if package else name
            each, of_ours = (1e6 * one["seconds"] / one["n_queries"] for one in (run, ours))
            rows.append(
                f"| {QUESTIONS[run['question']]} | {DATA[run['data']['name']]}, "
                f"{run['n_rows']:,} different rows | {shown} | {run['n_queries']:,} | "
                f"{run['seconds']:.3f} s | {each:,.1f} | {_ratio(each / of_ours)} |"
            )
    head = "| question | data | way | rows asked | CPU time | µs a row | against ours |"
    return table_of(head, rows)


def _ratio(ratio: float) -> str:
    return f"{ratio:,.0f}×" if ratio >= 100 else f"{ratio:.1f}×"


def _cases(measured: Result, part: str) -> Runs:
    return {name: case["runs"] for name, case in cases_of(measured, part).items()}


TABLES: dict[str, Callable[[Result], str]] = {
    "sets-jaccard": case_table("tables", _jaccard),
    "sets-changes": case_table("tables", _changes),
    "sets-times": case_table("tables", _times),
    "sets-by-k": case_table("tables", _by_k),
    "sets-paper": case_table("paper", _paper),
    "sets-most": case_table(("most", "tables"), _most),
    "sets-parameters": case_table("parameters", _parameters),
    "sets-k-epsilon": case_table("tables", _k_against_epsilon),
    "sets-density": case_table("noise", _density, begins("density")),
    "sets-epsilon": case_table("noise", _epsilon, begins("epsilon-")),
    "sets-bound": case_table("noise", _bound, begins("bound-")),
    "sets-learning": case_table("learning", _learning, lambda name: name != NODE_DP),
    "sets-learning-noise": case_table("learning", _learning_noise, begins(NODE_DP)),
    "sets-scale": case_table("scale", _scale),
    "sets-chunks": case_table("chunks", _chunks),
    "sets-neighbours": case_table("neighbours", _neighbours),
}

CHARTS: dict[str, Callable[[Result], Chart]] = {
    "sets-by-k.svg": _curves_by_k,
    "sets-epsilon.svg": _curves_of_epsilon,
    "sets-learning.svg": _curves_of_learning,
}

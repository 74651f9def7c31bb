"""Tables and drawings of the workload ``sets``, made from whatever cases were measured."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.sets.methods_page import (
    DATA,
    METHOD_DRAWINGS,
    METHOD_TABLES,
    Runs,
    mean_of,
    runs_of,
)
from benchmarks.shared.chart import Axes, Panel, Series, draw
from benchmarks.shared.table_text import Result, any_case, of_cases, percent, short_time, table_of

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
                f"{run['most_kept_a_row']:.1f} | {mean_of(run)} | {of_blocks} |"
            )
    head = (
        "| rows | k | promise | entries a row, expected | kept a row | the theorem's most by "
        "suppression | Jaccard | expected of the blocks themselves |"
    )
    return table_of(head, rows)


# ── learning ────────────────────────────────────────────────────────────────────────────────────

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


def _curves_of_learning(measured: Result) -> str:
    """Draw Figure 4: accuracy by k, with intervals."""
    cases = runs_of(measured, "learning")
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
    noisy = cases.get("learning-node-dp", [])
    lines += [(f"node DP, ε = {run['epsilon']:g}", run) for run in noisy[:1]]
    everything = [*series]
    for title, run in lines:
        everything.append(Series(title, tuple((k, 100 * run["accuracy"]) for k in ends)))
    close = [one for one in everything if not one.name.startswith("node DP")]
    panels = [Panel("with node DP", tuple(everything)), Panel("without", tuple(close))]
    return draw("Accuracy by k", panels, Axes("k", "accuracy in percent", 2))


# ── scale and neighbours ────────────────────────────────────────────────────────────────────────


def _scale(cases: Runs) -> str:
    rows = []
    for name, runs in cases.items():
        for run in runs:
            data, given = run["data"], run["method"]["parameters"]
            millions = data["n_rows"] / 1e6
            how = "quick" if name.startswith("quick") else "as it comes"
            rows.append(
                f"| {data['n_rows']:,} | {data['n_entries']:,} | {how}, {given['chunks']} "
                f"{'chunk' if given['chunks'] == 1 else 'chunks'}, {given['passes']} passes | "
                f"{short_time(run['seconds'])} ({short_time(run['cpu_seconds'])}) | "
                f"{run['seconds'] / millions:.1f} | {run['stages']['search'] / millions:.1f} | "
                f"{run['stages']['audit'] / millions:.1f} | "
                f"{run['peak_memory_bytes'] / 2**30:.2f} GB | {percent(run['jaccard'])} | "
                f"{percent(run['suppressed'])} / {percent(run['created'])} |"
            )
    head = (
        "| rows | entries | effort | the whole run (CPU) | seconds per million rows | of that "
        "searching | of that the audit | peak memory | Jaccard | suppressed / created |"
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
                f"{run['seconds']:.3f} s | {each:,.1f} | {_times(each / of_ours)} |"
            )
    head = "| question | data | way | rows asked | CPU time | µs a row | against ours |"
    return table_of(head, rows)


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}×" if ratio >= 100 else f"{ratio:.1f}×"


def _begins(word: str) -> Callable[[str], bool]:
    return lambda name: name.startswith(word)


SETS_TABLES: dict[str, Callable[[Result], str]] = {
    **METHOD_TABLES,
    "sets-density": of_cases("noise", _begins("density"), _density),
    "sets-epsilon": of_cases("noise", _begins("epsilon-"), _epsilon),
    "sets-bound": of_cases("noise", _begins("bound-"), _bound),
    "sets-learning": of_cases("learning", lambda name: name != "learning-node-dp", _learning),
    "sets-learning-noise": of_cases("learning", _begins("learning-node-dp"), _learning_noise),
    "sets-scale": of_cases("scale", any_case, _scale),
    "sets-neighbours": of_cases("neighbours", any_case, _neighbours),
}

SETS_DRAWINGS: dict[str, Callable[[Result], str]] = {
    **METHOD_DRAWINGS,
    "sets-learning.svg": _curves_of_learning,
}
"""By file name under ``docs/images``."""

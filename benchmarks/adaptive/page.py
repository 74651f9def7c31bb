"""Tables of the workload ``adaptive``, made from whatever cases were measured.

Beside ours stands what Khan et al. (2018) print: Tables II and III, on Haswell processors of 2.3
GHz.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.shared.page import (
    Result,
    Runs,
    begins,
    both_times,
    case_table,
    peak_memory,
    percent,
    search_memory,
    short_time,
    table_of,
)

UTILITY_DIFFERENCE = {"caltech36": -0.85, "reed98": -0.32}
"""Table II: utility of MCE against exact b-matching by belief propagation, in percent points."""

LARGE = {
    "adult": (90.4, "15 s"),
    "census": (87.1, "13 min"),
    "poker": (81.3, "46 min"),
    "hands": (81.3, "46 min"),
    "payments": (79.3, "6 h 11 min"),
}
"""Table III: utility in percent at the end and the least time, 32 cores, all iterations."""

FIRST_UTILITY = {"payments": 70.9}
"""Section VI: utility in percent after the first iteration, of the CMS data alone."""

WORKING_SETS = ("on the fly", "8", "32", "128")
SECONDS_BY_WORKING_SET = {"adult": (108, 18, 15, 20), "poker": (86_400, 3_060, 2_760, 3_720)}
"""Table III: seconds by entries a row in units of the largest k; 86,400 is "more than 24 h"."""

THREADS = (1, 2)
"""On how many threads the parts of Figures 4 to 6 are measured."""

PAPER_SPEEDUP = {"large": "27× on 32", "small": "does not scale beyond 16"}
"""Section VI-A on Figure 4: the larger four problems, and the four networks."""

DATA = {
    "adult": "Adult",
    "census": "census, generated",
    "poker": "poker",
    "hands": "poker, generated",
    "payments": "payments, generated",
    "caltech36": "Caltech36",
    "reed98": "Reed98",
}
COVERS = {"mce": "MCE", "lse": "LSE", "nearest": "nearest neighbours"}
SEARCHES = {
    "partition": ("attributes", "partition"),
    "partition-bounded-sweeps": ("attributes", "partition, then sweeps that put nobody over 1/k"),
    "partition-sweeps": ("attributes", "partition, then unbound sweeps"),
    "partition-as-values": ("attributes", "partition, `*` as one more value (k-anonymity)"),
    "cover": ("attributes", "cover"),
    "cover-sweeps": ("attributes", "cover, then unbound sweeps"),
    "bits-cover": ("one-hot bits", "cover"),
    "bits-cover-sweeps": ("one-hot bits", "cover, then unbound sweeps"),
}


# ── Table II ────────────────────────────────────────────────────────────────────────────────────


def _exact(cases: Runs) -> str:
    rows = []
    for name, runs in cases.items():
        covers = [run for run in runs if "steps" in run]
        first = next(run for run in runs if "bound" in run)
        bound = first["bound"]["weight"]
        data = DATA[name]
        for run in covers:
            cover = run["steps"][0][1]["cover"]
            weighed = first["covers"][cover]
            rows.append(
                f"| {data} | {COVERS[cover]} | {weighed['weight']:,} | "
                f"{weighed['weight'] / bound:.3f} | {percent(weighed['shown'])} | "
                f"{percent(run['iterations'][0]['shown'])} | {percent(run['shown'])} | "
                f"{len(run['iterations'])} | {short_time(run['seconds'])} | "
                f"{_over(run)} |"
            )
        least = first.get("least")
        if least:
            label = "least, proven" if least["is_proven"] else "least found in time"
            rows.append(
                f"| {data} | {label} | {least['weight']:,} | {least['weight'] / bound:.3f} | "
                f"{percent(least['shown'])} | – | – | – | {short_time(least['seconds'])} | – |"
            )
        rows.append(
            f"| {data} | bound of the linear program | {bound:,g} | 1 | – | – | – | – | "
            f"{short_time(first['bound']['seconds'])} | – |"
        )
    head = (
        "| network | cover | weight | over the bound | shown by it | shown after the search's "
        "first iteration | shown at the end | iterations | time | people over 1/k |"
    )
    return table_of(head, rows)


def _differences(cases: Runs) -> str:
    rows = []
    for name, runs in cases.items():
        first = next(run for run in runs if "bound" in run)
        ends = {run["steps"][0][1]["cover"]: run["shown"] for run in runs if "steps" in run}
        least = first.get("least")
        against_least = (
            f"{100 * (first['covers']['mce']['shown'] - least['shown']):+.2f}" if least else "–"
        )
        rows.append(
            f"| {DATA[name]} | {against_least} | "
            f"{100 * (ends['mce'] - ends['lse']):+.2f} | "
            f"{100 * (ends['mce'] - ends['nearest']):+.2f} | "
            f"{UTILITY_DIFFERENCE[name]:+.2f} |"
        )
    head = (
        "| points of utility | MCE against the least cover, first iteration | MCE against LSE, at "
        "the end | MCE against nearest neighbours, at the end | the paper, MCE against exact "
        "b-matching |"
    )
    return table_of(head, rows)


# ── Table III ───────────────────────────────────────────────────────────────────────────────────


def _large(cases: Runs) -> str:
    rows = []
    for runs in cases.values():
        for run in runs:
            steps = run["iterations"]
            weighted = _mean(steps[1:])
            name = run["data"]["name"]
            utility, took = LARGE[name]
            is_whole = "most_iterations" not in run["steps"][0][1]
            paper = f"{utility}, {took}" if is_whole else "–"
            if name in FIRST_UTILITY and len(steps) == 1:
                paper = f"{FIRST_UTILITY[name]} after one iteration"
            rows.append(
                f"| {DATA[name]} | {run['n_rows']:,} × {run['n_cells']} | "
                f"{percent(steps[0]['shown'])} | "
                f"{percent(run['shown'])} after {len(steps)} | {paper} | {_over(run)} | "
                f"{both_times(steps[0])} | {_both(weighted)} | {both_times(run)} | "
                f"{_per_pair(steps[0], run)} | {_per_pair(weighted, run)} | "
                f"{peak_memory(run)} |"
            )
    head = (
        "| table | rows × cells | shown, first iteration | shown at the end | the paper | people "
        "over 1/k | first iteration (CPU) | a weighted one | in all | ns a pair, first | ns a "
        "pair, weighted | peak memory |"
    )
    return table_of(head, rows)


# ── memory ──────────────────────────────────────────────────────────────────────────────────────


def _growth(cases: Runs) -> str:
    rows = []
    for runs in cases.values():
        for run in runs:
            own = run["peak_memory_bytes"] - run["base_memory_bytes"]
            rows.append(
                f"| {run['n_rows']:,} | {both_times(run)} | "
                f"{_per_pair(run, run)} | {peak_memory(run)} | "
                f"{search_memory(run)} | {own / run['n_rows']:,.0f} |"
            )
    head = (
        "| rows | time (CPU) | ns a pair | peak memory | of that by the search | bytes a row by "
        "the search |"
    )
    return table_of(head, rows)


def _plain(cases: Runs) -> str:
    rows = []
    for runs in cases.values():
        ours = next(run for run in runs if run["way"] == "incrowd")
        for run in runs:
            name = f"{run['way']} {run['version']}" if run.get("version") else run["way"]
            per_pair, of_ours = (1e9 * one["seconds"] / one["n_pairs"] for one in (run, ours))
            rows.append(
                f"| {name} | {run['n_pairs']:,} | {run['seconds']:.2f} s | {per_pair:.2f} | "
                f"{per_pair / of_ours:.1f}× |"
            )
    return table_of("| nearest rows by | pairs | CPU time | ns a pair | against ours |", rows)


def _working_sets(cases: Runs) -> str:
    rows = []
    for runs in cases.values():
        for run in runs:
            place = WORKING_SETS.index(run["working_set"])
            paper = SECONDS_BY_WORKING_SET[run["data"]["name"]][place]
            rows.append(
                f"| {DATA[run['data']['name']]} | {run['n_rows']:,} | {_set_name(run)} | "
                f"{both_times(run)} | {search_memory(run)} | "
                f"{'more than 24 h' if paper == 86_400 else short_time(paper)} |"
            )
    head = (
        "| table | rows | entries a row | time (CPU) | memory of the search | the paper, all rows, "
        "32 cores, to convergence |"
    )
    return table_of(head, rows)


def _set_name(run: Result) -> str:
    name = run["working_set"]
    return name if name == "on the fly" else f"{name} × the largest k"


# ── searches ────────────────────────────────────────────────────────────────────────────────────


def _searches(cases: Runs) -> str:
    rows = []
    for name, runs in cases.items():
        cells, search = SEARCHES[name]
        for run in runs:
            first = percent(run["iterations"][0]["shown"]) if run["iterations"] else "–"
            rows.append(
                f"| {cells} | {search} | {first} | {percent(run['shown'])} | "
                f"{both_times(run)} | {peak_memory(run)} | "
                f"{_summed(run)} | {_over(run)} | {_worst(run)} |"
            )
    head = (
        "| masks | search | shown, first iteration | shown at the end | time (CPU) | peak memory | "
        "summed belief, of summed 1/k | people over 1/k | worst belief × k |"
    )
    return table_of(head, rows)


# ── Figures 4 to 6 ──────────────────────────────────────────────────────────────────────────────


def _threads(cases: Runs) -> str:
    rows = []
    for runs in cases.values():
        name = runs[0]["data"]["name"]
        one, two = (_best(runs, threads) for threads in THREADS)
        paper = PAPER_SPEEDUP["small" if name in UTILITY_DIFFERENCE else "large"]
        rows.append(
            f"| {DATA[name]} | {one['n_rows']:,} × {one['n_cells']} | {len(one['iterations'])} | "
            f"{both_times(one)} | {both_times(two)} | {one['load']:g}, {two['load']:g} | "
            f"{short_time(_cover_seconds(one))} | {short_time(_cover_seconds(two))} | {paper} |"
        )
    head = (
        "| table | rows × cells | iterations | 1 thread (CPU) | 2 threads (CPU) | load of the "
        "machine | cover, 1 thread | cover, 2 threads | the paper's speedup, threads |"
    )
    return table_of(head, rows)


def _spark(cases: Runs) -> str:
    rows = []
    for runs in cases.values():
        one, two = (_best(runs, threads) for threads in THREADS)
        for run in (one, two):
            later = run["iterations"][1:]
            mean = _mean(later)
            per_iteration = "–" if mean is None else short_time(mean["seconds"])
            rows.append(
                f"| {DATA[run['data']['name']]} | {run['n_rows']:,} | {run['threads']} | "
                f"{short_time(run['iterations'][0]['seconds'])} | {per_iteration} | "
                f"{short_time(_cover_seconds(run))} | {run['load']:g} |"
            )
    head = (
        "| table | rows | workers | first iteration, with their start | a further one | cover on "
        "the driver, all iterations | load of the machine |"
    )
    return table_of(head, rows)


def _rows(cases: Runs) -> str:
    rows = []
    for runs in cases.values():
        one, two = (_best(runs, threads) for threads in THREADS)
        n_pairs = one["n_rows"] * (one["n_rows"] - 1)
        rows.append(
            f"| {one['n_rows']:,} | {both_times(one)} | {both_times(two)} | "
            f"{one['load']:g}, {two['load']:g} | {1e9 * one['cpu_seconds'] / n_pairs:.2f} | "
            f"{1e9 * two['cpu_seconds'] / n_pairs:.2f} |"
        )
    head = (
        "| rows | 1 thread (CPU) | 2 threads (CPU) | load of the machine | CPU ns a pair, 1 thread "
        "| CPU ns a pair, 2 threads |"
    )
    return table_of(head, rows)


def _best(runs: list[Result], threads: int) -> Result:
    """Return the run on so many threads that took the least time on the clock."""
    chosen = [run for run in runs if run["threads"] == threads]
    return min(chosen, key=lambda run: float(run["seconds"]))


def _cover_seconds(run: Result) -> float:
    return float(run["figures"]["seconds_cover"])


# ── cells ───────────────────────────────────────────────────────────────────────────────────────


def _over(run: Result) -> str:
    believed = run.get("posterior")
    if believed is None:
        return "not measured"
    if "outcome" in believed:
        return "could not check"
    n_over, n_people = believed["n_over"], believed.get("n_sampled", run["n_rows"])
    share = f" ({100 * n_over / n_people:.1f}%)" if n_over else ""
    sampled = f" of {n_people:,} sampled" if "n_sampled" in believed else ""
    return f"{n_over:,}{sampled}{share}"


def _summed(run: Result) -> str:
    believed = run["posterior"]
    if "outcome" in believed:
        return "–"
    return f"{believed['sum_p']:,.0f} of {believed['sum_1_over_k']:,.0f}"


def _worst(run: Result) -> str:
    believed = run["posterior"]
    return "–" if "outcome" in believed else f"{believed['worst_p_times_k']:.2f}"


def _both(taken: Result | None) -> str:
    return "–" if taken is None else both_times(taken)


def _mean(steps: list[Result]) -> Result | None:
    """Return what a step takes on average."""
    if not steps:
        return None
    times = ("seconds", "cpu_seconds")
    return {name: sum(step[name] for step in steps) / len(steps) for name in times}


def _per_pair(taken: Result | None, run: Result) -> str:
    """Return the cores' time for each row against each other one, in either direction."""
    if taken is None:
        return "–"
    return f"{1e9 * taken['cpu_seconds'] / (run['n_rows'] * (run['n_rows'] - 1)):.3f}"


TABLES: dict[str, Callable[[Result], str]] = {
    "adaptive-exact": case_table("exact", _exact),
    "adaptive-differences": case_table("exact", _differences),
    "adaptive-large": case_table("large", _large),
    "adaptive-growth": case_table("memory", _growth, begins("growth-")),
    "adaptive-plain": case_table("memory", _plain, begins("plain")),
    "adaptive-working-sets": case_table("memory", _working_sets, begins("working-set")),
    "adaptive-searches": case_table("searches", _searches),
    "adaptive-threads": case_table("scaling", _threads, begins("threads-")),
    "adaptive-spark": case_table("scaling", _spark, begins("spark")),
    "adaptive-rows": case_table("scaling", _rows, begins("rows-")),
}

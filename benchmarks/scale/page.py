"""Tables of the workload ``scale``, made from whatever cases were measured.

Beside ours stands what the papers say of running on many processors. Their figures are drawings:
what stands here is told in their texts and tables. The speed-ups of greedy's paper are in
``greedy/paper.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from benchmarks.greedy.paper import (
    ADULT_MINUTES,
    ADULT_SPEED_UP,
    VOTERS_MINUTES,
    VOTERS_SPEED_UP,
    K,
)
from benchmarks.scale.model import MODEL_TABLES
from benchmarks.shared.page import (
    Result,
    Runs,
    case_table,
    peak_memory,
    percent,
    short_time,
    table_of,
)

GREEDY_COMMUNICATION = (
    ("`pgpkaa`", "O(p)", "falls with processors; 5 s for 32 of them and k = 100, Adult"),
    ("`pgkaa`", "O(np)", "grows with processors, two rounds for every merge; 82 s for the same"),
    ("`h-pgpkaa`", "O(np / log² p)", "falls with the number of blocks"),
)
"""Theorems 2 to 4, and Figures 7 and 10 as told in the text: rounds, and how long they take."""

ADAPTIVE = (
    ("Figure 4", "one node of 32 cores, strong", "27× on 32 threads for the larger problems"),
    ("Figure 5", "MPI and threads, strong", "scales to 8,192 cores; Adult to 1,024"),
    ("Figure 6", "64 to 4,096 cores, weak", "curves nearly level; no figures are printed"),
)
"""Khan et al. (2018), section VI: Haswell processors of 2.3 GHz, 32 cores and 128 GB a node."""

RULES = (
    (
        "Figure 2a",
        "4X, by the number of nodes (13, one the master)",
        "time falls with nodes; no figures are printed",
    ),
    ("Figure 2b", "the same", "near linear on few nodes, then less: one reducer splits"),
)
"""Memon and Shao (2015), section 5: Hadoop on nodes of 2 GB and 100 Mbit/s."""

PLACE = {
    "memory": "in memory",
    "disk": "on disk",
    "spark-local": "Spark, `local[2]`",
    "one-worker": "Spark, one worker",
    "two-workers": "Spark, two workers",
}
TOOK = "time | CPU | CPU of others | peak memory | shuffled"


def _place(run: Result) -> str:
    bound = f", `--memory {run['memory']}`" if "memory" in run else ""
    return PLACE[run["place"]] + bound


def _took(run: Result) -> str:
    others = short_time(run["others_cpu_seconds"]) if "others_cpu_seconds" in run else "not known"
    cells = [short_time(run["seconds"]), short_time(run["cpu_seconds"]), others, peak_memory(run)]
    return " | ".join([*cells, _shuffled(run)])


def _shuffled(run: Result) -> str:
    return f"{run['shuffle_bytes'] / 2**20:.1f} MB" if "shuffle_bytes" in run else "–"


def _every(cases: Runs) -> list[Result]:
    return [run for runs in cases.values() for run in runs]


def _same(runs: Iterable[Result], run: Result) -> str:
    """Return whether releases that are folders, of the same rows and search, are the same bytes."""
    hashes = {
        one["release_sha256"]
        for one in runs
        if one["place"] != "memory"
        and all(one[key] == run[key] for key in ("n_rows", "method", "partitions"))
    }
    if run["place"] == "memory":
        return "a file"
    return "yes" if len(hashes) == 1 else "**no**"


def _voters(cases: Runs) -> str:
    runs = _every(cases)
    rows = []
    for run in runs:
        whole = next(
            (
                one
                for one in runs
                if one["partitions"] == 1
                and all(one[key] == run[key] for key in ("n_rows", "method"))
            ),
            None,
        )
        against = "–"
        if whole is not None and whole["partitions"] != run["partitions"]:
            against = f"{100 * (run['losses']['nllm'] - whole['losses']['nllm']):+.3f}"
        rows.append(
            f"| {run['n_rows']:,} | {run['data']['n_distinct']:,} | {_place(run)} | "
            f"{run['partitions']} | {_took(run)} | {percent(run['losses']['nllm'])} | {against} | "
            f"{_same(runs, run)} |"
        )
    head = f"| rows | distinct | place | parts | {TOOK} | loss (`nllm`) | against one part |"
    return table_of(f"{head} same bytes |", rows)


def _stages(cases: Runs) -> str:
    rows = []
    for run in _every(cases):
        start = run["seconds"] - sum(run["stages"].values())
        cells = [short_time(seconds) for seconds in run["stages"].values()]
        rows.append(f"| {_place(run)} | {run['partitions']} | {short_time(start)} | ")
        rows[-1] += " | ".join(cells) + " |"
    names = " | ".join(next(iter(cases.values()))[0]["stages"])
    return table_of(f"| place | parts | start and end | {names} |", rows)


def _workers(cases: Runs) -> str:
    runs = [run for run in _every(cases) if "worker" in run["place"]]
    one = next((run for run in runs if run["place"] == "one-worker"), None)
    rows = []
    for run in sorted(runs, key=lambda run: (run["n_rows"], run["n_cores"])):
        speed_up = work = "–"
        if one is not None and run["n_rows"] == one["n_rows"]:
            speed_up = f"{_within(one) / _within(run):.2f}×"
        if one is not None and run["n_rows"] / run["n_cores"] == one["n_rows"]:
            work = f"{_within(one) / _within(run):.2f}"
        rows.append(
            f"| {run['n_rows']:,} | {run['n_cores']} | {_took(run)} | "
            f"{short_time(_within(run))} | {short_time(run['task_seconds'])} | {speed_up} | "
            f"{work} |"
        )
    head = f"| rows | workers | {TOOK} | of that without start | all tasks | strong: speed-up |"
    return table_of(f"{head} weak: efficiency |", rows)


def _within(run: Result) -> float:
    """Return the time of a run's stages, without the start of Python and of Spark."""
    return float(sum(run["stages"].values()))


def _methods(cases: Runs) -> str:
    runs = _every(cases)
    rows = [
        f"| `{run['method']}` | {_place(run)} | {run['partitions'] or 'its own'} | {_took(run)} | "
        f"{percent(run['losses']['loss'])} | {run['n_groups']:,} | {_same(runs, run)} |"
        for run in runs
    ]
    return table_of(f"| method | place | parts | {TOOK} | loss | groups | same bytes |", rows)


def _lists(cases: Runs) -> str:
    runs = _every(cases)
    rows = [
        f"| {run['n_rows']:,} | {_place(run)} | {_took(run)} | "
        f"{percent(run['losses']['jaccard'])} | {_equal(runs, run)} |"
        for run in runs
    ]
    return table_of(f"| lists | place | {TOOK} | similarity | same bytes |", rows)


def _equal(runs: list[Result], run: Result) -> str:
    """Return whether files of the same data are the same bytes as the first of them."""
    first = next(one for one in runs if one["n_rows"] == run["n_rows"])
    return "yes" if run["release_sha256"] == first["release_sha256"] else "**no**"


def _adaptive(cases: Runs) -> str:
    runs = _every(cases)
    rows = [
        f"| {run['n_rows']:,} × {len(run['data']['columns'])} | {_place(run)} | {_took(run)} | "
        f"{short_time(run['stages']['search'])} | {_equal(runs, run)} |"
        for run in runs
    ]
    return table_of(f"| payments | place | {TOOK} | of that the search | same bytes |", rows)


def _rules(cases: Runs) -> str:
    runs = _every(cases)
    rows = [
        f"| {run['n_rows']:,} | {_place(run)} | {_counted(name)} | {_took(run)} | "
        f"{short_time(run['stages']['search'])} | {_equal(runs, run)} |"
        for name, (run, *_) in cases.items()
    ]
    head = f"| baskets | place | counted | {TOOK} | of that the search | same bytes |"
    return table_of(head, rows)


SHORTEST = 1e-3
"""Shorter times are not told apart."""

SEARCH = {
    "mondrian": "`mondrian`, voters, k = 5",
    "mondrian-l": "`mondrian`, voters, k = 5, l = 2",
    "mondrian-lists": "`mondrian`, lists, k = 8",
    "rules": "`rbat`, baskets, rules",
    "km": "`rbat`, baskets, kᵐ, m = 2",
}


def _threads(cases: Runs) -> str:
    rows = []
    for one, *others in cases.values():
        for run in others:
            speed_up = one["seconds"] / max(run["seconds"], SHORTEST)
            reachable = one["longest"] / max(run["longest"], SHORTEST)
            same = "yes" if run["sha256"] == one["sha256"] else "**no**"
            rows.append(
                f"| {SEARCH[run['search']]} | {run['n_rows']:,} | {short_time(one['seconds'])} | "
                f"{short_time(one['cpu'])} | {short_time(run['seconds'])} | "
                f"{short_time(run['cpu'])} | {speed_up:.2f}× | {reachable:.2f}× | {same} |"
            )
    head = "| search | rows | one thread | CPU | two threads | CPU | speed-up | reachable |"
    return table_of(f"{head} same result |", rows)


def _counted(name: str) -> str:
    return "in rounds, on the engine" if "-engine-" in name else "by the driver"


def _papers_greedy(cases: Runs) -> str:
    place = K.index(5)
    rows = []
    for key, speed_ups in ADULT_SPEED_UP.items():
        if key[1] in (2, 32):
            rows.append(
                f"| Table II, Adult, 30,162 rows | `{key[0]}`, {key[1]} | "
                f"{ADULT_MINUTES[key][place]:.2f} min | {speed_ups[place]:.2f}× |"
            )
    for key, speed_ups in VOTERS_SPEED_UP.items():
        minutes = VOTERS_MINUTES[1_000_000][key][place]
        rows.append(
            f"| Table IV, 1,000,000 voters | `{key[0]}`, {key[1]} | {minutes:.1f} min | "
            f"{speed_ups[place]:.2f}× |"
        )
    runs = {run["place"]: run for run in _every(cases) if run["n_rows"] == _most_of_one(cases)}
    one = runs.get("one-worker")
    for name in ("one-worker", "two-workers"):
        if name in runs and one is not None:
            run = runs[name]
            rows.append(
                f"| ours, {run['n_rows']:,} generated voters, whole run | {PLACE[name]}, "
                f"{run['partitions']} parts | {short_time(run['seconds'])} | "
                f"{one['seconds'] / run['seconds']:.2f}× |"
            )
    return table_of("| data, k = 5 | algorithm and processors | time | speed-up |", rows)


def _most_of_one(cases: Runs) -> int:
    """Return the number of rows that one worker was measured on."""
    return max((r["n_rows"] for r in _every(cases) if r["place"] == "one-worker"), default=0)


def _papers_rest(_: Result) -> str:
    lines = [("adaptive", *line) for line in ADAPTIVE] + [("rules", *line) for line in RULES]
    for name, rounds, text in GREEDY_COMMUNICATION:
        lines.append(("greedy", "Figures 7, 10", f"{name}: {rounds} rounds", text))
    return table_of(
        "| paper | where | what was run | what it says |",
        ("| " + " | ".join(line) + " |" for line in lines),
    )


TABLES: dict[str, Callable[[Result], str]] = {
    "scale-voters": case_table(("places", "many", "most"), _voters),
    "scale-stages": case_table("places", _stages),
    "scale-workers": case_table("workers", _workers),
    "scale-methods": case_table("yardsticks", _methods),
    "scale-lists": case_table("lists", _lists),
    "scale-adaptive": case_table("adaptive", _adaptive),
    "scale-rules": case_table("rules", _rules),
    "scale-threads": case_table("threads", _threads),
    "scale-papers-greedy": case_table("workers", _papers_greedy),
    "scale-papers-rest": _papers_rest,
    **MODEL_TABLES,
}

"""The workload ``compare``: the front of three methods on Adult, by ``incrowd compare``."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

from benchmarks.greedy.data import ADULT, ADULT_EIGHT, ADULT_HIERARCHIES
from benchmarks.shared.cases import Measured, Task, Workload
from benchmarks.shared.charts import Chart, Panel, Series
from benchmarks.shared.page import cases_of, peak_memory, percent, short_time, table_of
from benchmarks.shared.provenance import file_sha256, require_file
from incrowd.comparing import grid
from incrowd.comparing.comparison import compare
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.job.job import Job
from incrowd.methods.table import METHODS
from incrowd.tables.schema import Schema

PREDICTED = "salary-class"


@dataclass(frozen=True)
class Sizes:
    """The grid that is compared."""

    k: tuple[int, ...] = (2, 5, 10, 50)
    methods: tuple[str, ...] = ("cluster", "greedy", "mondrian")


FULL = Sizes()
SMALL = Sizes(k=(50,), methods=("mondrian",))


def adult(sizes: Sizes) -> dict[str, Task]:
    """Plan Adult."""
    return {"adult": partial(measure_front, sizes)}


def measure_front(sizes: Sizes, folder: Path) -> list[Measured]:
    """Compare releases of Adult; ``folder`` holds the data sets."""
    data = require_file(folder, ADULT)
    hierarchies = {
        name: HierarchySpec("file", path=require_file(folder, f"{ADULT_HIERARCHIES}/{name}.csv"))
        for name in ADULT_EIGHT
    }
    job = Job(
        schema=Schema(ADULT_EIGHT, sensitive=[PREDICTED]),
        guarantee=KAnonymity(sizes.k[0]),
        method=METHODS[sizes.methods[0]](),
        hierarchies=hierarchies,
        data=data,
    )
    with tempfile.TemporaryDirectory() as scratch:
        kept = Path(scratch) / "compare.json"
        found = compare(job, sizes.k, sizes.methods, predict=PREDICTED, output=kept)
    comparison = found.to_dict()
    del comparison["fingerprint"]
    return [
        {
            "data": {"name": "adult", "source": ADULT, "sha256": file_sha256(data)},
            "versions": {name: version(name) for name in ("scikit-learn", "scipy")},
            "comparison": comparison,
        }
    ]


# ── the docs ────────────────────────────────────────────────────────────────────────────────────


def _comparison(measured: Measured) -> Measured:
    (run,) = cases_of(measured, "adult")["adult"]["runs"]
    comparison: Measured = run["comparison"]
    return comparison


def _table(measured: Measured) -> str:
    comparison = _comparison(measured)
    best = comparison["recommended"]["key"]
    rows = []
    for point in comparison["points"]:
        queries, learning = point["utility"]["queries"], point["utility"]["learning"]
        mark = "front" if point["key"] in comparison["front"] else ""
        mark = "**recommended**" if point["key"] == best else mark
        rows.append(
            f"| `{point['point']['method']}` | {point['point']['k']} | "
            f"{percent(point['losses']['loss'])} | {percent(queries['are'])} | "
            f"{percent(learning['accuracy'])} | {short_time(point['seconds'])} | "
            f"{short_time(point['cpu_seconds'])} | {peak_memory(point)} | {mark} |"
        )
    head = "| method | k | loss | ARE | accuracy | time | processor time | peak memory | |"
    first = comparison["points"][0]["utility"]
    learning, queries = first["learning"], first["queries"]
    case = cases_of(measured, "adult")["adult"]
    where = f"{case['machine']['cores']} cores, commit {case['commit'] or 'unknown'}"
    notes = (
        f"(loss, ARE and accuracy in percent; {queries['n_queries']:,} count queries of "
        f"{queries['n_predicates']} predicates and a sensitive value, errors held against at least "
        f"{queries['bound']:.0f} rows; {learning['column']} predicted by {learning['best_model']} "
        f"for {learning['n_tested']:,} held-back rows, after training on the original "
        f"{percent(learning['accuracy_original'])}, by guessing the most common value "
        f"{percent(learning['baseline']['accuracy'])}; processor time is that of all threads, "
        f"which other work on the machine hardly changes; {where})"
    )
    return f"{table_of(head, rows)}\n\n{notes}"


def _reason(measured: Measured) -> str:
    """Return what each k costs and which point is recommended, in the words of the command."""
    points = [
        grid.Measured(
            one["point"]["method"], one["point"]["k"], one["losses"]["loss"], one["seconds"]
        )
        for one in _comparison(measured)["points"]
    ]
    choice = grid.recommend(points)
    assert choice is not None
    return f"> {', '.join(grid.describe_costs(points))}. Recommended: {choice.reason}"


def _against_k(measured: Measured) -> Chart:
    panels = (
        _panel(measured, "loss (percent)", lambda one: one["losses"]["loss"]),
        _panel(
            measured,
            "error of count queries (percent)",
            lambda one: one["utility"]["queries"]["are"],
        ),
    )
    return Chart("Adult: loss and error against k", panels, "k", "percent", base=2)


def _panel(measured: Measured, title: str, share: Callable[[Measured], float]) -> Panel:
    found: dict[str, list[tuple[float, float]]] = {}
    for one in _comparison(measured)["points"]:
        point = (float(one["point"]["k"]), 100 * share(one))
        found.setdefault(one["point"]["method"], []).append(point)
    return Panel(title, tuple(Series(name, tuple(points)) for name, points in found.items()))


def _against_time(measured: Measured) -> Chart:
    points = _comparison(measured)["points"]
    panels = []
    for k in dict.fromkeys(point["point"]["k"] for point in points):
        series = [
            Series(one["point"]["method"], ((one["cpu_seconds"], 100 * one["losses"]["loss"]),))
            for one in points
            if one["point"]["k"] == k
        ]
        panels.append(Panel(f"k = {k}", tuple(series)))
    return Chart("Adult: loss against processor time", tuple(panels), "processor seconds")


WORKLOAD = Workload(
    "compare",
    {"adult": adult},
    FULL,
    SMALL,
    {"compare-adult": _table, "compare-reason": _reason},
    {"compare-adult-k.svg": _against_k, "compare-adult-time.svg": _against_time},
)

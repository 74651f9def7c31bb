"""The table and the drawings of the workload ``compare``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.shared.chart import Axes, Panel, Series, draw
from benchmarks.shared.table_text import peak_memory, percent, short_time, table_of

Result = dict[str, Any]


def _table(measured: Result) -> str:
    comparison = measured["comparison"]
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
    where = f"{measured['machine']['cores']} cores, commit {measured['commit'] or 'unknown'}"
    said = (
        f"(loss, ARE and accuracy in percent; {queries['n_queries']:,} count queries of "
        f"{queries['n_predicates']} predicates and a sensitive value, errors held against at least "
        f"{queries['bound']:.0f} rows; {learning['column']} predicted by {learning['best_model']} "
        f"for {learning['n_tested']:,} held-back rows, after training on the original "
        f"{percent(learning['accuracy_original'])}, by guessing the most common value "
        f"{percent(learning['baseline']['accuracy'])}; processor time is that of all threads, "
        f"which other work on the machine hardly changes; {where})"
    )
    return f"{table_of(head, rows)}\n\n{said}"


def _reason(measured: Result) -> str:
    return f"> recommended: {measured['comparison']['recommended']['reason']}"


def _against_k(measured: Result) -> str:
    panels = [
        _panel(measured, "loss (percent)", _k, lambda one: 100 * one["losses"]["loss"]),
        _panel(
            measured,
            "error of count queries (percent)",
            _k,
            lambda one: 100 * one["utility"]["queries"]["are"],
        ),
    ]
    return draw("Adult: loss and error against k", panels, Axes("k", "percent", base=2))


def _against_time(measured: Result) -> str:
    points = measured["comparison"]["points"]
    panels = []
    for k in dict.fromkeys(point["point"]["k"] for point in points):
        series = [
            Series(one["point"]["method"], ((one["cpu_seconds"], 100 * one["losses"]["loss"]),))
            for one in points
            if one["point"]["k"] == k
        ]
        panels.append(Panel(f"k = {k}", tuple(series)))
    axes = Axes("processor seconds", "loss in percent")
    return draw("Adult: loss against processor time", panels, axes)


def _k(point: Result) -> float:
    return float(point["point"]["k"])


def _panel(
    measured: Result,
    title: str,
    across: Callable[[Result], float],
    up: Callable[[Result], float],
) -> Panel:
    found: dict[str, list[tuple[float, float]]] = {}
    for point in measured["comparison"]["points"]:
        found.setdefault(point["point"]["method"], []).append((across(point), up(point)))
    return Panel(title, tuple(Series(name, tuple(points)) for name, points in found.items()))


COMPARE_TABLES = {"compare-adult": _table, "compare-reason": _reason}
COMPARE_DRAWINGS = {
    "compare-adult-k.svg": _against_k,
    "compare-adult-time.svg": _against_time,
}

"""All workloads, and the docs made from their results.

A page marks the place of a table by ``<!-- table NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks import compare, tables
from benchmarks.adaptive import workload as adaptive
from benchmarks.greedy import workload as greedy
from benchmarks.rules import workload as rules
from benchmarks.scale import workload as scale
from benchmarks.sets import workload as sets
from benchmarks.shared.charts import Chart
from benchmarks.shared.page import NOT_MEASURED
from benchmarks.stages import workload as stages
from benchmarks.start import workload as start

WORKLOADS = {
    module.WORKLOAD.name: module.WORKLOAD
    for module in (tables, compare, greedy, adaptive, sets, rules, scale, start, stages)
}

Results = dict[str, dict[str, Any]]
"""The results of each workload that was measured."""


def load_results(folder: Path) -> Results:
    """Read all results that are there."""
    return {path.stem: json.loads(path.read_text("utf-8")) for path in folder.glob("*.json")}


def fill(page: str, results: Results) -> str:
    """Return a page with every marked table made anew."""
    makers = {
        name: (workload.name, make)
        for workload in WORKLOADS.values()
        for name, make in workload.tables.items()
    }

    def table(match: re.Match[str]) -> str:
        workload, make = makers[match[1]]
        made = make(results[workload]) if workload in results else NOT_MEASURED
        return f"<!-- table {match[1]} -->\n{made}\n<!-- end -->"

    return re.sub(r"<!-- table ([\w-]+) -->\n.*?<!-- end -->", table, page, flags=re.S)


def charts_of(results: Results) -> dict[str, Chart]:
    """Return the charts that have points, by file name under ``docs/images``."""
    charts = {
        name: make(results[workload.name])
        for workload in WORKLOADS.values()
        if workload.name in results
        for name, make in workload.charts.items()
    }
    return {name: chart for name, chart in charts.items() if not chart.is_empty}


def update_docs(docs: Path, results: Results) -> None:
    """Make the marked tables and the charts of the docs and the README anew, where they differ."""
    for page in [*docs.parent.glob("README.md"), *sorted(docs.rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        page.write_text(fill(text, results), encoding="utf-8")
    for name, chart in charts_of(results).items():
        path = docs / "images" / name
        if not path.exists() or chart.digest not in path.read_text(encoding="utf-8"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(chart.svg(), encoding="utf-8")

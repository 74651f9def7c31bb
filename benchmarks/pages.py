"""Tables of the docs, made from results: nothing in them is typed by hand.

A page marks the place of a table by ``<!-- table NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from benchmarks.adaptive.page import ADAPTIVE_TABLES
from benchmarks.compare.page import COMPARE_DRAWINGS, COMPARE_TABLES
from benchmarks.greedy.page import GREEDY_DRAWINGS, GREEDY_TABLES
from benchmarks.greedy.paper import ADULT_LOSS, GKAA, PGPKAA, K
from benchmarks.rules.page import RULES_DRAWINGS, RULES_TABLES
from benchmarks.scale.page import SCALE_TABLES
from benchmarks.sets.page import SETS_DRAWINGS, SETS_TABLES


def fill(page: str, results: dict[str, dict[str, Any]]) -> str:
    """Return a page with every marked table made anew from the results by workload."""

    def table(match: re.Match[str]) -> str:
        workload, make = TABLES[match[1]]
        return f"<!-- table {match[1]} -->\n{make(results[workload])}\n<!-- end -->"

    return re.sub(r"<!-- table ([\w-]+) -->\n.*?<!-- end -->", table, page, flags=re.S)


def drawings(results: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Return every drawing of workloads that were measured, by its file's name in ``images``."""
    return {
        name: make(results[workload])
        for name, (workload, make) in DRAWINGS.items()
        if workload in results
    }


def _greedy_loss(measured: dict[str, Any]) -> str:
    lines = [
        "| k | one part | 32 parts | the paper, one part | the paper, 32 parts | one part takes |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for place, k in enumerate(K):
        one, many = (ADULT_LOSS[key][place] for key in ((GKAA, 1), (PGPKAA, 32)))
        alone = _find(measured, "greedy", k, partitions=1, repair="no")
        parted = _find(measured, "greedy", k, partitions=32, repair="no")
        lines.append(
            f"| {k} | {_percent(alone, 'nllm')} | {_percent(parted, 'nllm')} | {one:.2f} | "
            f"{many:.2f} | {alone['seconds']:.1f} s, {_memory(alone)} |"
        )
    return "\n".join(lines)


def _reorganize(measured: dict[str, Any]) -> str:
    lines = ["| | k = 2 | k = 10 | k = 100 |", "| --- | --- | --- | --- |"]
    for name in ("levels-first", "values-first", "none"):
        found = [
            _find(measured, "greedy", k, partitions=8, repair="no", reorganize=name)
            for k in (2, 10, 100)
        ]
        lines.append(f"| `{name}` | " + " | ".join(_percent(one, "nllm") for one in found) + " |")
    return "\n".join(lines)


def _mondrian_loss(measured: dict[str, Any]) -> str:
    lines = ["| k | strict | relaxed | strict takes |", "| --- | --- | --- | --- |"]
    for k in (2, 5, 10, 100):
        strict = _find(measured, "mondrian", k, strict=True)
        relaxed = _find(measured, "mondrian", k, strict=False)
        lines.append(
            f"| {k} | {_percent(strict, 'loss')} | {_percent(relaxed, 'loss')} | "
            f"{strict['seconds']:.2f} s, {_memory(strict)} |"
        )
    return "\n".join(lines)


def _cluster_loss(measured: dict[str, Any]) -> str:
    lines = [
        "| k | `cluster` | `greedy --metric loss` | `mondrian` | `cluster` takes |",
        "| --- | --- | --- | --- | --- |",
    ]
    for k in (2, 5, 10, 100):
        cluster = _find(measured, "cluster", k)
        greedy = _find(measured, "greedy", k, metric="loss")
        mondrian = _find(measured, "mondrian", k, strict=True)
        shown = " | ".join(_percent(one, "loss") for one in (cluster, greedy, mondrian))
        lines.append(f"| {k} | {shown} | {cluster['seconds']:.1f} s, {_memory(cluster)} |")
    return "\n".join(lines)


def _find(measured: dict[str, Any], method: str, k: int, **settings: Any) -> dict[str, Any]:
    for result in measured["results"]:
        if (result["method"], result["k"], result["settings"]) == (method, k, settings):
            found: dict[str, Any] = result
            return found
    raise KeyError(f"{method}, k = {k}, {settings} was not measured")


def _percent(result: dict[str, Any], loss: str) -> str:
    return f"{100 * result['losses'][loss]:.2f}"


def _memory(result: dict[str, Any]) -> str:
    return f"{result['peak_memory_bytes'] / 2**20:.0f} MB"


TABLES: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "greedy-loss": ("tables", _greedy_loss),
    "greedy-reorganize": ("tables", _reorganize),
    "mondrian-loss": ("tables", _mondrian_loss),
    "cluster-loss": ("tables", _cluster_loss),
    **{name: ("greedy", make) for name, make in GREEDY_TABLES.items()},
    **{name: ("adaptive", make) for name, make in ADAPTIVE_TABLES.items()},
    **{name: ("sets", make) for name, make in SETS_TABLES.items()},
    **{name: ("rules", make) for name, make in RULES_TABLES.items()},
    **{name: ("scale", make) for name, make in SCALE_TABLES.items()},
    **{name: ("compare", make) for name, make in COMPARE_TABLES.items()},
}

DRAWINGS: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    **{name: ("greedy", make) for name, make in GREEDY_DRAWINGS.items()},
    **{name: ("sets", make) for name, make in SETS_DRAWINGS.items()},
    **{name: ("rules", make) for name, make in RULES_DRAWINGS.items()},
    **{name: ("compare", make) for name, make in COMPARE_DRAWINGS.items()},
}

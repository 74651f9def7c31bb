"""Covers of a small table against the least one: weight and utility of the first iteration."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.adaptive.data import Wished
from benchmarks.adaptive.exact_cover import (
    CompleteGraph,
    bound,
    masks_of_edges,
    optimum,
    require_cover,
)
from benchmarks.adaptive.runs import measured_cases
from benchmarks.adaptive.sizes import AdaptiveSizes

if TYPE_CHECKING:
    from incrowd.methods.adaptive.search import Problem

COVERS = ("mce", "lse", "nearest")


def exact_case(wished: Wished, sizes: AdaptiveSizes) -> Callable[[Path], list[dict[str, Any]]]:
    """Return the task that measures every cover to convergence, and the least first cover."""

    def task(folder: Path) -> list[dict[str, Any]]:
        table = wished.record(folder)
        cases = [
            {"steps": [["cover", {"cover": cover}]], "threads": 1, "is_audited": True}
            for cover in COVERS
        ]
        runs = measured_cases(wished, cases, folder, lambda: None)
        first = first_covers(wished.problem(folder), sizes.optimum_seconds)
        return [*({"table": table, **one} for one in runs), {"table": table, **first}]

    return task


def first_covers(problem: Problem, seconds: float) -> dict[str, Any]:
    """Weigh the covers of the complete graph of rows, and look for the lightest there is.

    The weight of an edge is the number of attributes in which its rows differ; Algorithm 1's is
    four times that in the first iteration, on bits.
    """
    from incrowd import covers

    graph = CompleteGraph.of_rows(problem.codes, problem.k - 1)
    found: dict[str, Any] = {}
    for name in COVERS:
        started = time.perf_counter()
        is_taken = getattr(covers, name)(graph.lower, graph.upper, graph.weight, graph.b)
        took = time.perf_counter() - started
        require_cover(graph, is_taken)
        found[name] = {
            "weight": int(graph.weight[is_taken].sum()),
            "n_edges": int(is_taken.sum()),
            "shown": _shown(problem, graph, is_taken),
            "seconds": round(took, 3),
        }
    proven = bound(graph)
    lightest = min(cover["weight"] for cover in found.values())
    if lightest < proven.weight - 1e-6 * lightest:
        raise RuntimeError("a cover is lighter than the bound of all covers")
    least = optimum(graph, proven, lightest, seconds)
    result: dict[str, Any] = {
        "covers": found,
        "bound": {"weight": round(proven.weight, 4), "seconds": round(proven.seconds, 2)},
    }
    if least is not None:
        result["least"] = {
            "weight": least.weight,
            "is_proven": least.is_proven,
            "shown": _shown(problem, graph, least.is_taken),
            "n_edges": int(least.is_taken.sum()),
            "n_variables": least.n_variables,
            "seconds": round(least.seconds, 2),
        }
    return result


def _shown(problem: Problem, graph: CompleteGraph, is_taken: Any) -> float:
    is_masked = masks_of_edges(
        problem.codes, problem.first_cell, graph.lower[is_taken], graph.upper[is_taken]
    )
    return round(1.0 - float(is_masked.mean()), 6)

"""Covers of a small table against the least b-edge cover, by linear and integer programming.

The program of a complete graph has a variable per pair, nearly all of them 0. So only light edges
are given to the solver, and those whose reduced cost says that they could do better are added
until there are none. The bound is then counted from the duals over *all* edges: it is valid
whatever the solver's tolerance.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.adaptive.data import WishedTable
from benchmarks.adaptive.runs import task_of
from benchmarks.shared.cases import Measured, Task
from incrowd import covers
from incrowd.methods.adaptive.search import Problem

COVERS = ("mce", "lse", "nearest")

Edges = NDArray[np.int64]

_FIRST = 4
"""How many times b of each vertex's lightest edges the solver is given at first."""

_TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class CompleteGraph:
    """All pairs ``lower < upper`` of n vertices and their whole weights."""

    lower: Edges
    upper: Edges
    weight: Edges
    b: NDArray[np.int64]

    @classmethod
    def of_rows(cls, codes: NDArray[Any], b: NDArray[Any]) -> CompleteGraph:
        """Weigh each pair of rows by the attributes in which they differ."""
        lower, upper = np.triu_indices(codes.shape[1], 1)
        weight = np.zeros(len(lower), dtype=np.int64)
        for line in codes:
            weight += line[lower] != line[upper]
        return cls(lower, upper, weight, b.astype(np.int64))


@dataclass(frozen=True, eq=False)
class Bound:
    """A weight that no cover is below, the duals that prove it, and how long it took."""

    weight: float
    dual: NDArray[np.float64]
    n_rounds: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Optimum:
    """The lightest cover that was found, and whether there is no lighter one."""

    is_taken: NDArray[np.bool_]
    weight: int
    is_proven: bool
    n_variables: int
    seconds: float


def bound(graph: CompleteGraph) -> Bound:
    """Return the value of the linear relaxation, proven over all edges."""
    from scipy.optimize import linprog

    started = time.perf_counter()
    is_given = _lightest(graph)
    for n_rounds in range(1, 100):
        given = np.flatnonzero(is_given)
        found = linprog(
            graph.weight[given],
            A_ub=-_incidence(graph, given),
            b_ub=-graph.b,
            bounds=(0, 1),
            method="highs",
        )
        if found.status != 0:
            raise RuntimeError(f"the linear program was not solved: {found.message}")
        dual = np.maximum(0.0, -np.asarray(found.ineqlin.marginals))
        reduced = graph.weight - dual[graph.lower] - dual[graph.upper]
        missed = ~is_given & (reduced < -_TOLERANCE)
        if not missed.any():
            value = float(graph.b @ dual + np.minimum(0.0, reduced).sum())
            return Bound(value, dual, n_rounds, time.perf_counter() - started)
        is_given |= missed
    raise RuntimeError("the linear program found ever more edges")


def optimum(graph: CompleteGraph, proven: Bound, known: int, seconds: float) -> Optimum | None:
    """Look for the lightest cover, given the weight of a known one; None if time was too short.

    An edge whose reduced cost is above the gap between the known cover and the bound is in no
    lighter cover, and one that is as far below 0 is in all of them.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    started = time.perf_counter()
    reduced = graph.weight - proven.dual[graph.lower] - proven.dual[graph.upper]
    gap = known - proven.weight + _TOLERANCE * max(1, known)
    given = np.flatnonzero(reduced <= gap)
    is_fixed = reduced[given] < -gap
    found = milp(
        graph.weight[given],
        integrality=np.ones(len(given)),
        bounds=Bounds(is_fixed.astype(np.float64), np.ones(len(given))),
        constraints=LinearConstraint(_incidence(graph, given), lb=graph.b),
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )
    if found.x is None:
        return None
    is_taken = np.zeros(len(graph.weight), dtype=np.bool_)
    is_taken[given[np.asarray(found.x) > 0.5]] = True
    require_cover(graph, is_taken)
    weight = int(graph.weight[is_taken].sum())
    return Optimum(is_taken, weight, found.status == 0, len(given), time.perf_counter() - started)


def require_cover(graph: CompleteGraph, is_taken: NDArray[np.bool_]) -> None:
    """Raise unless every vertex has as many edges as it asks for."""
    n_vertices = len(graph.b)
    ends = np.concatenate([graph.lower[is_taken], graph.upper[is_taken]])
    if (np.bincount(ends, minlength=n_vertices) < graph.b).any():
        raise RuntimeError("what was found is no cover")


def masks_of_edges(
    codes: NDArray[Any], first_bit: NDArray[np.int64], lower: Edges, upper: Edges
) -> NDArray[np.bool_]:
    """Return the bits that a cover masks: both rows of an edge, where either has its value."""
    is_masked = np.zeros((codes.shape[1], int(first_bit[-1])), dtype=np.bool_)
    for line, first in zip(codes, first_bit[:-1].tolist(), strict=True):
        is_unlike = line[lower] != line[upper]
        one, other = lower[is_unlike], upper[is_unlike]
        for row in (one, other):
            is_masked[row, first + line[one]] = True
            is_masked[row, first + line[other]] = True
    return is_masked


def _lightest(graph: CompleteGraph) -> NDArray[np.bool_]:
    """Return the edges among the lightest of either end, ties in the order of ids."""
    n_vertices = len(graph.b)
    is_light = np.zeros(len(graph.weight), dtype=np.bool_)
    order = np.argsort(graph.weight, kind="stable")
    wanted = np.minimum(_FIRST * graph.b, n_vertices - 1)
    for ends in (graph.lower, graph.upper):
        by_end = order[np.argsort(ends[order], kind="stable")]  # by vertex, then by weight
        starts = np.searchsorted(ends[by_end], np.arange(n_vertices))
        place = np.arange(len(by_end)) - starts[ends[by_end]]
        is_light[by_end[place < wanted[ends[by_end]]]] = True
    return is_light


def _incidence(graph: CompleteGraph, given: Edges) -> Any:
    """Return the matrix of vertices by given edges."""
    from scipy.sparse import csc_array

    rows = np.column_stack([graph.lower[given], graph.upper[given]]).ravel()
    starts = np.arange(0, 2 * len(given) + 1, 2)
    return csc_array((np.ones(len(rows)), rows, starts), shape=(len(graph.b), len(given)))


# ── measured covers ─────────────────────────────────────────────────────────────────────────────


def exact_case(wished: WishedTable, seconds: float) -> Task:
    """Return the task that measures every cover to convergence, and the least first cover."""

    def task(folder: Path) -> list[Measured]:
        cases = [
            {"steps": [["cover", {"cover": cover}]], "threads": 1, "is_audited": True}
            for cover in COVERS
        ]
        first = first_covers(wished.problem(folder), seconds)
        return [*task_of(wished, cases)(folder), {"data": wished.record(folder), **first}]

    return task


def first_covers(problem: Problem, seconds: float) -> dict[str, Any]:
    """Weigh the covers of the complete graph of rows, and look for the lightest there is.

    The weight of an edge is the number of attributes in which its rows differ; Algorithm 1's is
    four times that in the first iteration, on bits.
    """
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

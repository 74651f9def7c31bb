"""Algorithm 1: nearest neighbours, a b-edge cover of them, masks, new weights; and again.

Khan, Choromanski, Pothen, Ferdous, Halappanavar and Tumeo (2018).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.covers.dominant import Adjacency, bounds_of_matching, places_of, ranges_by_edges
from incrowd.engines.base import Engine
from incrowd.errors import InfeasibleError, JobError, unknown
from incrowd.methods.adaptive.kernels import covered as kernels
from incrowd.methods.adaptive.neighbours import (
    Lists,
    Ranked,
    Standing,
    Workshop,
    by_differences,
    by_weight,
    standing,
)
from incrowd.methods.adaptive.search import Found, Problem
from incrowd.progress import Progress, is_stop_requested, silent
from incrowd.threads import Team, n_threads

COVERS = ("mce", "lse", "nearest")

EPSILON = 3.0
"""On Adult large values were better; the paper names none."""

MOST_ITERATIONS = 20
PATIENCE = 3
"""So many iterations in a row without a better utility end the search (the paper's rule)."""

SCALE = 1 << 16
"""A weight of 1 in fixed point."""

LSE_LENGTH = 2
"""Lists for LSE are so many times as long as needed: it takes edges beyond the nearest."""

MEMORY_BYTES = 1 << 30


@dataclass(frozen=True, eq=False)
class Covered:
    """A cover's edges as counts: ``counts[rank, cell]`` neighbours differ there."""

    counts: NDArray[np.uint8]
    n_edges: int
    n_masked: int

    @property
    def utility(self) -> float:
        """The share of cells without a count: those that are shown."""
        return 1.0 - self.n_masked / self.counts.size if self.counts.size else 1.0


def search(
    problem: Problem,
    *,
    cover: str = "mce",
    epsilon: float = EPSILON,
    most_iterations: int = MOST_ITERATIONS,
    memory_bytes: int = MEMORY_BYTES,
    engine: Engine,
    progress: Progress = silent,
) -> Found:
    """Return masks that leave every row mutually compatible with at least k rows, itself one.

    Every iteration covers the rows by edges to near rows and masks, on both sides of an edge,
    where the rows differ; cells that are masked already then weigh less. The best iteration is
    kept. Deviations from the paper: rows of one profile need no edge between them; ties go by
    falling k (bits) or need (attributes); LSE sees the ``2 · need`` nearest rows of each row, not
    all. Linear memory; the result does not depend on ``memory_bytes``, threads or engine.
    O(iterations · rows² · attributes).
    """
    _require(problem, cover, epsilon, most_iterations)
    ranked = Ranked.of(problem)
    length = ranked.need
    if cover == "lse":
        length = np.minimum(LSE_LENGTH * length, ranked.n_others).astype(np.int32)
    weights = weights_of_counts(problem, epsilon)
    begun = time.perf_counter()
    seconds_near: list[float] = []
    seconds_cover: list[float] = []
    utilities: list[float] = []
    best: Covered | None = None
    covered: Covered | None = None
    lists: Lists | None = None
    shared: Callable[[], Standing] | None = None
    n_worse = 0
    while len(utilities) < most_iterations and n_worse < PATIENCE:
        stage = f"neighbours, iteration {len(utilities) + 1}"
        workshop = Workshop(engine, memory_bytes, progress, stage)
        iteration_begun = time.perf_counter()
        if lists is None or covered is None:
            lists = _scaled(by_differences(ranked, length, workshop), problem, weights)
        else:
            shared = shared or standing(ranked, weights, length, engine)
            lists = by_weight(ranked, covered.counts, shared, lists, workshop)
        if lists is None:
            break
        seconds_near.append(time.perf_counter() - iteration_begun)
        cover_begun = time.perf_counter()
        covered = cover_of_lists(ranked, lists, cover)
        seconds_cover.append(time.perf_counter() - cover_begun)
        utilities.append(covered.utility)
        if best is None or covered.utility > best.utility:
            best, n_worse = covered, 0
        else:
            n_worse += 1
        progress(f"cover, iteration {len(utilities)}", 1, 1, 1.0 - best.utility)
        if is_stop_requested() or not covered.n_edges:
            break
    assert best is not None
    is_masked = np.empty(best.counts.shape, dtype=np.bool_)
    is_masked[ranked.row] = best.counts > 0
    n_needy = int((ranked.need > 0).sum())
    n_pairs = max(1, n_needy * ranked.n_rows)
    figures: dict[str, int | float | str] = {
        "cover": cover,
        "iterations": len(utilities),
        "utility_first": utilities[0],
        "utility": best.utility,
        "edges": best.n_edges,
        "needy_rows": n_needy,
        "seconds_first": seconds_near[0],
        "seconds_cover": sum(seconds_cover),
        "seconds_per_iteration": (time.perf_counter() - begun) / len(utilities),
        "nanoseconds_per_pair_first": 1e9 * seconds_near[0] / n_pairs,
    }
    if len(seconds_near) > 1:
        later = float(np.mean(seconds_near[1:]))
        figures["nanoseconds_per_pair"] = 1e9 * later / n_pairs
    return Found(is_masked, figures)


def weights_of_counts(problem: Problem, epsilon: float) -> NDArray[np.int32]:
    """Return the weight of a cell by how many neighbours differ there: exp(count · c_ε).

    c_ε = log(ε / (1 + ε)) is negative: what is masked already costs little. In fixed point, so
    that distances are symmetric and the same on every machine.
    """
    scale = SCALE
    while 4 * max(1, problem.n_attributes) * scale >= 1 << 31:
        scale //= 2
    weights = scale * (epsilon / (1 + epsilon)) ** np.arange(256)
    rounded: NDArray[np.int32] = np.rint(weights).astype(np.int32)
    return rounded


def cover_of_lists(ranked: Ranked, lists: Lists, cover: str) -> Covered:
    """Return the cover of the graph that the lists make, counted per cell.

    On all threads, but for LSE, which walks through the edges in order. MCE: the edges that the
    greedy matching takes are deleted. Of a list as long as the need, a rank may lose as many edges
    as there are ranks that list it and are not in its list.
    """
    if cover == "lse":
        return _lse_of_lists(ranked, lists)
    with Team(n_threads()) as team:
        adjacency, n_listed = adjacency_of_lists(lists, team)
        room = n_listed.astype(np.int32) if cover == "mce" else np.zeros_like(ranked.need)
        last = bounds_of_matching(adjacency, room, team)
        counts = np.empty((ranked.n_rows, ranked.problem.n_cells), dtype=np.uint8)

        def count(ranks: tuple[int, int]) -> tuple[int, int]:
            return kernels.count_kept(
                adjacency.start,
                adjacency.key,
                last,
                ranked.codes,
                ranked.first_value,
                ranked.problem.is_bit,
                *ranks,
                counts,
            )

        counted = team.map(count, ranges_by_edges(adjacency.start, team))
    n_ends, n_masked = (sum(part) for part in zip(*counted, strict=True))
    return Covered(counts, n_ends // 2, n_masked)


def adjacency_of_lists(lists: Lists, team: Team) -> tuple[Adjacency, NDArray[np.int64]]:
    """Return the edges of all lists by rank, and how many of a rank's are not in its own list."""
    n_ranks = len(lists.start) - 1
    listed = (lists.start, lists.neighbour, lists.distance)
    ranges = ranges_by_edges(lists.start, team)
    last = np.empty(n_ranks, dtype=np.int64)
    team.map(lambda ranks: kernels.last_keys(*listed, *ranks, last), ranges)

    def count(ranks: tuple[int, int]) -> NDArray[np.int64]:
        counts = np.zeros(n_ranks, dtype=np.int64)
        kernels.count_listed(*listed, last, *ranks, counts)
        return counts

    start, places = places_of(team.map(count, ranges), n_ranks)
    n_listed = np.diff(start)
    start += lists.start
    key = np.empty(start[-1], dtype=np.int64)
    team.map(
        lambda piece: kernels.place_listed(*listed, last, *ranges[piece], places[piece], key),
        range(len(ranges)),
    )
    team.map(
        lambda ranks: kernels.place_lists(*listed, *ranks, start, key),
        ranges_by_edges(start, team),
    )
    return Adjacency(start, key), n_listed


def _lse_of_lists(ranked: Ranked, lists: Lists) -> Covered:
    from incrowd.covers.cover import edge_order
    from incrowd.covers.kernels import cheapest_first

    lower, upper, weight = kernels.edges_of_lists(lists.start, lists.neighbour, lists.distance)
    order = edge_order(weight, lower, upper)
    is_kept = cheapest_first(order, weight.astype(np.int64), lower, upper, ranked.need)
    counts = np.zeros((ranked.n_rows, ranked.problem.n_cells), dtype=np.uint8)
    kernels.count_differences(
        lower, upper, is_kept, ranked.codes, ranked.first_value, ranked.problem.is_bit, counts
    )
    return Covered(counts, int(is_kept.sum()), int(np.count_nonzero(counts)))


def _scaled(lists: Lists, problem: Problem, weights: NDArray[np.int32]) -> Lists:
    """Return lists whose distances count attributes with these in weights of 1."""
    unit = int(weights[0]) * (4 if problem.is_bit else 2)
    return Lists(lists.start, lists.neighbour, lists.distance * np.int32(unit))


def _require(problem: Problem, cover: str, epsilon: float, most_iterations: int) -> None:
    if cover not in COVERS:
        raise unknown("cover", cover, COVERS)
    if not epsilon > 0 or not np.isfinite(epsilon):
        raise JobError("epsilon of the weights is not above 0", remedy="Try 3.")
    if most_iterations < 1:
        raise JobError("a search needs at least one iteration")
    n_beyond = int((problem.k > problem.n_rows).sum())
    if n_beyond:
        raise InfeasibleError(
            f"{n_beyond} rows ask for a crowd larger than the {problem.n_rows} rows there are",
            remedy=f"Ask for at most {problem.n_rows}.",
        )

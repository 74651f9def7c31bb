"""Randomized response measured beside its theory, and the bound on suppression.

Esfandiari et al. 2022: Figure 2 (the ε that a similarity needs, by density), Figure 3(c) (ε against
similarity), Theorem 4.1 and Theorem 4.4. Figure 6 is made from these and from the tables.
"""

from __future__ import annotations

import math
import statistics
from pathlib import Path

import numpy as np

from benchmarks.sets.data import BLOCK_MODEL, SetData, Sizes
from benchmarks.sets.runs import task_of
from benchmarks.shared.cases import Measured, Task
from incrowd.errors import InputError
from incrowd.measures.losses.sets import measure_set_losses
from incrowd.methods.randomized_response.method import RandomizedResponse
from incrowd.methods.randomized_response.search import (
    epsilon_for,
    expected_jaccard,
    flip_probability,
    jaccard_bound,
)
from incrowd.progress import silent
from incrowd.sets.sets import Sets

SIMILARITIES = (0.1, 0.3, 0.5, 0.7, 0.9)
DELTA = 0.01
"""How likely Theorem 4.1's bound may be exceeded."""

INSIDE, OUTSIDE = 0.8, 0.01
"""q and p of the block model."""


def noise_of(sets: Sets, epsilon: float, n_seeds: int, most_entries: int) -> Measured:
    """Measure randomized response for edges at one ε, beside what theory says of it.

    The noise is drawn from stated seeds, so that the figures come out again; a release never is.
    """
    n_cells = sets.n_rows * sets.n_items
    density, q = sets.n_entries / n_cells, flip_probability(epsilon)
    result: Measured = {
        "epsilon": epsilon,
        "density": density,
        "expected_jaccard": expected_jaccard(density, q),
        "jaccard_bound": jaccard_bound(density, n_cells, q, DELTA),
    }
    found = []
    for seed in range(n_seeds):
        method = RandomizedResponse(
            self_loops=True, most_entries=most_entries, insecure_noise_seed=seed
        )
        try:
            noisy = method.respond(sets, "edge", epsilon, silent)
        except InputError as error:
            return {**result, "outcome": error.what}
        found.append(measure_set_losses(sets, noisy.released).jaccard)
    result |= {"n_seeds": n_seeds, "jaccard": statistics.fmean(found)}
    if n_seeds > 1:
        result["jaccard_deviation"] = statistics.stdev(found)
    return result


def epsilon_case(data: SetData, sizes: Sizes) -> Task:
    """Return the task of Figure 3(c): ε against similarity on one data set."""

    def task(folder: Path) -> list[Measured]:
        record = data.record(folder)
        sets = data.instances(folder)[0]
        return [
            {"data": record, **noise_of(sets, epsilon, sizes.few_seeds, sizes.most_noise)}
            for epsilon in sizes.epsilons
        ]

    return task


def density_case(sizes: Sizes) -> Task:
    """Return the task of Figure 2: the ε that a similarity needs, and what that ε brings."""

    def task(_: Path) -> list[Measured]:
        results = []
        for density in sizes.densities:
            sets = evenly_spread(density, sizes.dense_entries)
            for wanted in SIMILARITIES:
                epsilon = epsilon_for(wanted, density)
                found = noise_of(sets, epsilon, sizes.few_seeds, sizes.most_noise)
                results.append({"wanted_density": density, "wanted_jaccard": wanted, **found})
        return results

    return task


def evenly_spread(density: float, n_entries: int) -> Sets:
    """Return as many rows as items with about so many entries, drawn evenly from seed 0."""
    side = math.ceil(math.sqrt(n_entries / density))
    rng = np.random.default_rng(0)
    ranks = np.unique(rng.integers(0, side * side, round(1.2 * n_entries + 100)))
    ranks = np.sort(rng.permutation(ranks)[:n_entries])
    starts = np.concatenate([[0], np.cumsum(np.bincount(ranks // side, minlength=side))])
    return Sets(starts.astype(np.int64), (ranks % side).astype(np.int32), side)


def bound_case(n_rows: int, block_size: int, n_instances: int) -> Task:
    """Return the task of Theorem 4.4: what any suppression may keep, and what searches keep.

    With probability 0.99 no k-anonymous subgraph has more than (2 ln n + 10) / ln(1/q) entries a
    row, for k of at least 2 ln n / ln(1/q). The block itself as a cluster keeps qs entries a row
    under a smooth vote, creates (1 − q)s and loses p(n − s).
    """

    k = math.ceil(2 * math.log(n_rows) / math.log(1 / INSIDE))
    case = {"method": "cluster", "settings": {}, "k": k, "n_seeds": n_instances}
    case["guarantees"] = ["smooth", "suppression"]
    kept, lost = INSIDE * block_size, OUTSIDE * (n_rows - block_size)
    case |= {
        "most_kept_a_row": (2 * math.log(n_rows) + 10) / math.log(1 / INSIDE),
        "entries_a_row": kept + lost,
        "block_jaccard": kept / (block_size + lost),
    }
    return task_of(SetData(BLOCK_MODEL, n_rows, block_size, n_instances), [case])

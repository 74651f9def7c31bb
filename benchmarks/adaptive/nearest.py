"""The search for nearest rows against plain ones: the same rows, the same distances, one table.

Measured in a process of its own in which everybody has one thread, by its CPU time. Squared
Euclidean distances of one-hot codes are twice the number of attributes that differ, so that the
plain ways may use matrix products. They return each query's nearest, itself among them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.adaptive.data import WishedTable, few
from benchmarks.shared.cases import Measured, Task
from benchmarks.shared.processes import ONE_THREAD, call_apart, least_cpu_time
from incrowd.engines.local.engine import LocalEngine
from incrowd.methods.adaptive.neighbours import Ranked, Workshop, by_differences
from incrowd.methods.adaptive.search import Problem
from incrowd.progress import silent

REPEATS = 2
"""The least time of so many counts."""

N_QUERIES = 10_000
"""For how many rows the plain ways look for the nearest: their time is the same for each."""

Plain = Callable[[NDArray[np.float32], NDArray[np.float32], int], NDArray[np.float32]]


def nearest_case(wished: WishedTable) -> Task:
    """Return the task that times our nearest rows beside NumPy's and scikit-learn's.

    Everybody looks for as many as the largest k, ours for every row, the plain ways for some.
    """

    def task(folder: Path) -> list[Measured]:
        stated = json.dumps(asdict(wished))
        runs = call_apart("benchmarks.adaptive.nearest", stated, str(folder), **ONE_THREAD)
        return [{"data": wished.record(folder), **one} for one in runs]

    return task


def compare_ways(problem: Problem, n_nearest: int) -> list[Measured]:
    """Time every way, and hold the distances that they find against each other."""
    _by_incrowd(few(problem), 5)  # compiles
    seconds, ours = least_cpu_time(lambda: _by_incrowd(problem, n_nearest), REPEATS)
    stated: Measured = {"n_rows": problem.n_rows, "n_nearest": n_nearest, "threads": 1}
    n_pairs = problem.n_rows * (problem.n_rows - 1)
    results = [{**stated, "way": "incrowd", "n_pairs": n_pairs, "seconds": seconds}]
    bits = one_hot_floats(problem.codes, problem.n_values)
    queries = np.unique(np.linspace(0, problem.n_rows - 1, N_QUERIES).astype(np.int64))
    ways: dict[str, tuple[str, Plain]] = {
        "NumPy": ("numpy", by_numpy),
        "scikit-learn": ("scikit-learn", by_scikit_learn),
    }
    for name, (package, way) in ways.items():
        way(bits[:200], bits[:200], 5)
        look = partial(way, bits, bits[queries], n_nearest + 1)
        seconds, apart = least_cpu_time(look, REPEATS)
        _require_same(problem, queries, ours, apart)
        result = {**stated, "way": name, "version": version(package)}
        n_pairs = len(queries) * (problem.n_rows - 1)
        results.append({**result, "n_pairs": n_pairs, "seconds": seconds})
    return results


def _by_incrowd(problem: Problem, n_nearest: int) -> NDArray[np.int32]:
    """Return each row's distances to the nearest rows unlike it, as the search finds them."""
    ranked = Ranked.of(problem)
    length = np.minimum(n_nearest, ranked.n_others).astype(np.int32)
    workshop = Workshop(LocalEngine(threads=1), 1 << 30, silent, "neighbours")
    lists = by_differences(ranked, length, workshop)
    found = np.full((problem.n_rows, n_nearest), -1, dtype=np.int32)
    is_held = np.arange(n_nearest) < length[:, None]
    by_rank = found.copy()
    by_rank[is_held] = lists.distance
    found[ranked.row] = by_rank
    return found


def _require_same(
    problem: Problem,
    queries: NDArray[np.int64],
    ours: NDArray[np.int32],
    apart: NDArray[np.float32],
) -> None:
    """Raise unless queried rows that are like no other have the same distances both ways."""
    _, profile, counts = np.unique(problem.codes, axis=1, return_inverse=True, return_counts=True)
    is_single = counts[profile.reshape(-1)][queries] == 1
    theirs = np.rint(apart[:, 1:] / 2).astype(np.int32)
    if not np.array_equal(ours[queries][is_single], theirs[is_single]):
        raise RuntimeError("two ways found nearest rows at other distances")


# ── plain ways ──────────────────────────────────────────────────────────────────────────────────

_BLOCK = 256  # rows whose distances are held at a time


def one_hot_floats(codes: NDArray[Any], n_values: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return ``[row, bit]`` as 0 and 1."""
    n_rows = codes.shape[1]
    first_bit = np.concatenate([[0], np.cumsum(n_values)])
    bits = np.zeros((n_rows, int(first_bit[-1])), dtype=np.float32)
    for line, first in zip(codes, first_bit[:-1].tolist(), strict=True):
        bits[np.arange(n_rows), first + line] = 1.0
    return bits


def by_numpy(
    bits: NDArray[np.float32], queries: NDArray[np.float32], n_nearest: int
) -> NDArray[np.float32]:
    """Return the squared distances of each query's nearest, by products and partitions."""
    n_ones = bits.sum(axis=1)
    found = np.empty((len(queries), n_nearest), dtype=np.float32)
    for start in range(0, len(queries), _BLOCK):
        block = queries[start : start + _BLOCK]
        apart = block.sum(axis=1)[:, None] + n_ones[None, :] - 2.0 * (block @ bits.T)
        nearest = np.partition(apart, n_nearest - 1, axis=1)[:, :n_nearest]
        found[start : start + _BLOCK] = np.sort(nearest, axis=1)
    return found


def by_scikit_learn(
    bits: NDArray[np.float32], queries: NDArray[np.float32], n_nearest: int
) -> NDArray[np.float32]:
    """Return the same by scikit-learn's brute force; raises ImportError where it is absent."""
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=n_nearest, algorithm="brute", metric="sqeuclidean")
    apart, _ = search.fit(bits).kneighbors(queries)
    return np.asarray(apart, dtype=np.float32)


def main(stated: str, folder: str) -> list[Measured]:
    """Compare the ways on a table."""
    wished = WishedTable(**json.loads(stated))
    return compare_ways(wished.problem(Path(folder)), wished.highest - 1)

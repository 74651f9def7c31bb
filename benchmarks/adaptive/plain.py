"""The search for nearest rows against plain ones: the same rows, the same distances, one table.

Measured in a process of its own in which everybody has one thread, by its CPU time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.adaptive.data import Wished, few
from benchmarks.adaptive.plain_neighbours import by_numpy, by_scikit_learn, one_hot_floats

if TYPE_CHECKING:
    from incrowd.methods.adaptive.search import Problem

REPEATS = 2
"""The least time of so many counts."""

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

N_QUERIES = 10_000
"""For how many rows the plain ways look for the nearest: their time is the same for each."""

Plain = Callable[[NDArray[np.float32], NDArray[np.float32], int], NDArray[np.float32]]


def plain_case(wished: Wished) -> Callable[[Path], list[dict[str, Any]]]:
    """Return the task that times our nearest rows beside NumPy's and scikit-learn's.

    Everybody looks for as many as the largest k, ours for every row, the plain ways for some.
    """

    def task(folder: Path) -> list[dict[str, Any]]:
        table = wished.record(folder)
        words = [json.dumps(asdict(wished)), str(folder)]
        said = subprocess.run(
            [sys.executable, "-m", "benchmarks.adaptive.plain", *words],
            env={**os.environ, **ONE_THREAD},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return [{"table": table, **one} for one in json.loads(said.stdout)]

    return task


def compared(problem: Problem, n_nearest: int) -> list[dict[str, Any]]:
    """Time every way, and hold the distances that they find against each other."""
    _by_incrowd(few(problem), 5)  # compiles
    seconds, ours = _least_time(lambda: _by_incrowd(problem, n_nearest))
    said: dict[str, Any] = {"n_rows": problem.n_rows, "n_nearest": n_nearest, "threads": 1}
    n_pairs = problem.n_rows * (problem.n_rows - 1)
    results = [{**said, "way": "incrowd", "n_pairs": n_pairs, "seconds": round(seconds, 4)}]
    bits = one_hot_floats(problem.codes, problem.n_values)
    queries = np.unique(np.linspace(0, problem.n_rows - 1, N_QUERIES).astype(np.int64))
    ways: dict[str, tuple[str, Plain]] = {
        "NumPy": ("numpy", by_numpy),
        "scikit-learn": ("scikit-learn", by_scikit_learn),
    }
    for name, (package, way) in ways.items():
        try:
            found_version = version(package)
        except PackageNotFoundError:
            results.append({**said, "way": name, "outcome": "not installed"})
            continue
        way(bits[:200], bits[:200], 5)
        look = partial(way, bits, bits[queries], n_nearest + 1)
        seconds, apart = _least_time(look)
        _require_same(problem, queries, ours, apart)
        result = {**said, "way": name, "version": found_version}
        n_pairs = len(queries) * (problem.n_rows - 1)
        results.append({**result, "n_pairs": n_pairs, "seconds": round(seconds, 4)})
    return results


def _least_time(task: Callable[[], Any]) -> tuple[float, Any]:
    least = float("inf")
    for _ in range(REPEATS):
        started = time.process_time()
        found = task()
        least = min(least, time.process_time() - started)
    return least, found


def _by_incrowd(problem: Problem, n_nearest: int) -> NDArray[np.int32]:
    """Return each row's distances to the nearest rows unlike it, as the search finds them."""
    from incrowd.engines.local.engine import LocalEngine
    from incrowd.methods.adaptive.neighbours import Workshop, by_differences
    from incrowd.methods.adaptive.ranked import Ranked
    from incrowd.progress import silent

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


if __name__ == "__main__":
    stated = Wished(**json.loads(sys.argv[1]))
    print(json.dumps(compared(stated.problem(Path(sys.argv[2])), stated.highest - 1)))

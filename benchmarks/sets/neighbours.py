"""Near rows by our loops, by SciPy's products of sparse matrices and by scikit-learn.

Two questions that the searches ask. *Jaccard*: which rows are most alike (``cluster`` grows groups
of them, through bitsets of narrow data and lists of holders of wide ones). *Hamming*: how far the
nearest rows are in sum (``facility`` takes it for the price of opening). Everybody has one thread
and the same different rows, measured by CPU time; what they find is compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.sets.data import SetData, Sizes
from benchmarks.sets.learning import as_matrix
from benchmarks.shared.cases import Measured, Task
from benchmarks.shared.processes import ONE_THREAD, call_apart, least_cpu_time
from incrowd.compiling import compiled
from incrowd.methods.cluster.sets.kernels.near import LONGEST_LOOK, Found, Index, find_near
from incrowd.methods.cluster.sets.kernels.state import DistinctSets
from incrowd.methods.cluster.sets.start import collapse_part, index_of
from incrowd.methods.facility.location import Work, collapse_sets, nearest_sums
from incrowd.methods.shared.set_groups.part import Part
from incrowd.methods.shared.set_groups.vote import SetConditions
from incrowd.progress import silent
from incrowd.sets.sets import Sets

JACCARD, HAMMING = "jaccard", "hamming"
REPEATS = 3
"""The least time of so many counts."""

WIDE = 1_000
"""Above so many items scikit-learn's dense rows take long: it is asked of few rows."""

_BLOCK = 256  # rows whose products are held at a time

Floats = NDArray[np.float64]
Queries = NDArray[np.int64]


def neighbours(sizes: Sizes) -> dict[str, Task]:
    """Plan both questions on narrow and on wide data."""
    return {
        f"{question}-{name}": neighbours_case(question, SetData(name, sizes.most_rows), sizes)
        for question in (JACCARD, HAMMING)
        for name in ("adult", "ca-condmat")
    }


def neighbours_case(question: str, data: SetData, sizes: Sizes) -> Task:
    """Return the task that times one question, in a process where everybody has one thread."""

    def task(folder: Path) -> list[Measured]:
        words = [question, json.dumps(asdict(data)), json.dumps(asdict(sizes)), str(folder)]
        runs = call_apart("benchmarks.sets.neighbours", *words, **ONE_THREAD)
        versions = {name: version(name) for name in ("scikit-learn", "scipy")}
        return [{"data": data.record(folder), "versions": versions, **one} for one in runs]

    return task


def compare_ways(question: str, sets: Sets, sizes: Sizes) -> list[Measured]:
    """Time every way on the different rows of some sets; raise where they find anything else."""
    rows = different_rows(sets)
    n_nearest = min(sizes.n_nearest, rows.n_rows - 1)
    ours = {JACCARD: most_alike, HAMMING: nearest_summed}[question]
    ours(rows, n_nearest)  # compiles
    seconds, found = least_cpu_time(lambda: ours(rows, n_nearest), REPEATS)
    stated = {"question": question, "n_rows": rows.n_rows, "n_nearest": n_nearest}
    results = [{**stated, "way": "incrowd", "n_queries": rows.n_rows, "seconds": seconds}]
    is_slow = question == JACCARD and rows.n_items > WIDE
    ways: dict[str, tuple[int, Callable[[Queries], Floats]]] = {
        "SciPy": (sizes.queries, lambda asked: by_products(question, rows, asked, n_nearest)),
        "scikit-learn": (
            sizes.slow_queries if is_slow else sizes.queries,
            lambda asked: by_scikit_learn(question, rows, asked, n_nearest),
        ),
    }
    for way, (n_queries, look) in ways.items():
        asked = np.unique(np.linspace(0, rows.n_rows - 1, n_queries).astype(np.int64))
        seconds, theirs = least_cpu_time(partial(look, asked), REPEATS)
        if not np.allclose(found[asked], theirs, rtol=0, atol=1e-5):
            raise RuntimeError(f"{way} found other nearest rows")
        results.append({**stated, "way": way, "n_queries": len(asked), "seconds": seconds})
    return results


def different_rows(sets: Sets) -> Sets:
    """Return each set once, in the order of its first row."""
    texts: dict[bytes, int] = {}
    for row, (start, end) in enumerate(zip(sets.starts[:-1], sets.starts[1:], strict=True)):
        texts.setdefault(sets.items[start:end].tobytes(), row)
    return sets.take(np.array(list(texts.values()), dtype=np.int64))


# ── our loops ───────────────────────────────────────────────────────────────────────────────────


@compiled
def near_of_all(
    distinct_sets: DistinctSets,
    index: Index,
    found: Found,
    n_left: NDArray[np.int32],
    random: NDArray[np.int64],
    likeness: NDArray[np.float64],
) -> None:
    """Fill ``likeness[row]`` with those of its nearest, in no order; 0 where there are fewer."""
    for row in range(len(likeness)):
        find_near(distinct_sets, index, found, n_left, row, distinct_sets.need[row], random)
        for place in range(found.n[0]):
            likeness[row, place] = found.likeness[place]


def most_alike(rows: Sets, n_nearest: int) -> Floats:
    """Return how alike each row's most alike other rows are, falling, by cluster's loops."""
    needs = np.full(rows.n_rows, 2, dtype=np.int32)
    part = Part(rows.starts, rows.items, rows.n_items, needs).compact()
    distinct_sets, distinct_of_row = collapse_part(part)
    index = index_of(distinct_sets)
    if not len(index.bits) and np.diff(distinct_sets.list_starts).max(initial=0) > LONGEST_LOOK:
        raise RuntimeError("an item has more holders than cluster looks at: its nearest are some")
    found = Found(
        np.empty(n_nearest, dtype=np.int32),
        np.empty(n_nearest, dtype=np.float64),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )
    likeness = np.zeros((rows.n_rows, n_nearest))
    near_of_all(
        distinct_sets,
        index,
        found,
        distinct_sets.n_units.copy(),
        np.array([1], dtype=np.int64),
        likeness,
    )
    return -np.sort(-likeness, axis=1)[distinct_of_row]


def nearest_summed(rows: Sets, n_nearest: int) -> Floats:
    """Return the sum of each row's distances to its nearest others, by facility's loops."""
    distinct = collapse_sets(rows, SetConditions("smooth", 2))
    wanted = np.full(distinct.n_distinct, n_nearest + 1, dtype=np.int64)  # itself is one of them
    work = Work(np.random.default_rng(0), 1, silent)
    summed = nearest_sums(distinct, wanted, work)
    return summed[distinct.distinct_of_row].astype(np.float64)


# ── plain ways ──────────────────────────────────────────────────────────────────────────────────


def by_products(question: str, rows: Sets, asked: Queries, n_nearest: int) -> Floats:
    """Return the same from SciPy's sparse products X·Xᵀ, some rows at a time."""
    matrix = as_matrix(rows)
    turned = matrix.T.tocsr()
    sizes = rows.sizes.astype(np.float64)
    found = []
    for start in range(0, len(asked), _BLOCK):
        some = asked[start : start + _BLOCK]
        common = (matrix[some] @ turned).toarray().astype(np.float64)
        if question == JACCARD:
            either = sizes[some][:, None] + sizes[None, :] - common
            far = 1.0 - common / np.maximum(either, 1.0)
        else:
            far = sizes[some][:, None] + sizes[None, :] - 2.0 * common
        far[np.arange(len(some)), some] = -1.0  # itself comes first, and is left out
        nearest = np.sort(np.partition(far, n_nearest, axis=1)[:, : n_nearest + 1], axis=1)[:, 1:]
        found.append(1.0 - nearest if question == JACCARD else nearest.sum(axis=1))
    return np.concatenate(found)


def by_scikit_learn(question: str, rows: Sets, asked: Queries, n_nearest: int) -> Floats:
    """Return the same from scikit-learn's brute force: on dense bits, or on sparse floats."""
    from sklearn.neighbors import NearestNeighbors

    matrix = as_matrix(rows)
    if question == JACCARD:
        bits = matrix.toarray().astype(np.bool_)
        search = NearestNeighbors(n_neighbors=n_nearest + 1, algorithm="brute", metric="jaccard")
        far, _ = search.fit(bits).kneighbors(bits[asked])
        alike: Floats = 1.0 - far[:, 1:]
        return alike
    search = NearestNeighbors(n_neighbors=n_nearest + 1, algorithm="brute", metric="euclidean")
    far, _ = search.fit(matrix).kneighbors(matrix[asked])
    summed: Floats = np.rint(far.astype(np.float64) ** 2).sum(axis=1)
    return summed


def main(question: str, data: str, sizes: str, folder: str) -> list[Measured]:
    """Compare the ways on some data."""
    sets = SetData(**json.loads(data)).instances(Path(folder))[0]
    return compare_ways(question, sets, Sizes(**json.loads(sizes)))

"""Tables 1 and 3 as the paper has them: two groupings that its text leaves to a reader's guess.

``divided``: the clusters of the paper's practical variant, each divided arbitrarily into as many
parts of at least k rows as it has room for. Left whole, as Appendix D says, clusters have 20 rows
and more, and what all of them share is next to nothing; step 5 of Alg. 2 and its footnote keep
clusters below 2k.

``first-column``: strict Mondrian as the implementation that the paper names cuts binary columns
(https://github.com/qiyuangong/Mondrian): by the first column, in the order that columns have,
whose median lies between its values. All columns have the same width, so that nothing but that
order decides; here it is drawn.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.sets.data import SetData
from benchmarks.shared.cases import Measured
from incrowd.engines.local.engine import LocalEngine
from incrowd.measures.utility.bound import least_changes_of
from incrowd.methods.facility.method import Facility
from incrowd.methods.shared.set_groups.vote import SetConditions, number_by_first_row
from incrowd.progress import silent
from incrowd.sets.bounds import similarity_at_most
from incrowd.sets.sets import Sets

Groups = NDArray[np.int32]


def divided_clusters(sets: Sets, k: int, seed: int) -> Groups:
    """Return the paper's clusters in arbitrary parts of k to 2k − 1 rows."""
    engine, conditions = LocalEngine(threads=1), SetConditions("smooth", k)
    found = Facility(cut=False).search(sets, conditions, engine, seed, silent)
    return divide(found.group_of_row, k, seed)


def divide(group_of_row: Groups, k: int, seed: int) -> Groups:
    """Return every group's rows, in an order drawn by the seed, in even parts of at least k."""
    rng = np.random.default_rng([seed, 0xD1])
    rows = rng.permutation(len(group_of_row))
    rows = rows[np.argsort(group_of_row[rows], kind="stable")]
    parts = np.empty(len(rows), dtype=np.int32)
    n_parts = 0
    for members in np.split(rows, np.flatnonzero(np.diff(group_of_row[rows])) + 1):
        n_of_group = max(1, len(members) // k)
        parts[members] = n_parts + np.arange(len(members)) * n_of_group // len(members)
        n_parts += n_of_group
    return number_by_first_row(parts)


def first_column_groups(sets: Sets, k: int, seed: int) -> Groups:
    """Return the groups of strict Mondrian on columns in an order drawn by the seed.

    A part is cut by a column if the zeros are at least half of it (else the median is the larger
    value, and nothing lies above it) and both sides have k rows. Time and memory grow with
    rows × items.
    """
    held = np.zeros((sets.n_rows, sets.n_items), dtype=np.uint8)
    held[np.repeat(np.arange(sets.n_rows), sets.sizes), sets.items] = 1
    held = held[:, np.random.default_rng([seed, 0xF1]).permutation(sets.n_items)]
    group_of_row = np.empty(sets.n_rows, dtype=np.int32)
    n_groups = 0
    waiting = [np.arange(sets.n_rows)]
    while waiting:
        rows = waiting.pop()
        n_ones = held[rows].sum(axis=0, dtype=np.int64)
        n_zeros = len(rows) - n_ones
        is_cut = (n_ones >= k) & (n_zeros >= max(k, len(rows) // 2))
        if len(rows) // 2 >= k and is_cut.any():
            has_item = held[rows, int(is_cut.argmax())] == 1
            waiting += [rows[~has_item], rows[has_item]]
        else:
            group_of_row[rows] = n_groups
            n_groups += 1
    return number_by_first_row(group_of_row)


def bound_of(data: SetData, k: int, folder: Path) -> list[Measured]:
    """Return the similarity that no release of some data can exceed, by guarantee.

    Of several instances the mean; L Lemma 3.2, turned around (``incrowd.sets.bounds``).
    """
    found: dict[str, list[float]] = {"smooth": [], "suppression": []}
    started = time.process_time()
    for sets in data.instances(folder):
        changed = least_changes_of(sets, np.full(sets.n_rows, k, dtype=np.int64))
        for guarantee, bounds in found.items():
            adds = guarantee != "suppression"
            bounds.append(similarity_at_most(sets.n_entries, changed, adds_entries=adds))
    took = {"k": k, "cpu_seconds": round(time.process_time() - started, 3)}
    means = {guarantee: statistics.fmean(bounds) for guarantee, bounds in found.items()}
    return [{"data": data.record(folder), **took, "jaccard_at_most": means}]


GROUPINGS: dict[str, Callable[[Sets, int, int], Groups]] = {
    "divided": divided_clusters,
    "first-column": first_column_groups,
}
"""By name, as a case has it in the place of a method; from sets, k and a seed."""

"""Count queries on a table and what its release answers: a workload drawn by a seed.

A query counts the rows that meet some predicates about quasi-identifying columns and, where there
is a sensitive column, have one of its values. A predicate about numbers is a range, about other
values a choice of them; each holds for about the same share of the rows. Queries about the same
columns are answered together, from the counts of the combinations that occur in these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.utility.cells import Codes, Column, Numbers


@dataclass(frozen=True)
class Workload:
    """What is asked: how many queries, of how many predicates, met by about which share of rows.

    ``selectivity`` is the share that would meet all predicates about quasi-identifying columns if
    these were independent. The error of a query is |answer − truth| / max(truth, bound), and the
    bound is ``bound_share`` of the rows, at least one row, so that a query about next to nobody
    does not count for all.
    """

    n_queries: int = 1_000
    n_predicates: int = 2
    selectivity: float = 0.1
    bound_share: float = 0.001
    seed: int = 0

    def bound(self, n_rows: int) -> float:
        """Return the least count that an error is held against."""
        return max(1.0, self.bound_share * n_rows)


@dataclass(frozen=True, eq=False)
class Query:
    """Predicates by the place of their column: which values of it are meant."""

    columns: tuple[int, ...]
    meant: tuple[NDArray[np.bool_], ...]


@dataclass(frozen=True, eq=False)
class Answers:
    """What is true and what the release says, query by query, and which columns each is about."""

    true: Numbers
    said: Numbers
    columns: list[tuple[int, ...]]


def answers(columns: Sequence[Column], workload: Workload) -> Answers:
    """Ask every query of the workload before and after."""
    quasi = [place for place, one in enumerate(columns) if one.role == "quasi-identifying"]
    sensitive = [place for place, one in enumerate(columns) if one.role == "sensitive"]
    about = _columns_asked(quasi, sensitive, workload)
    true, said = np.zeros(len(about)), np.zeros(len(about))
    for asked in dict.fromkeys(about):
        of_columns = [columns[place] for place in asked]
        before = _combinations([one.before for one in of_columns])
        after = _combinations([one.after for one in of_columns])
        for number in [number for number, other in enumerate(about) if other == asked]:
            query = query_of(columns, asked, number, workload)
            flags = [meant.astype(np.float64) for meant in query.meant]
            true[number] = _expected(before, flags)
            shares = [one.share_under(m) for one, m in zip(of_columns, query.meant, strict=True)]
            said[number] = _expected(after, shares)
    return Answers(true, said, about)


def query_of(
    columns: Sequence[Column], asked: tuple[int, ...], number: int, workload: Workload
) -> Query:
    """Return a query of the workload by its number: its draws depend on nothing else."""
    draw = np.random.default_rng([workload.seed, 1 + number])
    n_quasi = sum(columns[place].role == "quasi-identifying" for place in asked)
    share = workload.selectivity ** (1 / max(n_quasi, 1))
    meant = [
        _one_value(columns[place], draw)
        if columns[place].role == "sensitive"
        else _about(columns[place], share, draw)
        for place in asked
    ]
    return Query(asked, tuple(meant))


def _columns_asked(
    quasi: list[int], sensitive: list[int], workload: Workload
) -> list[tuple[int, ...]]:
    draw = np.random.default_rng([workload.seed, 0])
    n_known = min(workload.n_predicates, len(quasi))
    about = []
    for _ in range(workload.n_queries):
        asked = sorted(draw.choice(quasi, n_known, replace=False).tolist())
        if sensitive:
            asked.append(int(draw.choice(sensitive)))
        about.append(tuple(asked))
    return about


def _about(column: Column, share: float, draw: np.random.Generator) -> NDArray[np.bool_]:
    """Return values that about so large a share of the rows has: a range, or a choice."""
    count = column.counted(column.before)
    if column.numbers is not None and bool(count[~column.is_missing].any()):
        return _range(column.numbers, count, share, draw)
    meant = np.zeros(column.n_values, dtype=np.bool_)
    values = draw.permutation(np.flatnonzero(count))
    n_taken = int(np.searchsorted(np.cumsum(count[values]), share * len(column.before))) + 1
    meant[values[:n_taken]] = True
    return meant


def _range(
    numbers: Numbers, count: Numbers, share: float, draw: np.random.Generator
) -> NDArray[np.bool_]:
    """Return the values between two numbers that about so large a share of the rows lies within."""
    values = np.flatnonzero((count > 0) & ~np.isnan(numbers))
    values = values[np.argsort(numbers[values], kind="stable")]
    running = np.cumsum(count[values])
    start = draw.uniform(0, 1 - share) * running[-1]
    low = int(np.searchsorted(running, start, side="right"))
    high = int(np.searchsorted(running, start + share * running[-1], side="left"))
    low, high = min(low, len(values) - 1), min(high, len(values) - 1)
    return np.asarray((numbers >= numbers[values[low]]) & (numbers <= numbers[values[high]]))


def _one_value(column: Column, draw: np.random.Generator) -> NDArray[np.bool_]:
    """Return the value of some row."""
    meant = np.zeros(column.n_values, dtype=np.bool_)
    if len(column.before):
        meant[column.before[draw.integers(len(column.before))]] = True
    return meant


def _combinations(codes: Sequence[Codes]) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Return the combinations that occur, a list of codes per column, and how often each does."""
    sizes = [int(one.max(initial=0)) + 1 for one in codes]
    key = np.zeros(len(codes[0]), dtype=np.int64)
    for one, size in zip(codes, sizes, strict=True):
        key = key * size + one
    distinct, counts = _counted(key, math.prod(sizes))
    parts = []
    for size in reversed(sizes):
        distinct, part = np.divmod(distinct, size)
        parts.append(part)
    return parts[::-1], counts


def _counted(key: NDArray[np.int64], n_keys: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys and how often each occurs; few possible ones are not sorted."""
    if n_keys > 4 * len(key) + 4096:
        return np.unique(key, return_counts=True)
    counts = np.bincount(key, minlength=n_keys)
    distinct = np.flatnonzero(counts)
    return distinct, counts[distinct]


def _expected(
    found: tuple[list[NDArray[np.int64]], NDArray[np.int64]], chances: Sequence[Numbers]
) -> float:
    """Return how many rows are expected to meet all predicates, each met by chance of its own."""
    parts, counts = found
    product = counts.astype(np.float64)
    for part, chance in zip(parts, chances, strict=True):
        product *= chance[part]
    return float(product.sum())

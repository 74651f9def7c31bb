"""The error of count queries (ARE): a workload drawn by a seed, and what a release answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd.guarantees.evidence import Finding
from incrowd.measures.losses.transactions import answer_queries, draw_held_queries
from incrowd.measures.utility.cells import Codes, Column, Numbers, columns_of, require_owner
from incrowd.measures.utility.set_statistics import members_of_released, require_set_owner
from incrowd.tables.table import Table
from incrowd.transactions.generalized import SUBSETS

if TYPE_CHECKING:
    from incrowd.checking.material import Material, SetMaterial, TableMaterial


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


def answer_workload(columns: Sequence[Column], workload: Workload) -> Answers:
    """Ask every query of the workload before and after."""
    quasi = [place for place, one in enumerate(columns) if one.role == "quasi-identifying"]
    sensitive = [place for place, one in enumerate(columns) if one.role == "sensitive"]
    about = _draw_columns(quasi, sensitive, workload)
    true, said = np.zeros(len(about)), np.zeros(len(about))
    for asked in dict.fromkeys(about):
        of_columns = [columns[place] for place in asked]
        before = _count_combinations([one.before for one in of_columns])
        after = _count_combinations([one.after for one in of_columns])
        for number in [number for number, other in enumerate(about) if other == asked]:
            query = draw_query(columns, asked, number, workload)
            flags = [meant.astype(np.float64) for meant in query.meant]
            true[number] = _expected_count(before, flags)
            shares = [one.share_under(m) for one, m in zip(of_columns, query.meant, strict=True)]
            said[number] = _expected_count(after, shares)
    return Answers(true, said, about)


def draw_query(
    columns: Sequence[Column], asked: tuple[int, ...], number: int, workload: Workload
) -> Query:
    """Return a query of the workload by its number: its draws depend on nothing else."""
    draw = np.random.default_rng([workload.seed, 1 + number])
    n_quasi = sum(columns[place].role == "quasi-identifying" for place in asked)
    share = workload.selectivity ** (1 / max(n_quasi, 1))
    meant = [
        _draw_value(columns[place], draw)
        if columns[place].role == "sensitive"
        else _draw_values(columns[place], share, draw)
        for place in asked
    ]
    return Query(asked, tuple(meant))


def _draw_columns(
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


def _draw_values(column: Column, share: float, draw: np.random.Generator) -> NDArray[np.bool_]:
    """Return values that about so large a share of the rows has: a range, or a choice."""
    count = column.counted(column.before)
    if column.numbers is not None and bool(count[~column.is_missing].any()):
        return _draw_range(column.numbers, count, share, draw)
    meant = np.zeros(column.n_values, dtype=np.bool_)
    values = draw.permutation(np.flatnonzero(count))
    n_taken = int(np.searchsorted(np.cumsum(count[values]), share * len(column.before))) + 1
    meant[values[:n_taken]] = True
    return meant


def _draw_range(
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


def _draw_value(column: Column, draw: np.random.Generator) -> NDArray[np.bool_]:
    """Return the value of some row."""
    meant = np.zeros(column.n_values, dtype=np.bool_)
    if len(column.before):
        meant[column.before[draw.integers(len(column.before))]] = True
    return meant


def _count_combinations(
    codes: Sequence[Codes],
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Return the combinations that occur, a list of codes per column, and how often each does."""
    sizes = [int(one.max(initial=0)) + 1 for one in codes]
    key = np.zeros(len(codes[0]), dtype=np.int64)
    for one, size in zip(codes, sizes, strict=True):
        key = key * size + one
    distinct, counts = _count_keys(key, math.prod(sizes))
    parts = []
    for size in reversed(sizes):
        distinct, part = np.divmod(distinct, size)
        parts.append(part)
    return parts[::-1], counts


def _count_keys(key: NDArray[np.int64], n_keys: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys and how often each occurs; few possible ones are not sorted."""
    if n_keys > 4 * len(key) + 4096:
        return np.unique(key, return_counts=True)
    counts = np.bincount(key, minlength=n_keys)
    distinct = np.flatnonzero(counts)
    return distinct, counts[distinct]


def _expected_count(
    found: tuple[list[NDArray[np.int64]], NDArray[np.int64]], chances: Sequence[Numbers]
) -> float:
    """Return how many rows are expected to meet all predicates, each met by chance of its own."""
    parts, counts = found
    product = counts.astype(np.float64)
    for part, chance in zip(parts, chances, strict=True):
        product *= chance[part]
    return float(product.sum())


# The error of count queries (ARE): what a release answers beside what is true.

NAME = "utility: queries"
DIGITS = 6
ITEMSET_SIZES = (1, 2, 3)


def queries_finding(material: Material, workload: Workload | None = None) -> Finding:
    """Ask a workload of count queries of a release and of its original.

    The average relative error is the mean of |answer − truth| / max(truth, bound). Of a table the
    answer spreads each cell over the values under it, each as likely as any other; rows that were
    left out are in no answer. Of sets the answer is the number of released rows that show all
    items of the query; where items are generalized, its expectation.
    """
    asked = workload or Workload()
    if isinstance(material.released, Table):
        return _table_finding(material, asked)
    return _set_finding(material, asked)


def relative_errors(true: Numbers, said: Numbers, bound: float) -> Numbers:
    """Return |said − true| / max(true, bound), query by query."""
    return np.asarray(np.abs(said - true) / np.maximum(true, bound))


def _table_finding(material: TableMaterial, workload: Workload) -> Finding:
    columns = columns_of(material)
    n_rows = require_owner(material).before.n_rows
    found = answer_workload(columns, workload)
    bound = workload.bound(n_rows)
    errors = relative_errors(found.true, found.said, bound)
    figures = {
        **_figures(errors, found.true, n_rows, bound),
        "n_predicates": min(workload.n_predicates, require_owner(material).before.n_columns),
        "selectivity": workload.selectivity,
        "has_sensitive_value": bool(material.schema.sensitive),
        "seed": workload.seed,
        "by_column": _by_column(columns, found.columns, errors),
    }
    return _finding(figures)


def _set_finding(material: SetMaterial, workload: Workload) -> Finding:
    own = require_set_owner(material)
    n_rows = own.original.n_rows
    bound = workload.bound(n_rows)
    is_sensitive = own.is_sensitive
    if is_sensitive is None:
        is_sensitive = np.zeros(own.original.n_items, dtype=np.bool_)
    members = members_of_released(material)
    n_each = -(-workload.n_queries // len(ITEMSET_SIZES))
    by_size, every, true = [], [np.zeros(0)], [np.zeros(0)]
    for size in ITEMSET_SIZES:
        draw = np.random.default_rng([workload.seed, size])
        queries = draw_held_queries(own.original, is_sensitive, n_each, draw, size)
        if not queries:
            continue
        found = answer_queries(own.original, material.released, members, queries)
        of_size = found.true.astype(np.float64)
        errors = relative_errors(of_size, found.expected(SUBSETS), bound)
        by_size.append(
            {"n_items": size, "n_queries": len(queries), "are": round(float(errors.mean()), DIGITS)}
        )
        every.append(errors)
        true.append(of_size)
    figures = {
        **_figures(np.concatenate(every), np.concatenate(true), n_rows, bound),
        "seed": workload.seed,
        "by_size": by_size,
    }
    return _finding(figures)


def _figures(errors: Numbers, true: Numbers, n_rows: int, bound: float) -> dict[str, Any]:
    has_any = bool(len(errors))
    return {
        "are": round(float(errors.mean()), DIGITS) if has_any else None,
        "median_error": round(float(np.median(errors)), DIGITS) if has_any else None,
        "ninth_decile": round(float(np.quantile(errors, 0.9)), DIGITS) if has_any else None,
        "n_queries": len(errors),
        "n_empty": int((true == 0).sum()),
        "mean_selectivity": round(float(true.mean()) / max(n_rows, 1), DIGITS) if has_any else None,
        "bound": bound,
    }


def _by_column(
    columns: list[Column], asked: list[tuple[int, ...]], errors: Numbers
) -> dict[str, float]:
    """Return the mean error of the queries about each column."""
    found = {}
    for place, column in enumerate(columns):
        is_about = np.array([place in about for about in asked], dtype=np.bool_)
        if is_about.any():
            found[column.name] = round(float(errors[is_about].mean()), DIGITS)
    return found


def _finding(figures: dict[str, Any]) -> Finding:
    if figures["are"] is None:
        summary = "no count can be asked: the data have too few columns or items"
    else:
        summary = (
            f"{figures['n_queries']:,} random counts are off by {figures['are']:.1%} on average, "
            f"half of them by at most {figures['median_error']:.1%}"
        )
    return Finding(NAME, None, summary, figures, is_public=False)

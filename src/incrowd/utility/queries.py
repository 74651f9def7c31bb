"""The error of count queries (ARE): what a release answers beside what is true."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from incrowd.data.read_generalized import SUBSETS
from incrowd.data.table import Table
from incrowd.guarantees.evidence import Finding
from incrowd.metrics.item_queries import held_queries, item_answers
from incrowd.utility.cells import Column, Numbers, columns_of, owned
from incrowd.utility.items import members_behind, owned_sets
from incrowd.utility.table_queries import Workload, answers

if TYPE_CHECKING:
    from incrowd.figures.material import Material, SetMaterial, TableMaterial

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
        return _of_table(material, asked)
    return _of_sets(material, asked)


def relative_errors(true: Numbers, said: Numbers, bound: float) -> Numbers:
    """Return |said − true| / max(true, bound), query by query."""
    return np.asarray(np.abs(said - true) / np.maximum(true, bound))


def _of_table(material: TableMaterial, workload: Workload) -> Finding:
    columns = columns_of(material)
    n_rows = owned(material).before.n_rows
    found = answers(columns, workload)
    bound = workload.bound(n_rows)
    errors = relative_errors(found.true, found.said, bound)
    figures = {
        **_figures(errors, found.true, n_rows, bound),
        "n_predicates": min(workload.n_predicates, owned(material).before.n_columns),
        "selectivity": workload.selectivity,
        "has_sensitive_value": bool(material.schema.sensitive),
        "seed": workload.seed,
        "by_column": _by_column(columns, found.columns, errors),
    }
    return _finding(figures)


def _of_sets(material: SetMaterial, workload: Workload) -> Finding:
    own = owned_sets(material)
    n_rows = own.original.n_rows
    bound = workload.bound(n_rows)
    is_sensitive = own.is_sensitive
    if is_sensitive is None:
        is_sensitive = np.zeros(own.original.n_items, dtype=np.bool_)
    members = members_behind(material)
    n_each = -(-workload.n_queries // len(ITEMSET_SIZES))
    by_size, every, true = [], [np.zeros(0)], [np.zeros(0)]
    for size in ITEMSET_SIZES:
        draw = np.random.default_rng([workload.seed, size])
        queries = held_queries(own.original, is_sensitive, n_each, draw, size)
        if not queries:
            continue
        found = item_answers(own.original, material.released, members, queries)
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

"""What the columns say of each other and of themselves, before and after."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd.guarantees.evidence import Finding
from incrowd.measures.utility.cells import Codes, Column, Numbers, columns_of
from incrowd.measures.utility.set_statistics import NAME, set_statistics
from incrowd.tables.columns.types import days_as_text
from incrowd.tables.table import Table

if TYPE_CHECKING:
    from incrowd.checking.material import Material, TableMaterial


DIGITS = 6
MOST_BINS = 20
"""Columns with more values are cut into so many bins before they are held against others."""

MOST_COLUMNS = 60
"""Columns of which all pairs are looked at."""


def statistics_finding(material: Material) -> Finding:
    """Compare columns and pairs of columns, or items and pairs of items, before and after.

    A cell of a table is spread over the values under it, each as likely as any other. The distance
    of two distributions is their total variation: the share of rows that would have to change
    their value. The association between two columns is Cramér's V, from 0 to 1.
    """
    if isinstance(material.released, Table):
        return _table_finding(material)
    return set_statistics(material)


def _table_finding(material: TableMaterial) -> Finding:
    columns = columns_of(material)
    marginals = [compare_marginal(column) for column in columns]
    pairs = compare_associations(columns)
    distances = [one["distance"] for one in marginals if one["distance"] is not None]
    figures = {
        "mean_distance": _round(float(np.mean(distances))) if distances else None,
        "columns": marginals,
        "pairs": pairs,
    }
    words = []
    if distances:
        words.append(f"a column's distribution is {np.mean(distances):.1%} off on average")
    if pairs["mean_change"] is not None:
        words.append(
            f"the association between two columns (0 to 1) changes by {pairs['mean_change']:.3f}"
        )
    summary = "; ".join(words) or "no row was released"
    return Finding(NAME, None, summary, figures, is_public=False)


def compare_marginal(column: Column) -> dict[str, Any]:
    """Return how one column's distribution changed, and its mean and median where it has them."""
    before, after = column.counted(column.before), column.spread(column.after)
    figures: dict[str, Any] = {
        "column": column.name,
        "role": column.role,
        "distance": _distance(before, after),
        "n_values": int((before > 0).sum()),
        "share_kept": _round(float((column.after < column.n_values).mean()))
        if len(column.after)
        else None,
    }
    if column.numbers is not None:
        for word, weight in (("before", before), ("after", after)):
            found = _compare_numbers(column.numbers, weight, word)
            figures |= _days_as_dates(found) if column.is_date else found
    return figures


def _days_as_dates(figures: dict[str, float | None]) -> dict[str, float | str | None]:
    """Return means and medians of days as dates; deviations stay numbers of days."""
    return {
        name: number
        if number is None or name.startswith("deviation")
        else days_as_text([number])[0]
        for name, number in figures.items()
    }


def _distance(before: Numbers, after: Numbers) -> float | None:
    if not before.sum() or not after.sum():
        return None
    return _round(float(np.abs(before / before.sum() - after / after.sum()).sum() / 2))


def _compare_numbers(numbers: Numbers, weight: Numbers, word: str) -> dict[str, float | None]:
    is_number = ~np.isnan(numbers)
    values, weights = numbers[is_number], weight[is_number]
    total = float(weights.sum())
    if not total:
        return {f"mean_{word}": None, f"deviation_{word}": None, f"median_{word}": None}
    order = np.argsort(values, kind="stable")
    running = np.cumsum(weights[order])
    middle = int(np.searchsorted(running, total / 2 * (1 - 1e-12)))
    mean = float((values * weights).sum() / total)
    spread = float((weights * (values - mean) ** 2).sum() / total)
    return {
        f"mean_{word}": _round(mean),
        f"deviation_{word}": _round(spread**0.5),
        f"median_{word}": _round(float(values[order][min(middle, len(order) - 1)])),
    }


# ── pairs of columns ────────────────────────────────────────────────────────────────────────────


def compare_associations(columns: list[Column]) -> dict[str, Any]:
    """Return Cramér's V of every pair of columns, before and after, and how much it changed.

    Of very wide tables the first columns alone: pairs grow with the square of their number.
    """
    n_left_out = max(0, len(columns) - MOST_COLUMNS)
    columns = columns[:MOST_COLUMNS]
    names = [column.name for column in columns]
    bins = [bins_of(column) for column in columns]
    chances = [_bin_chances(*one) for one in zip(columns, bins, strict=True)]
    before = np.eye(len(columns))
    after = np.eye(len(columns))
    for one, other in combinations(range(len(columns)), 2):
        both = columns[one], columns[other]
        shares = chances[one], chances[other]
        for matrix, codes in (
            (before, (both[0].before, both[1].before)),
            (after, (both[0].after, both[1].after)),
        ):
            matrix[one, other] = matrix[other, one] = cramers_v(_expected_counts(codes, shares))
    upper = np.triu_indices(len(columns), 1)
    change = after - before
    has_pairs = bool(len(upper[0])) and all(len(column.after) for column in columns)
    largest = int(np.abs(change[upper]).argmax()) if has_pairs else -1
    return {
        "names": names,
        "before": np.round(before, DIGITS).tolist(),
        "after": np.round(after, DIGITS).tolist(),
        "change": np.round(change, DIGITS).tolist(),
        "mean_change": _round(float(np.abs(change[upper]).mean())) if has_pairs else None,
        "largest_change": {
            "columns": [names[upper[0][largest]], names[upper[1][largest]]],
            "change": _round(float(change[upper][largest])),
        }
        if has_pairs
        else None,
        "most_bins": MOST_BINS,
        "n_columns_left_out": n_left_out,
    }


def bins_of(column: Column) -> NDArray[np.int64]:
    """Return the bin of each value: its own where values are few.

    Many numbers are cut into bins of about equal numbers of rows, of other values the most common
    have a bin each and the rest share one. Missing has a bin of its own among numbers.
    """
    count = column.counted(column.before)
    if column.n_values <= MOST_BINS:
        return np.arange(column.n_values)
    if column.numbers is None:
        bins = np.full(column.n_values, MOST_BINS - 1)
        common = np.argsort(-count, kind="stable")[: MOST_BINS - 1]
        bins[common] = np.arange(len(common))
        return bins
    bins = np.full(column.n_values, MOST_BINS - 1)
    values = np.flatnonzero(~np.isnan(column.numbers))
    values = values[np.argsort(column.numbers[values], kind="stable")]
    running = np.cumsum(count[values])
    middle = running - count[values] / 2
    bins[values] = np.minimum(
        (middle * (MOST_BINS - 1) / max(float(running[-1]), 1.0)).astype(np.int64), MOST_BINS - 2
    )
    return bins


def _bin_chances(column: Column, bin_of_value: NDArray[np.int64]) -> Numbers:
    """Return the chance of each bin at every node: ``chance[node, bin]``."""
    n_bins = int(bin_of_value.max(initial=0)) + 1
    return np.stack([column.share_under(bin_of_value == one) for one in range(n_bins)], axis=1)


def _expected_counts(codes: tuple[Codes, Codes], shares: tuple[Numbers, Numbers]) -> Numbers:
    """Return how many rows are expected to have each pair of bins."""
    width = np.int64(len(shares[1]))
    pairs, counts = np.unique(codes[0] * width + codes[1], return_counts=True)
    first, second = np.divmod(pairs, width)
    return np.asarray(shares[0][first].T @ (counts[:, None] * shares[1][second]))


def cramers_v(counts: Numbers) -> float:
    """Return Cramér's V of a table of counts, 0 where a side has one value only.

    V² = χ² / (n · min(rows − 1, columns − 1)), over the rows and columns that have any count.
    """
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    smaller = min(counts.shape, default=0) - 1
    if smaller < 1:
        return 0.0
    total = counts.sum()
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / total
    chi_squared = float(((counts - expected) ** 2 / expected).sum())
    return float(min(1.0, (chi_squared / (total * smaller)) ** 0.5))


def _round(number: float) -> float:
    return round(number, DIGITS)

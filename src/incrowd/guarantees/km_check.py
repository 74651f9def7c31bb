"""The check of kᵐ-anonymity: every set of up to m public items that a transaction shows.

Sizes are taken one after the other. A set that is too rare makes every set that contains it too
rare, so the first size with broken sets decides, and larger ones are not counted then.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from incrowd.data.sets import Sets
from incrowd.guarantees.evidence import MOST_ROWS_NAMED, Finding
from incrowd.guarantees.released_items import inferred_items, read_items
from incrowd.guarantees.rule_truth import owner_findings, require_transactions
from incrowd.guarantees.rules import KmAnonymity, RuleEvidence
from incrowd.guarantees.set_groups import equal_rows

ENTRIES_OF_FIRSTS = 1 << 23
"""Entries whose items are taken as first items together: bounds the memory of the count."""

_NONE_YET = np.iinfo(np.int64).max


def check_km(guarantee: KmAnonymity, evidence: RuleEvidence) -> list[Finding]:
    """Return what was found of released items, of every shown set of them, and of the truth."""
    require_transactions(evidence)
    inferred = frozenset() if evidence.rules is None else inferred_items(evidence.rules)
    shown, items = read_items(evidence.released, evidence.sensitive | inferred)
    findings = [items]
    if shown is not None:
        public = _without(evidence.released, shown.is_sensitive)
        n_sensitive = int(np.count_nonzero(shown.is_sensitive))
        findings.append(_shown_sets(guarantee, public, n_sensitive))
    return findings + owner_findings(evidence, shown)


def _without(released: Sets, is_left_out: NDArray[np.bool_]) -> Sets:
    """Return the transactions without these items."""
    if not is_left_out.any():
        return released
    is_kept = ~is_left_out[released.items]
    n_kept = np.concatenate([[0], np.cumsum(is_kept)])
    return released.with_entries(n_kept[released.starts], released.items[is_kept])


def _shown_sets(guarantee: KmAnonymity, public: Sets, n_sensitive: int) -> Finding:
    groups = equal_rows(public)
    # distinct: one row per set of public items, which stands for ``weight`` transactions
    distinct = public.take(groups.first_row)
    weight = groups.size
    figures: dict[str, object] = {
        "k": guarantee.k,
        "m": guarantee.m,
        "n_rows": public.n_rows,
        "n_distinct": distinct.n_rows,
        "n_sensitive": n_sensitive,
    }
    least_of_all = None
    n_sets = n_broken = 0
    is_exposed = np.zeros(distinct.n_rows, dtype=np.bool_)
    counted = 0
    for size in range(1, guarantee.m + 1):
        tally = _tally(distinct, weight, size, guarantee.k, is_exposed)
        counted, (n_sets, n_broken, least) = size, tally
        figures[f"n_sets_of_{size}"] = n_sets
        figures[f"least_of_{size}"] = least if n_sets else None
        if n_sets:
            least_of_all = least if least_of_all is None else min(least, least_of_all)
        if n_broken:
            break
    n_exposed = int(weight[is_exposed].sum())
    figures |= {
        "counted_up_to": counted,
        "least_support": least_of_all,
        "n_broken": n_broken,
        "n_exposed": n_exposed,
    }
    if least_of_all is None:
        summary = "no transaction shows a public item"
    elif n_broken:
        what = "items" if counted == 1 else f"sets of {counted} items"
        summary = (
            f"{n_broken:,} of {n_sets:,} shown {what} are shown by fewer than k = {guarantee.k} "
            f"transactions, the rarest by {least_of_all:,}; {n_exposed:,} transactions show one"
        )
        if counted < guarantee.m:
            summary += ", and larger sets were not counted"
    else:
        what = "item" if guarantee.m == 1 else f"set of up to {guarantee.m} items"
        summary = f"every shown {what} is shown by at least {least_of_all:,} transactions"
    exposed_rows = np.flatnonzero(is_exposed[groups.group_of_row])[:MOST_ROWS_NAMED]
    return Finding(
        guarantee.name,
        n_broken == 0,
        summary,
        figures,
        tuple(int(row) + 1 for row in exposed_rows),
    )


def _tally(
    distinct: Sets,
    weight: NDArray[np.int64],
    size: int,
    k: int,
    is_exposed: NDArray[np.bool_],
) -> tuple[int, int, int]:
    """Return how many sets of a size are shown, how many below k, and the least support.

    Rows that show one below k become exposed.
    """
    row_of_entry = np.repeat(np.arange(distinct.n_rows), distinct.sizes)
    if size == 1:
        support = np.zeros(distinct.n_items, dtype=np.int64)
        np.add.at(support, distinct.items, weight[row_of_entry])
        is_broken = (support > 0) & (support < k)
        is_exposed[row_of_entry[is_broken[distinct.items]]] = True
        shown = support[support > 0]
        return len(shown), int(np.count_nonzero(is_broken)), int(shown.min(initial=_NONE_YET))
    from incrowd.guarantees.km_loops import count_shown

    tally = np.array([0, 0, _NONE_YET], dtype=np.int64)
    for low, high in _firsts(distinct):
        count_shown(
            distinct.starts,
            distinct.items,
            weight,
            distinct.n_items,
            low,
            high,
            size == 3,
            k,
            is_exposed,
            tally,
        )
    n_sets, n_broken, least = tally.tolist()
    return n_sets, n_broken, least


def _firsts(sets: Sets) -> Iterator[tuple[int, int]]:
    """Cut the items into runs that hold about ``ENTRIES_OF_FIRSTS`` entries together."""
    ends = np.cumsum(np.bincount(sets.items, minlength=sets.n_items))
    low = 0
    while low < sets.n_items:
        before = ends[low - 1] if low else 0
        high = int(np.searchsorted(ends, before + ENTRIES_OF_FIRSTS, side="right"))
        high = min(max(high, low + 1), sets.n_items)
        yield low, high
        low = high

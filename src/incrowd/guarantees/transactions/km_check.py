"""The check of kᵐ-anonymity: every set of up to m public items that a transaction shows.

Sizes are taken one after the other. A set that is too rare makes every set that contains it too
rare, so the first size with broken sets decides, and larger ones are not counted then.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.guarantees.evidence import MOST_ROWS_NAMED, Finding
from incrowd.guarantees.sets.check import equal_rows
from incrowd.guarantees.transactions.promises import KmAnonymity, RuleEvidence
from incrowd.guarantees.transactions.rule_check import (
    inferred_items,
    owner_findings,
    read_items,
    require_transactions,
)
from incrowd.sets.names import item_names_of
from incrowd.sets.sets import Sets
from incrowd.threads import iter_in_threads, n_threads

ENTRIES_OF_FIRSTS = 1 << 23
"""Entries whose items are taken as first items together: bounds the memory of the count."""

ENTRIES_PER_THREAD = 100_000
"""Fewer entries are counted sooner than a thread is started."""

_NONE_YET = np.iinfo(np.int64).max


def check_km(guarantee: KmAnonymity, evidence: RuleEvidence) -> list[Finding]:
    """Return what was found of released items, of every shown set of them, and of the truth."""
    require_transactions(evidence)
    inferred = frozenset() if evidence.rules is None else inferred_items(evidence.rules)
    released = evidence.released
    sensitive = evidence.sensitive | inferred
    shown, items = read_items(item_names_of(released), released.n_repeated, sensitive)
    findings = [items]
    if shown is not None:
        public = _without(released, shown.is_sensitive)
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
    figures: dict[str, object] = {
        "k": guarantee.k,
        "m": guarantee.m,
        "n_rows": public.n_rows,
        "n_sensitive": n_sensitive,
    }
    n_sets, n_broken, least, is_exposed = _single_items(public, guarantee.k)
    figures |= {"n_sets_of_1": n_sets, "least_of_1": least}
    least_of_all, counted = least, 1
    if guarantee.m > 1 and not n_broken:
        groups = equal_rows(public)
        # distinct: one row per set of public items, which stands for so many transactions
        distinct = public.take(groups.first_row)
        figures["n_distinct"] = distinct.n_rows
        is_exposed_group = np.zeros(distinct.n_rows, dtype=np.bool_)
        while counted < guarantee.m and not n_broken:
            counted += 1
            n_sets, n_broken, least = _tally(
                distinct, groups.size, counted, guarantee.k, is_exposed_group
            )
            figures |= {f"n_sets_of_{counted}": n_sets, f"least_of_{counted}": least}
            if least is not None and least_of_all is not None:
                least_of_all = min(least, least_of_all)
        is_exposed = is_exposed_group[groups.group_of_row]
    n_exposed = int(np.count_nonzero(is_exposed))
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
    exposed_rows = np.flatnonzero(is_exposed)[:MOST_ROWS_NAMED]
    return Finding(
        guarantee.name,
        n_broken == 0,
        summary,
        figures,
        tuple(int(row) + 1 for row in exposed_rows),
    )


def _single_items(public: Sets, k: int) -> tuple[int, int, int | None, NDArray[np.bool_]]:
    """Return how many items are shown, how many below k, the least support, and rows with one."""
    support = np.bincount(public.items, minlength=public.n_items)
    shown = support[support > 0]
    is_broken = (support > 0) & (support < k)
    is_exposed = np.zeros(public.n_rows, dtype=np.bool_)
    if is_broken.any():
        entries = np.flatnonzero(is_broken[public.items])
        is_exposed[np.searchsorted(public.starts, entries, side="right") - 1] = True
    least = int(shown.min()) if len(shown) else None
    return len(shown), int(np.count_nonzero(is_broken)), least, is_exposed


def _tally(
    distinct: Sets,
    weight: NDArray[np.int64],
    size: int,
    k: int,
    is_exposed: NDArray[np.bool_],
) -> tuple[int, int, int | None]:
    """Return how many pairs or triples are shown, how many below k, and the least support.

    Rows that show one below k become exposed.
    """
    from incrowd.guarantees.transactions.kernels import count_shown

    def count(firsts: tuple[int, int]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        tally = np.array([0, 0, _NONE_YET], dtype=np.int64)
        is_exposed = np.zeros(distinct.n_rows, dtype=np.bool_)
        count_shown(
            distinct.starts,
            distinct.items,
            weight,
            distinct.n_items,
            *firsts,
            size == 3,
            k,
            is_exposed,
            tally,
        )
        return tally, is_exposed

    n_sets, n_broken, least = 0, 0, _NONE_YET
    runs = _firsts(distinct, n_threads())
    for tally, is_exposed_by_run in iter_in_threads(count, runs) if runs[1:] else map(count, runs):
        is_exposed |= is_exposed_by_run
        n_sets, n_broken = n_sets + int(tally[0]), n_broken + int(tally[1])
        least = min(least, int(tally[2]))
    return n_sets, n_broken, least if n_sets else None


def _firsts(sets: Sets, n_threads: int) -> list[tuple[int, int]]:
    """Cut the items into runs for threads that hold ``ENTRIES_OF_FIRSTS`` entries together."""
    ends = np.cumsum(np.bincount(sets.items, minlength=sets.n_items))
    n_entries = max(ENTRIES_OF_FIRSTS // n_threads, 1)
    if n_threads > 1 and sets.n_entries >= n_threads * ENTRIES_PER_THREAD:
        n_entries = min(n_entries, -(-sets.n_entries // n_threads))
    runs = []
    low = 0
    while low < sets.n_items:
        before = ends[low - 1] if low else 0
        high = int(np.searchsorted(ends, before + n_entries, side="right"))
        high = min(max(high, low + 1), sets.n_items)
        runs.append((low, high))
        low = high
    return runs

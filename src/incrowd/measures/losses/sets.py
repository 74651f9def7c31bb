"""What released sets lost and gained, as a pure function of (before, after)."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.sets.order import NO_ITEM, match_items
from incrowd.sets.sets import Sets, row_blocks


@dataclass(frozen=True)
class SetLosses:
    """How far released sets E′ are from the original ones E, entries being (row, item) pairs.

    ``jaccard``: |E ∩ E′| / |E ∪ E′|, 1 where both are empty; higher is better. ``suppressed`` and
    ``created``: |E − E′| and |E′ − E| as shares of |E| (Esfandiari et al. 2022, Table 1); the
    second may exceed 1. ``item_error``: the mean over items that somebody had of
    |rows that show it − rows that had it| / rows that had it. ``count_error``: the same
    differences summed over all items, as a share of |E|, so that common items weigh more.
    ``size_error``: the mean over rows of |items shown − items had|.
    """

    jaccard: float
    suppressed: float
    created: float
    item_error: float
    count_error: float
    size_error: float
    n_entries_before: int
    n_entries_after: int
    n_kept: int

    def as_dict(self) -> dict[str, float | int]:
        """Return the figures by name."""
        return asdict(self)


ENTRIES_AT_ONCE = 1 << 20
"""Entries that are compared together: what a comparison needs besides the sets stays small."""


def measure_set_losses(
    before: Sets,
    after: Sets,
    *,
    original_row: NDArray[np.int64] | None = None,
    original_item: NDArray[np.int64] | None = None,
) -> SetLosses:
    """Compare released sets with the original ones, row by row.

    ``original_row[released row]`` and ``original_item[released item]`` say which is which; without
    them rows are compared by place and items by name. O(entries · log), in blocks of rows.
    """
    if after.n_rows != before.n_rows:
        raise ValueError("a release of sets has as many rows as its original")
    item_of = match_items(after, before) if original_item is None else original_item
    rows = np.arange(after.n_rows) if original_row is None else np.argsort(original_row)
    width = np.int64(max(before.n_items, 1))
    change = np.zeros(before.n_items, dtype=np.int64)
    had = np.zeros(before.n_items, dtype=np.int64)
    n_kept = n_unknown = size_change = 0
    for first, end in row_blocks(before.starts, ENTRIES_AT_ONCE):
        old, new = before.take(np.arange(first, end)), after.take(rows[first:end])
        items = item_of[new.items]
        row_of_entry = np.repeat(np.arange(end - first), new.sizes)
        is_known = items != NO_ITEM
        mine = np.repeat(np.arange(end - first), old.sizes) * width + old.items
        theirs = row_of_entry[is_known] * width + items[is_known]
        n_kept += int(np.isin(theirs, mine, assume_unique=True).sum())
        n_unknown += int(np.count_nonzero(~is_known))
        size_change += int(np.abs(new.sizes - old.sizes).sum())
        of_block = np.bincount(old.items, minlength=before.n_items)
        had += of_block
        change += np.bincount(items[is_known], minlength=before.n_items) - of_block
    n_before, n_after = before.n_entries, after.n_entries
    n_union = n_before + n_after - n_kept
    is_had = had > 0
    error = np.abs(change)
    return SetLosses(
        jaccard=n_kept / n_union if n_union else 1.0,
        suppressed=(n_before - n_kept) / max(n_before, 1),
        created=(n_after - n_kept) / max(n_before, 1),
        item_error=float((error[is_had] / had[is_had]).mean()) if is_had.any() else 0.0,
        count_error=(int(error.sum()) + n_unknown) / max(n_before, 1),
        size_error=size_change / max(before.n_rows, 1),
        n_entries_before=n_before,
        n_entries_after=n_after,
        n_kept=n_kept,
    )

"""The release of a grouping of sets, by NumPy alone: what a group's vote (half) shows."""

from __future__ import annotations

import numpy as np

from incrowd.sets.sets import Sets


def shown_by(sets, group_of_row, kind, k):
    """Return what every row shows: each item that its group may show."""
    n_groups = int(group_of_row.max()) + 1
    size = np.bincount(group_of_row, minlength=n_groups)
    group_of_entry = group_of_row[np.repeat(np.arange(sets.n_rows), sets.sizes)].astype(np.int64)
    cells, holders = np.unique(group_of_entry * sets.n_items + sets.items, return_counts=True)
    group = cells // sets.n_items
    is_shown = {
        "smooth": 2 * holders >= size[group],
        "majority": 2 * holders >= k,
        "suppression": holders == size[group],
    }[kind]
    n_shown = np.bincount(group[is_shown], minlength=n_groups)
    starts = np.concatenate([[0], np.cumsum(n_shown)]).astype(np.int64)
    items = (cells[is_shown] % sets.n_items).astype(np.int32)
    return Sets(starts, items, sets.n_items).take(group_of_row.astype(np.int64))

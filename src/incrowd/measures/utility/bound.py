"""How like its original a release of sets is, beside the most that any release could be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd.guarantees.evidence import Finding
from incrowd.measures.losses.sets import measure_set_losses
from incrowd.measures.utility.set_statistics import require_set_owner
from incrowd.sets.bounds import least_changes, similarity_at_most
from incrowd.sets.sets import Sets
from incrowd.threads import map_ranges

if TYPE_CHECKING:
    from incrowd.checking.material import SetMaterial
    from incrowd.guarantees.sets.promises import Majority, Smooth, Suppression

NAME = "utility: bound"

SETS_AT_ONCE = 1024
"""Of at least so many distinct sets one thread sums the distances to the nearest."""


def bound_finding(material: SetMaterial, promise: Smooth | Majority | Suppression) -> Finding:
    """Compare the release's similarity with what no release under this promise can exceed.

    The bound is the k nearest rows' (``sets.bounds``): O(rows · holders of a row's items).
    """
    own = require_set_owner(material)
    losses = measure_set_losses(
        own.original,
        material.released,
        original_row=own.original_row,
        original_item=own.original_item,
    )
    need = np.full(own.original.n_rows, promise.k, dtype=np.int64)
    if own.k_of_row is not None:
        need = np.maximum(need, own.k_of_row)
    changed = least_changes_of(own.original, need)
    adds_entries = promise.name != "suppression"
    at_most = similarity_at_most(own.original.n_entries, changed, adds_entries=adds_entries)
    figures: dict[str, Any] = {
        "jaccard": losses.jaccard,
        "jaccard_at_most": at_most,
        "share_of_best": losses.jaccard / at_most if at_most else 1.0,
        "least_changed_entries": changed,
    }
    summary = (
        f"the Jaccard similarity is {losses.jaccard:.4f}, and no release under this guarantee "
        f"exceeds {at_most:.4f}: at least {figures['share_of_best']:.1%} of the best possible"
    )
    return Finding(NAME, None, summary, figures, is_public=False)


def least_changes_of(sets: Sets, need: NDArray[np.int64]) -> int:
    """Return how many entries change at least in any release with groups of this size."""
    from incrowd.kernels.item_rows import invert_rows
    from incrowd.kernels.near_rows import distinct_rows, rows_by_size, sum_nearest

    firsts, distinct_of_row, n_rows = distinct_rows(sets.starts, sets.items)
    least_need = np.full((1, len(firsts)), sets.n_rows, dtype=np.int64)
    np.minimum.at(least_need[0], distinct_of_row, need)
    different = sets.take(firsts)
    holder_starts, holders = invert_rows(different.starts, different.items, sets.n_items)
    rows_of_size = rows_by_size(different.starts, n_rows)
    nearest = np.empty_like(least_need)

    def sum_up(first: int, end: int) -> None:
        sum_nearest(
            first,
            end,
            different.starts,
            different.items,
            holder_starts,
            holders,
            n_rows,
            least_need,
            rows_of_size,
            nearest,
        )

    map_ranges(sum_up, len(firsts), SETS_AT_ONCE)
    return least_changes(n_rows, least_need[0], nearest[0])

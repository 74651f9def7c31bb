"""Non-uniform entropy: how many bits a reader must guess to get the original values back."""

from __future__ import annotations

import numpy as np

from incrowd.data.hierarchy import Hierarchy
from incrowd.errors import DataError
from incrowd.metrics.tally import Counts, Tally, weighed


def non_uniform_entropy(tally: Tally) -> float:
    """Return the bits lost over the bits that can be lost, 0 where every column is constant.

    A cell of value a shown as node g costs −log₂(n(a) / n(g)), with n(·) the original rows whose
    value lies at or under it (Gionis & Tassa 2009). For full-domain recoding this is ARX's figure
    (after de Waal & Willenborg 1999). Deviation for local recoding: ARX counts, level by level,
    only the rows generalized at least that far; here n(·) is always the original's, so that
    generalizing one more cell never lowers the loss.
    """
    lost = largest = 0.0
    for hierarchy, before, after in zip(tally.hierarchies, tally.before, tally.after, strict=True):
        rows_under = _rows_under(hierarchy, before)
        if not rows_under[after > 0].all():
            raise DataError(
                f"column {hierarchy.name!r}: cells are shown as nodes that no original value lies "
                "under",
                remedy="A loss can only be measured where every cell was generalized upwards.",
            )
        bits = np.log2(np.maximum(rows_under, 1))
        all_at_root = np.zeros_like(before)
        all_at_root[hierarchy.root] = tally.n_rows
        lost += weighed(after - before, bits)
        largest += weighed(all_at_root - before, bits)
    return lost / largest if largest > 0 else 0.0


def _rows_under(hierarchy: Hierarchy, counts: Counts) -> Counts:
    """Return how many of the counted cells lie at or under each node."""
    rows_under = counts.copy()
    if hierarchy.runs is not None:
        rows_under[hierarchy.n_nodes :] = hierarchy.runs.under_further(counts[: hierarchy.n_leaves])
    for depth in range(int(hierarchy.depth.max()), 0, -1):
        nodes = np.flatnonzero(hierarchy.depth == depth)
        np.add.at(rows_under, hierarchy.parent[nodes], rows_under[nodes])
    return rows_under

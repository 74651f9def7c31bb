"""Precision: how far up its hierarchy each cell stands."""

from __future__ import annotations

from incrowd.metrics.tally import Tally, weighed


def precision(tally: Tally) -> float:
    """Return 1 − the mean over cells of the node's height over its tree's height.

    Sweeney 2002, whose hierarchies have all leaves at one depth; elsewhere a node's height is its
    longest way down to a leaf, and a range beyond the tree counts as the least node above it.
    """
    if tally.n_cells == 0:
        return 1.0
    climbed = 0.0
    for hierarchy, after in zip(tally.hierarchies, tally.after, strict=True):
        share = hierarchy.height / hierarchy.height[hierarchy.root]
        climbed += weighed(after, hierarchy.over_all_nodes(share))
    return 1.0 - climbed / tally.n_cells

"""The loss under costs that a user stated node by node."""

from __future__ import annotations

import math

import numpy as np

from incrowd.data.costs import costs_by_depth
from incrowd.data.dataset import Rows


def share_of_stated_costs(before: Rows, after: Rows, metric: str) -> float:
    """Return μ(T) / μ(T*): what the release costs over what all rows at the roots cost.

    A cell costs what its column's matrix says of its original node and its released one, or what
    the metric says where the column has none; a suppressed row costs all cells at the root. It is
    0 where nothing can be lost. Unlike other losses it may be above 1: a matrix need not make the
    root the dearest.
    """
    lost = dearest = 0.0
    for hierarchy, old, new in zip(before.hierarchies, before.nodes, after.nodes, strict=True):
        costs = costs_by_depth(hierarchy, metric)
        released = np.where(after.is_suppressed, hierarchy.root, new)
        pairs, counts = np.unique(
            old.astype(np.int64) * hierarchy.n_nodes + released, return_counts=True
        )
        nodes, above = pairs // hierarchy.n_nodes, pairs % hierarchy.n_nodes
        lost += math.fsum((counts * costs[nodes, hierarchy.depth[above]]).tolist())
        dearest += math.fsum((counts * costs[nodes, 0]).tolist())
    return lost / dearest if dearest > 0 else 0.0

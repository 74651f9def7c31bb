"""The loss of a table that was searched in parts, as the paper adds it up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.data.costs import costs_by_depth
from incrowd.data.dataset import Rows
from incrowd.data.hierarchy import Hierarchy
from incrowd.data.prices import cost_to_root


def loss_by_parts(
    before: Rows,
    released: NDArray[np.int32],
    part_of_row: NDArray[np.int64],
    metric: str,
    n_of_row: NDArray[np.int64] | None = None,
) -> float:
    """Return the mean of the parts' own losses, weighed by their rows (equation 2).

    A part's loss is what its cells cost over what they would cost at the roots, from 0 to 1. Where
    every leaf costs the same, as under ``loss`` and ``ncp``, this is the loss of the whole; under
    ``nllm`` it differs a little. ``released[column, row]``: below 0 is a row that is left out;
    there are ``n_of_row[row]`` of each, or one.
    """
    n_each = np.ones(before.n_rows, dtype=np.int64) if n_of_row is None else n_of_row
    lost = np.zeros(int(part_of_row.max(initial=0)) + 1)
    dearest = np.zeros_like(lost)
    for hierarchy, old, new in zip(before.hierarchies, before.nodes, released, strict=True):
        above = np.where(new < 0, hierarchy.root, new)
        price, most = _prices(hierarchy, old, above, metric)
        lost += np.bincount(part_of_row, weights=price * n_each, minlength=len(lost))
        dearest += np.bincount(part_of_row, weights=most * n_each, minlength=len(lost))
    share = np.divide(lost, dearest, out=np.zeros_like(lost), where=dearest > 0)
    n_rows = np.bincount(part_of_row, weights=n_each, minlength=len(lost))
    return float(share @ n_rows) / max(1, int(n_rows.sum()))


def _prices(
    hierarchy: Hierarchy, old: NDArray[np.int32], above: NDArray[np.int32], metric: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each row's cell costs, and what it costs at the root."""
    if hierarchy.costs is not None:
        costs = costs_by_depth(hierarchy, metric)
        return costs[old, hierarchy.depth[above]], costs[old, 0]
    to_root = cost_to_root(hierarchy, metric)
    return to_root[old] - to_root[above], to_root[old]

"""What a table from elsewhere loses, by the prices of our own losses.

A cell may be a node of the column's hierarchy, a range of numbers (``17-23``) or a list of values
(``a,b``): what it covers is what it costs. A row that is missing costs all that there is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from incrowd.errors import DataError
from incrowd.hierarchies.costs import cost_to_root
from incrowd.hierarchies.tree import Hierarchy

_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)\s*-\s*(-?\d+(?:\.\d+)?)")


def priced(
    cells: Mapping[str, Sequence[str]],
    counts: Sequence[int],
    hierarchies: Sequence[Hierarchy],
    n_rows: int,
) -> dict[str, float]:
    """Return ``loss`` and ``ncp`` of released cells, each line standing for ``counts`` rows."""
    weights = np.asarray(counts, dtype=np.int64)
    n_missing = n_rows - int(weights.sum())
    if n_missing < 0:
        raise DataError(f"{-n_missing} more rows were released than there were")
    lost = {"loss": 0.0, "ncp": 0.0}
    for hierarchy in hierarchies:
        texts, place = np.unique(np.asarray(cells[hierarchy.name], dtype=str), return_inverse=True)
        n_cells = np.bincount(place, weights=weights, minlength=len(texts))
        prices = [cell_prices(text, hierarchy) for text in texts.tolist()]
        for name in lost:
            lost[name] += n_missing + float(n_cells @ np.asarray([price[name] for price in prices]))
    n_cells_in_all = n_rows * len(hierarchies)
    return {name: total / n_cells_in_all for name, total in lost.items()}


def cell_prices(text: str, hierarchy: Hierarchy) -> dict[str, float]:
    """Return what one cell costs under each loss, from 0 to 1."""
    node = hierarchy.node_of_label.get(text)
    if node is not None:
        return {name: 1.0 - float(cost_to_root(hierarchy, name)[node]) for name in ("loss", "ncp")}
    found = _RANGE.fullmatch(text)
    if found and hierarchy.values is not None:
        low, high = float(found[1]), float(found[2])
        n_leaves = int(np.count_nonzero((hierarchy.values >= low) & (hierarchy.values <= high)))
        if n_leaves == 0:
            raise DataError(
                f"column {hierarchy.name!r}: a released range has none of its values",
                examples=[text],
            )
        width = (high - low) / float(hierarchy.width[hierarchy.root])
        return {"loss": _share(n_leaves, hierarchy), "ncp": width}
    listed = set(text.split(","))
    if not listed <= hierarchy.leaf_of_value.keys():
        raise DataError(
            f"column {hierarchy.name!r}: a released cell is no node, range or list of its values",
            examples=[text],
        )
    n_leaves = len(listed)
    share = 0.0 if n_leaves == 1 else n_leaves / hierarchy.n_leaves
    return {"loss": _share(n_leaves, hierarchy), "ncp": share}


def _share(n_leaves: int, hierarchy: Hierarchy) -> float:
    return (n_leaves - 1) / max(1, hierarchy.n_leaves - 1)

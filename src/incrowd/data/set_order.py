"""The order that released sets are written in, and what rows and nodes are called there.

Rows of people and things are sorted by what they show: equal rows are the same line, so the order
carries nothing. In a graph a row's place is also its name in other rows' lists, and equal rows can
be told apart by who links to them: there the order is drawn, from the whole input, so that it is
the same for the same data and nobody without them can work it out.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from incrowd.data.sets import Sets

_LEADING = 4
"""How many first items rows are sorted by, before what stands for all of them."""


def canonical_rows(sets: Sets) -> NDArray[np.int64]:
    """Return the rows in the order of their content: first items first, then all of them."""
    keys: list[NDArray[np.generic]] = [*_content(sets)]
    for place in reversed(range(_LEADING)):
        has = sets.sizes > place
        key = np.full(sets.n_rows, -1, dtype=np.int64)
        key[has] = sets.items[sets.starts[:-1][has] + place]
        keys.append(key)
    return np.asarray(np.lexsort(keys), dtype=np.int64)


def renamed_rows(sets: Sets) -> Sets:
    """Return the sets with rows called by their places, counted from 0."""
    return replace(sets, row_names=None)


def node_order(released: Sets, original: Sets) -> NDArray[np.int64]:
    """Return an order of nodes that is drawn from the original's entries."""
    digest = hashlib.sha256(original.starts.tobytes())
    digest.update(original.items.tobytes())
    seed = int.from_bytes(digest.digest()[:16], "big")
    return np.random.default_rng(seed).permutation(released.n_rows).astype(np.int64)


def renamed_nodes(sets: Sets, order: NDArray[np.int64]) -> tuple[Sets, NDArray[np.int64]]:
    """Return the graph with nodes in another order, called by their places counted from 0.

    ``order[new]`` is the old node; it is also the key of items.
    """
    new_of_old = np.empty(len(order), dtype=np.int32)
    new_of_old[order] = np.arange(len(order), dtype=np.int32)
    moved = sets.take(order)
    items = new_of_old[moved.items]
    rows = np.repeat(np.arange(moved.n_rows), moved.sizes)
    items = items[np.lexsort((items, rows))]
    return replace(moved, items=items, row_names=None, item_names=None), order


def symmetrized(sets: Sets, *, either: bool) -> Sets:
    """Return the graph with each edge in both directions, if either end shows it or if both do."""
    n_nodes = np.int64(sets.n_rows)
    rows = np.repeat(np.arange(n_nodes), sets.sizes)
    there, back = rows * n_nodes + sets.items, sets.items * n_nodes + rows
    back.sort()
    keys = np.union1d(there, back) if either else np.intersect1d(there, back, assume_unique=True)
    starts = np.searchsorted(keys, np.arange(n_nodes + 1) * n_nodes)
    return sets.with_entries(starts.astype(np.int64), (keys % n_nodes).astype(np.int32))


def _content(sets: Sets) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return two numbers per row that are equal where the sets are, and else hardly ever."""
    first = _sums(sets, np.uint64(0x9E3779B97F4A7C15))
    return first, _sums(sets, np.uint64(0xC2B2AE3D27D4EB4F))


def _sums(sets: Sets, salt: np.uint64) -> NDArray[np.uint64]:
    of_item = np.arange(1, sets.n_items + 1, dtype=np.uint64) * salt
    of_item ^= of_item >> np.uint64(29)
    of_item *= np.uint64(0xBF58476D1CE4E5B9)
    of_item ^= of_item >> np.uint64(32)
    total = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(of_item[sets.items])])
    return np.asarray(total[sets.starts[1:]] - total[sets.starts[:-1]], dtype=np.uint64)

"""Generated sets of any size: the same seed gives the same sets; nobody in them exists."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import JobError
from incrowd.sets.build import Pairs, from_pairs
from incrowd.sets.format import MOST, SetOptions
from incrowd.sets.sets import Sets

Places = NDArray[np.int64]

_BLOCK_ROWS = 1 << 18  # fixed: every block draws from a seed of its own


def block_model(
    n_rows: int = 1024,
    block_size: int = 64,
    inside: float = 0.8,
    outside: float = 0.01,
    seed: int = 0,
) -> Sets:
    """Draw the bipartite stochastic block model; rows and items are as many.

    Epasto et al., "Smooth Anonymity for Sparse Graphs", Section 4.2: rows and items fall into
    blocks of equal size; a row has each item of its block with the probability ``inside`` (q) and
    each other one with ``outside`` (p). Takes time and memory in the number of entries.
    """
    _require(n_rows, "rows")
    if block_size < 1 or n_rows % block_size:
        raise JobError(
            f"{n_rows:,} rows do not fall into blocks of {block_size:,}",
            remedy="The number of rows must be a multiple of the block's size.",
        )
    for share in (inside, outside):
        if not 0 <= share <= 1:
            raise JobError(f"{share} is no probability", remedy="State one from 0 to 1.")
    rng = np.random.default_rng(seed)
    rows, places = np.divmod(_hits(rng, n_rows * block_size, inside), block_size)
    items = rows // block_size * block_size + places
    n_others = n_rows - block_size
    if n_others:
        other_rows, places = np.divmod(_hits(rng, n_rows * n_others, outside), n_others)
        is_behind = places >= other_rows // block_size * block_size
        rows = np.concatenate([rows, other_rows])
        items = np.concatenate([items, places + is_behind * block_size])
    return _sets(rows, items, n_rows, n_rows)


def user_lists(
    n_rows: int, n_items: int = 100_000, mean_size: float = 10, n_types: int = 2_000, seed: int = 0
) -> Sets:
    """Draw lists of interests: items popular by Zipf's law, people of latent types.

    A type has a profile of items, each with an appeal; a row takes each of its type's items by
    that appeal and by how active it is, and now and then one of all items. About ``mean_size``
    items a row. Rows are drawn in blocks: memory is that of the result and of one block.
    """
    _require(n_rows, "rows")
    _require(n_items, "items")
    _require(n_types, "types")
    if not 0 < mean_size <= n_items / 4:
        raise JobError(
            f"rows cannot have {mean_size:g} of {n_items:,} items on average",
            remedy="State a mean above 0 and at most a quarter of the items.",
        )
    rng = np.random.default_rng(seed)
    item_of_rank = rng.permutation(n_items).astype(np.int32)
    chance_of_rank = _zipf(n_items)
    chance_of_type = _zipf(n_types)
    n_slots = max(1, math.ceil(1.7 * mean_size))
    slots = rng.random((n_types, n_slots))
    profiles = item_of_rank[np.searchsorted(chance_of_rank, slots)]
    appeal = np.linspace(1.0, 0.1, n_slots, dtype=np.float32)
    sizes, parts = [], []
    for first in range(0, n_rows, _BLOCK_ROWS):
        rng = np.random.default_rng([seed, first])
        count = min(_BLOCK_ROWS, n_rows - first)
        type_of_row = np.searchsorted(chance_of_type, rng.random(count))
        activity = rng.uniform(0.5, 1.5, count).astype(np.float32)
        is_taken = rng.random((count, n_slots), dtype=np.float32) < appeal * activity[:, None]
        rows, taken = np.nonzero(is_taken)
        n_more = rng.poisson(0.15 * mean_size, count)
        more = item_of_rank[np.searchsorted(chance_of_rank, rng.random(int(n_more.sum())))]
        keys = np.concatenate(
            [
                rows * n_items + profiles[type_of_row[rows], taken],
                np.repeat(np.arange(count), n_more) * n_items + more,
            ]
        )
        keys = np.unique(keys)
        sizes.append(np.bincount(keys // n_items, minlength=count))
        parts.append((keys % n_items).astype(np.int32))
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
    return Sets(starts, np.concatenate(parts), n_items)


def _hits(rng: np.random.Generator, n_cells: int, share: float) -> Places:
    """Return the cells, ascending, that are drawn with one probability each; O(hits)."""
    if share <= 0:
        return np.zeros(0, dtype=np.int64)
    parts: list[Places] = []
    last = -1
    while last < n_cells:
        expected = (n_cells - last) * share
        size = int(min(expected + 4 * math.sqrt(expected) + 16, 1 << 24))
        places = last + np.cumsum(rng.geometric(share, size))
        parts.append(places)
        last = int(places[-1])
    hits = np.concatenate(parts)
    return hits[: np.searchsorted(hits, n_cells)]


def _zipf(count: int) -> NDArray[np.float64]:
    """Return cumulated probabilities that fall as 1/rank; the last is above every draw."""
    chances: NDArray[np.float64] = np.cumsum(1 / np.arange(1, count + 1))
    chances /= chances[-1]
    chances[-1] = 1.0
    return chances


def _sets(rows: Places, items: Places, n_rows: int, n_items: int) -> Sets:
    pairs = Pairs(rows.astype(np.int32), items.astype(np.int32), n_rows, n_items)
    return from_pairs(pairs, None, None, SetOptions("bipartite"), "the sample")[0]


def _require(count: int, what: str) -> None:
    if not 1 <= count <= MOST:
        raise JobError(f"there cannot be {count:,} {what}", remedy=f"State 1 to {MOST:,}.")

"""Queries that count the rows with all of some items, drawn by a seed, and what a release answers.

A release may show sets of items (parts) instead of items: the expected count then takes a part's
chance to mean an item, by one of the readings of ``data.read_generalized``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.data.itemsets import Itemset, supports
from incrowd.data.read_generalized import chance
from incrowd.data.sets import Sets


@dataclass(frozen=True, eq=False)
class ItemAnswers:
    """The true count of each query, how many released rows show all its parts, their sizes."""

    true: NDArray[np.int64]
    shown: NDArray[np.int64]
    part_sizes: list[list[int]]

    def expected(self, reading: str) -> NDArray[np.float64]:
        """Return what the release answers, by a reading of its parts."""
        chances = [np.prod([chance(size, reading) for size in one]) for one in self.part_sizes]
        return np.asarray(self.shown * np.array(chances, dtype=np.float64), dtype=np.float64)


def item_answers(
    before: Sets, after: Sets, members: Sequence[Sequence[int]], queries: Sequence[Itemset]
) -> ItemAnswers:
    """Ask queries before and after; ``members[released item]`` are the original items behind it."""
    part_of_item = np.full(before.n_items, -1, dtype=np.int64)
    size_of_item = np.ones(before.n_items, dtype=np.int64)
    for part, of_part in enumerate(members):
        part_of_item[list(of_part)] = part
        size_of_item[list(of_part)] = len(of_part)
    asked = [tuple(sorted(set(part_of_item[list(one)].tolist()))) for one in queries]
    return ItemAnswers(
        supports(before, queries),
        supports(after, asked),
        [size_of_item[list(one)].tolist() for one in queries],
    )


def random_queries(
    is_held: NDArray[np.bool_],
    is_sensitive: NDArray[np.bool_],
    n_queries: int,
    draw: np.random.Generator,
) -> list[Itemset]:
    """Draw queries of two public items and a sensitive one, or of three public ones.

    Fewer items where there are no more; none where there is no public item.
    """
    public = np.flatnonzero(is_held & ~is_sensitive)
    sensitive = np.flatnonzero(is_held & is_sensitive)
    n_known = min(len(public), 2 if len(sensitive) else 3)
    if not n_known:
        return []
    queries = []
    for _ in range(n_queries):
        items = draw.choice(public, n_known, replace=False).tolist()
        if len(sensitive):
            items.append(int(draw.choice(sensitive)))
        queries.append(tuple(items))
    return queries


def held_queries(
    sets: Sets,
    is_sensitive: NDArray[np.bool_],
    n_queries: int,
    draw: np.random.Generator,
    n_items: int = 3,
) -> list[Itemset]:
    """Draw rows, and of each so many items; one is sensitive where any are and there is room.

    Rows with too few items are passed over; no query where all have too few.
    """
    n_sensitive = np.zeros(sets.n_rows, dtype=np.int64)
    if is_sensitive.any():
        n_before = np.concatenate([[0], np.cumsum(is_sensitive[sets.items])])
        n_sensitive = np.diff(n_before[sets.starts])
    has_sensitive = n_items > 1 and bool(n_sensitive.any())
    n_known = n_items - has_sensitive
    is_long = (sets.sizes - n_sensitive >= n_known) & (n_sensitive >= has_sensitive)
    rows = np.flatnonzero(is_long)
    queries = []
    for row in draw.choice(rows, n_queries).tolist() if len(rows) else []:
        held = sets.items[sets.starts[row] : sets.starts[row + 1]]
        of_row = is_sensitive[held]
        items = draw.choice(held[~of_row], n_known, replace=False).tolist()
        if has_sensitive:
            items.append(int(draw.choice(held[of_row])))
        queries.append(tuple(items))
    return queries

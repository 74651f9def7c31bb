"""How many rows hold all items of a set, for many sets of items at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.data.sets import Sets

_MOST_WORDS = 1 << 20  # 8 MB of bits at once

Itemset = tuple[int, ...]


class Places(NamedTuple):
    """Itemsets in numbers of the items that matter: set i has ``places[starts[i]:starts[i + 1]]``.

    ``place_of_item`` is −1 for other items. The last of ``n_places`` is of no item at all: it
    stands for −1 in an itemset, which no row holds.
    """

    place_of_item: NDArray[np.int32]
    n_places: int
    starts: NDArray[np.int64]
    places: NDArray[np.int32]


def numbered_places(itemsets: Sequence[Itemset], n_items: int) -> Places:
    """Number the items of these itemsets; none of them is empty."""
    sizes = np.array([len(itemset) for itemset in itemsets], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    items = np.fromiter(
        (item for itemset in itemsets for item in itemset), dtype=np.int64, count=int(starts[-1])
    )
    used = np.unique(items[items >= 0])
    place_of_item = np.full(n_items + 1, -1, dtype=np.int32)
    place_of_item[used] = np.arange(len(used))
    place_of_item[-1] = len(used)
    return Places(place_of_item[:-1], len(used) + 1, starts, place_of_item[items])


def rows_at_once(n_places: int) -> int:
    """Return how many rows a block has, so that its bits take little memory."""
    return 64 * max(16, min(1024, _MOST_WORDS // n_places))


def supports(sets: Sets, itemsets: Sequence[Itemset]) -> NDArray[np.int64]:
    """Return how many rows hold all items of each itemset; −1 is an item that no row holds."""
    from incrowd.data.itemset_loops import count_itemsets

    found = np.zeros(len(itemsets), dtype=np.int64)
    placed = numbered_places(itemsets, sets.n_items)
    if itemsets:
        count_itemsets(
            sets.starts,
            sets.items,
            placed.place_of_item,
            placed.n_places,
            rows_at_once(placed.n_places),
            placed.starts,
            placed.places,
            found,
        )
    return found

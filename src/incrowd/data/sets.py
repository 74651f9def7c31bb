"""The second shape of data: a set of items for every row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd.data.shelf import IN_MEMORY, Shelf

if TYPE_CHECKING:
    import pyarrow as pa

BIPARTITE, DIRECTED, UNDIRECTED = "bipartite", "directed", "undirected"

GRAPHS = (BIPARTITE, DIRECTED, UNDIRECTED)
"""What rows and items are to each other: people and things, or the same nodes."""


@dataclass(frozen=True, eq=False)
class Sets:
    """Lists, baskets, a sparse binary matrix or a graph's neighbours, row by row.

    Row r holds ``items[starts[r]:starts[r + 1]]``, ascending and distinct, each below
    ``n_items``. A row may be empty. ``row_names`` and ``item_names`` are the texts or whole
    numbers that rows and items have in files; None means that they are called by their numbers.
    In a graph that is not bipartite rows and items are the same nodes. ``n_repeated`` is how many
    entries a file held again when it was read; one of each was kept.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    n_items: int
    row_names: pa.Array | None = None
    item_names: pa.Array | None = None
    graph: str = BIPARTITE
    n_repeated: int = 0

    def __post_init__(self) -> None:
        if not len(self.starts) or self.starts[0] != 0 or self.starts[-1] != len(self.items):
            raise ValueError("starts must begin at 0 and end at the number of entries")

    @property
    def n_rows(self) -> int:
        """How many rows there are, empty ones included."""
        return len(self.starts) - 1

    @property
    def n_entries(self) -> int:
        """How many pairs of a row and an item there are."""
        return len(self.items)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many items each row holds."""
        return np.diff(self.starts)

    def with_entries(self, starts: NDArray[np.int64], items: NDArray[np.int32]) -> Sets:
        """Return the same rows and items with other entries."""
        return replace(self, starts=starts, items=items, n_repeated=0)

    def take(self, rows: NDArray[np.integer[Any]], shelf: Shelf = IN_MEMORY) -> Sets:
        """Return these rows, in this order, their entries on the shelf."""
        starts = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(self.starts[rows + 1] - self.starts[rows], out=starts[1:])
        items = shelf.array(int(starts[-1]), np.int32)
        for first, end in row_blocks(starts):
            of_block = rows[first:end]
            sizes = np.diff(starts[first : end + 1])
            places = np.arange(starts[first], starts[end])
            places -= np.repeat(starts[first:end] - self.starts[of_block], sizes)
            items[starts[first] : starts[end]] = self.items[places]
        names = None if self.row_names is None else self.row_names.take(rows)
        return replace(self, starts=starts, items=items, row_names=names, n_repeated=0)


ENTRIES_AT_ONCE = 1 << 20
"""About how many entries are worked on together."""


def row_blocks(
    starts: NDArray[np.int64], n_entries: int = ENTRIES_AT_ONCE
) -> Iterator[tuple[int, int]]:
    """Cut rows into blocks of about as many entries; one row's entries stay together."""
    row, n_rows = 0, len(starts) - 1
    while row < n_rows:
        by_entries = int(np.searchsorted(starts, starts[row] + n_entries, side="right")) - 1
        end = min(max(row + 1, by_entries), row + n_entries, n_rows)
        yield row, end
        row = end


def item_counts(items: NDArray[np.int32], n_items: int) -> NDArray[np.int64]:
    """Return how many entries each item has."""
    counts = np.zeros(n_items, dtype=np.int64)
    for start in range(0, len(items), ENTRIES_AT_ONCE << 2):
        counts += np.bincount(items[start : start + (ENTRIES_AT_ONCE << 2)], minlength=n_items)
    return counts

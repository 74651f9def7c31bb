"""The second shape of data: a set of items for every row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

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

    def take(self, rows: NDArray[np.int64]) -> Sets:
        """Return these rows, in this order."""
        sizes = self.sizes[rows]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.arange(starts[-1]) - np.repeat(starts[:-1] - self.starts[rows], sizes)
        names = None if self.row_names is None else self.row_names.take(rows)
        items = self.items[places]
        return replace(self, starts=starts, items=items, row_names=names, n_repeated=0)

"""Rows of items that a search of sets takes together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that are searched together: their items as in Sets, and the group size each needs."""

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    n_items: int
    needs: NDArray[np.int32]

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.needs)

    def compact(self) -> Part:
        """Return the same rows with items numbered without gaps, in the same order."""
        if self.n_items <= 8 * len(self.items) + 1024:
            is_used = np.zeros(self.n_items, dtype=np.bool_)
            is_used[self.items] = True
            number = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
            return Part(self.starts, number[self.items], int(is_used.sum()), self.needs)
        used, items = np.unique(self.items, return_inverse=True)
        return Part(self.starts, items.astype(np.int32), len(used), self.needs)

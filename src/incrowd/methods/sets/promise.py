"""What every group of sets must meet, as numbers: a guarantee in the words of a search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SMOOTH, MAJORITY, SUPPRESSION = "smooth", "majority", "suppression"

KINDS = (SMOOTH, MAJORITY, SUPPRESSION)

HALF, STRICT = "half", "strict"


@dataclass(frozen=True, eq=False)
class SetPromise:
    """Which items a group of rows may show, and how large it must be.

    A group has at least ``k`` rows, and at least the largest ``k_of_row`` of its rows where those
    are given. Of a group of s rows, m of which hold an item, the item is shown if 2m ≥ s (smooth
    with vote half), 2m > s (smooth, strict), 2m ≥ k (majority; 2m > k if strict; with personal k
    the group's largest) or m = s (suppression).
    """

    kind: str
    k: int
    vote: str = HALF
    k_of_row: NDArray[np.int32] | None = None

    def needs(self, n_rows: int) -> NDArray[np.int32]:
        """Return how large a group each row asks for."""
        if self.k_of_row is None:
            return np.full(n_rows, self.k, dtype=np.int32)
        return np.maximum(self.k_of_row, self.k).astype(np.int32)

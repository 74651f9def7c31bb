"""The search for near rows that ``cluster`` grows its groups with, asked of every row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import compiled
from incrowd.methods.cluster.sets.kernels.near import Found, Index, find_near
from incrowd.methods.cluster.sets.kernels.state import Kinds


@compiled
def near_of_all(
    kinds: Kinds,
    index: Index,
    found: Found,
    n_left: NDArray[np.int32],
    random: NDArray[np.int64],
    likeness: NDArray[np.float64],
) -> None:
    """Fill ``likeness[row]`` with those of its nearest, in no order; 0 where there are fewer."""
    for row in range(len(likeness)):
        find_near(kinds, index, found, n_left, row, kinds.need[row], random)
        for place in range(found.n[0]):
            likeness[row, place] = found.likeness[place]

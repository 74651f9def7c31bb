"""The loop that puts rows on a policy's combinations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import compiled

NONE = -1
"""Stands for no combination."""


@compiled
def first_covering(
    places: NDArray[np.int32], low: NDArray[np.int32], high: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return each row's first combination whose cells all cover the row's; −1 where there is none.

    ``places[column, row]`` is where a row's leaf lies among the column's leaves in their order;
    a cell covers the places from ``low[column, combination]`` to before ``high``.
    O(rows · combinations) in the worst case; most combinations fail at their first cell.
    """
    n_columns, n_rows = places.shape
    n_combinations = low.shape[1]
    found = np.full(n_rows, NONE, dtype=np.int64)
    for row in range(n_rows):
        for combination in range(n_combinations):
            column = 0
            while (
                column < n_columns
                and low[column, combination] <= places[column, row]
                and places[column, row] < high[column, combination]
            ):
                column += 1
            if column == n_columns:
                found[row] = combination
                break
    return found

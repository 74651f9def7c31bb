"""The loop that finds, for every row, the first line that covers it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import compiled

NONE = -1


@compiled
def first_lines(
    places: NDArray[np.int32], low: NDArray[np.int32], high: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return each row's first line whose every cell holds the row's; −1 where there is none.

    ``places[column, row]`` is where a row's leaf lies among the column's leaves in their order;
    a line's cell holds the places from ``low[column, line]`` to before ``high[column, line]``.
    O(rows · lines) in the worst case; most lines fail at their first cell.
    """
    n_columns, n_rows = places.shape
    n_lines = low.shape[1]
    found = np.full(n_rows, NONE, dtype=np.int64)
    for row in range(n_rows):
        for line in range(n_lines):
            column = 0
            while (
                column < n_columns
                and low[column, line] <= places[column, row]
                and places[column, row] < high[column, line]
            ):
                column += 1
            if column == n_columns:
                found[row] = line
                break
    return found

"""Edges in their strict order, sorted digit by digit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner

DIGIT = 16
"""Bits that one pass sorts by."""


@compiled
def sorted_edges(
    weight: NDArray[np.int32], lower: NDArray[np.int32], upper: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the edges by (weight, lower, upper): stable passes from the last digit to the first.

    O(edges) for each of at most six passes; digits that are 0 everywhere cost none.
    """
    order = np.arange(len(weight)).astype(np.int32)
    sorted_order = np.empty_like(order)
    for key in (upper, lower, weight):
        largest: Whole = 0
        for edge in range(len(key)):
            largest = max(largest, np.int64(key[edge]))
        shift = 0
        while largest >> shift > 0:
            _pass(key, shift, order, sorted_order)
            order, sorted_order = sorted_order, order
            shift += DIGIT
    return order


@compiled_inner
def _pass(
    key: NDArray[np.int32],
    shift: Whole,
    order: NDArray[np.int32],
    sorted_order: NDArray[np.int32],
) -> None:
    digits = 1 << DIGIT
    start = np.zeros(digits + 1, dtype=np.int64)
    for edge in range(len(key)):
        start[((key[edge] >> shift) & (digits - 1)) + 1] += 1
    for digit in range(digits):
        start[digit + 1] += start[digit]
    for place in range(len(order)):
        edge = order[place]
        digit = (key[edge] >> shift) & (digits - 1)
        sorted_order[start[digit]] = edge
        start[digit] += 1

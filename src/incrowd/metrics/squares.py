"""The loss of numbers that are shown as other numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def share_of_squares(
    original: Sequence[NDArray[np.float64]], shown: Sequence[NDArray[np.float64]]
) -> float:
    """Return SSE / SST over standardised columns: squares of (number − shown) over those of
    (number − the column's mean).

    Domingo-Ferrer & Mateo-Sanz 2002, on the numbers that a file shows, rounding included. Every
    column that varies counts alike; 0 where none does.
    """
    shares = []
    for numbers, cells in zip(original, shown, strict=True):
        whole = math.fsum(np.square(numbers - numbers.mean()).tolist())
        if whole > 0:
            shares.append(math.fsum(np.square(numbers - cells).tolist()) / whole)
    return math.fsum(shares) / len(shares) if shares else 0.0

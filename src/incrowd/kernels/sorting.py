"""Sorting in place, without room of its own."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled


@compiled
def shell_sort(numbers: NDArray[Any], n_numbers: Whole) -> None:
    """Sort the first numbers (Shell's sort)."""
    gap = n_numbers // 2
    while gap > 0:
        for place in range(gap, n_numbers):
            number = numbers[place]
            hole = place
            while hole >= gap and numbers[hole - gap] > number:
                numbers[hole] = numbers[hole - gap]
                hole -= gap
            numbers[hole] = number
        gap = 1 if gap == 2 else gap * 5 // 11

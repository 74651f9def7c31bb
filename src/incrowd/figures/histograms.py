"""Whole numbers counted into ranges: one number a range where they are few, else doubling."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_RANGES = 40


def edges_of(largest: int, least: int = 0) -> tuple[list[int], bool]:
    """Return edges from ``least`` that hold all numbers up to ``largest``; whether they double.

    >>> edges_of(3)
    ([0, 1, 2, 3, 4], False)
    """
    if largest - least < MOST_RANGES:
        return list(range(least, largest + 2)), False
    first = max(1, least)
    edges = [first]
    while edges[-1] <= largest:
        # four ranges to a doubling, and never the same whole number twice
        edges.append(max(edges[-1] + 1, round(first * 2 ** (len(edges) / 4))))
    if len(edges) <= 4 * MOST_RANGES and least >= 1:
        return edges, True
    step = _round_step((largest - least) / MOST_RANGES)
    start = least // step * step
    return list(range(start, largest + step + 1, step)), False


def _round_step(step: float) -> int:
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= step:
                return factor * power
        power *= 10


def counted(numbers: NDArray[Any], edges: list[int], weight: NDArray[Any] | None = None) -> Any:
    """Return how many numbers, or how much weight, lie from each edge to below the next."""
    places = np.searchsorted(np.asarray(edges), numbers, side="right") - 1
    return np.bincount(places, weights=weight, minlength=len(edges) - 1)[: len(edges) - 1]


def as_floats(counts: Any) -> tuple[float, ...]:
    """Return counts as plain numbers."""
    return tuple(float(count) for count in counts)

"""Rows of items: as bits of words, hashed, compared, and turned around into the rows of each
item.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner, compiled_into_callers


@compiled_inner
def n_set(word: np.uint64) -> Whole:
    """Return how many bits of a word are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


# ── rows of items: hashed, compared, and turned around into the rows that hold each item ──────────


@compiled_into_callers
def mix_bits(number: np.uint64) -> np.uint64:
    """Return the number with its bits well mixed (SplitMix64)."""
    number = number + np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@compiled_inner
def are_equal(
    starts: NDArray[np.int64], items: NDArray[np.int32], one: Whole, other: Whole
) -> Flag:
    """Whether two rows hold the same items."""
    size = starts[one + 1] - starts[one]
    if size != starts[other + 1] - starts[other]:
        return False
    n_equal = 0
    for place in range(size):
        n_equal += items[starts[one] + place] == items[starts[other] + place]
    return n_equal == size


@compiled
def invert_rows(
    starts: NDArray[np.int64], items: NDArray[np.int32], n_items: Whole
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the rows that hold each item, ascending: where each list starts, and the lists.

    O(entries + items).
    """
    list_starts = np.zeros(n_items + 1, dtype=np.int64)
    for item in items:
        list_starts[item + 1] += 1
    for item in range(n_items):
        list_starts[item + 1] += list_starts[item]
    filled = list_starts[:-1].copy()
    holders = np.empty(len(items), dtype=np.int32)
    for row in range(len(starts) - 1):
        for entry in range(starts[row], starts[row + 1]):
            item = items[entry]
            holders[filled[item]] = row
            filled[item] += 1
    return list_starts, holders

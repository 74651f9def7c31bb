"""Rows by content: one number per row, inverted lists, and minhashes that near rows share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_into_callers


@compiled_into_callers
def mixed(number: np.uint64) -> np.uint64:
    """Return the number with its bits well mixed (SplitMix64)."""
    number = number + np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@compiled
def content_of_rows(
    starts: NDArray[np.int64], items: NDArray[np.int32], needs: NDArray[np.int32]
) -> NDArray[np.uint64]:
    """Return a number per row, equal for equal sets with equal needs, and else hardly ever.

    Rows that share a number by chance would be taken for one kind: the search would be misled
    about their worth, never about the size of their group, and the vote counts real rows.
    """
    content = np.empty(len(needs), dtype=np.uint64)
    for row in range(len(needs)):
        total = mixed(np.uint64(needs[row]) << np.uint64(32))
        for entry in range(starts[row], starts[row + 1]):
            total += mixed(np.uint64(items[entry]))
        content[row] = mixed(total)
    return content


@compiled
def transposed(
    starts: NDArray[np.int64], items: NDArray[np.int32], n_items: Whole
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return who holds every item: where each list starts, and the lists."""
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


@compiled
def minhashes(
    starts: NDArray[np.int64], items: NDArray[np.int32], salts: NDArray[np.uint64]
) -> NDArray[np.uint32]:
    """Return ``hashes[place, row]``: the least hash of a row's items, for each salt.

    Two rows share it with the probability of their Jaccard similarity. Empty rows have the
    largest number of all.
    """
    hashes = np.full((len(salts), len(starts) - 1), np.uint32(0xFFFFFFFF), dtype=np.uint32)
    for row in range(len(starts) - 1):
        for entry in range(starts[row], starts[row + 1]):
            for place in range(len(salts)):
                number = mixed(np.uint64(items[entry]) ^ salts[place]) >> np.uint64(32)
                if number < hashes[place, row]:
                    hashes[place, row] = np.uint32(number)
    return hashes

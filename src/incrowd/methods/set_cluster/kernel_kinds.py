"""Rows by content: one number per row, and minhashes that near rows share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled
from incrowd.kernels.rows import mixed

LARGEST_KEY = np.uint32(0xFFFFFFFF)


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
def keys_of_items(
    n_holders: NDArray[np.int64], least: Whole, salt: np.uint64
) -> NDArray[np.uint32]:
    """Return a random key per item: rare items tend to have small ones, useless ones the largest.

    An item that fewer than ``least`` rows hold can be shown by no group.
    """
    n_most = 1
    for number in n_holders:
        n_most = max(n_most, number)
    keys = np.full(len(n_holders), LARGEST_KEY, dtype=np.uint32)
    for item in range(len(n_holders)):
        if n_holders[item] >= least:
            weight = 1
            while n_holders[item] << weight <= n_most:
                weight += 1
            number = mixed(np.uint64(item) ^ salt) >> np.uint64(32)
            keys[item] = np.uint32(number // np.uint64(weight * weight))
    return keys


@compiled
def least_keys(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    key_of_item: NDArray[np.uint32],
    keys: NDArray[np.uint32],
) -> None:
    """Fill ``keys`` with the least key of each row's items; the largest one for an empty row."""
    for row in range(len(keys)):
        keys[row] = LARGEST_KEY
        for entry in range(starts[row], starts[row + 1]):
            keys[row] = min(keys[row], key_of_item[items[entry]])

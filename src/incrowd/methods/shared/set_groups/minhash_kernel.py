"""Minhashes of rows: the least random keys of their items, alike where rows are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled
from incrowd.kernels.item_rows import mix_bits

LARGEST_KEY = np.uint32(0xFFFFFFFF)


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
            number = mix_bits(np.uint64(item) ^ salt) >> np.uint64(32)
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

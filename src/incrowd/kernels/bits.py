"""Sets as bits of words."""

from __future__ import annotations

import numpy as np

from incrowd.compiling import Whole, compiled_inner


@compiled_inner
def n_set(word: np.uint64) -> Whole:
    """Return how many bits of a word are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))

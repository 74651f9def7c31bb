"""Random draws from a state of one number, by whole-number arithmetic alone.

The same seed gives the same draws on every machine: no logarithm of a library is asked.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled_inner

_UNIT = 1.0 / (1 << 53)
_LN_2 = 0.6931471805599453


@compiled_inner
def draw(random: NDArray[np.int64]) -> Whole:
    """Return the next number of 64 bits; ``random[0]`` is never zero (xorshift)."""
    state = random[0]
    state ^= state << 13
    state ^= (state >> 7) & ((np.int64(1) << 57) - 1)
    state ^= state << 17
    random[0] = state
    return state


@compiled_inner
def below(random: NDArray[np.int64], bound: Whole) -> Whole:
    """Return a whole number from 0 to ``bound`` − 1, for bounds below 2³¹."""
    return (((draw(random) >> 32) & 0xFFFFFFFF) * bound) >> 32


@compiled_inner
def share(random: NDArray[np.int64]) -> float:
    """Return a number from 0 up to, not including, 1."""
    bits: Whole = (draw(random) >> 11) & ((np.int64(1) << 53) - 1)
    return float(bits * _UNIT)


@compiled_inner
def waiting_time(random: NDArray[np.int64]) -> float:
    """Return a number of 0 or more, about exponentially distributed with mean 1.

    −log₂ of a uniform number: a run of heads, and a part that is taken as linear.
    """
    heads = 0
    bits = draw(random)
    while heads < 60 and bits & 1:
        bits >>= 1
        heads += 1
    return _LN_2 * (heads + share(random))

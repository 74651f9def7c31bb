"""How often an attack succeeds, with the interval that a sample leaves open."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Z95 = 1.959963984540054
T95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}
"""Student's t at 95 % by the number of draws."""


def exact(success: NDArray[np.float64]) -> dict[str, Any]:
    """Return the mean success over everybody: nothing was drawn, so there is no interval."""
    rate = float(success.mean()) if len(success) else 0.0
    return {"rate": rate, "low": rate, "high": rate, "n": len(success), "is_exact": True}


def sampled(success: NDArray[np.float64]) -> dict[str, Any]:
    """Return the mean success of a sample with Wilson's 95 % interval (Wilson 1927).

    A success is a chance from 0 to 1. Chances of some mean vary no more than yes and no of that
    mean, so that the interval is wide enough.
    """
    n = len(success)
    if not n:
        return {"rate": 0.0, "low": 0.0, "high": 1.0, "n": 0, "is_exact": False}
    rate = float(success.mean())
    low, high = wilson(rate, n)
    return {"rate": rate, "low": low, "high": high, "n": n, "is_exact": False}


def wilson(rate: float, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a rate seen in n."""
    middle = rate + Z95 * Z95 / (2 * n)
    half = Z95 * math.sqrt(rate * (1 - rate) / n + Z95 * Z95 / (4 * n * n))
    low, high = ((middle + sign * half) / (1 + Z95 * Z95 / n) for sign in (-1, 1))
    return min(max(low, 0.0), rate), max(min(high, 1.0), rate)


def of_draws(means: NDArray[np.float64], n: int) -> dict[str, Any]:
    """Return the mean over repeated draws, each of everybody, with Student's 95 % interval."""
    rate = float(means.mean())
    half = 0.0
    if len(means) > 1:
        half = T95[len(means)] * float(means.std(ddof=1)) / math.sqrt(len(means))
    return {
        "rate": rate,
        "low": max(0.0, rate - half),
        "high": min(1.0, rate + half),
        "n": n,
        "is_exact": False,
        "n_draws": len(means),
    }


def told(rate: dict[str, Any]) -> str:
    """Return a rate in words: as a percentage, with its interval where it has one."""
    if rate["is_exact"]:
        return f"{rate['rate']:.2%}"
    return f"{rate['rate']:.2%} ({rate['low']:.2%} to {rate['high']:.2%})"

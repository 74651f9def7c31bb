"""Achieved crowds against wished ones, and intervals of what a sample shows, as figures."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

RATIOS = (0.5, 1.0, 1.5, 2.0, 5.0)
"""Where the bins of achieved over wished crowds end."""


def against_wishes(achieved: NDArray[np.int64], wished: NDArray[np.int64]) -> dict[str, Any]:
    """Return the smallest crowd, the worst case against its wish, and all of them in bins."""
    return {
        "smallest_crowd": int(achieved.min()),
        "largest_wish": int(wished.max()),
        "least_above_wish": int((achieved - wished).min()),
        "achieved_over_wished": histogram(achieved / wished),
    }


def histogram(ratio: NDArray[np.float64]) -> dict[str, float]:
    """Return the share of people by achieved over wished crowd."""
    names = [f"below {RATIOS[0]:g}"]
    names += [f"{low:g} to {high:g}" for low, high in pairwise(RATIOS)]
    names.append(f"{RATIOS[-1]:g} or more")
    counts = np.bincount(np.searchsorted(RATIOS, ratio, side="right"), minlength=len(names))
    return {name: float(count) / len(ratio) for name, count in zip(names, counts, strict=True)}


def interval(name: str, n_met: int, n_drawn: int, n_of: int) -> dict[str, Any]:
    """Return Wilson's 95% interval of how many of ``n_of`` people are met (Wilson 1927)."""
    z = 1.959964
    share = n_met / n_drawn
    middle = share + z * z / (2 * n_drawn)
    half = z * math.sqrt(share * (1 - share) / n_drawn + z * z / (4 * n_drawn * n_drawn))
    low, high = ((middle + sign * half) / (1 + z * z / n_drawn) for sign in (-1, 1))
    return {
        "is_estimated": True,
        f"{name}_at_least": math.floor(max(low, 0.0) * n_of),
        f"{name}_at_most": math.ceil(min(high, 1.0) * n_of),
    }

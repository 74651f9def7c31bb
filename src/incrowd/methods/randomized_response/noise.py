"""Which cells are flipped: draws from the operating system, one skip per flipped cell.

Every draw is 8 bytes of ``os.urandom``; no generator with a state that could be guessed stands in
between. Cells that hold an entry are few and are drawn one by one. Of the others, which are nearly
all, only the flipped ones are met: the way from one to the next is geometric.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from incrowd.progress import Progress, silent

DRAWS_AT_ONCE = 1 << 20

LEAST_DRAWS = 64

Bytes = Callable[[int], bytes]

Whole = NDArray[np.int64]


def bytes_from(insecure_seed: int | tuple[int, int] | None) -> Bytes:
    """Return where noise comes from: the operating system or, for tests, a seeded generator."""
    if insecure_seed is None:
        return os.urandom
    return np.random.default_rng(insecure_seed).bytes


def kept_entries(n_entries: int, q: float, noise: Bytes) -> NDArray[np.bool_]:
    """Return which entries stay: each is flipped with probability q, rounded up to n / 2⁶⁴."""
    least = np.uint64(min(math.ceil(q * 2**64), 2**64 - 1))
    is_kept = np.empty(n_entries, dtype=np.bool_)
    for first in range(0, n_entries, DRAWS_AT_ONCE):
        n_draws = min(DRAWS_AT_ONCE, n_entries - first)
        words = np.frombuffer(noise(8 * n_draws), dtype=np.uint64)
        is_kept[first : first + n_draws] = words >= least
    return is_kept


def flipped_places(n_places: int, q: float, noise: Bytes, progress: Progress = silent) -> Whole:
    """Return which of so many empty cells are flipped, each with probability q, ascending.

    The way to the next flipped cell is 1 + ⌊ln U / ln(1 − q)⌋ with U uniform in 53 bits, never 0.
    O(flipped cells).
    """
    log_stays = math.log1p(-q)
    found: list[Whole] = []
    reached = -1
    while reached < n_places - 1:
        progress("drawing noise", reached + 1, n_places)
        expected = (n_places - 1 - reached) * q
        n_draws = int(min(DRAWS_AT_ONCE, expected + 4.0 * math.sqrt(expected) + LEAST_DRAWS))
        words = np.frombuffer(noise(8 * n_draws), dtype=np.uint64)
        uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        ways = np.floor(np.log(uniform) / log_stays)
        # a way beyond the end is as good as any other beyond it, and cannot overflow a sum
        ways = np.minimum(ways, float(n_places)).astype(np.int64) + 1
        places = reached + _cumulated(ways, n_places)
        found.append(places[places < n_places])
        reached = int(places[-1])
    progress("drawing noise", n_places, n_places)
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def _cumulated(ways: Whole, n_places: int) -> Whole:
    """Return sums of the first, first two, … ways; those past the end stay just past it."""
    sums = np.cumsum(ways)
    beyond = np.flatnonzero(np.cumsum(ways.astype(np.float64)) > 2.0 * n_places + 2.0)
    if len(beyond):
        sums[beyond[0] :] = 2 * n_places + 2
    return sums


def nth_empty(places: Whole, entries: Whole) -> Whole:
    """Return the numbers of the cells that are the ``places``-th without an entry, from 0.

    ``entries`` are the cells with one, ascending: before the i-th of them are entries[i] − i empty
    cells.
    """
    return places + np.searchsorted(entries - np.arange(len(entries)), places, side="right")

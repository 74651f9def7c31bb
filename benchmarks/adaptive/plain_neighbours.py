"""Nearest neighbours by the plain ways that others have: what our loops are timed against.

Squared Euclidean distances of one-hot codes are twice the number of attributes that differ, so
that both ways may use matrix products. Both return each query's nearest, itself among them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK = 256  # rows whose distances are held at a time


def one_hot_floats(codes: NDArray[Any], n_values: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return ``[row, bit]`` as 0 and 1."""
    n_rows = codes.shape[1]
    first_bit = np.concatenate([[0], np.cumsum(n_values)])
    bits = np.zeros((n_rows, int(first_bit[-1])), dtype=np.float32)
    for line, first in zip(codes, first_bit[:-1].tolist(), strict=True):
        bits[np.arange(n_rows), first + line] = 1.0
    return bits


def by_numpy(
    bits: NDArray[np.float32], queries: NDArray[np.float32], n_nearest: int
) -> NDArray[np.float32]:
    """Return the squared distances of each query's nearest, by products and partitions."""
    n_ones = bits.sum(axis=1)
    found = np.empty((len(queries), n_nearest), dtype=np.float32)
    for start in range(0, len(queries), _BLOCK):
        block = queries[start : start + _BLOCK]
        apart = block.sum(axis=1)[:, None] + n_ones[None, :] - 2.0 * (block @ bits.T)
        nearest = np.partition(apart, n_nearest - 1, axis=1)[:, :n_nearest]
        found[start : start + _BLOCK] = np.sort(nearest, axis=1)
    return found


def by_scikit_learn(
    bits: NDArray[np.float32], queries: NDArray[np.float32], n_nearest: int
) -> NDArray[np.float32]:
    """Return the same by scikit-learn's brute force; raises ImportError where it is absent."""
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=n_nearest, algorithm="brute", metric="sqeuclidean")
    apart, _ = search.fit(bits).kneighbors(queries)
    return np.asarray(apart, dtype=np.float32)

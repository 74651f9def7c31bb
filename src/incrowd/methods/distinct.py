"""Rows in an order that their content decides: equal rows stand together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ROOM = 1 << 62


def sort_key(
    columns: Sequence[NDArray[np.integer[Any]]], n_values: Sequence[int], n_rows: int
) -> NDArray[np.int64]:
    """Return one number per row that orders rows as the columns do, the first column first.

    ``columns[c]`` holds numbers from 0 to ``n_values[c] − 1``. Equal numbers mean equal rows.
    """
    key = np.zeros(n_rows, dtype=np.int64)
    used = 1
    for column, count in zip(columns, n_values, strict=True):
        if used * count >= _ROOM:  # number the combinations that do occur, and go on from there
            distinct, key = np.unique(key, return_inverse=True)
            used = len(distinct)
        key *= count
        key += column
        used *= count
    return key


def sorted_runs(key: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows sorted by their key, where each run of equal keys starts, and the end."""
    rows = np.argsort(key, kind="stable")
    ordered = key[rows]
    changes = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    starts = np.concatenate([[0], changes, [len(key)]]) if len(key) else np.zeros(1)
    return rows, starts.astype(np.int64)

"""Where a row of nodes stands among known ones: rows as one number, found by halving."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import EngineError

_ROOM = 1 << 62


@dataclass(frozen=True, eq=False)
class Lookup:
    """Finds rows of nodes among those it was made of.

    ``prefixes[column]`` are the sorted numbers that the columns before it come to, where those
    have to be numbered anew for the next column to fit; None where it fits. ``keys`` are the
    rows' numbers, sorted, ``places`` the rows that have them.
    """

    n_nodes: tuple[int, ...]
    prefixes: tuple[NDArray[np.int64] | None, ...]
    keys: NDArray[np.int64]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, nodes: NDArray[np.int32], n_nodes: tuple[int, ...]) -> Lookup:
        """Make it of distinct rows: ``nodes[column, row]`` lies below ``n_nodes[column]``."""
        key = np.zeros(nodes.shape[1], dtype=np.int64)
        used = 1
        prefixes: list[NDArray[np.int64] | None] = []
        for column, size in zip(nodes, n_nodes, strict=True):
            prefix = None
            if used * size >= _ROOM:
                prefix, key = np.unique(key, return_inverse=True)
                used = len(prefix)
            prefixes.append(prefix)
            key = key * size + column
            used *= size
        places = np.argsort(key, kind="stable")
        return cls(n_nodes, tuple(prefixes), key[places], places)

    def find(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the place of each row; raise where one was never seen."""
        key = np.zeros(nodes.shape[1], dtype=np.int64)
        for column, size, prefix in zip(nodes, self.n_nodes, self.prefixes, strict=True):
            if prefix is not None:
                key = _found(prefix, key)
            key = key * size + column
        return self.places[_found(self.keys, key)]


def _found(known: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.int64]:
    place = np.minimum(np.searchsorted(known, asked), max(0, len(known) - 1))
    if len(asked) and (not len(known) or not np.array_equal(known[place], asked)):
        raise EngineError(
            "a row has other values than when rows were counted",
            remedy="Nothing was released. Make sure that nobody writes to the data meanwhile.",
        )
    return place

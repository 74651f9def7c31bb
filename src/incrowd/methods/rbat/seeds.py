"""The pair of items that loses most together, from common rows that are counted as needed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from incrowd.methods.rbat.kernel_split import NEAR

MOST_CELLS = 1 << 22
"""So many pairs of items are counted in one round."""


@dataclass(frozen=True, eq=False)
class Table:
    """In how many rows every two public items occur together."""

    counts: NDArray[np.int64]

    def common(self, item: int, others: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return in how many rows an item occurs with others."""
        common: NDArray[np.int64] = self.counts[item, others]
        return common


class Seeds:
    """Looks for the seeds of a part, item after item, until no other pair can lose more.

    Items are taken by the most that a pair with them could come to: by falling support, or by
    weight times rows. Of equal pairs the least (a, b) is it.
    """

    def __init__(
        self,
        items: NDArray[np.int32],
        support: NDArray[np.int64],
        weight: NDArray[np.float64],
        table: Table | None,
    ) -> None:
        self._items = items
        self._support = support
        self._weight = weight
        self._table = table
        if len(weight):
            heaviest, widest = weight[items].max(), support[items].max()
            most = (weight[items] + heaviest) * (support[items] + widest).astype(np.float64)
            order = np.argsort(-most, kind="stable")
            self._most = most[order]
            self._order = items[order]
        else:
            self._order = items[np.argsort(-support[items], kind="stable")]
            by_support = support[self._order].astype(np.float64)
            self._most = by_support + np.append(by_support[1:], 0)
        self._n_seen = 0
        self._best = -1.0
        # pairs that may be the best, with the rows that hold either item
        self._found: dict[tuple[float, float, int], tuple[int, int]] = {}

    def wanted(self) -> NDArray[np.int32] | None:
        """Return the items whose common rows are wanted next, the first ones first, or None."""
        while self._n_seen < len(self._order) - 1:
            if self._most[self._n_seen] < self._best * (1.0 - NEAR):
                return None
            if self._table is None:
                return self._order[self._n_seen : -1]
            item = int(self._order[self._n_seen])
            self._see(item, self._table.common(item, self._order[self._n_seen + 1 :]))
        return None

    def take(self, lines_of: NDArray[np.int32], lines: NDArray[np.int64]) -> None:
        """Look at the common rows of the next items with all items of the part."""
        for item, line in zip(lines_of.tolist(), lines, strict=True):
            later = self._order[self._n_seen + 1 :]
            self._see(item, line[np.searchsorted(self._items, later)])

    def _see(self, item: int, common: NDArray[np.int64]) -> None:
        """Look at the pairs of an item with all later ones."""
        others = self._order[self._n_seen + 1 :]
        self._n_seen += 1
        held = self._support[item] + self._support[others] - common
        weight = self._weight
        worth = held.astype(np.float64)
        if len(weight):
            worth *= weight[item] + weight[others]
        best = max(self._best, float(worth.max()))
        if best > self._best * (1.0 + NEAR):
            self._found.clear()
        self._best = best
        for place in np.flatnonzero(worth >= best * (1.0 - NEAR)).tolist():
            other = int(others[place])
            pair = (min(item, other), max(item, other))
            weights = sorted(weight[list(pair)].tolist()) if len(weight) else [1.0, 1.0]
            key = (weights[0], weights[1], int(held[place]))
            self._found[key] = min(pair, self._found.get(key, pair))

    def pair(self) -> tuple[int, int]:
        """Return the seeds, the lesser one first."""
        return max(
            ((_loss(*key), (-pair[0], -pair[1]), pair) for key, pair in self._found.items())
        )[2]


def _loss(weight: float, other_weight: float, n_rows: int) -> Fraction:
    return (Fraction(weight) + Fraction(other_weight)) * n_rows

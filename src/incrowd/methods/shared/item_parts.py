"""What a partition of public items must meet, in the numbers of a search."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from incrowd.transactions.rules import Rules


@dataclass(frozen=True, eq=False)
class RuleConditions:
    """Every rule's public part has support of at least k and tells its sensitive part rarely.

    ``is_sensitive`` says of every item of the transactions whether it is published intact;
    ``confidence`` is the highest share of transactions with a rule's public part that may hold its
    sensitive part. ``weight`` is what an item's generalization costs. Support is counted in
    transactions that hold all distinct parts of a rule's public items.
    """

    k: int
    confidence: float
    rules: Rules
    is_sensitive: NDArray[np.bool_]
    weight: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KmConditions:
    """Every set of up to m parts that a released transaction shows has support of at least k."""

    k: int
    m: int
    is_sensitive: NDArray[np.bool_]
    weight: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SplitTree:
    """How the partition came about: node 0 is the root of all public items.

    ``left[node]`` and ``right[node]`` are its children, −1 for a leaf; ``n_items[node]`` is how
    many items it has.
    """

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    n_items: NDArray[np.int32]

    @property
    def skewness(self) -> int:
        """The sum over split nodes of how far the sizes of their children differ (equation 5)."""
        inner = self.left >= 0
        sizes = self.n_items.astype(np.int64)
        return int(np.abs(sizes[self.left[inner]] - sizes[self.right[inner]]).sum())


@dataclass(frozen=True, eq=False)
class FoundParts:
    """A partition of the public items, and how it came about.

    ``part_of_item`` numbers the parts from 0 in the order of their first items; −1 for sensitive
    items and for items that no transaction holds. ``settings`` are fields of the method that left
    something open, with what they came to.
    """

    part_of_item: NDArray[np.int32]
    tree: SplitTree
    figures: dict[str, object] = field(default_factory=dict)
    settings: dict[str, object] = field(default_factory=dict)


def number_parts(
    part_of_public: NDArray[np.int32], items: NDArray[np.int32], n_items: int
) -> NDArray[np.int32]:
    """Return a part for every item, numbered by their first items; −1 for all other items."""
    parts, firsts, numbers = np.unique(part_of_public, return_index=True, return_inverse=True)
    place = np.empty(len(parts), dtype=np.int32)
    place[np.argsort(firsts)] = np.arange(len(parts), dtype=np.int32)
    part_of_item = np.full(n_items, -1, dtype=np.int32)
    part_of_item[items] = place[numbers]
    return part_of_item

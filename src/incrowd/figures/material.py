"""What figures are computed from: a release as its audit read it, and what only its owner has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.data.dataset import Rows
    from incrowd.data.rules import Rules
    from incrowd.data.schema import Schema
    from incrowd.data.sets import Sets
    from incrowd.data.table import Table


@dataclass(frozen=True, eq=False)
class OwnTable:
    """A table that only its owner has, beside its release.

    ``before`` and ``after`` are its quasi-identifying columns as nodes, in the original's order;
    rows that were left out are suppressed in ``after``. ``original_row[released row]``.
    """

    original: Table
    original_row: NDArray[np.int64]
    before: Rows
    after: Rows
    k_of_row: NDArray[np.int32] | None = None


@dataclass(frozen=True, eq=False)
class TableMaterial:
    """A released table; what only its owner has where that is known."""

    released: Table
    schema: Schema
    own: OwnTable | None = None


@dataclass(frozen=True, eq=False)
class OwnSets:
    """Sets that only their owner has, beside their release; items are renamed in some graphs.

    ``part_of_item``, ``is_sensitive``, ``rules`` and ``splits`` are of transactions with rules:
    which part each item is in, and the tree of splits as the search tells it.
    """

    original: Sets
    original_row: NDArray[np.int64]
    original_item: NDArray[np.int64] | None = None
    k_of_row: NDArray[np.int32] | None = None
    part_of_item: NDArray[np.int32] | None = None
    is_sensitive: NDArray[np.bool_] | None = None
    rules: Rules | None = None
    splits: tuple[dict[str, Any], ...] = field(default=())


@dataclass(frozen=True, eq=False)
class SetMaterial:
    """Released sets; what only their owner has where that is known."""

    released: Sets
    own: OwnSets | None = None


Material = TableMaterial | SetMaterial

"""What a search of adaptive anonymity is given, and what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Problem:
    """People as rows of category codes, and the crowd that each asks for.

    ``codes[attribute, row]`` counts from 0 below ``n_values[attribute]``; a missing value is a
    value of its own. ``k[row]`` of 1 is no wish. A *cell* is what is shown or masked: an attribute,
    or with ``is_bit`` one bit of its one-hot code (bit ``first_cell[attribute] + code``). Two rows
    that differ in an attribute differ in its cell, or in the two bits of their values.
    """

    codes: NDArray[np.int32]
    n_values: NDArray[np.int64]
    k: NDArray[np.int32]
    is_bit: bool = False

    def __post_init__(self) -> None:
        if self.codes.shape != (len(self.n_values), len(self.k)):
            raise ValueError("one line of codes per attribute and one k per row")

    @property
    def n_rows(self) -> int:
        """How many people there are."""
        return int(self.codes.shape[1])

    @property
    def n_attributes(self) -> int:
        """How many quasi-identifying columns there are."""
        return int(self.codes.shape[0])

    @cached_property
    def first_cell(self) -> NDArray[np.int64]:
        """Where each attribute's cells begin; the last entry is the number of cells in a row."""
        widths = self.n_values if self.is_bit else np.ones_like(self.n_values)
        return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)

    @property
    def n_cells(self) -> int:
        """How many cells a row has."""
        return int(self.first_cell[-1])


@dataclass(frozen=True, eq=False)
class Found:
    """Which cells are masked, ``is_masked[row, cell]``, and what the search says of itself."""

    is_masked: NDArray[np.bool_]
    figures: Mapping[str, int | float | str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def shown(self) -> float:
        """The share of cells that are shown: the paper's utility."""
        return 1.0 - float(self.is_masked.mean()) if self.is_masked.size else 1.0

"""Rows in the order that ties between them go by, and cut up for kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd.methods.adaptive.search import Problem
from incrowd.methods.shared.fragments import sort_key

if TYPE_CHECKING:
    from incrowd.methods.adaptive.kernels.nearest import Groups
    from incrowd.methods.adaptive.kernels.weighted import Cells, Tiles


TILE_BYTES = 400_000
"""What the planes of a tile take: they stay in a core's second cache."""

LEAST_TILE, LARGEST_TILE = 256, 8192

MOST_COMBINATIONS = 1024
"""Up to how many combinations of values attributes are joined."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """Rows by falling k or need, then by profile: ties between rows go to the lower rank.

    ``need[rank]`` is how many rows of other profiles its crowd lacks: those of its own profile
    are compatible as they are. ``row[rank]`` is the row's number in the problem.
    """

    problem: Problem
    row: NDArray[np.int64]
    profile: NDArray[np.int32]
    need: NDArray[np.int32]

    @classmethod
    def of(cls, problem: Problem) -> Ranked:
        """Return the rows of a problem in the order of their ranks."""
        n_values = problem.n_values.tolist()
        key = sort_key(list(problem.codes), n_values, problem.n_rows)
        _, profile, size = np.unique(key, return_inverse=True, return_counts=True)
        need = np.maximum(0, problem.k - size[profile])
        # measured: bits are masked less in the order of k, attributes in that of need
        first = problem.k if problem.is_bit else need
        row = np.lexsort((problem.k, profile, -first))
        return cls(problem, row, profile[row].astype(np.int32), need[row].astype(np.int32))

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.row)

    @cached_property
    def codes(self) -> NDArray[np.int32]:
        """The codes, a line per rank."""
        return np.ascontiguousarray(self.problem.codes[:, self.row].T)

    @cached_property
    def n_others(self) -> NDArray[np.int64]:
        """How many rows have another profile, per rank."""
        return self.n_rows - np.bincount(self.profile)[self.profile]

    @cached_property
    def first_value(self) -> NDArray[np.int64]:
        """Where each attribute's values begin when all are counted through."""
        return np.concatenate([[0], np.cumsum(self.problem.n_values)]).astype(np.int64)

    @cached_property
    def groups(self) -> Groups:
        """Rows of one profile and need together."""
        from incrowd.methods.adaptive.kernels.nearest import Groups

        first = np.flatnonzero(_is_start(self.profile) | _is_start(self.need))
        is_narrow = self.problem.n_values <= 256
        codes = self.problem.codes[:, self.row[first]]
        return Groups(
            codes[is_narrow].astype(np.uint8, order="C"),
            codes[~is_narrow].astype(_code_type(self.problem), order="C"),
            self.profile[first],
            first.astype(np.int32),
            np.diff(first, append=self.n_rows).astype(np.int32),
        )

    @cached_property
    def tiles(self) -> Tiles:
        """Rows sorted by profile, cut so that a tile's planes stay in the cache."""
        from incrowd.methods.adaptive.kernels.weighted import MOST_LAYERS, Tiles

        n_lines = max(1, self.problem.n_cells)
        n_places = int(np.clip(TILE_BYTES // (2 * n_lines), LEAST_TILE, LARGEST_TILE))
        rank = np.argsort(self.profile, kind="stable")
        profile, tile = self.profile[rank], np.arange(self.n_rows) // n_places
        # a segment starts with every tile and profile, and where it has all the rows it may have
        start = _is_start(profile) | _is_start(tile)
        within = np.arange(self.n_rows) - np.maximum.accumulate(
            np.where(start, np.arange(self.n_rows), 0)
        )
        start |= within % MOST_LAYERS == 0
        first = np.flatnonzero(start)
        size = np.diff(first, append=self.n_rows)
        # segments: by tile, those with most rows first; rows: by tile, layer and segment
        order = np.lexsort((-size, tile[first]))
        place_of_segment = np.empty_like(order)
        place_of_segment[order] = np.arange(len(order))
        segment_of_row = place_of_segment[np.cumsum(start) - 1]
        layer_of_row = within % MOST_LAYERS
        rank = rank[np.lexsort((segment_of_row, layer_of_row, tile))]
        sizes = np.bincount(tile * MOST_LAYERS + layer_of_row, minlength=MOST_LAYERS)
        n_tiles = int(tile[-1]) + 1 if self.n_rows else 0
        sizes = np.pad(sizes, (0, n_tiles * MOST_LAYERS - len(sizes))) if n_tiles else sizes[:0]
        layer = np.zeros((n_tiles, MOST_LAYERS + 1), dtype=np.int64)
        layer[:, 1:] = np.cumsum(sizes).reshape(n_tiles, MOST_LAYERS)
        layer[1:, 0] = layer[:-1, -1]
        representative = self.row[np.argsort(self.profile, kind="stable")[first[order]]]
        combination, value_start, values = joined(
            self.problem.codes[:, representative], self.first_value
        )
        return Tiles(
            rank.astype(np.int32),
            np.searchsorted(tile[first[order]], np.arange(n_tiles + 1)),
            layer,
            profile[first[order]],
            np.ascontiguousarray(combination.T),
            value_start,
            values,
        )

    def cells(self, counts: NDArray[np.uint8], weights: NDArray[np.int32]) -> Cells:
        """Return the rows with what their cells weigh."""
        from incrowd.methods.adaptive.kernels.weighted import Cells

        return Cells(
            self.codes,
            self.planes,
            self.profile,
            counts,
            weights,
            self.first_value,
            self.problem.is_bit,
        )

    @cached_property
    def planes(self) -> NDArray[Any]:
        """The codes in the order of tiles, where attributes are compared one at a time."""
        if self.problem.is_bit:
            return np.empty((0, 0), dtype=np.uint8)
        return self.problem.codes[:, self.row[self.tiles.rank]].astype(
            _code_type(self.problem), order="C"
        )


def _is_start(numbers: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where sorted numbers change, the first included."""
    is_start = np.ones(len(numbers), dtype=np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=is_start[1:])
    return is_start


def _code_type(problem: Problem) -> type[np.generic]:
    most = int(problem.n_values.max(initial=0))
    if most <= 1 << 8:
        return np.uint8
    return np.uint16 if most <= 1 << 16 else np.int32


def joined(
    codes: NDArray[np.int32], first_value: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int32]]:
    """Join attributes, those with few values first, while few combinations occur.

    Returns the combination of each row of ``codes[attribute, row]`` per joined attribute, all
    combinations counted through; and the values that each is made of.
    """
    by_width = np.argsort(np.diff(first_value), kind="stable")
    parts: list[tuple[list[int], NDArray[np.int64]]] = []
    for attribute in by_width.tolist():
        if parts:
            members, number = parts[-1]
            together = number * int(codes[attribute].max(initial=0) + 1) + codes[attribute]
            distinct, renumbered = np.unique(together, return_inverse=True)
            if len(distinct) <= MOST_COMBINATIONS:
                parts[-1] = ([*members, attribute], renumbered)
                continue
        _, number = np.unique(codes[attribute], return_inverse=True)
        parts.append(([attribute], number))
    n_combinations = 0
    combination = np.empty((len(parts), codes.shape[1]), dtype=np.int64)
    lengths: list[NDArray[np.int64]] = []
    values: list[NDArray[np.int64]] = []
    for line, (members, number) in enumerate(parts):
        _, representative = np.unique(number, return_index=True)
        made_of = codes[np.ix_(np.array(members), representative)] + first_value[members][:, None]
        combination[line] = number + n_combinations
        n_combinations += len(representative)
        lengths.append(np.full(len(representative), len(members)))
        values.append(made_of.T.ravel())
    value_start = np.cumsum(np.concatenate([[0], *lengths])).astype(np.int64)
    number_type = np.uint16 if n_combinations <= 1 << 16 else np.int32
    made = np.concatenate(values) if values else np.zeros(0)
    return combination.astype(number_type), value_start, made.astype(np.int32)

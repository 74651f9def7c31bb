"""Match what an attacker knows of a person with released rows, cell by cell.

Knowledge is exact: a value in each known column. A released row fits if every known value is the
cell shown, lies under it in its hierarchy, or is shown as ``*``. Equal rows are matched once on
either side: what is matched are distinct known rows and distinct released rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.codes import RowKey
from incrowd.encoding.encode import encode_labels
from incrowd.hierarchies.tree import STAR, Hierarchy

FLAGS_AT_ONCE = 1 << 22
"""Pairs of a value and a shown cell that are looked at together."""

COMMON_SHARE = 16
"""A cell is common, and stored as bits too, if more than one row in this many shows it."""


@dataclass(frozen=True, eq=False)
class FittingColumn:
    """One column of what is known and of what is shown, as codes.

    Value v of ``n_values`` fits the shown cells ``cells[start[v]:start[v + 1]]``, rising, of
    ``n_shown``.
    """

    value_of_row: NDArray[np.int32]
    shown_of_row: NDArray[np.int32]
    n_values: int
    n_shown: int
    start: NDArray[np.int64]
    cells: NDArray[np.int32]


def fit_by_flags(
    value_of_row: NDArray[np.int32],
    shown_of_row: NDArray[np.int32],
    n_shown: int,
    blocks: Iterable[NDArray[np.bool_]],
) -> FittingColumn:
    """Return a column from flags, value by value and block by block, of the cells that fit it."""
    counts, cells = [np.zeros(1, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
    for flags in blocks:
        counts.append(flags.sum(axis=1).astype(np.int64))
        cells.append(np.nonzero(flags)[1].astype(np.int32))
    start = np.cumsum(np.concatenate(counts))
    return FittingColumn(
        value_of_row, shown_of_row, len(start) - 1, n_shown, start, np.concatenate(cells)
    )


def fit_by_hierarchy(
    leaves: NDArray[np.int32],
    nodes: NDArray[np.int32],
    hierarchy: Hierarchy,
    upper: NDArray[np.int32] | None = None,
) -> FittingColumn:
    """Return a column of known leaves and shown nodes of one hierarchy.

    With ``upper``, a known row lies between two leaves, and a node fits it if it is above both; a
    leaf of −1 is a value that the hierarchy does not have, which only the root fits.
    """
    pairs = np.stack([leaves, leaves if upper is None else upper])
    known, value_of_row = np.unique(pairs, axis=1, return_inverse=True)
    shown, shown_of_row = np.unique(nodes, return_inverse=True)
    step = max(1, FLAGS_AT_ONCE // max(len(shown), 1))

    def fits(first: int) -> NDArray[np.bool_]:
        ends = known[:, first : first + step]
        shape = (ends.shape[1], len(shown))
        above = np.broadcast_to(shown, shape).astype(np.int32)
        found = np.ones(shape, dtype=np.bool_)
        for below in ends:
            under = np.broadcast_to(np.maximum(below, 0)[:, None], shape).astype(np.int32)
            is_placed = (below >= 0)[:, None]
            found &= (hierarchy.is_ancestor(above, under) & is_placed) | (above == hierarchy.root)
        return found

    return fit_by_flags(
        value_of_row.reshape(-1).astype(np.int32),
        shown_of_row.reshape(-1).astype(np.int32),
        len(shown),
        (fits(first) for first in range(0, known.shape[1], step)),
    )


def fit_by_text(known: pa.ChunkedArray, shown: pa.ChunkedArray) -> FittingColumn:
    """Return a column of known and shown texts: a cell fits the same text, ``*`` fits all.

    Missing is a value like any other.
    """
    before, after = encode_labels(known), encode_labels(shown)
    n_values, n_shown = len(before.texts) + 1, len(after.texts) + 1
    same = pc.index_in(before.texts, after.texts.cast(before.texts.type)).fill_null(-1)
    same_cell = np.append(same.to_numpy(zero_copy_only=False), n_shown - 1).astype(np.int64)
    star = int(pc.index(after.texts, STAR).as_py())
    values = np.arange(n_values)
    pairs = [np.stack([values, same_cell])[:, same_cell >= 0]]
    if star >= 0:
        pairs.append(np.stack([values, np.full(n_values, star)]))
    of_value, cells = np.unique(np.concatenate(pairs, axis=1), axis=1)
    return FittingColumn(
        np.where(before.codes < 0, n_values - 1, before.codes).astype(np.int32),
        np.where(after.codes < 0, n_shown - 1, after.codes).astype(np.int32),
        n_values,
        n_shown,
        np.searchsorted(of_value, np.arange(n_values + 1)).astype(np.int64),
        cells.astype(np.int32),
    )


def fit_by_value(column: pa.ChunkedArray, rows: NDArray[np.int64]) -> FittingColumn:
    """Return a column that is known of some rows beside all of itself: a value fits itself."""
    cells = encode_labels(column)
    codes, n_codes = cells.codes + np.int32(1), len(cells.texts) + 1
    start = np.arange(n_codes + 1, dtype=np.int64)
    return FittingColumn(
        codes[rows], codes, n_codes, n_codes, start, np.arange(n_codes, dtype=np.int32)
    )


def number_distinct_rows(
    columns: list[tuple[NDArray[np.int32], int]], n_rows: int
) -> NDArray[np.int64]:
    """Number rows by content, 0 … distinct − 1, from codes and how many codes each column has."""
    key = RowKey(n_rows)
    for codes, n_codes in columns:
        key.add(codes, n_codes)
    return np.unique(key.numbers, return_inverse=True)[1].reshape(-1).astype(np.int64)


def count_fitting(
    columns: list[FittingColumn], is_known: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """Return, for every known row, how many released rows fit it.

    ``is_known[row, column]`` says which columns are known of each row, all where it is not given.
    Equal rows are matched once on either side.
    """
    matches = _Matches.of(columns, is_known)
    return matches.n_rows_fitting[matches.known]


def count_fitted(columns: list[FittingColumn]) -> NDArray[np.int64]:
    """Return, for every released row, how many known rows it fits; the other way round."""
    matches = _Matches.of(columns, None)
    return matches.n_known_fitted[matches.released]


def fitting_row_pairs(
    columns: list[FittingColumn], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return every pair of a known and a released row that fit; None where they are too many."""
    matches = _Matches.of(columns, None)
    rows_of_known, known_start = _rows_of_numbers(matches.known)
    rows_of_released, released_start = _rows_of_numbers(matches.released)
    n_left, n_right = np.diff(known_start), np.diff(released_start)
    n_all = int(matches.n_rows_fitting @ n_left)
    if n_all > most:
        return None
    known, released = _Matches.of(columns, None, room=matches.n_pairs).pairs
    left, right = _cross_ranges(
        known_start[known], n_left[known], released_start[released], n_right[released]
    )
    return rows_of_known[left], rows_of_released[right]


def do_pairs_fit(
    columns: list[FittingColumn],
    rows: NDArray[np.int64],
    released: NDArray[np.int64],
    is_known: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Return, pair by pair, whether a released row fits a known row."""
    found = np.ones(len(rows), dtype=np.bool_)
    for place, column in enumerate(columns):
        of_cell = np.repeat(np.arange(column.n_values, dtype=np.int64), np.diff(column.start))
        fitting = of_cell * column.n_shown + column.cells  # rising, as the cells of a value are
        asked = column.value_of_row[rows].astype(np.int64) * column.n_shown
        asked += column.shown_of_row[released]
        at = np.searchsorted(fitting, asked)
        fits = np.append(fitting, -1)[at] == asked
        found &= fits if is_known is None else fits | ~is_known[rows, place]
    return found


@dataclass(frozen=True, eq=False)
class _Matches:
    """Known and released rows by content, and what their meeting came to.

    ``known`` and ``released`` number the distinct rows; ``n_rows_fitting`` counts released rows by
    distinct known row, ``n_known_fitted`` known rows by distinct released row.
    """

    known: NDArray[np.int64]
    released: NDArray[np.int64]
    n_rows_fitting: NDArray[np.int64]
    n_known_fitted: NDArray[np.int64]
    n_pairs: int
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]]

    @classmethod
    def of(
        cls, columns: list[FittingColumn], is_known: NDArray[np.bool_] | None, room: int = 0
    ) -> _Matches:
        """Match every known row with every released row; pairs are kept up to ``room``."""
        from incrowd.encoding.fitting_kernels import match_rows

        known_columns = [(column.value_of_row, column.n_values) for column in columns]
        if is_known is not None:
            known_columns += [(flags.astype(np.int32), 2) for flags in is_known.T]
        known = number_distinct_rows(known_columns, len(columns[0].value_of_row))
        shown_columns = [(column.shown_of_row, column.n_shown) for column in columns]
        released = number_distinct_rows(shown_columns, len(columns[0].shown_of_row))
        first_known, first_released = _first_rows(known), _first_rows(released)
        value_shift = np.cumsum([0, *(column.n_values for column in columns)])
        cell_shift = np.cumsum([0, *(column.n_shown for column in columns)])
        values, shown = (
            np.stack([codes[first] + int(shift) for codes, shift in side], axis=1).astype(np.int32)
            for first, side in (
                (first_known, zip((c.value_of_row for c in columns), value_shift, strict=False)),
                (first_released, zip((c.shown_of_row for c in columns), cell_shift, strict=False)),
            )
        )
        n_fitting = np.concatenate([np.diff(column.start) for column in columns])
        cells = [c.cells + np.int32(shift) for c, shift in zip(columns, cell_shift, strict=False)]
        rows_of_cell = _RowsOfCell.of(shown, int(cell_shift[-1]))
        weight_of_known = np.zeros(len(first_known), dtype=np.int64)
        n_of_released = np.zeros(len(first_released), dtype=np.int64)
        pairs = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        n_pairs = match_rows(
            values,
            np.ones(values.shape, dtype=np.bool_) if is_known is None else is_known[first_known],
            shown,
            np.concatenate([[0], np.cumsum(n_fitting)]).astype(np.int64),
            np.concatenate(cells).astype(np.int32),
            rows_of_cell.start,
            rows_of_cell.rows,
            rows_of_cell.words_of_cell,
            rows_of_cell.words,
            np.bincount(known, minlength=len(first_known)).astype(np.int64),
            np.bincount(released, minlength=len(first_released)).astype(np.int64),
            weight_of_known,
            n_of_released,
            *pairs,
        )
        return cls(known, released, weight_of_known, n_of_released, int(n_pairs), pairs)


@dataclass(frozen=True, eq=False)
class _RowsOfCell:
    """The distinct released rows that show each cell, as lists, and as bits for common cells."""

    start: NDArray[np.int64]
    rows: NDArray[np.int32]
    words_of_cell: NDArray[np.int32]
    words: NDArray[np.uint64]

    @classmethod
    def of(cls, shown: NDArray[np.int32], n_cells: int) -> _RowsOfCell:
        n_released = len(shown)
        cells = shown.T.reshape(-1)
        counts = np.bincount(cells, minlength=n_cells)
        start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        rows = (np.argsort(cells, kind="stable") % max(n_released, 1)).astype(np.int32)
        common = np.flatnonzero(counts > n_released // COMMON_SHARE)
        words_of_cell = np.full(n_cells, -1, dtype=np.int32)
        words_of_cell[common] = np.arange(len(common), dtype=np.int32)
        words = np.zeros((len(common), -(-n_released // 64)), dtype=np.uint64)
        for place, cell in enumerate(common.tolist()):
            flags = np.zeros(words.shape[1] * 64, dtype=np.bool_)
            flags[rows[start[cell] : start[cell + 1]]] = True
            words[place] = np.packbits(flags, bitorder="little").view("<u8")
        return cls(start, rows, words_of_cell, words)


def _first_rows(number: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first row of each number."""
    return np.unique(number, return_index=True)[1].astype(np.int64)


def _rows_of_numbers(number: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of each number, number after number, and where each begins."""
    start = np.concatenate([[0], np.cumsum(np.bincount(number))]).astype(np.int64)
    return np.argsort(number, kind="stable").astype(np.int64), start


def _cross_ranges(
    left: NDArray[np.int64],
    n_left: NDArray[np.int64],
    right: NDArray[np.int64],
    n_right: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return every pair of a place from ``left`` on and one from ``right`` on, entry by entry."""
    n_both = n_left * n_right
    entry = np.repeat(np.arange(len(left)), n_both)
    within = np.arange(int(n_both.sum())) - np.repeat(np.cumsum(n_both) - n_both, n_both)
    return left[entry] + within // n_right[entry], right[entry] + within % n_right[entry]

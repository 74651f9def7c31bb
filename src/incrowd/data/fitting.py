"""Which released lines fit what somebody knows of a person, cell by cell.

A *line* is one distinct released row, with how often it occurs. Knowledge is exact: a value in each
known column. A line fits if every known value is the cell shown, lies under it in its hierarchy,
or meets a ``*``. Work goes over packed bits, a block of known rows at a time, so that lines times
known rows may be large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.codes import RowKey
from incrowd.data.encoding import coded
from incrowd.data.hierarchy import STAR, Hierarchy

BYTES_AT_ONCE = 1 << 24
"""Packed bits that are worked on together."""

Fits = Callable[[NDArray[np.int64]], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class FittingColumn:
    """One column of what is known and of what is shown, as codes.

    ``fits(values)`` says, for each of these known values, which of the ``n_shown`` shown cells
    fit it: one line of flags per value.
    """

    value_of_row: NDArray[np.int32]
    shown_of_row: NDArray[np.int32]
    n_values: int
    n_shown: int
    fits: Fits


def by_hierarchy(
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

    def fits(values: NDArray[np.int64]) -> NDArray[np.bool_]:
        found = np.ones((len(values), len(shown)), dtype=np.bool_)
        for ends in known:
            below = ends[values]
            above = np.broadcast_to(shown, (len(values), len(shown))).astype(np.int32)
            under = np.broadcast_to(np.maximum(below, 0)[:, None], above.shape).astype(np.int32)
            is_known = (below >= 0)[:, None]
            found &= (hierarchy.is_ancestor(above, under) & is_known) | (above == hierarchy.root)
        return found

    return FittingColumn(
        value_of_row.reshape(-1).astype(np.int32),
        shown_of_row.reshape(-1).astype(np.int32),
        known.shape[1],
        len(shown),
        fits,
    )


def by_text(known: pa.ChunkedArray, shown: pa.ChunkedArray) -> FittingColumn:
    """Return a column of known and shown texts: a cell fits the same text, ``*`` fits all.

    Missing is a value like any other.
    """
    before, after = coded(known), coded(shown)
    same = pc.index_in(after.texts, before.texts.cast(after.texts.type)).fill_null(-2)
    value_of_shown = np.append(same.to_numpy(zero_copy_only=False), -1).astype(np.int64)
    star = int(pc.index(after.texts, STAR).as_py())

    def fits(values: NDArray[np.int64]) -> NDArray[np.bool_]:
        stands_for = np.where(values == len(before.texts), -1, values)
        found: NDArray[np.bool_] = stands_for[:, None] == value_of_shown[None, :]
        if star >= 0:
            found[:, star] = True
        return found

    n_values, n_shown = len(before.texts) + 1, len(after.texts) + 1
    return FittingColumn(
        np.where(before.codes < 0, n_values - 1, before.codes).astype(np.int32),
        np.where(after.codes < 0, n_shown - 1, after.codes).astype(np.int32),
        n_values,
        n_shown,
        fits,
    )


def numbered_rows(columns: list[tuple[NDArray[np.int32], int]], n_rows: int) -> NDArray[np.int64]:
    """Number rows by content, 0 … distinct − 1, from codes and how many codes each column has."""
    key = RowKey(n_rows)
    for codes, n_codes in columns:
        key.add(codes, n_codes)
    return np.unique(key.numbers, return_inverse=True)[1].reshape(-1).astype(np.int64)


def count_fitting(
    columns: list[FittingColumn],
    weight_of_row: NDArray[np.int64],
    is_known: NDArray[np.bool_] | None = None,
) -> NDArray[np.int64]:
    """Return, for every known row, the total weight of the released rows that fit it.

    ``is_known[row, column]`` says which columns are known of each row, all where it is not given.
    Equal rows are counted once on either side. O(distinct known rows × lines × columns / 8).
    """
    met = _Met.of(columns, is_known)
    sums = _byte_sums(np.bincount(met.line, weights=weight_of_row).astype(np.int64), met.n_bytes)
    found = np.zeros(len(met.first_known), dtype=np.int64)
    for start, fitting in met.blocks(columns, is_known):
        of_block, place = np.nonzero(fitting)
        np.add.at(
            found[start : start + len(fitting)], of_block, sums[place, fitting[of_block, place]]
        )
    return found[met.known]


def count_fitted(columns: list[FittingColumn]) -> NDArray[np.int64]:
    """Return, for every released row, how many known rows it fits; the other way round."""
    met = _Met.of(columns, None)
    n_of_known = np.bincount(met.known).astype(np.int64)
    found = np.zeros(met.n_bytes * 8, dtype=np.int64)
    for start, fitting in met.blocks(columns, None):
        of_block, place = np.nonzero(fitting)
        bits = np.unpackbits(fitting[of_block, place][:, None], axis=1)
        entry, bit = np.nonzero(bits)
        np.add.at(found, place[entry] * 8 + bit, n_of_known[start + of_block[entry]])
    return found[met.line]


def fitting_lines(
    columns: list[FittingColumn], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return every pair of a known and a released row that fit; None where they are too many."""
    met = _Met.of(columns, None)
    rows_of_known, known_start = _members(met.known)
    rows_of_line, line_start = _members(met.line)
    pairs, n_pairs = [], 0
    for start, fitting in met.blocks(columns, None):
        of_block, place = np.nonzero(fitting)
        entry, bit = np.nonzero(np.unpackbits(fitting[of_block, place][:, None], axis=1))
        known, line = start + of_block[entry], place[entry] * 8 + bit
        n_left, n_right = np.diff(known_start)[known], np.diff(line_start)[line]
        n_pairs += int((n_left * n_right).sum())
        if n_pairs > most:
            return None
        pairs.append(_crossed(known_start[known], n_left, line_start[line], n_right))
    left = np.concatenate([item[0] for item in pairs] or [np.zeros(0, dtype=np.int64)])
    right = np.concatenate([item[1] for item in pairs] or [np.zeros(0, dtype=np.int64)])
    return rows_of_known[left], rows_of_line[right]


def _members(number: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of each number, number after number, and where each begins."""
    counts = np.bincount(number)
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return np.argsort(number, kind="stable").astype(np.int64), start


def _crossed(
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


@dataclass(frozen=True, eq=False)
class _Met:
    """Known and released rows by content: numbers of rows, and the first row of each number."""

    known: NDArray[np.int64]
    line: NDArray[np.int64]
    first_known: NDArray[np.int64]
    first_line: NDArray[np.int64]

    @classmethod
    def of(cls, columns: list[FittingColumn], is_known: NDArray[np.bool_] | None) -> _Met:
        known_columns = [(column.value_of_row, column.n_values) for column in columns]
        if is_known is not None:
            known_columns += [(flags.astype(np.int32), 2) for flags in is_known.T]
        known = numbered_rows(known_columns, len(columns[0].value_of_row))
        shown_columns = [(column.shown_of_row, column.n_shown) for column in columns]
        line = numbered_rows(shown_columns, len(columns[0].shown_of_row))
        return cls(known, line, _first(known), _first(line))

    @property
    def n_bytes(self) -> int:
        """How many bytes have a bit for every line."""
        return -(-len(self.first_line) // 8)

    def blocks(
        self, columns: list[FittingColumn], is_known: NDArray[np.bool_] | None
    ) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        """Yield, for blocks of distinct known rows, which lines fit them, as bits."""
        widest = max(self.n_bytes, 4 * max(column.n_shown for column in columns), 1)
        step = max(1, BYTES_AT_ONCE // widest)
        for start in range(0, len(self.first_known), step):
            rows = self.first_known[start : start + step]
            fitting = np.full((len(rows), self.n_bytes), 255, dtype=np.uint8)
            fitting &= np.packbits(np.ones(len(self.first_line), dtype=np.bool_))
            for place, column in enumerate(columns):
                values, of_row = np.unique(column.value_of_row[rows], return_inverse=True)
                shown = column.shown_of_row[self.first_line]
                bits = np.packbits(column.fits(values.astype(np.int64))[:, shown], axis=1)
                if is_known is None:
                    fitting &= bits[of_row.reshape(-1)]
                else:
                    asked = np.flatnonzero(is_known[rows, place])
                    fitting[asked] &= bits[of_row.reshape(-1)[asked]]
            yield start, fitting


def fitting_pairs(
    columns: list[FittingColumn],
    rows: NDArray[np.int64],
    released: NDArray[np.int64],
    is_known: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Return, pair by pair, whether a released row fits a known row."""
    found = np.ones(len(rows), dtype=np.bool_)
    for place, column in enumerate(columns):
        values, of_pair = np.unique(column.value_of_row[rows], return_inverse=True)
        fits = np.zeros(len(rows), dtype=np.bool_)
        step = max(1, BYTES_AT_ONCE // max(column.n_shown, 1))
        for start in range(0, len(values), step):
            part = column.fits(values[start : start + step].astype(np.int64))
            inside = np.flatnonzero((of_pair >= start) & (of_pair < start + step))
            shown = column.shown_of_row[released[inside]]
            fits[inside] = part[of_pair.reshape(-1)[inside] - start, shown]
        found &= fits if is_known is None else fits | ~is_known[rows, place]
    return found


def _first(number: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first row of each number."""
    return np.unique(number, return_index=True)[1].astype(np.int64)


def _byte_sums(weight_of_line: NDArray[np.int64], n_bytes: int) -> NDArray[np.int64]:
    """Return ``sums[place, byte]``: the weight of the lines whose bits are set in a byte there."""
    weights = np.zeros(n_bytes * 8, dtype=np.int64)
    weights[: len(weight_of_line)] = weight_of_line
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int64)
    return np.asarray(weights.reshape(n_bytes, 8) @ bits.T)

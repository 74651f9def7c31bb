"""Who is which row: original cells beside released ones as numbers; what stars tell of sensitive
values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.codes import RowKey
from incrowd.encoding.encode import LabelCodes, encode_labels
from incrowd.encoding.one_hot import SET_BIT
from incrowd.errors import DataError, InputError, unknown
from incrowd.guarantees.evidence import Evidence, Finding
from incrowd.hierarchies.tree import STAR

MASKED = -1
"""The released code of a ``*``."""


@dataclass(frozen=True, eq=False)
class Distinct:
    """Rows by content: ``of_row[row]`` numbers the distinct ones, ``cells`` shows each once."""

    of_row: NDArray[np.int32]
    cells: NDArray[np.int32]

    @property
    def n(self) -> int:
        """How many different rows there are."""
        return len(self.cells)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How often each occurs."""
        return np.bincount(self.of_row, minlength=self.n).astype(np.int64)


@dataclass(frozen=True, eq=False)
class People:
    """``original[person, column]`` and ``released[person, column]`` in the same codes.

    A released cell is a code, or −1 where it is masked; an original cell is never masked, and a
    missing cell is a value. ``k[person]`` is the wish.
    """

    original: NDArray[np.int32]
    released: NDArray[np.int32]
    k: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.original.shape != self.released.shape or len(self.k) != len(self.original):
            raise ValueError("an original row, a released row and a k for every person")

    @property
    def n(self) -> int:
        """How many people there are."""
        return len(self.k)

    @cached_property
    def is_masked(self) -> NDArray[np.bool_]:
        """Which released cells show nothing."""
        return np.asarray(self.released == MASKED)

    @cached_property
    def is_untrue(self) -> NDArray[np.bool_]:
        """Which people's released row shows a cell that is not their own."""
        return np.asarray((~self.is_masked & (self.released != self.original)).any(axis=1))

    @cached_property
    def profiles(self) -> Distinct:
        """The distinct original rows."""
        return distinct_rows(self.original)

    @cached_property
    def patterns(self) -> Distinct:
        """The distinct released rows, as they are written."""
        return distinct_rows(self.released)

    @cached_property
    def kinds(self) -> Distinct:
        """The distinct (profile, pattern) pairs, as two columns."""
        return distinct_rows(np.column_stack([self.profiles.of_row, self.patterns.of_row]))

    def only(self, is_chosen: NDArray[np.bool_]) -> People:
        """Return some of the people, with their rows."""
        return People(self.original[is_chosen], self.released[is_chosen], self.k[is_chosen])


def distinct_rows(cells: NDArray[np.int32]) -> Distinct:
    """Number the distinct rows of an array by rising content; O(rows log rows)."""
    key = RowKey(len(cells))
    for column in cells.T:
        lowest = int(column.min(initial=0))
        key.add(column - np.int32(lowest), int(column.max(initial=0)) - lowest + 1)
    _, first, of_row = np.unique(key.numbers, return_index=True, return_inverse=True)
    return Distinct(of_row.reshape(-1).astype(np.int32), np.ascontiguousarray(cells[first]))


def people_of(evidence: Evidence, k: int) -> People:
    """Return the people behind a release; ``k`` is the wish of all where no column states it.

    Raises InputError where something that only the owner has is not there.
    """
    frame, original = evidence.frame, evidence.original
    if frame is None:
        raise InputError(
            "could not check: adaptive anonymity needs the release as one local table",
            remedy="Check it where it fits into memory: --engine local.",
        )
    if original is None:
        raise InputError(
            "could not check: adaptive anonymity compares people with their released rows",
            remedy="State the original and who is which row: --original DATA with --key KEY or "
            "--aligned.",
        )
    if not evidence.quasi:
        raise InputError(
            "no column is quasi-identifying, so there is nothing to check",
            remedy="Name the columns that somebody could know a person by: --quasi age,zip.",
        )
    if original.num_rows != frame.num_rows:
        raise InputError(
            f"could not check: {frame.num_rows} released rows stand beside {original.num_rows} "
            "original ones",
            remedy="Every released row needs its original, in the same order.",
        )
    for name in evidence.quasi:
        for table, where in ((frame, "the release"), (original, "the original")):
            if name not in table.column_names:
                raise unknown("column", name, table.column_names, where=where)
    _refuse_repeated_people(evidence, frame)
    shape = (frame.num_rows, len(evidence.quasi))
    before, after = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.int32)
    for place, name in enumerate(evidence.quasi):
        before[:, place], after[:, place] = _encode_together(
            encode_labels(original.column(name)), encode_labels(frame.column(name)), name
        )
    if evidence.k_column is None:
        wishes = np.full(frame.num_rows, k, dtype=np.int64)
    elif evidence.k_column in frame.column_names:
        wishes = read_requested_k(frame.column(evidence.k_column), evidence.k_column)
    else:
        raise unknown("column", evidence.k_column, frame.column_names, where="the owner's columns")
    return People(before, after, wishes)


def read_requested_k(column: pa.ChunkedArray, name: str) -> NDArray[np.int64]:
    """Return each person's own k; anything but whole numbers of at least 1 is refused."""
    cells = encode_labels(column)
    texts = pl.Series(values=cells.labels, dtype=pl.String).str.strip_chars()
    is_whole = texts.str.contains(r"^\+?[0-9]{1,9}$").to_numpy().astype(np.bool_)
    numbers = np.zeros(len(texts) + 1, dtype=np.int64)  # the last entry is a missing cell's
    numbers[:-1][is_whole] = [int(text) for text in texts.filter(pl.Series(is_whole))]
    wishes = numbers[cells.codes]
    is_wrong = wishes < 1
    if is_wrong.any():
        wrong = np.unique(cells.codes[is_wrong])
        raise DataError(
            f"column {name!r}: {int(is_wrong.sum())} rows hold no whole number of 1 or more",
            remedy="Every row needs its own k; 1 means no wish.",
            examples=[cells.labels[code] if code >= 0 else "" for code in wrong[:3]],
        )
    return wishes


def _encode_together(
    before: LabelCodes, after: LabelCodes, name: str
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return a column's original and released cells in the same codes: 0 is missing."""
    if pc.index(before.texts, STAR).as_py() >= 0:
        raise DataError(
            f"the original, column {name!r}: cells are already '*', which is how a release writes "
            "a masked cell",
            remedy="Replace them in the data by another token, such as 'unknown'.",
        )
    n_texts = len(before.texts)
    known = pc.index_in(after.texts, before.texts.cast(after.texts.type))
    # a text that the original does not have gets a number of its own
    places = known.fill_null(-1).to_numpy().astype(np.int32)
    is_new = places < 0
    places[is_new] = n_texts + np.arange(int(is_new.sum()), dtype=np.int32)
    code_of_text = np.append(places + 1, np.int32(0))
    star = pc.index(after.texts, STAR).as_py()
    if star >= 0:
        code_of_text[star] = MASKED
    return before.codes + np.int32(1), code_of_text[after.codes]


def _refuse_repeated_people(evidence: Evidence, frame: pa.Table) -> None:
    if evidence.person is None:
        return
    if evidence.person not in frame.column_names:
        raise unknown("column", evidence.person, frame.column_names, where="the owner's columns")
    people = encode_labels(frame.column(evidence.person), evidence.missing_values)
    if people.has_missing or len(people.texts) < frame.num_rows:
        raise InputError(
            "could not check: adaptive anonymity counts a row as a person, and column "
            f"{evidence.person!r} has {len(people.texts)} people for {frame.num_rows} rows",
            remedy="Put each person into one row, or leave --person out to count rows.",
        )


# What a release shows of its original.

SHOWN = "cells shown"


def report_shown_cells(people: People, evidence: Evidence) -> Finding:
    """Return the share of the original's cells that the file shows: the paper's utility.

    A row or a column of the original that is not in the file shows nothing. Bits are counted as
    cells, and besides the values: those whose 1 is shown. A column that shows no 1 tells by its
    name that the value occurs, and by its zeros whose it is not. Informs only.
    """
    n_originals = evidence.n_originals or people.n
    n_shown = int((~people.is_masked).sum())
    bits = evidence.attribute_of_bit
    n_columns = len(bits) or len(evidence.quasi)
    n_cells = n_originals * n_columns
    figures: dict[str, Any] = {
        "n_cells": n_cells,
        "n_shown": n_shown,
        "shown": round(n_shown / n_cells, 6),
    }
    if not bits:
        summary = f"the file shows {n_shown / n_cells:.1%} of the original's {n_cells:,} cells"
        return Finding(SHOWN, None, summary, figures, is_public=False)
    if evidence.frame is None:
        raise ValueError("people come from a frame")
    ones = [_count_text(evidence.frame.column(name), SET_BIT) for name in evidence.quasi]
    n_values = n_originals * len(set(bits.values()))
    figures |= {
        "n_values": n_values,
        "n_values_shown": sum(ones),
        "values_shown": round(sum(ones) / n_values, 6),
        "n_columns": n_columns,
        "n_columns_left_out": n_columns - len(evidence.quasi),
        "n_columns_without_1": ones.count(0),
    }
    summary = (
        f"the file shows {n_shown / n_cells:.1%} of the original's {n_cells:,} bits and "
        f"{sum(ones) / n_values:.1%} of its {n_values:,} values"
    )
    if figures["n_columns_left_out"]:
        summary += f"; {figures['n_columns_left_out']} of {n_columns} bits have no column"
    if figures["n_columns_without_1"]:
        summary += (
            f"; {figures['n_columns_without_1']} columns name a value that no row shows: it occurs"
        )
    return Finding(SHOWN, None, summary, figures, is_public=False)


def _count_text(column: pa.ChunkedArray, text: str) -> int:
    cells = encode_labels(column)
    place = pc.index(cells.texts, text).as_py()
    return int((cells.codes == place).sum()) if place >= 0 else 0


# What stars and group sizes tell of sensitive values, where k was drawn from such a value.

FEWEST_ROWS = 5
"""Rows with the same stars and group size from which a share of a value is told."""


def measure_star_disclosure(people: People, evidence: Evidence) -> Finding:
    """Guess each sensitive value from the number of stars and the group size of its row.

    The guess is the commonest value among the *other* rows with the same two numbers, against the
    commonest of all other rows. A rare value may stay the worse guess and still be told: the
    largest share that a value has among rows with the same two numbers stands beside its share in
    the file. Informs only.
    """
    if evidence.frame is None:
        raise ValueError("people come from a frame")
    n_stars = people.is_masked.sum(axis=1)
    group_size = people.patterns.counts[people.patterns.of_row]
    sign = distinct_rows(np.column_stack([n_stars, group_size]).astype(np.int32)).of_row
    columns: dict[str, Any] = {}
    told = []
    for name in evidence.sensitive:
        cells = encode_labels(evidence.frame.column(name), evidence.missing_values)
        values = cells.codes.astype(np.int64) + 1
        columns[name] = figures = prediction(values, sign)
        told.append(
            f"{name!r} is guessed right for {figures['guessed_right']:.1%} of the rows from their "
            f"stars and group sizes, for {figures['base_rate']:.1%} without; a value with a share "
            f"of {figures['share_in_file']:.1%} has {figures['largest_share']:.1%} among some rows"
        )
    return Finding("stars tell", None, "; ".join(told), {"columns": columns}, is_public=False)


def prediction(values: NDArray[np.int64], sign: NDArray[np.int32]) -> dict[str, float]:
    """Return how often a value is guessed right, leaving the row itself out, with and without sign.

    Ties go to the value that is commoner in the file, then to the lesser one. The share that a
    value has is told for the value whose share rises most, in percentage points, among rows of
    one sign that are at least ``FEWEST_ROWS``.
    """
    overall = np.bincount(values)
    # rank 0 is the commonest value
    rank_of_value = np.empty(len(overall), dtype=np.int64)
    rank_of_value[np.argsort(-overall, kind="stable")] = np.arange(len(overall))
    ranks = rank_of_value[values]
    alone = np.bincount(sign)[sign] == 1
    is_right_without = _left_out_guess(ranks, np.zeros(len(ranks), dtype=np.int64))
    is_right_with = np.where(alone, is_right_without, _left_out_guess(ranks, sign))
    share, base = _largest_rise(ranks, sign)
    return {
        "guessed_right": float(is_right_with.mean()),
        "base_rate": float(is_right_without.mean()),
        "largest_share": share,
        "share_in_file": base,
    }


def _left_out_guess(
    ranks: NDArray[np.int64], sign: NDArray[np.int64] | NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Whether each row's value is the commonest, then of least rank, of its sign's other rows.

    Only the commonest value of a sign can be: taking a row away leaves the others as they are.
    """
    n_ranks = int(ranks.max()) + 1
    cells, of_row, n_of_cell = np.unique(
        sign.astype(np.int64) * n_ranks + ranks, return_inverse=True, return_counts=True
    )
    sign_of_cell, rank_of_cell = cells // n_ranks, cells % n_ranks
    # within a sign: the commonest cell first, of equal ones the least rank
    order = np.lexsort((rank_of_cell, -n_of_cell, sign_of_cell))
    is_first = np.append(True, np.diff(sign_of_cell[order]) > 0)
    firsts = np.flatnonzero(is_first)
    is_guess = np.zeros(len(cells), dtype=np.bool_)
    for_second = np.minimum(firsts + 1, len(order) - 1)
    best, second = order[firsts], order[for_second]
    has_second = (firsts + 1 < len(order)) & (sign_of_cell[second] == sign_of_cell[best])
    n_left = n_of_cell[best] - 1
    is_ahead = (n_left > n_of_cell[second]) | (
        (n_left == n_of_cell[second]) & (rank_of_cell[best] < rank_of_cell[second])
    )
    is_guess[best] = (n_left > 0) & (~has_second | is_ahead)
    return np.asarray(is_guess[of_row.reshape(-1)])


def _largest_rise(ranks: NDArray[np.int64], sign: NDArray[np.int32]) -> tuple[float, float]:
    """Return the share of the value that rises most in one sign, and its share in the file."""
    n_ranks = int(ranks.max()) + 1
    cells, n_of_cell = np.unique(sign.astype(np.int64) * n_ranks + ranks, return_counts=True)
    n_of_sign = np.bincount(sign)[cells // n_ranks]
    base = (np.bincount(ranks) / len(ranks))[cells % n_ranks]
    share = n_of_cell / n_of_sign
    rise = np.where(n_of_sign >= FEWEST_ROWS, share - base, -1.0)
    if rise.max() < 0:
        return float(base.max()), float(base.max())
    most = int(rise.argmax())
    return float(share[most]), float(base[most])

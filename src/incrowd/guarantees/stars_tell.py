"""What stars and group sizes tell of sensitive values, where k was drawn from such a value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.data.encoding import coded
from incrowd.guarantees.evidence import Evidence, Finding
from incrowd.guarantees.people import People, distinct_rows

FEWEST_ROWS = 5
"""Rows with the same stars and group size from which a share of a value is told."""


def stars_tell(people: People, evidence: Evidence) -> Finding:
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
        cells = coded(evidence.frame.column(name), evidence.missing_values)
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

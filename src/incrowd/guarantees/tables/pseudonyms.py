"""Pseudonyms of released rows: random strings that tell nothing but which row is meant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.encoding.encode import encode_labels
from incrowd.guarantees.evidence import MOST_ROWS_NAMED, Finding
from incrowd.tables.columns.types import labels_of, to_mask

ALPHABET = "bcdfghjklmnpqrst"
"""Sixteen letters, four bits each; without vowels no words come about, and no numbers."""

LENGTH = 20
"""Letters of a pseudonym: 80 bits, so that none is drawn twice among any number of rows."""

PSEUDONYM = "pseudonym"
"""The column of a key file that has each released row's pseudonym."""

MOST_DEVIATIONS = 6.0
"""How many standard deviations a rank correlation may be away from none: beyond it no chance."""


def check_pseudonyms(
    column: pa.ChunkedArray,
    original: pa.Table | None = None,
    original_row: NDArray[np.int64] | None = None,
    in_key: pa.ChunkedArray | None = None,
) -> Finding:
    """Check that a released column has a pseudonym for every row, and nothing of the original.

    Every cell is ``LENGTH`` letters of ``ALPHABET``, and no two are equal. With the original: no
    pseudonym is a cell of it; with the key (``original_row[released row]``) also: the order of
    the pseudonyms follows neither the order of the original's rows nor any of its columns beyond
    chance (Spearman's rank correlation). ``in_key`` are the pseudonyms that the key file states,
    in the order of released rows.
    """
    labels = labels_of(column)
    is_formed = to_mask(
        pc.fill_null(pc.match_substring_regex(labels, f"^[{ALPHABET}]{{{LENGTH}}}$"), False)
    )
    cells = encode_labels(column)
    counts = np.bincount(cells.codes[cells.codes >= 0], minlength=len(cells.texts))
    is_single = np.append(counts == 1, False)[cells.codes]
    is_wrong = ~is_formed | ~is_single
    figures: dict[str, Any] = {
        "n_rows": len(column),
        "n_malformed": int((~is_formed).sum()),
        "n_repeated": int((~is_single).sum()),
    }
    problems = [
        (figures["n_malformed"], f"are not {LENGTH} letters of {ALPHABET}"),
        (figures["n_repeated"], "are missing or occur more than once"),
    ]
    if original is not None:
        is_held = np.zeros(len(column), dtype=np.bool_)
        for cell in original.columns:
            is_held |= to_mask(pc.is_in(labels, encode_labels(cell).texts.cast(labels.type)))
        figures["n_in_original"] = int(is_held.sum())
        problems.append((figures["n_in_original"], "are cells of the original"))
        is_wrong |= is_held
    if in_key is not None:
        is_other = ~to_mask(
            pc.fill_null(pc.equal(labels, labels_of(in_key).cast(labels.type)), False)
        )
        figures["n_not_as_in_key"] = int(is_other.sum())
        problems.append((figures["n_not_as_in_key"], "are not those of the key"))
        is_wrong |= is_other
    told = [f"{count} pseudonyms {what}" for count, what in problems if count]
    if original is not None and original_row is not None and len(column) > 1:
        most, followed = _strongest_order(cells.codes, original, original_row)
        figures |= {"largest_deviation": round(most, 3), "threshold": MOST_DEVIATIONS}
        if most > MOST_DEVIATIONS:
            told.append(f"their order follows {followed} ({most:.1f} standard deviations)")
    summary = "; ".join(told)
    if not told:
        summary = "every row has a random string of its own"
        if "largest_deviation" in figures:
            summary += (
                "; their order follows neither the original's rows nor a column of it (at most "
                f"{figures['largest_deviation']:.1f} standard deviations)"
            )
    rows = tuple((np.flatnonzero(is_wrong)[:MOST_ROWS_NAMED] + 1).tolist())
    return Finding("pseudonyms", not told, summary, figures, rows, is_public=original is None)


def _strongest_order(
    codes: NDArray[np.int32], original: pa.Table, original_row: NDArray[np.int64]
) -> tuple[float, str]:
    """Return the largest rank correlation with the original, in standard deviations, and of what.

    Without a relation a rank correlation of n rows has a standard deviation of 1 / √(n − 1).
    """
    place = _mean_ranks(codes)
    most, followed = _deviations(place, _mean_ranks(original_row)), "the original's order of rows"
    for name in original.column_names:
        values = encode_labels(original.column(name)).codes[original_row]
        found = _deviations(place, _mean_ranks(values))
        if found > most:
            most, followed = found, f"column {name!r} of the original"
    return most, followed


def _mean_ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return each value's rank, equal ones the mean of theirs, about 0."""
    _, of_row, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    centred: NDArray[np.float64] = ranks[of_row.reshape(-1)] - (len(values) + 1) / 2
    return centred


def _deviations(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    spread = float(np.sqrt((one @ one) * (other @ other)))
    if spread == 0.0:
        return 0.0
    return abs(float(one @ other)) / spread * float(np.sqrt(len(one) - 1))

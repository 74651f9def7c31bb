"""Which released sets are equal, found by hashes and then held against each other.

A hash only proposes: two rows are one group because their items were compared one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.data.sets import Sets
from incrowd.errors import DataError

ENTRIES_AT_ONCE = 1 << 22
"""Entries that are looked at together: what a check needs besides the sets stays small."""

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SetGroups:
    """Rows of equal sets: ``group_of_row``, and each group's size and first row.

    Groups are numbered by their first rows.
    """

    group_of_row: Rows
    size: Rows
    first_row: Rows

    @property
    def n_groups(self) -> int:
        """How many different sets there are."""
        return len(self.size)


def require_sets(sets: Sets, whose: str) -> None:
    """Refuse sets whose rows are not ascending, distinct items below ``n_items``."""
    sizes = sets.sizes
    is_bad = bool((sizes < 0).any())
    for first in range(0, sets.n_entries if not is_bad else 0, ENTRIES_AT_ONCE):
        part = sets.items[first : first + ENTRIES_AT_ONCE + 1].astype(np.int64)
        is_bad |= bool((part < 0).any() or (part >= sets.n_items).any())
        is_row_start = np.zeros(len(part), dtype=np.bool_)
        low, high = np.searchsorted(sets.starts, [first, first + len(part)])
        is_row_start[sets.starts[low:high] - first] = True
        is_bad |= bool(((part[1:] <= part[:-1]) & ~is_row_start[1:]).any())
    if is_bad:
        raise DataError(
            f"the {whose} is no list of sets: a row's items are not distinct items in order",
            remedy="Read the file again, or give each row every item once.",
        )


def equal_rows(sets: Sets) -> SetGroups:
    """Return the groups of rows with equal sets; rows without items are a group too.

    O(entries + rows · log rows), in blocks of entries.
    """
    hashes, sizes = _hashes(sets), sets.sizes
    order = np.lexsort((hashes, sizes))
    is_new = np.ones(sets.n_rows, dtype=np.bool_)
    is_new[1:] = (np.diff(hashes[order]) != 0) | (np.diff(sizes[order]) != 0)
    del hashes, sizes
    # lexsort is stable: the first row of a run of equal hashes is its first row in the file
    likely_first = np.empty(sets.n_rows, dtype=np.int64)
    likely_first[order] = order[np.flatnonzero(is_new)][np.cumsum(is_new) - 1]
    del order, is_new
    first_of_row = _truly_equal(sets, likely_first)
    # a group's first row is its own first row, so groups are numbered by marking those
    is_first = np.zeros(sets.n_rows, dtype=np.bool_)
    is_first[first_of_row] = True
    group_of_row = (np.cumsum(is_first) - 1)[first_of_row]
    size = np.bincount(group_of_row, minlength=int(np.count_nonzero(is_first)))
    return SetGroups(group_of_row, size.astype(np.int64), np.flatnonzero(is_first))


def blocks_of_rows(sizes: Rows) -> Iterator[tuple[int, int]]:
    """Cut rows into runs of about ``ENTRIES_AT_ONCE`` entries, at least one row each."""
    ends = np.cumsum(sizes + 1)
    first = 0
    while first < len(sizes):
        before = ends[first - 1] if first else 0
        end = int(np.searchsorted(ends, before + ENTRIES_AT_ONCE, side="right"))
        end = max(end, first + 1)
        yield first, end
        first = end


def places_of(sets: Sets, rows: Rows) -> Rows:
    """Return where the entries of these rows lie in ``sets.items``, row by row."""
    sizes = sets.starts[rows + 1] - sets.starts[rows]
    ends = np.cumsum(sizes)
    n_places = int(ends[-1]) if len(ends) else 0
    offset = np.repeat(sets.starts[rows] - (ends - sizes), sizes)
    return np.asarray(np.arange(n_places) + offset)


def _hashes(sets: Sets) -> NDArray[np.uint64]:
    """Return the sum over each row of a number made from its item, modulo 2⁶⁴."""
    mixed = np.arange(sets.n_items, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    hashes = np.empty(sets.n_rows, dtype=np.uint64)
    for first, end in blocks_of_rows(sets.sizes):
        start = sets.starts[first]
        summed = np.zeros(sets.starts[end] - start + 1, dtype=np.uint64)
        np.cumsum(mixed[sets.items[start : sets.starts[end]]], out=summed[1:])
        at = summed[sets.starts[first : end + 1] - start]
        hashes[first:end] = at[1:] - at[:-1]
    return hashes


def _truly_equal(sets: Sets, likely_first: Rows) -> Rows:
    """Return the first row equal to each row; ``likely_first`` has as many items as the row."""
    first_of_row = likely_first.copy()
    unlike: list[Rows] = []
    for first, end in blocks_of_rows(sets.sizes):
        rows = np.arange(first, end)
        differs = (
            sets.items[sets.starts[first] : sets.starts[end]]
            != sets.items[places_of(sets, likely_first[rows])]
        )
        bounds = sets.starts[first : end + 1] - sets.starts[first]
        n_before = np.concatenate([[0], np.cumsum(differs)])
        unlike.append(rows[n_before[bounds[1:]] != n_before[bounds[:-1]]])
    first_of_content: dict[bytes, int] = {}
    for row in np.concatenate(unlike).tolist() if unlike else []:
        content = sets.items[sets.starts[row] : sets.starts[row + 1]].tobytes()
        first_of_row[row] = first_of_content.setdefault(content, row)
    return first_of_row

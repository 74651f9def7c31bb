"""From pairs of a row and an item to sets: sorted, without duplicates, and as graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.errors import DataError
from incrowd.sets.format import SetOptions
from incrowd.sets.names import drop_trivial_names, renumber, sort_names, to_integers, unite_names
from incrowd.sets.sets import (
    BIPARTITE,
    IN_MEMORY,
    UNDIRECTED,
    EntryStorage,
    Sets,
    count_items,
    row_blocks,
)


@dataclass(eq=False)
class Pairs:
    """Entries as they were met, row and item of each by their numbers, in arrays to work in.

    They are given up when they are sorted. ``sizes`` stands in for ``rows`` where entries came
    row by row: how many each row has.
    """

    rows: NDArray[np.int32] | None
    items: NDArray[np.int32]
    n_rows: int
    n_items: int
    sizes: NDArray[np.int32] | None = None

    def renumber(
        self,
        place_of_row: NDArray[np.int32] | None,
        place_of_item: NDArray[np.int32] | None,
        storage: EntryStorage,
    ) -> None:
        """Give rows and items other numbers; None leaves them theirs."""
        if place_of_row is not None:
            if self.rows is None:
                self.rows = self._row_of_entry(storage)
            renumber(self.rows, place_of_row)
        if place_of_item is not None:
            renumber(self.items, place_of_item)

    def _row_of_entry(self, storage: EntryStorage) -> NDArray[np.int32]:
        assert self.sizes is not None  # one of the two is there
        starts = _to_starts(self.sizes)
        self.sizes = None
        rows: NDArray[np.int32] = storage.array(int(starts[-1]), np.int32)
        for first, end in row_blocks(starts):
            rows[starts[first] : starts[end]] = _rows_of(starts, first, end)
        return rows

    def by_row(self, storage: EntryStorage) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return where each row's items start, and the items, as met; gives the pairs up."""
        items, rows, sizes = self.items, self.rows, self.sizes
        self.items, self.rows, self.sizes = np.empty(0, dtype=np.int32), None, None
        if rows is None:
            assert sizes is not None
            return _to_starts(sizes, self.n_rows), items
        starts = _to_starts(count_items(rows, self.n_rows))
        if not any((np.diff(rows[at : at + _STEP + 1]) < 0).any() for at in _steps(rows)):
            return starts, items
        filled = starts[:-1].copy()
        placed: NDArray[np.int32] = storage.array(len(items), np.int32)
        for at in _steps(rows):
            _scatter(placed, filled, rows[at : at + _STEP], items[at : at + _STEP])
        return starts, placed


def from_pairs(
    pairs: Pairs,
    row_names: pa.Array | None,
    item_names: pa.Array | None,
    options: SetOptions,
    where: str,
    storage: EntryStorage = IN_MEMORY,
) -> tuple[Sets, list[str]]:
    """Return the sets of all pairs, and notes on what was done to them; O(entries · log).

    Names may be in any order and are sorted; None means that rows or items are their numbers. In
    a graph rows and items become one list of nodes, and edges of an undirected one get both
    directions. Memory is of rows, items and a block of entries; entries lie on the storage.
    """
    notes: list[str] = []
    if options.graph != BIPARTITE:
        row_names = item_names = _unify_nodes(pairs, row_names, item_names, where, storage)
    else:
        row_names, place_of_row = _sort_names(row_names)
        item_names, place_of_item = _sort_names(item_names)
        pairs.renumber(place_of_row, place_of_item, storage)
        del place_of_row, place_of_item
    starts, items = pairs.by_row(storage)
    n_met = len(items)
    starts, items = drop_duplicates(starts, items)
    n_again = n_met - len(items)
    if n_again:
        notes.append(f"{where}: {n_again:,} entries stood there more than once and are one")
    if options.graph != BIPARTITE:
        n_loops = _count_loops(starts, items)
        if n_loops:
            notes.append(f"{where}: {n_loops:,} nodes have an edge to themselves, which is kept")
    if options.graph == UNDIRECTED:
        n_before = len(items)
        storage.expect(pairs.n_rows, pairs.n_items, 2 * n_before)
        starts, items = symmetrize_edges(starts, items, storage, either=True)
        if len(items) > n_before:
            notes.append(
                f"{where}: {len(items) - n_before:,} edges stood there in one direction; both "
                "directions are made"
            )
    sets = Sets(starts, items, pairs.n_items, row_names, item_names, options.graph, n_again)
    return sets, notes


def symmetrize_edges(
    starts: NDArray[np.int64], items: NDArray[np.int32], storage: EntryStorage, *, either: bool
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return a graph's edges in both directions, those that either end has or that both have."""
    n_nodes = len(starts) - 1
    sizes = np.diff(starts)
    both_starts = _to_starts(sizes + count_items(items, n_nodes))
    both: NDArray[np.int32] = storage.array(int(both_starts[-1]), np.int32)
    filled, shift = both_starts[:-1] + sizes, both_starts - starts
    for first, end in row_blocks(starts):
        rows = _rows_of(starts, first, end)
        own = items[starts[first] : starts[end]]
        both[np.arange(starts[first], starts[end]) + shift[rows]] = own
        _scatter(both, filled, own, rows)
    return drop_duplicates(both_starts, both, n_times=1 if either else 2)


def sort_in_rows(starts: NDArray[np.int64], items: NDArray[np.int32]) -> None:
    """Sort every row's items where they stand."""
    for first, end in row_blocks(starts):
        block = items[starts[first] : starts[end]]
        if not _is_ascending(block, starts[first : end + 1]):
            block[:] = _sorted_keys(block, starts, first, end) & _LOW


_STEP = 1 << 20
_LOW = (1 << 32) - 1


def _steps(entries: NDArray[np.int32]) -> range:
    return range(0, len(entries), _STEP)


def _to_starts(sizes: NDArray[Any], n_rows: int | None = None) -> NDArray[np.int64]:
    """Return where rows start that have these sizes; rows beyond them are empty."""
    starts = np.zeros((len(sizes) if n_rows is None else n_rows) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1 : len(sizes) + 1])
    starts[len(sizes) + 1 :] = starts[len(sizes)]
    return starts


def _rows_of(starts: NDArray[np.int64], first: int, end: int) -> NDArray[np.int32]:
    """Return the row of every entry of a block of rows."""
    return np.repeat(np.arange(first, end, dtype=np.int32), np.diff(starts[first : end + 1]))


def _scatter(
    placed: NDArray[np.int32],
    filled: NDArray[np.int64],
    rows: NDArray[np.int32],
    items: NDArray[np.int32],
) -> None:
    """Put items at the end of what is filled of their rows, in the order in which they stand."""
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    firsts = np.flatnonzero(np.diff(rows, prepend=-1))
    sizes = np.diff(firsts, append=len(rows))
    places = np.arange(len(rows)) + np.repeat(filled[rows[firsts]] - firsts, sizes)
    placed[places] = items[order]
    filled[rows[firsts]] += sizes


def _is_ascending(items: NDArray[np.int32], starts: NDArray[np.int64]) -> bool:
    """Tell whether each row's items ascend; equal ones do not."""
    falls = np.flatnonzero(items[1:] <= items[:-1]) + 1
    return bool(np.isin(falls, starts - starts[0]).all())


def _sorted_keys(
    items: NDArray[np.int32], starts: NDArray[np.int64], first: int, end: int
) -> NDArray[np.int64]:
    """Return row and item of a block of rows as one number each, sorted."""
    keys = _rows_of(starts, first, end).astype(np.int64) << 32
    keys |= items
    keys.sort()
    return keys


def drop_duplicates(
    starts: NDArray[np.int64], items: NDArray[np.int32], n_times: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return rows sorted, with every item once that is there at least so many times (1 or 2).

    Works in ``items``: what is kept moves to its front.
    """
    new_starts = np.zeros(len(starts), dtype=np.int64)
    n_kept = 0
    for first, end in row_blocks(starts):
        block = items[starts[first] : starts[end]]
        if n_times == 1 and _is_ascending(block, starts[first : end + 1]):
            if n_kept < starts[first]:
                items[n_kept : n_kept + len(block)] = block.copy()
            new_starts[first + 1 : end + 1] = starts[first + 1 : end + 1] - starts[first] + n_kept
            n_kept += len(block)
            continue
        keys = _sorted_keys(block, starts, first, end)
        is_new = np.diff(keys, prepend=-1) != 0
        if n_times == 2:
            is_new[:-1] &= keys[1:] == keys[:-1]
            is_new[-1:] = False
        keys = keys[is_new]
        items[n_kept : n_kept + len(keys)] = keys & _LOW
        sizes = np.bincount((keys >> 32) - first, minlength=end - first)
        new_starts[first + 1 : end + 1] = n_kept + np.cumsum(sizes)
        n_kept += len(keys)
    return new_starts, items[:n_kept]


def _count_loops(starts: NDArray[np.int64], items: NDArray[np.int32]) -> int:
    return sum(
        int(np.count_nonzero(items[starts[first] : starts[end]] == _rows_of(starts, first, end)))
        for first, end in row_blocks(starts)
    )


def _sort_names(names: pa.Array | None) -> tuple[pa.Array | None, NDArray[np.int32] | None]:
    """Return the names in order, and each one's place; None where there are no names."""
    if names is None:
        return None, None
    ordered, place = sort_names(to_integers(names))
    is_in_place = np.array_equal(place, np.arange(len(place)))
    return drop_trivial_names(ordered), None if is_in_place else place


def _unify_nodes(
    pairs: Pairs,
    row_names: pa.Array | None,
    item_names: pa.Array | None,
    where: str,
    storage: EntryStorage,
) -> pa.Array | None:
    """Number rows and items as one list of nodes, and return its names."""
    if row_names is None and item_names is None:
        if pairs.n_rows != pairs.n_items:
            raise DataError(
                f"{where}: there are {pairs.n_rows:,} rows and {pairs.n_items:,} columns, and in "
                "a graph both are the same nodes",
                remedy="Give a square matrix, or read it as bipartite.",
            )
        return None
    rows = _names_or_numbers(row_names, pairs.n_rows)
    items = _names_or_numbers(item_names, pairs.n_items)
    names, node_of_row, node_of_item = unite_names(rows, items)
    ordered, place = sort_names(to_integers(names))
    if row_names is None and len(ordered) > pairs.n_rows:
        raise DataError(
            f"{where}: {len(ordered) - pairs.n_rows:,} items are no numbers of rows, and in a "
            "graph rows and items are the same nodes",
            remedy=f"List the nodes, one for each row, in {where}.rows, or give an edge list.",
        )
    pairs.renumber(place[node_of_row], place[node_of_item], storage)
    pairs.n_rows = pairs.n_items = len(ordered)
    return drop_trivial_names(ordered)


def _names_or_numbers(names: pa.Array | None, count: int) -> pa.Array:
    if names is None:
        return pa.array(np.arange(count, dtype=np.int64))
    return to_integers(names)

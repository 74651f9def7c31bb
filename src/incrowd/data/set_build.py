"""From pairs of a row and an item to sets: sorted, without duplicates, and as graphs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.data.set_format import SetOptions
from incrowd.data.set_names import in_order, renumber, united, unless_numbers, whole_if_all_are
from incrowd.data.sets import BIPARTITE, UNDIRECTED, Sets
from incrowd.errors import DataError


@dataclass(eq=False)
class Pairs:
    """Entries as they were met, row and item of each by their numbers, in arrays to work in.

    They are given up when they are sorted.
    """

    rows: NDArray[np.int32]
    items: NDArray[np.int32]
    n_rows: int
    n_items: int

    def renumbered(
        self, place_of_row: NDArray[np.int32] | None, place_of_item: NDArray[np.int32] | None
    ) -> None:
        """Give rows and items other numbers; None leaves them theirs."""
        if place_of_row is not None:
            renumber(self.rows, place_of_row)
        if place_of_item is not None:
            renumber(self.items, place_of_item)

    def keys(self) -> NDArray[np.int64]:
        """Return the entries as sorted numbers, row × n_items + item, and give the pairs up."""
        keys = self.rows.astype(np.int64)
        self.rows = np.zeros(0, dtype=np.int32)
        keys *= self.n_items
        keys += self.items
        self.items = np.zeros(0, dtype=np.int32)
        keys.sort()
        return keys


def from_pairs(
    pairs: Pairs,
    row_names: pa.Array | None,
    item_names: pa.Array | None,
    options: SetOptions,
    where: str,
) -> tuple[Sets, list[str]]:
    """Return the sets of all pairs, and notes on what was done to them; O(entries · log).

    Names may be in any order and are sorted; None means that rows or items are their numbers. In
    a graph rows and items become one list of nodes, and edges of an undirected one get both
    directions.
    """
    notes: list[str] = []
    if options.graph != BIPARTITE:
        row_names = item_names = _as_nodes(pairs, row_names, item_names, where)
    else:
        row_names, place_of_row = _sorted(row_names)
        item_names, place_of_item = _sorted(item_names)
        pairs.renumbered(place_of_row, place_of_item)
    n_rows, n_items = pairs.n_rows, pairs.n_items
    keys, n_again = _distinct(pairs.keys())
    if n_again:
        notes.append(f"{where}: {n_again:,} entries stood there more than once and are one")
    if options.graph != BIPARTITE:
        # row·n + item = row·(n + 1) + (item − row): a loop is what n + 1 divides
        n_loops = int(np.count_nonzero(keys % (n_items + 1) == 0))
        if n_loops:
            notes.append(f"{where}: {n_loops:,} nodes have an edge to themselves, which is kept")
    if options.graph == UNDIRECTED:
        n_before = len(keys)
        keys = _both_directions(keys, n_items)
        if len(keys) > n_before:
            notes.append(
                f"{where}: {len(keys) - n_before:,} edges stood there in one direction; both "
                "directions are made"
            )
    firsts = np.arange(n_rows + 1, dtype=np.int64) * n_items
    starts = np.searchsorted(keys, firsts).astype(np.int64)
    starts[-1] = len(keys)
    np.remainder(keys, max(1, n_items), out=keys)
    items = keys.astype(np.int32)
    sets = Sets(starts, items, n_items, row_names, item_names, options.graph, n_again)
    return sets, notes


def _sorted(names: pa.Array | None) -> tuple[pa.Array | None, NDArray[np.int32] | None]:
    """Return the names in order, and each one's place; None where there are no names."""
    if names is None:
        return None, None
    ordered, place = in_order(whole_if_all_are(names))
    is_in_place = np.array_equal(place, np.arange(len(place)))
    return unless_numbers(ordered), None if is_in_place else place


def _as_nodes(
    pairs: Pairs, row_names: pa.Array | None, item_names: pa.Array | None, where: str
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
    rows = _named(row_names, pairs.n_rows)
    items = _named(item_names, pairs.n_items)
    names, node_of_row, node_of_item = united(rows, items)
    ordered, place = in_order(whole_if_all_are(names))
    if row_names is None and len(ordered) > pairs.n_rows:
        raise DataError(
            f"{where}: {len(ordered) - pairs.n_rows:,} items are no numbers of rows, and in a "
            "graph rows and items are the same nodes",
            remedy=f"List the nodes, one for each row, in {where}.rows, or give an edge list.",
        )
    pairs.renumbered(place[node_of_row], place[node_of_item])
    pairs.n_rows = pairs.n_items = len(ordered)
    return unless_numbers(ordered)


def _named(names: pa.Array | None, count: int) -> pa.Array:
    if names is None:
        return pa.array(np.arange(count, dtype=np.int64))
    return whole_if_all_are(names)


def _distinct(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return sorted keys once each, and how many were there again."""
    if len(keys) < 2:
        return keys, 0
    is_new = np.empty(len(keys), dtype=np.bool_)
    is_new[0] = True
    np.not_equal(keys[1:], keys[:-1], out=is_new[1:])
    n_again = len(keys) - int(np.count_nonzero(is_new))
    return (keys[is_new] if n_again else keys), n_again


def _both_directions(keys: NDArray[np.int64], n_nodes: int) -> NDArray[np.int64]:
    rows, items = np.divmod(keys, max(1, n_nodes))
    items *= n_nodes
    items += rows
    both = np.concatenate([keys, items])
    both.sort()
    return _distinct(both)[0]

"""The order and names of released sets, which item is which, and what a user states beside a
file: the universe of items, each row's own k.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.encoding.personal_k import read_k_column
from incrowd.errors import DataError, JobError
from incrowd.sets.build import sort_in_rows, symmetrize_edges
from incrowd.sets.names import item_names_of, renumber, row_names_of, sort_names
from incrowd.sets.sets import BIPARTITE, IN_MEMORY, EntryStorage, Sets, count_items, row_blocks
from incrowd.tables.columns.types import labels_of
from incrowd.tables.files.read import read_table

_LEADING = 4
"""How many first items rows are sorted by, before what stands for all of them."""


def canonical_order(shown: Sets, group_of_row: NDArray[np.int32] | None) -> NDArray[np.int64]:
    """Return rows in the order of their content: first items first, then all of them.

    Row r has the content of ``shown``'s row ``group_of_row[r]``; without groups its own. Contents
    are compared once, however many rows have them.
    """
    keys = content_keys(shown)[::-1]
    order = np.asarray(np.lexsort(keys), dtype=np.int64)
    if group_of_row is None:
        return order
    is_new = np.zeros(len(order), dtype=np.bool_)
    for each in keys:
        is_new[1:] |= each[order[1:]] != each[order[:-1]]
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.cumsum(is_new)
    del order, keys, is_new
    return np.asarray(np.argsort(rank[group_of_row], kind="stable"), dtype=np.int64)


def content_keys(sets: Sets) -> list[NDArray[Any]]:
    """Return what rows are sorted by, the first key first: leading items, then hashes of all."""
    keys: list[NDArray[Any]] = []
    starts, sizes = sets.starts[:-1], sets.sizes
    for place in range(_LEADING):
        key = np.full(sets.n_rows, -1, dtype=np.int32)
        has = np.flatnonzero(sizes > place)
        key[has] = sets.items[starts[has] + place]
        keys.append(key)
    return [*keys, *reversed(_content_hashes(sets))]


def drop_row_names(sets: Sets) -> Sets:
    """Return the sets with rows called by their places, counted from 0."""
    return replace(sets, row_names=None)


def draw_node_order(released: Sets, original: Sets) -> NDArray[np.int64]:
    """Return an order of nodes that is drawn from the original's entries."""
    digest = hashlib.sha256(np.ascontiguousarray(original.starts).data)
    digest.update(np.ascontiguousarray(original.items).data)
    seed = int.from_bytes(digest.digest()[:16], "big")
    return np.random.default_rng(seed).permutation(released.n_rows).astype(np.int64)


def reorder_nodes(
    sets: Sets, order: NDArray[np.int64], storage: EntryStorage = IN_MEMORY
) -> tuple[Sets, NDArray[np.int64]]:
    """Return the graph with nodes in another order, called by their places counted from 0.

    ``order[new]`` is the old node; it is also the key of items.
    """
    new_of_old = np.empty(len(order), dtype=np.int32)
    new_of_old[order] = np.arange(len(order), dtype=np.int32)
    moved = replace(sets, row_names=None, item_names=None).take(order, storage)
    renumber(moved.items, new_of_old)
    sort_in_rows(moved.starts, moved.items)
    return moved, order


def symmetrize(sets: Sets, *, either: bool, storage: EntryStorage = IN_MEMORY) -> Sets:
    """Return the graph with each edge in both directions, if either end shows it or if both do."""
    return sets.with_entries(*symmetrize_edges(sets.starts, sets.items, storage, either=either))


def _content_hashes(sets: Sets) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return two numbers per row that are equal where the sets are, and else hardly ever."""
    first = _hash_rows(sets, np.uint64(0x9E3779B97F4A7C15))
    return first, _hash_rows(sets, np.uint64(0xC2B2AE3D27D4EB4F))


def _hash_rows(sets: Sets, salt: np.uint64) -> NDArray[np.uint64]:
    of_item = np.arange(1, sets.n_items + 1, dtype=np.uint64) * salt
    of_item ^= of_item >> np.uint64(29)
    of_item *= np.uint64(0xBF58476D1CE4E5B9)
    of_item ^= of_item >> np.uint64(32)
    sums = np.empty(sets.n_rows, dtype=np.uint64)
    for first, end in row_blocks(sets.starts):
        start = sets.starts[first]
        total = np.zeros(sets.starts[end] - start + 1, dtype=np.uint64)
        np.cumsum(of_item[sets.items[start : sets.starts[end]]], out=total[1:])
        at = total[sets.starts[first : end + 1] - start]
        sums[first:end] = at[1:] - at[:-1]
    return sums


# Which item of the original each item of a release is.

NO_ITEM = -1
"""The number of an item that the original does not have."""


def match_items(released: Sets, original: Sets) -> NDArray[np.int64]:
    """Return, for each released item, the original's item of the same name, or ``NO_ITEM``.

    Items without names are called by their numbers. Where one side's names are texts and the
    other's whole numbers, numbers are compared as they are written.
    """
    if released.item_names is None and original.item_names is None:
        numbers = np.arange(released.n_items, dtype=np.int64)
        return np.where(numbers < original.n_items, numbers, NO_ITEM)
    import pyarrow as pa
    import pyarrow.compute as pc

    names, known = (
        pa.array(np.arange(side.n_items)) if side.item_names is None else side.item_names
        for side in (released, original)
    )
    for side, of_side in (("release", names), ("original", known)):
        if pc.count_distinct(of_side, mode="all").as_py() != len(of_side):
            raise DataError(
                f"two items of the {side} have the same name",
                remedy="Give every item a name of its own.",
            )
    if names.type != known.type:
        names, known = names.cast(pa.large_string()), known.cast(pa.large_string())
    found = pc.index_in(names, value_set=known).fill_null(NO_ITEM)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)


# What a user states beside a file of sets: the items that could occur, and each row's own k.


def apply_universe(sets: Sets, path: str | Path, storage: EntryStorage = IN_MEMORY) -> Sets:
    """Return the sets over the items that a file lists, one a line; entries lie on the storage.

    Raises DataError where a row holds an item that is not listed, or one is listed twice.
    """
    if sets.graph != BIPARTITE:
        raise JobError(
            "a graph's items are its nodes, which are public", remedy="Leave --items out."
        )
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path}: the list of items cannot be read ({type(error).__name__})"
        ) from None
    listed = [line.strip() for line in lines if line.strip()]
    if len(set(listed)) != len(listed):
        raise DataError(f"{path}: an item is listed twice", remedy="List every item once.")
    had = item_names_of(sets)
    if pa.types.is_integer(had.type) and all(name.lstrip("-").isdecimal() for name in listed):
        names, _ = sort_names(pa.array([int(name) for name in listed], pa.int64()))
    else:
        had = had.cast(pa.string())
        names, _ = sort_names(pa.array(listed, pa.string()))
    place = pc.fill_null(pc.index_in(had.cast(names.type), names), -1).to_numpy()
    held = np.flatnonzero(count_items(sets.items, sets.n_items))
    n_unlisted = int((place[held] < 0).sum())
    if n_unlisted:
        raise DataError(
            f"{path}: rows hold {n_unlisted} items that are not listed",
            remedy="List every item that a row may hold, whether or not one does.",
        )
    items = storage.array(sets.n_entries, np.int32)
    items[:] = sets.items
    renumber(items, place.astype(np.int32))
    sort_in_rows(sets.starts, items)
    return replace(sets, items=items, n_items=len(names), item_names=names)


# Each row's own k, from a file with the columns row and k.


def read_row_k(path: str | Path, sets: Sets) -> NDArray[np.int32]:
    """Return a k for every row; 1 where the file has none for it.

    Raises DataError where a row is named twice or is none of the sets', or a k is no whole number.
    """
    table = read_table(Path(path), header=True)
    table.require(["row", "k"], str(path))
    k = read_k_column(table, "k")
    names = labels_of(table.frame.column("row"))
    known = row_names_of(sets).cast(pa.string())
    place = pc.fill_null(pc.index_in(names, known), -1).to_numpy()
    n_unknown = int((place < 0).sum())
    if n_unknown:
        first = int(np.flatnonzero(place < 0)[0]) + 1
        raise DataError(
            f"{path}: {n_unknown} lines name no row of the sets (first in line {first})",
            remedy="Name rows as the data file does; baskets and matrices number theirs from 0.",
        )
    if len(np.unique(place)) != len(place):
        raise DataError(f"{path}: a row is named twice", remedy="Give each row one k.")
    wishes = np.ones(sets.n_rows, dtype=np.int32)
    wishes[place] = k
    return wishes

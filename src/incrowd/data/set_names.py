"""Names of rows and items: texts or whole numbers, each numbered in its order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from incrowd.codes import numbered
from incrowd.data.sets import Sets
from incrowd.errors import DataError

_WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"  # what reads back as the same digits


class NameCoder:
    """Numbers names that come block by block; four bytes an entry are held."""

    def __init__(self) -> None:
        self._numbers: list[NDArray[np.int32]] = []  # as long as all names are such
        self._blocks: list[pa.DictionaryArray] = []
        self.n_entries = 0

    def add(self, names: pa.Array) -> None:
        """Take a block of names: strings or whole numbers, none of them null."""
        self.n_entries += len(names)
        if types.is_integer(names.type) and not self._blocks and _fit_32_bits(names):
            self._numbers.append(names.cast(pa.int32()).to_numpy(zero_copy_only=False).copy())
            return
        numbers, self._numbers = self._numbers, []
        for block in numbers:
            self._blocks.append(pc.dictionary_encode(pa.array(block).cast(pa.int64())))
        if types.is_dictionary(names.type):
            indices = names.indices.cast(pa.int32())
            coded = pa.DictionaryArray.from_arrays(indices, plain_names(names.dictionary))
        else:
            coded = pc.dictionary_encode(plain_names(names))
        self._blocks.append(coded)

    def settled(self) -> tuple[NDArray[np.int32], pa.Array]:
        """Return the entries as places in their distinct names, and those; gives the blocks up."""
        numbers, blocks = self._numbers, self._blocks
        self._numbers, self._blocks = [], []
        if not blocks:
            return _numbered_numbers(numbers)
        cells = numbered(pa.chunked_array(blocks))
        used = np.zeros(cells.n_codes, dtype=np.bool_)
        used[cells.codes] = True
        if used[:-1].all():
            return cells.codes, cells.values
        place = (np.cumsum(used) - 1).astype(np.int32)
        return place[cells.codes], cells.values.filter(pa.array(used[:-1]))


def _fit_32_bits(numbers: pa.Array) -> bool:
    """Tell whether all are from 0 to the largest number of 32 bits."""
    if not len(numbers):
        return True
    ends = pc.min_max(numbers)
    return bool(ends["min"].as_py() >= 0 and ends["max"].as_py() < 1 << 31)


def _numbered_numbers(blocks: list[NDArray[np.int32]]) -> tuple[NDArray[np.int32], pa.Array]:
    """Return numbers as places in the distinct ones, ascending; without a hash where dense."""
    if not blocks:
        return np.zeros(0, dtype=np.int32), pa.array([], pa.int64())
    numbers = np.concatenate(blocks)
    blocks.clear()
    largest = int(numbers.max(initial=0))
    if largest > max(1 << 20, 8 * len(numbers)):
        cells = numbered(pa.array(numbers))
        return cells.codes, cells.values.cast(pa.int64())
    is_used = np.zeros(largest + 1, dtype=np.bool_)
    is_used[numbers] = True
    distinct = np.flatnonzero(is_used)
    if len(distinct) <= largest:
        place = (np.cumsum(is_used, dtype=np.int64) - 1).astype(np.int32)
        numbers = place[numbers]
    return numbers, pa.array(distinct)


def plain_names(names: pa.Array) -> pa.Array:
    """Return names as 64-bit whole numbers or as strings."""
    if isinstance(names, pa.ChunkedArray):
        names = names.combine_chunks()
    if types.is_integer(names.type):
        return names.cast(pa.int64())
    if types.is_string(names.type):
        return names
    return names.cast(pa.large_string()).cast(pa.string())


def whole_if_all_are(names: pa.Array) -> pa.Array:
    """Return texts that are all whole numbers as numbers; a leading zero or plus is none."""
    if not types.is_string(names.type):
        return names
    if len(names) and pc.all(pc.match_substring_regex(names, _WHOLE)).as_py():
        return names.cast(pa.int64())
    return names


def in_order(names: pa.Array) -> tuple[pa.Array, NDArray[np.int32]]:
    """Return distinct names sorted, numbers by value and texts by text, and each one's place."""
    order = pc.array_sort_indices(names).to_numpy()
    place = np.empty(len(names), dtype=np.int32)
    place[order] = np.arange(len(names), dtype=np.int32)
    return names.take(pa.array(order)), place


def united(first: pa.Array, second: pa.Array) -> tuple[pa.Array, Any, Any]:
    """Return the names of both, and the number that each name of either has in them."""
    if first.type != second.type:
        first, second = first.cast(pa.string()), second.cast(pa.string())
    cells = numbered(pa.chunked_array([first, second]))
    return cells.values, cells.codes[: len(first)], cells.codes[len(first) :]


def unless_numbers(names: pa.Array) -> pa.Array | None:
    """Return the names, or None where they are 0, 1, 2 and so on."""
    if types.is_integer(names.type):
        values = names.to_numpy(zero_copy_only=False)
        if np.array_equal(values, np.arange(len(values))):
            return None
    return names


def row_names_of(sets: Sets) -> pa.Array:
    """Return what rows are called in files."""
    return _names_or_numbers(sets.row_names, sets.n_rows)


def item_names_of(sets: Sets) -> pa.Array:
    """Return what items are called in files."""
    return _names_or_numbers(sets.item_names, sets.n_items)


def with_items_of(sets: Sets, like: Sets, where: str = "the release") -> Sets:
    """Return the same sets in the items of ``like``, for a comparison of the two.

    Raises DataError where an item that a row holds is none of them.
    """
    wanted = item_names_of(like)
    names = item_names_of(sets)
    if names.type != wanted.type:
        names, wanted = names.cast(pa.string()), wanted.cast(pa.string())
    place = pc.fill_null(pc.index_in(names, wanted), -1).to_numpy().astype(np.int32)
    items = place[sets.items]
    unknown_items = np.unique(sets.items[items < 0])
    if len(unknown_items):
        raise DataError(
            f"{where}: {len(unknown_items):,} of its items are none of the original",
            remedy="Give the original that the release was made from.",
            examples=names.take(pa.array(unknown_items[:3])).to_pylist(),
        )
    rows = np.repeat(np.arange(sets.n_rows), sets.sizes)
    items = items[np.lexsort((items, rows))]
    return Sets(sets.starts, items, like.n_items, sets.row_names, like.item_names, sets.graph)


def _names_or_numbers(names: pa.Array | None, count: int) -> pa.Array:
    return pa.array(np.arange(count, dtype=np.int64)) if names is None else plain_names(names)

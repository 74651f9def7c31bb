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

_POWERS = 10 ** np.arange(1, 19)
_STEP = 1 << 22
_WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"  # what reads back as the same digits


class NameCoder:
    """Numbers names that come block by block; four bytes an entry are held."""

    def __init__(self, n_expected: int = 0) -> None:
        self._numbers = np.empty(n_expected, dtype=np.int32)  # as long as all names are such
        self._blocks: list[pa.DictionaryArray] = []
        self.n_entries = 0

    def add(self, names: pa.Array) -> None:
        """Take a block of names: strings or whole numbers, none of them null."""
        start, self.n_entries = self.n_entries, self.n_entries + len(names)
        if not self._blocks:
            numbers = _small_numbers(names)
            if numbers is not None:
                if self.n_entries > len(self._numbers):
                    self._numbers.resize(self.n_entries * 5 // 4, refcheck=False)
                self._numbers[start : self.n_entries] = numbers
                return
            earlier = pa.array(self._numbers[:start]).cast(pa.int64())
            self._numbers = np.empty(0, dtype=np.int32)
            self._blocks += [pc.dictionary_encode(earlier)] * (start > 0)
        if types.is_dictionary(names.type):
            indices = names.indices.cast(pa.int32())
            coded = pa.DictionaryArray.from_arrays(indices, plain_names(names.dictionary))
        else:
            coded = pc.dictionary_encode(plain_names(names))
        self._blocks.append(coded)

    def settled(self) -> tuple[NDArray[np.int32], pa.Array]:
        """Return the entries as places in their distinct names, and those; gives the blocks up."""
        if not self._blocks:
            numbers = self._numbers
            self._numbers = np.empty(0, dtype=np.int32)
            numbers.resize(self.n_entries, refcheck=False)
            return _numbered_numbers(numbers)
        blocks, self._blocks = self._blocks, []
        cells = numbered(pa.chunked_array(_of_one_type(blocks)))
        used = np.zeros(cells.n_codes, dtype=np.bool_)
        used[cells.codes] = True
        if used[:-1].all():
            return cells.codes, cells.values
        place = (np.cumsum(used) - 1).astype(np.int32)
        return place[cells.codes], cells.values.filter(pa.array(used[:-1]))


def _small_numbers(names: pa.Array) -> NDArray[Any] | None:
    """Return names that are all whole numbers of 31 bits, written as such, or None."""
    if types.is_string(names.type):
        try:
            numbers = names.cast(pa.int64())
        except pa.ArrowInvalid:
            return None
        values = numbers.to_numpy(zero_copy_only=False)
        if len(values) and values.min() < 0:
            return None
        n_digits = np.searchsorted(_POWERS, values, side="right") + 1
        if not np.array_equal(n_digits, pc.binary_length(names).to_numpy(zero_copy_only=False)):
            return None  # leading zeros, a plus or hexadecimal digits
    elif not types.is_integer(names.type):
        return None
    else:
        values = names.to_numpy(zero_copy_only=False)
    if len(values) and (values.min() < 0 or values.max() >= 1 << 31):
        return None
    found: NDArray[Any] = values
    return found


def _of_one_type(blocks: list[pa.DictionaryArray]) -> list[pa.DictionaryArray]:
    """Return blocks of numbers as blocks of texts where others are such."""
    if len({block.type for block in blocks}) == 1:
        return blocks
    return [
        pa.DictionaryArray.from_arrays(block.indices, block.dictionary.cast(pa.string()))
        for block in blocks
    ]


def renumber(codes: NDArray[np.int32], place: NDArray[np.int32]) -> None:
    """Put ``place[code]`` where each code stands, without a second array of that length."""
    for start in range(0, len(codes), _STEP):
        codes[start : start + _STEP] = place[codes[start : start + _STEP]]


def _numbered_numbers(numbers: NDArray[np.int32]) -> tuple[NDArray[np.int32], pa.Array]:
    """Return numbers as places in the distinct ones, ascending; without a hash where dense."""
    if not len(numbers):
        return numbers, pa.array([], pa.int64())
    largest = int(numbers.max(initial=0))
    if largest > max(1 << 20, 8 * len(numbers)):
        cells = numbered(pa.array(numbers))
        return cells.codes, cells.values.cast(pa.int64())
    is_used = np.zeros(largest + 1, dtype=np.bool_)
    is_used[numbers] = True
    distinct = np.flatnonzero(is_used)
    if len(distinct) <= largest:
        place = (np.cumsum(is_used, dtype=np.int64) - 1).astype(np.int32)
        renumber(numbers, place)
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


def places_in(names: pa.Array, listed: pa.Array) -> NDArray[np.int32]:
    """Return where each name stands in a list of distinct names; −1 if it does not."""
    if names.type != listed.type:
        names, listed = names.cast(pa.string()), listed.cast(pa.string())
    if not types.is_integer(names.type) or not len(listed):
        places = pc.fill_null(pc.index_in(names, listed), -1)
        return np.asarray(places).astype(np.int32)
    values, known = (np.asarray(numbers) for numbers in (names, listed))
    order = np.argsort(known, kind="stable").astype(np.int32)
    found = np.minimum(np.searchsorted(known, values, sorter=order), len(known) - 1)
    place: NDArray[np.int32] = order[found]
    place[known[place] != values] = -1
    return place


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
    items = places_in(names, wanted)[sets.items]
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

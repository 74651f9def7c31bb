"""Names of rows and items: texts or whole numbers, each numbered in its order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from incrowd.codes import factorize
from incrowd.errors import DataError
from incrowd.sets.sets import IN_MEMORY, EntryStorage, GrowingArray, Sets

_POWERS = 10 ** np.arange(1, 19)
_STEP = 1 << 22
_WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"  # what reads back as the same digits


class NameCoder:
    """Numbers names that come block by block; four bytes an entry are held, on the storage.

    As long as all names are small whole numbers these are held themselves. After that an entry is
    the place of its name among those that were told apart, followed by the names of the blocks
    since, which are told apart when they have become as many.
    """

    def __init__(self, n_expected: int = 0, storage: EntryStorage = IN_MEMORY) -> None:
        self._codes = GrowingArray(np.int32, storage, n_expected)
        self._are_numbers = True
        self._names: pa.Array | None = None
        self._since: list[pa.Array] = []
        self._n_names = self._n_since = 0
        self._n_apart = self._n_placed = 0  # entries that are places, of names told apart and all

    @property
    def n_entries(self) -> int:
        """How many names came."""
        return self._codes.length

    @property
    def n_text(self) -> int:
        """How many bytes the names take that are held."""
        held = [*self._since, *([] if self._names is None else [self._names])]
        return sum(names.nbytes for names in held)

    def add(self, names: pa.Array) -> None:
        """Take a block of names: strings or whole numbers, none of them null."""
        if self._are_numbers:
            numbers = _parse_small_integers(names)
            if numbers is not None:
                self._codes.append(numbers)
                return
            self._turn_to_names(self._codes.view())
        if types.is_dictionary(names.type):
            indices, values = names.indices.cast(pa.int32()), normalize_names(names.dictionary)
        else:
            coded = pc.dictionary_encode(normalize_names(names))
            indices, values = coded.indices, coded.dictionary
        self._codes.append(self._among_names(indices, values))
        self._n_placed = self._codes.length

    def finish(self) -> tuple[NDArray[np.int32], pa.Array]:
        """Return the entries as places in their distinct names, and those; gives all of it up.

        Names are in the order in which they came, whole numbers may be ascending instead.
        """
        if self._are_numbers:
            numbers = self._codes.view()
            largest = max((int(block.max()) for block in _blocks(numbers)), default=0)
            if largest <= max(1 << 20, 8 * len(numbers)):
                del numbers
                return _number_integers(self._codes.finish(), largest)
            self._turn_to_names(numbers)
            del numbers
        self._merge_equal_names()
        names = self._names if self._names is not None else pa.array([], pa.string())
        self._names = None
        codes = self._codes.finish()
        used = np.zeros(len(names), dtype=np.bool_)
        for block in _blocks(codes):
            used[block] = True
        if not used.all():
            renumber(codes, (np.cumsum(used) - 1).astype(np.int32))
            names = names.filter(pa.array(used))
        return codes, names

    def _turn_to_names(self, numbers: NDArray[np.int32]) -> None:
        """Take the numbers that came so far as names."""
        self._are_numbers = False
        for block in _blocks(numbers):
            coded = pc.dictionary_encode(pa.array(block).cast(pa.int64()))
            block[:] = self._among_names(coded.indices, coded.dictionary)
            self._n_placed += len(block)

    def _among_names(self, indices: pa.Array, values: pa.Array) -> NDArray[np.int32]:
        """Return a block's entries as places among all names, of which its own become part."""
        if self._n_since > max(_STEP, self._n_names):
            self._merge_equal_names()
        before = self._n_names + self._n_since
        self._since.append(values)
        self._n_since += len(values)
        places: NDArray[np.int32] = indices.to_numpy(zero_copy_only=False) + np.int32(before)
        return places

    def _merge_equal_names(self) -> None:
        """Give equal names one place; those that were told apart before keep theirs."""
        if not self._since:
            return
        parts = self._since if self._names is None else [self._names, *self._since]
        self._since = []
        if len({part.type for part in parts}) > 1:
            parts = [part.cast(pa.string()) for part in parts]
        coded = pc.dictionary_encode(pa.concat_arrays(parts))
        place = coded.indices.to_numpy(zero_copy_only=False)
        renumber(self._codes.view()[self._n_apart : self._n_placed], place)
        self._n_apart = self._n_placed
        self._names = coded.dictionary
        self._n_names, self._n_since = len(coded.dictionary), 0


def _parse_small_integers(names: pa.Array) -> NDArray[Any] | None:
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


def renumber(codes: NDArray[np.int32], place: NDArray[np.int32]) -> None:
    """Put ``place[code]`` where each code stands, without a second array of that length."""
    for block in _blocks(codes):
        block[:] = place[block]


def _blocks(codes: NDArray[np.int32]) -> Iterator[NDArray[np.int32]]:
    for start in range(0, len(codes), _STEP):
        yield codes[start : start + _STEP]


def _number_integers(
    numbers: NDArray[np.int32], largest: int
) -> tuple[NDArray[np.int32], pa.Array]:
    """Return numbers as places in the distinct ones, ascending; without a hash."""
    is_used = np.zeros(largest + 1, dtype=np.bool_)
    for block in _blocks(numbers):
        is_used[block] = True
    distinct = np.flatnonzero(is_used)
    if len(distinct) <= largest:
        renumber(numbers, (np.cumsum(is_used, dtype=np.int64) - 1).astype(np.int32))
    return numbers, pa.array(distinct)


def normalize_names(names: pa.Array) -> pa.Array:
    """Return names as 64-bit whole numbers or as strings."""
    if isinstance(names, pa.ChunkedArray):
        names = names.combine_chunks()
    if types.is_integer(names.type):
        return names.cast(pa.int64())
    if types.is_string(names.type):
        return names
    return names.cast(pa.large_string()).cast(pa.string())


def to_integers(names: pa.Array) -> pa.Array:
    """Return texts that are all whole numbers as numbers; a leading zero or plus is none."""
    if not types.is_string(names.type):
        return names
    if len(names) and pc.all(pc.match_substring_regex(names, _WHOLE)).as_py():
        return names.cast(pa.int64())
    return names


def sort_names(names: pa.Array) -> tuple[pa.Array, NDArray[np.int32]]:
    """Return distinct names sorted, numbers by value and texts by text, and each one's place."""
    order = pc.array_sort_indices(names).to_numpy()
    place = np.empty(len(names), dtype=np.int32)
    place[order] = np.arange(len(names), dtype=np.int32)
    return names.take(pa.array(order)), place


def unite_names(first: pa.Array, second: pa.Array) -> tuple[pa.Array, Any, Any]:
    """Return the names of both, and the number that each name of either has in them."""
    if first.type != second.type:
        first, second = first.cast(pa.string()), second.cast(pa.string())
    cells = factorize(pa.chunked_array([first, second]))
    return cells.values, cells.codes[: len(first)], cells.codes[len(first) :]


def drop_trivial_names(names: pa.Array) -> pa.Array | None:
    """Return the names, or None where they are 0, 1, 2 and so on."""
    if types.is_integer(names.type):
        values = names.to_numpy(zero_copy_only=False)
        if np.array_equal(values, np.arange(len(values))):
            return None
    return names


def find_names(names: pa.Array, listed: pa.Array) -> NDArray[np.int32]:
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


def align_items(sets: Sets, like: Sets, where: str = "the release") -> Sets:
    """Return the same sets in the items of ``like``, for a comparison of the two.

    Raises DataError where an item that a row holds is none of them.
    """
    wanted = item_names_of(like)
    names = item_names_of(sets)
    items = find_names(names, wanted)[sets.items]
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
    return pa.array(np.arange(count, dtype=np.int64)) if names is None else normalize_names(names)

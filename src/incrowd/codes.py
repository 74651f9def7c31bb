"""Columns as integer codes of their distinct values, and rows as one integer key.

A column of text takes many times the memory of its codes, and equal codes are equal values, so
whatever sorts, counts or compares whole tables works on codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.threads import iter_in_threads

_MOST_KEYS = 1 << 62


@dataclass(frozen=True, eq=False)
class ColumnCodes:
    """A column as codes: ``values[codes[row]]`` is the cell, code ``n_values`` is missing.

    Values are distinct, in order of first occurrence, and none is null.
    """

    codes: NDArray[np.int32]
    values: pa.Array

    @property
    def n_values(self) -> int:
        """How many distinct values there are."""
        return len(self.values)

    @property
    def n_codes(self) -> int:
        """How many codes there may be: the values, and missing."""
        return len(self.values) + 1

    @cached_property
    def has_missing(self) -> bool:
        """Whether a cell is missing."""
        return int(self.codes.max(initial=-1)) == self.n_values

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many cells have each code."""
        return np.bincount(self.codes, minlength=self.n_codes)

    def to_array(self) -> pa.DictionaryArray:
        """Return the column as a dictionary array of its values."""
        if not self.has_missing:
            return pa.DictionaryArray.from_arrays(pa.array(self.codes), self.values)
        is_missing = self.codes == self.n_values
        indices = pa.array(np.where(is_missing, np.int32(0), self.codes), mask=is_missing)
        return pa.DictionaryArray.from_arrays(indices, self.values)


def factorize(column: pa.ChunkedArray | pa.Array, *, has_signed_zeros: bool = False) -> ColumnCodes:
    """Encode a column as codes of its distinct values; O(cells), four bytes a cell.

    A NaN equals a NaN, and 0.0 equals −0.0 unless ``has_signed_zeros``. A dictionary array gets
    the codes of its decoded cells, whatever else its dictionary holds and in whatever order.
    """
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    if pa.types.is_null(column.type):
        return ColumnCodes(np.zeros(len(column), dtype=np.int32), pa.nulls(0))
    if column.type == pa.string_view():
        column = column.cast(pa.large_string())
    is_dictionary = pa.types.is_dictionary(column.type)
    encoded = (column if is_dictionary else pc.dictionary_encode(column)).unify_dictionaries()
    codes = np.empty(len(column), dtype=np.int32)
    if not encoded.num_chunks:
        kind = column.type
        return ColumnCodes(codes, pa.array([], kind.value_type if is_dictionary else kind))
    entries = encoded.chunk(0).dictionary
    values, code_of_entry = _unique_entries(entries, has_signed_zeros)
    code_of_entry = np.append(code_of_entry, np.int32(len(values)))
    start = 0
    for chunk in encoded.chunks:
        places = chunk.indices
        part = codes[start : start + len(chunk)]
        if len(values) == len(entries) and not places.null_count:
            part[:] = places.to_numpy()
        else:
            places = places.fill_null(len(entries)).to_numpy(zero_copy_only=False)
            np.take(code_of_entry, places, out=part)
        start += len(chunk)
    return _number_by_occurrence(codes, values) if is_dictionary else ColumnCodes(codes, values)


def _number_by_occurrence(codes: NDArray[np.int32], values: pa.Array) -> ColumnCodes:
    """Return codes in order of first occurrence, without values that no cell holds."""
    n_rows, n_values = len(codes), len(values)
    if _is_by_occurrence(codes, n_values):
        return ColumnCodes(codes, values)
    first = np.full(n_values + 1, n_rows, dtype=np.int64)
    first[codes[::-1]] = np.arange(n_rows - 1, -1, -1)
    used = np.flatnonzero(first[:-1] < n_rows)
    used = used[np.argsort(first[used])]
    code_of_entry = np.full(n_values + 1, len(used), dtype=np.int32)
    code_of_entry[used] = np.arange(len(used), dtype=np.int32)
    return ColumnCodes(code_of_entry[codes], values.take(pa.array(used)))


def _is_by_occurrence(codes: NDArray[np.int32], n_values: int) -> bool:
    """Return whether the largest code so far grows by 1 at a time up to the last value's."""
    highest = -1
    for start in range(0, len(codes), _HEAD_ROWS):
        if highest == n_values - 1:
            break
        part = codes[start : start + _HEAD_ROWS]
        part = part[part < n_values]  # missing cells have the code after the last value's
        if int(part.max(initial=-1)) > highest:
            so_far = np.maximum.accumulate(np.maximum(part, np.int32(highest)))
            steps = np.diff(so_far, prepend=np.int32(highest))
            if int(steps.max()) > 1:
                return False
            highest = int(part.max())
    return highest == n_values - 1


def count_values(column: pa.ChunkedArray | pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """Return a column's distinct values, null among them, and how many cells hold each."""
    if not pa.types.is_dictionary(column.type):
        counted = pc.value_counts(column)
        return counted.field("values"), counted.field("counts").to_numpy()
    cells = factorize(column)
    if not cells.counts[-1]:
        return cells.values, cells.counts[:-1]
    return pa.concat_arrays([cells.values, pa.nulls(1, cells.values.type)]), cells.counts


MOST_DISTINCT = 0.25
"""Up to this share of distinct values, a column of text is held as a dictionary array."""

_HEAD_ROWS = 1 << 14  # that show whether the values of a column repeat


def compact_text(frame: pa.Table) -> pa.Table:
    """Return a table whose repeating texts are dictionary arrays, a fraction of their size.

    Whatever counts, compares or takes rows then has each column's numbers already.
    """
    columns = list(iter_in_threads(_compact_column, frame.columns))
    return pa.table(columns, names=frame.column_names)


def _compact_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    is_dictionary = pa.types.is_dictionary(column.type)
    if not (is_dictionary or pa.types.is_string(column.type)):
        return column
    head = column.slice(0, _HEAD_ROWS)
    is_long = len(head) == _HEAD_ROWS and not is_dictionary
    if is_long and len(pc.unique(head)) > MOST_DISTINCT * len(head):
        return column
    cells = factorize(column)
    if cells.n_values > MOST_DISTINCT * len(column):
        return column.cast(column.type.value_type) if is_dictionary else column
    return pa.chunked_array([cells.to_array()])


def stable_order(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order of numbers of at least 0; equal ones keep theirs.

    Number and place are sorted as one integer where both fit, which takes a fraction of the time
    of a stable sort.
    """
    n_bits = len(numbers).bit_length()
    if int(numbers.max(initial=0)).bit_length() + n_bits > 63:
        return np.argsort(numbers, kind="stable")
    packed = (numbers << n_bits) | np.arange(len(numbers), dtype=np.int64)
    packed.sort()
    packed &= (1 << n_bits) - 1
    return packed


class RowKey:
    """One integer per row that orders rows by their columns, the first column added first.

    Equal integers mean equal rows. It takes eight bytes a row, whatever the columns.
    """

    def __init__(self, n_rows: int) -> None:
        self.numbers = np.zeros(n_rows, dtype=np.int64)
        self._n_keys = 1

    def add(self, codes: NDArray[np.int32], n_codes: int) -> None:
        """Distinguish rows by a further column, whose codes range from 0 to ``n_codes − 1``."""
        if self._n_keys * n_codes >= _MOST_KEYS:  # renumber the combinations that occur
            distinct, self.numbers = np.unique(self.numbers, return_inverse=True)
            self._n_keys = len(distinct)
        self.numbers *= n_codes
        self.numbers += codes
        self._n_keys *= n_codes


def canonical_order(frame: pa.Table) -> NDArray[np.int64]:
    """Return the order of rows by their full content, so that the order discloses nothing.

    Column by column, missing first, −0.0 before 0.0, NaN last; text by its bytes in UTF-8. Each
    column is sorted once, as its distinct values. Equal rows keep their order. It takes two
    integers per row, and the ranks of a column per thread.
    """
    return stable_order(content_keys(frame))


def content_keys(frame: pa.Table) -> NDArray[np.int64]:
    """Return one integer per row that orders rows by content; equal rows have equal integers."""
    key = RowKey(frame.num_rows)
    for ranks, n_ranks in iter_in_threads(_rank_cells, frame.columns):
        key.add(ranks, n_ranks)
    return key.numbers


def _rank_cells(column: pa.ChunkedArray) -> tuple[NDArray[np.int32], int]:
    """Return the rank of each cell among the column's values, and how many ranks there may be."""
    cells = factorize(column, has_signed_zeros=True)
    rank_of_code = np.zeros(cells.n_codes, dtype=np.int32)  # missing cells have rank 0
    rank_of_code[_sort_values(cells.values)] = np.arange(1, cells.n_codes, dtype=np.int32)
    return rank_of_code[cells.codes], cells.n_codes


def _sort_values(values: pa.Array) -> NDArray[np.int64]:
    """Return the positions of distinct values in sorted order."""
    if pa.types.is_floating(values.type):  # Arrow does not order 0.0 and −0.0
        numbers = values.to_numpy(zero_copy_only=False)
        order: NDArray[np.int64] = np.lexsort((~np.signbit(numbers), numbers))
        return order
    return np.asarray(pc.array_sort_indices(values).to_numpy()).astype(np.int64)


def _unique_entries(
    entries: pa.Array, has_signed_zeros: bool
) -> tuple[pa.Array, NDArray[np.int32]]:
    """Return the distinct values of a dictionary's entries, and each entry's code."""
    if pa.types.is_floating(entries.type) and not has_signed_zeros:
        entries = pc.add(entries, pa.scalar(0.0, entries.type))  # −0.0 becomes 0.0
        entries = pc.if_else(pc.is_nan(entries), pa.scalar(np.nan, entries.type), entries)
    again = pc.dictionary_encode(entries)
    places = again.indices.fill_null(len(again.dictionary)).to_numpy(zero_copy_only=False)
    return again.dictionary, places.astype(np.int32)

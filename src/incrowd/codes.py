"""Columns as integer codes of their distinct values, and rows as one integer key.

A column of text takes many times the memory of its codes, and equal codes are equal values, so
whatever sorts, counts or compares whole tables works on codes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

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


def factorize(column: pa.ChunkedArray | pa.Array, *, has_signed_zeros: bool = False) -> ColumnCodes:
    """Encode a column as codes of its distinct values; O(cells), four bytes a cell.

    A NaN equals a NaN, and 0.0 equals −0.0 unless ``has_signed_zeros``.
    """
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    if pa.types.is_null(column.type):
        return ColumnCodes(np.zeros(len(column), dtype=np.int32), pa.nulls(0))
    if column.type == pa.string_view():
        column = column.cast(pa.large_string())
    encoded = pc.dictionary_encode(column).unify_dictionaries()
    codes = np.empty(len(column), dtype=np.int32)
    if not encoded.num_chunks:
        kind = column.type
        return ColumnCodes(
            codes, pa.array([], kind.value_type if pa.types.is_dictionary(kind) else kind)
        )
    values, code_of_entry = _unique_entries(encoded.chunk(0).dictionary, has_signed_zeros)
    code_of_entry = np.append(code_of_entry, np.int32(len(values)))
    start = 0
    for chunk in encoded.chunks:
        entries = chunk.indices.fill_null(len(code_of_entry) - 1).to_numpy(zero_copy_only=False)
        np.take(code_of_entry, entries, out=codes[start : start + len(chunk)])
        start += len(chunk)
    return ColumnCodes(codes, values)


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
    column is sorted once, as its distinct values. Equal rows keep their order. It takes one integer
    per row, and the ranks of one column at a time.
    """
    return np.argsort(content_keys(frame), kind="stable")


def content_keys(frame: pa.Table) -> NDArray[np.int64]:
    """Return one integer per row that orders rows by content; equal rows have equal integers."""
    key = RowKey(frame.num_rows)
    for column in frame.columns:
        cells = factorize(column, has_signed_zeros=True)
        rank_of_code = np.zeros(cells.n_codes, dtype=np.int32)  # missing cells have rank 0
        rank_of_code[_sort_values(cells.values)] = np.arange(1, cells.n_codes, dtype=np.int32)
        key.add(rank_of_code[cells.codes], cells.n_codes)
    return key.numbers


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

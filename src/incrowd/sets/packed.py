"""Rows of items as a column of bytes, which every engine takes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

CHUNK_ITEMS = 1 << 26
"""So many items are in one chunk, or those of one row."""


def packed(starts: NDArray[np.int64], items: NDArray[np.int32]) -> pa.Array:
    """Return rows of items as a column of bytes; items are not copied.

    Row r has ``items[starts[r]:starts[r + 1]]``. Four bytes an item; small offsets where they
    are enough.
    """
    ends = 4 * starts
    is_small = ends[-1] < 1 << 31
    offsets = pa.py_buffer(np.ascontiguousarray(ends.astype(np.int32) if is_small else ends))
    content = pa.py_buffer(np.ascontiguousarray(items))
    kind = pa.binary() if is_small else pa.large_binary()
    return pa.Array.from_buffers(kind, len(starts) - 1, [None, offsets, content])


def pack_in_chunks(starts: NDArray[np.int64], items: NDArray[np.int32]) -> pa.ChunkedArray:
    """Return the same as chunks whose offsets are all small, which any column may have."""
    chunks = []
    n_rows = len(starts) - 1
    row = 0
    while row < n_rows:
        fitting = int(np.searchsorted(starts, starts[row] + CHUNK_ITEMS, side="right")) - 1
        end = min(max(row + 1, fitting), n_rows)
        some = starts[row : end + 1]
        chunks.append(packed(some - some[0], items[some[0] : some[-1]]))
        row = end
    return pa.chunked_array(chunks, pa.binary())


def unpack(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return where the rows' items start, and the items, of a column of bytes."""
    starts, items = [np.zeros(1, dtype=np.int64)], [np.empty(0, dtype=np.int32)]
    for chunk in column.chunks:
        _, offsets, content = chunk.buffers()
        width = np.int64 if pa.types.is_large_binary(chunk.type) else np.int32
        ends = np.frombuffer(offsets, width)[chunk.offset : chunk.offset + len(chunk) + 1]
        ends = ends.astype(np.int64) // 4
        if ends[-1] > ends[0]:
            items.append(np.frombuffer(content, np.int32)[ends[0] : ends[-1]])
        starts.append(starts[-1][-1] + ends[1:] - ends[0])
    return np.concatenate(starts), np.concatenate(items)

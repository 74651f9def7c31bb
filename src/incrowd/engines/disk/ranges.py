"""External sorting and grouping of rows on disk, one range of the order or of a key at a time.

A sample of the rows determines where ranges begin, so that each fits into memory. Every file is
split there, and its pieces are appended to those of the other files; then one range after the other
is sorted in memory. The sample affects nothing but the sizes of ranges. Equal rows of a file
become one row with a count, so that a frequent value does not make a range too large.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.codes import canonical_order, content_keys
from incrowd.engines.disk.blocks import BlockFiles, DiskBlocks, make_blocks, map_ahead

SAMPLED_FILES, SAMPLED_ROWS = 8, 8192
"""How many files are sampled, and how many rows of each."""

LEAST_PIECE_BYTES = 1 << 18
"""Pieces of a range are buffered up to this many bytes, or more if memory allows."""

Pieces = Callable[[pa.Table], list[pa.Table]]


class Ranges:
    """Iterates over the rows of files in ranges of about ``range_bytes`` bytes."""

    def __init__(self, files: BlockFiles, range_bytes: int) -> None:
        self._files = files
        self._range_bytes = range_bytes

    def iter_sorted(self, blocks: DiskBlocks, n_rows: int) -> Generator[pa.Table, None, None]:
        """Yield rows in the order of ``codes.canonical_order``, up to ``n_rows`` at a time."""
        self._files.require_open()
        sample, n_ranges = self._sample(blocks)
        cuts = _quantiles(sample.take(pa.array(canonical_order(sample))), n_ranges)
        counted = pa.schema([*blocks.schema, pa.field("", pa.int64())])

        def pieces(rows: pa.Table) -> list[pa.Table]:
            return _sorted_distinct_rows(rows, cuts, counted)

        def in_order(files: list[Path]) -> pa.Table:
            rows = self._take(files, counted)
            return rows.take(pa.array(canonical_order(_drop_counts(rows, blocks.schema))))

        ranges = self._cut(blocks, pieces, cuts.num_rows + 1)
        with closing(map_ahead(in_order, ranges, self._files.threads)) as sorted_ranges:
            for rows in sorted_ranges:
                yield from _repeat_rows(rows, blocks.schema, n_rows)
                del rows

    def groups(self, blocks: DiskBlocks, key: str) -> Generator[pa.Table, None, None]:
        """Yield the rows of each integer key, in ascending order, nulls last."""
        self._files.require_open()
        place = blocks.schema.names.index(key)
        sample, n_ranges = self._sample(blocks)
        known = sample.column(place).drop_null().to_numpy()
        cuts = np.unique(np.sort(known)[_cut_positions(len(known), n_ranges)])

        def pieces(rows: pa.Table) -> list[pa.Table]:
            numbers, is_null = _keys(rows, place)
            range_of_row = np.searchsorted(cuts, numbers, side="right")
            range_of_row[is_null] = len(cuts) + 1
            order = np.argsort(range_of_row, kind="stable")
            edges = np.searchsorted(range_of_row[order], np.arange(len(cuts) + 3))
            return _split_rows(rows, order, edges)

        for files in self._cut(blocks, pieces, len(cuts) + 2):
            rows = self._take(files, blocks.schema)
            numbers, is_null = _keys(rows, place)
            order = np.lexsort((numbers, is_null))
            rows = rows.take(pa.array(order))
            numbers, is_null = numbers[order], is_null[order]
            is_edge = (numbers[1:] != numbers[:-1]) | (is_null[1:] != is_null[:-1])
            start = 0
            for end in [*(np.flatnonzero(is_edge) + 1).tolist(), rows.num_rows]:
                yield rows.slice(start, end - start)
                start = end
            del rows

    def _sample(self, blocks: DiskBlocks) -> tuple[pa.Table, int]:
        """Return rows from across the files, and how many ranges all rows need."""
        step = max(1, len(blocks.files) // SAMPLED_FILES)
        n_bytes = n_rows = 0
        sampled = [blocks.schema.empty_table()]
        for file in blocks.files[::step]:
            rows = self._files.rows_of(file, blocks)
            n_bytes += rows.nbytes
            n_rows += rows.num_rows
            places = np.arange(0, rows.num_rows, max(1, rows.num_rows // SAMPLED_ROWS))
            sampled.append(rows.take(pa.array(places)))
        total = n_bytes * self._files.n_rows(blocks) // max(1, n_rows)
        return pa.concat_tables(sampled), -(-total // self._range_bytes) or 1

    def _cut(self, blocks: DiskBlocks, pieces: Pieces, n_ranges: int) -> Iterator[list[Path]]:
        """Split every file into pieces and yield, range by range, the files of its pieces."""
        held: list[list[pa.Table]] = [[] for _ in range(n_ranges)]
        n_held = [0] * n_ranges
        most = max(LEAST_PIECE_BYTES, self._range_bytes // (2 * n_ranges))
        files: list[list[Path]] = [[] for _ in range(n_ranges)]

        def cut(file: Path) -> list[pa.Table]:
            return pieces(self._files.rows_of(file, blocks))

        with closing(map_ahead(cut, blocks.files, self._files.threads)) as cut_files:
            for some in cut_files:
                for number, piece in enumerate(some):
                    if piece.num_rows:
                        held[number].append(piece)
                        n_held[number] += piece.nbytes
                    if n_held[number] > most:
                        files[number].append(self._files.write(pa.concat_tables(held[number])))
                        held[number], n_held[number] = [], 0
                del some
        for number in range(n_ranges):
            if held[number]:
                files[number].append(self._files.write(pa.concat_tables(held[number])))
                held[number] = []
        return (some for some in files if some)

    def _take(self, files: list[Path], schema: pa.Schema) -> pa.Table:
        """Return the rows of a range and remove its files."""
        blocks = make_blocks(files, schema)
        rows = pa.concat_tables(self._files.rows_of(file, blocks) for file in files)
        for file in files:
            file.unlink()
        return rows


def _sorted_distinct_rows(rows: pa.Table, cuts: pa.Table, counted: pa.Schema) -> list[pa.Table]:
    """Return the distinct rows of each range, with their counts in a last column."""
    numbers = content_keys(pa.concat_tables([cuts, rows]))
    number_of_cut, number_of_row = numbers[: cuts.num_rows], numbers[cuts.num_rows :]
    order = np.argsort(number_of_row, kind="stable")
    in_order = number_of_row[order]
    starts = np.flatnonzero(np.append(True, in_order[1:] != in_order[:-1]))
    n_equal = np.diff(np.append(starts, rows.num_rows))
    edges = np.searchsorted(in_order[starts], number_of_cut)  # rows equal to a cut come after it
    edges = np.concatenate([[0], edges, [len(starts)]])
    pieces = _split_rows(rows, order[starts], edges)
    return [
        pa.Table.from_arrays([*piece.columns, pa.array(n_equal[start:end])], schema=counted)
        for piece, start, end in zip(pieces, edges[:-1], edges[1:], strict=True)
    ]


def _split_rows(
    rows: pa.Table, order: NDArray[np.int64], edges: NDArray[np.int64]
) -> list[pa.Table]:
    """Return the rows between each two edges of an order, each as a copy.

    (A buffered slice would keep all rows of its file in memory.)
    """
    return [rows.take(pa.array(order[start:end])) for start, end in pairwise(edges.tolist())]


def _repeat_rows(rows: pa.Table, schema: pa.Schema, n_rows: int) -> Iterator[pa.Table]:
    """Yield each row as often as its last column says, up to ``n_rows`` at a time."""
    ends = np.cumsum(rows.column(len(schema)).to_numpy())
    rows = _drop_counts(rows, schema)
    if ends[-1] == len(ends):
        for start in range(0, rows.num_rows, n_rows):
            yield rows.slice(start, n_rows)
        return
    for start in range(0, int(ends[-1]), n_rows):
        places = np.arange(start, min(start + n_rows, int(ends[-1])))
        yield rows.take(pa.array(np.searchsorted(ends, places, side="right")))


def _drop_counts(counted: pa.Table, schema: pa.Schema) -> pa.Table:
    return pa.Table.from_arrays(counted.columns[: len(schema)], schema=schema)


def _keys(rows: pa.Table, place: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return integer keys, 0 for null, and which rows have null."""
    keys = rows.column(place)
    # Not to_numpy() of the column itself: nulls would turn large keys into floats.
    return pc.fill_null(keys, 0).to_numpy(), keys.is_null().to_numpy()


def _quantiles(rows: pa.Table, n_parts: int) -> pa.Table:
    return rows.take(pa.array(_cut_positions(rows.num_rows, n_parts)))


def _cut_positions(n_rows: int, n_parts: int) -> NDArray[np.int64]:
    """Return where to cut rows into equal parts."""
    n_cuts = min(n_parts - 1, n_rows)
    return np.arange(1, n_cuts + 1, dtype=np.int64) * n_rows // (n_cuts + 1)

"""Files of lists read and written a block of rows at a time: no process holds all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from incrowd.errors import DataError
from incrowd.sets.build import drop_duplicates
from incrowd.sets.files import NamedRows, entries_at_once, find_source, write_rows
from incrowd.sets.format import (
    BASKETS,
    LISTS,
    MOST,
    PAIRS,
    SetFormat,
    SetOptions,
    format_of_path,
)
from incrowd.sets.names import normalize_names, sort_names, to_integers
from incrowd.sets.parquet import (
    check_names,
    checked_lists,
    find_list_column,
    read_batches,
    read_schema,
    row_columns,
    type_name,
)
from incrowd.sets.sets import BIPARTITE
from incrowd.sets.text import basket_blocks
from incrowd.tables.files.read import damage_as_data_errors, system_errors_as_data_errors

_BATCH_ROWS = 1 << 17

ROW_NAMES = pa.schema([("row", pa.string())])

Rows = tuple[NDArray[np.int64], NDArray[np.int32]]
"""Where each row's items start, and the items."""


def why_in_memory(path: Path, output: Path, options: SetOptions) -> str:
    """Return why a file of sets is read or released as a whole; nothing where blocks will do.

    A file that cannot be looked at is left to its reader, which says what is wrong with it.
    """
    if options.graph != BIPARTITE:
        return "the nodes of a graph are rows and items at once"
    try:
        source, kind, _ = find_source(path, options)
        if path.with_name(f"{path.name}.rows").exists():
            return "a list beside the file names its rows"
        stored = SetFormat(kind)
        if kind in (PAIRS, LISTS):
            schema, _ = read_schema(source)
            listing = find_list_column(schema, options, source.where)
            if listing is not None:
                stored = SetFormat(LISTS)
        if stored.kind not in (BASKETS, LISTS):
            return "the entries of a row may stand anywhere in the file"
        if format_of_path(output, stored).kind not in (BASKETS, LISTS):
            return "edge lists, pairs and matrices are written as a whole"
    except (DataError, OSError, pa.ArrowException):
        return "the file cannot be looked at"
    return ""


class RowStream:
    """The rows of a file or folder of lists, block by block, in numbers of names met so far.

    What it counts is known when all blocks have come: rows, entries, entries that stood in their
    row again (one of each is kept), and how many rows hold each item.
    """

    def __init__(self, path: str | os.PathLike[str], options: SetOptions) -> None:
        self._source, self._kind, _ = find_source(Path(path), options)
        self._options = options
        self._code_of_name: dict[str | int, int] = {}
        self._support = np.zeros(0, dtype=np.int64)
        self.format = SetFormat()
        self.n_rows = self.n_entries = self.n_repeated = 0

    @property
    def notes(self) -> list[str]:
        """What reading did to the rows."""
        if not self.n_repeated:
            return []
        where = self._source.where
        return [f"{where}: {self.n_repeated:,} entries stood there more than once and are one"]

    @property
    def names_so_far(self) -> list[str | int]:
        """The names of the items that came so far, by their numbers."""
        return list(self._code_of_name)

    def blocks(self) -> Iterator[Rows]:
        """Yield rows; raises DataError with the line or the entry at fault."""
        for n_cells, names in self._named_blocks():
            starts = np.zeros(len(n_cells) + 1, dtype=np.int64)
            np.cumsum(n_cells, out=starts[1:])
            items = self._codes(names)
            n_met = len(items)
            starts, items = drop_duplicates(starts, items)
            self.n_repeated += n_met - len(items)
            self.n_rows += len(n_cells)
            self.n_entries += len(items)
            self._count(items)
            if max(self.n_rows, len(self._code_of_name)) > MOST:
                raise DataError(
                    f"{self._source.where}: there are more rows or items than {MOST:,}",
                    remedy="Is the file damaged? If not, release it in parts.",
                )
            yield starts, items
        if not self.n_rows:
            raise DataError(f"{self._source.where}: no rows", remedy="Give a file with rows.")

    def finish(self) -> tuple[pa.Array, NDArray[np.int32], NDArray[np.int64]]:
        """Return the names of all items in their order, the place of every number that blocks
        had, and how many rows hold each item, by its place.
        """
        known = list(self._code_of_name)
        kind = pa.int64() if known and isinstance(known[0], int) else pa.string()
        names, place = sort_names(to_integers(pa.array(known, kind)))
        support = np.zeros(len(names), dtype=np.int64)
        support[place] = self._support[: len(names)]
        return names, place, support

    def _named_blocks(self) -> Iterator[tuple[NDArray[np.integer[Any]], pa.Array]]:
        source, options = self._source, self._options
        if self._kind == BASKETS:
            for number, (stored, block) in enumerate(basket_blocks(source, options)):
                if not number:
                    self.format = stored
                yield block.n_cells, block.texts()
            return
        where = source.where
        with (
            system_errors_as_data_errors(source.path),
            damage_as_data_errors(source.path, "parquet"),
        ):
            schema, _ = read_schema(source)
            listing = find_list_column(schema, options, where)
            assert listing is not None  # ``why_in_memory`` asks for one
            row_column = next(iter(row_columns(schema, listing, options, where)), "")
            self.format = SetFormat(
                LISTS,
                row_column=row_column,
                item_column=listing,
                row_type=type_name(schema.field(row_column).type) if row_column else "",
                item_type=type_name(schema.field(listing).type.value_type),
            )
            for path, n_before, batch in read_batches(source, _BATCH_ROWS, [listing]):
                lists, lengths = checked_lists(batch, listing, path, n_before)
                yield lengths, check_names(lists.flatten(), listing, path, self.n_entries)

    def row_names(self) -> Iterator[pa.Table]:
        """Yield what the file calls its rows, where it does, as texts; once all rows have come."""
        column, source = self.format.row_column, self._source
        if self.format.kind == LISTS and column:
            for path, n_before, batch in read_batches(source, _BATCH_ROWS, [column]):
                names = check_names(batch.column(column), column, path, n_before)
                yield pa.table([names.cast(pa.string())], ROW_NAMES)

    def _codes(self, names: pa.Array) -> NDArray[np.int32]:
        """Return names as numbers in the order in which they first came."""
        if types.is_dictionary(names.type):
            names = names.cast(names.type.value_type)
        coded = normalize_names(names).dictionary_encode()
        known = self._code_of_name
        of_value = np.fromiter(
            (known.setdefault(name, len(known)) for name in coded.dictionary.to_pylist()),
            dtype=np.int32,
            count=len(coded.dictionary),
        )
        codes: NDArray[np.int32] = of_value[coded.indices.to_numpy(zero_copy_only=False)]
        return codes

    def _count(self, items: NDArray[np.int32]) -> None:
        if len(self._code_of_name) > len(self._support):
            self._support.resize(2 * len(self._code_of_name), refcheck=False)
        counts = np.bincount(items)
        self._support[: len(counts)] += counts


def write_stream(
    names: pa.Array, blocks: Callable[[], Iterable[Rows]], path: Path, format: SetFormat
) -> None:
    """Write generalized rows as ``write_sets`` does, the same bytes; ``names`` are sorted."""
    write_rows(_Streamed(names, blocks), path, format)


class _Streamed(NamedRows):
    """Rows that come in blocks of any size, cut as ``row_blocks`` cuts rows in memory."""

    def __init__(self, names: pa.Array, blocks: Callable[[], Iterable[Rows]]) -> None:
        super().__init__(names)
        self._blocks = blocks

    def rows(self) -> Iterator[tuple[int, int, NDArray[np.int64], NDArray[np.int32]]]:
        """Yield a block's rows, where their entries start in it, and these as places of names."""
        most = entries_at_once(self.names)
        starts = np.zeros(1, dtype=np.int64)
        items = np.empty(0, dtype=np.int32)
        n_before = 0
        blocks = iter(self._blocks())
        is_ended = False
        while not is_ended:
            more = next(blocks, None)
            is_ended = more is None
            if more is not None:
                starts = np.concatenate([starts, starts[-1] + more[0][1:] - more[0][0]])
                items = np.concatenate([items, more[1]])
            row, n_rows = 0, len(starts) - 1
            while row < n_rows:
                fitting = int(np.searchsorted(starts, starts[row] + most, side="right")) - 1
                end = min(max(row + 1, fitting), row + most, n_rows)
                if end == n_rows and not is_ended:
                    break  # the next rows may belong to it
                some = starts[row : end + 1]
                yield (
                    n_before + row,
                    n_before + end,
                    some - some[0],
                    items[some[0] : some[-1]],
                )
                row = end
            n_before += row
            items = items[starts[row] :]
            starts = starts[row:] - starts[row]

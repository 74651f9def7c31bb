"""Sets from Parquet: two columns with an entry a row, or a column of lists with a set a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from incrowd.errors import DataError
from incrowd.sets.build import Pairs, from_pairs
from incrowd.sets.format import LISTS, PAIRS, MemoryLimit, SetFile, SetFormat, SetOptions, SetSource
from incrowd.sets.names import NameCoder
from incrowd.sets.sets import IN_MEMORY, EntryStorage, GrowingArray
from incrowd.sets.text import choose_columns, sets_from_coders
from incrowd.tables.files.read import damage_as_data_errors, system_errors_as_data_errors

_BATCH_ROWS = 1 << 20
_TYPES = "Names are texts or whole numbers: turn the column into one of them."


def read_parquet(
    source: SetSource,
    options: SetOptions,
    listed: pa.Array | None,
    storage: EntryStorage = IN_MEMORY,
) -> SetFile:
    """Read a Parquet file block by block: names become numbers before the next block comes.

    Part files have the columns of the first, of the same types.
    """
    with system_errors_as_data_errors(source.path), damage_as_data_errors(source.path, "parquet"):
        first, n_rows = read_schema(source)
        listing = find_list_column(first, options, source.where)
        if listing is None:
            return _read_pairs(source, first, n_rows, options, listed, storage)
        return _read_lists(source, first, n_rows, listing, options, listed, storage)


@contextmanager
def _open_parquet(path: Path) -> Iterator[Any]:
    """Open a Parquet file; its faults are raised as errors that name it."""
    from pyarrow import parquet

    with (
        system_errors_as_data_errors(path),
        damage_as_data_errors(path, "parquet"),
        path.open("rb") as file,
    ):
        yield parquet.ParquetFile(file)


def read_schema(source: SetSource) -> tuple[pa.Schema, int]:
    """Return the columns of all part files, and how many rows they have together."""
    first: pa.Schema | None = None
    n_rows = 0
    for path in source.parts:
        with _open_parquet(path) as part:
            schema = part.schema_arrow
            n_rows += part.metadata.num_rows
        if first is not None and not schema.equals(first):
            raise DataError(
                f"{path}: it has other columns than {source.parts[0].name}",
                remedy="Write all part files with the same columns.",
            )
        first = schema
    assert first is not None  # there is at least one part
    return first, n_rows


def read_batches(
    source: SetSource, n_rows: int, columns: list[str]
) -> Iterator[tuple[str, int, pa.RecordBatch]]:
    """Read part after part: its name, how many of its rows came before, and some rows."""
    for path in source.parts:
        n_before = 0
        with _open_parquet(path) as part:
            for batch in part.iter_batches(n_rows, columns=columns):
                yield str(path), n_before, batch
                n_before += batch.num_rows


def _read_pairs(
    source: SetSource,
    schema: pa.Schema,
    n_entries: int,
    options: SetOptions,
    listed: pa.Array | None,
    storage: EntryStorage,
) -> SetFile:
    where = source.where
    row, item = choose_columns(list(schema.names), options, where)
    names = schema.names[row], schema.names[item]
    room = MemoryLimit(options, where, storage)
    room.require(0, 0, n_entries)
    rows, items = NameCoder(n_entries, storage), NameCoder(n_entries, storage)
    for path, n_before, batch in read_batches(source, _BATCH_ROWS, list(names)):
        for coder, name in zip((rows, items), names, strict=True):
            coder.add(check_names(batch.column(name), name, path, n_before))
        room.require(0, 0, n_entries, rows.n_text + items.n_text)
    pa.default_memory_pool().release_unused()
    built = sets_from_coders(rows, items, listed, options, where, storage)
    stored = SetFormat(
        PAIRS,
        row_column=names[0],
        item_column=names[1],
        row_type=type_name(schema.field(names[0]).type),
        item_type=type_name(schema.field(names[1]).type),
    )
    return SetFile(built.sets, stored, built.notes, source.path.name)


def _read_lists(
    source: SetSource,
    schema: pa.Schema,
    n_expected: int,
    listing: str,
    options: SetOptions,
    listed: pa.Array | None,
    storage: EntryStorage,
) -> SetFile:
    columns = [*row_columns(schema, listing, options, source.where), listing]
    batches = read_batches(source, _BATCH_ROWS >> 3, columns)
    place = source.where, source.path.name
    return read_list_batches(batches, schema, n_expected, listing, options, listed, place, storage)


def read_list_batches(
    batches: Iterable[tuple[str, int, pa.RecordBatch]],
    schema: pa.Schema,
    n_expected: int,
    listing: str,
    options: SetOptions,
    listed: pa.Array | None,
    place: tuple[str, str],
    storage: EntryStorage = IN_MEMORY,
) -> SetFile:
    """Return the sets of batches with a column of lists and, where it has one, a row's name.

    Each batch comes with its file and how many of its rows came before; ``place`` is how messages
    call the whole, and its name.
    """
    where, name = place
    row_column = next(iter(row_columns(schema, listing, options, where)), None)
    rows, items = NameCoder(storage=storage), NameCoder(storage=storage)
    room = MemoryLimit(options, where, storage)
    room.require(n_expected, 0, 0)
    sizes = GrowingArray(np.int32, n_expected=n_expected)
    n_rows = 0
    for path, n_before, batch in batches:
        lists, lengths = checked_lists(batch, listing, path, n_before)
        sizes.append(lengths)
        n_text = rows.n_text + items.n_text
        room.require(n_expected, 0, items.n_entries + int(lengths.sum()), n_text)
        items.add(check_names(lists.flatten(), listing, path, items.n_entries))
        if row_column is not None:
            rows.add(check_names(batch.column(row_column), row_column, path, n_before))
        n_rows += len(lists)
    if n_rows == 0:
        raise DataError(f"{where}: no rows", remedy="Give a file with rows.")
    row_names = listed
    if row_column is not None:
        row_codes, row_names = rows.finish()
        if len(row_names) < n_rows:
            raise DataError(
                f"{where}, column {row_column!r}: {n_rows - len(row_names):,} rows have the name "
                "of another row",
                remedy="Give every row a name of its own, or join their lists.",
            )
        row_names = row_names.take(pa.array(row_codes))
        del row_codes
    elif listed is not None and len(listed) != n_rows:
        raise DataError(
            f"{where}: there are {n_rows:,} rows, and {name}.rows lists {len(listed):,}",
            remedy="List the rows of this very file, or take the list away.",
        )
    codes, item_names = items.finish()
    room.require(n_rows, len(item_names), len(codes))
    pairs = Pairs(None, codes, n_rows, len(item_names), sizes.finish())
    del codes
    sets, notes = from_pairs(pairs, row_names, item_names, options, where, storage)
    stored = SetFormat(
        LISTS,
        row_column=row_column or "",
        item_column=listing,
        row_type="" if row_column is None else type_name(schema.field(row_column).type),
        item_type=type_name(schema.field(listing).type.value_type),
    )
    return SetFile(sets, stored, notes, name)


def checked_lists(
    batch: pa.RecordBatch, listing: str, where: str, n_before: int
) -> tuple[pa.Array, NDArray[np.int32]]:
    """Return the lists of a batch and how long each is; raise where a row has none."""
    lists = batch.column(listing)
    if lists.null_count:
        at = n_before + int(np.flatnonzero(lists.is_null().to_numpy(zero_copy_only=False))[0])
        raise DataError(
            f"{where}, column {listing!r}: row {at + 1:,} has no list",
            remedy="Write an empty list for a row without items.",
        )
    return lists, pc.list_value_length(lists).to_numpy(zero_copy_only=False)


def row_columns(schema: pa.Schema, listing: str, options: SetOptions, where: str) -> list[str]:
    """Return the column that names rows in a list, or nothing."""
    named = _row_column(schema, listing, options, where)
    return [] if named is None else [named]


def find_list_column(schema: pa.Schema, options: SetOptions, where: str) -> str | None:
    """Return the column of lists that holds the sets, if there is one."""
    lists = [field.name for field in schema if _is_list(field.type)]
    if options.item_column is not None:
        return options.item_column if options.item_column in lists else None
    if len(lists) > 1:
        raise DataError(
            f"{where}: there are {len(lists):,} columns of lists, and sets need one",
            remedy="State item_column.",
        )
    return lists[0] if lists else None


def _row_column(schema: pa.Schema, listing: str, options: SetOptions, where: str) -> str | None:
    """Return the column that names the rows of a column of lists: as stated, or the only other."""
    others = [name for name in schema.names if name != listing]
    if options.row_column is not None:
        choose_columns([options.row_column, listing], options, where)
        if options.row_column not in others:
            raise DataError(
                f"{where}: there is no column {options.row_column!r}",
                remedy=f"Known: {', '.join(others[:20])}.",
            )
        return options.row_column
    if len(others) > 1:
        raise DataError(
            f"{where}: there are {len(others):,} columns beside the lists, and one may name rows",
            remedy="State row_column.",
        )
    return others[0] if others else None


def check_names(names: pa.Array, column: str, where: str, n_before: int) -> pa.Array:
    """Return a column's block as names; raises for a type that names nothing, and for nulls."""
    kind = names.type.value_type if types.is_dictionary(names.type) else names.type
    is_text = types.is_string(kind) or types.is_large_string(kind) or kind == pa.string_view()
    if not (is_text or types.is_integer(kind)):
        raise DataError(f"{where}, column {column!r}: its type is {kind}", remedy=_TYPES)
    if names.null_count:
        at = n_before + int(np.flatnonzero(names.is_null().to_numpy(zero_copy_only=False))[0])
        raise DataError(
            f"{where}, column {column!r}: entry {at + 1:,} is missing",
            remedy="Leave the entry out, or give it a name.",
        )
    if is_text:
        values = names.dictionary if types.is_dictionary(names.type) else names
        if len(values) and pc.min(pc.binary_length(values.cast(pa.large_string()))).as_py() == 0:
            raise DataError(
                f"{where}, column {column!r}: a name is empty",
                remedy="Give every row and every item a name.",
            )
    elif types.is_uint64(kind):
        values = names.dictionary if types.is_dictionary(names.type) else names
        if len(values) and pc.max(values).as_py() >= 1 << 63:
            raise DataError(
                f"{where}, column {column!r}: a number is beyond 64 bits with a sign",
                remedy="Turn the column into texts.",
            )
    return names


def type_name(kind: pa.DataType) -> str:
    """Return the name of a column's plain type."""
    return str(kind.value_type if types.is_dictionary(kind) else kind)


def _is_list(kind: pa.DataType) -> bool:
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))

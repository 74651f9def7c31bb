"""Sets from matrices, frames and the columns of a table, and back as the kind that they came as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from incrowd.encoding.one_hot import encode_categories
from incrowd.errors import DataError, JobError, unknown
from incrowd.sets.build import Pairs, from_pairs
from incrowd.sets.files import csr_arrays, list_blocks, pair_blocks
from incrowd.sets.format import (
    FRAME_KINDS,
    LISTS,
    NONZERO,
    ONE_HOT,
    PAIRS,
    MemoryLimit,
    SetFile,
    SetFormat,
    SetOptions,
)
from incrowd.sets.matrix import Names, find_present, from_csr
from incrowd.sets.names import NameCoder, item_names_of, normalize_names, row_names_of, to_integers
from incrowd.sets.parquet import check_names, find_list_column, read_list_batches, type_name
from incrowd.sets.sets import BIPARTITE, Sets
from incrowd.sets.text import choose_columns, sets_from_coders
from incrowd.tables.columns.types import to_mask
from incrowd.tables.files.sniff import check_names as check_column_names
from incrowd.tables.frames import arrow_of, normalize_table, to_frame
from incrowd.tables.table import Table

_WHERE = "the frame"
_MATRIX = "the matrix"


def sets_from_frame(
    frame: Any, options: SetOptions | None = None, *, rows: Sequence[object] | None = None
) -> SetFile:
    """Take in a SciPy matrix, or a pandas, polars or pyarrow frame of one of three layouts.

    *pairs*: the two columns row and item with an entry a row, or more and the two are stated. It
    cannot show an empty set: ``rows`` lists all rows where there are such. *lists*: a column of
    lists, and at most one that names the rows. *one-hot*: a column of yes and no per item, and a
    column that names the rows where it is stated. Notes say what was done to entries.
    """
    options = options or SetOptions()
    if _is_scipy(frame):
        _refuse_listed_rows(rows, "a matrix")
        return _from_scipy(frame, options)
    table, kind, labels = _take(frame)
    layout = _layout_of(table, options)
    if layout != PAIRS:
        _refuse_listed_rows(rows, f"a frame of {layout}")
        if layout == LISTS:
            found = _from_lists(table, options)
        else:
            found = _from_one_hot(table, labels, options)
        return replace(found, format=replace(found.format, kind=kind, layout=layout))
    table = normalize_table(table, _WHERE)
    columns = table.column_names
    row, item = choose_columns(columns, options, _WHERE)
    coders = []
    for place in (row, item):
        coder = NameCoder()
        for chunk in table.column(place).chunks:
            coder.add(check_names(chunk, columns[place], _WHERE, coder.n_entries))
        coders.append(coder)
    listed = None if rows is None else _parse_row_list(rows)
    built = sets_from_coders(coders[0], coders[1], listed, options, _WHERE)
    stored = SetFormat(
        kind,
        row_column=columns[row],
        item_column=columns[item],
        row_type=type_name(table.column(row).type),
        item_type=type_name(table.column(item).type),
    )
    return SetFile(built.sets, stored, built.notes, _WHERE)


def _refuse_listed_rows(rows: object, what: str) -> None:
    if rows is not None:
        raise DataError(f"{what} has all its rows", remedy="Leave the list of rows out.")


def _take(frame: Any) -> tuple[pa.Table, str, dict[str, Any]]:
    """Return a frame as Arrow, its kind, and its columns' own labels by their names as text."""
    from narwhals import dependencies

    if not dependencies.is_pandas_dataframe(frame):
        table, kind = arrow_of(frame)
        return table, kind, {name: name for name in table.column_names}
    import pandas as pd

    names = [str(label) for label in frame.columns]
    labels = dict(zip(names, frame.columns, strict=True))
    plain = frame.set_axis(names, axis=1)
    if len(labels) == len(names):  # two columns of one name are refused where they are read
        for name in names:
            if isinstance(plain[name].dtype, pd.SparseDtype):
                plain[name] = np.asarray(plain[name])
            elif plain[name].dtype == object and plain[name].map(_is_set).any():
                plain[name] = plain[name].map(_listed)
    table, kind = arrow_of(plain)
    return table, kind, labels


def _is_set(cell: Any) -> bool:
    return isinstance(cell, (set, frozenset))


def _listed(cell: Any) -> Any:
    return sorted(cell, key=str) if _is_set(cell) else cell


def _layout_of(table: pa.Table, options: SetOptions) -> str:
    """Return how a frame holds sets: as stated, or as the types and values of its columns say."""
    if options.kind in (PAIRS, LISTS, ONE_HOT):
        return str(options.kind)
    if find_list_column(table.schema, options, _WHERE) is not None:
        return LISTS
    if options.item_column is not None:
        return PAIRS
    others = [name for name in table.column_names if name != options.row_column]
    kinds = [table.schema.field(name).type for name in others]
    if others and all(types.is_boolean(kind) for kind in kinds):
        return ONE_HOT
    if len(others) < 2 or (len(others) == 2 and options.row_column is None):
        return PAIRS
    is_counted = options.values == NONZERO
    are_numbers = all(
        types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)
        for kind in kinds
    )
    if are_numbers and (is_counted or all(_is_binary(table.column(name)) for name in others)):
        return ONE_HOT
    return PAIRS


def _is_binary(column: pa.ChunkedArray) -> bool:
    if types.is_boolean(column.type):
        return True
    zero_or_one = pc.or_(pc.equal(column, 0), pc.equal(column, 1))
    return bool(pc.all(pc.fill_null(zero_or_one, False)).as_py())


def _from_lists(table: pa.Table, options: SetOptions) -> SetFile:
    listing = find_list_column(table.schema, options, _WHERE)
    if listing is None:
        raise DataError(
            f"{_WHERE}: no column holds lists", remedy="State another kind of sets, or item_column."
        )
    if types.is_null(table.schema.field(listing).type.value_type):  # no list has an item
        plain = table.column(listing).cast(pa.list_(pa.string()))
        table = table.set_column(table.column_names.index(listing), listing, plain)
    batches, n_before = [], 0
    for batch in table.to_batches():
        batches.append((_WHERE, n_before, batch))
        n_before += batch.num_rows
    place = _WHERE, _WHERE
    return read_list_batches(batches, table.schema, table.num_rows, listing, options, None, place)


def _from_one_hot(table: pa.Table, labels: Mapping[str, Any], options: SetOptions) -> SetFile:
    if options.row_column is not None and options.row_column not in table.column_names:
        raise unknown("column", options.row_column, table.column_names, where=_WHERE)
    check_column_names(table.column_names, _WHERE)
    if options.graph != BIPARTITE:
        raise JobError(
            "one-hot frames hold rows and items, not graphs", remedy="Leave --graph out."
        )
    names = [name for name in table.column_names if name != options.row_column]
    MemoryLimit(options, _WHERE).require(table.num_rows, len(names), 0)
    if not table.num_rows or not names:
        raise DataError(f"{_WHERE}: no rows or no items", remedy="Give a frame with both.")
    rows, items, notes = [], [], []
    for place, name in enumerate(names):
        held, more = _held_rows(table.column(name), name, options)
        rows.append(held)
        items.append(np.full(len(held), place, dtype=np.int32))
        notes += more
    row_names, row_type = None, ""
    if options.row_column is not None:
        row_names = _own_names(table.column(options.row_column), options.row_column)
        row_type = type_name(table.schema.field(options.row_column).type)
    pairs = Pairs(np.concatenate(rows), np.concatenate(items), table.num_rows, len(names))
    sets, more = from_pairs(pairs, row_names, pa.array(names), options, _WHERE)
    stored = SetFormat(
        row_column=options.row_column or "",
        row_type=row_type,
        value_type=str(table.schema.field(names[0]).type),
        item_columns=tuple(labels[name] for name in names),
    )
    return SetFile(sets, stored, [*notes, *more], _WHERE)


def _held_rows(
    column: pa.ChunkedArray, name: str, options: SetOptions
) -> tuple[NDArray[np.int32], list[str]]:
    """Return the rows that hold an item; raises for missing cells and for other numbers."""
    where = f"{_WHERE}, column {name!r}"
    if column.null_count:
        raise DataError(
            f"{where}: {column.null_count:,} cells are missing",
            remedy="State 0 (or False) for a row without the item.",
        )
    values = column.to_numpy() if not types.is_boolean(column.type) else to_mask(column)
    if values.dtype.kind not in "buif":
        raise DataError(
            f"{where}: its type is {column.type}, and items are yes or no",
            remedy="Give True and False or 1 and 0, or name the column of rows with --row-column.",
        )
    n_other = int(np.count_nonzero((values != 0) & (values != 1)))
    if n_other and options.values != NONZERO:
        raise DataError(
            f"{where}: {n_other:,} values are neither 0 nor 1",
            remedy="Give 0 and 1, or state --values nonzero: whatever is not 0 is an entry.",
        )
    notes = [f"{where}: {n_other:,} values other than 0 and 1 are taken as present"]
    return np.flatnonzero(values != 0).astype(np.int32), notes if n_other else []


def _own_names(column: pa.ChunkedArray, name: str) -> pa.Array:
    coder = NameCoder()
    for chunk in column.chunks:
        coder.add(check_names(chunk, name, _WHERE, coder.n_entries))
    codes, names = coder.finish()
    if len(names) < len(codes):
        raise DataError(
            f"{_WHERE}, column {name!r}: {len(codes) - len(names):,} rows have the name of another "
            "row",
            remedy="Give every row a name of its own, or join them.",
        )
    return names.take(pa.array(codes))


def sets_to_frame(sets: Sets, format: SetFormat) -> Any:
    """Hand sets out as the kind that ``format`` remembers, in memory of their own.

    SciPy gets a CSR matrix of ones with sorted indices; the others a frame of the layout that came
    in. In pairs, sorted by row and item, empty sets do not show; of one-hot columns those are left
    out that no row holds.
    """
    if format.kind == "scipy":
        sparse: Any = import_module("scipy.sparse")  # it has no types of its own
        arrays = csr_arrays(sets, format)
        entries = arrays["data"], arrays["indices"], arrays["indptr"]
        make = sparse.csr_array if format.is_array else sparse.csr_matrix
        matrix = make(entries, shape=(sets.n_rows, sets.n_items))
        matrix.has_sorted_indices = matrix.has_canonical_format = True
        return matrix
    if format.kind not in FRAME_KINDS:
        raise ValueError(f"no frame is of the kind {format.kind!r}")
    if format.layout == ONE_HOT:
        return _to_one_hot(sets, format)
    if format.layout == LISTS:
        table = pa.concat_tables(list_blocks(sets, format))
        if format.kind == "pandas":
            listing = format.item_column or table.column_names[-1]
            frame = to_frame(table.drop_columns([listing]), "pandas")
            frame[listing] = table.column(listing).to_pylist()
            return frame
        return to_frame(table, format.kind)
    return to_frame(pa.concat_tables(pair_blocks(sets, format)), format.kind)


def _to_one_hot(sets: Sets, format: SetFormat) -> Any:
    """Return a column of yes and no for every item that some row holds, in the columns' order."""
    names = [str(name) for name in item_names_of(sets).to_pylist()]
    held = np.zeros((sets.n_rows, sets.n_items), dtype=np.bool_)
    held[np.repeat(np.arange(sets.n_rows), sets.sizes), sets.items] = True
    label_of = {str(label): label for label in format.item_columns}
    place_of = {name: place for place, name in enumerate(label_of)}
    shown = [item for item in range(sets.n_items) if held[:, item].any()]
    shown.sort(key=lambda item: (place_of.get(names[item], len(place_of)), names[item]))
    columns = {}
    if not shown and not format.row_column:
        raise DataError(
            "no item is left, and a one-hot frame without columns has no rows",
            remedy="Lower k, or give a frame with a column of lists.",
        )
    if format.row_column:
        rows = [row_names_of(sets)]
        columns[format.row_column] = pa.chunked_array(rows).cast(format.row_type or pa.int64())
    kind = pa.type_for_alias(format.value_type)
    columns |= {names[item]: pa.array(held[:, item]).cast(kind) for item in shown}
    frame = to_frame(pa.table(columns), format.kind)
    if format.kind == "pandas":
        frame.columns = [label_of.get(name, name) for name in frame.columns]
    return frame


def _is_scipy(frame: Any) -> bool:
    return type(frame).__module__.startswith("scipy.sparse")


def _from_scipy(matrix: Any, options: SetOptions) -> SetFile:
    if len(matrix.shape) != 2:
        raise DataError(f"{_MATRIX}: it has no rows and columns", remedy="Give two dimensions.")
    shape = int(matrix.shape[0]), int(matrix.shape[1])
    MemoryLimit(options, _MATRIX).require(*shape, int(matrix.nnz))
    is_array = type(matrix).__name__.endswith("_array")
    stored = SetFormat("scipy", value_type=matrix.dtype.name, is_array=is_array)
    if matrix.format == "coo":  # turned into CSR, entries that occur again would be added up
        is_there, notes = find_present(matrix.data, options, _MATRIX)
        kept = slice(None) if is_there is None else is_there
        rows, items = (part[kept].astype(np.int32) for part in (matrix.row, matrix.col))
        sets, more = from_pairs(Pairs(rows, items, *shape), None, None, options, _MATRIX)
        return SetFile(sets, stored, [*notes, *more], _MATRIX)
    plain = matrix.tocsr()
    sets, notes = from_csr(
        plain.indptr, plain.indices, plain.data, shape, Names(), options, _MATRIX
    )
    return SetFile(sets, stored, notes, _MATRIX)


def _parse_row_list(rows: Sequence[object]) -> pa.Array:
    try:
        names = pa.array(rows, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        raise DataError(
            "the list of rows holds names of several kinds", remedy="Give texts or whole numbers."
        ) from None
    names = normalize_names(check_names(names, "rows", "the list of rows", 0))
    if len(names.unique()) < len(names):
        raise DataError("the list of rows names a row twice", remedy="List every row once.")
    return to_integers(names)


# A table's columns as sets: one item for each value of a column, named ``column=value``.


def sets_of_columns(table: Table, columns: Sequence[str]) -> Sets:
    """Return the set of values that each row has in the columns: one-hot, without the zeros.

    A token for missing is a value like any other, and a missing cell is the item ``column=``, so
    that every row has as many items as there are columns. Items are in the order of their names.
    """
    if not columns or len(set(columns)) < len(columns):
        raise JobError(
            "columns for sets are missing or stated twice", remedy="Name each column once."
        )
    found = encode_categories(table, columns)
    names = [name for bits in found.bit_names.values() for name in bits]
    if len(set(names)) < len(names):
        raise DataError(
            f"{table.name}: two values would be one item",
            remedy="Rename the column that holds '=' in its name.",
        )
    firsts = np.cumsum(found.n_values) - found.n_values
    items = (found.codes + firsts[:, None].astype(np.int32)).ravel()
    rows = np.tile(np.arange(table.n_rows, dtype=np.int32), len(columns))
    pairs = Pairs(rows, items, table.n_rows, len(names))
    sets, _ = from_pairs(pairs, None, pa.array(names), SetOptions(), table.name)
    return sets

"""Sets from matrices, frames and the columns of a table, and back as the kind that they came as."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from incrowd.encoding.one_hot import encode_categories
from incrowd.errors import DataError, JobError
from incrowd.sets.build import Pairs, from_pairs
from incrowd.sets.files import csr_arrays, pair_blocks
from incrowd.sets.format import FRAME_KINDS, MemoryLimit, SetFile, SetFormat, SetOptions
from incrowd.sets.matrix import Names, find_present, from_csr
from incrowd.sets.names import NameCoder, normalize_names, to_integers
from incrowd.sets.parquet import check_names, type_name
from incrowd.sets.sets import Sets
from incrowd.sets.text import choose_columns, sets_from_coders
from incrowd.tables.frames import from_frame, to_frame
from incrowd.tables.table import Table

_WHERE = "the frame"
_MATRIX = "the matrix"


def sets_from_frame(
    frame: Any, options: SetOptions | None = None, *, rows: Sequence[object] | None = None
) -> SetFile:
    """Take in a SciPy matrix, or a pandas, polars or pyarrow frame with an entry a row.

    A frame has the two columns row and item, or more and the two are stated. It cannot show an
    empty set: ``rows`` lists all rows where there are such. Notes say what was done to entries.
    """
    options = options or SetOptions()
    if _is_scipy(frame):
        if rows is not None:
            raise DataError("a matrix has all its rows", remedy="Leave the list of rows out.")
        return _from_scipy(frame, options)
    table, kind = from_frame(frame)
    columns = table.columns
    row, item = choose_columns(columns, options, _WHERE)
    coders = []
    for place in (row, item):
        coder = NameCoder()
        column = table.frame.column(place)
        for chunk in column.chunks:
            coder.add(check_names(chunk, columns[place], _WHERE, coder.n_entries))
        coders.append(coder)
    listed = None if rows is None else _parse_row_list(rows)
    built = sets_from_coders(coders[0], coders[1], listed, options, _WHERE)
    stored = SetFormat(
        kind,
        row_column=columns[row],
        item_column=columns[item],
        row_type=type_name(table.frame.column(row).type),
        item_type=type_name(table.frame.column(item).type),
    )
    return SetFile(built.sets, stored, built.notes, _WHERE)


def sets_to_frame(sets: Sets, format: SetFormat) -> Any:
    """Hand sets out as the kind that ``format`` remembers, in memory of their own.

    SciPy gets a CSR matrix of ones with sorted indices; the others a frame with an entry a row,
    sorted by row and item, in which empty sets do not show.
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
    return to_frame(pa.concat_tables(pair_blocks(sets, format)), format.kind)


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

"""What a user states beside a file of sets: the items that could occur, and each row's own k."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.encoding.personal_k import read_k_column
from incrowd.errors import DataError, JobError
from incrowd.sets.build import sort_in_rows
from incrowd.sets.names import in_order, item_names_of, renumber, row_names_of
from incrowd.sets.sets import BIPARTITE, IN_MEMORY, Sets, Shelf, item_counts
from incrowd.tables.column_types import labels_of
from incrowd.tables.read import read_table


def with_universe(sets: Sets, path: str | Path, shelf: Shelf = IN_MEMORY) -> Sets:
    """Return the sets over the items that a file lists, one a line; entries lie on the shelf.

    Raises DataError where a row holds an item that is not listed, or one is listed twice.
    """
    if sets.graph != BIPARTITE:
        raise JobError(
            "a graph's items are its nodes, which are public", remedy="Leave --items out."
        )
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path}: the list of items cannot be read ({type(error).__name__})"
        ) from None
    listed = [line.strip() for line in lines if line.strip()]
    if len(set(listed)) != len(listed):
        raise DataError(f"{path}: an item is listed twice", remedy="List every item once.")
    had = item_names_of(sets)
    if pa.types.is_integer(had.type) and all(name.lstrip("-").isdecimal() for name in listed):
        names, _ = in_order(pa.array([int(name) for name in listed], pa.int64()))
    else:
        had = had.cast(pa.string())
        names, _ = in_order(pa.array(listed, pa.string()))
    place = pc.fill_null(pc.index_in(had.cast(names.type), names), -1).to_numpy()
    held = np.flatnonzero(item_counts(sets.items, sets.n_items))
    n_unlisted = int((place[held] < 0).sum())
    if n_unlisted:
        raise DataError(
            f"{path}: rows hold {n_unlisted} items that are not listed",
            remedy="List every item that a row may hold, whether or not one does.",
        )
    items = shelf.array(sets.n_entries, np.int32)
    items[:] = sets.items
    renumber(items, place.astype(np.int32))
    sort_in_rows(sets.starts, items)
    return replace(sets, items=items, n_items=len(names), item_names=names)


# Each row's own k, from a file with the columns row and k.


def read_row_k(path: str | Path, sets: Sets) -> NDArray[np.int32]:
    """Return a k for every row; 1 where the file has none for it.

    Raises DataError where a row is named twice or is none of the sets', or a k is no whole number.
    """
    table = read_table(Path(path), header=True)
    table.require(["row", "k"], str(path))
    k = read_k_column(table, "k")
    names = labels_of(table.frame.column("row"))
    known = row_names_of(sets).cast(pa.string())
    place = pc.fill_null(pc.index_in(names, known), -1).to_numpy()
    n_unknown = int((place < 0).sum())
    if n_unknown:
        first = int(np.flatnonzero(place < 0)[0]) + 1
        raise DataError(
            f"{path}: {n_unknown} lines name no row of the sets (first in line {first})",
            remedy="Name rows as the data file does; baskets and matrices number theirs from 0.",
        )
    if len(np.unique(place)) != len(place):
        raise DataError(f"{path}: a row is named twice", remedy="Give each row one k.")
    wishes = np.ones(sets.n_rows, dtype=np.int32)
    wishes[place] = k
    return wishes

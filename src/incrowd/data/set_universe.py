"""The items that sets could hold, stated beforehand: a public list, not one read off the data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.data.set_build import sort_in_rows
from incrowd.data.set_names import in_order, item_names_of, renumber
from incrowd.data.sets import BIPARTITE, Sets, item_counts
from incrowd.data.shelf import IN_MEMORY, Shelf
from incrowd.errors import DataError, JobError


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

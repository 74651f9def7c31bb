"""Each row's own k, from a file with the columns row and k."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.data.kinds import labels_of
from incrowd.data.read import read_table
from incrowd.data.set_names import row_names_of
from incrowd.data.sets import Sets
from incrowd.data.wishes import personal_k
from incrowd.errors import DataError


def read_row_k(path: str | Path, sets: Sets) -> NDArray[np.int32]:
    """Return a k for every row; 1 where the file has none for it.

    Raises DataError where a row is named twice or is none of the sets', or a k is no whole number.
    """
    table = read_table(Path(path), header=True)
    table.require(["row", "k"], str(path))
    k = personal_k(table, "k")
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

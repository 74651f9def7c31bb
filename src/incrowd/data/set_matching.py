"""Which item of the original each item of a release is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.data.sets import Sets
from incrowd.errors import DataError

NOT_THERE = -1
"""The number of an item that the original does not have."""


def same_items(released: Sets, original: Sets) -> NDArray[np.int64]:
    """Return, for each released item, the original's item of the same name, or ``NOT_THERE``.

    Items without names are called by their numbers. Where one side's names are texts and the
    other's whole numbers, numbers are compared as they are written.
    """
    if released.item_names is None and original.item_names is None:
        numbers = np.arange(released.n_items, dtype=np.int64)
        return np.where(numbers < original.n_items, numbers, NOT_THERE)
    import pyarrow as pa
    import pyarrow.compute as pc

    names, known = (
        pa.array(np.arange(side.n_items)) if side.item_names is None else side.item_names
        for side in (released, original)
    )
    for side, of_side in (("release", names), ("original", known)):
        if pc.count_distinct(of_side, mode="all").as_py() != len(of_side):
            raise DataError(
                f"two items of the {side} have the same name",
                remedy="Give every item a name of its own.",
            )
    if names.type != known.type:
        names, known = names.cast(pa.large_string()), known.cast(pa.large_string())
    found = pc.index_in(names, value_set=known).fill_null(NOT_THERE)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)

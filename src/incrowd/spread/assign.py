"""Which of several equal rows shows which of the fragments they are released as.

Rows that are equal in their quasi-identifying values may be released in several groups. Where
groups are tested by their size alone any of them may take any place: the order of their other
released columns decides, so that a release is a function of the rows and not of their order.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.codes import RowKey, canonical_order


def assigned_by_content(
    before: NDArray[np.int32], after: NDArray[np.int32], others: pa.Table
) -> NDArray[np.int32]:
    """Return ``after[column, row]`` with places traded among rows that are equal before.

    ``others`` are the released columns that are not generalized.
    """
    distinct, shown = _numbers(before), _numbers(after)
    pairs = np.unique(np.stack([distinct, shown]), axis=1)[0] if len(distinct) else distinct
    numbers, n_shown = np.unique(pairs, return_counts=True)
    rows = np.flatnonzero(np.isin(distinct, numbers[n_shown > 1]))
    if not len(rows):
        return after
    by_content = np.arange(len(rows), dtype=np.int64)
    if others.num_columns:
        by_content = canonical_order(others.take(pa.array(rows)).combine_chunks())
    takers = rows[by_content[np.argsort(distinct[rows][by_content], kind="stable")]]
    places = rows[np.lexsort([shown[rows], distinct[rows]])]
    assigned = after.copy()
    assigned[:, takers] = after[:, places]
    return assigned


def _numbers(nodes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return a number per row that sorts rows by their nodes, the first column first."""
    key = RowKey(nodes.shape[1])
    for column in nodes:
        key.add(column, int(column.max(initial=0)) + 1)
    return key.numbers

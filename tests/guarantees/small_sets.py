"""Small sets for tests: strategies, and the way from Python's sets to ``Sets``."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from incrowd.sets.sets import Sets


def to_sets(rows, n_items=None, *, item_names=None, graph="bipartite"):
    """Return rows of whole numbers as ``Sets``."""
    items = [item for row in rows for item in sorted(row)]
    starts = np.cumsum([0, *(len(row) for row in rows)])
    width = max(items, default=-1) + 1 if n_items is None else n_items
    return Sets(
        starts.astype(np.int64),
        np.asarray(items, dtype=np.int32),
        width,
        item_names=item_names,
        graph=graph,
    )


def to_rows(sets):
    """Return ``Sets`` as a list of Python's sets."""
    return [
        set(sets.items[sets.starts[row] : sets.starts[row + 1]].tolist())
        for row in range(sets.n_rows)
    ]


N_ITEMS = 5

rows_of_items = st.frozensets(st.integers(0, N_ITEMS - 1), max_size=4).map(set)


@st.composite
def groupings(draw, *, least_rows=1, most_rows=14, k=None):
    """Draw rows and a grouping of them; with k, into groups of at least k."""
    original = draw(st.lists(rows_of_items, min_size=least_rows, max_size=most_rows))
    n_rows = len(original)
    if k is None:
        group_of_row = draw(st.lists(st.integers(0, 4), min_size=n_rows, max_size=n_rows))
    else:
        order = draw(st.permutations(range(n_rows)))
        group_of_row = [0] * n_rows
        for place, row in enumerate(order):
            group_of_row[row] = min(place // k, max(n_rows // k - 1, 0))
    return original, group_of_row

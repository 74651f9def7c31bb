"""Rows of nodes are found among known ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import EngineError
from incrowd.flow.assignment import Lookup


@given(
    st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=40, unique=True),
    st.sampled_from([5, 1 << 30]),
    st.randoms(),
)
def test_every_known_row_is_found_also_where_numbers_are_too_large_for_one_word(
    rows, n_nodes, random
):
    nodes = np.asarray(rows, dtype=np.int32).T
    if n_nodes > 5:
        nodes = nodes * (1 << 27)
    lookup = Lookup.of(nodes, (n_nodes,) * 3)
    asked = random.choices(range(len(rows)), k=60)
    assert lookup.find(nodes[:, asked]).tolist() == asked


def test_a_row_that_was_never_seen_is_refused():
    lookup = Lookup.of(np.asarray([[0, 1], [0, 1]], dtype=np.int32), (2, 2))
    with pytest.raises(EngineError, match="other values than when rows were counted"):
        lookup.find(np.asarray([[0], [1]], dtype=np.int32))


def test_no_rows_are_found_among_none():
    lookup = Lookup.of(np.zeros((2, 0), dtype=np.int32), (2, 2))
    assert lookup.find(np.zeros((2, 0), dtype=np.int32)).tolist() == []

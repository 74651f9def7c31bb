"""Losses of sets, against Python's own sets."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guarantees.small_sets import N_ITEMS, rows_of_items, to_sets
from incrowd.measures.losses import sets as metrics
from incrowd.measures.losses.sets import measure_set_losses
from oracles import sets as oracle
from tiers import examples

NAMES = ("jaccard", "suppressed", "created", "item_error", "count_error", "size_error")


@examples(150)
@given(st.data())
def test_losses_are_the_oracle_s(data):
    pairs = data.draw(st.lists(st.tuples(rows_of_items, rows_of_items), max_size=10))
    original, released = [old for old, _ in pairs], [new for _, new in pairs]
    order = data.draw(st.permutations(range(len(pairs))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "ENTRIES_AT_ONCE", 3)
        losses = measure_set_losses(
            to_sets(original, N_ITEMS),
            to_sets([released[row] for row in order], N_ITEMS),
            original_row=np.asarray(order, dtype=np.int64),
        )
    expected = oracle.losses(original, released)
    for name in NAMES:
        assert getattr(losses, name) == pytest.approx(float(expected[name]), abs=1e-12), name
    assert losses.as_dict()["n_entries_before"] == sum(map(len, original))


def test_items_are_compared_by_name_and_strangers_count_as_created():
    before = to_sets([{0, 1}, {1}], 2, item_names=pa.array(["a", "b"]))
    after = to_sets([{0, 1}, {0}], 2, item_names=pa.array(["b", "z"]))
    losses = measure_set_losses(before, after)
    expected = oracle.losses([{"a", "b"}, {"b"}], [{"b", "z"}, {"b"}])
    for name in NAMES:
        assert getattr(losses, name) == pytest.approx(float(expected[name]))
    renamed = measure_set_losses(before, before, original_item=np.asarray([1, 0]))
    assert renamed.jaccard == pytest.approx(2 / 4)


def test_other_numbers_of_rows_are_no_release():
    with pytest.raises(ValueError, match="as many rows"):
        measure_set_losses(to_sets([{0}], 1), to_sets([{0}, {0}], 1))

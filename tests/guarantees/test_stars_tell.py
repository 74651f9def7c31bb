"""How well stars and group sizes predict a sensitive value, against plain counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.guarantees.adaptive.people import FEWEST_ROWS, prediction
from oracles.adaptive import guesses
from tiers import examples


@examples(200)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=25))
def test_guesses_are_the_oracle_s(rows):
    values, signs = [value for value, _ in rows], [sign for _, sign in rows]
    found = prediction(np.array(values), np.array(signs, dtype=np.int32))
    assert found["guessed_right"] * len(rows) == pytest.approx(guesses(values, signs))
    assert found["base_rate"] * len(rows) == pytest.approx(guesses(values, [0] * len(rows)))
    rises = [
        (share, values.count(value) / len(values))
        for sign in {*signs}
        for value in {*values}
        if signs.count(sign) >= FEWEST_ROWS
        for share in [rows.count((value, sign)) / signs.count(sign)]
    ]
    if rises:
        assert found["largest_share"] - found["share_in_file"] == pytest.approx(
            max(share - base for share, base in rises)
        )


def test_a_rare_value_is_told_though_it_is_never_the_better_guess():
    values = np.array([1] * 10 + [0] * 990)
    sign = np.array([1] * 22 + [0] * 978, dtype=np.int32)
    found = prediction(values, sign)
    assert found["guessed_right"] == found["base_rate"] == 0.99
    assert found["largest_share"] == pytest.approx(10 / 22)
    assert found["share_in_file"] == pytest.approx(0.01)

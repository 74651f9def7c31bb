"""Whether any release could keep the promise, against trying every one of tiny data."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import InfeasibleError
from incrowd.guarantees.tables.feasibility import cut_down
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from oracles.guarantees import is_diverse
from tiers import examples

COUNTS = st.lists(st.integers(1, 6), min_size=1, max_size=4)
KINDS = st.sampled_from(["distinct", "entropy", "recursive"])


@examples(300)
@given(COUNTS, KINDS, st.integers(1, 5), st.sampled_from([0.5, 1.0, 1.5, 3.0]), st.integers(0, 5))
def test_what_is_called_infeasible_is(counts, kind, l, c, n_suppressible):  # noqa: E741
    promise = KAnonymity(2, l=l, l_kind=kind, c=c)
    error = promise.infeasible(99, {"s": counts}, n_suppressible=n_suppressible)
    left = [
        Counter({value: n for value, n in enumerate(kept) if n})
        for kept in product(*(range(count + 1) for count in counts))
        if 0 <= sum(counts) - sum(kept) <= n_suppressible
    ]
    can_be_kept = any(is_diverse(kept, l, kind, c) for kept in left)
    if can_be_kept:
        assert error is None
    elif n_suppressible == 0:
        assert isinstance(error, InfeasibleError)


@examples(150)
@given(COUNTS, KINDS, st.sampled_from([2, 3, 4]), st.sampled_from([0.5, 1.0, 1.5]))
def test_the_named_nearest_setting_can_be_kept(counts, kind, l, c):  # noqa: E741
    error = KAnonymity(2, l=l, l_kind=kind, c=c).infeasible(99, {"s": counts})
    if error is None:
        return
    stated = dict(re.findall(r"--([lc]) ([0-9.]*[0-9])", error.remedy))
    if "l" in stated:
        nearest = float(stated["l"])
        assert nearest < l
        assert KAnonymity(2, l=nearest, l_kind=kind, c=c).infeasible(99, {"s": counts}) is None
    if "c" in stated:
        nearest = float(stated["c"])
        assert nearest > c
        assert KAnonymity(2, l=l, l_kind=kind, c=nearest).infeasible(99, {"s": counts}) is None


@examples(150)
@given(
    st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=2, max_size=4),
    KINDS,
    st.integers(1, 3),
    st.sampled_from([0.5, 1.0, 2.0]),
)
def test_groups_that_keep_l_keep_it_together(groups, kind, l, c):  # noqa: E741
    """Why one group of everybody decides: the conditions are monotone."""
    counters = [Counter({value: n for value, n in enumerate(group) if n}) for group in groups]
    if all(is_diverse(counter, l, kind, c) for counter in counters):
        assert is_diverse(sum(counters, Counter()), l, kind, c)


def test_the_boundary_of_recursive_l_cannot_be_kept():
    promise = KAnonymity(2, l=2, l_kind="recursive", c=1.1)
    assert promise.infeasible(21, {"s": [11, 10]}) is not None
    assert promise.infeasible(22, {"s": [11, 11]}) is None


def test_k_above_the_crowd():
    error = KAnonymity(5).infeasible(3)
    assert error.exit_status == 3
    assert "--k 3" in error.remedy
    assert KAnonymity(5).infeasible(5) is None
    assert "add data" in KAnonymity(2).infeasible(1).remedy


def test_personal_k_above_the_crowd():
    promise = KAnonymity(2, k_column="wish")
    error = promise.infeasible(4, k_of_row=[1, 5, 9, 4])
    assert "2 rows ask" in str(error)
    assert promise.infeasible(4, k_of_row=[1, 5, 9, 4], n_suppressible=2) is None


def test_refusing_counts_people():
    promise = KAnonymity(3)
    promise.refuse_infeasible(4)
    with pytest.raises(InfeasibleError, match="the 2 there are"):
        promise.refuse_infeasible(4, person_of_row=np.array([0, 0, 1, 1], dtype=np.int32))
    with pytest.raises(InfeasibleError, match="column 's'"):
        KAnonymity(2, l=3).refuse_infeasible(9, sensitive={"s": np.array([4, 0, 5])})


def test_no_t_is_infeasible():
    assert KAnonymity(2, t=0.0).infeasible(2, {"s": [1, 1]}) is None


def test_cutting_down():
    assert cut_down([9, 5, 1], 0) == [9, 5, 1]
    assert cut_down([9, 5, 1], 4) == [5, 5, 1]
    assert cut_down([9, 5, 1], 7) == [Fraction(7, 2), Fraction(7, 2), 1]
    assert cut_down([], 3) == []

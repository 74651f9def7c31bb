"""Mined rules: all that the data break, and no other, against sets counted one by one."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.rules.data import shop_baskets
from guarantees.small_sets import to_sets
from incrowd.errors import JobError
from incrowd.sets.files import read_sets
from incrowd.transactions import mine as mine_module
from incrowd.transactions.mine import mine_rules
from oracles.mined_rules import broken_rules
from tiers import examples

N_ITEMS = 8


def sets_of(transactions, n_items=N_ITEMS):
    return to_sets([set(transaction) for transaction in transactions], n_items)


def as_pairs(rules):
    pairs = []
    for rule in range(rules.n_rules):
        public, sensitive = rules.rule(rule)
        assert len(sensitive) == 1
        pairs.append((frozenset(map(int, public)), int(sensitive[0])))
    return pairs


def flags(sensitive, n_items=N_ITEMS):
    is_sensitive = np.zeros(n_items, dtype=np.bool_)
    is_sensitive[list(sensitive)] = True
    return is_sensitive


@examples(150)
@given(
    transactions=st.lists(st.lists(st.integers(0, N_ITEMS - 1), max_size=6), max_size=14),
    sensitive=st.sets(st.integers(0, N_ITEMS - 1), min_size=1, max_size=4),
    k=st.integers(1, 4),
    confidence=st.sampled_from([0.0, 0.3, 0.5, 0.6, 0.9, 1.0]),
    largest=st.integers(1, 3),
)
def test_exactly_the_broken_rules_are_mined(transactions, sensitive, k, confidence, largest):
    found = as_pairs(mine_rules(sets_of(transactions), flags(sensitive), k, confidence, largest))
    assert len(found) == len(set(found))
    assert set(found) == broken_rules(transactions, sensitive, k, confidence, largest)
    order = [(sorted(public), item) for public, item in found]
    assert order == sorted(order)


@pytest.mark.parametrize("slices", [1, 3, 64])
def test_slices_change_nothing(slices, monkeypatch):
    sets = shop_baskets(300, 40, 4.0, 12, n_types=5, seed=2)
    is_sensitive = flags(range(0, 40, 7), 40)
    rows = np.split(sets.items, sets.starts[1:-1])
    wanted = broken_rules([row.tolist() for row in rows], set(range(0, 40, 7)), 3, 0.4, 3)
    monkeypatch.setattr(mine_module, "_SLICES", slices)
    told = []
    found = mine_rules(
        sets, is_sensitive, 3, 0.4, 3, progress=lambda *report: told.append(report[:3])
    )
    assert set(as_pairs(found)) == wanted
    assert len(told) <= slices


def test_a_stated_share_is_met_exactly():
    """Seven of ten transactions are no more than 0.7 of them, whatever 0.7 · 10 may round to."""
    transactions = [[0, 1]] * 7 + [[0]] * 3
    for confidence, n_rules in [(0.7, 0), (0.69, 1)]:
        found = mine_rules(sets_of(transactions, 2), flags([1], 2), 2, confidence, 1)
        assert found.n_rules == n_rules


def test_support_alone_is_asked_of_the_largest_parts_only():
    transactions = [[0, 1, 2]] + [[4, 7]] * 9
    found = mine_rules(sets_of(transactions), flags([6, 7]), 2, 1.0, 2)
    assert as_pairs(found) == [(frozenset(pair), 7) for pair in ([0, 1], [0, 2], [1, 2])]
    whole = mine_rules(sets_of(transactions), flags([6, 7]), 2, 1.0, 3)
    assert as_pairs(whole) == [(frozenset([0, 1, 2]), 7)]


def test_too_many_rules_are_refused_and_exactly_as_many_are_not():
    transactions = [[0, 1, 2, 5]]
    assert mine_rules(sets_of(transactions), flags([5]), 2, 1.0, 3, most=7).n_rules == 7
    with pytest.raises(JobError, match="more than 6 rules") as caught:
        mine_rules(sets_of(transactions), flags([5]), 2, 1.0, 3, most=6)
    assert caught.value.exit_status == 2
    assert "km" in caught.value.remedy


def test_what_cannot_be_asked_is_listed_at_once():
    with pytest.raises(JobError) as caught:
        mine_rules(sets_of([[0]]), flags([]), 0, 1.5, 4)
    for word in ("up to 4", "k is 0", "1.5", "public and sensitive"):
        assert word in caught.value.what


def test_nothing_broken_is_no_rule():
    found = mine_rules(sets_of([[0], [0], [0, 1], [0]], 2), flags([1], 2), 2, 0.5, 2)
    assert found.n_rules == 0
    assert mine_rules(sets_of([], 2), flags([1], 2), 2, 0.5, 3).n_rules == 0


@pytest.mark.skipif("INCROWD_DATA" not in os.environ, reason="needs the real data sets")
def test_groceries_as_counted_one_by_one():
    path = Path(os.environ["INCROWD_DATA"]) / "transactions" / "groceries.dat.gz"
    sets = read_sets(path).take(np.arange(0, 9_000, 30))
    sensitive = {3, 20, 64}
    rows = [row.tolist() for row in np.split(sets.items, sets.starts[1:-1])]
    found = mine_rules(sets, flags(sensitive, sets.n_items), 3, 0.5, 2)
    assert set(as_pairs(found)) == broken_rules(rows, sensitive, 3, 0.5, 2)

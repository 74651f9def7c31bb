"""Splitting items under rules: the sequential oracle's parts, exactly, whatever the settings."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.methods.rule_instances import (
    conditions_of,
    instances,
    partition_of,
    random_rows,
)
from tests.oracles import rbat as oracle

from guarantees.small_sets import to_sets
from incrowd.errors import InfeasibleError, JobError
from incrowd.methods.rbat import improve, parts, search
from incrowd.methods.rbat.method import Rbat
from incrowd.methods.rbat.problem import problem_of
from incrowd.methods.rbat.validity import refuse_infeasible
from incrowd.methods.shared.item_parts import KmConditions
from incrowd.progress import silent
from tiers import examples


def refuse(sets, conditions):
    refuse_infeasible(problem_of(sets, conditions), conditions)


def require_oracle(instance):
    """Compare parts, tree and feasibility with the oracle's."""
    rows, rules, k, confidence, n_items, n_public, weight, alpha, gamma = instance
    sets = to_sets(rows, n_items)
    conditions = conditions_of(rules, k, confidence, n_items, n_public, weight)
    method = Rbat(alpha=alpha, gamma=gamma, order="paper", improve=0)
    public = frozenset(range(n_public))
    root = {public & frozenset().union(*rows)}
    if not oracle.keeps_rules(root, rows, rules, k, confidence):
        with pytest.raises(InfeasibleError):
            refuse(sets, conditions)
        with pytest.raises(InfeasibleError):
            method.search(sets, conditions, None, 0, silent)
        return
    refuse(sets, conditions)
    found = method.search(sets, conditions, None, 0, silent)
    expected = oracle.rbat(rows, public, rules, k, confidence, weight or [1] * n_items, alpha)
    assert partition_of(found) == expected
    assert oracle.keeps_rules(expected, rows, rules, k, confidence)
    if expected:
        assert (found.tree.left < 0).sum() == len(expected)


@examples(80)
@given(instances(weighted=False))
def test_equals_the_oracle(instance):
    require_oracle(instance)


@given(instances(weighted=True))
def test_equals_the_oracle_with_weights(instance):
    require_oracle(instance)


@given(instances(weighted=False), st.integers(1, 3))
def test_km_equals_the_oracle(instance, m):
    rows, _, k, _, n_items, n_public, _, alpha, gamma = instance
    sets = to_sets(rows, n_items)
    conditions = KmConditions(k, m, np.arange(n_items) >= n_public, np.ones(n_items))
    method = Rbat(alpha=alpha, gamma=gamma, order="paper", improve=0)
    public = frozenset(range(n_public))
    n_holding = sum(1 for row in rows if row & public)
    if 0 < n_holding < k:
        with pytest.raises(InfeasibleError, match=f"only {n_holding} transactions"):
            method.search(sets, conditions, None, 0, silent)
        return
    found = method.search(sets, conditions, None, 0, silent)
    expected = oracle.km(rows, public, k, m, [1] * n_items, alpha)
    assert partition_of(found) == expected
    assert oracle.keeps_km(expected, rows, k, m)


@given(instances(weighted=True), st.integers(0, 3), st.sampled_from(["paper", "together"]))
def test_improvement_keeps_the_promise_and_loses_less(instance, m, order):
    rows, rules, k, confidence, n_items, n_public, weight, alpha, _ = instance
    sets = to_sets(rows, n_items)
    is_sensitive = np.arange(n_items) >= n_public
    if m:
        conditions = KmConditions(k, m, is_sensitive, np.array(weight))
    else:
        conditions = conditions_of(rules, k, confidence, n_items, n_public, weight)
    try:
        plain = Rbat(alpha=alpha, order=order, improve="none").search(
            sets, conditions, None, 0, silent
        )
    except InfeasibleError:
        return
    found = Rbat(alpha=alpha, order=order, improve="full").search(sets, conditions, None, 0, silent)
    partition = partition_of(found)
    assert sorted(item for part in partition for item in part) == sorted(
        item for item in set().union(*rows) if item < n_public
    )
    if m:
        assert oracle.keeps_km(partition, rows, k, m)
    else:
        assert oracle.keeps_rules(partition, rows, rules, k, confidence)
    before, after = (
        sum(oracle.utility_loss(part, rows, weight) for part in parts)
        for parts in (partition_of(plain), partition)
    )
    assert after <= before * (1 + 1e-9)
    leaves = found.tree.n_items[found.tree.left < 0]
    assert sorted(leaves.tolist()) == sorted(map(len, partition))


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [1, 4, "full"])
@pytest.mark.parametrize("has_table", [True, False])
def test_equals_the_oracle_on_larger_baskets(alpha, has_table, monkeypatch):
    monkeypatch.setattr(parts, "SMALL_TABLE", 1 << 22 if has_table else 0)
    rows = random_rows(5, 400, 30, 6)
    random = np.random.default_rng(2)
    n_public = 26
    rules = []
    while len(rules) < 40:
        row = [item for item in rows[random.integers(len(rows))] if item < n_public]
        if len(row) > 1:
            public = frozenset(random.choice(row, min(len(row), 3), replace=False).tolist())
            rules.append((public, frozenset([int(random.integers(n_public, 30))])))
    expected = oracle.rbat(rows, range(n_public), rules, 4, 0.7, [1] * 30, alpha)
    assert 3 < len(expected) < n_public
    conditions = conditions_of(rules, 4, 0.7, 30, n_public)
    for gamma in (1, 3, 40):
        method = Rbat(alpha=alpha, gamma=gamma, order="paper", improve=0)
        found = method.search(to_sets(rows, 30), conditions, None, 0, silent)
        assert partition_of(found) == expected


def test_the_papers_example():
    """Table 1: a and c must not tell h; k = 3 and c = 0.6."""
    letters = "abcdefghijl"
    table = ["bcegh", "acdij", "afl", "begh", "dfl"]
    rows = [frozenset(map(letters.index, row)) for row in table]
    rule = [(frozenset(map(letters.index, "ac")), frozenset([letters.index("h")]))]
    conditions = conditions_of(rule, 3, 0.6, 11, 6)
    assert not oracle.keeps_rules([frozenset([item]) for item in range(6)], rows, rule, 3, 0.6)
    printed = [frozenset(map(letters.index, part)) for part in ("abf", "cde")]
    assert oracle.keeps_rules(printed, rows, rule, 3, 0.6)
    for order in ("paper", "together"):
        found = Rbat(order=order).search(to_sets(rows, 11), conditions, None, 0, silent)
        assert oracle.keeps_rules(partition_of(found), rows, rule, 3, 0.6)
        assert len(partition_of(found)) > 1


def test_infeasible_rules_name_what_would_do():
    rows = [frozenset([0, 2]), frozenset([1, 2]), frozenset([0]), frozenset([2])]
    sets = to_sets(rows, 3)
    rules = [(frozenset([0]), frozenset([2]))]
    with pytest.raises(InfeasibleError, match=r"only 3 transactions.*fewer than k = 4") as rare:
        refuse(sets, conditions_of(rules, 4, 0.9, 3, 2))
    assert "k of 3 at most" in rare.value.remedy
    with pytest.raises(InfeasibleError, match=r"1 of 1 rules have a confidence above 0.6") as sure:
        refuse(sets, conditions_of(rules, 2, 0.6, 3, 2))
    assert "a confidence of 0.6667 at least" in sure.value.remedy
    refuse(sets, conditions_of(rules, 3, 0.6667, 3, 2))


def test_rules_on_items_that_no_transaction_holds_are_left_to_the_audit():
    rows = [frozenset([0, 1]), frozenset([0]), frozenset([1])]
    rules = [(frozenset([0, 2]), frozenset([3])), (frozenset([0]), frozenset([3]))]
    found = Rbat().search(to_sets(rows, 4), conditions_of(rules, 2, 0.5, 4, 3), None, 0, silent)
    assert found.part_of_item.tolist() == [0, 1, -1, -1]
    assert found.figures["absent_rules"] == 1


def test_nothing_public_is_nothing_to_split():
    rows = [frozenset([0]), frozenset()]
    found = Rbat().search(to_sets(rows, 1), conditions_of([], 2, 0.5, 1, 0), None, 0, silent)
    assert found.part_of_item.tolist() == [-1]


def test_an_end_that_is_wished_for_leaves_valid_parts(monkeypatch):
    rows = random_rows(1, 200, 20, 4)
    conditions = KmConditions(5, 2, np.zeros(20, dtype=bool), np.ones(20))
    n_told = 0

    def tell(*_):
        nonlocal n_told
        n_told += 1

    monkeypatch.setattr(search, "is_stop_requested", lambda: n_told >= 3)
    monkeypatch.setattr(improve, "is_stop_requested", lambda: n_told >= 3)
    found = Rbat().search(to_sets(rows, 20), conditions, None, 0, tell)
    assert len(partition_of(found)) == 4
    assert oracle.keeps_km(partition_of(found), rows, 5, 2)


def test_a_time_settles_a_number_of_passes():
    rows = random_rows(3, 300, 30, 5)
    conditions = KmConditions(5, 3, np.zeros(30, dtype=bool), np.ones(30))
    found = Rbat(improve="5s").search(to_sets(rows, 30), conditions, None, 0, silent)
    again = Rbat(**found.settings).search(to_sets(rows, 30), conditions, None, 0, silent)
    assert found.figures["moved_items"] > 0
    assert again.part_of_item.tolist() == found.part_of_item.tolist()


@pytest.mark.parametrize(
    "wrong",
    [{"alpha": 0}, {"alpha": "some"}, {"gamma": 0}, {"order": "random"}, {"improve": "much"}],
)
def test_settings_that_are_none_are_refused(wrong):
    with pytest.raises(JobError):
        Rbat(**wrong)


def test_alpha_may_be_a_number_in_a_text():
    assert Rbat(alpha="8").alpha == 8
    assert Rbat(alpha="FULL").alpha == "full"


@pytest.mark.slow
@pytest.mark.parametrize("m", [1, 2, 3])
def test_km_on_real_baskets(m):
    folder = os.environ.get("INCROWD_DATA")
    if not folder:
        pytest.skip("INCROWD_DATA is not set")
    with gzip.open(Path(folder) / "transactions" / "groceries.dat.gz", "rt") as file:
        rows = [frozenset(map(int, line.split())) for line in file]
    n_items = max(max(row) for row in rows if row) + 1
    conditions = KmConditions(5, m, np.zeros(n_items, dtype=bool), np.ones(n_items))
    sets = to_sets(rows, n_items)
    plain = Rbat(order="paper", improve=0).search(sets, conditions, None, 0, silent)
    found = Rbat(order="paper").search(sets, conditions, None, 0, silent)
    assert found.part_of_item.max() >= plain.part_of_item.max()
    assert oracle.keeps_km(partition_of(found), rows, 5, m)


@pytest.mark.parametrize(
    ("weight", "is_better"), [([1, 1, 1, 1, 1, 1], True), ([0, 1, 1, 1, 99, 99], False)]
)
def test_a_move_must_lose_less(weight, is_better):
    rows = [frozenset([item]) for item in range(6)] * 2
    conditions = conditions_of([], 1, 1.0, 6, 6, weight)
    state = parts.Parts(problem_of(to_sets(rows, 6), conditions))
    split = state.begin_with(0, np.int32([0, 1, 2, 3]), np.int32([4, 5]))
    large, small = state.accept(split)
    state.end(split)
    move = state.begin_with(large, np.int32([1, 2, 3]), np.int32([0, 4, 5]), small)
    assert improve._is_better(state, move) is is_better

"""The workload rules: generated baskets, the plain search, and what is refused."""

from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.rules import data, plain, runs, workload
from benchmarks.rules.data import RuleData, Transactions, shop_baskets
from benchmarks.rules.plain import plain_rbat
from incrowd.errors import JobError
from incrowd.transactions.samples import generate_rules
from oracles.rbat import rbat

TINY = replace(workload.SMALL, n_rules=20, n_rules_varied=(10, 20))
CASE = workload._case(TINY)


def rows_of(sets):
    return [tuple(row.tolist()) for row in np.split(sets.items, sets.starts[1:-1])]


def test_baskets_have_the_stated_shape():
    sets = shop_baskets(20_000)
    assert (sets.n_rows, sets.n_items) == (20_000, 1_657)
    assert sets.sizes.min() == 1
    assert sets.sizes.max() == 164
    assert abs(sets.sizes.mean() - 6.5) < 0.2
    assert np.median(sets.sizes) < 5  # a long tail
    for row in rows_of(sets):
        assert list(row) == sorted(set(row))
    support = np.sort(np.bincount(sets.items, minlength=1_657))[::-1]
    assert support[0] > 0.3 * sets.n_rows  # few items are everywhere
    assert support[:17].sum() > 0.3 * sets.n_entries  # a hundredth of them makes a third
    assert support[-1] < 0.001 * sets.n_rows


def test_baskets_have_types():
    """Rare items meet far more often than they would if each were bought by itself."""
    sets = shop_baskets(20_000, seed=1)
    support = np.bincount(sets.items, minlength=sets.n_items)
    rare = set(np.flatnonzero((support > 60) & (support < 200)).tolist())
    shuffled = np.random.default_rng(0).permutation(sets.items)
    n_often = []
    for items in (sets.items, shuffled):
        met = Counter()
        for row in np.split(items, sets.starts[1:-1]):
            if len(row) < 20:
                met.update(combinations(sorted(rare & set(row.tolist())), 2))
        n_often.append(sum(count >= 6 for count in met.values()))
    assert n_often[0] > 10 * max(1, n_often[1])


def test_popular_items_are_in_no_order():
    support = np.bincount(shop_baskets(5_000).items, minlength=1_657)
    ranks = np.argsort(np.argsort(-support))
    assert abs(np.corrcoef(ranks, np.arange(1_657))[0, 1]) < 0.1


@pytest.mark.parametrize("times", [0.5, 1, 3])
def test_the_seed_decides_and_selection_selects(times):
    sets = shop_baskets(2_000, 200, 5.0, 30, times=times, seed=4)
    again = shop_baskets(2_000, 200, 5.0, 30, times=times, seed=4)
    assert rows_of(sets) == rows_of(again)
    assert rows_of(sets) != rows_of(shop_baskets(2_000, 200, 5.0, 30, times=times, seed=5))
    assert sets.n_rows == 2_000 * times
    once = rows_of(shop_baskets(2_000, 200, 5.0, 30, seed=4))
    assert set(rows_of(sets)) <= set(once)
    if times < 1:
        assert len(set(rows_of(sets))) > 0.9 * len(set(once)) * times


def test_blocks_bound_memory_not_the_rows_selected(monkeypatch):
    whole = rows_of(shop_baskets(700, 90, 5.0, 30, times=3, seed=4))
    once = shop_baskets(700, 90, 5.0, 30, seed=4)
    monkeypatch.setattr(data, "_BLOCK_ROWS", 64)
    assert rows_of(data._select(once, 3, 4)) == whole


def test_rows_as_long_as_there_are_items_are_filled():
    sets = shop_baskets(50, 6, 3.4, 6, n_types=2)
    assert sets.sizes.max() == 6
    assert (0, 1, 2, 3, 4, 5) in rows_of(sets)


@pytest.mark.parametrize(
    "arguments",
    [(0,), (10, 0), (10, 5, 3.0, 9), (10, 50, 30.0, 40), (10, 50, 0.5, 9)],
)
def test_impossible_baskets_are_refused(arguments):
    with pytest.raises(JobError):
        shop_baskets(*arguments)
    with pytest.raises(JobError):
        shop_baskets(10, 50, 3.0, 9, times=0)


@pytest.fixture(scope="module")
def transactions():
    sets = shop_baskets(400, 60, 4.0, 15, n_types=4)
    is_sensitive = np.arange(60) % 7 == 3
    return Transactions(sets, is_sensitive, generate_rules(sets, is_sensitive, 20))


# ── the plain search ────────────────────────────────────────────────────────────────────────────


@given(
    rows=st.lists(st.sets(st.integers(0, 8), min_size=1), min_size=4, max_size=14),
    stated=st.lists(
        st.tuples(
            st.sets(st.integers(0, 6), min_size=1, max_size=3),
            st.sets(st.integers(7, 8), min_size=1),
        ),
        min_size=1,
        max_size=4,
    ),
    alpha=st.sampled_from([1, 2, 4, "full"]),
)
def test_the_plain_search_is_the_paper_s(rows, stated, alpha):
    held = set().union(*rows)
    stated = [(public & held, told) for public, told in stated if public & held]
    k, confidence = 2, 0.9
    root = frozenset(held - {7, 8})
    holders = [row for row in rows if row & root]
    for _, told in stated:  # the root must keep them, or there is nothing to split
        if len(holders) < k or sum(told <= row for row in holders) / len(holders) > confidence:
            return
    found = plain_rbat(
        [sorted(row) for row in rows],
        frozenset({7, 8}),
        [(tuple(sorted(public)), tuple(sorted(told))) for public, told in stated],
        k,
        confidence,
        alpha,
    )
    wanted = rbat(
        [frozenset(row) for row in rows],
        root,
        [(frozenset(public), frozenset(told)) for public, told in stated],
        k,
        confidence,
        dict.fromkeys(range(9), 1),
        alpha,
    )
    assert set(map(frozenset, found)) == set(wanted)


def test_other_parts_than_the_plain_search_s_are_refused(tmp_path, transactions):
    target = tmp_path / "parts.npy"
    runs.search(transactions, CASE, target)
    assert plain.search_plainly(transactions, CASE, target)["n_parts"] > 1
    part_of_item = np.load(target)
    part_of_item[part_of_item == part_of_item.max()] = 0
    np.save(target, part_of_item)
    with pytest.raises(RuntimeError, match="other parts"):
        plain.search_plainly(transactions, CASE, target)


# ── measured runs ───────────────────────────────────────────────────────────────────────────────


def test_a_release_that_breaks_a_rule_does_not_count(tmp_path, transactions):
    target = tmp_path / "parts.npy"
    found = runs.search(transactions, CASE, target)
    said = runs.look_at(transactions, CASE, target)
    assert said["n_parts"] == np.load(target).max() + 1
    assert said["n_public"] == int((np.load(target) >= 0).sum())
    assert found["skewness"] >= 0
    part_of_item = np.full(60, -1, dtype=np.int32)
    public = np.flatnonzero(np.load(target) >= 0)
    part_of_item[public] = np.arange(len(public))
    np.save(target, part_of_item)
    with pytest.raises(RuntimeError, match="refused a measured release"):
        runs.look_at(transactions, CASE, target)


def test_rules_are_those_of_the_data_once(tmp_path):
    once, twice = (
        RuleData("shop", 15, 300, 40, 20, times=times).load(tmp_path) for times in (1, 2)
    )
    assert twice.sets.n_rows == 600
    assert once.rules.public.tolist() == twice.rules.public.tolist()
    assert once.is_sensitive.sum() == 4


def test_a_gamma_that_changes_parts_is_refused(monkeypatch, tmp_path):
    found = iter([{"parts_sha256": "a"}, {"parts_sha256": "b"}])
    monkeypatch.setattr(workload, "task_of", lambda *_: lambda _: list(found))
    with pytest.raises(RuntimeError, match="γ changed"):
        workload.rules(TINY)["rules-10"](tmp_path)


def test_more_rules_than_are_mined_are_an_outcome(transactions, monkeypatch):
    def refuse(*_):
        raise JobError("too many")

    monkeypatch.setattr(runs, "mine_rules", refuse)
    said = runs.mine(transactions, {"k": 2, "confidence": 0.9, "largest": 1})
    assert said["outcome"] == "more than 2,000,000"

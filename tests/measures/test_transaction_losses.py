"""Losses of generalized transactions against the definitions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guarantees.small_transactions import (
    PARTS_OF_TABLE_2,
    SENSITIVE,
    SENSITIVE_OF_TABLES,
    TABLE_1,
    labelled,
    partitions,
    to_transactions,
    transactions,
)
from incrowd.measures.losses import transactions as item_queries
from incrowd.measures.losses.transactions import measure_rule_losses
from incrowd.sets.sets import Sets
from oracles import rules as oracle
from tiers import examples


def both(rows, parts, sensitive):
    """Return transactions before and after, which items are sensitive, and the parts held."""
    before = to_transactions(rows)
    names = before.item_names.to_pylist()
    shown = [part for part in ([i for i in part if i in names] for part in parts) if part]
    released = oracle.generalized(rows, shown, sensitive)
    is_sensitive = np.array([name in sensitive for name in names], dtype=np.bool_)
    return before, to_transactions(labelled(released)), is_sensitive, shown, released


@examples(80)
@given(transactions, partitions(), st.booleans(), st.integers(0, 3))
def test_losses_are_the_definitions(rows, parts, has_sensitive, seed):
    sensitive = SENSITIVE if has_sensitive else ""
    parts = parts if has_sensitive else [*parts, *([item] for item in SENSITIVE)]
    before, after, is_sensitive, shown, released = both(rows, parts, sensitive)
    weight = np.arange(1, before.n_items + 1) / 4
    losses = measure_rule_losses(
        before, after, is_sensitive, weight=weight, n_queries=12, seed=seed
    )
    of_name = dict(zip(before.item_names.to_pylist(), weight.tolist(), strict=True))
    loss, unscaled = oracle.utility_loss(released, shown, of_name)
    for found, expected in (
        (losses.log2_utility_loss, loss),
        (losses.log2_utility_loss_unscaled, unscaled),
    ):
        assert found == (pytest.approx(math.log2(expected), abs=1e-9) if expected else None)
    n_public = sum(map(len, shown))
    assert losses.n_public == n_public
    assert losses.n_parts == len(shown)
    assert losses.largest_part == max(map(len, shown), default=0)
    alone = sum(len(part) == 1 for part in shown)
    assert losses.share_ungeneralized == alone / max(n_public, 1)
    sizes = [len(part) for row in released for part in row if not part & set(sensitive)]
    assert losses.mean_part_size == (pytest.approx(np.mean(sizes)) if sizes else 0)
    assert losses.n_entries_before == sum(map(len, rows))
    assert losses.n_entries_after == sum(map(len, released))


def mean_errors(rows, released, queries):
    """Return how many queries have an answer, and their mean error by either reading."""
    answered = [query for query in queries if any(query <= row for row in rows)]
    found = [len(answered)]
    for reading in ("subsets", "share"):
        errors = []
        for query in answered:
            true = sum(query <= row for row in rows)
            errors.append(abs(true - oracle.expected(released, query, reading)) / true)
        found.append(float(sum(errors, Fraction(0)) / len(errors)) if errors else None)
    return found


@given(transactions, partitions(), st.booleans(), st.integers(0, 3))
def test_relative_errors_are_means_over_answered_queries(rows, parts, has_sensitive, seed):
    sensitive = SENSITIVE if has_sensitive else ""
    parts = parts if has_sensitive else [*parts, *([item] for item in SENSITIVE)]
    before, after, is_sensitive, _, released = both(rows, parts, sensitive)
    losses = measure_rule_losses(before, after, is_sensitive, n_queries=20, seed=seed)
    names = before.item_names.to_pylist()
    draw = np.random.default_rng(seed)
    is_held = np.ones(before.n_items, dtype=np.bool_)
    drawn = item_queries.draw_random_queries(is_held, is_sensitive, 20, draw)
    of_rows = item_queries.draw_held_queries(before, is_sensitive, 20, draw)
    for queries, found in (
        (drawn, (losses.n_answered, losses.are_subsets, losses.are_share)),
        (of_rows, (losses.n_held_queries, losses.are_held_subsets, losses.are_held_share)),
    ):
        named = [{names[item] for item in query} for query in queries]
        for one, expected in zip(found, mean_errors(rows, released, named), strict=True):
            assert one == (None if expected is None else pytest.approx(expected, abs=1e-12))
    for query in of_rows:
        assert any({names[item] for item in query} <= row for row in rows)
        assert len(set(query)) == 3
        assert sum(is_sensitive[list(query)]) == bool(set(sensitive) & set().union(*rows))


def test_queries_have_two_public_items_and_a_sensitive_one():
    is_sensitive = np.array([False] * 7 + [True] * 2 + [False])
    is_held = np.array([True] * 9 + [False])
    queries = item_queries.draw_random_queries(is_held, is_sensitive, 200, np.random.default_rng(1))
    assert len(queries) == 200
    for known, other, told in queries:
        assert known != other
        assert {known, other} <= set(range(7))
        assert told in (7, 8)
    none = np.zeros(10, dtype=np.bool_)
    three = item_queries.draw_random_queries(is_held, none, 50, np.random.default_rng(1))
    assert {len(set(query)) for query in three} == {3}


def test_tables_of_the_paper():
    before, after, is_sensitive, *_ = both(TABLE_1, PARTS_OF_TABLE_2, SENSITIVE_OF_TABLES)
    losses = measure_rule_losses(before, after, is_sensitive)
    # both parts have three of six items; all five transactions show one, four the other
    assert losses.log2_utility_loss_unscaled == pytest.approx(math.log2(7 * 5 + 7 * 4))
    assert losses.log2_utility_loss == pytest.approx(math.log2(1.0))
    assert losses.share_ungeneralized == 0
    assert losses.mean_part_size == 3


def test_nothing_generalized_answers_every_query():
    before, after, is_sensitive, *_ = both(TABLE_1, "abcdef", SENSITIVE_OF_TABLES)
    losses = measure_rule_losses(before, after, is_sensitive)
    assert losses.n_answered > 0
    assert losses.are_subsets == losses.are_share == 0
    assert losses.share_ungeneralized == 1


def test_parts_of_a_thousand_items_are_exact():
    """2^1491 is no double; the loss of one part of them all is its support."""
    n_items = 1491
    names = [f"i{item:04}" for item in range(n_items)]
    before = to_transactions([names, names[:3]])
    one_part = to_transactions([["(" + ",".join(names) + ")"]] * 2)
    losses = measure_rule_losses(before, one_part, np.zeros(n_items, dtype=np.bool_))
    assert losses.log2_utility_loss == pytest.approx(1.0, abs=1e-9)
    assert losses.log2_utility_loss_unscaled == pytest.approx(1492.0, abs=1e-9)
    apart = measure_rule_losses(before, before, np.zeros(n_items, dtype=np.bool_))
    assert apart.log2_utility_loss == pytest.approx(math.log2(n_items + 3) - 1491, abs=1e-9)


def test_no_public_item_has_no_loss():
    before = to_transactions(["s", "st"])
    losses = measure_rule_losses(before, before, np.ones(2, dtype=np.bool_))
    assert losses.log2_utility_loss is None
    assert losses.are_subsets is None
    empty = Sets(np.zeros(3, dtype=np.int64), np.zeros(0, dtype=np.int32), 0)
    assert measure_rule_losses(empty, empty, np.zeros(0, dtype=np.bool_)).n_public == 0


def test_the_same_seed_asks_the_same():
    before, after, is_sensitive, *_ = both(TABLE_1, PARTS_OF_TABLE_2, SENSITIVE_OF_TABLES)
    first, second = (measure_rule_losses(before, after, is_sensitive, seed=4) for _ in range(2))
    assert first == second
    assert first.as_dict()["n_queries"] == 1000

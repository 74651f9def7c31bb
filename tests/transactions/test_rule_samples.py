"""Rules drawn from transactions: public parts occur, by seed."""

import numpy as np
import pytest

from benchmarks.rules.data import shop_baskets
from incrowd.errors import JobError
from incrowd.transactions.samples import generate_rules


def rows_of(sets):
    return [tuple(row.tolist()) for row in np.split(sets.items, sets.starts[1:-1])]


def test_rules_are_drawn_from_transactions():
    sets = shop_baskets(3_000, 120, 6.0, 40, seed=2)
    is_sensitive = np.arange(120) % 10 == 3
    rules = generate_rules(sets, is_sensitive, 500, seed=7)
    assert rules.n_rules == 500
    assert rules.distinct() is rules
    assert not is_sensitive[rules.public].any()
    assert is_sensitive[rules.sensitive].all()
    assert set(rules.public_sizes.tolist()) == {1, 2, 3}
    assert set(rules.sensitive_sizes.tolist()) == {1, 2}
    rows = [set(row) for row in rows_of(sets)]
    for rule in range(rules.n_rules):
        public, sensitive = (set(map(int, side)) for side in rules.rule(rule))
        holders = [row for row in rows if public <= row]
        assert holders
        assert len(sensitive) in (1, 2)
    again, other = (generate_rules(sets, is_sensitive, 500, seed=seed) for seed in (7, 8))
    assert (rules.public == again.public).all()
    assert rules.public.tolist() != other.public.tolist()


def test_rules_tell_what_the_transaction_holds_where_it_can():
    sets = shop_baskets(3_000, 120, 6.0, 40, seed=2)
    is_sensitive = np.arange(120) % 2 == 0
    rules = generate_rules(sets, is_sensitive, 300, sensitive=(1, 1))
    rows = [set(row) for row in rows_of(sets)]
    n_met = 0
    for rule in range(rules.n_rules):
        public, sensitive = (set(map(int, side)) for side in rules.rule(rule))
        n_met += any(public | sensitive <= row for row in rows)
    assert n_met > 250


def test_rules_that_are_not_there_are_refused():
    sets = shop_baskets(20, 5, 2.0, 4, n_types=1)
    is_sensitive = np.arange(5) == 1
    with pytest.raises(JobError, match="different rules were found of 200"):
        generate_rules(sets, is_sensitive, 200, sensitive=(1, 1))
    with pytest.raises(JobError, match="cannot be drawn"):
        generate_rules(sets, is_sensitive, 5)

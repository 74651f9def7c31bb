"""Splitting items under rules: the sequential oracle's parts, exactly, whatever the settings."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import rbat as oracle

from incrowd.data.rules import Rules
from incrowd.data.sets import Sets
from incrowd.errors import InfeasibleError, JobError
from incrowd.methods.rbat.feasible import refuse_infeasible
from incrowd.methods.rbat.method import Rbat
from incrowd.methods.rbat.promise import KmPromise, RulePromise
from incrowd.progress import silent


def sets_of(rows, n_items):
    """Return rows of items as Sets."""
    starts = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    items = np.array([item for row in rows for item in sorted(row)], dtype=np.int32)
    return Sets(starts, items, n_items)


def rules_of(pairs, n_items):
    """Return pairs of public and sensitive items as Rules."""
    public = [sorted(one) for one, _ in pairs]
    sensitive = [sorted(other) for _, other in pairs]
    return Rules(
        np.cumsum([0, *map(len, public)]).astype(np.int64),
        np.array([item for items in public for item in items], dtype=np.int32),
        np.cumsum([0, *map(len, sensitive)]).astype(np.int64),
        np.array([item for items in sensitive for item in items], dtype=np.int32),
        pa.array([str(item) for item in range(n_items)]),
    )


def promise_of(rules, k, confidence, n_items, n_public, weight=None):
    """Return the promise; items from ``n_public`` on are sensitive."""
    return RulePromise(
        k,
        confidence,
        rules_of(rules, n_items),
        np.arange(n_items) >= n_public,
        np.ones(n_items) if weight is None else np.array(weight, dtype=np.float64),
    )


def partition_of(found):
    """Return the parts as sets of items, and check how they are numbered."""
    numbers = [part for part in found.part_of_item.tolist() if part >= 0]
    assert list(dict.fromkeys(numbers)) == list(range(len(set(numbers))))
    return {
        frozenset(np.flatnonzero(found.part_of_item == part).tolist()) for part in set(numbers)
    }


@st.composite
def instances(draw, weighted):
    """Draw small transactions with many ties, rules over items that occur, k and c."""
    n_public = draw(st.integers(2, 9))
    n_items = n_public + 2
    rows = draw(
        st.lists(st.frozensets(st.integers(0, n_items - 1), max_size=6), min_size=6, max_size=30)
    )
    held = sorted(set().union(*rows))
    public = [item for item in held if item < n_public]
    rules = []
    if public:
        rules = draw(
            st.lists(
                st.tuples(
                    st.frozensets(st.sampled_from(public), min_size=1, max_size=4),
                    st.frozensets(
                        st.integers(n_public, n_items - 1), min_size=1, max_size=2
                    ),
                ),
                max_size=6,
            )
        )
    k = draw(st.integers(1, 6))
    confidence = draw(st.sampled_from([0.3, 0.5, 0.6, 0.9, 1.0]))
    weights = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 1.0, 3.0])
    weight = draw(st.lists(weights, min_size=n_items, max_size=n_items)) if weighted else None
    alpha = draw(st.sampled_from(["full", 1, 2, 3, 4]))
    gamma = draw(st.integers(1, 5))
    return rows, rules, k, confidence, n_items, n_public, weight, alpha, gamma


def require_oracle(instance):
    """Compare parts, tree and feasibility with the oracle's."""
    rows, rules, k, confidence, n_items, n_public, weight, alpha, gamma = instance
    sets = sets_of(rows, n_items)
    promise = promise_of(rules, k, confidence, n_items, n_public, weight)
    method = Rbat(alpha=alpha, gamma=gamma, order="paper")
    public = frozenset(range(n_public))
    root = {public & frozenset().union(*rows)}
    if not oracle.keeps_rules(root, rows, rules, k, confidence):
        with pytest.raises(InfeasibleError):
            refuse_infeasible(sets, promise)
        with pytest.raises(InfeasibleError):
            method.search(sets, promise, None, 0, silent)
        return
    refuse_infeasible(sets, promise)
    found = method.search(sets, promise, None, 0, silent)
    expected = oracle.rbat(rows, public, rules, k, confidence, weight or [1] * n_items, alpha)
    assert partition_of(found) == expected
    assert oracle.keeps_rules(expected, rows, rules, k, confidence)
    if expected:
        assert (found.tree.left < 0).sum() == len(expected)


@settings(max_examples=150, deadline=None)
@given(instances(weighted=False))
def test_equals_the_oracle(instance):
    require_oracle(instance)


@settings(max_examples=100, deadline=None)
@given(instances(weighted=True))
def test_equals_the_oracle_with_weights(instance):
    require_oracle(instance)


@settings(max_examples=120, deadline=None)
@given(instances(weighted=False), st.integers(1, 3))
def test_km_equals_the_oracle(instance, m):
    rows, _, k, _, n_items, n_public, _, alpha, gamma = instance
    sets = sets_of(rows, n_items)
    promise = KmPromise(k, m, np.arange(n_items) >= n_public, np.ones(n_items))
    method = Rbat(alpha=alpha, gamma=gamma, order="paper")
    public = frozenset(range(n_public))
    n_holding = sum(1 for row in rows if row & public)
    if 0 < n_holding < k:
        with pytest.raises(InfeasibleError, match=f"only {n_holding} transactions"):
            method.search(sets, promise, None, 0, silent)
        return
    found = method.search(sets, promise, None, 0, silent)
    expected = oracle.km(rows, public, k, m, [1] * n_items, alpha)
    assert partition_of(found) == expected
    assert oracle.keeps_km(expected, rows, k, m)

"""Transactions and rules to split items under: drawn ones, small and with many ties."""

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from incrowd.methods.shared.item_parts import RuleConditions
from incrowd.transactions.rules import Rules


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


def conditions_of(rules, k, confidence, n_items, n_public, weight=None):
    """Return the promise; items from ``n_public`` on are sensitive."""
    return RuleConditions(
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
    return {frozenset(np.flatnonzero(found.part_of_item == part).tolist()) for part in set(numbers)}


@st.composite
def instances(draw, weighted, most_public=4):
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
                    st.frozensets(st.sampled_from(public), min_size=1, max_size=most_public),
                    st.frozensets(st.integers(n_public, n_items - 1), min_size=1, max_size=2),
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


def random_rows(seed, n_rows, n_items, n_types):
    """Return baskets of some types, a few of them equal."""
    random = np.random.default_rng(seed)
    types = [random.permutation(n_items)[:8] for _ in range(n_types)]
    rows = []
    for _ in range(n_rows):
        own = random.choice(types[random.integers(n_types)], 3, replace=False)
        any_items = (n_items * random.random(random.integers(1, 4)) ** 3).astype(int)
        rows.append(frozenset(own.tolist()) | frozenset(any_items.tolist()))
    return rows

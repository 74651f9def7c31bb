"""Small transactions, rules and releases for tests, in letters."""

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from incrowd.sets.names import sort_names
from incrowd.sets.sets import Sets
from incrowd.transactions.generalized import format_label
from incrowd.transactions.rules import Rules

PUBLIC, SENSITIVE = "abcdef", "stu"

TABLE_1 = ["bcegh", "acdij", "afl", "begh", "dfl"]
"""The five transactions of Memon and Shao 2015, Table 1; g, h, i, j and l are sensitive."""

PARTS_OF_TABLE_2 = ["abf", "cde"]
SENSITIVE_OF_TABLES = frozenset("ghijl")


def to_transactions(rows, **more):
    """Return rows of names as ``Sets`` whose items are sorted by name."""
    names, _ = sort_names(pa.array(sorted({name for row in rows for name in row}), pa.string()))
    place = {name: item for item, name in enumerate(names.to_pylist())}
    items = [sorted(place[name] for name in set(row)) for row in rows]
    starts = np.cumsum([0, *map(len, items)]).astype(np.int64)
    entries = np.array([item for row in items for item in row], dtype=np.int32)
    return Sets(starts, entries, len(names), item_names=names, **more)


def labelled(released):
    """Return rows of parts as rows of labels."""
    return [[format_label(sorted(part)) for part in row] for row in released]


def to_rules(rules):
    """Return pairs of names as ``Rules``, in the numbers of names in an order of their own."""
    names = sorted({name for rule in rules for side in rule for name in side}, reverse=True)
    place = {name: item for item, name in enumerate(names)}
    sides = []
    for side in range(2):
        items = [sorted(place[name] for name in set(rule[side])) for rule in rules]
        sides.append(np.cumsum([0, *map(len, items)]).astype(np.int64))
        sides.append(np.array([item for one in items for item in one], dtype=np.int32))
    return Rules(*sides, pa.array(names, pa.string()))


@st.composite
def partitions(draw):
    """Draw a partition of the public items."""
    part_of = draw(st.lists(st.integers(0, 3), min_size=len(PUBLIC), max_size=len(PUBLIC)))
    parts = {}
    for item, part in zip(PUBLIC, part_of, strict=True):
        parts.setdefault(part, []).append(item)
    return list(parts.values())


transactions = st.lists(
    st.frozensets(st.sampled_from(PUBLIC + SENSITIVE), max_size=6), min_size=1, max_size=14
)
rule_lists = st.lists(
    st.tuples(
        st.frozensets(st.sampled_from(PUBLIC), min_size=1, max_size=4),
        st.frozensets(st.sampled_from(SENSITIVE), min_size=1, max_size=2),
    ),
    min_size=1,
    max_size=6,
)

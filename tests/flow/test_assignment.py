"""Which of several equal rows shows what depends on their content, never on their order."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.encoding.rows import Rows
from incrowd.flow.assignment import Shown, assign_by_content
from incrowd.hierarchies.tree import Hierarchy

ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(3, 5), st.sampled_from("xyz")), min_size=1, max_size=30
)


@given(ROWS, st.randoms())
def test_the_same_rows_show_the_same_in_any_order(rows, random):
    def shown(order):
        before = np.asarray([rows[row][0] for row in order])
        after = np.asarray([[rows[row][1] for row in order]], dtype=np.int32)
        others = pa.table({"diagnosis": [rows[row][2] for row in order]})
        assigned = assign_by_content(before, after, others)
        return Counter(zip(before, assigned[0], others.column(0).to_pylist(), strict=True))

    order = list(range(len(rows)))
    random.shuffle(order)
    assert shown(order) == shown(range(len(rows)))


@given(ROWS)
def test_places_are_traded_among_equal_rows_alone(rows):
    before = np.asarray([row[0] for row in rows])
    after = np.asarray([[row[1] for row in rows]], dtype=np.int32)
    assigned = assign_by_content(before, after, pa.table({"d": [row[2] for row in rows]}))
    assert Counter(zip(before, assigned[0], strict=True)) == Counter(
        zip(before, after[0], strict=True)
    )


def test_the_least_content_takes_the_first_place():
    before = np.zeros(3, dtype=np.int64)
    after = np.asarray([[7, 5, 7]], dtype=np.int32)
    others = pa.table({"d": ["b", "c", "a"]})
    assert assign_by_content(before, after, others).tolist() == [[7, 7, 5]]


METHODS = [
    ic.Cluster(effort=200),
    ic.Greedy(),
    ic.Greedy(partitions=3),
    ic.Mondrian(),
    ic.Mondrian(strict=False),
    ic.FullDomain(),
]
ASKED = {
    "k": {},
    "l": {"l": 4},
    "t": {"t": 0.6},
    "a k per row": {"k_column": "k"},
    "rules": {"k_rules": ("14 where payer = 1", "12 where age > 50"), "l": 2},
}


def released(table, order, guarantee, method, limit=0.0):
    job = ic.Job(
        schema=ic.Schema(quasi=["age"], sensitive=["diagnosis"], insensitive=["payer"]),
        guarantee=guarantee,
        method=method,
        release=ic.ReleaseOptions(suppression_limit=limit),
    )
    return ic.anonymize(table.take(pa.array(order)), job)


def a_table():
    random = np.random.default_rng(1)
    ages = np.repeat([30, 31, 50, 51, 77], [30, 4, 40, 4, 2])  # some of the many hide the few
    columns = {"diagnosis": random.integers(0, 5, 80), "payer": random.integers(0, 4, 80)}
    wishes = np.where(np.arange(80) % 13 == 0, 15, 1)
    return pa.table({"age": ages, **columns, "k": wishes}), random


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_release_does_not_depend_on_the_order_of_the_file(method, asked):
    table, random = a_table()
    limit = 0.0 if "t" in asked else 0.05
    first, second = [
        released(table, order, ic.KAnonymity(10, **asked), method, limit)
        for order in (np.arange(80), random.permutation(80))
    ]
    assert first.data.equals(second.data)
    assert first.audit.losses == second.audit.losses


def test_equal_rows_are_told_apart_by_what_they_show_besides():
    table, random = a_table()
    first, second = [
        released(table, order, ic.KAnonymity(10, l=4), METHODS[0])
        for order in (np.arange(80), random.permutation(80))
    ]
    # otherwise nothing above would part equal rows, nor leave some of them out
    assert 0 < first.data.column("age").to_pylist().count("30") < 30
    assert first.data.equals(second.data)


def test_rows_that_are_left_out_stay_apart_from_those_that_show_nothing():
    tree = Hierarchy.from_ladder("a", [["x", "y"]])
    roots = np.full((1, 5), tree.root, dtype=np.int32)
    is_left_out = np.asarray([True, False, False, True, False])
    after = Rows(("a",), roots, (tree,), is_left_out)
    shown = Shown.of(np.asarray([0, 0, 0, 1, 1]), after, np.asarray([3, 4, 2, 1, 5]))
    assert shown.row.tolist() == [0, 0, 1, 1]
    assert shown.is_left_out.tolist() == [False, True, False, True]
    assert shown.count.tolist() == [6, 3, 5, 1]
    assert shown.n_left_out == 4
    nodes, n_of_group = shown.groups()
    assert nodes.tolist() == [[tree.root, tree.root]]
    assert n_of_group.tolist() == [6, 5]

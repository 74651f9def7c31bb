"""Which of several equal rows shows what depends on their content, never on their order."""

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.flow.assignment import assign_by_content

ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(3, 5), st.sampled_from("xyz")), min_size=1, max_size=30
)


@given(ROWS, st.randoms())
def test_the_same_rows_show_the_same_in_any_order(rows, random):
    def shown(order):
        before = np.asarray([[rows[row][0] for row in order]], dtype=np.int32)
        after = np.asarray([[rows[row][1] for row in order]], dtype=np.int32)
        others = pa.table({"diagnosis": [rows[row][2] for row in order]})
        assigned = assign_by_content(before, after, others)
        return Counter(zip(before[0], assigned[0], others.column(0).to_pylist(), strict=True))

    order = list(range(len(rows)))
    random.shuffle(order)
    assert shown(order) == shown(range(len(rows)))


@given(ROWS)
def test_places_are_traded_among_equal_rows_alone(rows):
    before = np.asarray([[row[0] for row in rows]], dtype=np.int32)
    after = np.asarray([[row[1] for row in rows]], dtype=np.int32)
    assigned = assign_by_content(before, after, pa.table({"d": [row[2] for row in rows]}))
    assert Counter(zip(before[0], assigned[0], strict=True)) == Counter(
        zip(before[0], after[0], strict=True)
    )


def test_the_least_content_takes_the_first_place():
    before = np.zeros((1, 3), dtype=np.int32)
    after = np.asarray([[7, 5, 7]], dtype=np.int32)
    others = pa.table({"d": ["b", "c", "a"]})
    assert assign_by_content(before, after, others).tolist() == [[7, 7, 5]]


def released(table, order, guarantee):
    job = ic.Job(
        schema=ic.Schema(quasi=["age"], sensitive=["diagnosis"], insensitive=["payer"]),
        guarantee=guarantee,
        method=ic.Cluster(effort=200),
    )
    return ic.anonymize(table.take(pa.array(order)), job).data


def test_a_release_by_cluster_depends_on_the_order_of_the_file_only_beyond_one_k():
    random = np.random.default_rng(1)
    ages = np.repeat([30, 31, 50, 51], [30, 4, 40, 4])  # some of the many hide the few
    columns = {"diagnosis": random.integers(0, 5, 78), "payer": random.integers(0, 4, 78)}
    table = pa.table({"age": ages, **columns})
    orders = [np.arange(78), random.permutation(78), random.permutation(78)]
    first, *others = [released(table, order, ic.KAnonymity(10)) for order in orders]
    assert 0 < first.column("age").to_pylist().count("30") < 30
    assert all(first.equals(other) for other in others)
    # under l the sensitive values decide too, and between rows equal in both the file's order
    first, *others = [
        released(table, order, ic.KAnonymity(10, l=4)).drop_columns(["payer"]) for order in orders
    ]
    assert all(first.equals(other) for other in others)

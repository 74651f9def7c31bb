"""What a search releases depends on what rows hold, never on their order."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.rows import Rows
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import InfeasibleError
from incrowd.methods.cluster.method import Cluster
from incrowd.methods.full_domain.method import FullDomain
from incrowd.methods.greedy.method import Greedy
from incrowd.methods.mondrian.method import Mondrian
from incrowd.methods.shared.conditions import Conditions
from incrowd.methods.shared.fragments import Collapsed, content_key
from incrowd.progress import silent
from oracles.generated import as_tuples, asked, grid, tables
from tiers import examples

METHODS = [
    Greedy(),
    Greedy(partitions=3, polish=40),
    Mondrian(),
    Mondrian(strict=False, polish=40),
    Cluster(effort=80),
    FullDomain(),
]


@st.composite
def searches(draw):
    """Draw a table, what its groups must meet, and another order of its rows."""
    rows = draw(tables(most_rows=30))
    conditions = draw(asked(rows.n_rows)).conditions
    n_suppressible = draw(st.integers(0, rows.n_rows // 3))
    order = draw(st.permutations(range(rows.n_rows)))
    return rows, replace(conditions, n_suppressible=n_suppressible), np.asarray(order)


def released(method, rows, conditions):
    """Count what rows of the same content are released as; None where nothing can be."""
    try:
        after = method.run(rows, conditions, LocalEngine(1), 3, silent)
    except InfeasibleError:
        return None
    seen = [rows.nodes, *(column.codes[None] for column in conditions.sensitive)]
    seen += [
        values[None]
        for values in (conditions.k_of_row, conditions.person_of_row)
        if values is not None
    ]
    shown = [after.nodes, after.is_suppressed[None]]
    return Counter(as_tuples(np.vstack([*seen, *shown])))


def in_order(rows, conditions, order):
    turned = Rows(rows.names, np.ascontiguousarray(rows.nodes[:, order]), rows.hierarchies)
    return turned, replace(conditions.take(order), n_suppressible=conditions.n_suppressible)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@examples(30)
@given(search=searches())
def test_another_order_of_rows_changes_nothing(method, search):
    rows, conditions, order = search
    turned = in_order(rows, conditions, order)
    assert released(method, *turned) == released(method, rows, conditions)


def test_rows_cut_at_the_median_go_by_content():
    rows, order = grid(300), np.random.default_rng(2).permutation(300)
    wishes = Conditions(3, np.where(np.arange(300) % 40 == 0, 9, 3).astype(np.int32))
    for conditions in (Conditions(3), wishes):
        turned = in_order(rows, conditions, order)
        method = Mondrian(strict=False)
        assert released(method, *turned) == released(method, rows, conditions)


@given(search=searches())
def test_rows_are_told_apart_by_all_that_a_search_sees(search):
    rows, conditions, _ = search
    columns = [*rows.nodes, *(column.codes for column in conditions.sensitive)]
    columns += [
        values for values in (conditions.k_of_row, conditions.person_of_row) if values is not None
    ]
    content = as_tuples(np.vstack(columns))
    order = np.argsort(content_key(rows, conditions), kind="stable").tolist()
    assert [content[row] for row in order] == sorted(content)
    assert len(set(content_key(rows, conditions).tolist())) == len(set(content))


def test_partitions_in_the_order_of_the_file_stay_so():
    rows, order = grid(300), np.random.default_rng(2).permutation(300)
    wishes = Conditions(3, np.where(np.arange(300) % 40 == 0, 9, 3).astype(np.int32))
    method = Greedy(partitions=3, reorganize="none", repair="no")
    turned = in_order(rows, wishes, order)
    assert released(method, *turned) != released(method, rows, wishes)


@pytest.mark.parametrize("method", [Cluster(effort=500), FullDomain()], ids=["cluster", "levels"])
def test_distinct_rows_are_left_out_as_rows_are(method):
    many = grid(1)
    alone = np.asarray([[3, 41, 79], [0, 1, 0], [5, 9, 14]], dtype=np.int32)
    nodes = np.hstack([alone[:, :1], np.repeat([[20], [1], [2]], 40, axis=1), alone[:, 1:]])
    rows = Rows(many.names, nodes.astype(np.int32), many.hierarchies)
    conditions = Conditions(6, n_suppressible=4)
    whole = Collapsed.of(rows)
    found = method.run_distinct(whole.rows, whole.n_of_row, conditions, LocalEngine(1), 3, silent)
    is_left_out = (found.nodes < 0).any(axis=0)
    after = method.run(rows, conditions, LocalEngine(1), 3, silent)
    assert after.is_suppressed.nonzero()[0].tolist() == [0, 41, 42]
    before = as_tuples(whole.rows.nodes[:, found.row[is_left_out]])
    assert sorted(before) == sorted(as_tuples(alone))
    assert found.count[is_left_out].tolist() == [1, 1, 1]

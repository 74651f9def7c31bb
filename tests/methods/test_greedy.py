"""The greedy method against GkAA written out, and what it promises of every release."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.rows import Rows
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import InfeasibleError
from incrowd.hierarchies.costs import COSTS_OF_METRIC
from incrowd.hierarchies.tree import Hierarchy
from incrowd.methods.greedy.method import Greedy
from incrowd.methods.shared.conditions import Conditions, SensitiveCondition
from incrowd.methods.shared.options import METRICS
from incrowd.methods.shared.reorganize import column_order
from methods.searching import release
from oracles.generated import Asked, as_trees, as_tuples, asked, tables
from oracles.methods import StuckError, greedy, group_members
from oracles.validity import Rules, is_valid
from tiers import examples


def flat(name, values):
    return Hierarchy.from_ladder(name, [list(values)])


def assert_keeps(before: Rows, after: Rows, rules: Rules) -> None:
    """Recount every group, and climb from every original node to its released one."""
    for members in group_members(as_tuples(after.nodes)):
        assert is_valid(members, rules)
    for hierarchy, old, new in zip(before.hierarchies, before.nodes, after.nodes, strict=True):
        for node, above in zip(old.tolist(), new.tolist(), strict=True):
            assert above in hierarchy.ancestors(node)


def test_metrics_on_offer_are_those_with_prices():
    assert tuple(COSTS_OF_METRIC) == METRICS


@examples(120)
@given(st.data())
def test_same_release_as_the_algorithm_written_out(data):
    rows = data.draw(tables())
    metric = data.draw(st.sampled_from([*METRICS, "distortion:0", "distortion:2.5"]))
    case = data.draw(asked(rows.n_rows))
    columns = column_order(rows, "levels-first")
    trees, lines = as_trees(rows, metric), as_tuples(rows.nodes)
    try:
        expected = greedy(trees, lines, columns, lambda group: is_valid(group, case.rules, 1e-12))
    except StuckError:
        with pytest.raises(InfeasibleError):
            release(Greedy(metric=metric), rows, case.conditions)
        return
    after = release(Greedy(metric=metric), rows, case.conditions)
    assert as_tuples(after.nodes) == expected
    assert_keeps(rows, after, case.rules)


@given(st.data())
def test_order_of_rows_changes_nothing(data):
    rows = data.draw(tables())
    case: Asked = data.draw(asked(rows.n_rows))
    order = np.asarray(data.draw(st.permutations(range(rows.n_rows))))
    moved = rows.with_nodes(np.ascontiguousarray(rows.nodes[:, order]))
    try:
        after = release(Greedy(), rows, case.conditions)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            release(Greedy(), moved, case.conditions.take(order))
        return
    moved_after = release(Greedy(), moved, case.conditions.take(order))
    assert np.array_equal(moved_after.nodes, after.nodes[:, order])


def many_rows(n_rows=3000, seed=0):
    """Rows enough for slots to be closed up, several slices and heavy duplicates."""
    random = np.random.default_rng(seed)
    ages = [str(age) for age in range(60)]
    age = Hierarchy.from_ladder(
        "age", [ages, [f"{int(a) // 5}" for a in ages], [f"{int(a) // 20}x" for a in ages]]
    )
    trees = (age, flat("sex", "fm"), flat("place", "abcdefghij"))
    nodes = np.stack(
        [
            random.integers(0, 60, n_rows),
            random.integers(0, 2, n_rows),
            np.minimum(random.geometric(0.4, n_rows) - 1, 9),
        ]
    ).astype(np.int32)
    return Rows(("age", "sex", "place"), nodes, trees)


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 7, 150])
def test_larger_table_is_the_algorithm_written_out(k):
    rows = many_rows(400)
    trees, lines = as_trees(rows, "nllm"), as_tuples(rows.nodes)
    columns = column_order(rows, "levels-first")
    expected = greedy(trees, lines, columns, lambda group: len(group) >= k)
    assert as_tuples(release(Greedy(), rows, Conditions(k)).nodes) == expected


def test_closing_up_and_slices_change_nothing(monkeypatch):
    from incrowd.methods.greedy import search

    rows = many_rows()
    whole = release(Greedy(), rows, Conditions(40))
    monkeypatch.setattr(search, "MERGES_PER_SLICE", 1)
    told = []
    sliced = Greedy().run(
        rows, Conditions(40), LocalEngine(1), 0, lambda *report: told.append(report)
    )
    assert np.array_equal(whole.nodes, sliced.nodes)
    assert len(told) > 100
    assert all(stage == told[0][0] and 0 <= done <= total for stage, done, total in told)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[-1][1] == told[-1][2]
    assert min(Counter(as_tuples(whole.nodes)).values()) >= 40


def test_equal_rows_stay_together():
    rows = many_rows()
    released_of = {}
    after = release(Greedy(), rows, Conditions(5))
    for old, new in zip(as_tuples(rows.nodes), as_tuples(after.nodes), strict=True):
        assert released_of.setdefault(old, new) == new


def test_rows_that_are_many_enough_are_left_alone():
    rows = Rows(("a",), np.asarray([[0] * 5 + [1] * 5], dtype=np.int32), (flat("a", "xy"),))
    assert np.array_equal(release(Greedy(), rows, Conditions(5)).nodes, rows.nodes)


def test_one_value_only():
    rows = Rows(("a",), np.zeros((1, 4), dtype=np.int32), (flat("a", "x"),))
    assert np.array_equal(release(Greedy(), rows, Conditions(4)).nodes, rows.nodes)
    with pytest.raises(InfeasibleError, match="4 rows") as caught:
        release(Greedy(), rows, Conditions(5))
    assert "x" not in str(caught.value.what)


def test_k_of_all_rows_is_one_group():
    rows = many_rows(50)
    after = release(Greedy(), rows, Conditions(50))
    assert len(set(as_tuples(after.nodes))) == 1


def test_no_rows():
    rows = Rows(("a",), np.zeros((1, 0), dtype=np.int32), (flat("a", "xy"),))
    assert release(Greedy(), rows, Conditions(3)).n_rows == 0


def test_no_columns_is_one_group():
    rows = Rows((), np.zeros((0, 3), dtype=np.int32), ())
    assert release(Greedy(), rows, Conditions(3)).n_rows == 3
    with pytest.raises(InfeasibleError):
        release(Greedy(), rows, Conditions(4))


def test_people_with_several_rows_are_counted_once():
    # four rows of one person, and two others
    rows = Rows(("a",), np.asarray([[0, 0, 0, 0, 1, 1]], dtype=np.int32), (flat("a", "xy"),))
    people = np.asarray([7, 7, 7, 7, 8, 9], dtype=np.int32)
    assert np.array_equal(release(Greedy(), rows, Conditions(2)).nodes, rows.nodes)
    after = release(Greedy(), rows, Conditions(2, person_of_row=people))
    assert set(after.nodes[0].tolist()) == {rows.hierarchies[0].root}


def test_a_wish_for_a_large_group_is_met():
    rows = many_rows(200)
    wishes = np.full(200, 2, dtype=np.int32)
    wishes[17] = 60
    after = as_tuples(release(Greedy(), rows, Conditions(2, k_of_row=wishes)).nodes)
    assert Counter(after)[after[17]] >= 60


def test_suppressed_rows_count_for_nobody():
    nodes = np.asarray([[0, 0, 1, 1, 1, 2]], dtype=np.int32)
    is_suppressed = np.asarray([True, False, False, False, False, False])
    tree = flat("a", "xyz")
    rows = Rows(("a",), nodes, (tree,), is_suppressed)
    codes = np.asarray([0, 0, 1, 1, 0, 0], dtype=np.int32)
    conditions = Conditions(2, sensitive=(SensitiveCondition(codes, 2, l=1.0),))
    after = release(Greedy(), rows, conditions)
    assert after.nodes[0, 0] == tree.root
    assert np.array_equal(after.is_suppressed, is_suppressed)
    kept = Counter(after.nodes[0, 1:].tolist())
    assert min(kept.values()) >= 2
    everybody = Rows(("a",), nodes, (tree,), np.ones(6, dtype=np.bool_))
    assert set(release(Greedy(), everybody, Conditions(9)).nodes[0].tolist()) == {tree.root}


def test_t_compares_with_the_rows_that_are_kept():
    # of the kept rows half have value 0: each group of one 0 and one 1 is at no distance
    nodes = np.asarray([[0, 0, 1, 1, 2, 2, 2, 2]], dtype=np.int32)
    is_suppressed = np.arange(8) >= 4
    codes = np.asarray([0, 1, 0, 1, 0, 0, 0, 0], dtype=np.int32)
    rows = Rows(("a",), nodes, (flat("a", "xyz"),), is_suppressed)
    conditions = Conditions(2, sensitive=(SensitiveCondition(codes, 2, t=0.0),))
    after = release(Greedy(), rows, conditions)
    assert after.nodes[0, :4].tolist() == [0, 0, 1, 1]


def test_wide_hierarchy():
    # more nodes than rows, so that prices of meetings are mostly of nodes that do not occur
    random = np.random.default_rng(3)
    codes = [f"{code:05d}" for code in range(0, 90000, 30)]
    ladder = [[code[:n] + "x" * (5 - n) for code in codes] for n in (5, 4, 3, 2, 1)]
    tree = Hierarchy.from_ladder("zip", ladder)
    nodes = random.integers(0, len(codes), (1, 60)).astype(np.int32)
    rows = Rows(("zip",), nodes, (tree,))
    expected = greedy(
        as_trees_of_used(rows), as_tuples(rows.nodes), [0], lambda group: len(group) >= 4
    )
    assert as_tuples(release(Greedy(), rows, Conditions(4)).nodes) == expected


def as_trees_of_used(rows):
    """As ``as_trees``, without the widths, which take long to write out for many leaves."""
    from incrowd.hierarchies.costs import fixed_point_costs
    from oracles.methods import Tree

    cost = fixed_point_costs(rows.hierarchies, "nllm")[0].tolist()
    hierarchy = rows.hierarchies[0]

    class Wide(Tree):
        def sort_key(self, node):
            return int(hierarchy.leaf_order[node]), 0

    return [Wide(hierarchy.parent.tolist(), hierarchy.leaf_order.tolist(), cost, [])]

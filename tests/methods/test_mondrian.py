"""The Mondrian method against cuts written out, and what it promises of every release."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.rows import Rows
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import InfeasibleError
from incrowd.hierarchies.tree import Hierarchy
from incrowd.methods.mondrian.method import Mondrian
from incrowd.methods.shared.conditions import Conditions, SensitiveCondition
from incrowd.methods.shared.options import METRICS
from methods.searching import release
from oracles.generated import as_trees, as_tuples, asked, tables
from oracles.methods import StuckError, group_members, mondrian
from oracles.validity import is_valid
from tiers import examples


def contents(rows, conditions):
    """What tells rows apart in a relaxed cut: all that a cut or a condition looks at."""
    columns = [
        [int(tree.leaf_order[node]) for node in nodes.tolist()]
        for tree, nodes in zip(rows.hierarchies, rows.nodes, strict=True)
    ]
    for sensitive in conditions.sensitive:
        codes = sensitive.codes.tolist()
        columns.append([code if code >= 0 else sensitive.n_values for code in codes])
    for numbers in (conditions.k_of_row, conditions.person_of_row):
        if numbers is not None:
            columns.append(numbers.tolist())
    return list(zip(*columns, strict=True))


@examples(150)
@given(st.data())
def test_same_release_as_the_cuts_written_out(data):
    rows = data.draw(tables(most_rows=30))
    metric = data.draw(st.sampled_from(METRICS))
    is_strict = data.draw(st.booleans())
    case = data.draw(asked(rows.n_rows, most_k=4))
    method = Mondrian(metric=metric, strict=is_strict)
    try:
        expected = mondrian(
            as_trees(rows, metric),
            as_tuples(rows.nodes),
            contents(rows, case.conditions),
            case.conditions.k,
            is_strict,
            lambda group: is_valid(group, case.rules, 1e-12),
        )
    except StuckError:
        with pytest.raises(InfeasibleError):
            release(method, rows, case.conditions)
        return
    after = release(method, rows, case.conditions)
    assert as_tuples(after.nodes) == expected
    for members in group_members(as_tuples(after.nodes)):
        assert is_valid(members, case.rules)
    for hierarchy, old, new in zip(rows.hierarchies, rows.nodes, after.nodes, strict=True):
        assert hierarchy.is_ancestor(new, old).all()


@given(st.data())
def test_order_of_rows_changes_nothing(data):
    rows = data.draw(tables(most_rows=30))
    case = data.draw(asked(rows.n_rows, most_k=3))
    method = Mondrian(strict=data.draw(st.booleans()))
    order = np.asarray(data.draw(st.permutations(range(rows.n_rows))))
    moved = rows.with_nodes(np.ascontiguousarray(rows.nodes[:, order]))
    try:
        after = as_tuples(release(method, rows, case.conditions).nodes)
    except InfeasibleError:
        return
    again = as_tuples(release(method, moved, case.conditions.take(order)).nodes)
    lines = contents(rows, case.conditions)
    # rows that are equal in everything may change places with each other
    before = Counter(zip(lines, after, strict=True))
    assert before == Counter((lines[old], again[new]) for new, old in enumerate(order.tolist()))
    if method.strict:
        assert again == [after[old] for old in order.tolist()]


def grid(n_rows=5000, seed=0):
    random = np.random.default_rng(seed)
    ages = [str(age) for age in range(80)]
    trees = (
        Hierarchy.from_ladder(
            "age",
            [ages, [f"{int(a) // 5}" for a in ages], [f"{int(a) // 20}x" for a in ages]],
            values=np.arange(80.0),
        ),
        Hierarchy.from_ladder("sex", [["f", "m"]]),
        Hierarchy.from_ladder("code", [[f"c{code}" for code in range(700)]]),
    )
    nodes = [random.integers(0, tree.n_leaves, n_rows) for tree in trees]
    return Rows(("age", "sex", "code"), np.stack(nodes).astype(np.int32), trees)


@pytest.mark.parametrize("is_strict", [True, False])
def test_larger_table_in_slices(is_strict, monkeypatch):
    from incrowd.methods.shared import cuts as search

    rows = grid()
    method = Mondrian(strict=is_strict)
    whole = release(method, rows, Conditions(5))
    monkeypatch.setattr(search, "ROWS_PER_SLICE", 1)
    told = []
    sliced = method.run(rows, Conditions(5), LocalEngine(1), 0, lambda *report: told.append(report))
    assert np.array_equal(whole.nodes, sliced.nodes)
    sizes = Counter(as_tuples(whole.nodes)).values()
    assert min(sizes) >= 5
    assert len(sizes) > 50
    assert len(told) > 100
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[-1][1:] == (5000, 5000)


def test_sparse_keys_are_sorted_too():
    # few rows over many leaves: the other way of sorting
    rows = grid(40)
    for is_strict in (True, False):
        expected = mondrian(
            as_trees(rows, "loss"),
            as_tuples(rows.nodes),
            contents(rows, Conditions(3)),
            3,
            is_strict,
            lambda group: len(group) >= 3,
        )
        assert as_tuples(release(Mondrian(strict=is_strict), rows, Conditions(3)).nodes) == expected


def test_strict_keeps_equal_rows_together_and_relaxed_need_not():
    tree = Hierarchy.from_ladder("a", [["x", "y"]])
    rows = Rows(("a",), np.asarray([[0] * 7 + [1]], dtype=np.int32), (tree,))
    strict = release(Mondrian(), rows, Conditions(2)).nodes[0]
    assert set(strict.tolist()) == {tree.root}
    relaxed = release(Mondrian(strict=False), rows, Conditions(2)).nodes[0].tolist()
    assert Counter(relaxed) == {0: 6, tree.root: 2}


def test_strict_takes_the_next_cut_where_the_nearest_is_not_valid():
    # children a, b, c, d of 3 rows each: the cut in the middle leaves one value on each side
    tree = Hierarchy.from_ladder("a", [list("abcd")])
    nodes = np.repeat(np.arange(4, dtype=np.int32), 3)[None, :]
    codes = np.asarray([0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0], dtype=np.int32)
    conditions = Conditions(2, sensitive=(SensitiveCondition(codes, 2, l=2.0),))
    after = release(Mondrian(), Rows(("a",), nodes, (tree,)), conditions)
    # the middle is valid here: both sides have a 0
    assert len(group_members(as_tuples(after.nodes))) == 1  # both show the root
    codes[11], codes[5] = 1, 0
    conditions = Conditions(2, sensitive=(SensitiveCondition(codes, 2, l=2.0),))
    after = release(Mondrian(), Rows(("a",), nodes, (tree,)), conditions).nodes[0]
    assert after[:3].tolist() == [0, 0, 0]
    assert set(after[3:].tolist()) == {tree.root}


def test_of_two_cuts_as_near_the_smaller_left_side_is_taken():
    # children of 2, 4 and 2 rows; after either cut the other one is no longer valid
    tree = Hierarchy.from_ladder("a", [list("abc")])
    rows = Rows(("a",), np.asarray([[0, 0, 1, 1, 1, 1, 2, 2]], dtype=np.int32), (tree,))
    codes = np.asarray([0, 1, 1, 1, 1, 1, 0, 1], dtype=np.int32)
    conditions = Conditions(2, sensitive=(SensitiveCondition(codes, 2, l=2.0),))
    after = release(Mondrian(), rows, conditions).nodes[0]
    assert after.tolist() == [0, 0, *[tree.root] * 6]


@given(st.lists(st.integers(0, 400), min_size=1, max_size=40), st.integers(400, 10_000))
def test_keys_are_sorted_dense_or_sparse(keys, high):
    from incrowd.methods.shared import cuts as kernel

    numbers = np.asarray([*keys, -1], dtype=np.int32)
    count_at = np.zeros(high + 1, dtype=np.int32)
    kernel._sort.py_func(numbers, len(keys), min(keys), high, count_at)
    assert numbers.tolist() == [*sorted(keys), -1]
    assert not count_at.any()


def test_a_column_in_which_no_group_can_be_told_is_left_alone():
    # eight codes of one row each: cutting them would leave too few rows to cut by sex
    codes = Hierarchy.from_ladder("code", [list("abcdefgh")])
    sex = Hierarchy.from_ladder("sex", [["f", "m"]])
    nodes = np.asarray([range(8), [0, 1] * 4], dtype=np.int32)
    for is_strict in (True, False):
        rows = Rows(("code", "sex"), nodes, (codes, sex))
        after = release(Mondrian(strict=is_strict), rows, Conditions(3))
        assert after.nodes[1].tolist() == [0, 1] * 4


def test_widest_column_is_cut_first():
    # cutting either column leaves halves that cannot be cut again
    wide = Hierarchy.from_ladder("wide", [["a", "b"]])
    narrow = Hierarchy.from_ladder("narrow", [list("uvwxyz"), ["uv"] * 2 + ["wxyz"] * 4])
    nodes = np.asarray([[0, 0, 1, 1], [0, 1, 0, 1]], dtype=np.int32)
    for names in (("wide", "narrow"), ("narrow", "wide")):
        order = [0, 1] if names[0] == "wide" else [1, 0]
        trees = tuple((wide, narrow)[column] for column in order)
        after = release(Mondrian(), Rows(names, nodes[order], trees), Conditions(2))
        assert after.nodes[order[0]].tolist() == [0, 0, 1, 1]


def test_suppressed_rows_come_back_at_the_root():
    rows = grid(50)
    is_suppressed = np.arange(50) < 10
    marked = Rows(rows.names, rows.nodes, rows.hierarchies, is_suppressed)
    after = release(Mondrian(), marked, Conditions(5))
    roots = tuple(tree.root for tree in rows.hierarchies)
    assert set(as_tuples(after.nodes)[:10]) == {roots}
    alone = Rows(rows.names, np.ascontiguousarray(rows.nodes[:, 10:]), rows.hierarchies)
    assert np.array_equal(after.nodes[:, 10:], release(Mondrian(), alone, Conditions(5)).nodes)


def test_infeasible_is_said():
    with pytest.raises(InfeasibleError, match="50 rows"):
        release(Mondrian(), grid(50), Conditions(51))


def test_rows_above_leaves_are_refused():
    rows = grid(50)
    raised = rows.with_nodes(np.full_like(rows.nodes, rows.hierarchies[0].root))
    with pytest.raises(ValueError, match="leaves"):
        release(Mondrian(), raised, Conditions(2))


def test_no_rows_and_no_columns():
    empty = Rows(("sex",), np.zeros((1, 0), dtype=np.int32), (grid(1).hierarchies[1],))
    assert release(Mondrian(), empty, Conditions(2)).n_rows == 0
    bare = Rows((), np.zeros((0, 3), dtype=np.int32), ())
    assert release(Mondrian(), bare, Conditions(3)).n_rows == 3

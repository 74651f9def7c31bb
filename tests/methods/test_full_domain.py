"""Full-domain recoding against every choice of levels, and against its promises."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.rows import Rows
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import InfeasibleError, JobError
from incrowd.hierarchies.costs import fixed_point_costs
from incrowd.hierarchies.tree import Hierarchy
from incrowd.methods.full_domain import search as levels_module
from incrowd.methods.full_domain import search as search_module
from incrowd.methods.full_domain.method import FullDomain
from incrowd.methods.full_domain.search import LeveledTable, search_levels
from incrowd.methods.shared.conditions import Conditions, SensitiveCondition
from incrowd.methods.shared.options import METRICS
from incrowd.progress import silent
from oracles.full_domain import best_levels
from oracles.generated import as_trees, as_tuples, asked, grid, tables
from tiers import examples


def run(rows, conditions, **options):
    return FullDomain(**options).run(rows, conditions, LocalEngine(), 0, silent)


def levels_of(rows, released):
    """The one level that every column of a release stands on, the lowest that fits."""
    found = []
    shown = ~released.is_suppressed
    for tree, before, after in zip(rows.hierarchies, rows.nodes, released.nodes, strict=True):
        fitting = [
            level
            for level, rung in enumerate(tree.ladder)
            if np.array_equal(rung[before[shown]], after[shown])
        ]
        assert fitting, "rows stand on different levels"
        found.append(fitting[0])
    return tuple(found)


def price_of(rows, released, metric):
    costs = fixed_point_costs(rows.hierarchies, metric)
    return sum(
        int((cost[before].astype(np.int64) - cost[after]).sum())
        for cost, before, after in zip(costs, rows.nodes, released.nodes, strict=True)
    )


@st.composite
def cases(draw):
    rows = draw(tables(most_rows=10, most_columns=2))
    what = draw(asked(rows.n_rows, most_k=4))
    n_suppressible = draw(st.integers(0, rows.n_rows))
    return rows, what, n_suppressible, draw(st.sampled_from(METRICS))


@given(cases())
@examples(200)
def test_no_choice_is_better(case):
    rows, what, n_suppressible, metric = case
    best = best_levels(as_trees(rows, metric), as_tuples(rows.nodes), what.rules, n_suppressible)
    conditions = replace(what.conditions, n_suppressible=n_suppressible)
    if best is None:
        with pytest.raises(InfeasibleError):
            run(rows, conditions, metric=metric)
        return
    released = run(rows, conditions, metric=metric)
    assert price_of(rows, released, metric) == best.price
    assert set(np.flatnonzero(released.is_suppressed).tolist()) == best.suppressed
    table = LeveledTable(rows, conditions, n_suppressible, metric, [1.0] * rows.n_columns)
    tops = tuple(len(tree.ladder) - 1 for tree in rows.hierarchies)
    found = search_levels(table, (0,) * rows.n_columns, tops, silent)
    assert (found.levels, found.price) == (best.levels, best.price)
    for column, level in enumerate(best.levels):
        kept = ~released.is_suppressed
        rung = rows.hierarchies[column].ladder[level]
        assert np.array_equal(released.nodes[column, kept], rung[rows.nodes[column, kept]])
        assert np.all(released.nodes[column, ~kept] == rows.hierarchies[column].root)


@given(cases(), st.data())
@examples(80)
def test_ranges_and_weights_are_kept(case, data):
    rows, what, n_suppressible, _ = case
    tops = [len(tree.ladder) - 1 for tree in rows.hierarchies]
    lowest = [data.draw(st.integers(0, top)) for top in tops]
    highest = [data.draw(st.integers(low, top)) for low, top in zip(lowest, tops, strict=True)]
    weights = [data.draw(st.sampled_from([0.0, 0.5, 1.0, 3.0])) for _ in tops]
    costs = fixed_point_costs(rows.hierarchies, "loss", weights)
    trees = [
        replace(tree, cost_to_root=cost.tolist())
        for tree, cost in zip(as_trees(rows, "loss"), costs, strict=True)
    ]
    ranges = [range(low, top + 1) for low, top in zip(lowest, highest, strict=True)]
    best = best_levels(trees, as_tuples(rows.nodes), what.rules, n_suppressible, ranges)
    conditions = replace(what.conditions, n_suppressible=n_suppressible)
    options = {
        "minimum_levels": dict(zip(rows.names, lowest, strict=True)),
        "maximum_levels": dict(zip(rows.names, highest, strict=True)),
        "column_weights": dict(zip(rows.names, weights, strict=True)),
    }
    if best is None:
        with pytest.raises(InfeasibleError):
            run(rows, conditions, **options)
        return
    released = run(rows, conditions, **options)
    assert set(np.flatnonzero(released.is_suppressed).tolist()) == best.suppressed
    kept = ~released.is_suppressed
    for column, level in enumerate(best.levels):
        rung = rows.hierarchies[column].ladder[level]
        assert np.array_equal(released.nodes[column, kept], rung[rows.nodes[column, kept]])


@given(st.integers(0, 2**32 - 1))
@examples(15)
def test_the_order_of_rows_changes_nothing(seed):
    rows = grid(300, seed=seed % 100, n_codes=6)
    order = np.random.default_rng(seed).permutation(rows.n_rows)
    moved = Rows(rows.names, np.ascontiguousarray(rows.nodes[:, order]), rows.hierarchies)
    conditions = Conditions(5, n_suppressible=20)
    one, other = run(rows, conditions), run(moved, conditions)
    assert np.array_equal(one.nodes[:, order], other.nodes)
    assert np.array_equal(one.is_suppressed[order], other.is_suppressed)


@pytest.mark.parametrize("n_suppressible", [0, 30, 100])
def test_most_of_the_lattice_is_not_looked_at(n_suppressible):
    """A table too large for the oracle: every choice is judged here without any pruning."""
    rows = grid(1500, n_codes=9)
    conditions = Conditions(7, n_suppressible=n_suppressible)
    table = LeveledTable(rows, conditions, n_suppressible, "ncp", [1.0, 2.0, 0.5])
    tops = tuple(len(tree.ladder) - 1 for tree in rows.hierarchies)
    found = search_levels(table, (0, 0, 0), tops, silent)
    assert found.n_judged < found.n_choices
    costs = fixed_point_costs(rows.hierarchies, "ncp", [1.0, 2.0, 0.5])
    best = None
    for levels in np.ndindex(*(top + 1 for top in tops)):
        shown = [
            tree.ladder[level][leaves]
            for tree, level, leaves in zip(rows.hierarchies, levels, rows.nodes, strict=True)
        ]
        sizes = Counter(zip(*(nodes.tolist() for nodes in shown), strict=True))
        small = {key for key, size in sizes.items() if size < 7}
        if sum(sizes[key] for key in small) > n_suppressible:
            continue
        price = 0
        for cost, leaves in zip(costs, rows.nodes, strict=True):
            price += int(cost[leaves].astype(np.int64).sum())
        for key, size in sizes.items():
            if key not in small:
                price -= size * sum(int(cost[node]) for cost, node in zip(costs, key, strict=True))
        best = min(best or (price, sum(levels), levels), (price, sum(levels), levels))
    assert (found.price, found.levels) == (best[0], best[2])


def test_keys_that_collide_are_told_apart(monkeypatch):
    rows = grid(800, n_codes=12)
    conditions = Conditions(4, n_suppressible=40)
    expected = run(rows, conditions)
    monkeypatch.setattr(levels_module, "LARGEST_KEY", 0)  # no key is taken for injective
    monkeypatch.setattr(levels_module, "FIRST_RADIX", 0)  # and all are equal
    released = run(rows, conditions)
    assert np.array_equal(released.nodes, expected.nodes)
    assert np.array_equal(released.is_suppressed, expected.is_suppressed)


def test_groups_that_are_forgotten_change_nothing(monkeypatch):
    rows = grid(800, n_codes=12)
    conditions = Conditions(4, n_suppressible=40)
    expected = run(rows, conditions)
    monkeypatch.setattr(levels_module, "ROOM_FOR_GROUPS", 0)
    assert np.array_equal(run(rows, conditions).nodes, expected.nodes)


def test_asking_for_more_never_costs_less():
    rows = grid(1500, n_codes=5)
    prices = [price_of(rows, run(rows, Conditions(k)), "loss") for k in (2, 3, 5, 10, 50)]
    assert prices == sorted(prices)
    for k in (3, 10):
        allowed = [Conditions(k, n_suppressible=n) for n in (0, 30, 150, 450)]
        prices = [price_of(rows, run(rows, conditions), "loss") for conditions in allowed]
        assert prices == sorted(prices, reverse=True)
        assert prices[-1] < prices[0]


def test_rows_that_come_suppressed_stay_so_and_count():
    rows = grid(600, n_codes=5)
    is_suppressed = np.zeros(600, dtype=np.bool_)
    is_suppressed[:30] = True
    given_rows = rows.with_nodes(rows.nodes, is_suppressed)
    released = run(given_rows, Conditions(3, n_suppressible=30))
    assert np.array_equal(released.is_suppressed, is_suppressed)
    more = run(given_rows, Conditions(3, n_suppressible=60))
    assert more.is_suppressed[:30].all()
    assert 30 < more.is_suppressed.sum() <= 60


@pytest.mark.parametrize(
    "conditions",
    [
        Conditions(2, k_of_row=np.asarray([2, 2, 2, 2, 9, 9], dtype=np.int32)),
        Conditions(
            2, sensitive=(SensitiveCondition(np.asarray([0, 1, 0, 1, 0, 0]), 2, 2.0, "entropy"),)
        ),
        Conditions(
            2,
            sensitive=(
                SensitiveCondition(np.asarray([0, 1, 0, 1, 0, 0]), 2, 2.0, "recursive", 1.5),
            ),
        ),
    ],
)
def test_what_holds_below_need_not_hold_above(conditions):
    """Two rows of their own spoil the group of all, and are suppressed one level below it."""
    tree = Hierarchy.from_ladder("c", [["a", "b"]])
    rows = Rows(("c",), np.asarray([[0, 0, 0, 0, 1, 1]], dtype=np.int32), (tree,))
    with pytest.raises(InfeasibleError):
        run(rows, conditions)
    released = run(rows, replace(conditions, n_suppressible=2))
    assert released.is_suppressed.tolist() == [False] * 4 + [True] * 2
    assert released.nodes.tolist() == [[0, 0, 0, 0, 2, 2]]


def test_closeness_is_to_the_rows_that_stay():
    """All rows: a third is 0. Without the two rows alone it is a half, as in the group that stays.

    Judged against all rows that group would be too far off, whatever is suppressed.
    """
    tree = Hierarchy.from_ladder("c", [["a", "b", "c"]])
    rows = Rows(("c",), np.asarray([[0, 0, 0, 0, 1, 2]], dtype=np.int32), (tree,))
    codes = np.asarray([0, 1, 0, 1, 1, 1], dtype=np.int32)
    conditions = Conditions(2, sensitive=(SensitiveCondition(codes, 2, t=0.1),))
    released = run(rows, replace(conditions, n_suppressible=2))
    assert released.is_suppressed.tolist() == [False] * 4 + [True] * 2
    assert np.all(run(rows, conditions).nodes == tree.root)


def test_nobody_holds_alone():
    rows = grid(20)
    with pytest.raises(InfeasibleError, match="choices of levels"):
        run(rows, Conditions(21))
    with pytest.raises(InfeasibleError):
        run(rows, Conditions(21, n_suppressible=20))
    with pytest.raises(InfeasibleError) as caught:
        run(rows, Conditions(15), maximum_levels={"age": 0})
    assert "--maximum-levels" in caught.value.remedy


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"minimum_levels": {"age": -1}}, "minimum_levels"),
        ({"minimum_levels": {"age": 1.0}}, "minimum_levels"),
        ({"maximum_levels": {"age": True}}, "maximum_levels"),
        ({"minimum_levels": {"age": 2}, "maximum_levels": {"age": 1}}, "at most"),
        ({"column_weights": {"age": -0.5}}, "column_weights"),
        ({"column_weights": {"age": float("nan")}}, "column_weights"),
        ({"column_weights": {"age": "2"}}, "column_weights"),
        ({"metric": "los"}, "metric"),
        ({"minimum_levels": {"age": 4}}, "does not exist"),
        ({"maximum_levels": {"ages": 1}}, "ages"),
        ({"column_weights": {"zip": 1.0}}, "zip"),
    ],
)
def test_wrong_settings_are_refused(options, says):
    with pytest.raises(JobError, match=says) as caught:
        run(grid(20), Conditions(2), **options)
    assert caught.value.remedy


def test_a_lattice_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(search_module, "MOST_CHOICES", 15)
    rows = grid(50)
    with pytest.raises(JobError, match="16 choices"):
        run(rows, Conditions(2))
    assert levels_of(rows, run(rows, Conditions(2), minimum_levels={"age": 1}))[0] >= 1

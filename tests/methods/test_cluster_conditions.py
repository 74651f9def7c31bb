"""The search under conditions of every kind, with rows left out, together, and as a polish."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.rows import Rows
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import InfeasibleError, JobError
from incrowd.hierarchies.tree import Hierarchy
from incrowd.measures.losses.tables import METRICS
from incrowd.methods.cluster.method import Cluster
from incrowd.methods.greedy.method import Greedy
from incrowd.methods.mondrian.method import Mondrian
from incrowd.methods.shared.conditions import Conditions, SensitiveCondition
from incrowd.progress import silent
from methods.searching import release
from oracles.generated import as_tuples, asked, grid, tables
from oracles.methods import group_members
from oracles.validity import is_valid
from tiers import examples


def loss(before, after, metric="loss"):
    return METRICS[metric](before, after)


def assert_true(rows, after):
    for hierarchy, old, new in zip(rows.hierarchies, rows.nodes, after.nodes, strict=True):
        assert hierarchy.is_ancestor(new, old).all()


def together(rows, after):
    """Whether equal rows are released as one."""
    shown = {}
    for line, new, is_out in zip(
        as_tuples(rows.nodes), as_tuples(after.nodes), after.is_suppressed.tolist(), strict=True
    ):
        shown.setdefault(line, set()).add((new, is_out))
    return all(len(ways) == 1 for ways in shown.values())


@examples(150)
@given(st.data())
def test_every_group_meets_its_conditions(data):
    rows = data.draw(tables(most_rows=36))
    case = data.draw(asked(rows.n_rows, most_k=4))
    method = Cluster(
        effort=data.draw(st.integers(1, 200)),
        keep_identical_together=data.draw(st.booleans()),
    )
    try:
        after = release(method, rows, case.conditions)
    except InfeasibleError:
        assert not is_valid(list(range(rows.n_rows)), case.rules)
        return
    assert_true(rows, after)
    for members in group_members(as_tuples(after.nodes)):
        assert is_valid(members, case.rules)
    assert together(rows, after) or not method.keep_identical_together
    again = release(method, rows, case.conditions, threads=2)
    assert np.array_equal(after.nodes, again.nodes)


@examples(80)
@given(st.data())
def test_rows_are_left_out_within_the_limit_and_the_rest_is_valid(data):
    rows = data.draw(tables(most_rows=36))
    case = data.draw(asked(rows.n_rows, most_k=4))
    n_suppressible = data.draw(st.integers(0, 8))
    conditions = replace(case.conditions, n_suppressible=n_suppressible)
    try:
        after = release(Cluster(effort=150), rows, conditions)
    except InfeasibleError:
        return
    kept = np.flatnonzero(~after.is_suppressed)
    assert rows.n_rows - len(kept) <= n_suppressible
    assert_true(rows, after)
    roots = [tree.root for tree in rows.hierarchies]
    assert all(after.nodes[:, row].tolist() == roots for row in np.flatnonzero(after.is_suppressed))
    if any(column.t >= 0 for column in conditions.sensitive):
        assert len(kept) == rows.n_rows
    lines = as_tuples(after.nodes)
    for members in group_members([lines[row] for row in kept]):
        assert is_valid([int(kept[member]) for member in members], case.rules)


def outliers():
    """Six equal rows per group, and one row in ten that is far from everything."""
    tree = Hierarchy.from_ladder(
        "a", [[str(n) for n in range(100)], [str(n // 10) for n in range(100)]]
    )
    flat = Hierarchy.from_ladder("b", [[f"b{n}" for n in range(40)]])
    a, b = [], []
    for group in range(9):
        a += [10 * group + n for n in range(6)]
        b += [group] * 6
    a += [95, 97]
    b += [20, 30]
    return Rows(("a", "b"), np.asarray([a, b], dtype=np.int32), (tree, flat))


def test_outliers_are_left_out_where_that_lowers_the_loss():
    rows = outliers()
    whole = release(Cluster(effort=4000), rows, Conditions(5))
    after = release(Cluster(effort=4000), rows, Conditions(5, n_suppressible=2))
    assert np.flatnonzero(after.is_suppressed).tolist() == [54, 55]
    assert loss(rows, after) < 0.8 * loss(rows, whole)
    one = release(Cluster(effort=4000), rows, Conditions(5, n_suppressible=1))
    assert one.is_suppressed.sum() <= 1
    # where nothing is gained, nobody is left out
    same = rows.with_nodes(np.zeros_like(rows.nodes))
    assert not release(
        Cluster(effort=400), same, Conditions(5, n_suppressible=9)
    ).is_suppressed.any()


@pytest.mark.slow
@pytest.mark.parametrize("method", [Greedy(metric="loss"), Mondrian()])
@pytest.mark.parametrize("k", [3, 40])
def test_polish_makes_groups_of_other_methods_cheaper(method, k):
    rows = grid(1500)
    random = np.random.default_rng(1)
    column = SensitiveCondition(random.integers(0, 4, 1500).astype(np.int32), 4, l=3.0)
    for conditions in (Conditions(k), Conditions(k, sensitive=(column,))):
        before = release(method, rows, conditions)
        after = release(replace(method, polish=3000), rows, conditions)
        assert loss(rows, after) < 0.95 * loss(rows, before)
        assert min(Counter(as_tuples(after.nodes)).values()) >= k
        assert together(rows, after)
        assert_true(rows, after)
        assert after.trace.settings == {"polish": 3000}
    left_out = release(replace(method, polish=3000), rows, Conditions(k, n_suppressible=40))
    assert left_out.is_suppressed.sum() <= 40


@given(st.data())
def test_polish_without_heat_is_never_dearer(data):
    rows = data.draw(tables(most_rows=36))
    case = data.draw(asked(rows.n_rows, most_k=4))
    method = data.draw(st.sampled_from([Greedy(metric="loss"), Mondrian()]))
    try:
        before = release(method, rows, case.conditions)
    except InfeasibleError:
        return
    after = release(replace(method, polish=1), rows, case.conditions)
    assert loss(rows, after) <= loss(rows, before) + 1e-6
    for members in group_members(as_tuples(after.nodes)):
        assert is_valid(members, case.rules)


def test_partitions_are_repaired_across_their_edges():
    rows = grid(3000)
    for k in (5, 60):
        whole = release(Greedy(), rows, Conditions(k))
        apart = release(Greedy(partitions=16, repair="no"), rows, Conditions(k))
        repaired = release(Greedy(partitions=16), rows, Conditions(k))
        assert loss(rows, apart, "nllm") > loss(rows, whole, "nllm")
        assert loss(rows, repaired, "nllm") <= 1.05 * loss(rows, whole, "nllm")
        assert min(Counter(as_tuples(repaired.nodes)).values()) >= k
        assert together(rows, repaired)
    paper = Greedy(preset="pgpkaa", processors=16)
    assert np.array_equal(release(paper, rows, Conditions(60)).nodes, apart.nodes)
    stated = replace(paper, repair="yes")
    assert np.array_equal(release(stated, rows, Conditions(60)).nodes, repaired.nodes)


@pytest.mark.slow
def test_large_tables_under_conditions_are_searched_in_blocks(monkeypatch):
    from incrowd.methods.shared.recreate import blocks

    rows = grid(2500)
    random = np.random.default_rng(2)
    column = SensitiveCondition(random.integers(0, 5, 2500).astype(np.int32), 5, l=3.0)
    wishes = random.choice([3, 8], 2500).astype(np.int32)
    people = random.integers(0, 1800, 2500).astype(np.int32)
    monkeypatch.setattr(blocks, "LARGEST_WHOLE", 400)
    monkeypatch.setattr(blocks, "DISTINCT_PER_BLOCK", 300)
    for conditions in (
        Conditions(3, k_of_row=wishes, sensitive=(column,), n_suppressible=50),
        Conditions(4, person_of_row=people),
        Conditions(4, n_suppressible=30),
    ):
        method = Cluster(effort=3000)
        after = release(method, rows, conditions, seed=4)
        kept = np.flatnonzero(~after.is_suppressed)
        assert rows.n_rows - len(kept) <= conditions.n_suppressible
        lines = as_tuples(after.nodes)
        for group in group_members([lines[row] for row in kept]):
            members = kept[group]
            needed = 3 if conditions.k_of_row is None else int(wishes[members].max())
            assert len(members) >= max(needed, conditions.k)
            if conditions.sensitive:
                assert len(set(column.codes[members].tolist())) >= 3
            if conditions.person_of_row is not None:
                assert len(set(people[members].tolist())) >= 4
        for engine in (LocalEngine(2), LocalEngine(1, block_rows=70)):
            again = method.run(rows, conditions, engine, 4, silent)
            assert np.array_equal(after.nodes, again.nodes)
            assert np.array_equal(after.is_suppressed, again.is_suppressed)
        start = release(Cluster(effort=1), rows, conditions)
        assert loss(rows, after) < 0.98 * loss(rows, start)


def test_settings_that_contradict_are_refused():
    with pytest.raises(JobError, match="costs"):
        Greedy(costs={"age": "age.csv"}, polish="quick")
    with pytest.raises(JobError, match="costs"):
        Greedy(costs={"age": "age.csv"}, repair="yes")
    with pytest.raises(JobError, match="repair"):
        Greedy(repair="maybe")
    with pytest.raises(JobError, match="effort"):
        Mondrian(polish="much")

"""The cluster method: what it promises of every release, recounted by other code."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.rows import Rows
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import InfeasibleError
from incrowd.hierarchies.tree import Hierarchy
from incrowd.methods.cluster.method import Cluster
from incrowd.methods.shared.conditions import Conditions
from incrowd.methods.shared.options import METRICS
from incrowd.progress import silent
from methods.searching import release
from oracles.generated import as_tuples, grid, tables
from tiers import examples


def assert_kept(before, after, k):
    """Every group has k rows, and every cell is the original's or an ancestor of it."""
    assert min(Counter(as_tuples(after.nodes)).values()) >= k
    for hierarchy, old, new in zip(before.hierarchies, before.nodes, after.nodes, strict=True):
        assert hierarchy.is_ancestor(new, old).all()


def loss(before, after):
    """The share of the most there is to lose, by counting leaves."""
    paid = 0.0
    for tree, nodes in zip(before.hierarchies, after.nodes, strict=True):
        paid += float(((tree.leaf_count[nodes] - 1) / max(1, tree.n_leaves - 1)).sum())
    return paid / (before.n_rows * before.n_columns)


@examples(150)
@given(st.data())
def test_every_release_is_kept_and_truthful(data):
    rows = data.draw(tables(most_rows=40))
    k = data.draw(st.integers(1, 6))
    method = Cluster(
        metric=data.draw(st.sampled_from(METRICS)), effort=data.draw(st.integers(1, 300))
    )
    if rows.n_rows < k:
        with pytest.raises(InfeasibleError):
            release(method, rows, k)
        return
    seed = data.draw(st.integers(0, 3))
    after = release(method, rows, k, seed)
    assert_kept(rows, after, k)
    assert np.array_equal(after.nodes, release(method, rows, k, seed).nodes)


@given(st.data())
def test_order_of_rows_changes_only_which_equal_row_is_which(data):
    rows = data.draw(tables(most_rows=30))
    order = np.asarray(data.draw(st.permutations(range(rows.n_rows))))
    k = data.draw(st.integers(1, min(4, rows.n_rows)))
    moved = rows.with_nodes(np.ascontiguousarray(rows.nodes[:, order]))
    after = release(Cluster(effort=200), rows, k)
    again = release(Cluster(effort=200), moved, k)
    pairs = Counter(zip(as_tuples(rows.nodes), as_tuples(after.nodes), strict=True))
    assert pairs == Counter(zip(as_tuples(moved.nodes), as_tuples(again.nodes), strict=True))


@pytest.mark.parametrize("k", [2, 7, 60])
def test_larger_table(k):
    rows = grid()
    after = release(Cluster(effort=4000), rows, k)
    assert_kept(rows, after, k)
    start = release(Cluster(effort=1), rows, k)
    assert loss(rows, after) < 0.98 * loss(rows, start)


def test_same_seed_same_release_and_another_seed_another():
    rows = grid()
    first = release(Cluster(effort=2000), rows, 5, seed=1)
    assert np.array_equal(first.nodes, release(Cluster(effort=2000), rows, 5, 1, 2).nodes)
    assert not np.array_equal(first.nodes, release(Cluster(effort=2000), rows, 5, seed=2).nodes)


def test_without_heat_more_effort_is_never_worse_and_automatic_is_a_number_of_it():
    from incrowd.methods.shared.recreate.search import automatic_effort, first_heat

    rows = grid()
    n_distinct = len(set(as_tuples(rows.nodes)))
    assert first_heat(5000 / n_distinct, 5) == 0.0 < first_heat(20.0, 5) < first_heat(50.0, 5)
    losses = [loss(rows, release(Cluster(effort=n), rows, 5)) for n in (1, 100, 1000, 5000)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]
    few = grid(300)
    n_distinct = len(set(as_tuples(few.nodes)))
    effort = automatic_effort(n_distinct, 3)
    stated = release(Cluster(effort=effort), few, 3)
    assert np.array_equal(stated.nodes, release(Cluster(), few, 3).nodes)


def test_all_rows_in_one_group():
    rows = grid(50)
    after = release(Cluster(), rows, 50)
    assert len(set(as_tuples(after.nodes))) == 1
    assert_kept(rows, after, 50)
    with pytest.raises(InfeasibleError, match="50 rows"):
        release(Cluster(), rows, 51)


def test_heavy_duplicates_lose_nothing_they_need_not():
    # 500 equal rows and two that differ: two of the 500 are enough to hide each
    tree = Hierarchy.from_ladder("a", [list("wxyz"), ["wx", "wx", "yz", "yz"]])
    rows = Rows(("a",), np.asarray([[0] * 500 + [1] + [2, 2, 2]], dtype=np.int32), (tree,))
    after = release(Cluster(), rows, 3)
    assert_kept(rows, after, 3)
    assert Counter(as_tuples(after.nodes))[(0,)] == 498
    assert after.nodes[0, -3:].tolist() == [2, 2, 2]
    # of the equal rows, those that are generalized stand together at one end
    shown = after.nodes[0, :500].tolist()
    assert shown in (sorted(shown), sorted(shown, reverse=True))


def test_one_row_too_few_beside_heavy_ones():
    tree = Hierarchy.from_ladder("a", [list("xy")])
    for n_same in (2, 3, 30):
        rows = Rows(("a",), np.asarray([[0] * n_same + [1]], dtype=np.int32), (tree,))
        after = release(Cluster(), rows, 2)
        assert_kept(rows, after, 2)


def test_columns_too_wide_for_tables_and_lines(monkeypatch):
    from incrowd.methods.shared.recreate import column_trees as search

    rows = grid(1500, n_codes=700)
    after = release(Cluster(effort=2000), rows, 4)
    assert_kept(rows, after, 4)
    monkeypatch.setattr(search, "LARGEST_TABLE", 0)
    assert np.array_equal(after.nodes, release(Cluster(effort=2000), rows, 4).nodes)
    monkeypatch.setattr(search, "MOST_LINES", 3)
    assert np.array_equal(after.nodes, release(Cluster(effort=2000), rows, 4).nodes)


def test_large_tables_are_searched_in_blocks(monkeypatch):
    from incrowd.methods.shared.recreate import blocks

    rows = grid(3000)
    whole = release(Cluster(effort=4000), rows, 4, seed=5)
    monkeypatch.setattr(blocks, "LARGEST_WHOLE", 500)
    monkeypatch.setattr(blocks, "DISTINCT_PER_BLOCK", 300)
    method = Cluster(effort=4000)
    assert not np.array_equal(whole.nodes, release(method, rows, 4, seed=5).nodes)
    after = release(method, rows, 4, seed=5)
    assert_kept(rows, after, 4)
    for engine in (LocalEngine(2), LocalEngine(1, block_rows=70)):
        again = method.run(rows, Conditions(4), engine, 5, silent)
        assert np.array_equal(after.nodes, again.nodes)
    assert not np.array_equal(after.nodes, release(method, rows, 4, seed=6).nodes)
    start = release(Cluster(effort=1), rows, 4)
    assert loss(rows, after) < 0.99 * loss(rows, start)


def test_blocks_and_effort_follow_the_documented_sizes():
    from incrowd.methods.shared.recreate import search

    assert (search.LARGEST_WHOLE, search.DISTINCT_PER_BLOCK) == (40_000, 20_000)
    assert search.automatic_effort(40_000, 5) == 40 * 40_000 // 2
    assert search.automatic_effort(40_001, 5) == 10 * 40_001 // 2


def test_suppressed_rows_come_back_at_the_root():
    rows = grid(60)
    marked = Rows(rows.names, rows.nodes, rows.hierarchies, np.arange(60) < 10)
    after = release(Cluster(), marked, 5)
    roots = tuple(tree.root for tree in rows.hierarchies)
    assert set(as_tuples(after.nodes)[:10]) == {roots}
    alone = Rows(rows.names, np.ascontiguousarray(rows.nodes[:, 10:]), rows.hierarchies)
    assert np.array_equal(after.nodes[:, 10:], release(Cluster(), alone, 5).nodes)


def test_no_rows_and_no_columns():
    empty = Rows(("sex",), np.zeros((1, 0), dtype=np.int32), (grid(1).hierarchies[1],))
    assert release(Cluster(), empty, 2).n_rows == 0
    bare = Rows((), np.zeros((0, 3), dtype=np.int32), ())
    assert release(Cluster(), bare, 3).n_rows == 3


def test_rows_above_leaves_are_refused():
    rows = grid(50)
    raised = rows.with_nodes(np.full_like(rows.nodes, rows.hierarchies[1].root))
    with pytest.raises(ValueError, match="leaves"):
        release(Cluster(), raised, 2)


def test_progress_is_told_in_slices(monkeypatch):
    from incrowd.methods.shared.recreate import search

    monkeypatch.setattr(search, "ROWS_PER_SLICE", 50)
    told = []
    rows = grid(500)
    Cluster(effort=500).run(
        rows, Conditions(5), LocalEngine(1), 0, lambda *report: told.append(report)
    )
    done = [n_done for _, n_done, _, _ in told]
    assert len(told) > 40
    assert done == sorted(done)
    assert told[-1][1:3] == (500, 500)

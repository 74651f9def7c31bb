"""Distinct rows with their numbers are searched as the rows that they stand for."""

import tracemalloc
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from incrowd.encoding.rows import Rows
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import EngineError, InfeasibleError
from incrowd.methods.cluster.method import Cluster
from incrowd.methods.full_domain.method import FullDomain
from incrowd.methods.full_domain.search import LeveledTable, search_levels
from incrowd.methods.greedy import search as greedy_search
from incrowd.methods.greedy.method import Greedy
from incrowd.methods.mondrian.method import Mondrian
from incrowd.methods.shared.conditions import Conditions
from incrowd.methods.shared.cuts import cut_rows
from incrowd.methods.shared.fragments import Collapsed, Fragments
from incrowd.methods.shared.recreate import search as cluster_search
from incrowd.methods.shared.recreate.blocks import block_of_counted, search_table
from incrowd.methods.shared.recreate.start import CountedRows
from incrowd.methods.shared.reorganize import cut, part_runs
from incrowd.progress import silent
from oracles.generated import as_tuples, grid, tables
from tiers import examples

METHODS = [
    Greedy(),
    Greedy(metric="ncp", partitions=3),
    Greedy(preset="pgpkaa", processors=4, reorganize="values-first"),
    Greedy(polish=60),
    Mondrian(),
    Mondrian(metric="ncp", polish="quick"),
    Cluster(effort=150),
    Cluster(effort=60, keep_identical_together=True),
    FullDomain(),
]


def in_short(method):
    """Name a method by what it has beside its defaults."""
    stated = {
        name: value
        for name, value in vars(method).items()
        if value != getattr(type(method)(), name)
    }
    return f"{method.name} {stated}"


@pytest.fixture
def small_blocks(monkeypatch):
    """Search in many blocks, and with hardly any spare room, so that states must grow."""
    monkeypatch.setattr("incrowd.methods.shared.recreate.blocks.LARGEST_WHOLE", 12)
    monkeypatch.setattr("incrowd.methods.shared.recreate.blocks.DISTINCT_PER_BLOCK", 8)
    monkeypatch.setattr("incrowd.methods.shared.recreate.kernels.state.ROOM", 0)
    monkeypatch.setattr("incrowd.methods.shared.recreate.kernels.start.ROOM", 0)


@st.composite
def heavy_tables(draw):
    """Draw distinct rows and how many there are of each; one may be half of the table."""
    table = draw(tables(most_rows=40))
    whole = Collapsed.of(table)
    n_of_row = whole.n_of_row.copy()
    if draw(st.booleans()):
        n_of_row[draw(st.integers(0, len(n_of_row) - 1))] += int(n_of_row.sum())
    return whole.rows, n_of_row


def expand(rows, n_of_row):
    """Return every row by itself."""
    return Rows(rows.names, np.repeat(rows.nodes, n_of_row, axis=1), rows.hierarchies)


def pairs_of(before, after):
    """Count (before, after) pairs, row by row."""
    return Counter(zip(as_tuples(before.nodes), as_tuples(after.nodes), strict=True))


def pairs_of_fragments(rows, found):
    """Count (before, after) pairs of fragments; no two may be the same."""
    before = as_tuples(rows.nodes)
    counted = Counter()
    shown = as_tuples(found.nodes)
    for row, nodes, count in zip(found.row.tolist(), shown, found.count.tolist(), strict=True):
        assert count >= 1
        assert (before[row], nodes) not in counted
        counted[before[row], nodes] = count
    return counted


def assert_sorted(rows, n_of_row, found):
    """Check the promised order, and that every row is there as often as it was."""
    keys = list(zip(found.row.tolist(), as_tuples(found.nodes), strict=True))
    assert keys == sorted(keys)
    held = Counter()
    for row, count in zip(found.row.tolist(), found.count.tolist(), strict=True):
        held[row] += count
    assert held == dict(enumerate(n_of_row.tolist()))
    assert found.nodes.dtype == np.int32
    assert found.nodes.shape[0] == rows.n_columns
    assert found.row.dtype == found.count.dtype == np.int64


def assert_same(method, rows, n_of_row, k, engine=None):
    """Search distinct rows, the rows one by one, and distinct rows in another order."""
    table = expand(rows, n_of_row)
    local = LocalEngine(1)
    if int(n_of_row.sum()) < k:
        for run in (
            lambda: method.run(table, Conditions(k), local, 3, silent),
            lambda: method.run_distinct(rows, n_of_row, Conditions(k), local, 3, silent),
        ):
            with pytest.raises(InfeasibleError):
                run()
        return
    found = method.run_distinct(rows, n_of_row, Conditions(k), engine or local, 3, silent)
    assert_sorted(rows, n_of_row, found)
    crowds = Counter()
    for nodes, count in zip(as_tuples(found.nodes), found.count.tolist(), strict=True):
        crowds[nodes] += count
    assert min(crowds.values()) >= k
    order = np.random.default_rng(1).permutation(table.n_rows)
    shuffled = Rows(table.names, np.ascontiguousarray(table.nodes[:, order]), table.hierarchies)
    after = method.run(shuffled, Conditions(k), LocalEngine(2), 3, silent)
    assert pairs_of(shuffled, after) == pairs_of_fragments(rows, found)
    assert after.trace == found.trace
    turned = Rows(rows.names, np.ascontiguousarray(rows.nodes[:, ::-1]), rows.hierarchies)
    again = method.run_distinct(turned, n_of_row[::-1], Conditions(k), LocalEngine(2), 3, silent)
    assert pairs_of_fragments(turned, again) == pairs_of_fragments(rows, found)
    assert again.trace == found.trace


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS, ids=in_short)
@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=heavy_tables(), k=st.integers(1, 6))
def test_distinct_rows_are_searched_as_rows(method, table, k, small_blocks):  # noqa: ARG001
    assert method.runs_on_distinct_rows
    assert_same(method, *table, k)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=heavy_tables(), k=st.integers(1, 6), seed=st.integers(0, 3))
def test_searches_count_numbers_as_they_count_rows(table, k, seed, small_blocks):  # noqa: ARG001
    # the same loops, rows one by one: nothing is collapsed here
    rows, n_of_row = table
    k = min(k, int(n_of_row.sum()))
    each = expand(rows, n_of_row)
    first = np.cumsum(n_of_row) - n_of_row
    limits = Conditions(k).packed(rows.n_rows)
    limits_of_each = Conditions(k).packed(each.n_rows)
    plan = greedy_search.Plan.of(rows, "ncp", limits, True)
    one_by_one = greedy_search.merge_rows(each.nodes, plan, limits_of_each)
    merged = greedy_search.merge_rows(rows.nodes, plan, limits, n_of_row=n_of_row)
    assert np.array_equal(np.repeat(merged, n_of_row, axis=1), one_by_one)
    one_by_one = cut_rows(each, limits_of_each, True, "ncp", True, silent)
    cut = cut_rows(rows, limits, True, "ncp", True, silent, n_of_row)
    assert np.array_equal(np.repeat(cut, n_of_row, axis=1), one_by_one)
    weights = [1.0] * rows.n_columns
    top = tuple(int(tree.height[tree.root]) for tree in rows.hierarchies)
    levels = [
        search_levels(LeveledTable(*asked), (0,) * rows.n_columns, top, silent)
        for asked in (
            (each, Conditions(k), 0, "ncp", weights),
            (rows, Conditions(k), 0, "ncp", weights, n_of_row),
        )
    ]
    assert levels[0] == levels[1]
    plan = replace(cluster_search.Plan.of(rows, "ncp", limits, seed), effort=20.0)
    ones = np.ones(each.n_rows, dtype=np.int64)
    for starts in ((None, None), (np.repeat(cut, n_of_row, axis=1), cut)):
        one_by_one = cluster_search.search_counted_rows(
            CountedRows(np.arange(each.n_rows), each.nodes, ones, limits_of_each, starts[0]), plan
        )
        found = cluster_search.search_counted_rows(
            CountedRows(np.arange(rows.n_rows), rows.nodes, n_of_row, limits, starts[1]), plan
        )
        assert np.array_equal(one_by_one.row, first[found.row])
        assert np.array_equal(one_by_one.nodes, found.nodes)
        assert np.array_equal(one_by_one.count, found.count)


@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=heavy_tables(), k=st.integers(1, 6), seed=st.integers(0, 3))
def test_lines_in_blocks_count_as_rows_do(table, k, seed, small_blocks):  # noqa: ARG001
    rows, n_of_row = table
    k = min(k, int(n_of_row.sum()))
    each = expand(rows, n_of_row)
    limits = Conditions(k).packed(rows.n_rows)
    plan = replace(cluster_search.Plan.of(rows, "ncp", limits, seed), effort=20.0)
    counted = CountedRows.of_rows(rows.nodes, n_of_row, limits)
    one_by_one = CountedRows(
        np.repeat(counted.row, n_of_row), each.nodes, np.ones(each.n_rows, dtype=np.int64), limits
    )
    blocks = block_of_counted(counted, plan)
    assert np.array_equal(np.repeat(blocks, n_of_row), block_of_counted(one_by_one, plan))
    found = search_table(counted, plan, LocalEngine(1), silent)
    expected = search_table(one_by_one, plan, LocalEngine(1), silent)
    for name in ("row", "nodes", "count"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30), st.integers(1, 8), st.integers(1, 30))
def test_parts_are_cut_by_rows(n_of_row, n_parts, k):
    each = np.repeat(np.arange(len(n_of_row)), n_of_row)
    run_start = np.cumsum([0, *n_of_row])
    starts = cut(run_start, n_parts, lambda start, end: end - start >= k)
    expected = np.searchsorted(starts, np.arange(len(each)), side="right") - 1
    order = np.random.default_rng(0).permutation(len(n_of_row))
    counts = np.asarray(n_of_row)
    number_of_row = np.empty_like(order)
    number_of_row[order] = np.arange(len(order))  # row order[place] is the one at that place
    found = part_runs(order, np.arange(len(order) + 1), counts[number_of_row], n_parts, k)
    assert found[order][each].tolist() == expected.tolist()


@pytest.mark.parametrize("method", METHODS, ids=in_short)
@pytest.mark.parametrize("k", [3, 30])
def test_a_larger_table_in_blocks(method, k, monkeypatch):
    monkeypatch.setattr("incrowd.methods.shared.recreate.blocks.LARGEST_WHOLE", 100)
    monkeypatch.setattr("incrowd.methods.shared.recreate.blocks.DISTINCT_PER_BLOCK", 60)
    whole = Collapsed.of(grid(900))
    n_of_row = whole.n_of_row.copy()
    n_of_row[7] += 900
    assert_same(method, whole.rows, n_of_row, k)


@pytest.mark.parametrize(
    "method", [Greedy(partitions=3), Mondrian(polish=200), Cluster(effort=400), FullDomain()],
    ids=in_short,
)  # fmt: skip
def test_every_engine_finds_the_same(method, engine, monkeypatch):
    monkeypatch.setattr("incrowd.methods.shared.recreate.blocks.LARGEST_WHOLE", 100)
    monkeypatch.setattr("incrowd.methods.shared.recreate.blocks.DISTINCT_PER_BLOCK", 60)
    whole = Collapsed.of(grid(400))
    n_of_row = whole.n_of_row.copy()
    n_of_row[3] += 400
    here = method.run_distinct(whole.rows, n_of_row, Conditions(4), LocalEngine(2), 1, silent)
    there = method.run_distinct(whole.rows, n_of_row, Conditions(4), engine, 1, silent)
    for name in ("row", "nodes", "count"):
        assert np.array_equal(getattr(here, name), getattr(there, name))
    assert here.trace == there.trace


def test_a_row_of_a_search_in_blocks_may_lie_in_several_groups():
    # otherwise nothing above would test fragments
    whole = Collapsed.of(grid(900))
    found = Cluster(effort=3000).run_distinct(
        whole.rows, whole.n_of_row, Conditions(4), LocalEngine(1), 0, silent
    )
    assert len(found.row) > whole.rows.n_rows


@pytest.mark.parametrize("method", [*METHODS, Cluster(effort=150, metric="ncp")], ids=in_short)
@pytest.mark.parametrize("k", [5, 1000])
def test_billions_of_rows_take_no_room(method, k):
    whole = Collapsed.of(grid(900))
    n_of_row = whole.n_of_row.copy()
    n_of_row[[0, 17]] = 3_000_000_000, 1_500_000_000
    method.run_distinct(
        whole.rows, n_of_row, Conditions(k), LocalEngine(1), 0, silent
    )  # compiled now
    tracemalloc.start()
    try:
        found = method.run_distinct(whole.rows, n_of_row, Conditions(k), LocalEngine(1), 0, silent)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50_000_000
    assert_sorted(whole.rows, n_of_row, found)
    crowds = Counter()
    for nodes, count in zip(as_tuples(found.nodes), found.count.tolist(), strict=True):
        crowds[nodes] += count
    assert min(crowds.values()) >= k


def test_how_much_room_there_was_changes_nothing(monkeypatch):
    from incrowd.methods.shared.recreate.kernels import plan as kernel_pool
    from incrowd.methods.shared.recreate.kernels import state as kernel_state

    rows = grid(900)
    calls = []
    with_room = kernel_pool.with_room
    monkeypatch.setattr(
        kernel_pool, "with_room", lambda *asked: calls.append(1) or with_room(*asked)
    )
    method = Cluster(effort=4000)
    monkeypatch.setattr(kernel_state, "ROOM", 10_000)
    roomy = method.run(rows, Conditions(4), LocalEngine(1), 5, silent)
    assert not calls
    monkeypatch.setattr(kernel_state, "ROOM", 0)
    monkeypatch.setattr(kernel_state, "SPARE", 1 << 20)
    narrow = method.run(rows, Conditions(4), LocalEngine(1), 5, silent)
    assert calls
    assert np.array_equal(roomy.nodes, narrow.nodes)


def test_equal_rows_take_their_fragments_in_order():
    rows = Rows(("a",), np.asarray([[1, 0, 1, 0, 1]], dtype=np.int32), grid(1).hierarchies[:1])
    whole = Collapsed.of(rows)
    assert whole.rows.nodes.tolist() == [[1, 0]]
    assert whole.n_of_row.tolist() == [3, 2]
    found = Fragments.of(
        np.asarray([1, 0, 0, 0]),
        np.asarray([[9, 8, 7, 8]], dtype=np.int32),
        np.asarray([2, 1, 1, 1]),
    )
    assert found.row.tolist() == [0, 0, 1]
    assert found.count.tolist() == [1, 2, 2]
    assert whole.expand(found).tolist() == [[7, 9, 8, 9, 8]]


def test_what_does_not_spread():
    assert not Greedy(costs={"age": "age.csv"}).runs_on_distinct_rows
    assert not Greedy(partitions=2, reorganize="none").runs_on_distinct_rows
    assert Greedy(partitions=1, reorganize="none").runs_on_distinct_rows
    assert not Greedy(polish="2s").runs_on_distinct_rows
    assert not Mondrian(strict=False).runs_on_distinct_rows
    assert not Mondrian(polish="2s").runs_on_distinct_rows
    assert not Cluster(effort="2s").runs_on_distinct_rows
    whole = Collapsed.of(grid(30))
    with pytest.raises(ValueError, match="one by one"):
        Mondrian(strict=False).run_distinct(
            whole.rows, whole.n_of_row, Conditions(2), LocalEngine(1), 0, silent
        )


@pytest.mark.parametrize("method", METHODS[::3], ids=in_short)
def test_rows_that_are_not_distinct_or_not_there_are_refused(method):
    engine = LocalEngine(1)
    rows = grid(900)
    each = np.ones(900, dtype=np.int64)
    with pytest.raises(ValueError, match="distinct"):
        method.run_distinct(rows, each, Conditions(2), engine, 0, silent)
    whole = Collapsed.of(rows)
    with pytest.raises(ValueError, match="at least"):
        method.run_distinct(whole.rows, whole.n_of_row - 1, Conditions(2), engine, 0, silent)
    none = Rows(rows.names, rows.nodes[:, :0], rows.hierarchies)
    assert method.run_distinct(none, each[:0], Conditions(2), engine, 0, silent).row.size == 0


class Forgetful(LocalEngine):
    """An engine that counts one row too few on the way back."""

    def collect(self, blocks):
        table = super().collect(blocks)
        count = table.column("count").to_numpy().copy()
        count[np.argmax(count)] -= 1
        return table.set_column(table.column_names.index("count"), "count", [count])


@pytest.mark.parametrize("method", [Greedy(partitions=3), Cluster(effort=100)], ids=in_short)
def test_a_row_lost_on_an_engine_is_noticed(method, monkeypatch):
    monkeypatch.setattr("incrowd.methods.shared.recreate.blocks.LARGEST_WHOLE", 100)
    monkeypatch.setattr("incrowd.methods.shared.recreate.blocks.DISTINCT_PER_BLOCK", 60)
    whole = Collapsed.of(grid(900))
    with pytest.raises(EngineError, match="lost"):
        method.run_distinct(whole.rows, whole.n_of_row, Conditions(3), Forgetful(1), 0, silent)

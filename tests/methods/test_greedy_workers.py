"""Threads that share the search for partners of one part: the merges of one thread, always."""

from dataclasses import replace
from threading import Lock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.rows import Rows
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import InfeasibleError, JobError
from incrowd.hierarchies.tree import Hierarchy
from incrowd.methods.greedy import rounds
from incrowd.methods.greedy.method import Greedy
from incrowd.methods.greedy.search import Plan, merge
from incrowd.methods.shared.conditions import Conditions, SensitiveCondition
from incrowd.progress import silent
from oracles.generated import asked, tables
from tiers import examples


def merged(rows, conditions, **how):
    limits = conditions.packed(rows.n_rows)
    plan = Plan.of(rows, "ncp", limits, conditions.is_size_only)
    return merge(rows.nodes, plan, limits, **{"with_index": False, **how})


def assert_same(rows, conditions, workers, **how):
    try:
        alone = merged(rows, conditions)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            merged(rows, conditions, workers=workers, **how)
        return
    shared = merged(rows, conditions, workers=workers, **how)
    assert np.array_equal(shared.merged_into, alone.merged_into)
    assert np.array_equal(shared.released(), alone.released())


@pytest.fixture
def always_shared(monkeypatch):
    """Rounds on tables of any size; the number of groups in a round can be set."""
    monkeypatch.setattr(rounds, "LEAST_CELLS", 0)
    return lambda most: monkeypatch.setattr(rounds, "MOST_EACH", most)


def with_costs(rows, random):
    """The rows with costs free of any rule in every column."""
    trees = tuple(
        replace(tree, costs=random.integers(0, 40, (tree.n_nodes, int(tree.depth.max()) + 1)) / 4)
        for tree in rows.hierarchies
    )
    return replace(rows, hierarchies=trees)


@examples(60)
@given(st.data())
def test_same_merges_on_small_tables(data):
    rows = data.draw(tables(most_rows=40, most_columns=3))
    conditions = data.draw(asked(rows.n_rows)).conditions
    if data.draw(st.booleans()):
        rows = with_costs(rows, np.random.default_rng(data.draw(st.integers(0, 9))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "LEAST_CELLS", 0)
        patch.setattr(rounds, "MOST_EACH", data.draw(st.sampled_from([1, 2, 7, 32])))
        assert_same(rows, conditions, data.draw(st.integers(2, 4)))


def many_rows(n_rows=1500, seed=0):
    """Skewed rows: some are frequent, most are alone, and many partners cost the same."""
    random = np.random.default_rng(seed)
    ages = [str(age) for age in range(60)]
    tens = [f"{int(age) // 5}" for age in ages]
    trees = (
        Hierarchy.from_ladder("age", [ages, tens, [f"{int(one) // 2}x" for one in tens]]),
        Hierarchy.from_ladder("place", [list("abcdefghij"), list("vvwwwxxyyy")]),
        Hierarchy.from_ladder("sex", [["f", "m"]]),
    )
    nodes = np.stack(
        [(random.beta(0.7, 2.0, n_rows) * tree.n_leaves).astype(np.int32) for tree in trees]
    )
    return Rows(("age", "place", "sex"), nodes, trees)


@pytest.mark.parametrize("most_each", [1, 3, 32])
@pytest.mark.parametrize("workers", [2, 3, 8])
@pytest.mark.parametrize("k", [2, 9, 120])
def test_any_number_of_workers_makes_the_same_merges(always_shared, k, workers, most_each):
    always_shared(most_each)
    rows = many_rows()
    assert_same(rows, Conditions(k), workers)
    assert_same(with_costs(rows, np.random.default_rng(k)), Conditions(k), workers)


def test_other_conditions_make_the_same_merges(always_shared):
    # a merged group may be queued before candidates of the round: they wait for their turn
    always_shared(32)
    rows = many_rows(700)
    random = np.random.default_rng(1)
    conditions = Conditions(
        3,
        k_of_row=random.geometric(0.3, rows.n_rows).astype(np.int32),
        person_of_row=random.integers(0, 400, rows.n_rows).astype(np.int32),
        sensitive=(
            SensitiveCondition(random.integers(-1, 4, rows.n_rows).astype(np.int32), 4, l=3.0),
        ),
    )
    assert_same(with_costs(rows, random), conditions, 3)


def test_small_searches_are_not_shared(monkeypatch):
    n_rounds = []
    shared = rounds.merge_shared
    monkeypatch.setattr(
        rounds, "merge_shared", lambda *stated: n_rounds.append(1) or shared(*stated)
    )
    rows = many_rows()
    merged(rows, Conditions(5), workers=2)
    assert not n_rounds
    monkeypatch.setattr(rounds, "LEAST_CELLS", 500)
    merged(rows, Conditions(5), workers=2)
    assert n_rounds
    n_rounds.clear()
    merged(rows, Conditions(5), workers=1)
    assert not n_rounds


def test_ctrl_c_ends_shared_rounds(always_shared, monkeypatch):
    always_shared(2)
    monkeypatch.setattr(rounds, "is_abort_requested", lambda: True)
    with pytest.raises(KeyboardInterrupt):
        merged(many_rows(), Conditions(5), workers=2)


# ── the setting ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("stated", "n_threads", "n_workers"),
    [
        ({}, 4, 4),
        ({"workers": 1}, 4, 1),
        ({"workers": 3}, 4, 3),
        ({"workers": 9}, 4, 4),
        ({"preset": "gkaa"}, 4, 1),
        ({"preset": "pgkaa"}, 4, 4),
        ({"preset": "pgkaa", "workers": 2}, 4, 2),
        ({"preset": "pgkaa", "processors": 3}, 4, 3),
        ({"preset": "pgkaa", "processors": 32}, 4, 4),
        ({"preset": "pgpkaa", "processors": 32}, 4, 1),
        ({"preset": "h-pgpkaa", "processors": 2}, 8, 1),
        ({"preset": "h-pgpkaa", "processors": 32}, 8, 5),
        ({"preset": "h-pgpkaa", "processors": 32}, 2, 2),
    ],
)
def test_workers_are_as_stated_and_never_more_than_threads(stated, n_threads, n_workers, caplog):
    method = Greedy(**stated)
    with caplog.at_level("INFO", "incrowd"):
        assert method._workers_of(n_threads) == n_workers
    asked_for = method._stated_workers or method.workers
    assert ("workers are asked for" in caplog.text) == (asked_for > n_threads)


@pytest.mark.parametrize(
    ("stated", "word"),
    [
        ({"workers": -1}, "workers"),
        ({"workers": 2.0}, "workers"),
        ({"preset": "gkaa", "workers": 2}, "workers = 1"),
        ({"preset": "pgkaa", "processors": 4, "workers": 2}, "workers = 4"),
        ({"preset": "h-pgpkaa", "processors": 32, "workers": 2}, "workers = 5"),
    ],
)
def test_workers_that_are_refused(stated, word):
    with pytest.raises(JobError, match=word) as caught:
        Greedy(**stated)
    assert caught.value.remedy


@pytest.mark.parametrize(("threads", "n_groups", "each"), [(1, 5, 1), (2, 1, 2), (8, 3, 2)])
def test_an_engine_shares_its_threads_among_partitions(threads, n_groups, each):
    assert LocalEngine(threads).threads_within(n_groups) == each
    assert each * min(threads, n_groups) <= threads


@pytest.mark.parametrize("partitions", [1, 2, 3])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_run_takes_no_more_threads_than_stated(always_shared, monkeypatch, threads, partitions):
    always_shared(4)
    running, most = [], []
    lock = Lock()
    plain = rounds.list_partners

    def counted(*stated):
        with lock:
            running.append(1)
            most.append(len(running))
        try:
            return plain(*stated)
        finally:
            with lock:
                running.pop()

    monkeypatch.setattr(rounds, "list_partners", counted)
    rows = with_costs(many_rows(900), np.random.default_rng(3))
    method = Greedy(metric="ncp", partitions=partitions, repair="no")
    one = method.run(rows, Conditions(4), LocalEngine(1), 0, silent).nodes
    most.clear()
    again = method.run(rows, Conditions(4), LocalEngine(threads), 0, silent).nodes
    assert np.array_equal(again, one)
    assert max(most, default=1) <= threads
    assert bool(most) == (threads // min(threads, partitions) > 1)

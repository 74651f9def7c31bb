"""Effort as a word, a number or a time, and what is kept of it."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.engines.local.engine import LocalEngine
from incrowd.methods.cluster.method import Cluster
from incrowd.methods.shared.conditions import Conditions
from incrowd.methods.shared.options import parse_effort, seconds_of
from incrowd.methods.shared.recreate import blocks
from incrowd.methods.shared.recreate import blocks as budget
from incrowd.methods.shared.recreate.search import automatic_effort, first_heat
from incrowd.progress import silent
from oracles.generated import as_tuples, grid


def release(effort, rows, k=5, threads=1, seed=0):
    return Cluster(effort=effort).run(rows, Conditions(k), LocalEngine(threads), seed, silent)


@pytest.mark.parametrize(
    ("stated", "kept", "seconds"),
    [
        (0, "auto", 0),
        ("0", "auto", 0),
        ("auto", "auto", 0),
        (" Quick ", "quick", 0),
        ("full", "full", 0),
        (7, 7, 0),
        ("200000", 200_000, 0),
        ("200_000", 200_000, 0),
        ("10s", "10s", 10),
        ("0.5s", "0.5s", 0.5),
        (".25 s", ".25 s", 0.25),
        ("2m", "2m", 120),
        ("1.5h", "1.5h", 5400),
    ],
)
def test_ways_to_state_an_effort(stated, kept, seconds):
    assert parse_effort(stated) == kept
    assert Cluster(effort=stated).effort == kept
    assert seconds_of(kept) == seconds


def test_words_are_shares_of_the_automatic_effort():
    rows = grid(400)
    n_distinct = len(set(as_tuples(rows.nodes)))
    whole = automatic_effort(n_distinct, 5)
    for effort, expected in [("auto", whole), ("quick", whole // 4), ("full", 10 * whole), (9, 9)]:
        found = release(effort, rows).trace
        assert found.figures == {"iterations": expected}
        assert found.settings == {"effort": expected}
    assert first_heat(whole / 4 / n_distinct, 5) == 0.0
    assert first_heat(10 * whole / n_distinct, 5) > first_heat(whole / n_distinct, 5)


@pytest.mark.slow
@pytest.mark.parametrize("n_blocks", [1, 4])
def test_a_time_becomes_a_number_that_gives_the_same_release(n_blocks, monkeypatch):
    rows = grid(3000)
    if n_blocks > 1:
        monkeypatch.setattr(blocks, "LARGEST_WHOLE", 500)
        monkeypatch.setattr(blocks, "DISTINCT_PER_BLOCK", 300)
    wished = release("0.5s", rows, threads=2)
    iterations = wished.trace.settings["effort"]
    assert iterations >= budget.FIRST_CHANGES
    again = release(iterations, rows, threads=1)
    assert np.array_equal(wished.nodes, again.nodes)


@pytest.mark.slow
def test_a_longer_time_is_more_work_and_about_that_long():
    rows = grid(3000)
    short = release("0.2s", rows).trace.figures["iterations"]
    begun = time.perf_counter()
    long = release("1.5s", rows).trace.figures["iterations"]
    taken = time.perf_counter() - begun
    assert long > 2 * short
    # generous: the machine may be busy with other things
    assert 0.4 < taken < 6


@pytest.mark.parametrize("k", [2, 50, 100])
def test_the_shortest_time_and_the_smallest_tables(k):
    rows = grid(100)
    after = release("0.001s", rows, k)
    assert after.trace.figures["iterations"] >= budget.FIRST_CHANGES
    assert min(np.unique(after.nodes, axis=1, return_counts=True)[1]) >= k


def test_a_table_that_loses_nothing_ends_its_trial():
    rows = grid(1)
    same = rows.with_nodes(np.repeat(rows.nodes, 50, axis=1), np.zeros(50, dtype=np.bool_))
    assert np.array_equal(release("0.2s", same, 5).nodes, same.nodes)


positive = st.floats(1e-7, 1e-2)


@given(
    st.integers(1, 10**6),
    positive,
    positive,
    positive,
    st.floats(0.0, 2.0),
    st.floats(0.0, 100.0),
)
def test_the_pace_is_inverted(n_distinct, to_begin, per_change, per_list, lists, seconds):
    pace = budget.Pace(n_distinct, to_begin, per_change, per_list, lists)
    effort = pace.changes_per_row(seconds)
    if seconds <= to_begin:
        assert effort < 1e-6
    else:
        assert pace.seconds(effort) == pytest.approx(seconds, rel=1e-6)
        assert pace.seconds(1.01 * effort + 1e-9) >= pace.seconds(effort)

"""Our clustering of sets: valid always, exact about its worth, and good."""

import gzip
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import set_groups

from guarantees.small_sets import to_sets
from incrowd.engines.local.engine import LocalEngine
from incrowd.methods.cluster.sets import search as search_module
from incrowd.methods.cluster.sets import start
from incrowd.methods.cluster.sets.search import PartSearch, rounds_of, search
from incrowd.methods.shared.set_groups.part import Part
from incrowd.methods.shared.set_groups.vote import (
    KINDS,
    MAJORITY,
    SMOOTH,
    SUPPRESSION,
    SetConditions,
    shown,
    utility,
)
from tiers import examples

ONE = LocalEngine(threads=1)


def rows_of(sets):
    """Return Sets as rows of items, and check that they are sorted and distinct."""
    rows = []
    for start_of_row, end in zip(sets.starts[:-1], sets.starts[1:], strict=True):
        items = sets.items[start_of_row:end].tolist()
        assert items == sorted(set(items))
        rows.append(frozenset(items))
    return rows


def random_rows(seed, n_rows, n_items, n_types, flip=0.15):
    """Return rows of some types, with flips and a few empty ones."""
    random = np.random.default_rng(seed)
    types = random.random((n_types, n_items)) < 0.3
    rows = types[random.integers(0, n_types, n_rows)] ^ (random.random((n_rows, n_items)) < flip)
    rows[random.random(n_rows) < 0.05] = False
    return [frozenset(np.flatnonzero(row).tolist()) for row in rows]


def require_valid(rows, found, conditions):
    """Check groups, their numbering, the release and the figures against the definitions."""
    needs = conditions.needs(len(rows)).tolist()
    groups = found.group_of_row.tolist()
    assert found.group_of_row.dtype == np.int32
    assert list(dict.fromkeys(groups)) == list(range(max(groups) + 1))
    for group in set_groups.members(groups).values():
        assert len(group) >= max(needs[row] for row in group)
    sets = to_sets(rows)
    released = rows_of(shown(sets, found.group_of_row, conditions))
    assert set_groups.problems(rows, released, conditions.kind, conditions.vote, needs) == []
    best, kept, created = set_groups.best_utility(
        rows, groups, conditions.kind, conditions.vote, needs
    )
    assert set_groups.jaccard(rows, released) == best
    assert found.utility == utility(sets, found.group_of_row, conditions)
    assert found.utility.jaccard == pytest.approx(float(best))
    if conditions.kind != MAJORITY:
        assert (found.utility.kept, found.utility.created) == (kept, created)
    assert found.utility.suppressed == sum(map(len, rows)) - found.utility.kept


@st.composite
def problems(draw):
    """Draw rows, a promise that they can meet, and a seed."""
    n_rows = draw(st.integers(2, 40))
    rows = random_rows(
        draw(st.integers(0, 10**6)),
        n_rows,
        draw(st.integers(0, 12)),
        draw(st.integers(1, 6)),
        draw(st.sampled_from([0.0, 0.05, 0.3])),
    )
    k = draw(st.integers(1, min(n_rows, 9)))
    personal = None
    if draw(st.booleans()):
        largest = draw(st.integers(1, n_rows))
        some = st.lists(st.integers(1, largest), min_size=n_rows, max_size=n_rows)
        personal = np.array(draw(some), dtype=np.int32)
    conditions = SetConditions(
        draw(st.sampled_from(KINDS)), k, draw(st.sampled_from(["half", "strict"])), personal
    )
    return rows, conditions, draw(st.integers(0, 1000))


@examples(150)
@given(problems())
def test_groups_release_and_figures_are_right(problem):
    rows, conditions, seed = problem
    require_valid(
        rows, search(to_sets(rows), conditions, engine=ONE, seed=seed, effort=4), conditions
    )


@given(problems(), st.integers(2, 6))
def test_chunks_are_valid_whatever_their_number_and_the_threads(problem, n_chunks):
    rows, conditions, seed = problem
    sets = to_sets(rows)
    chunk_rows = max(1, len(rows) // n_chunks)
    found = search(sets, conditions, engine=ONE, seed=seed, effort=4, chunk_rows=chunk_rows)
    require_valid(rows, found, conditions)
    threads = LocalEngine(threads=3, block_rows=7)
    again = search(sets, conditions, engine=threads, seed=seed, effort=4, chunk_rows=chunk_rows)
    assert np.array_equal(found.group_of_row, again.group_of_row)


def test_every_engine_finds_the_same_groups(engine):
    rows = random_rows(11, 90, 15, 8)
    personal = np.random.default_rng(2).integers(2, 9, 90).astype(np.int32)
    conditions = SetConditions(SMOOTH, 3, k_of_row=personal)
    found = search(to_sets(rows), conditions, engine=engine, effort=3, chunk_rows=30)
    assert found.n_chunks == 3
    require_valid(rows, found, conditions)
    expected = search(to_sets(rows), conditions, engine=ONE, effort=3, chunk_rows=30)
    assert np.array_equal(found.group_of_row, expected.group_of_row)


@given(problems())
def test_no_pass_lowers_the_similarity(problem):
    rows, conditions, seed = problem
    sets = to_sets(rows)
    seen = []

    def tell(told):
        seen.append(told.utility.jaccard)
        return True

    part = Part(sets.starts, sets.items, sets.n_items, conditions.needs(len(rows)))
    group_of_row = PartSearch(conditions, 6, seed)(part, tell=tell)
    assert seen == sorted(seen)
    assert utility(sets, group_of_row, conditions).jaccard >= seen[-1] - 1e-12


@given(problems())
def test_given_groups_only_get_better_at_a_common_price(problem):
    rows, conditions, seed = problem
    sets = to_sets(rows)
    part = Part(sets.starts, sets.items, sets.n_items, conditions.needs(len(rows)))
    first = PartSearch(conditions, 0, seed)(part)
    before = utility(sets, first, conditions).jaccard
    better = PartSearch(conditions, 3, seed, price=before)(part, 1, first)
    assert utility(sets, better, conditions).jaccard >= before - 1e-12


@given(
    st.integers(0, 10**6),
    st.integers(4, 7),
    st.integers(2, 3),
    st.sampled_from(KINDS),
    st.sampled_from(["half", "strict"]),
)
def test_no_result_exceeds_the_optimum(seed, n_rows, k, kind, vote):
    rows = random_rows(seed, n_rows, 5, 3)
    conditions = SetConditions(kind, k, vote)
    found = search(to_sets(rows), conditions, engine=ONE, seed=seed)
    assert (
        found.utility.jaccard <= float(set_groups.optimum(rows, kind, vote, [k] * n_rows)) + 1e-12
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_is_found_often(kind):
    n_found = 0
    for seed in range(30):
        rows = random_rows(seed, 7, 6, 3, 0.1)
        found = search(to_sets(rows), SetConditions(kind, 2), engine=ONE, seed=seed)
        best = float(set_groups.optimum(rows, kind, "half", [2] * 7))
        n_found += found.utility.jaccard >= best - 1e-12
    assert n_found >= 24


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("rows", "k"),
    [
        ([frozenset()] * 5, 3),
        ([frozenset({0, 2})] * 7, 3),
        ([frozenset({0, 2})] * 7, 7),
        ([frozenset({number}) for number in range(5)], 5),
        ([frozenset({number}) for number in range(7)], 4),
        ([frozenset({number}) for number in range(7)], 1),
        ([frozenset({0}), frozenset(), frozenset({1}), frozenset(), frozenset()], 2),
        ([frozenset({0}), *[frozenset()] * 8], 3),
        ([frozenset({5})], 1),
    ],
)
def test_edges(rows, k, kind):
    conditions = SetConditions(kind, k)
    require_valid(rows, search(to_sets(rows), conditions, engine=ONE), conditions)
    in_chunks = search(to_sets(rows), conditions, engine=ONE, chunk_rows=2)
    require_valid(rows, in_chunks, conditions)


def test_equal_rows_lose_nothing():
    rows = [frozenset({group, group + 1, 9}) for group in (0, 3, 6) for _ in range(4 + group)]
    for kind in KINDS:
        found = search(to_sets(rows), SetConditions(kind, 4), engine=ONE)
        assert found.utility.jaccard == 1.0


def test_too_few_rows_are_the_callers_error():
    rows = [frozenset({0}), frozenset({1})]
    with pytest.raises(ValueError, match="fewer rows"):
        search(to_sets(rows), SetConditions(SMOOTH, 3), engine=ONE)
    personal = np.array([1, 3], dtype=np.int32)
    with pytest.raises(ValueError, match="fewer rows"):
        search(to_sets(rows), SetConditions(SMOOTH, 1, k_of_row=personal), engine=ONE)


def test_one_row_of_a_large_need_gathers_a_crowd():
    rows = random_rows(3, 60, 10, 5)
    personal = np.full(60, 2, dtype=np.int32)
    personal[17] = 50
    conditions = SetConditions(SUPPRESSION, 2, k_of_row=personal)
    found = search(to_sets(rows), conditions, engine=ONE)
    require_valid(rows, found, conditions)
    assert Counter(found.group_of_row.tolist())[found.group_of_row[17]] >= 50


@pytest.mark.parametrize("n_calls", [0, 1, 2, 3, 5, 9])
@pytest.mark.parametrize("chunk_rows", [1000, 30])
def test_a_wished_end_returns_valid_groups(monkeypatch, n_calls, chunk_rows):
    calls = iter(range(10**6))

    def is_stop_requested():
        return next(calls) >= n_calls

    for module in (search_module, start):
        monkeypatch.setattr(module, "is_stop_requested", is_stop_requested)
    monkeypatch.setattr("incrowd.methods.cluster.sets.search.is_stop_requested", is_stop_requested)
    monkeypatch.setattr(search_module, "GROUPS_PER_SLICE", 3)
    monkeypatch.setattr(start, "SEEDS_PER_SLICE", 5)
    rows = random_rows(n_calls, 120, 20, 9)
    conditions = SetConditions(SMOOTH, 4)
    found = search(to_sets(rows), conditions, engine=ONE, chunk_rows=chunk_rows)
    require_valid(rows, found, conditions)


@pytest.mark.parametrize("chunk_rows", [1000, 40])
def test_a_time_settles_a_number_of_passes(chunk_rows):
    sets = to_sets(random_rows(5, 200, 20, 9))
    conditions = SetConditions(SMOOTH, 4)
    found = search(sets, conditions, engine=ONE, effort="0.05s", chunk_rows=chunk_rows)
    again = search(sets, conditions, engine=ONE, effort=found.n_passes, chunk_rows=chunk_rows)
    assert np.array_equal(found.group_of_row, again.group_of_row)


def test_rounds_spend_all_passes():
    for n_passes in range(1, 50):
        rounds = rounds_of(n_passes)
        assert min(rounds) >= 1
        assert sum(rounds) == n_passes


def test_wide_rows_and_narrow_ones_go_through_lists_and_bitsets(monkeypatch):
    """Both ways to near rows lead to valid groups of like worth."""
    rows = random_rows(8, 400, 40, 20, 0.05)
    conditions = SetConditions(SMOOTH, 5)
    by_bits = search(to_sets(rows), conditions, engine=ONE)
    monkeypatch.setattr(start, "WIDEST_IN_BITS", 0)
    by_lists = search(to_sets(rows), conditions, engine=ONE)
    require_valid(rows, by_bits, conditions)
    require_valid(rows, by_lists, conditions)
    assert abs(by_bits.utility.jaccard - by_lists.utility.jaccard) < 0.02


def test_chunks_cost_little():
    """Rows of clear types that hashes may scatter meet again in the rounds of repair."""
    random = np.random.default_rng(1)
    types = [random.choice(300, 10, replace=False) for _ in range(150)]
    rows = []
    for _ in range(3000):
        kept = types[random.integers(150)]
        rows.append(frozenset(kept[random.random(10) < 0.8].tolist()))
    sets, conditions = to_sets(rows), SetConditions(SMOOTH, 8)
    whole = search(sets, conditions, engine=ONE, effort=8)
    parts = search(sets, conditions, engine=ONE, effort=8, chunk_rows=500)
    assert parts.n_chunks == 6
    assert parts.utility.jaccard > whole.utility.jaccard - 0.02


@pytest.mark.parametrize("chunk_rows", [1000, 40])
def test_progress_only_goes_on(chunk_rows):
    seen, total_told = [], []

    def progress(_stage, done, total, _loss=None):
        assert 0 <= done <= total
        seen.append(done)
        total_told.append(total)

    rows, engine = random_rows(1, 200, 20, 9), LocalEngine(threads=2)
    search(
        to_sets(rows),
        SetConditions(SMOOTH, 4),
        engine=engine,
        progress=progress,
        chunk_rows=chunk_rows,
    )
    assert seen == sorted(seen)
    assert seen[-1] == total_told[-1]


@pytest.mark.slow
@pytest.mark.skipif("INCROWD_DATA" not in os.environ, reason="INCROWD_DATA names no folder")
def test_adult_is_kept_better_than_in_the_papers():
    path = Path(os.environ["INCROWD_DATA"]) / "adult" / "adult.csv.gz"
    if not path.exists():
        pytest.skip("adult.csv.gz is not there")
    import csv

    names = ("workclass", "education", "marital-status", "occupation")
    names += ("relationship", "race", "sex", "native-country")
    number = {}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        rows = [
            frozenset(number.setdefault((name, line[name]), len(number)) for name in names)
            for line in csv.DictReader(lines)
        ]
    sets = to_sets(rows)
    assert (sets.n_rows, sets.n_items, sets.n_entries) == (32_561, 102, 260_488)
    for kind, least in ((SMOOTH, 0.910), (SUPPRESSION, 0.875)):
        found = search(sets, SetConditions(kind, 8), engine=ONE, effort="quick")
        assert found.utility.jaccard >= least
        assert np.bincount(found.group_of_row).min() >= 8

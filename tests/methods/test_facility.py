"""Facility location on sets: groups are large enough, costs are exact, chance is the seed's."""

from __future__ import annotations

import csv
import gzip
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guarantees.small_sets import N_ITEMS, rows_of_items, to_rows, to_sets
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import InfeasibleError, JobError
from incrowd.guarantees.sets.promises import Majority, SetEvidence, Smooth, Suppression
from incrowd.measures.losses.sets import measure_set_losses
from incrowd.methods.facility import search as cutting
from incrowd.methods.facility.location import (
    Work,
    best_of_orders,
    collapse_sets,
    facilities_at,
    nearest_facilities,
    nearest_sums,
)
from incrowd.methods.facility.method import Facility
from incrowd.methods.facility.search import merge_small, search
from incrowd.methods.shared.set_groups.chunks import chunks_of_rows
from incrowd.methods.shared.set_groups.vote import SetConditions, shown, utility
from incrowd.progress import silent
from incrowd.sets.sets import Sets
from methods.small_releases import shown_by
from oracles import set_groups
from oracles import sets as oracle
from tiers import examples

VARIANTS = ["practical", "alg1", "alg2"]
lists = st.lists(rows_of_items, min_size=2, max_size=24)


def working(seed=0, n_threads=1):
    return Work(np.random.default_rng(seed), n_threads, silent)


def assert_groups(group_of_row, needs):
    groups = group_of_row.tolist()
    assert group_of_row.dtype == np.int32
    seen = list(dict.fromkeys(groups))
    assert seen == list(range(len(seen)))  # numbered by their first rows
    for group in seen:
        members = [row for row, other in enumerate(groups) if other == group]
        assert len(members) >= max(needs[row] for row in members)


@pytest.mark.slow
@examples(80)
@given(lists, st.sampled_from(VARIANTS), st.integers(2, 5), st.booleans(), st.data())
def test_every_group_has_what_its_rows_ask_for(rows, variant, k, cut, data):
    k = min(k, len(rows))
    wishes = data.draw(
        st.none() | st.lists(st.integers(1, len(rows)), min_size=len(rows), max_size=len(rows))
    )
    k_of_row = None if wishes is None else np.asarray(wishes, dtype=np.int32)
    conditions = SetConditions("smooth", k, k_of_row=k_of_row)
    alpha = data.draw(st.sampled_from([0.125, 0.5, 0.9]))
    sets = to_sets(rows, N_ITEMS)
    found = search(sets, conditions, variant=variant, alpha=alpha, orders=2, cut=cut, seed=3)
    assert_groups(found.group_of_row, conditions.needs(len(rows)).tolist())
    again = search(sets, conditions, variant=variant, alpha=alpha, orders=2, cut=cut, seed=3)
    assert again.group_of_row.tolist() == found.group_of_row.tolist()
    if not cut:
        group_of_set = {}
        for row, group in zip(rows, found.group_of_row.tolist(), strict=True):
            assert group_of_set.setdefault(frozenset(row), group) == group


@given(lists, st.sampled_from(VARIANTS), st.permutations(range(N_ITEMS)), st.booleans())
def test_numbers_of_items_have_no_influence(rows, variant, number_of_item, cut):
    conditions = SetConditions("smooth", min(3, len(rows)))
    renamed = [{number_of_item[item] for item in row} for row in rows]
    found, again = (
        search(to_sets(some, N_ITEMS), conditions, variant=variant, orders=2, cut=cut)
        for some in (rows, renamed)
    )
    assert (found.group_of_row == again.group_of_row).all()


def test_settings_of_another_variant_have_no_effect():
    sets = stochastic(4, n=128, s=16)
    for variant, others in (
        ("practical", {"alpha": 0.1}),
        ("alg1", {"alpha": 0.1, "beta": 5.0, "orders": 1}),
        ("alg2", {"beta": 5.0}),
    ):
        found, again = (
            search(sets, SetConditions("smooth", 4), variant=variant, **stated)
            for stated in ({}, others)
        )
        assert (found.group_of_row == again.group_of_row).all()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "rows",
    [
        [set()] * 9,
        [{0, 1}] * 9,
        [{0}, {1}, {2}],
        [{0}, {1}, {2}, {3}, {4}],
        [set(), set(), set(), {0}, {1}, {2}],
    ],
    ids=["empty", "equal", "n = k", "n < 2k", "half empty"],
)
def test_narrow_cases(variant, rows):
    conditions = SetConditions("smooth", 3)
    found = search(to_sets(rows, N_ITEMS), conditions, variant=variant)
    assert_groups(found.group_of_row, [3] * len(rows))


@pytest.mark.parametrize("variant", VARIANTS)
def test_too_few_rows_are_infeasible(variant):
    with pytest.raises(InfeasibleError):
        search(to_sets([{0}, {1}]), SetConditions("smooth", 3), variant=variant)
    own = np.asarray([1, 4, 1], dtype=np.int32)
    with pytest.raises(InfeasibleError):
        search(to_sets([{0}, {1}, {2}]), SetConditions("smooth", 2, k_of_row=own), variant=variant)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("rows", "wishes"),
    [
        # a star around {5} would take {5, 6}, who asks for more rows than are left
        ([{0}, {0, 1}, {5}, {5, 6}, {6}], [2, 2, 2, 5, 2]),
        # {9} is left over and asks for more rows than its nearest star has
        ([{0}, {0, 1}, {5}, {5, 6}, {9}], [2, 2, 2, 2, 5]),
    ],
)
def test_stars_meet_demands_of_newcomers(rows, wishes, seed):
    conditions = SetConditions("smooth", 2, k_of_row=np.asarray(wishes, dtype=np.int32))
    found = search(to_sets(rows, 10), conditions, variant="alg1", cut=False, seed=seed)
    assert found.group_of_row.tolist() == [0] * 5


def merged(rows, number_of_distinct, facility, k=4):
    distinct = collapse_sets(to_sets(rows, N_ITEMS), SetConditions("smooth", k))
    group_of_distinct = merge_small(
        distinct,
        np.asarray(number_of_distinct, dtype=np.int32),
        np.asarray(facility, dtype=np.int32),
        working(),
    )
    return np.unique(group_of_distinct[distinct.distinct_of_row], return_inverse=True)[1].tolist()


def test_what_is_left_over_takes_rows_that_can_be_spared():
    # three rows lack one; of the five others {0, 1} is the nearest
    rows = [{0}, {0}, {0}, {1}, {0, 1}, {1, 2}, {1, 3}, {1, 4}]
    groups = merged(rows, [0, 1, 1, 1, 1, 1], [0, 1])
    assert groups == [0, 0, 0, 1, 0, 1, 1, 1]


def test_what_is_left_over_joins_where_nothing_can_be_spared():
    # the nearest rows are four equal ones, and without them the other group would be one row
    groups = merged([{0}] * 3 + [{1}] * 4 + [{2}], [0, 1, 1], [0, 1])
    assert groups == [0] * 8


def test_small_clusters_are_merged_to_under_2k():
    rows = [{0}] * 3 + [{1}] * 3 + [{2}] * 3 + [{3}] * 3
    groups = merged(rows, [0, 1, 2, 3], [0, 1, 2, 3])
    assert sorted(np.bincount(groups).tolist()) == [6, 6]


@given(lists, st.integers(1, 30))
def test_opening_costs_are_exact(rows, n_nearest):
    """Histograms of touched and untouched rows give what sorting all distances gives."""
    distinct = collapse_sets(to_sets(rows, N_ITEMS), SetConditions("smooth", 2))
    wanted = np.full(distinct.n_distinct, n_nearest, dtype=np.int64)
    summed = nearest_sums(distinct, wanted, working())
    for row, items in enumerate(rows):
        distances = sorted(oracle.hamming(items, other) for other in rows)
        assert summed[distinct.distinct_of_row[row]] == sum(distances[:n_nearest])


@given(lists, st.integers(0, 5))
def test_location_costs_what_it_says_and_everybody_is_at_the_nearest(rows, seed):
    distinct = collapse_sets(to_sets(rows, N_ITEMS), SetConditions("smooth", 2))
    different = [
        next(r for r, a in zip(rows, distinct.distinct_of_row, strict=True) if a == number)
        for number in range(distinct.n_distinct)
    ]
    cost = np.asarray([2.0 * len(row) for row in different])
    location = best_of_orders(distinct, cost, 3, working(seed))
    centres = [different[number] for number in location.facility.tolist()]
    ways = [min(oracle.hamming(row, centre) for centre in centres) for row in rows]
    total = sum(ways) + sum(cost[location.facility])
    assert location.cost == pytest.approx(total)
    for row, way in zip(rows, ways, strict=True):
        number = different.index(row)
        assert location.distance_of_distinct[number] == way
        assert oracle.hamming(row, centres[location.number_of_distinct[number]]) == way


def test_free_facilities_open_wherever_a_row_is_not_at_one():
    distinct = collapse_sets(to_sets([{0}, {1}, {0}, {2}, set()]), SetConditions("smooth", 2))
    location = best_of_orders(distinct, np.zeros(distinct.n_distinct), 1, working())
    assert location.facility.tolist() == [0, 1, 2, 3]
    assert location.cost == 0.0


def test_nearest_is_among_those_without_a_common_item_too():
    distinct = collapse_sets(
        to_sets([{0}, {1, 2, 3, 4}, {0, 1, 2, 3, 4}]), SetConditions("smooth", 2)
    )
    nearest, distance = nearest_facilities(
        distinct, facilities_at(distinct, np.asarray([0, 1], dtype=np.int32)), working()
    )
    assert nearest.tolist() == [0, 1, 1]
    assert distance.tolist() == [0, 0, 1]


def stochastic(seed, n=1024, s=64, q=0.8, p=0.01):
    """The block model of Esfandiari et al. 2022, §4.2."""
    rng = np.random.default_rng(seed)
    block = np.arange(n) // s
    is_entry = rng.random((n, n)) < np.where(block[:, None] == block[None, :], q, p)
    starts = np.concatenate([[0], np.cumsum(is_entry.sum(1))]).astype(np.int64)
    return Sets(starts, np.nonzero(is_entry)[1].astype(np.int32), n)


GUARANTEES = {"smooth": Smooth, "majority": Majority, "suppression": Suppression}


def jaccard(sets, kind, k, **options):
    found = search(sets, SetConditions(kind, k), **options)
    released = shown_by(sets, found.group_of_row, kind, k)
    evidence = SetEvidence(released, sets, np.arange(sets.n_rows), keeps_order=True)
    assert all(finding.holds is not False for finding in GUARANTEES[kind](k).check(evidence))
    return measure_set_losses(sets, released).jaccard


@pytest.mark.parametrize("variant", VARIANTS)
def test_block_model_is_kept_as_well_as_in_the_paper(variant):
    sets = stochastic(0)
    assert jaccard(sets, "smooth", 8, variant=variant, cut=False) >= 0.681
    assert jaccard(sets, "suppression", 8, variant=variant) >= 0.164


def test_cutting_keeps_more_and_makes_groups_under_2k():
    sets = stochastic(1, n=256, s=32)
    whole = search(sets, SetConditions("smooth", 4), cut=False).group_of_row
    cut = search(sets, SetConditions("smooth", 4), cut=True).group_of_row
    assert np.bincount(whole).max() >= 8 > np.bincount(cut).max()
    for group in np.unique(cut):
        assert len(set(whole[cut == group].tolist())) == 1
    kept = jaccard(sets, "suppression", 4, cut=True)
    assert kept > jaccard(sets, "suppression", 4, cut=False) + 0.05


def test_large_groups_are_cut_in_spans(monkeypatch):
    monkeypatch.setattr(cutting, "MOST_MEMBERS", 40)
    sets = stochastic(1, n=256, s=64)
    group_of_row = search(sets, SetConditions("smooth", 4)).group_of_row
    assert_groups(group_of_row, [4] * 256)
    assert np.bincount(group_of_row).max() < 8


def test_threads_change_nothing_and_the_seed_does():
    sets = stochastic(2, n=2048, s=32)
    one = search(sets, SetConditions("smooth", 8), orders=3, seed=1)
    for n_threads in (2, 5):
        engine = LocalEngine(n_threads)
        same = search(sets, SetConditions("smooth", 8), orders=3, seed=1, engine=engine)
        assert (one.group_of_row == same.group_of_row).all()
        assert one.figures == same.figures
    other = search(sets, SetConditions("smooth", 8), orders=3, seed=2)
    assert (one.group_of_row != other.group_of_row).any()


@examples(60)
@given(lists, st.sampled_from(VARIANTS), st.integers(2, 5), st.integers(1, 12), st.data())
def test_chunks_are_valid_whatever_their_size_and_the_threads(rows, variant, k, chunk_rows, data):
    """No chunk has fewer rows than any row asks for, so every release passes the definitions."""
    k = min(k, len(rows))
    wishes = data.draw(
        st.none() | st.lists(st.integers(1, len(rows)), min_size=len(rows), max_size=len(rows))
    )
    own = None if wishes is None else np.asarray(wishes, dtype=np.int32)
    kind = data.draw(st.sampled_from(sorted(GUARANTEES)))
    conditions = SetConditions(kind, k, k_of_row=own)
    sets = to_sets(rows, N_ITEMS)
    settings = {"variant": variant, "orders": 2, "chunk_rows": chunk_rows, "seed": 3}
    settings["repairs"] = data.draw(st.integers(0, 2))
    found = search(sets, conditions, **settings)
    needs = conditions.needs(len(rows)).tolist()
    assert_groups(found.group_of_row, needs)
    released = to_rows(shown(sets, found.group_of_row, conditions))
    assert set_groups.problems(rows, released, kind, "half", needs) == []
    engine = LocalEngine(threads=3, block_rows=5)
    again = search(sets, conditions, engine=engine, **settings)
    assert again.group_of_row.tolist() == found.group_of_row.tolist()
    alone = search(sets, conditions, **{**settings, "repairs": 0})
    kept, before = (utility(sets, one.group_of_row, conditions) for one in (found, alone))
    assert kept.jaccard >= before.jaccard  # a repair counts only if it is one


@given(lists, st.integers(1, 12), st.integers(1, 8), st.integers(0, 5))
def test_no_chunk_is_smaller_than_what_a_row_asks_for(rows, chunk_rows, need, seed):
    """Chunks are even: there is no last one to be joined with its neighbour."""
    own = np.ones(len(rows), dtype=np.int32)
    own[seed % len(rows)] = min(need, len(rows))
    conditions = SetConditions("smooth", 1, k_of_row=own)
    sizes = np.bincount(chunks_of_rows(to_sets(rows, N_ITEMS), conditions, chunk_rows, seed))
    assert sizes.sum() == len(rows)
    assert sizes.min() >= own.max()
    assert sizes.max() - sizes.min() <= 1
    assert len(sizes) == max(1, min(round(len(rows) / chunk_rows), len(rows) // own.max()))


def test_every_engine_finds_the_same_groups_in_chunks(engine):
    sets = stochastic(6, n=256, s=16)
    own = np.random.default_rng(2).integers(2, 9, 256).astype(np.int32)
    conditions = SetConditions("smooth", 4, k_of_row=own)
    settings = {"orders": 2, "chunk_rows": 60}
    expected = search(sets, conditions, **settings)
    found = search(sets, conditions, engine=engine, **settings)
    assert found.figures == expected.figures
    assert found.figures["chunks"] == 4
    assert_groups(found.group_of_row, conditions.needs(256).tolist())
    assert (found.group_of_row == expected.group_of_row).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_chunk_is_the_whole(variant):
    """Up to half as many rows again as a chunk has, or where one row asks for all the others."""
    sets = stochastic(6, n=128, s=16)
    whole = search(sets, SetConditions("smooth", 4), variant=variant, orders=2)
    one = search(sets, SetConditions("smooth", 4), variant=variant, orders=2, chunk_rows=86)
    assert "chunks" not in one.figures
    assert (whole.group_of_row == one.group_of_row).all()
    own = np.full(128, 2, dtype=np.int32)
    own[7] = 100
    conditions = SetConditions("smooth", 2, k_of_row=own)
    whole = search(sets, conditions, variant=variant, orders=2)
    one = search(sets, conditions, variant=variant, orders=2, chunk_rows=30)
    assert (whole.group_of_row == one.group_of_row).all()


def test_rows_that_hashes_kept_apart_meet_again():
    sets = stochastic(5, n=1024, s=32)
    whole = jaccard(sets, "smooth", 8, orders=2)
    alone = jaccard(sets, "smooth", 8, orders=2, chunk_rows=250, repairs=0)
    repaired = jaccard(sets, "smooth", 8, orders=2, chunk_rows=250)
    assert alone + 0.1 < repaired > whole - 0.06


def test_progress_of_chunks_only_goes_on():
    seen = []

    def progress(_stage, done, total, _loss=None):
        assert 0 <= done <= total
        seen.append(done / total)

    sets, engine = stochastic(5, n=512, s=32), LocalEngine(threads=2)
    conditions = SetConditions("smooth", 8)
    search(sets, conditions, orders=2, chunk_rows=120, engine=engine, progress=progress)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_more_orders_never_cost_more():
    sets = stochastic(3, n=256, s=32)
    distinct = collapse_sets(sets, SetConditions("smooth", 4))
    cost = 2.0 * nearest_sums(distinct, np.full(distinct.n_distinct, 8), working())
    costs = [best_of_orders(distinct, cost, n, working(7)).cost for n in (1, 3, 10)]
    assert costs == sorted(costs, reverse=True)


@pytest.mark.slow
def test_adult_is_kept_as_well_as_in_the_paper():
    folder = os.environ.get("INCROWD_DATA")
    if not folder:
        pytest.skip("INCROWD_DATA is not set")
    with gzip.open(Path(folder) / "adult" / "adult.csv.gz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = "workclass education marital-status occupation relationship race sex native-country"
    columns, n_items = [], 0
    for name in names.split():
        values, codes = np.unique([row[name] for row in rows], return_inverse=True)
        columns.append(codes + n_items)
        n_items += len(values)
    starts = np.arange(len(rows) + 1, dtype=np.int64) * len(columns)
    sets = Sets(starts, np.stack(columns, axis=1).ravel().astype(np.int32), n_items)
    assert (sets.n_rows, sets.n_items, sets.n_entries) == (32_561, 102, 260_488)
    assert jaccard(sets, "smooth", 8, orders=2, cut=False) >= 0.850
    assert jaccard(sets, "suppression", 8, orders=2) >= 0.648


def test_method_passes_its_settings_on():
    sets = stochastic(4, n=128, s=16)
    method = Facility(variant="alg2", alpha=0.25, orders=2, cut=False)
    found = method.search(sets, SetConditions("smooth", 4), None, 5, silent)
    direct = search(
        sets, SetConditions("smooth", 4), variant="alg2", alpha=0.25, orders=2, cut=False, seed=5
    )
    assert found.figures == direct.figures
    assert (found.group_of_row == direct.group_of_row).all()


@pytest.mark.parametrize(
    "bad",
    [
        {"variant": "alg3"},
        {"alpha": 0.0},
        {"alpha": 1.0},
        {"alpha": "half"},
        {"beta": 1.0},
        {"beta": float("nan")},
        {"orders": 0},
        {"orders": 1.5},
        {"cut": 1},
        {"chunk_rows": 999},
        {"repairs": -1},
        {"repairs": True},
    ],
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(JobError):
        Facility(**bad)


def test_small_release_helper_agrees_with_the_oracle():
    rows = [{0, 1}, {0}, {1, 2}, {2}, {2, 3}]
    group_of_row = np.asarray([0, 0, 1, 1, 1], dtype=np.int32)
    for kind in GUARANTEES:
        released = to_rows(shown_by(to_sets(rows, 4), group_of_row, kind, 2))
        assert released == oracle.shown(kind, "half", 2, rows, group_of_row.tolist())


def test_suppression_keeps_next_to_nothing_of_dense_blocks():
    """Theorem 4.4: with k ≥ 2 ln n / ln 1/q no set of a release has more than t items.

    The blocks themselves, smoothed, keep nearly all of it.
    """
    q = 0.8
    sets = stochastic(0, n=1024, s=256, q=q)
    k = math.ceil(2 * math.log(1024) / math.log(1 / q))
    most = (2 * math.log(1024) + 10) / math.log(1 / q)
    assert sets.sizes.mean() > 1.9 * most  # the bound says something here
    for variant in VARIANTS:
        found = search(sets, SetConditions("suppression", k), variant=variant, orders=2)
        released = shown_by(sets, found.group_of_row, "suppression", k)
        assert released.sizes.max() <= most
        assert jaccard(sets, "smooth", k, variant=variant, orders=2) > 0.7

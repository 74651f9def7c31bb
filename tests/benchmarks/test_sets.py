"""The workload sets: generated sets, data as coded, what is refused, and near rows."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.sets import data, neighbours, paper, runs
from benchmarks.sets.data import (
    SMALL,
    SetData,
    block_model,
    playstore_sets,
    user_lists,
)
from benchmarks.sets.page import TABLES
from incrowd.errors import JobError
from incrowd.sets.sets import Sets

TINY = replace(SMALL, queries=30, slow_queries=5)

SAMPLES = {
    "block model": lambda seed: block_model(128, 16, seed=seed),
    "user lists": lambda seed: user_lists(500, 1_000, seed=seed),
}


def rows_of(sets):
    return [
        sets.items[start:end].tolist()
        for start, end in zip(sets.starts[:-1].tolist(), sets.starts[1:].tolist(), strict=True)
    ]


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_sets_and_follow_their_seed(name):
    sets = SAMPLES[name](3)
    for row in rows_of(sets):
        assert row == sorted(set(row))
    assert 0 <= sets.items.min() <= sets.items.max() < sets.n_items
    again, other = SAMPLES[name](3), SAMPLES[name](4)
    assert (sets.starts == again.starts).all()
    assert (sets.items == again.items).all()
    assert rows_of(sets) != rows_of(other)


def test_the_block_model_has_its_probabilities():
    sets = block_model()
    assert (sets.n_rows, sets.n_items) == (1024, 1024)
    rows = np.repeat(np.arange(1024), sets.sizes)
    is_inside = rows // 64 == sets.items // 64
    # five deviations of the binomials around their means
    assert abs(is_inside.sum() - 0.8 * 1024 * 64) < 5 * np.sqrt(0.16 * 1024 * 64)
    n_outside = 1024 * (1024 - 64)
    assert abs((~is_inside).sum() - 0.01 * n_outside) < 5 * np.sqrt(0.01 * n_outside)
    per_place = np.bincount(sets.items[is_inside] % 64, minlength=64)
    assert per_place.min() > 0.7 * 1024
    assert per_place.max() < 0.9 * 1024
    assert set(np.unique(sets.items[~is_inside] // 64).tolist()) == set(range(16))


def test_the_ends_of_the_block_model():
    full = block_model(8, 4, 1.0, 0.0)
    assert rows_of(full) == [[0, 1, 2, 3]] * 4 + [[4, 5, 6, 7]] * 4
    swapped = block_model(8, 4, 0.0, 1.0)
    assert rows_of(swapped) == [[4, 5, 6, 7]] * 4 + [[0, 1, 2, 3]] * 4
    assert block_model(4, 4, 0.5).n_rows == 4


def test_user_lists_are_about_as_long_as_asked_and_popular_by_rank():
    sets = user_lists(20_000, 5_000, mean_size=10)
    assert 9 < sets.sizes.mean() < 11
    counts = np.sort(np.bincount(sets.items, minlength=5_000))[::-1]
    assert counts[0] > 10 * counts[200] > 0  # few items are everywhere
    alike = len({tuple(row) for row in rows_of(user_lists(5_000, 5_000, 4, n_types=20))})
    apart = len({tuple(row) for row in rows_of(user_lists(5_000, 5_000, 4, n_types=5_000))})
    assert alike < apart  # people of a type have lists in common


def test_blocks_of_rows_do_not_depend_on_how_many_follow(monkeypatch):
    monkeypatch.setattr(data, "_BLOCK_ROWS", 100)
    short, long = user_lists(200, 1_000), user_lists(350, 1_000)
    assert rows_of(short) == rows_of(long)[:200]


@pytest.mark.parametrize(
    "make",
    [
        lambda: block_model(100, 64),
        lambda: block_model(64, 0),
        lambda: block_model(64, 64, inside=1.5),
        lambda: user_lists(0),
        lambda: user_lists(1 << 31),
        lambda: user_lists(10, 0),
        lambda: user_lists(10, 10, mean_size=8),
        lambda: user_lists(10, n_types=0),
    ],
)
def test_samples_that_cannot_be_drawn(make):
    with pytest.raises(JobError) as caught:
        make()
    assert caught.value.remedy


# ── what the paper's text leaves open ───────────────────────────────────────────────────────────


def cut_by_first_column(rows, columns, k):
    """Strict Mondrian on binary columns, record by record."""
    for column in columns:
        zeros = [row for row in rows if column not in row[1]]
        ones = [row for row in rows if column in row[1]]
        # the median is the smaller value, the other lies above it, and both sides are large enough
        if len(zeros) >= len(rows) // 2 >= k and min(len(zeros), len(ones)) >= k:
            return cut_by_first_column(zeros, columns, k) + cut_by_first_column(ones, columns, k)
    return [sorted(number for number, _ in rows)]


@pytest.mark.parametrize("seed", range(4))
def test_mondrian_cuts_by_the_first_column(seed):
    sets = block_model(64, 16, 0.6, 0.1, seed=seed)
    columns = np.random.default_rng([seed, 0xF1]).permutation(64).tolist()
    rows = list(enumerate(set(row) for row in rows_of(sets)))
    found = paper.first_column_groups(sets, 4, seed)
    groups = [np.flatnonzero(found == group).tolist() for group in np.unique(found)]
    assert sorted(groups) == sorted(cut_by_first_column(rows, columns, 4))


def test_clusters_are_divided_into_as_many_parts_as_they_have_room_for():
    groups = np.repeat([0, 1, 2], [8, 15, 33]).astype(np.int32)
    parts = paper.divide(groups, 8, seed=1)
    for group, sizes in enumerate(([8], [15], [8, 8, 8, 9])):
        of_group = parts[groups == group]
        assert sorted(np.unique(of_group, return_counts=True)[1].tolist()) == sizes
        assert not set(of_group.tolist()) & set(parts[groups != group].tolist())
    assert (paper.divide(groups, 8, seed=2) != parts).any()


# ── data ────────────────────────────────────────────────────────────────────────────────────────


def test_apps_are_coded_as_stated(tmp_path):
    names = "App,Category,Rating,Reviews,Size,Installs,Type,Price,Content Rating,Genres"
    lines = [
        f"{names},Last Updated,Current Ver,Android Ver",
        'a,G,4.1,159,19M,1+,Free,0,Teen,Art,"January 7, 2018",1,4.0',
        'b,G,4.1,255,17M,1+,Free,0,Teen,Art,"March 30, 2018",2,4.0',  # the same bins
        'c,G,4.1,256,201k,1+,Free,0,Teen,Art,"April 1, 2018",1,4.0',  # other bins in three
        'd,G,NaN,256,201k,1+,Free,0,Teen,Art,"April 1, 2018",1,4.0',  # a rating is missing
    ]
    (tmp_path / "apps.csv").write_text("\n".join(lines) + "\n")
    found = playstore_sets(tmp_path / "apps.csv")
    assert found.n_rows == 3
    rows = found.items.reshape(3, 10)
    assert (rows[0] == rows[1]).all()
    assert (rows[0] != rows[2]).sum() == 3
    assert found.n_items == 13


def test_data_have_the_paper_s_shapes():
    folder = os.environ.get("INCROWD_DATA")
    if not folder:
        pytest.skip("needs the data sets (INCROWD_DATA)")
    adult = SetData("adult").record(Path(folder))
    assert (adult["n_rows"], adult["n_items"], adult["n_entries"]) == (32_561, 102, 260_488)
    graph = SetData("ca-condmat").record(Path(folder))
    assert (graph["n_rows"], graph["n_items"]) == (21_363, 21_363)
    apps = SetData("playstore").record(Path(folder))
    assert apps["n_entries"] == 10 * apps["n_rows"]


# ── what is looked at after a run ───────────────────────────────────────────────────────────────


def test_a_release_that_breaks_its_promise_does_not_count(tmp_path):
    given = SetData("block-model", 64, 16).instances(tmp_path)[0]
    groups = tmp_path / "groups.npy"
    np.save(groups, (np.arange(64) // 8).astype(np.int32))
    found = runs.look_at(given, {"k": 8}, "smooth", groups)
    assert found["n_groups"] <= 8
    with pytest.raises(RuntimeError, match="the audit refused"):
        runs.look_at(given, {"k": 9}, "smooth", groups)


def test_means_and_deviations():
    run = dict.fromkeys((*runs.MEASURED, "n_kept", "n_groups", "largest_group"), 1.0)
    seeds = [
        {**run, "jaccard": 0.5, "peak_memory_bytes": 3},
        {**run, "jaccard": 0.7, "peak_memory_bytes": 2},
    ]
    found = runs.average(seeds)
    assert found["jaccard"] == 0.6
    assert found["jaccard_deviation"] == pytest.approx(0.141421, abs=1e-6)
    assert found["peak_memory_bytes"] == 3
    assert "jaccard_deviation" not in runs.average(seeds[:1])


def test_what_is_not_run_says_why(tmp_path):
    case = {"method": "facility", "settings": {"cut": False}, "k": 8, "outcome": "too slow"}
    assert runs.brief(case) is None
    assert runs.measure_case([], case, tmp_path) == [{}]
    run = {"data": {"n_rows": 1, "n_items": 1, "n_entries": 1}, **case}
    about = {"commit": "c", "machine": {"cores": 1}, "is_small": False}
    measured = {"parts": {"tables": {"results": {"retail": {**about, "runs": [run]}}}}}
    assert "uncut as in the paper on retail: too slow" in TABLES["sets-jaccard"](measured)


# ── near rows ───────────────────────────────────────────────────────────────────────────────────


def some_sets(n_rows=40, n_items=30, seed=0):
    draw = np.random.default_rng(seed)
    lists = [np.flatnonzero(draw.random(n_items) < 0.2) for _ in range(n_rows)]
    lists[3] = lists[7]
    starts = np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)
    return Sets(starts, np.concatenate(lists).astype(np.int32), n_items)


def by_trying_all(rows, question, n_nearest):
    lists = [
        set(rows.items[a:b].tolist()) for a, b in zip(rows.starts, rows.starts[1:], strict=False)
    ]
    found = []
    for place, one in enumerate(lists):
        others = [other for spot, other in enumerate(lists) if spot != place]
        if question == "jaccard":
            alike = sorted(len(one & other) / max(len(one | other), 1) for other in others)
            found.append(alike[::-1][:n_nearest])
        else:
            found.append(sum(sorted(len(one ^ other) for other in others)[:n_nearest]))
    return np.array(found, dtype=np.float64)


@pytest.mark.parametrize("n_items", [30, 300])  # by bitsets, by lists
def test_near_rows_by_trying_all(n_items):
    rows = neighbours.different_rows(some_sets(n_items=n_items))
    assert rows.n_rows == 39
    for question, ours in (
        ("jaccard", neighbours.most_alike),
        ("hamming", neighbours.nearest_summed),
    ):
        wanted = by_trying_all(rows, question, 5)
        assert np.allclose(ours(rows, 5), wanted)
        asked = np.arange(0, 39, 3)
        found = neighbours.by_products(question, rows, asked, 5)
        assert np.allclose(found, wanted[asked])
        found = neighbours.by_scikit_learn(question, rows, asked, 5)
        assert np.allclose(found, wanted[asked], atol=1e-5)


def test_other_neighbours_are_refused(monkeypatch):
    monkeypatch.setattr(neighbours, "by_scikit_learn", neighbours.by_products)
    given = some_sets()
    ways = [one["way"] for one in neighbours.compare_ways("hamming", given, TINY)]
    assert ways == ["incrowd", "SciPy", "scikit-learn"]
    wrong = neighbours.nearest_summed
    monkeypatch.setattr(neighbours, "nearest_summed", lambda *some: wrong(*some) + 1)
    with pytest.raises(RuntimeError, match="other nearest rows"):
        neighbours.compare_ways("hamming", given, TINY)

"""Microaggregation: MDAV as the papers tell it, and a search that is never worse."""

import csv
import gzip
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.methods.microaggregate import kernels as kernel_start
from incrowd.methods.microaggregate import search as searching
from incrowd.methods.microaggregate.search import search, spread_of, standardize
from oracles import microaggregation as oracle
from tiers import examples


@st.composite
def tables(draw, most_rows=40):
    k = draw(st.integers(3, 5))
    n_columns = draw(st.integers(1, 3))
    # coordinates are whole, so that distances and ties are exact in both
    row = st.tuples(*[st.integers(-9, 9)] * n_columns)
    return draw(st.lists(row, min_size=k, max_size=most_rows)), k


def points_of(rows):
    return np.ascontiguousarray(np.asarray(rows, dtype=np.float64))


def groups_of(group_of_row):
    return sorted(np.flatnonzero(group_of_row == g).tolist() for g in np.unique(group_of_row))


def test_mdav_of_points_without_ties_is_that_of_the_paper():
    random = np.random.default_rng(5)
    for n_rows, k in [(60, 3), (61, 4), (47, 5), (9, 3), (5, 3)]:
        rows = [tuple(map(int, row)) for row in random.integers(0, 10**7, (n_rows, 4))]
        found = kernel_start.mdav(points_of(rows), k)
        assert groups_of(found) == sorted(map(sorted, oracle.mdav(rows, k)))


@given(tables(), st.integers(0, 3))
def test_groups_are_valid_and_never_worse_than_mdav(table, seed):
    rows, k = table
    points = points_of(rows)
    group_of_row, n_changes, n_tried = search(points, k, 150, seed)
    groups = groups_of(group_of_row)
    assert sorted(row for group in groups for row in group) == list(range(len(rows)))
    assert min(map(len, groups)) >= k
    assert len(groups) == 1 or max(map(len, groups)) < 2 * k
    assert n_changes == 150
    assert n_tried == (150 if len(rows) >= 2 * k else 0)
    found = oracle.spread(rows, groups)
    assert float(found) == pytest.approx(spread_of(points, group_of_row))
    in_order = sorted(range(len(rows)), key=lambda row: rows[row])
    start = groups_of(kernel_start.mdav(points[in_order], k))
    assert found <= oracle.spread([rows[row] for row in in_order], start) + Fraction(1, 10**6)


@examples(15)
@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=6, max_size=9))
def test_small_tables_are_grouped_best(rows):
    best = min(oracle.spread(rows, g) for g in oracle.partitions(list(range(len(rows))), 3))
    group_of_row, _, _ = search(points_of(rows), 3, 300, 0)
    assert float(oracle.spread(rows, groups_of(group_of_row))) == pytest.approx(float(best))


def test_same_seed_same_groups_and_the_order_of_rows_does_not_matter():
    random = np.random.default_rng(2)
    points = standardize(random.lognormal(0, 1, (200, 3)))
    one, other = search(points, 4, 800, 1)[0], search(points, 4, 800, 1)[0]
    assert np.array_equal(one, other)
    assert not np.array_equal(one, search(points, 4, 800, 2)[0])
    order = random.permutation(200)
    shuffled = search(np.ascontiguousarray(points[order]), 4, 800, 1)[0]
    back = np.empty(200, dtype=np.int32)
    back[order] = shuffled
    assert groups_of(one) == groups_of(back)


def test_large_tables_are_searched_in_blocks(monkeypatch):
    monkeypatch.setattr(searching, "MOST_BLOCK_ROWS", 60)
    points = standardize(np.random.default_rng(4).normal(size=(300, 2)))
    group_of_row, n_changes, n_tried = search(points, 3, 1001, 0)
    assert n_changes == n_tried == 1001
    sizes = np.bincount(group_of_row)
    assert sizes.min() >= 3
    assert sizes.max() <= 5
    assert spread_of(points, group_of_row) < 1.1 * spread_of(points, kernel_start.mdav(points, 3))


def test_efforts():
    points = standardize(np.random.default_rng(4).normal(size=(120, 2)))
    n_auto = search(points, 3, "auto", 0)[1]
    assert n_auto == 40 * 120
    assert search(points, 3, "quick", 0)[1] == n_auto // 4
    assert search(points, 12, "auto", 0)[1] == n_auto // 8
    assert search(points, 3, "0.2s", 0)[1] > 200


def test_a_constant_column_says_nothing():
    numbers = np.array([[1.0, 7.0], [2.0, 7.0], [6.0, 7.0]])
    points = standardize(numbers)
    assert not points[:, 1].any()
    assert np.allclose(points[:, 0].std(), 1.0)


@pytest.mark.skipif("INCROWD_DATA" not in os.environ, reason="needs the reference tables")
@pytest.mark.parametrize(
    ("name", "k", "published"),
    [
        ("census1080", 3, 5.69),
        ("census1080", 5, 9.09),
        ("census1080", 10, 14.16),
        ("tarragona834", 3, 16.93),
        ("tarragona834", 5, 22.46),
        ("tarragona834", 10, 33.19),
    ],
)
def test_reference_tables_are_grouped_better_than_by_mdav(name, k, published):
    path = Path(os.environ["INCROWD_DATA"]) / "sdc" / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not there")
    with gzip.open(path, "rt") as file:
        lines = list(csv.reader(file))[1:]
    points = standardize(np.asarray(lines, dtype=np.float64))
    whole = float(np.square(points).sum())
    start = 100 * spread_of(points, kernel_start.mdav(points, k)) / whole
    assert round(start, 2) == published
    found = 100 * spread_of(points, search(points, k, "quick", 0)[0]) / whole
    assert found < 0.95 * start

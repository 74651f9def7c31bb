"""Generated baskets: of the stated shape, by seed, in blocks that change nothing."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from benchmarks.rules import samples
from benchmarks.rules.samples import shop_baskets
from incrowd.errors import JobError


def rows_of(sets):
    return [tuple(row.tolist()) for row in np.split(sets.items, sets.starts[1:-1])]


def test_baskets_have_the_stated_shape():
    sets = shop_baskets(20_000)
    assert (sets.n_rows, sets.n_items) == (20_000, 1_657)
    assert sets.sizes.min() == 1
    assert sets.sizes.max() == 164
    assert abs(sets.sizes.mean() - 6.5) < 0.2
    assert np.median(sets.sizes) < 5  # a long tail
    for row in rows_of(sets):
        assert list(row) == sorted(set(row))
    support = np.sort(np.bincount(sets.items, minlength=1_657))[::-1]
    assert support[0] > 0.3 * sets.n_rows  # few items are everywhere
    assert support[:17].sum() > 0.3 * sets.n_entries  # a hundredth of them makes a third
    assert support[-1] < 0.001 * sets.n_rows


def test_baskets_have_types():
    """Rare items meet far more often than they would if each were bought by itself."""
    sets = shop_baskets(20_000, seed=1)
    support = np.bincount(sets.items, minlength=sets.n_items)
    rare = set(np.flatnonzero((support > 60) & (support < 200)).tolist())
    shuffled = np.random.default_rng(0).permutation(sets.items)
    n_often = []
    for items in (sets.items, shuffled):
        met = Counter()
        for row in np.split(items, sets.starts[1:-1]):
            if len(row) < 20:
                met.update(combinations(sorted(rare & set(row.tolist())), 2))
        n_often.append(sum(count >= 6 for count in met.values()))
    assert n_often[0] > 10 * max(1, n_often[1])


def test_popular_items_are_in_no_order():
    support = np.bincount(shop_baskets(5_000).items, minlength=1_657)
    ranks = np.argsort(np.argsort(-support))
    assert abs(np.corrcoef(ranks, np.arange(1_657))[0, 1]) < 0.1


@pytest.mark.parametrize("times", [0.5, 1, 3])
def test_the_seed_decides_and_selection_selects(times):
    sets = shop_baskets(2_000, 200, 5.0, 30, times=times, seed=4)
    again = shop_baskets(2_000, 200, 5.0, 30, times=times, seed=4)
    assert rows_of(sets) == rows_of(again)
    assert rows_of(sets) != rows_of(shop_baskets(2_000, 200, 5.0, 30, times=times, seed=5))
    assert sets.n_rows == 2_000 * times
    once = rows_of(shop_baskets(2_000, 200, 5.0, 30, seed=4))
    assert set(rows_of(sets)) <= set(once)
    if times < 1:
        assert len(set(rows_of(sets))) > 0.9 * len(set(once)) * times


def test_blocks_bound_memory_not_the_rows_selected(monkeypatch):
    whole = rows_of(shop_baskets(700, 90, 5.0, 30, times=3, seed=4))
    once = shop_baskets(700, 90, 5.0, 30, seed=4)
    monkeypatch.setattr(samples, "_BLOCK_ROWS", 64)
    assert rows_of(samples._selected(once, 3, 4)) == whole


def test_rows_as_long_as_there_are_items_are_filled():
    sets = shop_baskets(50, 6, 3.4, 6, n_types=2)
    assert sets.sizes.max() == 6
    assert (0, 1, 2, 3, 4, 5) in rows_of(sets)


@pytest.mark.parametrize(
    "arguments",
    [(0,), (10, 0), (10, 5, 3.0, 9), (10, 50, 30.0, 40), (10, 50, 0.5, 9)],
)
def test_impossible_baskets_are_refused(arguments):
    with pytest.raises(JobError):
        shop_baskets(*arguments)
    with pytest.raises(JobError):
        shop_baskets(10, 50, 3.0, 9, times=0)

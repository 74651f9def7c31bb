"""Samples of sets: as stated, seeded, and of the shape that they are named after."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.sets import samples as set_samples
from benchmarks.sets.samples import block_model, user_lists
from incrowd.errors import JobError

SAMPLES = {
    "block model": lambda seed: block_model(128, 16, seed=seed),
    "user lists": lambda seed: user_lists(500, 1_000, seed=seed),
}


def neighbours(sets):
    return [
        sets.items[start:end].tolist()
        for start, end in zip(sets.starts[:-1].tolist(), sets.starts[1:].tolist(), strict=True)
    ]


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_sets_and_follow_their_seed(name):
    sets = SAMPLES[name](3)
    for row in neighbours(sets):
        assert row == sorted(set(row))
    assert 0 <= sets.items.min() <= sets.items.max() < sets.n_items
    again, other = SAMPLES[name](3), SAMPLES[name](4)
    assert (sets.starts == again.starts).all()
    assert (sets.items == again.items).all()
    assert neighbours(sets) != neighbours(other)


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
    assert neighbours(full) == [[0, 1, 2, 3]] * 4 + [[4, 5, 6, 7]] * 4
    swapped = block_model(8, 4, 0.0, 1.0)
    assert neighbours(swapped) == [[4, 5, 6, 7]] * 4 + [[0, 1, 2, 3]] * 4
    assert block_model(4, 4, 0.5).n_rows == 4


def test_user_lists_are_about_as_long_as_asked_and_popular_by_rank():
    sets = user_lists(20_000, 5_000, mean_size=10)
    assert 9 < sets.sizes.mean() < 11
    counts = np.sort(np.bincount(sets.items, minlength=5_000))[::-1]
    assert counts[0] > 10 * counts[200] > 0  # few items are everywhere
    alike = len({tuple(row) for row in neighbours(user_lists(5_000, 5_000, 4, n_types=20))})
    apart = len({tuple(row) for row in neighbours(user_lists(5_000, 5_000, 4, n_types=5_000))})
    assert alike < apart  # people of a type have lists in common


def test_blocks_of_rows_do_not_depend_on_how_many_follow(monkeypatch):
    monkeypatch.setattr(set_samples, "_BLOCK_ROWS", 100)
    short, long = user_lists(200, 1_000), user_lists(350, 1_000)
    assert neighbours(short) == neighbours(long)[:200]


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

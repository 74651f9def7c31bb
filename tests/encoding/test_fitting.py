"""Which released lines fit what is known, against comparing every pair of rows."""

import numpy as np
import pyarrow as pa
import pytest

from incrowd.encoding.fitting import (
    count_fitted,
    count_fitting,
    do_pairs_fit,
    fit_by_flags,
    fit_by_text,
    fitting_row_pairs,
)


def random_columns(draw, n_known, n_released, sizes):
    """Columns of random codes and random flags, some values common and some rare."""
    columns, flags = [], []
    for n_values, n_shown in sizes:
        fits = draw.random((n_values, n_shown)) < draw.choice([0.1, 0.5])
        fits[:, 0] |= draw.random() < 0.5  # a cell that fits all, as a star does
        values = np.minimum(draw.geometric(0.3, n_known) - 1, n_values - 1).astype(np.int32)
        shown = draw.integers(0, n_shown, n_released).astype(np.int32)
        halves = np.split(fits, [n_values // 2])
        columns.append(fit_by_flags(values, shown, n_shown, halves))
        flags.append(fits)
    return columns, flags


def every_pair(columns, flags, is_known):
    found = np.ones((len(columns[0].value_of_row), len(columns[0].shown_of_row)), dtype=bool)
    for place, (column, fits) in enumerate(zip(columns, flags, strict=True)):
        pairs = fits[column.value_of_row][:, column.shown_of_row]
        found &= pairs | ~is_known[:, place][:, None]
    return found


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("sizes", [[(5, 3)], [(40, 60), (7, 4), (3, 2)], [(200, 300), (90, 9)]])
def test_counts_agree_with_comparing_every_pair(seed, sizes):
    draw = np.random.default_rng(seed)
    columns, flags = random_columns(draw, 150, 400, sizes)
    everything = np.ones((150, len(sizes)), dtype=np.bool_)
    expected = every_pair(columns, flags, everything)
    assert np.array_equal(count_fitting(columns), expected.sum(axis=1))
    assert np.array_equal(count_fitted(columns), expected.sum(axis=0))
    some = draw.random((150, len(sizes))) < 0.6
    partly = every_pair(columns, flags, some)
    assert np.array_equal(count_fitting(columns, some), partly.sum(axis=1))
    rows, lines = draw.integers(0, 150, 500), draw.integers(0, 400, 500)
    assert np.array_equal(do_pairs_fit(columns, rows, lines), expected[rows, lines])
    assert np.array_equal(do_pairs_fit(columns, rows, lines, some), partly[rows, lines])
    pairs = fitting_row_pairs(columns, 150 * 400)
    assert pairs is not None
    assert set(zip(*(side.tolist() for side in pairs), strict=True)) == set(
        zip(*(side.tolist() for side in np.nonzero(expected)), strict=True)
    )
    assert len(pairs[0]) == expected.sum()
    if expected.sum():
        assert fitting_row_pairs(columns, int(expected.sum()) - 1) is None


def test_texts_fit_themselves_stars_fit_all_and_missing_is_a_value():
    known = pa.chunked_array([["a", "b", None, "c", "*"]])
    shown = pa.chunked_array([["a", "*", None, "d", "a"]])
    columns = [fit_by_text(known, shown)]
    # a: a, *, a. b: *. missing: * and missing. c: *. a person whose value is '*': *
    assert count_fitting(columns).tolist() == [3, 1, 2, 1, 1]
    assert count_fitted(columns).tolist() == [1, 5, 1, 0, 1]

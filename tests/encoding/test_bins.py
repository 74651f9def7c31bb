"""Groups of equal counts shown as medians, against a recount with sorted lists."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.bins import bin_columns, propose_bins
from incrowd.errors import DataError, JobError
from incrowd.tables.table import Table
from tiers import examples


def of(cells, kind=None, missing_values=()):
    return Table(pa.table({"x": pa.array(cells, kind)}), missing_values=missing_values)


def cut(cells, n_bins, kind=None, missing_values=()):
    found, notes = bin_columns(of(cells, kind, missing_values), {"x": n_bins})
    assert len(notes) == (n_bins > 0)
    return found.frame.column("x").to_pylist()


def test_deciles_of_a_hundred_numbers():
    cells = list(range(100))
    assert cut(cells, 10) == [value // 10 * 10 + 4 for value in cells]


def test_texts_keep_their_spelling_and_missing_stays():
    cells = ["10", None, "2", "?", " 3", "3.0", "100", "1e1"]
    wanted = ["10", None, "2", "?", " 3", " 3", "10", "10"]
    assert cut(cells, 3, missing_values=("?",)) == wanted


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        (pa.int64(), lambda n: 2**60 + n),  # more digits than a float holds
        (pa.float64(), float),
        (pa.decimal128(20, 2), lambda n: Decimal(n)),
    ],
)
def test_typed_columns_keep_their_type(kind, make):
    table = of([make(n) for n in range(8)] + [None], kind)
    found, _ = bin_columns(table, {"x": 4})
    assert found.frame.schema == table.frame.schema
    wanted = [make(n // 2 * 2) for n in range(8)]
    assert found.frame.column("x").to_pylist() == [*wanted, None]


@given(
    st.lists(st.one_of(st.none(), st.integers(-30, 30)), min_size=1, max_size=60),
    st.integers(1, 12),
    st.randoms(use_true_random=False),
)
@examples(150)
def test_groups_are_runs_of_nearly_equal_counts_shown_as_lower_medians(cells, n_bins, draw):
    found = cut(cells, n_bins, pa.int64())
    present = sorted(cell for cell in cells if cell is not None)
    shown_of = {}
    for cell, shown in zip(cells, found, strict=True):
        assert (cell is None) == (shown is None)
        assert shown_of.setdefault(cell, shown) == shown  # equal values are never apart
    shown_of.pop(None, None)
    groups = {}
    for value in present:
        groups.setdefault(shown_of[value], []).append(value)
    assert list(groups) == sorted(groups)
    for shown, members in groups.items():
        assert members == sorted(members)
        assert shown == members[(len(members) - 1) // 2]
    assert len(groups) <= n_bins
    if present:
        most_equal = max(present.count(value) for value in present)
        assert max(map(len, groups.values())) <= len(present) / n_bins + most_equal
        if len(set(present)) == len(present) >= n_bins:
            sizes = {len(members) for members in groups.values()}
            assert max(sizes) - min(sizes) <= 1
            assert len(groups) == n_bins
    order = list(range(len(cells)))
    draw.shuffle(order)
    assert cut([cells[row] for row in order], n_bins, pa.int64()) == [found[row] for row in order]


def test_a_group_for_every_value_and_one_for_all():
    assert cut([5, 1, 3, 3], 50) == [5, 1, 3, 3]
    assert cut([5, 1, 3, 3], 1) == [3, 3, 3, 3]
    assert cut([None, None], 3, pa.int64()) == [None, None]
    assert cut([5, 1], 0) == [5, 1]


@pytest.mark.parametrize("cells", [["1", "zq-00017", "3"], ["a", "b"], [True, False]])
def test_anything_but_numbers_is_refused(cells):
    with pytest.raises(DataError) as caught:
        cut(cells, 3)
    assert "zq" not in str(caught.value)
    assert "'x'" in caught.value.what


def test_wrong_requests():
    for wrong in (-1, 2.5, True):
        with pytest.raises(JobError):
            cut([1, 2], wrong)
    with pytest.raises(JobError, match="'y'"):
        bin_columns(of([1]), {"y": 3})


def test_what_is_proposed():
    columns = {
        "many": [str(n) for n in range(30)],
        "few": [str(n % 20) for n in range(30)],
        "typed": np.arange(30) / 7,
        "word": [f"w{n}" for n in range(30)],
        "code": [f"{n:03d}" for n in range(30)],
        "other": np.arange(30),
    }
    table = Table(pa.table(columns))
    quasi = [name for name in columns if name != "other"]
    assert propose_bins(table, quasi) == {"many": 10, "typed": 10}
    assert propose_bins(table, quasi, {"many": 0, "few": 4}) == {"few": 4, "typed": 10}
    with pytest.raises(JobError, match="'other'"):
        propose_bins(table, quasi, {"other": 5})
    with pytest.raises(JobError, match="'absent'"):
        propose_bins(table, quasi, {"absent": 5})


def test_codes_are_not_binned():
    zips = pa.array([10_000 + number for number in range(100)])
    table = Table(pa.table({"zip": zips, "income": zips}))
    assert propose_bins(table, ["zip", "income"]) == {"income": 10}

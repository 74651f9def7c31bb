"""Columns as numbers of their values, rows as one number."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.codes import RowKey, canonical_order, factorize
from incrowd.guarantees.tables.row_order import is_in_canonical_order

TYPED = {
    "text": (pa.string(), ["b", "a", None, "b", ""]),
    "large text": (pa.large_string(), ["b", "a", None, "b"]),
    "view": (pa.string_view(), ["b", "a", None, "b"]),
    "number": (pa.int16(), [3, 1, None, 3, -2]),
    "float": (pa.float32(), [3.5, 1.0, None, 3.5]),
    "truth": (pa.bool_(), [True, False, None, True]),
    "day": (pa.date32(), [dt.date(2020, 1, 2), dt.date(1990, 5, 1), None, dt.date(2020, 1, 2)]),
    "moment": (pa.timestamp("us"), [dt.datetime(2020, 1, 2, 3), None, dt.datetime(1990, 5, 1)]),
    "time": (pa.time64("us"), [dt.time(3, 4), None, dt.time(1, 2), dt.time(3, 4)]),
    "decimal": (pa.decimal128(8, 2), [Decimal("3.50"), None, Decimal("-1.00"), Decimal("3.50")]),
    "nothing": (pa.null(), [None, None]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["b", "a", None, "b"]),
    "none": (pa.string(), []),
}


@pytest.mark.parametrize("name", TYPED)
@pytest.mark.parametrize("cut", [0, 1, 2])
def test_codes_read_back_as_the_cells(name, cut):
    kind, cells = TYPED[name]
    chunks = [pa.array(cells[:cut], kind), pa.array(cells[cut:], kind)]
    column = factorize(pa.chunked_array(chunks, kind))
    values = [*column.values.to_pylist(), None]
    assert [values[code] for code in column.codes] == cells
    assert len(set(values[:-1])) == len(values) - 1 == column.n_values
    assert None not in values[:-1]


def test_codes_of_a_column_without_chunks():
    column = factorize(pa.chunked_array([], pa.dictionary(pa.int8(), pa.string())))
    assert (len(column.codes), column.n_values) == (0, 0)


def test_dictionaries_that_repeat_or_hold_nulls_are_numbered_by_value():
    entries = pa.array(["a", None, "a", "b"])
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, None]), entries)
    assert factorize(coded).codes.tolist() == [0, 2, 0, 1, 2]


def test_zeros_and_nans_are_one_value_each():
    column = pa.chunked_array([[0.0, float("nan")], [-0.0, float("nan"), None]], pa.float64())
    assert factorize(column).codes.tolist() == [0, 1, 0, 1, 2]
    assert factorize(column, has_signed_zeros=True).codes.tolist() == [0, 1, 2, 1, 3]


@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=30),
    st.tuples(*[st.sampled_from([4, 1 << 20, 1 << 31])] * 3),
)
def test_a_row_key_orders_rows_as_their_columns_do(rows, sizes):
    key = RowKey(len(rows))
    for column, n_codes in zip(zip(*rows, strict=True), sizes, strict=True):
        key.add(np.array(column, dtype=np.int32), n_codes)
    ranks = {row: rank for rank, row in enumerate(sorted(set(rows)))}
    distinct, found = np.unique(key.numbers, return_inverse=True)
    assert found.tolist() == [ranks[row] for row in rows]
    assert len(distinct) == len(ranks)


@pytest.mark.parametrize("name", [name for name in TYPED if name not in ("none", "nothing")])
@pytest.mark.parametrize("nulls_last", [False, True])
def test_the_order_of_content_is_seen_in_every_type(name, nulls_last):
    kind, cells = TYPED[name]
    shown = sorted(cell for cell in cells if cell is not None)
    ordered = [*shown, None] if nulls_last else [None, *shown]
    tie = ["x"] * len(ordered)
    assert is_in_canonical_order(pa.table({"tie": tie, "c": pa.array(ordered, kind)}))
    backwards = pa.array(ordered[::-1], kind)
    assert not is_in_canonical_order(pa.table({"tie": tie, "c": backwards}))


def test_zeros_have_one_order_whichever_comes_first():
    for cells in ([0.0, -0.0, None, 1.0, -1.0], [-0.0, 0.0, 1.0, -1.0, None]):
        table = pa.table({"x": cells})
        found = table.take(pa.array(canonical_order(table))).column("x").to_pylist()
        assert repr(found) == "[None, -1.0, -0.0, 0.0, 1.0]"

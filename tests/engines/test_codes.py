"""Columns as numbers of their values, rows as one number."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.codes import (
    RowKey,
    _is_by_occurrence,
    canonical_order,
    compact_text,
    count_values,
    factorize,
    stable_order,
)
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


@given(
    st.lists(st.sampled_from(["a", "b", "", "c", None]), max_size=40),
    st.permutations(["x", "c", "a", "", "b", "a"]),
    st.integers(0, 40),
)
def test_a_dictionary_has_the_codes_of_its_cells(cells, entries, cut):
    indices = [None if cell is None else entries.index(cell) for cell in cells]
    coded = pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(entries))
    coded = pa.chunked_array([coded[cut:], coded[:cut]], coded.type)
    plain = coded.cast(pa.string())
    found, expected = factorize(coded), factorize(plain)
    assert found.codes.tolist() == expected.codes.tolist()
    assert found.values.equals(expected.values)
    assert found.counts.tolist() == np.bincount(found.codes, minlength=found.n_codes).tolist()
    assert found.to_array().cast(pa.string()).to_pylist() == plain.to_pylist()
    for column in (coded, plain):
        values, counts = count_values(column)
        assert dict(zip(values.to_pylist(), counts.tolist(), strict=True)) == Counter(cells)


def test_long_columns_are_numbered_by_first_occurrence():
    rng = np.random.default_rng(0)
    entries = pa.array([str(number) for number in range(3_000)])
    for numbers in (
        rng.integers(0, 2_000, 70_000),  # some values are in no cell
        np.repeat(np.arange(3_000), 25),  # the last value comes last
        np.append(np.repeat(np.arange(2_999), 25), [2_999, 0]),
    ):
        coded = pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), entries)
        found, expected = factorize(coded), factorize(coded.cast(pa.string()))
        assert np.array_equal(found.codes, expected.codes)
        assert found.values.equals(expected.values)
        assert _is_by_occurrence(found.codes, found.n_values)
        again = factorize(found.to_array())
        assert again.values.equals(found.values)
        assert np.array_equal(again.codes, found.codes)


def test_texts_that_repeat_are_held_as_dictionaries():
    names = [f"name {number}" for number in range(20_000)]
    frame = pa.table(
        {
            "sex": ["f", "m", None, "f"] * 5_000,
            "name": names,
            "late": names[:10_000] + ["x"] * 10_000,
            "age": list(range(20_000)),
        }
    )
    found = compact_text(frame)
    assert [pa.types.is_dictionary(kind) for kind in found.schema.types] == [True] + [False] * 3
    assert found.cast(frame.schema).equals(frame)
    assert compact_text(found).equals(found)
    assert compact_text(frame.slice(0, 0)).num_rows == 0


@given(st.lists(st.integers(0, 5) | st.integers(0, 2**62), max_size=40))
def test_the_stable_order_is_that_of_a_stable_sort(numbers):
    expected = sorted(range(len(numbers)), key=numbers.__getitem__)
    assert stable_order(np.array(numbers, dtype=np.int64)).tolist() == expected


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

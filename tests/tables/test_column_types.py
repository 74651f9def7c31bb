"""Kinds and labels: what a column holds, and the text that stands for each of its values."""

from __future__ import annotations

import math
import re
from collections import Counter
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.tables.columns import types as kinds
from incrowd.tables.columns.types import ColumnKind, kind_of, labels_of, parse_dates, parse_numbers
from tiers import examples

CASES = {
    "integer": [["1", "2", "-3", "+4"], [" 5", "6 "], ["0", "1"], ["10", "0"], ["-007", "5"]],
    "decimal": [["1.5", "2"], [".5", "5."], ["1e5", "2"], ["0.5", "007"], ["-1234567890123456789"]],
    "date": [["2020-02-29", "1999-12-31"], ["2020-01-01T10:20", "2020-01-01 10:20:30.5Z"]],
    "boolean": [["true", "False"], ["TRUE"], ["yes", "No", "yes"], ["t", "f"], ["Y", "n"]],
    "code": [["01234", "99999"], ["1", "01", "300"], ["12345678901234567890"]],
    "category": [
        ["a", "b"],
        ["M", "1"],
        ["t"],
        ["inf", "nan"],
        ["1,5", "2,5"],
        ["2020-02-30", "2020-13-01"],
        ["1 2"],
        ["٣"],
        ["2020-01-01", "5"],
    ],
    "empty": [[None, None], [], ["", None], ["?"]],
}


@pytest.mark.parametrize(
    ("kind", "values"), [(kind, values) for kind, cases in CASES.items() for values in cases]
)
def test_kinds_of_texts(kind: str, values: list[str | None]) -> None:
    found = kind_of(pa.array(values, pa.string()), ("?",))
    present = [value for value in values if value not in (None, "", "?")]
    assert found == ColumnKind(kind, len(set(present)), len(values) - len(present))
    halves = pa.chunked_array(
        [pa.array(values[:1], pa.string()), pa.array(values[1:], pa.string())]
    )
    assert kind_of(halves, ("?",)) == found
    assert kind_of(halves.dictionary_encode(), ("?",)) == found


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("integer", pa.array([1, 2, None])),
        ("integer", pa.array([2**63], pa.uint64())),
        ("integer", pa.array([39.0, float("nan"), None])),
        ("decimal", pa.array([39.5, 1.0])),
        ("decimal", pa.array([Decimal("1.50")])),
        ("boolean", pa.array([True, None])),
        ("date", pa.array([date(2020, 1, 1)])),
        ("date", pa.array([datetime(2020, 1, 1, 5), datetime(2020, 1, 1)])),
        ("date", pa.array([datetime(2020, 1, 1)], pa.timestamp("ns", "Europe/Paris"))),
        ("category", pa.array([time(1, 2)])),
        ("empty", pa.nulls(3)),
        ("empty", pa.nulls(3, pa.int8())),
        ("category", pa.array(["a"], pa.large_string())),
        ("category", pa.array(["a"], pa.string_view())),
    ],
)
def test_kinds_of_typed_columns(kind: str, column: pa.Array) -> None:
    assert kind_of(column).kind == kind


def test_missing_tokens_in_typed_columns() -> None:
    assert kind_of(pa.array([1, -9, 2, -9]), ("-9",)) == ColumnKind("integer", 2, 2)


def test_a_column_that_is_nearly_numbers_names_the_odd_cells() -> None:
    values = [str(number) for number in range(95)] + ["zq", None, "zq", "x", "?"]
    found = kind_of(pa.array(values), ("?",))
    assert found == ColumnKind("category", 97, 2, "integer", 3, (96, 98, 99), ("zq", "x"))


@pytest.mark.parametrize(
    ("dominant_kind", "values"),
    [
        ("decimal", ["1.5"] * 9 + ["x"]),
        ("date", ["2020-01-01"] * 9 + ["2020-02-30"]),
        ("code", ["01234"] * 9 + ["x"]),
    ],
)
def test_what_most_cells_of_columns_are(dominant_kind: str, values: list[str]) -> None:
    found = kind_of(pa.array(values))
    assert (found.kind, found.dominant_kind, found.n_odd, found.odd_rows) == (
        "category",
        dominant_kind,
        1,
        (10,),
    )
    assert kind_of(pa.array([*values, "y"])).dominant_kind == ""  # nine in eleven are too few


def test_odd_rows_across_chunks_and_at_most_five() -> None:
    column = pa.chunked_array([pa.array(["x", "1", "y"]), pa.array(["2"] * 100 + ["x"] * 7)])
    found = kind_of(column)
    assert found.odd_rows == (1, 3, 104, 105, 106)
    assert (found.n_odd, found.odd_examples) == (9, ("x", "y"))


WORDS = st.sampled_from(
    ["1", "-2", "03", "1.5", "true", "false", "no", "2020-01-01", "x", "", "?", " 7 ", "1e3"]
)


@given(st.lists(st.one_of(st.none(), WORDS), max_size=30))
@examples(200)
def test_kinds_agree_with_a_plain_reading(values: list[str | None]) -> None:
    found = kind_of(pa.array(values, pa.string()), ("?",))
    present = Counter(value for value in values if value not in (None, "", "?"))
    assert found.n_values == len(present)
    assert found.n_missing == len(values) - present.total()
    patterns = {"number": re.compile(kinds.NUMBER), "date": re.compile(kinds.ISO_DATE)}
    n_fitting = {
        name: sum(times for text, times in present.items() if pattern.fullmatch(text.strip()))
        for name, pattern in patterns.items()
    }
    if not present:
        assert found.kind == "empty"
    elif n_fitting["number"] == present.total():
        assert found.kind in ("integer", "decimal", "code")
    elif n_fitting["date"] == present.total():
        assert found.kind == "date"
    else:
        assert found.kind in ("category", "boolean")
        best = max(n_fitting.values())
        assert bool(found.dominant_kind) == (best >= 0.9 * present.total())
        if found.dominant_kind:
            assert found.n_odd == present.total() - best
            odd = [values[row - 1] for row in found.odd_rows]
            assert set(found.odd_examples) == set(odd) or found.n_odd > 5


# ── labels ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (pa.array([5, -3, None]), ["5", "-3", None]),
        (
            pa.array([5.0, 0.1, 1e-7, 1e22, -0.0, 2.0**53 - 1]),
            ["5", "0.1", "1e-7", "1e+22", "0", "9007199254740991"],
        ),
        (pa.array([float("nan"), float("inf"), None]), [None, "inf", None]),
        (pa.array([0.1, 5], pa.float32()), ["0.1", "5"]),
        (pa.array([True, False, None]), ["true", "false", None]),
        (pa.array([date(2020, 1, 5), None]), ["2020-01-05", None]),
        (pa.array([date(2020, 1, 5)], pa.date64()), ["2020-01-05"]),
        (pa.array([datetime(2020, 1, 5)], pa.timestamp("ns")), ["2020-01-05"]),
        (pa.array([datetime(2020, 1, 5, 0, 0, 10)], pa.timestamp("s")), ["2020-01-05T00:00:10"]),
        (pa.array([datetime(2020, 1, 5, 10, 0, 0, 120)]), ["2020-01-05T10:00:00.00012"]),
        (
            pa.array(
                [datetime(2020, 1, 5, tzinfo=timezone(timedelta(hours=1)))],
                pa.timestamp("us", "Europe/Paris"),
            ),
            ["2020-01-04T23:00:00Z"],
        ),
        (pa.array([time(10, 20), time(0, 0, 0, 500)]), ["10:20:00", "00:00:00.0005"]),
        (pa.array([Decimal("1.50")]), ["1.50"]),
        (pa.array([" a ", "", None]), [" a ", "", None]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
        (pa.array([7, 8]).dictionary_encode(), ["7", "8"]),
        (pa.nulls(2), [None, None]),
        (pa.chunked_array([], pa.int8()), []),
        (pa.chunked_array([[1], [2, None]]), ["1", "2", None]),
    ],
    ids=str,
)
def test_labels(values: pa.Array, labels: list[str | None]) -> None:
    found = labels_of(values)
    assert isinstance(found, pa.Array)
    assert found.type == pa.string()
    assert found.to_pylist() == labels


def test_labels_beyond_one_array(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "_LONGEST_ARRAY", 10)
    found = labels_of(pa.chunked_array([["a" * 9], ["b" * 9]]))
    assert found.type == pa.large_string()
    assert found.to_pylist() == ["a" * 9, "b" * 9]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
@examples(100)
def test_labels_of_floats_read_back_and_parse(values: list[float]) -> None:
    labels = labels_of(pa.array(values)).to_pylist()
    assert [float(label) for label in labels] == values
    assert parse_numbers(labels).tolist() == values
    assert all(
        label == str(int(value))
        for label, value in zip(labels, values, strict=True)
        if value.is_integer() and abs(value) < 2**53
    )


# ── parsing labels ──────────────────────────────────────────────────────────────────────────


def test_numbers_behind_labels() -> None:
    labels = ["5", " +5 ", "-3e2", "05", ".5", "5.", "1e999", "x", "", None, "1_000", "inf", "nan"]
    found = parse_numbers(labels)
    assert found.dtype == np.float64
    assert found[:6].tolist() == [5, 5, -300, 5, 0.5, 5]
    assert np.isnan(found[6:]).all()
    assert parse_numbers([]).shape == (0,)
    assert parse_numbers(pa.array(["1"])).tolist() == [1.0]
    found[0] = math.pi  # the caller's own


def test_dates_behind_labels() -> None:
    labels = ["2020-02-29", " 2020-01-01T10:20:30Z", "2020-02-30", "20200101", "x", "", None]
    assert parse_dates(labels) == [date(2020, 2, 29), date(2020, 1, 1), *[None] * 5]

"""Frames: the same kind out as in, with the same values, and nothing of the frame besides."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import DataError
from incrowd.tables.columns.types import labels_of
from incrowd.tables.frames import FRAME_KINDS, from_frame, to_frame

COLUMNS: dict[str, list[Any]] = {
    "n": [1, None, 3],
    "x": [1.5, None, 2.0],
    "s": ["a", None, "c"],
    "b": [True, None, False],
    "day": [date(2020, 1, 31), None, date(2021, 1, 1)],
    "at": [datetime(2020, 1, 31, 12, 30), None, datetime(2021, 1, 1)],
    "d": [Decimal("1.50"), None, Decimal("2.25")],
    "t": [time(12, 30), None, time(1, 2, 3)],
}
MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_the_same_kind_comes_back_with_the_same_values(kind: str) -> None:
    table, found = from_frame(MAKERS[kind](COLUMNS), missing_values=("?",))
    assert (found, table.missing_values, table.n_rows) == (kind, ("?",), 3)
    assert table.columns == list(COLUMNS)
    assert [table.frame.column(name)[1].as_py() for name in COLUMNS] == [None] * len(COLUMNS)
    handed_out = to_frame(table.frame, kind)
    assert type(handed_out) is type(MAKERS[kind](COLUMNS))
    again, _ = from_frame(handed_out)
    for name in COLUMNS:
        labels = labels_of(table.frame.column(name))
        assert labels.equals(labels_of(again.frame.column(name))), name
        assert labels[0].as_py() == labels_of(pa.array(COLUMNS[name]))[0].as_py()


def test_pandas_keeps_whole_numbers_and_booleans_with_gaps() -> None:
    frame = to_frame(pa.table({"n": [1, None], "b": [True, None], "m": [1, 2]}), "pandas")
    assert [str(dtype) for dtype in frame.dtypes] == ["Int64", "boolean", "int64"]
    small = pa.table({"n": pa.array([1, None], pa.uint8())})
    assert str(to_frame(small, "pandas").dtypes["n"]) == "UInt8"


def test_pandas_index_categories_and_nan() -> None:
    frame = pd.DataFrame(
        {
            "c": pd.Categorical(["u", None, "v"], categories=["u", "v", "unused"]),
            "x": [1.0, float("nan"), 3.0],
            "o": ["a", float("nan"), None],
            "n": pd.array([1, None, 3], dtype="Int64"),
            "s": pd.array(["a", None, ""], dtype="string"),
        },
        index=["p", "q", "r"],
    )
    frame.attrs["secret"] = "zq-00017"
    table, _ = from_frame(frame)
    assert table.columns == ["c", "x", "o", "n", "s"]
    assert table.frame.to_pydict() == {
        "c": ["u", None, "v"],
        "x": [1.0, None, 3.0],
        "o": ["a", None, None],
        "n": [1, None, 3],
        "s": ["a", None, None],
    }
    assert table.frame.schema.metadata is None
    assert table.frame.schema.field("c").type == pa.string()
    handed_out = to_frame(table.frame, "pandas")
    assert list(handed_out.index) == [0, 1, 2]
    assert handed_out["c"].dtype == object


def test_polars_categories_and_lazy_frames() -> None:
    frame = pl.DataFrame(
        {"c": ["u", None, "v"], "e": ["a", "b", ""], "x": [1.0, float("nan"), None]},
        schema_overrides={"c": pl.Categorical, "e": pl.Enum(["", "a", "b", "unused"])},
    )
    for given_frame in (frame, frame.lazy()):
        table, kind = from_frame(given_frame)
        assert kind == "polars"
        assert table.frame.to_pydict() == {
            "c": ["u", None, "v"],
            "e": ["a", "b", None],
            "x": [1.0, None, None],
        }
        assert isinstance(to_frame(table.frame, kind), pl.DataFrame)


@pytest.mark.parametrize(
    "values",
    [["zq-00017", 1], [1, "zq-00017"], [1.5, "zq-00017"], [True, "x"], [date(2020, 1, 1), "x"]],
)
def test_mixed_columns_are_named_without_their_values(values: list[object]) -> None:
    with pytest.raises(DataError, match="column 'mixed' cannot be read as one type") as caught:
        from_frame(pd.DataFrame({"a": [1, 2], "mixed": pd.Series(values, dtype=object)}))
    assert "zq-00017" not in str(caught.value)


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (pd.DataFrame({"a": [[1], [2]]}), "nested"),
        (pd.DataFrame({"a": [{"b": 1}]}), "nested"),
        (pd.DataFrame({"a": [b"x"]}), "binary"),
        (pd.DataFrame({"a": pd.to_timedelta([1], unit="s")}), "duration"),
        (pd.DataFrame({"a": pd.interval_range(0, 2)}), "'a'"),
        (pd.DataFrame({"a": [1 + 2j]}), "'a'"),
        (pd.DataFrame({"a": [object()]}), "'a'"),
        (pd.DataFrame([[1, 2]]), "not text"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "share a name"),
        (pd.DataFrame({"a": []}), "no row"),
        (pd.DataFrame({}), "no column"),
        (pl.DataFrame({"a": [[1], [2]]}), "nested"),
        (pl.DataFrame({"a": [{"b": 1}]}), "nested"),
        (pl.DataFrame({"a": [b"x"]}), "binary"),
        (pl.DataFrame({"a": [object()]}), "'a'"),
        (pl.LazyFrame({"a": [1]}).select("b"), "ColumnNotFoundError"),
        (pl.DataFrame(), "no column"),
        (pa.table({"a": [[1]]}), "nested"),
        (pa.table({"a": pa.array([], pa.int8())}), "no row"),
        ([1, 2], "list is not a supported data frame"),
        (pd.Series([1]), "Series is not a supported data frame"),
        (None, "NoneType is not a supported data frame"),
    ],
)
def test_frames_that_cannot_be_read(frame: object, said: str) -> None:
    with pytest.raises(DataError, match=said) as caught:
        from_frame(frame)
    assert caught.value.remedy


def test_unknown_kinds() -> None:
    with pytest.raises(ValueError, match="spark"):
        to_frame(pa.table({"a": [1]}), "spark")


@given(
    numbers=st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=1),
    kind=st.sampled_from(FRAME_KINDS),
)
def test_whole_numbers_survive_every_kind(numbers: list[int | None], kind: str) -> None:
    table = pa.table({"n": pa.array(numbers, pa.int64())})
    again, _ = from_frame(to_frame(table, kind))
    assert again.frame.column("n").to_pylist() == numbers

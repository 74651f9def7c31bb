"""Released ranges read back as numbers."""

import math
from fractions import Fraction

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.hierarchies.groupings import Grid
from incrowd.hierarchies.range_labels import closed_bounds, parse_range

CELLS = {
    "age": ["20-24", "<20", ">=80", "*", None, "33", "-5 to -1", "[0.5, 0.75)", "0.5 to <0.75"],
    "zip": ["326**", "32601", "3260*", "*", None, "32602", "32603", "32604", "32605"],
    "code": ["32601"] * 9,
    "n": list(range(9)),
}
MIDDLE = [22.0, None, None, None, None, 33.0, -3.0, 0.625, 0.625]
KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def as_dict(frame):
    if isinstance(frame, pd.DataFrame):
        return {
            name: [None if isinstance(cell, float) and math.isnan(cell) else cell for cell in cells]
            for name, cells in frame.to_dict("list").items()
        }
    return frame.to_dict(as_series=False) if isinstance(frame, pl.DataFrame) else frame.to_pydict()


@given(
    st.integers(-50, 50),
    st.sampled_from([Fraction(1), Fraction(5), Fraction(1, 4), Fraction(1, 10)]),
    st.integers(2, 12),
    st.booleans(),
    st.data(),
)
def test_every_label_of_a_grid_reads_back(first, step, n_edges, is_whole, data):
    grid = Grid(first * step, step, n_edges, is_whole and step.denominator == 1)
    low = data.draw(st.integers(0, n_edges))
    high = data.draw(st.integers(low, n_edges))
    if low == 0 and high == n_edges:
        return
    span = parse_range(grid.label(low, high))
    expected_low = -math.inf if low == 0 else float(grid.edge(low - 1))
    expected_high = math.inf if high == n_edges else float(grid.edge(high))
    if grid.is_whole and low > 0 and high < n_edges:
        expected_high -= 1  # whole numbers show the last one
    assert (span.lower, span.upper) == (expected_low, expected_high)


@pytest.mark.parametrize(
    "label", ["2024-03", "326**", "*", "", "5-", "a-b", "9-5", "{1, 2}", "١-٢"]
)
def test_what_is_no_range(label):
    assert parse_range(label) is None


def test_bounds_hold_what_belongs_to_a_range():
    low, high = closed_bounds(["20-24", "<20", ">80", "0.5 to <0.75", "x"])
    assert (low[0], high[0]) == (20, 24)
    assert low[1] == -math.inf
    assert 19.99 < high[1] < 20
    assert 80 < low[2] < 80.01
    assert 0.7499 < high[3] < 0.75
    assert math.isnan(low[4])


@pytest.mark.parametrize("kind", KINDS)
def test_frames_of_every_kind(kind):
    frame = KINDS[kind](CELLS)
    found = ic.midpoints(frame)
    assert type(found) is type(frame)
    assert as_dict(found) == {**CELLS, "age": MIDDLE}
    two = as_dict(ic.midpoints(frame, bounds=True))
    assert list(two) == ["age_lower", "age_upper", "zip", "code", "n"]
    assert two["age_lower"] == [20.0, None, 80.0, None, None, 33.0, -5.0, 0.5, 0.5]
    assert two["age_upper"] == [24.0, 20.0, None, None, None, 33.0, -1.0, 0.75, 0.75]


def test_open_ranges_have_limits_or_their_bound():
    frame = pl.DataFrame({"age": ["<20", ">=80", "*"]})
    assert ic.midpoints(frame, open_ranges="bound")["age"].to_list() == [20, 80, None]
    limited = ic.midpoints(frame, ["age"], limits={"age": (0, 100)})
    assert limited["age"].to_list() == [10, 90, None]
    with pytest.raises(ic.InputError, match="beyond them"):
        ic.midpoints(frame, limits={"age": (30, 100)})


def test_a_pandas_index_and_other_types_stay():
    frame = pd.DataFrame({"age": ["20-24", "*"], "town": ["a", "b"]}, index=["x", "y"])
    frame = frame.astype({"age": "category", "town": "string"})
    found = ic.midpoints(frame)
    assert list(found.index) == ["x", "y"]
    assert found["age"].dtype == "float64"
    assert found["town"].dtype == frame["town"].dtype
    assert frame["age"].dtype == "category"  # left as it was


@pytest.mark.parametrize(
    ("frame", "stated", "told"),
    [
        (pl.DataFrame(CELLS), {"columns": ["zip"]}, "neither ranges nor numbers"),
        (pl.DataFrame(CELLS), {"columns": ["agee"]}, "Did you mean 'age'"),
        (pl.DataFrame(CELLS), {"limits": {"age": 5}}, "not two numbers"),
        (pl.DataFrame(CELLS), {"open_ranges": "half"}, "'half'"),
        (pl.DataFrame({"a": ["1-2"], "a_lower": [1]}), {"bounds": True}, "another column"),
        ({"age": ["20-24"]}, {}, "dict is not a supported data frame"),
        (pl.LazyFrame(CELLS), {}, "LazyFrame"),
    ],
)
def test_what_cannot_be_converted_is_refused(frame, stated, told):
    with pytest.raises(ic.InputError, match=told) as caught:
        ic.midpoints(frame, **stated)
    assert "326" not in str(caught.value)


def test_of_a_release_and_its_file(tmp_path):
    frame = ic.sample_census(300, 3)
    stated = {"schema": ic.Schema(["age", "zip"], ["diagnosis"]), "guarantee": ic.KAnonymity(5)}
    release = ic.anonymize(frame, ic.Job(method=ic.Mondrian(), **stated))
    found = ic.midpoints(release)
    assert pa.types.is_floating(found.schema.field("age").type)
    assert found.schema.field("zip").type == pa.string()
    frame.to_pandas().to_csv(tmp_path / "census.csv", index=False)
    job = ic.Job(method=ic.Mondrian(), data=tmp_path / "census.csv", **stated)
    again = ic.midpoints(ic.run(job))
    assert again.column("age").to_pylist() == found.column("age").to_pylist()


def test_decimal_commas_where_they_are_stated():
    frame = pl.DataFrame({"temperature": ["36.5 to <37", "36,5", "<35", "*"]})
    assert ic.midpoints(frame).equals(frame)  # 36,5 may be thousands: nothing is guessed
    found = ic.midpoints(frame, decimal=",")
    assert found["temperature"].to_list() == [36.75, 36.5, None, None]
    with pytest.raises(ic.InputError, match="decimal mark"):
        ic.midpoints(frame, decimal=";")

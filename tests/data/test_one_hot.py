"""Bits of values and back: a round trip, what masks leave, and codes that are none."""

import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.one_hot import decoded, encode_categories, encode_one_hot
from incrowd.errors import DataError, JobError
from incrowd.tables.table import Table

PEOPLE = Table(
    pa.table(
        {
            "id": ["a", "b", "c"],
            "education": pa.array(["Masters", "Bachelors", None]),
            "age": pa.array([40, 30, 30]),
            "note": ["x", "y", "z"],
        }
    )
)


def test_bits_stand_where_their_column_stood():
    found = encode_one_hot(PEOPLE, ["age", "education"])
    assert found.table.columns == [
        "id",
        "education=Bachelors",
        "education=Masters",
        "education=",
        "age=30",
        "age=40",
        "note",
    ]
    assert found.names[:2] == ("age=30", "age=40")
    assert found.attribute_of_name == (0, 0, 1, 1, 1)
    assert found.table.frame.column("education=").to_pylist() == ["0", "0", "1"]
    assert found.table.frame.column("age=30").to_pylist() == ["0", "1", "1"]
    assert found.blocks == {"age": ("30", "40"), "education": ("Bachelors", "Masters", "")}
    assert found.categories.codes.tolist() == [[1, 0, 0], [1, 0, 2]]
    assert found.categories.n_values.tolist() == [2, 3]


@given(
    st.lists(
        st.tuples(st.sampled_from(["u", "v", "=", None, "?"]), st.sampled_from(["1", "2", None])),
        min_size=1,
        max_size=20,
    ),
    st.integers(0, 99),
)
def test_only_a_shown_one_comes_back(cells, seed):
    frame = pa.table(
        {
            "p": pa.array([one for one, _ in cells], pa.string()),
            "q": pa.array([other for _, other in cells], pa.string()),
            "rest": list(range(len(cells))),
        }
    )
    made = encode_one_hot(Table(frame, missing_values=("?",)), ["p", "q"])
    assert decoded(made.table.frame, made.blocks) == frame
    draw = random.Random(seed)
    masked = {name: made.table.frame.column(name).to_pylist() for name in made.table.columns}
    for name in made.names:
        masked[name] = ["*" if draw.random() < 0.5 else bit for bit in masked[name]]
    back = decoded(pa.table(masked), made.blocks).to_pydict()
    for attribute, values in made.blocks.items():
        for row, original in enumerate(frame.column(attribute).to_pylist()):
            bits = {value: masked[f"{attribute}={value}"][row] for value in values}
            shown = [value for value, bit in bits.items() if bit == "1"]
            if any(bit == "*" for bit in bits.values()) or shown:
                assert back[attribute][row] == (shown[0] or None if shown else "*")
                assert not shown or (shown[0] or None) == original


def test_one_value_is_one_bit():
    made = encode_one_hot(Table(pa.table({"a": ["x", "x"]})), ["a"])
    assert made.names == ("a=x",)
    assert decoded(made.table.frame, made.blocks).to_pydict() == {"a": ["x", "x"]}


@pytest.mark.parametrize(
    ("columns", "quasi"),
    [
        ({"a": ["b=c"], "a=b": ["c"]}, ["a", "a=b"]),
        ({"a": ["zq-00017"], "a=zq-00017": ["c"]}, ["a"]),
    ],
)
def test_bits_of_one_name_are_refused(columns, quasi):
    with pytest.raises(DataError) as caught:
        encode_one_hot(Table(pa.table(columns)), quasi)
    assert "zq" not in str(caught.value)


def test_too_many_bits_are_refused():
    table = Table(pa.table({"id": [str(n) for n in range(10_001)]}))
    with pytest.raises(JobError, match="10,001"):
        encode_one_hot(table, ["id"])


@pytest.mark.parametrize(
    "bits",
    [
        {"a=x": ["1"], "a=y": ["1"]},
        {"a=x": ["0"], "a=y": ["0"]},
        {"a=x": ["2"], "a=y": ["*"]},
        {"a=x": [None], "a=y": ["1"]},
        {"a=x": ["1"]},
        {"a=x": ["1"], "a=y": ["0"], "a": ["w"]},
    ],
)
def test_bits_of_no_code_are_refused(bits):
    frame = pa.table({name: pa.array(cells, pa.string()) for name, cells in bits.items()})
    with pytest.raises(DataError):
        decoded(frame, {"a": ("x", "y")})


def test_absent_columns_are_refused():
    with pytest.raises(JobError, match="'absent'"):
        encode_categories(PEOPLE, ["absent"])

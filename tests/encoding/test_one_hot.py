"""One-hot encoding: the bits of values, and names that clash."""

import pyarrow as pa
import pytest

from incrowd.encoding.one_hot import encode_categories, encode_one_hot
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
    assert found.categories.values == (("30", "40"), ("Bachelors", "Masters", ""))
    assert found.categories.codes.tolist() == [[1, 0, 0], [1, 0, 2]]
    assert found.categories.n_values.tolist() == [2, 3]


def test_one_value_is_one_bit():
    made = encode_one_hot(Table(pa.table({"a": ["x", "x"]})), ["a"])
    assert made.names == ("a=x",)
    assert made.table.frame.to_pydict() == {"a=x": ["1", "1"]}


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


def test_absent_columns_are_refused():
    with pytest.raises(JobError, match="'absent'"):
        encode_categories(PEOPLE, ["absent"])

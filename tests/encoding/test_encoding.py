"""Codes in, cells out, and the order of a release."""

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.codes import canonical_order
from incrowd.encoding.encode import decode, encode, encode_labels, refuse_stars
from incrowd.errors import DataError
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.tables.schema import Schema
from incrowd.tables.table import Table

CELLS = st.one_of(st.none(), st.sampled_from(["a", "b", "ä", "B", "", "10", "9", "z z"]))


@given(st.lists(st.tuples(CELLS, CELLS, st.one_of(st.none(), st.integers(-3, 3))), min_size=1))
def test_canonical_order_is_the_order_of_the_content(rows):
    first, second, third = zip(*rows, strict=True)
    frame = pa.table(
        {
            "a": pa.array(first, pa.string()),
            "b": pa.array(second, pa.string()),
            "c": pa.array(third, pa.int64()),
        }
    )
    order = canonical_order(frame)

    def key(row):
        texts = [(cell is not None, (cell or "").encode()) for cell in row[:2]]
        return [*texts, (row[2] is not None, row[2] or 0)]

    assert sorted(order.tolist()) == list(range(len(rows)))
    assert [key(rows[place]) for place in order] == sorted(key(row) for row in rows)


@given(st.lists(CELLS, min_size=1))
def test_codes_number_sorted_texts(cells):
    column = pa.chunked_array([pa.array(cells[:1], pa.string()), pa.array(cells[1:], pa.string())])
    numbered = encode_labels(column, ("9",))
    assert numbered.labels == sorted({cell for cell in cells if cell is not None and cell != "9"})
    for cell, code in zip(cells, numbered.codes.tolist(), strict=True):
        assert code == (-1 if cell in (None, "9") else numbered.labels.index(cell))


def test_cells_come_back_as_they_went_in():
    draw = random.Random(4)
    ages = [str(draw.randrange(18, 70)) for _ in range(50)] + [None, "?"]
    table = Table(pa.table({"age": ages, "note": ["x"] * 52}), missing_values=("?",))
    rows, _ = encode(table, ("age",), {"age": HierarchySpec.parse("intervals:5,10")})
    frame, original_row = decode(rows, table, Schema(quasi=["age"]))
    assert frame.to_pydict() == {"age": ages}
    assert original_row.tolist() == list(range(52))
    at_root = rows.with_nodes(np.full_like(rows.nodes, rows.hierarchies[0].root))
    assert set(decode(at_root, table, Schema(quasi=["age"]))[0]["age"].to_pylist()) == {"*"}


def test_suppressed_rows_are_left_out():
    table = Table(pa.table({"age": ["1", "2", "3"]}))
    rows, _ = encode(table, ("age",), {})
    kept = rows.with_nodes(rows.nodes, np.asarray([False, True, False]))
    frame, original_row = decode(kept, table, Schema(quasi=["age"]))
    assert frame["age"].to_pylist() == ["1", "3"]
    assert original_row.tolist() == [0, 2]


def test_repeating_text_is_a_dictionary_of_the_released_values_alone():
    ages = ["1", "2", "30", "31"] * 10
    wards = ["x", "y", "y", None] * 10
    table = Table(pa.table({"age": ages, "ward": wards, "id": [str(i) for i in range(40)]}))
    rows, _ = encode(table, ("age",), {})
    is_suppressed = np.asarray([age == "1" for age in ages])
    nodes = np.where(is_suppressed, rows.hierarchies[0].root, rows.nodes)
    schema = Schema(quasi=["age"], sensitive=["ward", "id"])
    frame, _ = decode(rows.with_nodes(nodes, is_suppressed), table, schema)
    dictionaries = {
        name: set(frame[name].chunk(0).dictionary.to_pylist()) for name in ("age", "ward")
    }
    assert dictionaries == {"age": {"2", "30", "31"}, "ward": {"y"}}
    assert frame["id"].type == pa.string()
    assert frame["ward"].to_pylist() == ["y", "y", None] * 10
    starred, _ = decode(rows.with_nodes(nodes), table, schema)
    assert starred["age"].to_pylist() == ["*", "2", "30", "31"] * 10


def test_stars_before_any_suppression_are_refused():
    table = Table(pa.table({"sex": ["f", "*", None], "age": [1, 2, 3]}))
    refuse_stars(table, ("age",))
    with pytest.raises(DataError, match="row 2"):
        refuse_stars(table, ("age", "sex"))

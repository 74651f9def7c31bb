"""Leading rows: readers see every kind of value at the beginning, and the order tells nothing."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.codes import canonical_order
from incrowd.guarantees.tables.row_order import is_in_canonical_order
from incrowd.tables.files import leading_rows
from incrowd.tables.files.leading_rows import (
    HEAD_ROWS,
    LeadingRows,
    find_candidates,
    kinds_of,
    lead,
    skip_leading,
)

CELLS = st.sampled_from([None, "1", "2", "10", "1.5", "20-24", "*", "2020-01-01", "true", " 7"])


def in_order(table: pa.Table) -> pa.Table:
    return table.take(pa.array(canonical_order(table)))


def arranged(table: pa.Table) -> pa.Table:
    return table.take(pa.array(lead(table, canonical_order(table))))


def test_kinds_of_values_as_readers_infer_them():
    texts = ["1", "-7", "1.5", "1e3", "true", "False", "2024-01-31", "31.01.2024", "12:30"]
    texts += ["2024-01-31T12:30:00", "20-24", "<20", "*", "x", "1" * 19, "", None]
    kinds = kinds_of(pa.chunked_array([texts])).tolist()
    assert kinds == [2, 2, 3, 3, 4, 4, 5, 5, 7, 6, 1, 1, 1, 1, 3, 0, 0]
    assert set(kinds_of(pa.chunked_array([[1.0, 2.5, None]])).tolist()) == {0, 2, 3}


def test_a_label_that_comes_late_leads():
    rows = [("20", f"{n:04d}") for n in range(100)] + [("20-24", "0500"), ("20-24", "0600")]
    table = pa.table({"age": [age for age, _ in rows], "zip": [code for _, code in rows]})
    found = arranged(table).to_pylist()
    assert found[0] == {"age": "20-24", "zip": "0500"}
    assert found[1:] == [row for row in in_order(table).to_pylist() if row != found[0]]


def test_what_the_first_rows_show_needs_no_leading_row():
    early = pa.table({"age": ["*"] + ["20"] * 200 + ["20-24"] * 200, "n": ["1"] * 401})
    assert lead(early, canonical_order(early)).tolist() == canonical_order(early).tolist()
    numbers = pa.table({"n": [str(n) for n in range(300)], "t": ["a"] * 300})
    order = canonical_order(numbers)
    assert lead(numbers, order).tolist() == order.tolist()


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=30), st.integers(1, 7), st.randoms())
def test_tables_in_pieces_are_arranged_like_the_whole(rows, size, shuffler):
    table = pa.table(
        {"a": pa.array([a for a, _ in rows], pa.string()), "b": pa.array([b for _, b in rows])}
    ).cast(pa.schema([("a", pa.string()), ("b", pa.string())]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leading_rows, "HEAD_ROWS", 3)
        expected = arranged(table)
        order = list(range(len(rows)))
        shuffler.shuffle(order)
        shuffled = table.take(pa.array(order))
        blocks = [shuffled.slice(start, size) for start in range(0, len(rows), size)]
        candidates = pa.concat_tables(find_candidates(block) for block in blocks)
        leading = LeadingRows(candidates)
        ordered = in_order(table)
        pieces = iter([ordered.slice(start, size) for start in range(0, len(rows), size)])
        found = pa.concat_tables(leading.put_first(pieces))
        assert found.to_pylist() == expected.to_pylist()
        assert is_in_canonical_order(expected)
        rest = pa.concat_tables(skip_leading(iter([found]), leading.rows))
        assert rest.to_pylist() == in_order(rest).to_pylist()


def test_other_rows_first_are_not_in_order():
    rows = [("20", f"{n:04d}") for n in range(100)] + [("20-24", "0500"), ("20-24", "0600")]
    table = arranged(pa.table({"age": [age for age, _ in rows], "zip": [code for _, code in rows]}))
    assert is_in_canonical_order(table)
    places = np.arange(table.num_rows)
    for swapped in ([1, 0], [0, 1], [101, 0]):
        others = [place for place in places.tolist() if place not in swapped]
        moved = table.take(pa.array([*swapped, *others]))
        assert is_in_canonical_order(moved) == (swapped == [0, 1]), swapped
    shuffled = places.tolist()
    random.Random(1).shuffle(shuffled)
    assert not is_in_canonical_order(table.take(pa.array(shuffled)))
    assert HEAD_ROWS < 100

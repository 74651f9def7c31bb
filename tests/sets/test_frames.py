"""Matrices and frames in, the same kind out; a table's columns as sets."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from incrowd.errors import DataError, JobError
from incrowd.sets.files import SetOptions
from incrowd.sets.frames import sets_from_frame, sets_of_columns, sets_to_frame
from incrowd.tables.files.read import read_table
from incrowd.tables.table import Table
from oracles import set_files as oracle

sparse = pytest.importorskip("scipy.sparse")

LONG = {"who": ["bob", "ada", "bob", "bob"], "what": [30, 4, 4, 30]}
FRAMES = {
    "pandas": lambda: pd.DataFrame(LONG, index=[9, 8, 7, 6]),
    "polars": lambda: pl.DataFrame(LONG),
    "pyarrow": lambda: pa.table(LONG),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_long_frames_come_back_as_they_were(kind):
    found = sets_from_frame(FRAMES[kind]())
    assert oracle.as_dict(found.sets) == {"ada": [4], "bob": [4, 30]}
    assert found.format.kind == kind
    assert "1 entries" in found.notes[0]
    back = sets_to_frame(found.sets, found.format)
    assert type(back) is type(FRAMES[kind]())
    assert list(back["what"].to_pylist() if kind == "pyarrow" else back["what"]) == [4, 4, 30]
    again = sets_from_frame(back)
    assert oracle.as_dict(again.sets) == oracle.as_dict(found.sets)
    assert again.notes == []


def test_types_of_frames_come_back():
    frame = pl.DataFrame(LONG).with_columns(pl.col("what").cast(pl.Int16))
    found = sets_from_frame(frame)
    assert sets_to_frame(found.sets, found.format).schema == frame.schema
    categories = pd.DataFrame(LONG).astype({"who": "category"})
    back = sets_to_frame(*_sets_and_format(categories.iloc[:2]))
    assert back["who"].tolist() == ["ada", "bob"]
    assert back.shape == (2, 2)


def _sets_and_format(frame):
    found = sets_from_frame(frame)
    return found.sets, found.format


def test_rows_without_items_are_listed_apart():
    frame = FRAMES["pandas"]()
    found = sets_from_frame(frame, rows=["bob", "eve", "ada"])
    assert oracle.as_dict(found.sets) == {"ada": [4], "bob": [4, 30], "eve": []}
    with pytest.raises(DataError, match="not in its list"):
        sets_from_frame(frame, rows=["bob"])
    with pytest.raises(DataError, match="twice"):
        sets_from_frame(frame, rows=["ada", "bob", "bob"])
    with pytest.raises(DataError, match="several kinds"):
        sets_from_frame(frame, rows=["ada", 4])


def test_graphs_and_stated_columns():
    frame = pl.DataFrame({"weight": [0.5, 0.1], "from": ["x", "y"], "to": ["y", "z"]})
    options = SetOptions("undirected", row_column="from", item_column="to")
    found = sets_from_frame(frame, options)
    assert oracle.as_dict(found.sets) == {"x": ["y"], "y": ["x", "z"], "z": ["y"]}
    with pytest.raises(DataError, match="3 columns"):
        sets_from_frame(frame)


@pytest.mark.parametrize(
    "make", ["csr_matrix", "csr_array", "csc_matrix", "coo_array", "lil_array"]
)
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float64])
def test_scipy_matrices_come_back(make, dtype):
    dense = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]], dtype=dtype)
    matrix = getattr(sparse, make)(dense)
    found = sets_from_frame(matrix)
    assert oracle.as_dict(found.sets) == {0: [0, 2], 1: [], 2: [1]}
    assert found.sets.n_items == 4
    back = sets_to_frame(found.sets, found.format)
    assert (back.toarray() == dense).all()
    assert (back.format, back.dtype) == ("csr", dtype)
    assert isinstance(back, sparse.sparray) == make.endswith("_array")
    assert not np.shares_memory(back.indices, found.sets.items)


def test_values_and_entries_of_a_matrix():
    twice = sparse.coo_matrix((np.ones(3), ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    found = sets_from_frame(twice)
    assert oracle.as_dict(found.sets) == {0: [1], 1: [0]}
    assert "1 entries" in found.notes[0]
    unsorted = sparse.csr_matrix((np.ones(2), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    assert oracle.as_dict(sets_from_frame(unsorted).sets) == {0: [0, 1]}
    ratings = sparse.csr_matrix(np.array([[5, 0], [0, 3]]))
    with pytest.raises(DataError, match="2 values are neither"):
        sets_from_frame(ratings)
    assert sets_from_frame(ratings, SetOptions(values="nonzero")).sets.n_entries == 2
    with pytest.raises(DataError, match="no numbers"):
        sets_from_frame(sparse.csr_matrix(np.array([[1j]])))
    with pytest.raises(DataError, match="same nodes"):
        sets_from_frame(sparse.csr_matrix(np.ones((2, 3))), SetOptions("directed"))


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"a": [1, None], "b": ["x", "y"]}),
        pl.DataFrame({"a": [1, 2], "b": [0.5, 1.0]}),
        pl.DataFrame({"a": [1, 2]}),
        pd.DataFrame({"a": [1, 2], "b": ["x", ""]}),
        {"a": 1},
    ],
)
def test_frames_that_are_no_sets(frame):
    with pytest.raises(DataError) as caught:
        sets_from_frame(frame)
    assert caught.value.remedy


# ── columns ─────────────────────────────────────────────────────────────────────────────────


def test_columns_as_sets():
    table = Table(pa.table({"sex": ["f", "m", None], "n": [1, 2, 1], "zip": ["?", "0", "?"]}))
    sets = sets_of_columns(table, ["zip", "sex"])
    assert oracle.as_dict(sets) == {
        0: ["sex=f", "zip=?"],
        1: ["sex=m", "zip=0"],
        2: ["sex=", "zip=?"],
    }
    assert sets.item_names.to_pylist() == sorted(sets.item_names.to_pylist())
    for columns in ([], ["sex", "sex"], ["age"]):
        with pytest.raises(JobError):
            sets_of_columns(table, columns)
    clash = Table(pa.table({"a": ["b=c"], "a=b": ["c"]}))
    with pytest.raises(DataError, match="one item"):
        sets_of_columns(clash, ["a", "a=b"])


@pytest.mark.skipif("INCROWD_DATA" not in os.environ, reason="INCROWD_DATA names no folder")
def test_adult_as_in_the_paper():
    table = read_table(Path(os.environ["INCROWD_DATA"]) / "adult" / "adult.csv.gz")
    columns = ["workclass", "education", "marital-status", "occupation"]
    columns += ["relationship", "race", "sex", "native-country"]
    sets = sets_of_columns(table, columns)
    assert (sets.n_rows, sets.n_items, sets.n_entries) == (32_561, 102, 260_488)
    assert "workclass=?" in sets.item_names.to_pylist()


# ── one-hot columns and columns of lists ────────────────────────────────────────────────────

HELD = {"bob": ["d", "b"], "ada": [], "eve": ["a"], "dan": ["d"]}
ITEMS = ["d", "c", "b", "a"]
MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def one_hot(make, yes, no, **more):
    held = {item: [yes if item in of else no for of in HELD.values()] for item in ITEMS}
    return make({**more, **held})


def lists(make, **more):
    return make({**more, "what": list(HELD.values())})


def cells(frame):
    """A frame as plain lists by column."""
    if isinstance(frame, pa.Table):
        return frame.to_pydict()
    if isinstance(frame, pl.DataFrame):
        return frame.to_dict(as_series=False)
    return {name: frame[name].tolist() for name in frame}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(("yes", "no"), [(True, False), (1, 0), (1.0, 0.0)])
def test_one_hot_frames_come_back_without_columns_that_nobody_holds(kind, yes, no):
    frame = one_hot(MAKERS[kind], yes, no)
    found = sets_from_frame(frame)
    numbered = enumerate(HELD.values())
    assert oracle.as_dict(found.sets) == {row: sorted(items) for row, items in numbered}
    back = sets_to_frame(found.sets, found.format)
    assert type(back) is type(frame)
    expected = cells(frame)
    del expected["c"]
    assert cells(back) == expected
    again = sets_from_frame(back, SetOptions(kind="one-hot"))
    assert oracle.as_dict(again.sets) == oracle.as_dict(found.sets)


@pytest.mark.parametrize("kind", MAKERS)
def test_a_stated_column_names_the_rows_of_one_hot_frames(kind):
    frame = one_hot(MAKERS[kind], 1, 0, who=list(HELD))
    found = sets_from_frame(frame, SetOptions(row_column="who"))
    assert oracle.as_dict(found.sets) == {name: sorted(items) for name, items in HELD.items()}
    back = cells(sets_to_frame(found.sets, found.format))
    assert list(back) == ["who", "d", "b", "a"]
    assert back["who"] == sorted(HELD)


def test_one_hot_columns_of_pandas_may_be_numbers_or_sparse():
    frame = pd.DataFrame(np.eye(5, dtype=int))
    found = sets_from_frame(frame)
    assert list(sets_to_frame(found.sets, found.format).columns) == [0, 1, 2, 3, 4]
    dummies = pd.get_dummies(pd.Series(["x", "y", "x"]), sparse=True)
    assert oracle.as_dict(sets_from_frame(dummies).sets) == {0: ["x"], 1: ["y"], 2: ["x"]}


def test_what_two_columns_of_numbers_are_is_stated():
    frame = pd.DataFrame({"a": [1, 0, 1], "b": [0, 1, 1]})
    assert oracle.as_dict(sets_from_frame(frame).sets) == {0: [1], 1: [0, 1]}  # rows and items
    stated = sets_from_frame(frame, SetOptions(kind="one-hot"))
    assert oracle.as_dict(stated.sets) == {0: ["a"], 1: ["b"], 2: ["a", "b"]}
    counts = pd.DataFrame({"a": [3, 0], "b": [0, 1], "c": [2, 2]})
    with pytest.raises(DataError, match="3 columns"):
        sets_from_frame(counts)
    found = sets_from_frame(counts, SetOptions(values="nonzero"))
    assert oracle.as_dict(found.sets) == {0: ["a", "c"], 1: ["b", "c"]}
    assert any("taken as present" in note for note in found.notes)


@pytest.mark.parametrize("kind", MAKERS)
def test_columns_of_lists_come_back(kind):
    frame = lists(MAKERS[kind], who=list(HELD))
    found = sets_from_frame(frame)
    assert oracle.as_dict(found.sets) == {name: sorted(items) for name, items in HELD.items()}
    back = sets_to_frame(found.sets, found.format)
    assert type(back) is type(frame)
    order = sorted(HELD)
    assert cells(back) == {"who": order, "what": [sorted(HELD[name]) for name in order]}
    alone = sets_from_frame(lists(MAKERS[kind]))
    assert list(cells(sets_to_frame(alone.sets, alone.format))) == ["what"]


def test_pandas_cells_may_be_sets_and_all_empty():
    frame = pd.DataFrame({"what": [{"b", "a"}, set(), {"c"}]})
    assert oracle.as_dict(sets_from_frame(frame).sets) == {0: ["a", "b"], 1: [], 2: ["c"]}
    empty = sets_from_frame(pd.DataFrame({"what": [[], []]}))
    assert (empty.sets.n_rows, empty.sets.n_entries) == (2, 0)


@pytest.mark.parametrize(
    ("frame", "options", "told"),
    [
        (pl.DataFrame({"a": [True, None], "b": [True, False]}), {}, "1 cells are missing"),
        (pl.DataFrame({"a": [1, 2], "b": [0, 1]}), {"kind": "one-hot"}, "neither 0 nor 1"),
        (pl.DataFrame({"who": ["x"], "a": [True]}), {"kind": "one-hot"}, "items are yes or no"),
        (pl.DataFrame({"who": ["x", "x"], "a": [True, True], "b": [False, True]}),
         {"row_column": "who"}, "the name of another"),
        (pl.DataFrame({"a": [[1], None]}), {}, "row 2 has no list"),
        (pl.DataFrame({"a": [["x"]], "b": [["y"]]}), {}, "2 columns of lists"),
        (pl.DataFrame({"a": [True], "b": [True]}), {"graph": "directed"}, "not graphs"),
    ],
)  # fmt: skip
def test_frames_that_hold_no_sets_are_refused(frame, options, told):
    with pytest.raises((DataError, JobError), match=told):
        sets_from_frame(frame, SetOptions(**options))

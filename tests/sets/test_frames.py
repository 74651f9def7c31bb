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
from incrowd.tables.read import read_table
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

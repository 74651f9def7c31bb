"""Releases read by others with their defaults: DuckDB, pandas, polars, Python's csv, and the rules
of R's ``read.csv`` and of Excel, for which a strict parser of RFC 4180 stands in.
"""

from __future__ import annotations

import csv
import math
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from incrowd.codes import canonical_order
from incrowd.hierarchies.groupings import group_by_frequency
from incrowd.tables.files.leading_rows import lead
from incrowd.tables.files.write import write_table
from incrowd.tables.table import Format

N_ROWS = 21_000  # more than any of them looks at before it decides how a file is written


def read_duckdb(path: Path) -> list[tuple[Any, ...]]:
    found = duckdb.read_csv(str(path))
    return [tuple(found.columns), *found.fetchall()]


def read_pandas(path: Path) -> list[tuple[Any, ...]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        found = pd.read_csv(path)
    return [tuple(found.columns), *found.itertuples(index=False, name=None)]


def read_polars(path: Path) -> list[tuple[Any, ...]]:
    found = pl.read_csv(path)
    return [tuple(found.columns), *found.rows()]


def read_python(path: Path) -> list[tuple[Any, ...]]:
    with path.open(newline="", encoding="utf-8") as file:
        return [tuple(row) for row in csv.reader(file, strict=True)]


def read_strictly(path: Path) -> list[tuple[Any, ...]]:
    """RFC 4180, character by character: a quote in an unquoted cell, or text after a closing
    quote, is an error, and so is a row of another length."""
    text = path.read_bytes().decode()
    rows: list[tuple[str, ...]] = []
    row: list[str] = []
    cell: list[str] = []
    state = "start"
    for character in text:
        if state == "quoted":
            if character == '"':
                state = "closing"
            else:
                cell.append(character)
        elif character == '"' and state == "closing":
            cell.append('"')
            state = "quoted"
        elif character == '"':
            assert state == "start", "a quote inside of an unquoted cell"
            state = "quoted"
        elif character in ",\n":
            row.append("".join(cell))
            cell, state = [], "start"
            if character == "\n":
                rows.append(tuple(row))
                row = []
        else:
            assert state != "closing", "text after a quoted cell"
            assert character != "\r", "a line end outside of quotes"
            cell.append(character)
            state = "plain"
    assert (row, state) == ([], "start"), "the last line does not end"
    assert len({len(row) for row in rows}) == 1
    return rows


READERS: list[Callable[[Path], list[tuple[Any, ...]]]] = [
    read_duckdb,
    read_pandas,
    read_polars,
    read_python,
    read_strictly,
]


def are_same(found: Any, cell: str | None) -> bool:
    """Whether a reader took a cell for what it is: its text, its number, or nothing."""
    if cell is None:
        return found is None or found == "" or (isinstance(found, float) and math.isnan(found))
    if isinstance(found, str):
        return found == cell
    return found is not None and float(found) == float(cell)


def in_order(first: list[str], second: list[str]) -> pa.Table:
    """Two columns whose rows are in the order of a release."""
    table = pa.table({"first": first, "second": second})
    return table.take(pa.array(lead(table, canonical_order(table))))


@cache
def shapes() -> dict[str, pa.Table]:
    """Columns as releases have them; what is special comes late, after the sampled rows."""
    names = [f"party {letter}" for letter in "abcdefgh"]
    groups = group_by_frequency(names, np.ones(8, dtype=np.int64))[0][1]
    late = ["plain"] * (N_ROWS - 2)
    ages = [str(20 + row % 50) for row in range(N_ROWS)]
    return {
        "labels late": pa.table({"age": ages, "party": [*late, *groups[:2]]}),
        "labels in every row": pa.table({"age": ages, "party": [groups[0]] * N_ROWS}),
        "commas late": pa.table({"age": ages, "job": [*late, "cook, waiter", "smith"]}),
        "quotes late": pa.table({"job": [*late, 'the "boss"', '"'], "age": ages}),
        "lines late": pa.table({"note": [*late, "two\nlines", "re\r\nturn"], "age": ages}),
        "missing first": pa.table({"job": [*[None] * (N_ROWS - 1), "a, b"], "age": ages}),
        "commas and missing": pa.table({"job": ["a, b", None] * (N_ROWS // 2), "age": ages}),
        "unicode": pa.table({"ort": [*late, "Köln, Ehrenfeld", "東京,「都」"], "âge": ages}),
        "leading zeros": pa.table({"zip": ["01067", "0106*"] * (N_ROWS // 2), "n": ages}),
        "names": pa.table({"a, b": late, "c; d": late, "e": late}),
        "formulas": pa.table({"f": ["=1+1", "-x", "@y, z", "+q"] * (N_ROWS // 4), "n": ages}),
        "ranges late": in_order([*ages[:-2], "90-94", "90-94"], [*late, "x", "y"]),
        "decimals late": in_order(["20"] * (N_ROWS - 1) + ["20.5"], ages),
        "open ranges late": in_order(["a"] * N_ROWS, ["20"] * (N_ROWS - 1) + [">=80"]),
        "months late": in_order(["2024-01-31"] * (N_ROWS - 1) + ["2024-03"], ages),
        "words late": in_order(["false"] * (N_ROWS - 1) + ["unknown"], ages),
        "one column": pa.table({"party": [*late, *groups[:2]]}),
        "one column of labels": pa.table({"party": [groups[0]] * N_ROWS}),
    }


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
@pytest.mark.parametrize("shape", shapes())
def test_a_release_is_read_without_options(
    tmp_path: Path, shape: str, reader: Callable[[Path], list[tuple[Any, ...]]]
) -> None:
    table = shapes()[shape]
    path = tmp_path / "release.csv"
    write_table(table, path, Format())
    names, *rows = reader(path)
    assert list(names) == table.column_names
    assert len(rows) == table.num_rows
    for found, cells in zip(zip(*rows, strict=True), table.columns, strict=True):
        wrong = [
            (one, cell)
            for one, cell in zip(found, cells.to_pylist(), strict=True)
            if one != cell and not are_same(one, cell)
        ]
        assert not wrong, wrong[:3]


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
@pytest.mark.parametrize("shape", shapes())
def test_duckdb_detects_other_delimiters(tmp_path: Path, shape: str, delimiter: str) -> None:
    table = shapes()[shape]
    path = tmp_path / "release.csv"
    write_table(table, path, Format(delimiter=delimiter))
    names, *rows = read_duckdb(path)
    assert list(names) == table.column_names
    expected = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    assert len(rows) == len(expected)
    for found, cells in zip(rows, expected, strict=True):
        assert found == cells or all(map(are_same, found, cells)), (found, cells)

"""Files that are no sets are refused with where, what and remedy, and small ones take no memory."""

from __future__ import annotations

import contextlib
import gzip
import io
import resource
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incrowd.errors import DataError, JobError
from incrowd.sets import text as set_cells
from incrowd.sets.files import SetOptions, read_set_file, read_sets
from oracles.set_files import put

PATTERN = "%%MatrixMarket matrix coordinate pattern general\n"


def refused(path: Path, options: SetOptions | None = None) -> DataError:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError) as caught:
        read_sets(path, options)
    assert path.name.split(".")[0] in caught.value.what
    assert caught.value.remedy
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KiB
    return caught.value


# ── text ────────────────────────────────────────────────────────────────────────────────────

TEXTS = {
    "an edge list with one column": ("a.txt", "1\n2\n3\n", "one column"),
    "one column named csv": ("a.csv", "user\n1\n2\n", "one column"),
    "one column of words": ("a.txt", "ada\nbob\n", "one column"),
    "a line with one cell": ("a.txt", "1 2\n3 4\n5\n6 7\n", "line 3 has 1 cells"),
    "a line with three cells": ("a.csv", "1,2\n3,4,5\n5,6\n7,8\n", "line 2 has 3 cells"),
    "an empty name": ("a.csv", "1,2\n3,\n", "line 2 has a name that is empty"),
    "a quoted empty name": ("a.dat", '1 2\n3 ""\n', "line 2 has a name that is empty"),
    "a quote inside a name": ("a.dat", '1 2\n3 5"x\n4\n5 6"\n', "line 2 has a quote inside"),
    "text behind a quoted name": ("a.dat", '1\n\n"a b"c 2\n', "line 3 has a quote inside"),
    "an open quote": ("a.dat", '1 2\n3 "abc\n4\n', "line 2 is never closed"),
    "an open quote in an edge list": ("a.txt", '1 2\n3 "abc\n4 5\n', "does not end"),
    "nothing but comments": ("a.txt", "# a\n# b\n", "no entry"),
    "blank lines only": ("a.txt", "\n\n\n", "no entry"),
    "nothing but a header": ("a.csv", "user,item\n", "may be names"),
    "words above words": ("a.csv", "ada,pear\nbob,fig\n", "may be names"),
    "two delimiters": ("a.txt", "1,5;2,5\n3,5;4,5\n", "ambiguous"),
    "NUL": ("a.dat", b"1 2\n3 \x00 4\n", "NUL"),
    "another encoding": ("a.dat", "1 2\né\n".encode("latin-1"), "line 2 is not utf-8"),
    "nothing": ("a.dat", b"", "empty"),
    "nothing, packed": ("a.dat.gz", gzip.compress(b""), "empty"),
    "a ZIP archive": ("a.dat", b"PK\x03\x04 and so on", "ZIP"),
    "no known ending": ("a.pickle", b"x", "tells no format"),
    "a packed Parquet": ("a.parquet.gz", b"x", "not compressed as a whole"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_text_that_is_no_sets(tmp_path, case):
    name, content, said = TEXTS[case]
    assert said in refused(put(tmp_path, name, content)).what


def test_header_only_where_a_header_is_stated(tmp_path):
    path = put(tmp_path, "a.csv", "user,item\n")
    assert "no entry" in refused(path, SetOptions(header=True)).what


@pytest.mark.parametrize("name", ["cut.dat.gz", "cut.txt.gz", "cut.mtx.gz"])
def test_packed_files_that_are_cut_off(tmp_path, name):
    rows = "".join(f"{row} {row * 7919 % 9973 + 1}\n" for row in range(1, 60_000))
    content = f"{PATTERN}60000 60000 59999\n{rows}" if ".mtx" in name else rows
    whole = gzip.compress(content.encode())
    for keep in (0.3, 0.99):
        assert "truncated" in refused(put(tmp_path, name, whole[: int(len(whole) * keep)])).what


def test_a_line_that_never_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(set_cells, "_MOST_LINE_BYTES", 1 << 18)
    monkeypatch.setattr(set_cells, "_BLOCK_BYTES", 1 << 16)
    for piece in ("x", "1 ", '"x '):
        packed = gzip.compress(piece.encode() * (1 << 20))
        assert "longer than" in refused(put(tmp_path, "long.dat.gz", packed)).what
        refused(put(tmp_path, "long.csv.gz", packed), SetOptions(header=False))


def test_a_small_file_of_a_thousand_million_rows(tmp_path):
    path = put(tmp_path, "bomb.dat.gz", gzip.compress(b"\n" * (1 << 23)))
    assert "GB" in refused(path, SetOptions(memory=1 << 25)).what


def test_lists_of_rows_that_do_not_fit(tmp_path):
    edges = put(tmp_path, "a.txt", "1 2\n3 4\n")
    put(tmp_path, "a.txt.rows", "1\n")
    error = refused(edges)
    assert "1 of its names are not in its list" in error.what
    assert "a.txt.rows" in error.remedy
    put(tmp_path, "a.txt.rows", "1\n3\n")
    assert "not in its list" in refused(edges, SetOptions("directed")).what
    put(tmp_path, "a.txt.rows", "1\n3\n1\n")
    assert "more than once" in refused(edges).what
    baskets = put(tmp_path, "b.dat", "1 2\n3 4\n")
    put(tmp_path, "b.dat.rows", "1\n2\n3\n")
    assert "2 lines" in refused(baskets).what
    matrix = put(tmp_path, "c.mtx", PATTERN + "2 2 1\n1 1\n")
    put(tmp_path, "c.mtx.items", "x\n")
    assert "2 items" in refused(matrix).what


def test_baskets_that_are_no_graph(tmp_path):
    path = put(tmp_path, "a.dat", "1 2\n5\n0\n")
    assert "1 items are no numbers of rows" in refused(path, SetOptions("directed")).what
    assert "rows" in refused(put(tmp_path, "b.dat", "x y\nx\n"), SetOptions("directed")).remedy


def test_options_that_do_not_exist():
    for stated in ({"graph": "tree"}, {"kind": "xml"}, {"values": "all"}):
        with pytest.raises(JobError):
            SetOptions(**stated)


def test_columns_that_do_not_exist(tmp_path):
    path = put(tmp_path, "a.csv", "user,item\n1,2\n")
    with pytest.raises(JobError, match="users"):
        read_sets(path, SetOptions(row_column="users"))
    assert "same column" in refused(path, SetOptions(row_column="user", item_column="user")).what


# ── Matrix Market ───────────────────────────────────────────────────────────────────────────

MATRICES = {
    "no banner": ("1 1 1\n1 1\n", "does not begin"),
    "an array": ("%%MatrixMarket matrix array real general\n1 1\n1\n", "only coordinates"),
    "complex": ("%%MatrixMarket matrix coordinate complex general\n1 1 0\n", "only coordinates"),
    "skew": ("%%MatrixMarket matrix coordinate real skew-symmetric\n1 1 0\n", "only general"),
    "no size": (PATTERN, "no line with its size"),
    "a short size": (PATTERN + "2 2\n1 1\n", "line 2 does not state"),
    "ragged": (PATTERN + "3 3 3\n1 1\n2\n3 3\n", "line 4 has 1 numbers"),
    "ragged to the right": (PATTERN + "3 3 3\n1 1\n2 2 1\n3 3\n", "line 4 has 3 numbers"),
    "too few": (PATTERN + "3 3 3\n1 1\n2 2\n", "says 3 entries, and 2"),
    "too many": (PATTERN + "3 3 1\n1 1\n2 2\n", "says 1 entries, and 2"),
    "negative": (PATTERN + "3 3 1\n-1 1\n", "line 3 has a row that is not from 1 to 3"),
    "from zero": (PATTERN + "3 3 2\n1 1\n1 0\n", "line 4 has a column that is not from 1"),
    "beyond": (PATTERN + "3 3 1\n4 1\n", "line 3 has a row"),
    "text": (PATTERN + "3 3 1\n1 pear\n", "line 3 has something other"),
    "beyond 64 bits": (PATTERN + "3 3 1\n1 99999999999999999999\n", "line 3 has something"),
    "a text for a value": (
        "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 x\n",
        "no number",
    ),
    "NaN": ("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 nan\n", "NaN"),
    "a negative size": (PATTERN + "-3 3 0\n", "negative"),
    "rows beyond 32 bits": (PATTERN + "1000000000000 3 1\n1 1\n", "1,000,000,000,000 rows"),
    "columns beyond 32 bits": (PATTERN + "3 4000000000 1\n1 1\n", "4,000,000,000 items"),
    "rows that nothing bears out": (PATTERN + "500000000 3 1\n1 1\n", "claims 500,000,000 rows"),
    "columns that nothing bears out": (PATTERN + "3 900000000 1\n1 1\n", "claims 3 rows"),
    "entries that nothing bears out": (PATTERN + "3 3 1000000000000\n1 1\n", "and 1 are there"),
    "symmetric and not square": (
        "%%MatrixMarket matrix coordinate pattern symmetric\n2 3 1\n1 1\n",
        "not square",
    ),
    "symmetric and full": (
        "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 2\n2 1\n",
        "both of its halves",
    ),
}


@pytest.mark.parametrize("case", MATRICES)
def test_matrix_market_files_that_are_wrong(tmp_path, case):
    content, said = MATRICES[case]
    assert said in refused(put(tmp_path, "m.mtx", content)).what
    assert said in refused(put(tmp_path, "m.mtx.gz", gzip.compress(content.encode()))).what


def test_a_matrix_that_is_no_graph(tmp_path):
    path = put(tmp_path, "m.mtx", PATTERN + "2 3 1\n1 1\n")
    assert "same nodes" in refused(path, SetOptions("directed")).what


# ── SciPy ───────────────────────────────────────────────────────────────────────────────────


def npz(folder: Path, raw: dict[str, bytes] | None = None, **changed: object) -> Path:
    """Write a good matrix with some of its arrays changed, left out (None) or as raw bytes."""
    arrays: dict[str, object] = {
        "format": np.array(b"csr"),
        "shape": np.array([2, 3]),
        "indptr": np.array([0, 2, 3], dtype=np.int32),
        "indices": np.array([0, 2, 1], dtype=np.int32),
        "data": np.ones(3),
    } | changed
    with zipfile.ZipFile(folder / "m.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, values in arrays.items():
            if values is not None and name not in (raw or {}):
                content = io.BytesIO()
                np.save(content, values, allow_pickle=True)
                archive.writestr(f"{name}.npy", content.getvalue())
        for name, content in (raw or {}).items():
            archive.writestr(f"{name}.npy", content)
    return folder / "m.npz"


def header(shape: str, dtype: str = "<i4") -> bytes:
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


ARRAYS = {
    "another kind": ({"format": np.array(b"csc")}, "another kind than CSR"),
    "no data": ({"data": None}, "no 'data'"),
    "no shape": ({"shape": None}, "no 'shape'"),
    "a shape of one": ({"shape": np.array([2])}, "not two whole numbers"),
    "a negative shape": ({"shape": np.array([-2, 3])}, "not two whole numbers"),
    "a shape of texts": ({"shape": np.array(["2", "3"])}, "not two whole numbers"),
    "a huge shape": ({"shape": np.array([10**12, 3])}, "1,000,000,000,000 rows"),
    "too many columns": ({"shape": np.array([2, 10**10])}, "10,000,000,000 items"),
    "columns that nothing bears out": ({"shape": np.array([2, 10**9])}, "claims"),
    "a shape that is not the rows'": ({"shape": np.array([4, 3])}, "need 5 starts"),
    "starts that fall": ({"indptr": np.array([0, 4, 3])}, "indptr does not go"),
    "starts not from zero": ({"indptr": np.array([1, 2, 3])}, "indptr does not go"),
    "starts beyond the entries": ({"indptr": np.array([0, 2, 4])}, "indptr does not go"),
    "negative items": ({"indices": np.array([0, 2, -1])}, "row 2 has an item"),
    "items beyond the columns": ({"indices": np.array([0, 3, 1])}, "row 1 has an item"),
    "items beyond 32 bits": ({"indices": np.array([0, 2**40, 1])}, "row 1 has an item"),
    "items that are floats": ({"indices": np.array([0.0, 2.0, 1.0])}, "no whole numbers"),
    "items that are texts": ({"indices": np.array(["0", "2", "1"])}, "no whole numbers"),
    "ragged": ({"data": np.ones(2)}, "2 have values"),
    "values that are texts": ({"data": np.array(["1", "1", "1"])}, "no numbers"),
    "NaN": ({"data": np.array([1, np.nan, 1])}, "NaN"),
    "counts": ({"data": np.array([1, 2, 1])}, "neither 0 nor 1"),
    "two dimensions": ({"indices": np.zeros((3, 1), dtype=int)}, "no plain lists"),
    "objects": ({"data": np.array([1, "a", None], dtype=object)}, "pickled"),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_matrices_of_scipy_that_are_wrong(tmp_path, case):
    changed, said = ARRAYS[case]
    assert said in refused(npz(tmp_path, **changed)).what


@pytest.mark.parametrize(
    "content",
    [
        header("(1000000000000,)") + bytes(12),
        header("(3,)") + bytes(4),
        header("(-3,)") + bytes(12),
        header("('a',)") + bytes(12),
        b"\x93NUMPY\x01\x00\xff\xff",
        b"not an array",
        b"",
    ],
)
def test_arrays_whose_header_lies(tmp_path, content):
    assert "corrupt" in refused(npz(tmp_path, raw={"indices": content})).what


def test_archives_that_are_damaged(tmp_path):
    whole = npz(tmp_path).read_bytes()
    assert read_set_file(tmp_path / "m.npz").sets.n_entries == 3
    for content in (whole[:-30], whole[: len(whole) // 2], b"no archive", bytes(50)):
        refused(put(tmp_path, "m.npz", content))
    broken = bytearray(whole)
    for place in range(30, len(whole), 7):  # whatever is damaged, it is read or refused
        broken[place] ^= 0xFF
        path = put(tmp_path, "m.npz", bytes(broken))
        with contextlib.suppress(DataError):
            assert read_sets(path).n_rows == 2
        broken[place] ^= 0xFF


def test_an_archive_that_unpacks_to_more_than_there_is(tmp_path):
    path = npz(tmp_path, indptr=np.zeros(1 << 22, dtype=np.int64))
    assert path.stat().st_size < 1 << 20
    assert "GB" in refused(path, SetOptions(memory=1 << 24)).what


# ── Parquet ─────────────────────────────────────────────────────────────────────────────────

TABLES = {
    "one column": ({"a": [1, 2]}, "one column"),
    "floats": ({"a": [1, 2], "b": [1.0, 2.5]}, "its type is double"),
    "a missing row": ({"a": [1, None], "b": ["x", "y"]}, "entry 2 is missing"),
    "a missing item": ({"a": [1, 2], "b": [None, "y"]}, "entry 1 is missing"),
    "an empty name": ({"a": [1, 2], "b": ["", "y"]}, "name is empty"),
    "a missing list": ({"b": [["x"], None]}, "row 2 has no list"),
    "a missing item in a list": ({"b": [["x"], [None]]}, "entry 2 is missing"),
    "lists of lists": ({"b": [[["x"]]]}, "its type is"),
    "two columns of lists": ({"a": [["x"]], "b": [["x"]]}, "2 columns of lists"),
    "two columns beside lists": ({"a": [1], "b": [2], "c": [["x"]]}, "2 columns beside"),
    "a row twice": ({"a": [1, 1], "b": [["x"], ["y"]]}, "1 rows have the name"),
    "no rows": ({"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())}, "no entry"),
    "a number beyond 64 bits": ({"a": pa.array([2**63], pa.uint64()), "b": [1]}, "beyond 64 bits"),
}


@pytest.mark.parametrize("case", TABLES)
def test_parquet_that_is_no_sets(tmp_path, case):
    columns, said = TABLES[case]
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    assert said in refused(tmp_path / "t.parquet").what


def test_parquet_that_is_damaged(tmp_path):
    pq.write_table(pa.table({"a": list(range(1000)), "b": ["x"] * 1000}), tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    for content in (whole[:-100], whole[:50], b"PAR1", b"no parquet"):
        assert "corrupt" in refused(put(tmp_path, "t.parquet", content)).what

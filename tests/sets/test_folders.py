"""A folder of part files of sets reads as one file: the same sets, and faults by part."""

import gzip
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from incrowd.errors import DataError
from incrowd.sets.files import SetOptions, read_set_file
from incrowd.sets.sets import EntryStorage

ROWS = [["tea", "pear"], [], ["tea"], ["plum", "fig", "tea"], ["fig"], [], ["pear", "fig"]]


def put_lists(path, rows):
    path.write_text("".join(" ".join(row) + "\n" for row in rows), "utf-8")


def put_pairs(path, rows, first=0, header=""):
    lines = [f"r{first + place},{item}\n" for place, row in enumerate(rows) for item in row]
    path.write_text(header + "".join(lines), "utf-8")


def parquet_of(rows, first=0):
    entries = [(f"r{first + place}", item) for place, row in enumerate(rows) for item in row]
    columns = {"who": [row for row, _ in entries], "what": [item for _, item in entries]}
    return pa.table(columns, schema=pa.schema([("who", pa.string()), ("what", pa.string())]))


def assert_same(found, expected):
    assert np.array_equal(found.sets.starts, expected.sets.starts)
    assert np.array_equal(found.sets.items, expected.sets.items)
    for names in ("row_names", "item_names"):
        here, there = getattr(found.sets, names), getattr(expected.sets, names)
        assert (here is None) == (there is None)
        assert here is None or here.to_pylist() == there.to_pylist()
    assert found.format == expected.format


@given(
    st.lists(st.lists(st.sampled_from("abcdefg"), max_size=4), min_size=1, max_size=12),
    st.lists(st.integers(0, 12), max_size=3),
)
def test_baskets_in_parts_are_the_baskets_of_one_file(tmp_path_factory, rows, cuts):
    folder = tmp_path_factory.mktemp("sets")
    put_lists(folder / "whole.dat", rows)
    (folder / "parts").mkdir()
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    for part, (start, end) in enumerate(pairwise(edges)):
        put_lists(folder / "parts" / f"part-{part}.dat", rows[start:end])
    if not any(rows):
        return  # one file of blank lines alone is another matter
    assert_same(read_set_file(folder / "parts"), read_set_file(folder / "whole.dat"))


@pytest.fixture
def parts(tmp_path):
    """A folder for part files, with what is no data in it."""
    folder = tmp_path / "parts"
    folder.mkdir()
    for name in ("_SUCCESS", ".part-0.crc", "_manifest.json"):
        (folder / name).write_text("", "utf-8")
    return folder


def test_edge_lists_in_parts_each_have_the_header(tmp_path, parts):
    put_pairs(tmp_path / "whole.csv", ROWS, header="who,what\n")
    put_pairs(parts / "part-0.csv", ROWS[:3], header="who,what\n")
    put_pairs(parts / "part-1.csv", [], header="who,what\n")
    put_pairs(parts / "part-2.csv", ROWS[3:], 3, header="who,what\n")
    (parts / "part-3.csv").write_text("", "utf-8")
    options = SetOptions(header=True)
    expected = read_set_file(tmp_path / "whole.csv", options)
    assert_same(read_set_file(parts, options), expected)
    listed = "".join(f"r{row}\n" for row in range(len(ROWS)))
    (tmp_path / "parts.rows").write_text(listed, "utf-8")
    assert read_set_file(parts, options).sets.sizes.tolist() == [len(row) for row in ROWS]
    put_pairs(parts / "part-1.csv", ROWS[:1], header="what,who\n")
    with pytest.raises(DataError, match=r"part-1\.csv: the names of its columns differ"):
        read_set_file(parts, options)


def test_packed_baskets_in_parts(tmp_path, parts):
    put_lists(tmp_path / "whole.dat", ROWS)
    for part, rows in enumerate((ROWS[:2], ROWS[2:])):
        text = "".join(" ".join(row) + "\n" for row in rows)
        (parts / f"part-{part}.dat.gz").write_bytes(gzip.compress(text.encode()))
    found = read_set_file(parts)
    assert np.array_equal(found.sets.items, read_set_file(tmp_path / "whole.dat").sets.items)
    assert found.format.compression == "gz"


@pytest.mark.parametrize("kind", ["pairs", "lists", "named lists"])
def test_parquet_in_parts(tmp_path, parts, kind):
    def table(rows, first=0):
        if kind == "pairs":
            return parquet_of(rows, first)
        lists = {"what": pa.array(rows, pa.list_(pa.string()))}
        names = {"who": [f"r{first + place}" for place in range(len(rows))]}
        return pa.table(lists | (names if kind == "named lists" else {}))

    parquet.write_table(table(ROWS), tmp_path / "whole.parquet")
    parquet.write_table(table(ROWS[:3]), parts / "part-0.parquet")
    parquet.write_table(table(ROWS[:0]).cast(table(ROWS).schema), parts / "part-1.parquet")
    parquet.write_table(table(ROWS[3:], 3), parts / "part-2.parquet")
    expected = read_set_file(tmp_path / "whole.parquet")
    assert_same(read_set_file(parts), expected)
    storage = EntryStorage(tmp_path, 1 << 20)
    storage.is_on_disk = True
    assert_same(read_set_file(parts, None, storage), expected)
    other = table(ROWS).rename_columns([f"{name}2" for name in table(ROWS).column_names])
    parquet.write_table(other, parts / "part-3.parquet")
    with pytest.raises(DataError, match=r"part-3\.parquet: it has other columns than part-0"):
        read_set_file(parts)
    (parts / "part-3.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match=r"part-3\.parquet: not a valid Parquet file"):
        read_set_file(parts)


def test_a_missing_entry_is_told_by_its_part(parts):
    parquet.write_table(parquet_of(ROWS), parts / "a.parquet")
    holes = pa.table({"who": ["r9", "r9"], "what": pa.array(["tea", None], pa.string())})
    parquet.write_table(holes, parts / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet, column 'what': entry 2 is missing"):
        read_set_file(parts)


def test_folders_that_are_no_sets_are_refused(tmp_path, parts):
    with pytest.raises(DataError, match="no part file"):
        read_set_file(parts)
    put_lists(parts / "a.dat", ROWS)
    put_pairs(parts / "b.txt", ROWS)
    with pytest.raises(DataError, match=r"different formats \(a.dat, b.txt\)"):
        read_set_file(parts)
    (parts / "b.txt").unlink()
    (parts / "_SUCCESS").unlink()
    (parts / "_temporary").mkdir()
    with pytest.raises(DataError, match="incomplete"):
        read_set_file(parts)
    matrices = tmp_path / "matrices"
    matrices.mkdir()
    (matrices / "a.npz").write_bytes(b"x")
    with pytest.raises(DataError, match="a matrix is one file"):
        read_set_file(matrices)
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "a.dat").write_text("", "utf-8")
    with pytest.raises(DataError, match="empty: it is empty"):
        read_set_file(empty)

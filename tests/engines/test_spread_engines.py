"""What engines promise of files and folders, on every engine on which whole files lie."""

import csv
import datetime
import gzip
import hashlib
import json
import math
from collections import Counter
from decimal import Decimal

import pyarrow as pa
import pytest
from pyarrow import parquet

from incrowd.codes import canonical_order
from incrowd.engines.base import PartFile, ReadOptions, hash_parts
from incrowd.errors import DataError, InputError
from incrowd.tables.files.read import read_table
from incrowd.tables.files.write import write_table
from incrowd.tables.table import Format
from oracles.counting import as_bag

PLAIN = "zip,age,name\n" + "".join(f"{row % 7:04},{row % 3},n{row}\n" for row in range(40))

TEXTS = {
    "plain": (PLAIN.encode(), {}),
    "quotes and line ends": (b'a,b\n"x, ""y""","1\n2"\n"",\n z ,"w"\r\n', {}),
    "byte order mark": (b"\xef\xbb\xbfa;b\n\xc3\xa4;1\n\xef\xbb\xbfx;2\n", {}),
    "windows-1252": (b"a,b\n\xe4,1\n\x80,2\n", {"encoding": "windows-1252"}),
    "windows-1252, detected": (b"a,b\n\xe4,1\n\x80,2\n", {}),
    "utf-16, detected": ("a,b\nä,1\n".encode("utf-16-le"), {}),
    "utf-16": ("a,b\nä,1\n".encode("utf-16"), {}),
    "no header": (b"x|1\nx|2\ny|2\n", {"header": False, "delimiter": "|"}),
    "one column": (b"a\nx\n\ny\n", {"delimiter": ","}),
    "blank lines": (b"\n\na,b\n1,2\n\n3,4\n\n", {}),
    "no last line end": (b"a,b\nx,1\ny,2", {}),
    "missing": (b"a,b\nNA,1\n,?\nNA,3\n", {"missing_values": ("NA", "?")}),
}


def typed_table():
    return pa.table(
        {
            "n": pa.array([3, None, 1, 1], pa.int16()),
            "u": pa.array([2**64 - 1, 0, 5, 5], pa.uint64()),
            "x": pa.array([0.5, float("nan"), -0.0, -0.0]),
            "flag": pa.array([True, None, False, False]),
            "word": pa.array(["é", "", None, None]),
            "day": pa.array([datetime.date(1999, 1, 2), None, None, None]),
            "at": pa.array([1, None, -5, -5], pa.timestamp("us", "Europe/Vienna")),
            "sum": pa.array([Decimal("1.25"), None, Decimal("-1.00"), Decimal("-1.00")]),
            "kind": pa.array(["a", "b", "a", "a"]).dictionary_encode(),
        }
    )


def rows_read(engine, location, **stated):
    """Return the rows of a file or folder; some faults show only when rows are asked for."""
    return engine.collect(engine.read(str(location), ReadOptions(**stated))[0]).to_pylist()


def assert_reads_like_read_table(engine, path, **stated):
    blocks, stored = engine.read(str(path), ReadOptions(**stated))
    expected = read_table(path, **stated)
    assert stored == expected.format
    assert engine.schema(blocks).equals(expected.frame.schema, check_metadata=True)
    collected = engine.collect(blocks)
    assert as_bag(collected.to_pylist()) == as_bag(expected.frame.to_pylist())


@pytest.mark.parametrize("name", ["none", "some"])
def test_tables_are_loaded_as_they_come(spread_engine, name):
    """The next table is asked for when the last is stored; there may be none."""
    schema = pa.schema([("n", pa.int64()), ("cell", pa.binary())])
    rows = [(number, bytes([number])) for number in range({"none": 0, "some": 7}[name])]
    tables = (pa.table([[number], [cell]], schema=schema) for number, cell in rows)
    blocks = spread_engine.load_tables(tables, schema)
    assert spread_engine.schema(blocks) == schema
    found = spread_engine.collect(blocks)
    assert sorted(zip(*found.to_pydict().values(), strict=True)) == rows
    assert next(tables, None) is None


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_read_as_it_stands(spread_engine, tmp_path, name):
    content, stated = TEXTS[name]
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    assert_reads_like_read_table(spread_engine, path, **stated)


@pytest.mark.parametrize("name", ["rows.tsv", "rows.csv.gz", "rows.txt.zst"])
def test_packed_text_and_tabs(spread_engine, tmp_path, name):
    table = pa.table({"a": ["x, y", None, "z"], "b": ["1", "2", "3"]})
    stored = Format(
        delimiter="\t" if ".tsv" in name else ";",
        compression={"gz": "gz", "zst": "zst"}.get(name.rpartition(".")[2], ""),
    )
    write_table(table, tmp_path / name, stored)
    assert_reads_like_read_table(spread_engine, tmp_path / name)


@pytest.mark.parametrize("name", ["rows.parquet", "rows.arrow", "rows.arrows"])
def test_typed_files(spread_engine, tmp_path, name):
    path = tmp_path / name
    if name.endswith("parquet"):
        parquet.write_table(typed_table(), path, row_group_size=2)
    else:
        new = pa.ipc.new_stream if name.endswith("arrows") else pa.ipc.new_file
        with new(path, typed_table().schema) as writer:
            writer.write_table(typed_table(), max_chunksize=3)
    assert_reads_like_read_table(spread_engine, path)


DAMAGED = {
    "ragged.csv": b"a,b\n1,2\n1,2,3\n",
    "unclosed.csv": b'a,b\n1,2\n"1,2\n',
    "latin.csv": b"a,b\nx,1\n\xe4\xe5\xe6,2\n",
    "nul.csv": b"a,b\nx,1\ny\0,2\n",
    "header.csv": b"a,b\n",
    "empty.csv": b"",
    "twice.csv": b"a,a\n1,2\n",
    "cut.csv.gz": gzip.compress(PLAIN.encode(), mtime=0)[:60],
    "damaged.parquet": b"PAR1" + b"x" * 100 + b"PAR1",
    "none.xlsx": b"PK",
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_are_refused_by_name(spread_engine, tmp_path, name):
    path = tmp_path / name
    path.write_bytes(DAMAGED[name])
    with pytest.raises(DataError, match=name) as told:
        read_table(path)
    with pytest.raises(DataError, match=name) as raised:
        rows_read(spread_engine, path)
    assert str(raised.value) == str(told.value)


def test_a_file_that_is_not_there(spread_engine, tmp_path):
    with pytest.raises(DataError, match=r"rows\.csv: no such file"):
        spread_engine.read(str(tmp_path / "rows.csv"), ReadOptions())


# ── partitioned folders ─────────────────────────────────────────────────────────────────────


def partitioned(folder, files):
    """Write part files, by their paths in the folder: text, or tables as Parquet."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            (folder / path).write_bytes(content)
        else:
            parquet.write_table(content, folder / path)
    return folder


def test_partitions_of_parquet_files_are_columns(spread_engine, tmp_path):
    one = pa.table({"a": pa.array([1, 2], pa.int32())})
    folder = partitioned(
        tmp_path / "in",
        {
            "year=2020/month=01/part-0.parquet": one,
            "year=2020/month=11/part-0.parquet": one.slice(1),
            "year=-5/month=__HIVE_DEFAULT_PARTITION__/part-0.parquet": one,
            "year=__HIVE_DEFAULT_PARTITION__/month=01/part-0.parquet": one.slice(1),
            "_SUCCESS": b"",
        },
    )
    blocks, stored = spread_engine.read(str(folder), ReadOptions())
    assert stored == Format("parquet")
    assert spread_engine.schema(blocks) == pa.schema(
        [("a", pa.int32()), ("year", pa.int64()), ("month", pa.string())]
    )
    found = spread_engine.collect(blocks)
    assert as_bag(found.to_pylist()) == Counter(
        [
            (1, 2020, "01"),
            (2, 2020, "01"),
            (2, 2020, "11"),
            (1, -5, None),
            (2, -5, None),
            (2, None, "01"),
        ]
    )
    paths = sorted(path.relative_to(folder) for path in folder.rglob("*.parquet"))
    assert spread_engine.hash_location(str(folder)) == hash_parts(
        PartFile(
            path.as_posix(),
            (folder / path).stat().st_size,
            hashlib.sha256((folder / path).read_bytes()).hexdigest(),
        )
        for path in paths
    )


def test_names_of_partitions_are_decoded(spread_engine, tmp_path):
    one = pa.table({"a": ["x"]})
    named = {
        "New%20York": "New York",
        "K%C3%B6ln": "Köln",
        "Köln-Süd": "Köln-Süd",
        "a%2Fb": "a/b",
        "%E9": "é",
        "100%": "100%",
        "p=q": "p=q",
        "2020": "2020",
    }
    folder = partitioned(
        tmp_path / "in", {f"the%20city={name}/part-0.parquet": one for name in named}
    )
    found = rows_read(spread_engine, folder)
    assert as_bag(found) == as_bag({"a": "x", "the city": value} for value in named.values())


def test_values_that_spark_reads_as_one_stay_two(spread_engine, tmp_path):
    one = pa.table({"a": ["x"]})
    folder = partitioned(
        tmp_path / "in", {f"c={name}/part-0.parquet": one for name in ("%C3%A9", "Ã©")}
    )
    found = rows_read(spread_engine, folder)
    assert as_bag(found) == as_bag([{"a": "x", "c": "é"}, {"a": "x", "c": "Ã©"}])


def test_partitions_of_text_files_are_text(spread_engine, tmp_path):
    folder = partitioned(
        tmp_path / "in",
        {
            "year=2020/part-0.csv": b"a,b\n1,x\n",
            "year=2021/part-0.csv": b"a,b\n2,y\n3,z\n",
            "_year=2022.csv": b"hidden",
        },
    )
    blocks, _ = spread_engine.read(str(folder), ReadOptions())
    assert set(spread_engine.schema(blocks).types) == {pa.string()}
    found = spread_engine.collect(blocks).to_pylist()
    assert as_bag(found) == as_bag(
        {"a": a, "b": b, "year": year}
        for a, b, year in [("1", "x", "2020"), ("2", "y", "2021"), ("3", "z", "2021")]
    )


REFUSED_PARTITIONS = {
    "no partition": (["year=2020/more/part-0.csv"], "contains a folder, 'more'"),
    "other columns": (["year=1/p.csv", "month=1/p.csv"], r"columns \(month; year\)"),
    "other depth": (["year=1/p.csv", "year=2/day=1/p.csv"], r"columns \(year; year, day\)"),
    "twice": (["year=1/Year=2/p.csv"], "occurs twice"),
    "no value": (["year=/p.csv"], "'year=' names no value"),
    "in the files": (["B=1/p.csv"], "column 'B' is in the part files and in the names"),
}


@pytest.mark.parametrize("name", REFUSED_PARTITIONS)
def test_partitions_that_are_refused(spread_engine, tmp_path, name):
    paths, message = REFUSED_PARTITIONS[name]
    folder = partitioned(tmp_path / "in", dict.fromkeys(paths, b"a,b\n1,2\n"))
    with pytest.raises(DataError, match=message):
        rows_read(spread_engine, folder)


# ── folders ─────────────────────────────────────────────────────────────────────────────────


def folder_of(tmp_path, parts):
    folder = tmp_path / "in"
    folder.mkdir()
    for name, content in parts.items():
        (folder / name).write_bytes(content)
    return folder


def test_a_folder_is_its_parts(spread_engine, tmp_path):
    folder = folder_of(
        tmp_path,
        {
            "part-1.csv": b"a;b\n1;x\n2;y\n",
            "part-0.csv": b"a;b\n",
            "part-2.csv": b'a;b\n3;"z\n"\n',
            "_SUCCESS": b"",
            "_manifest.json": b"{}",
            ".part-0.csv.crc": b"crc",
        },
    )
    blocks, stored = spread_engine.read(str(folder), ReadOptions(delimiter=";"))
    assert stored == Format(delimiter=";")
    assert as_bag(spread_engine.collect(blocks).to_pylist()) == as_bag(
        [{"a": "1", "b": "x"}, {"a": "2", "b": "y"}, {"a": "3", "b": "z\n"}]
    )


def test_a_folder_of_parquet_files(spread_engine, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for part, start in enumerate([0, 1, 4]):
        parquet.write_table(typed_table().slice(start, 3), folder / f"part-{part}.parquet")
    blocks, stored = spread_engine.read(str(folder), ReadOptions())
    assert stored == Format("parquet")
    expected = [
        row
        for part in ("part-0", "part-1")
        for row in read_table(folder / f"{part}.parquet").frame.to_pylist()
    ]
    assert as_bag(spread_engine.collect(blocks).to_pylist()) == as_bag(expected)


REFUSED_FOLDERS = {
    "no _SUCCESS": ({"part-0.csv": b"a,b\n1,2\n", "_manifest.json": b"{}"}, "in: .*incomplete"),
    "no part": ({"_SUCCESS": b""}, "in: contains no part file"),
    "no row": ({"part-0.csv": b"a,b\n", "part-1.csv": b"a,b\n"}, "in: a header and no"),
    "two kinds": ({"part-0.csv": b"a,b\n1,2\n", "part-1.parquet": b"PAR1"}, "different formats"),
    "other names": (
        {"part-0.csv": b"a,b\n1,2\n", "part-1.csv": b"a,c\n1,2\n"},
        "part-1.csv: the names of its columns differ",
    ),
    "more columns": (
        {"part-0.csv": b"a,b\n1,2\n", "part-1.csv": b"a,b,c\n1,2,3\n"},
        "part-1.csv: has 3 columns, and part-0.csv has 2",
    ),
    "damaged text": (
        {"part-0.csv": b"a,b\n1,2\n", "part-1.csv": b"a,b\n1,2\n1\n"},
        "part-1.csv: 1 of 2 rows",
    ),
    "emptied": ({"part-0.csv": b"a,b\n1,2\n", "part-1.csv": b""}, "part-1.csv: the file is empty"),
    "unknown kind": ({"part-0.csv": b"a,b\n1,2\n", "notes.md": b"x"}, "notes.md: the name ends"),
}


@pytest.mark.parametrize("name", REFUSED_FOLDERS)
def test_folders_that_are_refused(spread_engine, tmp_path, name):
    parts, message = REFUSED_FOLDERS[name]
    folder = folder_of(tmp_path, parts)
    with pytest.raises(DataError, match=message):
        rows_read(spread_engine, folder)


def test_folders_in_folders_are_refused(spread_engine, tmp_path):
    folder = folder_of(tmp_path, {"part-0.csv": b"a,b\n1,2\n"})
    (folder / "2020").mkdir()
    (folder / "2020" / "part-1.csv").write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataError, match="in: contains a folder, '2020'"):
        spread_engine.read(str(folder), ReadOptions())
    (folder / "2020").rename(folder / "year=2020")
    with pytest.raises(DataError, match=r"different partition columns \(none; year\)"):
        spread_engine.read(str(folder), ReadOptions())
    (folder / "_temporary").mkdir()
    with pytest.raises(DataError, match="incomplete"):
        spread_engine.read(str(folder), ReadOptions())


def test_parts_of_other_types_are_refused(spread_engine, tmp_path):
    folder = folder_of(tmp_path, {})
    parquet.write_table(pa.table({"a": ["x"], "b": [1]}), folder / "part-0.parquet")
    parquet.write_table(pa.table({"a": ["x"], "b": [1.5]}), folder / "part-1.parquet")
    with pytest.raises(DataError, match=r"part-1.parquet: the type of column 2 differs"):
        rows_read(spread_engine, folder)


def test_a_corrupt_part_fails_by_name_and_nothing_is_published(spread_engine, tmp_path):
    folder = folder_of(tmp_path, {})
    for part in range(3):
        parquet.write_table(typed_table(), folder / f"part-{part}.parquet")
    whole = (folder / "part-1.parquet").read_bytes()
    (folder / "part-1.parquet").write_bytes(whole[:200] + b"\xff" * 200 + whole[400:])

    def copied():
        with spread_engine.new_folder(str(tmp_path / "out"), force=False) as release:
            blocks, stored = spread_engine.read(str(folder), ReadOptions())
            spread_engine.write_folder(blocks, release.where, stored)
            release.publish("{}")

    with pytest.raises(DataError, match=r"part-1\.parquet: .*corrupt"):
        copied()
    assert leftovers(tmp_path) == []


# ── order ───────────────────────────────────────────────────────────────────────────────────


def test_every_type_has_its_order(spread_engine):
    table = pa.table(
        {
            "x": pa.array([0.0, -0.0, None, math.nan, math.inf, -1.5, -0.0, 0.0, math.nan, None]),
            "text": ["b", "a", "\U0001f600", "\uffff", "é", "z", "", "A", "aa", None],
            "u": pa.array([2**64 - 1, 0, 1, 2, 3, None, 5, 6, 2**63, 8], pa.uint64()),
            "at": pa.array([-1, 5, None, 0, 0, 0, 0, 0, 0, 0], pa.timestamp("ns")),
            "sum": pa.array([Decimal(n).scaleb(-2) for n in (5, -5, 3, 0, 1, 2, 4, 9, 8, 7)]),
            "flag": pa.array([True, False, None] * 3 + [True]),
        }
    )
    for first in table.column_names:
        rotated = table.select([first, *(name for name in table.column_names if name != first)])
        found = pa.concat_tables(spread_engine.iter_sorted(spread_engine.load(rotated)))
        expected = rotated.take(pa.array(canonical_order(rotated)))
        assert repr(found.to_pylist()) == repr(expected.to_pylist()), first
        assert found.schema == rotated.schema


# ── releases ────────────────────────────────────────────────────────────────────────────────


FORMATS = {
    "csv": Format(),
    "tsv.gz": Format(compression="gz", delimiter="\t"),
    "parquet": Format("parquet"),
    "arrow": Format("arrow"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_written_is_read_back(spread_engine, tmp_path, name):
    table = pa.table({"zip": ["1, 2", None, "b", "b"] * 5, "n": [str(n % 3) for n in range(20)]})
    with spread_engine.new_folder(str(tmp_path / "out"), force=False) as release:
        spread_engine.write_folder(spread_engine.load(table), release.where, FORMATS[name])
        parts = release.parts()
        release.publish(json.dumps({"parts": [part.name for part in parts]}))
    folder = tmp_path / "out"
    names = sorted(path.name for path in folder.iterdir() if path.name[0] not in "._")
    assert names == [part.name for part in parts]
    assert all(part.startswith("part-") and part.endswith(f".{name}") for part in names)
    assert (folder / "_SUCCESS").exists()
    assert json.loads((folder / "_manifest.json").read_text())["parts"] == names
    blocks, stored = spread_engine.read(str(folder), ReadOptions())
    assert stored == FORMATS[name]
    ordered = table.take(pa.array(canonical_order(table))).to_pylist()
    assert as_bag(spread_engine.collect(blocks).to_pylist()) == as_bag(ordered)
    in_names_order = [row for part in names for row in rows_of(folder / part)]
    assert in_names_order == ordered


def rows_of(path):
    """Return the rows of one part, as another reader reads them where there is one."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return [
                {name: cell or None for name, cell in row.items()} for row in csv.DictReader(file)
            ]
    return read_table(path).frame.to_pylist() if path.stat().st_size else []


def test_parts_are_hashed(spread_engine, tmp_path):
    table = pa.table({"a": ["x", "y"]})
    with spread_engine.new_folder(str(tmp_path / "out"), force=False) as release:
        spread_engine.write_folder(spread_engine.load(table), release.where, Format())
        parts = release.parts()
        release.publish("{}")
    for part in parts:
        content = (tmp_path / "out" / part.name).read_bytes()
        assert part == PartFile(part.name, len(content), hashlib.sha256(content).hexdigest())
    hashed = spread_engine.hash_location(str(tmp_path / "out"))
    assert hashed == hash_parts(parts)
    listed = "".join(f"{part.sha256}  {part.name}\n" for part in parts)
    assert hashed == hashlib.sha256(listed.encode()).hexdigest()
    first = tmp_path / "out" / parts[0].name
    assert spread_engine.hash_location(str(first)) == parts[0].sha256


def test_a_folder_without_rows_has_a_part(spread_engine, tmp_path):
    nothing = pa.table({"a": pa.array([], pa.string()), "b": pa.array([], pa.string())})
    with spread_engine.new_folder(str(tmp_path / "out"), force=False) as release:
        spread_engine.write_folder(spread_engine.load(nothing), release.where, Format())
        release.publish("{}")
    (part,) = (tmp_path / "out").glob("part-*")
    assert part.read_bytes() == b"a,b\n"


def leftovers(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.startswith((".", "out")))


def test_a_folder_that_is_not_published_leaves_nothing(spread_engine, tmp_path):
    out = str(tmp_path / "out")
    rows = spread_engine.load(pa.table({"a": ["x"]}))
    with spread_engine.new_folder(out, force=False) as release:
        spread_engine.write_folder(rows, release.where, Format())
    assert leftovers(tmp_path) == []

    def fail():
        with spread_engine.new_folder(out, force=False) as release:
            spread_engine.write_folder(rows, release.where, Format())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert leftovers(tmp_path) == []


def published(engine, folder, cell, *, force):
    with engine.new_folder(str(folder), force=force) as release:
        engine.write_folder(engine.load(pa.table({"a": [cell]})), release.where, Format())
        release.publish("{}")


def test_a_release_is_replaced_by_force_only(spread_engine, tmp_path):
    out = tmp_path / "out"
    published(spread_engine, out, "x", force=False)
    with pytest.raises(InputError, match="out: the output already exists"):
        published(spread_engine, out, "y", force=False)
    assert rows_read(spread_engine, out) == [{"a": "x"}]
    published(spread_engine, out, "y", force=True)
    assert rows_read(spread_engine, out) == [{"a": "y"}]
    assert leftovers(tmp_path) == ["out"]


def test_nothing_but_a_release_is_replaced(spread_engine, tmp_path):
    other = tmp_path / "out"
    other.mkdir()
    (other / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="not a folder of part files"):
        published(spread_engine, other, "x", force=True)
    assert (other / "thesis.txt").read_text() == "years of work"


def test_folders_of_this_machine_are_cut_after_so_many_rows(spread_engine, tmp_path, monkeypatch):
    """Neither the number of tasks nor where Spark would cut a sorted table shows in the parts."""
    for module in ("spark.engine", "disk.engine"):
        monkeypatch.setattr(f"incrowd.engines.{module}.TABLE_ROWS", 64)
    table = pa.table({"a": [row * 7919 % 200 for row in range(200)], "b": ["x"] * 200})
    with spread_engine.new_folder(str(tmp_path / "out"), force=False) as folder:
        spread_engine.write_folder(spread_engine.load(table), folder.where, Format())
        folder.publish("{}")
    parts = sorted((tmp_path / "out").glob("part-*.csv"))
    cells = [read_table(part).frame.column("a").to_pylist() for part in parts]
    assert [len(part) for part in cells] == [64, 64, 64, 8]
    assert [int(cell) for part in cells for cell in part] == list(range(200))

"""Writing: what is written reads back, byte for byte the same, and holds nothing besides."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import struct
import tempfile
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import DataError
from incrowd.tables.columns.types import labels_of
from incrowd.tables.files import write
from incrowd.tables.files.read import read_table
from incrowd.tables.files.write import format_of_path, regroup, write_table, write_tables
from incrowd.tables.frames import _overwrite_nulls, copy_detached
from incrowd.tables.table import Format, suffix_of
from tiers import examples

FORMATS = {
    "data.csv": Format(),
    "data.csv.gz": Format(compression="gz"),
    "data.csv.zst": Format(compression="zst"),
    "data.parquet": Format("parquet"),
    "data.arrow": Format("arrow"),
    "data.arrows": Format("arrow", is_stream=True),
}


def written(frame: pa.Table, stored: Format) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release"
        write_table(frame, path, stored)
        return path.read_bytes()


def secrets_of(content: bytes, stored: Format) -> bytes:
    """The bytes in which a hidden value could be found, unpacked where the kind packs them."""
    if stored.compression == "gz":
        return gzip.decompress(content)
    if stored.compression == "zst":
        return pa.CompressedInputStream(pa.BufferReader(content), "zstd").read()
    return content


# ── text ────────────────────────────────────────────────────────────────────────────────────


def test_a_column_is_quoted_where_a_cell_of_it_must_be() -> None:
    frame = pa.table(
        {
            "a": ["x", "b c", ' "q"', None, "5"],
            "b;c": ["1;2", "1,2", "two\nlines", "\ufeffmark", "re\rturn"],
            "d": ["", "d", "d-e", "{f}", "é"],
            "e, f": [1, 2, 3, None, 5],
        }
    )
    assert written(frame, Format(delimiter=";", newline="\r\n")).decode() == (
        '"a";"b;c";d;"e, f"\r\n"x";"1;2";;1\r\n"b c";"1,2";d;2\r\n" ""q""";"two\nlines";d-e;3\r\n'
        ';"\ufeffmark";{f};\r\n"5";"re\rturn";é;5\r\n'
    )


def test_columns_with_another_delimiter_are_quoted_where_it_could_be_taken_for_the_real_one() -> (
    None
):
    frame = pa.table({"a": ["{x|y}"], "b": ["1,5"], "c": ["p;q"], "d": ["r\ts"], "e": ["t"]})
    assert written(frame, Format()) == b'a,"b",c,d,e\n{x|y},"1,5",p;q,r\ts,t\n'
    assert written(frame, Format(delimiter="\t")) == (
        b'"a"\t"b"\t"c"\t"d"\te\n"{x|y}"\t"1,5"\t"p;q"\t"r\ts"\tt\n'
    )
    assert written(frame.select(["a"]), Format()) == b'"a"\n"{x|y}"\n'


def test_text_without_header() -> None:
    assert written(pa.table({"a": ["x"], "b": ["y"]}), Format(has_header=False)) == b"x,y\n"


def test_a_null_alone_on_its_line_is_still_a_row() -> None:
    content = written(pa.table({"a": ["x", None, ""]}), Format())
    assert content == b'"a"\n"x"\n""\n""\n'
    assert list(csv.reader(io.StringIO(content.decode()))) == [["a"], ["x"], [""], [""]]


def test_typed_values_are_written_as_their_labels() -> None:
    frame = pa.table(
        {
            "n": [5, None],
            "x": [5.0, 0.1],
            "b": [True, False],
            "day": [date(2020, 1, 31), None],
            "at": [datetime(2020, 1, 31), datetime(2020, 1, 31, 12, 30)],
            "d": [Decimal("1.50"), None],
            "c": pa.array(["u", "v"]).dictionary_encode(),
        }
    )
    assert written(frame, Format()).decode() == (
        "n,x,b,day,at,d,c\n5,5,true,2020-01-31,2020-01-31,1.50,u\n"
        ",0.1,false,,2020-01-31T12:30:00,,v\n"
    )


def test_blocks_and_long_cells_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pa.table({"a": [f"{row}," for row in range(1000)], "b": ["y" * 50] * 1000})
    whole = written(frame, Format())
    monkeypatch.setattr(write, "BLOCK_ROWS", 7)
    monkeypatch.setattr(write, "_BLOCK_BYTES", 300)
    assert written(frame, Format()) == whole


@pytest.mark.parametrize("name", FORMATS)
def test_dictionaries_are_written_as_their_values(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = pa.array(["long" * 20, "b", None] * 300)
    whole = written(pa.table({"a": cells}), FORMATS[name])
    coded = pa.table({"a": cells.dictionary_encode()})
    assert written(coded, FORMATS[name]) == whole
    monkeypatch.setattr(write, "_BLOCK_BYTES", 4000)
    parts = write._split_block(coded)
    assert pa.concat_tables(parts).equals(coded)
    assert max(part.num_rows for part in parts) * 80 <= 4000


CELL = st.one_of(st.none(), st.text(alphabet='ab,;\t|"\r\n é\ufeff0', min_size=1, max_size=5))


@given(
    rows=st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=1)
    ),
    delimiter=st.sampled_from([",", ";", "\t", "|", " "]),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    has_header=st.booleans(),
    compression=st.sampled_from(["", "gz", "zst"]),
)
@examples(150)
def test_text_reads_back_here_and_with_the_csv_module(
    rows: list[list[str | None]],
    delimiter: str,
    newline: str,
    has_header: bool,
    compression: str,
) -> None:
    names = [f"column_{number + 1}" for number in range(len(rows[0]))]
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    frame = pa.table(columns, names=names)
    stored = Format("csv", compression, delimiter, "utf-8", has_header, newline)
    content = written(frame, stored)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.txt"
        path.write_bytes(content)
        table = read_table(path, delimiter=delimiter, encoding="utf-8", header=has_header)
    assert table.frame.equals(frame)
    text = secrets_of(content, stored).decode()
    read_rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    assert read_rows == [
        *([names] if has_header else []),
        *[[cell or "" for cell in row] for row in rows],
    ]


# ── every kind ──────────────────────────────────────────────────────────────────────────────

SAMPLE = pa.table(
    {
        "n": pa.array([*range(99_999), None], pa.int32()),
        "s": pa.array([*(f"v{row % 50}" for row in range(99_999)), None]),
        "x": pa.array([*(row / 8 for row in range(99_999)), None]),
        "day": pa.array([*range(99_999), None], pa.date32()),
        "b": pa.array([True, None] * 50_000),
    }
)


@pytest.mark.parametrize("name", FORMATS)
def test_bytes_are_the_same_however_the_table_is_cut(name: str, tmp_path: Path) -> None:
    stored = FORMATS[name]
    cut = pa.concat_tables(
        [SAMPLE.slice(0, 5), SAMPLE.slice(5, 70_000), SAMPLE.slice(70_005, 1), SAMPLE.slice(70_006)]
    )
    write_table(SAMPLE, tmp_path / name, stored)
    write_table(cut, tmp_path / f"again.{name}", stored)
    assert (tmp_path / name).read_bytes() == (tmp_path / f"again.{name}").read_bytes()
    table = read_table(tmp_path / name)
    assert table.format == stored
    if stored.kind == "csv":
        for before, after in zip(SAMPLE.columns, table.frame.columns, strict=True):
            assert labels_of(before).equals(labels_of(after))
    else:
        assert table.frame.equals(SAMPLE)
        assert table.frame.schema.equals(SAMPLE.schema, check_metadata=True)


def hiding(kind: pa.DataType, shown: list[object], hidden: object) -> pa.Array:
    """A column that still holds a hidden value: beyond a slice's end, and under a null."""
    whole = pa.array([*shown, hidden, *shown, hidden], kind)
    mask = pa.array([False] * len(shown) + [True] + [False] * (len(shown) + 1)).buffers()[1]
    validity = pa.py_buffer(bytes(255 - byte for byte in mask.to_pybytes()))
    buffers = [validity, *whole.buffers()[1:]]
    return pa.Array.from_buffers(kind, len(whole), buffers).slice(0, 2 * len(shown) + 1)


HIDDEN = [
    (pa.string(), ["a", "b"], "zq-00017", b"zq-00017"),
    (pa.int64(), [1, 2], 0x6A6B6C6D6E6F7071, struct.pack("<q", 0x6A6B6C6D6E6F7071)),
    (pa.float64(), [1.5, 2.5], 123456.789, struct.pack("<d", 123456.789)),
    (pa.date32(), [1, 2], 0x0A0B0C0D, struct.pack("<i", 0x0A0B0C0D)),
    (pa.timestamp("us", "UTC"), [1, 2], 0x0A0B0C0D0E0F, struct.pack("<q", 0x0A0B0C0D0E0F)),
    (
        pa.decimal128(20, 2),
        [Decimal("1.50")],
        Decimal("98765432.10"),
        struct.pack("<q", 9876543210),
    ),
]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(("kind", "shown", "hidden", "planted"), HIDDEN, ids=lambda case: str(case))
def test_nothing_hides_in_the_container(
    name: str, kind: pa.DataType, shown: list[object], hidden: object, planted: bytes
) -> None:
    column = hiding(kind, shown, hidden)
    assert column.null_count == 1
    assert any(planted in buffer.to_pybytes() for buffer in column.buffers() if buffer)
    frame = pa.table({"a": column, "b": [1] * len(column)})
    stored = FORMATS[name]
    content = secrets_of(written(frame, stored), stored)
    assert planted not in content
    assert all(planted not in buffer.to_pybytes() for buffer in _buffers(copy_detached(frame)))
    assert copy_detached(frame).column("a").to_pylist() == column.to_pylist()


def test_values_under_nulls_are_overwritten_by_shown_ones() -> None:
    column = _overwrite_nulls(pa.chunked_array([hiding(pa.int64(), [7, 8], 0x6A6B6C6D6E6F7071)]))
    held = [struct.unpack("<5q", chunk.buffers()[1].to_pybytes()) for chunk in column.chunks]
    assert held == [(7, 8, 7, 7, 8)]
    assert column.to_pylist() == [7, 8, None, 7, 8]


def _buffers(frame: pa.Table) -> list[pa.Buffer]:
    chunks = [chunk for column in frame.columns for chunk in column.chunks]
    return [buffer for chunk in chunks for buffer in chunk.buffers() if buffer]


@pytest.mark.parametrize("name", FORMATS)
def test_no_unused_categories_metadata_names_or_times(name: str, tmp_path: Path) -> None:
    categories = pa.DictionaryArray.from_arrays([0, None, 0], ["shown", "zq-00017"])
    field = pa.field("a", categories.type, metadata={"note": "zq-00018"})
    schema = pa.schema([field], metadata={"pandas": "zq-00019"})
    frame = pa.table([categories], schema=schema)
    path = tmp_path / f"zq-00020.{name}"
    write_table(frame, path, FORMATS[name])
    content = path.read_bytes()
    assert b"zq-000" not in content + secrets_of(content, FORMATS[name])
    assert read_table(path).frame.to_pydict() == {"a": ["shown", None, "shown"]}
    if name.endswith(".gz"):
        assert content[3] == 0  # no name
        assert content[4:8] == b"\0\0\0\0"  # no time


def test_columns_of_nothing_but_nulls() -> None:
    frame = pa.table({"a": pa.nulls(3, pa.int64()), "b": pa.nulls(3), "c": ["x", "y", "z"]})
    assert copy_detached(frame).to_pydict() == frame.to_pydict()
    assert written(frame, Format()) == b"a,b,c\n,,x\n,,y\n,,z\n"


def test_a_table_without_rows_is_written() -> None:
    frame = pa.table({"a": pa.array([], pa.string()), "b": pa.array([], pa.int8())})
    assert written(frame, Format()) == b"a,b\n"
    read_back = pq.read_table(io.BytesIO(written(frame, Format("parquet"))))
    assert read_back.schema.types == [pa.string(), pa.int8()]
    assert pa.ipc.open_file(written(frame, Format("arrow"))).read_all().num_rows == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
@pytest.mark.parametrize("name", FORMATS)
def test_a_full_disk_is_the_systems_error(name: str) -> None:
    with pytest.raises(OSError) as caught:
        write_table(SAMPLE, "/dev/full", FORMATS[name])
    assert caught.value.errno == errno.ENOSPC


def test_the_file_is_on_disk_before_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    monkeypatch.setattr(
        write.os, "fsync", lambda _: sizes.append((tmp_path / "data.csv.zst").stat().st_size)
    )
    write_table(SAMPLE, tmp_path / "data.csv.zst", FORMATS["data.csv.zst"])
    assert sizes == [(tmp_path / "data.csv.zst").stat().st_size]


def test_kinds_that_do_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown format"):
        write_table(SAMPLE, tmp_path / "data.csv", Format("docx"))


# ── a stream of tables ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("n_rows", [0, 1, 700])
def test_tables_are_written_to_the_bytes_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, n_rows: int
) -> None:
    monkeypatch.setattr(write, "BLOCK_ROWS", 16)
    monkeypatch.setattr("incrowd.tables.frames.BLOCK_ROWS", 16)
    monkeypatch.setattr(write, "GROUP_ROWS", 64)
    numbers = pa.array([row * 7919 % 101 for row in range(n_rows)], pa.int64())
    texts = numbers.cast(pa.string())
    quoted = pc.replace_substring(texts, "7", ",")
    whole = pa.table({"n": numbers, "text": texts.dictionary_encode(), "quoted": quoted})
    write_table(whole, tmp_path / name, FORMATS[name])
    expected = (tmp_path / name).read_bytes()
    for size in (1, 63, 64, 65, 1000):
        cut = (whole.slice(start, size) for start in range(0, n_rows, size))
        write_tables(cut, whole.schema, tmp_path / name, FORMATS[name])
        assert (tmp_path / name).read_bytes() == expected, size
    if name == "data.parquet":
        assert pq.ParquetFile(tmp_path / name).num_row_groups == -(-n_rows // 64)


@given(
    sizes=st.lists(st.integers(0, 9), max_size=8),
    n_rows=st.integers(1, 12),
)
def test_regrouped_tables_have_their_number_of_rows(sizes: list[int], n_rows: int) -> None:
    whole = pa.table({"n": pa.array(range(sum(sizes)), pa.int64())})
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    tables = [whole.slice(start, size) for start, size in zip(starts, sizes, strict=True)]
    found = list(regroup(tables, n_rows))
    assert [table.num_rows for table in found[:-1]] == [n_rows] * (len(found) - 1)
    assert [cell for table in found for cell in table.column("n").to_pylist()] == list(
        range(sum(sizes))
    )


@pytest.mark.parametrize("name", FORMATS)
def test_endings_of_formats(name: str) -> None:
    assert f"data{suffix_of(FORMATS[name])}" == name
    german = Format("csv", "gz", ";", "utf-8", has_header=False, newline="\r\n")
    assert suffix_of(german) == ".csv.gz"
    assert suffix_of(Format(delimiter="\t")) == ".tsv"


# ── the format that a name asks for ─────────────────────────────────────────────────────────

GERMAN = Format("csv", "gz", ";", "windows-1252", False, "\r\n")


@pytest.mark.parametrize(
    ("name", "like", "asked"),
    [
        ("a.csv", None, Format()),
        ("a.tsv.gz", None, Format(compression="gz", delimiter="\t")),
        ("a.b.csv.zst", GERMAN, Format("csv", "zst", ";", "utf-8", False, "\r\n")),
        ("a.tsv", GERMAN, Format("csv", "", "\t", "utf-8", False, "\r\n")),
        ("a.parquet", GERMAN, Format("parquet")),
        ("a.csv", Format("parquet"), Format()),
        ("a.feather", Format("arrow"), Format("arrow")),
        ("a.arrow", Format("arrow", is_stream=True), Format("arrow", is_stream=True)),
        ("A.ARROWS", None, Format("arrow", is_stream=True)),
    ],
)
def test_formats_of_names(name: str, like: Format | None, asked: Format) -> None:
    assert format_of_path(name, like) == asked


@pytest.mark.parametrize("name", ["a.docx", "a.xls", "a.sav", "a", "a.parquet.gz"])
def test_formats_that_names_cannot_ask_for(name: str) -> None:
    with pytest.raises(DataError):
        format_of_path(name, Format())

"""Reading: every cell as it stands, every fault with its place, nothing guessed."""

from __future__ import annotations

import csv
import gzip
import io
import os
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import DataError
from incrowd.tables.files import text
from incrowd.tables.files.read import count_formula_cells, open_rows, read_table
from incrowd.tables.files.sniff import MAX_COLUMNS, records
from incrowd.tables.files.text import MAX_CELL_BYTES
from incrowd.tables.table import Format, Table
from tiers import examples

TYPED = ["data.parquet", "data.arrow", "data.feather", "data.arrows"]
SIMPLE = b"name,age,zip\nAda,36,01234\nBob,,99999\n"


def put(folder: Path, content: bytes, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def read(folder: Path, content: bytes, name: str = "data.csv", **stated: object) -> Table:
    return read_table(put(folder, content, name), **stated)  # type: ignore[arg-type]


def refused(folder: Path, content: bytes, name: str = "data.csv", **stated: object) -> DataError:
    with pytest.raises(DataError) as caught:
        read(folder, content, name, **stated)
    assert str(folder / name) in caught.value.what
    assert caught.value.remedy
    return caught.value


# ── cells as they stand ─────────────────────────────────────────────────────────────────────


def test_cells_are_strings_exactly_as_they_stand(tmp_path: Path) -> None:
    content = b'zip,age,note\n01234, 5,NA\n00000,5 ,"a ""b"", c"\n,"","x\r\ny"\nnull,NaN,1e5\n'
    table = read(tmp_path, content)
    assert table.frame.schema == pa.schema([(name, pa.string()) for name in ("zip", "age", "note")])
    assert table.frame.to_pydict() == {
        "zip": ["01234", "00000", None, "null"],
        "age": [" 5", "5 ", None, "NaN"],
        "note": ["NA", 'a "b", c', "x\r\ny", "1e5"],
    }
    assert table.format == Format()
    assert (table.name, table.n_rows) == ("data.csv", 4)


def test_missing_tokens_stay_in_the_columns(tmp_path: Path) -> None:
    table = read(tmp_path, b"a,b\n?,1\n2,?\n", missing_values=("?",))
    assert table.frame.to_pydict() == {"a": ["?", "2"], "b": ["1", "?"]}
    assert table.missing_values == ("?",)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_newlines_and_a_last_line_without_one(tmp_path: Path, newline: str) -> None:
    table = read(tmp_path, newline.join(["a,b", "x,1", "y,2"]).encode())
    assert table.frame.to_pydict() == {"a": ["x", "y"], "b": ["1", "2"]}
    assert table.format.newline == newline


def test_blank_lines_are_no_rows_but_missing_values_in_a_single_column(tmp_path: Path) -> None:
    assert read(tmp_path, b"\n\na,b\n\nx,1\n\n\ny,2\n\n").frame.to_pydict() == {
        "a": ["x", "y"],
        "b": ["1", "2"],
    }
    single = read(tmp_path, b'a\nx\n\n""\ny')
    assert single.frame.to_pydict() == {"a": ["x", None, None, "y"]}


def test_thousands_of_columns(tmp_path: Path) -> None:
    names = ",".join(f"c{number}" for number in range(5000))
    row = ",".join(str(number) for number in range(5000))
    table = read(tmp_path, f"{names}\n{row}\n{row}\n".encode())
    assert len(table.columns) == 5000
    assert table.frame.column("c4999").to_pylist() == ["4999", "4999"]


def test_rows_longer_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_BLOCK_BYTES", (1 << 10, 1 << 14))
    row = ",".join(["x" * 500] * 6)
    table = read(tmp_path, f"a,b,c,d,e,f\n{row}\n{row}\n".encode())
    assert table.n_rows == 2
    monkeypatch.setattr(text, "_BLOCK_BYTES", (1 << 10,))
    assert "rows" in refused(tmp_path, f"a,b,c,d,e,f\n{row}\n{row}\n".encode()).what


def test_a_header_longer_than_the_sample(tmp_path: Path) -> None:
    names = [f"a rather long name of a column, number {number}" for number in range(4000)]
    content = io.StringIO()
    csv.writer(content, lineterminator="\n").writerows([names, ["1"] * 4000])
    assert read(tmp_path, content.getvalue().encode()).columns == names


# ── packed files ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "compression"),
    [("data.csv.gz", "gz"), ("data.csv.zst", "zst"), ("data.CSV.GZ", "gz"), ("data.csv", "gz")],
)
def test_compression_is_told_by_the_first_bytes(
    tmp_path: Path, name: str, compression: str
) -> None:
    packed = gzip.compress(SIMPLE)
    if compression == "zst":
        packed = pa.Codec("zstd").compress(SIMPLE, asbytes=True)
    table = read(tmp_path, packed, name)
    assert table.format.compression == compression
    assert table.frame.column("zip").to_pylist() == ["01234", "99999"]


def test_a_plain_file_named_gz_and_joined_gz_members(tmp_path: Path) -> None:
    assert read(tmp_path, SIMPLE, "data.csv.gz").format.compression == ""
    halves = gzip.compress(SIMPLE[:10]) + gzip.compress(SIMPLE[10:])
    assert read(tmp_path, halves, "data.csv.gz").n_rows == 2


@pytest.mark.parametrize("kind", ["gz", "zst"])
@pytest.mark.parametrize("keep", [0.3, 0.99])
def test_packed_files_that_are_cut_off(tmp_path: Path, kind: str, keep: float) -> None:
    content = b"a,b\n" + b"".join(b"%d,%d\n" % (row, row * 7919 % 9973) for row in range(200_000))
    packed = gzip.compress(content)
    if kind == "zst":
        packed = pa.Codec("zstd").compress(content, asbytes=True)
    error = refused(tmp_path, packed[: int(len(packed) * keep)], f"data.csv.{kind}")
    assert "corrupt or truncated" in error.what


# ── encodings ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("encoding", "found"),
    [("utf-8", "utf-8"), ("utf-8-sig", "utf-8"), ("utf-16", "utf-16-le"), ("utf-32", "utf-32-le")],
)
def test_encodings_are_found(tmp_path: Path, encoding: str, found: str) -> None:
    content = "städte,größe\nKöln,1\n東京,2\n".encode(encoding)
    for stated in (None, encoding):
        table = read(tmp_path, content, encoding=stated)
        assert table.frame.to_pydict() == {"städte": ["Köln", "東京"], "größe": ["1", "2"]}
        assert table.format.encoding == found


@pytest.mark.parametrize("encoding", ["windows-1252", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz"])
def test_a_clear_encoding_is_detected_with_a_note(tmp_path: Path, encoding: str, name: str) -> None:
    content = "name;größe\nAda;1\nZoë;2\n".encode(encoding)
    content = gzip.compress(content) if name.endswith("gz") else content
    table = read(tmp_path, content, name)
    assert table.frame.to_pydict() == {"name": ["Ada", "Zoë"], "größe": ["1", "2"]}
    assert f"read as {encoding}" in table.notes[0]
    stated = read(tmp_path, content, name, encoding=encoding)
    assert stated.frame == table.frame
    assert stated.format == table.format
    assert not stated.notes


def test_an_encoding_that_is_not_clear_is_asked_for(tmp_path: Path) -> None:
    content = "name,n\nAda,1\nPaweł,2\n".encode("windows-1250")
    error = refused(tmp_path, content)
    assert "line 3 is not utf-8" in error.what
    assert "--encoding" in error.remedy
    table = read(tmp_path, content, encoding="windows-1250")
    assert table.frame.column("name").to_pylist() == ["Ada", "Paweł"]


def test_a_byte_that_is_in_no_encoding_comes_after_what_was_scanned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("incrowd.tables.files.text_encodings.SCANNED_BYTES", 1)
    content = b"name,n\n" + b"Ada,1\n" * 20_000 + b"Zo\xeb,2\n"
    assert "line 20,002 is not utf-8" in refused(tmp_path, content).what


def test_a_wrong_byte_far_into_the_file(tmp_path: Path) -> None:
    good = "é,1\n" * 600_000
    content = b"a,b\n" + good.encode() + b"\xe9,2\n" + good.encode()
    assert "line 600,002 is not utf-8" in refused(tmp_path, content).what


def test_multibyte_characters_across_pieces(tmp_path: Path) -> None:
    for shift in range(3):
        content = ("x" * shift + "a,b\n" + "東,1\n" * 100_000).encode()
        table = read(tmp_path, content)
        assert table.frame.column(0).unique().to_pylist() == ["東"]
        assert table.n_rows == 100_000


def test_a_character_that_breaks_off_between_pieces(tmp_path: Path) -> None:
    row = b"x,1\n" * 16_382
    content = b"aa,b\n" + row + b"\xc3\xa9\xc3"  # the first piece ends here
    assert len(content) == 1 << 16
    assert "line 16,384 is not utf-8" in refused(tmp_path, content + b",2\n" + row * 3).what


def test_encodings_that_contradict_or_do_not_exist(tmp_path: Path) -> None:
    marked = "a,b\nx,1\n".encode("utf-8-sig")
    assert "byte order mark" in refused(tmp_path, marked, encoding="windows-1252").what
    unmarked = "a,b\nx,1\n".encode("utf-16-le")
    assert "utf-16-le" in refused(tmp_path, unmarked, encoding="utf-16").remedy
    assert read(tmp_path, unmarked, encoding="utf-16-le").n_rows == 1
    for name in ("klingon", "base64", "utf\0"):
        with pytest.raises(DataError, match="unknown text encoding"):
            read(tmp_path, SIMPLE, encoding=name)
    assert "line 2 is not ascii" in refused(tmp_path, b"a,b\n\xe9,1\n", encoding="ascii").what


# ── delimiters ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found(tmp_path: Path, delimiter: str) -> None:
    lines = [["name", "income", "note"], ["Ada", "1.5", "a, b; c"], ["Bob", "2", "d\te"]]
    content = io.StringIO()
    csv.writer(content, delimiter=delimiter, lineterminator="\n").writerows(lines)
    table = read(tmp_path, content.getvalue().encode())
    assert table.format.delimiter == delimiter
    assert [list(row.values()) for row in table.frame.to_pylist()] == lines[1:]


def test_decimal_commas_do_not_hide_the_semicolon(tmp_path: Path) -> None:
    table = read(tmp_path, b"a;b\n1,5;2,5\n3,5;4,5\n")
    assert table.format.delimiter == ";"
    assert table.frame.column("b").to_pylist() == ["2,5", "4,5"]


def test_a_delimiter_in_doubt_is_asked_for(tmp_path: Path) -> None:
    error = refused(tmp_path, b"1,5;2,5\n3,5;4,5\n", header=False)
    assert "ambiguous" in error.what
    assert "--delimiter" in error.remedy
    assert read(tmp_path, b"1,5;2,5\n3,5;4,5\n", header=False, delimiter=";").n_rows == 2
    # one column whose name holds a comma, or two columns with ragged rows?
    assert "ambiguous" in refused(tmp_path, b"name, first\nAda\nBob\nEve\n").what


def test_tabs_are_expected_of_tsv(tmp_path: Path) -> None:
    content = b"a,x\tb,y\n1,2\t3,4\n"
    assert read(tmp_path, content, "data.tsv").columns == ["a,x", "b,y"]
    assert "ambiguous" in refused(tmp_path, content, "data.txt", header=True).what
    assert read(tmp_path, b"a\nx\n", "data.tsv").format.delimiter == "\t"


@pytest.mark.parametrize(("stated", "meant"), [("tab", "\t"), ("\\t", "\t"), ("~", "~")])
def test_stated_delimiters(tmp_path: Path, stated: str, meant: str) -> None:
    content = meant.join("ab") + "\n" + meant.join("x1") + "\n"
    table = read(tmp_path, content.encode(), delimiter=stated)
    assert (table.format.delimiter, table.columns) == (meant, ["a", "b"])


@pytest.mark.parametrize("stated", ["", ",,", '"', "\n", "é", "\0"])
def test_impossible_delimiters(tmp_path: Path, stated: str) -> None:
    with pytest.raises(DataError, match="not one ASCII character"):
        read(tmp_path, SIMPLE, delimiter=stated)


# ── headers ─────────────────────────────────────────────────────────────────────────────────

NAMED = {
    "words above numbers": "age,sex\n39,M\n40,F\n",
    "a year among the names": "age,2019\n39,5\n40,6\n",
    "words above words that do not repeat them": "name,city\nAda,Paris\nBob,Rome\n",
    "words above dates": "born,city\n1990-01-02,Rome\n1990-02-03,Rome\n",
    "a missing number below": "age,2019\n?,5\nNA,6\n40,7\n",
}
UNNAMED = {
    "numbers, and words that occur again": "39,M\n40,F\n41,M\n",
    "blanks after commas": "39, State-gov, 7\n50, Private, 8\n38, State-gov, 9\n",
}
DOUBTFUL = {
    "numbers only": "1,2\n3,4\n",
    "years as names": "country,2019,2020\nFrance,5,6\n",
    "pandas without names": ",0,1\n0,5,6\n1,7,8\n",
    "numbers above words": "1,2\nyes,no\nno,yes\n",
    "words that occur again": "M,Rome\nF,Rome\nM,Paris\n",
    "a number alone": "5\n",
    "numbers above a date": "2020-01-01,b\n2020-01-02,c\n",
}


@pytest.mark.parametrize("content", NAMED.values(), ids=NAMED)
def test_headers_are_found(tmp_path: Path, content: str) -> None:
    table = read(tmp_path, content.encode(), missing_values=("?",))
    assert table.format.has_header
    assert table.columns == content.split("\n")[0].split(",")


@pytest.mark.parametrize("content", UNNAMED.values(), ids=UNNAMED)
def test_files_without_header_are_found(tmp_path: Path, content: str) -> None:
    table = read(tmp_path, content.encode())
    assert not table.format.has_header
    assert table.n_rows == 3
    assert table.columns == [f"column_{number + 1}" for number in range(len(table.columns))]


@pytest.mark.parametrize("content", DOUBTFUL.values(), ids=DOUBTFUL)
def test_a_header_in_doubt_is_asked_for(tmp_path: Path, content: str) -> None:
    error = refused(tmp_path, content.encode())
    assert "--header" in error.remedy
    assert "--no-header" in error.remedy
    n_lines = content.count("\n")
    assert read(tmp_path, content.encode(), header=False).n_rows == n_lines


def test_stated_headers_are_obeyed(tmp_path: Path) -> None:
    assert read(tmp_path, b"1,2\n3,4\n", header=True).columns == ["1", "2"]
    assert read(tmp_path, b"a,b\nx,1\n", header=False).frame.to_pydict() == {
        "column_1": ["a", "x"],
        "column_2": ["b", "1"],
    }


def test_quoted_line_ends_in_a_header(tmp_path: Path) -> None:
    table = read(tmp_path, b'"the\nname",age\nAda,3\n')
    assert table.columns == ["the\nname", "age"]
    assert table.n_rows == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"age,age,sex,age\n1,2,M,3\n", "columns 1, 2, 4 share a name"),
        (b",age, \n0,39,1\n", "columns 1, 3 without a name"),
    ],
)
def test_names_that_are_empty_or_occur_twice(tmp_path: Path, content: bytes, said: str) -> None:
    error = refused(tmp_path, content)
    assert said in error.what
    assert "--no-header" in error.remedy
    assert "age" not in error.what


# ── broken rows ─────────────────────────────────────────────────────────────────────────────


def test_ragged_rows_are_counted_with_their_lines(tmp_path: Path) -> None:
    content = b'a,b,c\n1,2,3\nx,zq-00017\n"l\nl",5,6\n7,8,9,10\n\n1,2\n'
    error = refused(tmp_path, content)
    assert "3 of 5 rows do not have the 3 cells" in error.what
    assert "2 have fewer, 1 more" in error.what
    assert "lines (cells): 3 (2), 6 (4), 8 (2)" in error.what
    assert "zq-00017" not in str(error)


def test_lines_above_the_header(tmp_path: Path) -> None:
    rows = b"".join(b"%d,x,y\n" % row for row in range(20))
    error = refused(tmp_path, b"Report of 2024\nage,b,c\n" + rows)
    assert "21 of 21 rows" in error.what
    assert "above the header" in error.remedy


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b'a,b\nx,1\n"y,2\nz,3\n', 3),  # too few cells
        (b'a,b\nx,1\ny,"2\nz,3\n', 3),  # the right number of cells: the end swallowed in the last
        (b'a,b\nx,1\ny,"2""\n', 3),
        (b'a\nx\n"', 3),
        (b'"a,b\nx,1\n', 1),
    ],
)
def test_quotes_that_are_never_closed(tmp_path: Path, content: bytes, line: int) -> None:
    assert f"line {line} is never closed" in refused(tmp_path, content, header=True).what


def test_nul_bytes(tmp_path: Path) -> None:
    assert "line 3 holds a NUL byte" in refused(tmp_path, b"a,b\nx,1\ny\0,2\n").what
    assert "NUL byte" in refused(tmp_path, b"a,b\nx\xff\0,1\n").what


def test_cells_beyond_the_limit(tmp_path: Path) -> None:
    longest = b"x" * MAX_CELL_BYTES
    assert read(tmp_path, b"a,b\n1," + longest + b"\n").n_rows == 1
    error = refused(tmp_path, b"a,b\n1,\n2," + longest + b"x\n")
    assert "column 2 has 1 cells longer than 1 MiB (first in row 2)" in error.what
    error = refused(tmp_path, b"a,b\n1,\n2," + longest * 12 + b"\n")
    assert "line 3 has a cell of 12,582,912 bytes" in error.what


def test_columns_beyond_the_limit(tmp_path: Path) -> None:
    for n_columns, is_fine in ((MAX_COLUMNS, True), (MAX_COLUMNS + 1, False)):
        names = ",".join(f"c{number}" for number in range(n_columns)).encode()
        content = names + b"\n" + b",".join([b"1"] * n_columns) + b"\n"
        if is_fine:
            assert len(read(tmp_path, content).columns) == MAX_COLUMNS
        else:
            assert "10,001 cells" in refused(tmp_path, content).what


@pytest.mark.parametrize(
    "content", [b"", b"\n\r\n", b"\xef\xbb\xbf", b"\xff\xfe", b"\xef\xbb\xbf\n"]
)
def test_empty_files(tmp_path: Path, content: bytes) -> None:
    assert "is empty" in refused(tmp_path, content).what
    assert "is empty" in refused(tmp_path, gzip.compress(content), "data.csv.gz").what


@pytest.mark.parametrize("content", [b"a,b\n", b"a,b", b"a", b"a\n", b"a,b\r\n"])
def test_headers_without_rows(tmp_path: Path, content: bytes) -> None:
    assert "a header and no rows" in refused(tmp_path, content).what


# ── files that are none ─────────────────────────────────────────────────────────────────────


def test_a_missing_file_names_near_ones(tmp_path: Path) -> None:
    put(tmp_path, SIMPLE, "census.csv")
    with pytest.raises(DataError, match="no such file") as caught:
        read_table(tmp_path / "censsu.csv")
    assert "census.csv" in caught.value.remedy
    for path in (tmp_path / "a" / "b.csv", tmp_path / "census.csv" / "b.csv", "a\0.csv"):
        with pytest.raises(DataError, match="no such file"):
            read_table(path)


def test_folders_and_pipes(tmp_path: Path) -> None:
    folder = tmp_path / "data.csv"
    folder.mkdir()
    with pytest.raises(DataError, match="is a folder"):
        read_table(folder)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match="not a regular file"):
        read_table(tmp_path / "pipe.csv")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_that_may_not_be_read(tmp_path: Path) -> None:
    path = put(tmp_path, SIMPLE)
    path.chmod(0)
    with pytest.raises(DataError, match="may not read"):
        read_table(path)


def test_an_error_of_the_system_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("incrowd.tables.files.read.detect_text_format", fail)
    with pytest.raises(DataError, match="Input/output error"):
        read(tmp_path, SIMPLE)


@pytest.mark.parametrize("name", ["data.docx", "data", "data.gz", "data.csv.bz2", ".csv"])
def test_endings_that_are_not_known(tmp_path: Path, name: str) -> None:
    error = refused(tmp_path, SIMPLE, name)
    assert "is not a known table format" in error.what
    assert ".parquet" in error.remedy


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PK\x03\x04\x14\0", "Excel workbook"),
        (b"ARROW1\0\0", "Arrow"),
        (b"PAR1...PAR1", "Parquet"),
    ],
)
def test_other_files_named_csv(tmp_path: Path, content: bytes, said: str) -> None:
    assert said in refused(tmp_path, content).what
    assert read(tmp_path, b"PAR1,b\nx,1\n").columns == ["PAR1", "b"]


# ── Parquet and Arrow ───────────────────────────────────────────────────────────────────────


def store(path: Path, frame: pa.Table) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(frame, path)
    else:
        writer = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
        with pa.OSFile(str(path), "wb") as file, writer(file, frame.schema) as target:
            target.write_table(frame)
    return path


@pytest.mark.parametrize("name", TYPED)
def test_typed_columns_keep_their_types(tmp_path: Path, name: str) -> None:
    frame = pa.table(
        {
            "n": pa.array([1, None, 3], pa.int16()),
            "x": pa.array([1.5, float("nan"), 2.0]),
            "s": pa.array(["a", "", None]),
            "l": pa.array(["a", "b", ""], pa.large_string()),
            "c": pa.array(["u", None, "v"]).dictionary_encode(),
            "day": pa.array([0, 1, None], pa.date32()),
            "b": pa.array([True, False, None]),
            "z": pa.nulls(3),
        },
    ).replace_schema_metadata({"pandas": "secret"})
    table = read_table(store(tmp_path / name, frame))
    assert table.format == Format(
        "parquet" if name == "data.parquet" else "arrow", is_stream=name == "data.arrows"
    )
    assert table.frame.schema.metadata is None
    types = {field.name: str(field.type) for field in table.frame.schema}
    assert types == {
        "n": "int16",
        "x": "double",
        "s": "string",
        "l": "string",
        "c": "string",
        "day": "date32[day]",
        "b": "bool",
        "z": "null",
    }
    assert table.frame.column("x").to_pylist() == [1.5, None, 2.0]
    assert table.frame.column("s").to_pylist() == ["a", None, None]
    assert table.frame.column("l").to_pylist() == ["a", "b", None]
    assert table.frame.column("c").to_pylist() == ["u", None, "v"]


@pytest.mark.parametrize("name", TYPED)
@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array([[1]]), "nested"),
        (pa.array([{"a": 1}]), "nested"),
        (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int8())), "nested"),
        (pa.array([b"zq-00017"]), "binary"),
        (pa.array([5], pa.duration("s")), "duration"),
    ],
)
def test_columns_that_no_table_has(tmp_path: Path, name: str, column: pa.Array, said: str) -> None:
    path = store(tmp_path / name, pa.table({"a": [1], "odd": column}))
    with pytest.raises(DataError, match=f"'odd'.*{said}") as caught:
        read_table(path)
    assert "zq-00017" not in str(caught.value)


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (pa.table({"a": pa.array([], pa.int64())}), "no row"),
        (pa.table([pa.array([1]), pa.array([1])], names=["a", "a"]), "share a name"),
        (pa.table([pa.array([1])], names=[" "]), "without a name"),
        (pa.table({"a": ["x\0y"]}), "NUL"),
        (pa.table({"a": ["x" * (MAX_CELL_BYTES + 1)]}), "longer than 1 MiB"),
        (pa.table({f"c{number}": [1] for number in range(MAX_COLUMNS + 1)}), "10,001 columns"),
    ],
    ids=["no rows", "twice", "unnamed", "nul", "long", "wide"],
)
def test_typed_tables_obey_the_same_limits(tmp_path: Path, frame: pa.Table, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_table(store(tmp_path / "data.arrow", frame))


@pytest.mark.parametrize("name", ["data.parquet", "data.arrow", "data.arrows"])
def test_typed_files_that_are_damaged(tmp_path: Path, name: str) -> None:
    frame = pa.table({"a": list(range(5000)), "b": [str(row) for row in range(5000)]})
    whole = store(tmp_path / name, frame).read_bytes()
    for content in (whole[:10], whole[: len(whole) // 2], whole[:-20], b"a,b\n1,2\n", b"PAR1PAR1"):
        assert "corrupt" in refused(tmp_path, content, name).what


def test_text_that_is_not_utf8_in_an_arrow_file(tmp_path: Path) -> None:
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.array([0, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xfe")]
    )
    path = store(tmp_path / "data.arrow", pa.table({"a": broken}))
    with pytest.raises(DataError, match="corrupt"):
        read_table(path)


def test_typed_files_named_or_made_wrongly(tmp_path: Path) -> None:
    assert "Feather version 1" in refused(tmp_path, b"FEA1....FEA1", "data.feather").what
    assert "not compressed as a whole" in refused(tmp_path, b"x", "data.parquet.gz").what


# ── formulas ────────────────────────────────────────────────────────────────────────────────


def test_cells_that_a_spreadsheet_would_run() -> None:
    runs = ["=1+1", "+cmd|'/c'", "-2+3", "@SUM(A1)", "\tx", "\rx"]
    harmless = ["-5", "+5.5", "-1e3", "-1,5", "-5 %", "-", "a=b", None, "", " =1", "-.5"]
    frame = pa.table({"bad": [*runs, *harmless], "good": ["x"] * 17, "n": list(range(17))})
    assert count_formula_cells(Table(frame)) == {"bad": len(runs)}


# ── properties ──────────────────────────────────────────────────────────────────────────────

CELLS = st.text(alphabet='ab,;\t|"\r\n é\ufeff0', max_size=5)


@given(
    rows=st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1)
    ),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    newline=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
@examples(150)
def test_whatever_the_csv_module_writes_is_read_back(
    rows: list[list[str]], delimiter: str, newline: str, encoding: str
) -> None:
    content = io.StringIO()
    # the module leaves a lone carriage return unquoted, which is a line end to most readers
    has_return = any("\r" in cell for row in rows for cell in row)
    quoting = csv.QUOTE_ALL if has_return else csv.QUOTE_MINIMAL
    writer = csv.writer(content, delimiter=delimiter, lineterminator=newline, quoting=quoting)
    names = [f"c{number}" for number in range(len(rows[0]))]
    writer.writerows([names, *rows])
    with tempfile.TemporaryDirectory() as folder:
        path = put(Path(folder), content.getvalue().encode(encoding))
        table = read_table(path, delimiter=delimiter, header=True)
    assert table.columns == names
    assert [list(row.values()) for row in table.frame.to_pylist()] == [
        [cell or None for cell in row] for row in rows
    ]


@given(body=st.text(alphabet='ab,"\r\n', max_size=40), width=st.integers(1, 3))
@examples(300)
def test_rows_are_cut_as_records_are_and_faults_are_explained(body: str, width: int) -> None:
    """The slow reader that explains faults and the fast one that reads agree on every text."""
    header = ",".join(f"c{number}" for number in range(width)) + "\n"
    found = list(records(body.encode().splitlines(keepends=True), ","))
    rows = [record for record in found if width == 1 or not record.is_blank]
    is_closed = all(record.is_closed for record in rows)
    ragged = [record.line + 1 for record in rows if len(record.cells) != width]
    with tempfile.TemporaryDirectory() as folder:
        path = put(Path(folder), (header + body).encode())
        said, table = "", None
        try:
            table = read_table(path, delimiter=",", header=True)
        except DataError as error:
            said = error.what
    if not is_closed:
        assert f"line {found[-1].line + 1} is never closed" in said
        return
    if ragged:
        assert f"{len(ragged)} of" in said
        assert f": {ragged[0]} (" in said
        return
    if not rows:
        assert "no row" in said
        return
    assert table is not None
    assert [list(row.values()) for row in table.frame.to_pylist()] == [
        [cell.decode() or None for cell in record.cells] for record in rows
    ]


WHOLE = {
    name: pa.table({"a": list(range(50)), "b": [f"v{n}" for n in range(50)]}) for name in TYPED
}


@given(
    data=st.data(),
    name=st.sampled_from(
        ["data.csv", "data.tsv.gz", "data.csv.zst", "data.parquet", "data.arrows"]
    ),
)
@examples(150)
def test_no_file_whatsoever_raises_anything_else(data: st.DataObject, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        if name in WHOLE and data.draw(st.booleans()):
            content = bytearray(store(path, WHOLE[name]).read_bytes())
            for _ in range(data.draw(st.integers(1, 4))):
                content[data.draw(st.integers(0, len(content) - 1))] = data.draw(
                    st.integers(0, 255)
                )
        else:
            content = bytearray(data.draw(st.binary(max_size=60)))
            if ".gz" in name and data.draw(st.booleans()):
                content = bytearray(gzip.compress(bytes(content)))
        path.write_bytes(bytes(content))
        said = ""
        try:
            assert read_table(path).n_rows > 0
        except DataError as error:
            said = error.what
        assert not said or path.name in said


# ── real files ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "n_rows", "n_columns"),
    [
        ("adult/adult.csv.gz", 32_561, 15),
        ("cup98/cup98.csv.gz", 63_441, 8),
        ("playstore/googleplaystore.csv.gz", 10_841, 13),
        ("sdc/testdata4580.csv.gz", 4_580, 15),
        ("poker/poker_train.csv.gz", 25_010, 11),
        ("uscensus1990/uscensus1990_sample.csv.gz", 99, 69),
        ("voters/florida_zip_population.csv", 922, 4),
    ],
)
def test_published_data_sets(name: str, n_rows: int, n_columns: int) -> None:
    folder = os.environ.get("INCROWD_DATA", "")
    path = Path(folder) / name
    if not folder or not path.exists():
        pytest.skip("INCROWD_DATA does not name a folder with the data sets")
    table = read_table(path)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as file:
        expected = list(csv.reader(file))
    assert (table.n_rows, len(table.columns)) == (n_rows, n_columns)
    assert table.columns == expected[0]
    for position, column in enumerate(table.frame.columns):
        assert column.to_pylist() == [row[position] or None for row in expected[1:]]


# ── in blocks ───────────────────────────────────────────────────────────────────────────────


def test_rows_come_once_where_a_later_one_needs_larger_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("incrowd.tables.files.text._BLOCK_BYTES", (64, 256, 1 << 20))
    extra = {30: 100, 40: 500}
    lines = [f"{row},{'x' * (row % 40 + extra.get(row, 0))}" for row in range(60)]
    path = tmp_path / "data.csv"
    path.write_text("n,text\n" + "\n".join(lines))
    source = open_rows(path)
    tables = list(source.tables)
    assert len(tables) > 10
    found = [f"{row['n']},{row['text'] or ''}" for table in tables for row in table.to_pylist()]
    assert found == lines


def test_a_fault_shows_after_rows_were_handed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("incrowd.tables.files.text._BLOCK_BYTES", (64, 1 << 20))
    path = tmp_path / "data.csv"
    path.write_text("n,text\n" + "1,x\n" * 100 + "1,x,y\n")
    tables = open_rows(path).tables
    assert next(tables).num_rows
    with pytest.raises(DataError, match=r"1 of 101 rows .* lines \(cells\): 102 \(3\)"):
        list(tables)


def test_long_cells_are_counted_over_all_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("incrowd.tables.files.text._BLOCK_BYTES", (64, 1 << 20))
    monkeypatch.setattr("incrowd.tables.files.text.MAX_CELL_BYTES", 20)
    path = tmp_path / "data.csv"
    path.write_text("n,text\n" + "".join(f"{row},{'x' * (row % 25)}\n" for row in range(100)))
    with pytest.raises(DataError, match=r"column 2 has 16 cells .*first in row 22\)"):
        read_table(path)


# ── Parquet files of few values, left as dictionaries ───────────────────────────────────────


def plain_and_compact(path: Path) -> tuple[pa.Table, pa.Table]:
    """Read a file both ways; the second must hold the same cells, repeating text as codes."""
    return read_table(path).frame, read_table(path, is_compact=True).frame


@given(
    st.lists(st.sampled_from(["a", "b", "", "ä", None]), min_size=1, max_size=40),
    st.integers(1, 40),
    st.sampled_from([pa.string(), pa.large_string(), pa.string_view()]),
)
def test_dictionaries_of_a_parquet_file_are_its_cells(cells, group_rows, kind):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.parquet"
        frame = pa.table({"few": pa.array(cells, kind), "n": list(range(len(cells)))})
        pq.write_table(frame, path, row_group_size=group_rows)
        plain, compact = plain_and_compact(path)
    assert compact.column("few").to_pylist() == plain.column("few").to_pylist()
    assert plain.column("few").to_pylist() == [cell or None for cell in cells]
    assert compact.column("n").equals(plain.column("n"))


def test_text_that_repeats_stays_a_dictionary_and_other_text_does_not(tmp_path):
    n = 20_000
    many = [f"value {number}" for number in range(n)]
    few = [f"value {number % 7}" for number in range(n)]
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"few": few, "many": many}), path, row_group_size=n // 3)
    opened = next(open_rows(path, has_dictionaries=True).tables)
    assert [pa.types.is_dictionary(kind) for kind in opened.schema.types] == [True, False]
    plain, compact = plain_and_compact(path)
    assert compact.column("few").chunk(0).dictionary.to_pylist() == few[:7]
    assert compact.column("few").cast(pa.string()).to_pylist() == few
    assert compact.column("many").equals(plain.column("many"))


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ("x\0y", "column 2 holds text with NUL"),
        ("x" * (MAX_CELL_BYTES + 1), "column 2 has 2 cells"),
    ],
    ids=["nul", "long"],
)
def test_faults_are_found_in_dictionaries(tmp_path, bad, what):
    path = tmp_path / "data.parquet"
    n = 2_000 if len(bad) < 9 else 8
    cells = ["a", "b"] * n
    cells[3] = cells[5] = bad
    pq.write_table(pa.table({"n": list(range(2 * n)), "text": cells}), path, compression="zstd")
    for is_compact in (False, True):
        with pytest.raises(DataError) as error:
            read_table(path, is_compact=is_compact)
        assert what in error.value.what

"""Excel workbooks: cells keep their types; what is written reads back, with nothing besides."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from pathlib import Path

import openpyxl
import pyarrow as pa
import pytest
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import DataError
from incrowd.tables.columns.types import labels_of
from incrowd.tables.files import excel
from incrowd.tables.files.excel import read_excel, refuse_too_large
from incrowd.tables.files.read import read_table
from incrowd.tables.files.write import format_of_path, write_table
from incrowd.tables.table import Format


def workbook(path: Path, sheets: dict[str, list[list[object]]], **hidden: bool) -> Path:
    """Write a workbook cell by cell, with Excel's own types."""
    book = xlsxwriter.Workbook(str(path), {"default_date_format": "dd.mm.yyyy"})
    for name, rows in sheets.items():
        sheet = book.add_worksheet(name)
        for place, cells in enumerate(rows):
            for column, cell in enumerate(cells):
                if isinstance(cell, str) and not cell.startswith("="):
                    sheet.write_string(place, column, cell)
                elif isinstance(cell, str):
                    sheet.write_formula(place, column, cell, None, 42)
                elif cell is not None:
                    sheet.write(place, column, cell)
        if hidden.get(name):
            sheet.hide()
    book.close()
    return path


def rows_of(table: pa.Table) -> list[tuple[object, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_cells_keep_their_types(tmp_path: Path) -> None:
    day, at = dt.date(2024, 2, 29), dt.datetime(2024, 3, 1, 12, 30)
    path = workbook(
        tmp_path / "a.xlsx",
        {
            "Data": [
                ["id", "zip", "kg", "day", "at", "clock", "ill", "mixed", "sum", "2020"],
                [1, "01067", 71.5, day, at, dt.time(3, 4), True, 5, "=6*7", 1],
                [2, "", 80, day, at, dt.time(23, 59, 30), False, "x", "=6*7", None],
            ]
        },
    )
    table = read_table(path)
    assert table.format == Format("xlsx")
    assert dict(zip(table.columns, map(str, table.frame.schema.types), strict=True)) == {
        "id": "int64",
        "zip": "string",
        "kg": "double",
        "day": "date32[day]",
        "at": "timestamp[ms]",
        "clock": "time32[ms]",
        "ill": "bool",
        "mixed": "string",
        "sum": "int64",
        "2020": "int64",
    }
    assert rows_of(table.frame) == [
        (1, "01067", 71.5, day, at, dt.time(3, 4), True, "5", 42, 1),
        (2, None, 80.0, day, at, dt.time(23, 59, 30), False, "x", 42, None),
    ]


def test_empty_rows_and_columns_around_and_within_the_table(tmp_path: Path) -> None:
    rows: list[list[object]] = [[], [], [None, None, "a", None, "b"], [None, None, 1, None, "x"]]
    rows += [[], [None, None, 2, None, "y"], [None, None, None, None, "z"], []]
    table = read_excel(workbook(tmp_path / "a.xlsx", {"Data": rows}), None)
    assert table.column_names == ["a", "b"]
    assert rows_of(table) == [(1, "x"), (2, "y"), (None, "z")]


def test_errors_in_cells_are_missing(tmp_path: Path) -> None:
    book = xlsxwriter.Workbook(str(tmp_path / "a.xlsx"))
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, ["a", "b"])
    sheet.write_row(1, 0, [1, 2])
    sheet.write_number(2, 0, 3)
    sheet.write_formula(2, 1, "=NA()", None, "#N/A")
    book.close()
    assert rows_of(read_excel(tmp_path / "a.xlsx", None)) == [(1, 2), (3, None)]


def test_the_sheet(tmp_path: Path) -> None:
    one, other = [["a"], [1]], [["b"], [2]]
    path = workbook(tmp_path / "a.xlsx", {"Empty": [], "Jan": one, "Notes": other}, Notes=True)
    assert read_table(path).columns == ["a"]
    assert read_table(path, sheet="Notes").columns == ["b"]
    with pytest.raises(DataError, match="no sheet 'Feb'") as caught:
        read_table(path, sheet="Feb")
    assert "'Empty', 'Jan', 'Notes'" in caught.value.remedy
    with pytest.raises(DataError, match="the sheet is empty"):
        read_table(path, sheet="Empty")
    path = workbook(tmp_path / "b.xlsx", {"Jan": one, "Feb": other})
    with pytest.raises(DataError, match="several sheets with data") as caught:
        read_table(path)
    assert "--sheet" in caught.value.remedy
    assert "'Jan', 'Feb'" in caught.value.remedy
    with pytest.raises(DataError, match="no sheet with data"):
        read_table(workbook(tmp_path / "c.xlsx", {"Jan": []}))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["a", "a"], [1, 2]], "columns 1, 2 share a name"),
        ([["a", None], [1, 2]], "column 2 without a name"),
        ([["a", "b"]], "no rows"),
    ],
)
def test_tables_that_are_refused(tmp_path: Path, rows: list[list[object]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_table(workbook(tmp_path / "a.xlsx", {"Data": rows}))


def test_damaged_and_hostile_workbooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = workbook(tmp_path / "good.xlsx", {"Data": [["a"], [1]]}).read_bytes()
    path = tmp_path / "a.xlsx"
    for content in (good[:200], b"PK\x03\x04" + b"x" * 99, b"a,b\n1,2\n"):
        path.write_bytes(content)
        with pytest.raises(DataError, match="not a valid Excel workbook"):
            read_table(path)
    path.write_bytes(b"\xd0\xcf\x11\xe0" + b"\0" * 99)
    with pytest.raises(DataError, match="encrypted, or a workbook of an old Excel"):
        read_table(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"<row/>" * 2_000_000)
    monkeypatch.setattr(excel, "MOST_UNPACKED_BYTES", 1 << 20)
    with pytest.raises(DataError, match="unpacks to more than"):
        read_table(path)
    # the bytes are looked at where a stated size cannot be believed
    monkeypatch.setattr(excel, "MOST_UNPACKED_BYTES", 100_000_000)
    content = bytearray(path.read_bytes())
    stated = (12_000_000).to_bytes(4, "little")
    path.write_bytes(bytes(content).replace(stated, (100).to_bytes(4, "little")))
    with pytest.raises(DataError, match="not a valid Excel workbook"):
        read_table(path)


@pytest.mark.parametrize("name", ["a.xls", "a.xlsb", "a.ods"])
def test_other_spreadsheets_are_to_be_saved_as_xlsx(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xd0\xcf\x11\xe0")
    with pytest.raises(DataError, match="not supported") as caught:
        read_table(tmp_path / name)
    assert ".xlsx" in caught.value.remedy
    with pytest.raises(DataError, match="not supported"):
        format_of_path(tmp_path / name)


# ── writing ─────────────────────────────────────────────────────────────────────────────────

CELLS = {
    "text": ["x", "=1+1", "http://a.b", "\x01_x0041_", " 01\n\r\t ", "é東🙂", "@x", None],
    "whole": pa.array([1, -2, 0, 2**53 - 1, None, 5, 6, 7], pa.int64()),
    "large": pa.array([2**53, 1, None, -(2**63), 2, 3, 4, 5], pa.int64()),
    "number": [0.1 + 0.2, 1e22, -1.5, 5e-324, None, 1 / 3, 2.0, 1e300],
    "infinite": [float("inf"), 1.5, None, 2.0, 3.0, 4.0, 5.0, 6.0],
    "truth": [True, False, None, True, True, True, False, False],
    "day": [dt.date(1900, 3, 1), dt.date(2024, 2, 29), None, *[dt.date(9999, 12, 31)] * 5],
    "early": [dt.date(1899, 12, 31), dt.date(1850, 1, 1), None, *[dt.date(2000, 1, 1)] * 5],
    "at": [dt.datetime(2024, 2, 29, 23, 59, 59, 999_000), None, *[dt.datetime(2000, 1, 1, 1)] * 6],
    "fine": [dt.datetime(2024, 2, 29, 0, 0, 0, 1), None, *[dt.datetime(2000, 1, 1)] * 6],
    "clock": [dt.time(0, 0, 1), dt.time(23, 59, 59), None, *[dt.time(12)] * 5],
    "none": pa.array([None] * 8, pa.int64()),
}


@pytest.mark.parametrize("name", CELLS)
def test_what_is_written_reads_back(tmp_path: Path, name: str) -> None:
    written = pa.table({"key": [f"k{row}" for row in range(8)], name: CELLS[name]})
    write_table(written, tmp_path / "a.xlsx", Format("xlsx"))
    found = read_table(tmp_path / "a.xlsx").frame
    assert found.column_names == written.column_names
    assert labels_of(found.column(name)).to_pylist() == labels_of(written.column(name)).to_pylist()
    same = openpyxl.load_workbook(tmp_path / "a.xlsx")
    assert same.sheetnames == ["release"]
    kinds = {cell.data_type for (cell,) in same["release"].iter_rows(min_row=2, min_col=2)}
    assert "f" not in kinds
    assert not any(cell.hyperlink for row in same["release"].iter_rows() for cell in row)


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=8), min_size=1))
def test_any_text_reads_back_or_is_not_taken_for_another(texts: list[str]) -> None:
    texts = [text for text in texts if "\0" not in text] or ["x"]
    path = io.BytesIO()
    excel.write_excel(pa.table({"a": texts}), path, Path("/tmp"))
    sheet = openpyxl.load_workbook(path)["release"]
    assert sheet.max_row == len(texts) + 1


def test_the_same_rows_give_the_same_bytes_and_nothing_besides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USER", "zq-user")
    column = pa.array(["a", "zq-hidden", "b"]).dictionary_encode()
    frame = pa.table({"x": column, "n": [1, 777_777, 3]}).filter(pa.array([True, False, True]))
    contents = []
    for name in ("a.xlsx", "b.xlsx"):
        write_table(frame, tmp_path / name, Format("xlsx"))
        contents.append((tmp_path / name).read_bytes())
    assert contents[0] == contents[1]
    with zipfile.ZipFile(io.BytesIO(contents[0])) as archive:
        members = {name: archive.read(name).decode() for name in archive.namelist()}
        assert {member.date_time[0] for member in archive.infolist()} == {1980}
    for text in members.values():
        assert "zq-" not in text
        assert "777777" not in text
        assert str(dt.datetime.now().year) not in text.replace("2006/", "")
    assert "<dc:creator></dc:creator>" in members["docProps/core.xml"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.xlsx", "b.xlsx"]


def test_the_limits_of_a_sheet(tmp_path: Path) -> None:
    refuse_too_large(1_048_575, 16_384, "a.xlsx")
    for n_rows, n_columns in ((1_048_576, 1), (1, 16_385)):
        with pytest.raises(DataError, match="do not fit into an Excel sheet"):
            refuse_too_large(n_rows, n_columns, "a.xlsx")
    with pytest.raises(DataError, match="a cell of Excel holds 32,767"):
        write_table(pa.table({"a": ["x" * 32_768]}), tmp_path / "a.xlsx", Format("xlsx"))

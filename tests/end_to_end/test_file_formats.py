"""Runs from and to files as people have them: workbooks, surveys, encodings, partitions."""

import csv

import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pyreadstat
import pytest

from command_line import call

OK = ["--k", "5", "--quasi", "age,sex", "--sensitive", "diagnosis"]


@pytest.fixture
def people(tmp_path):
    """A table as CSV, with a column of the owner's that is not released."""
    rows = [
        {
            "patient": f"zq-{row:05d}",
            "age": 20 + row * 7919 % 40,
            "sex": "männlich" if row % 3 else "weiblich",
            "diagnosis": ["=1+1", "Grippe; Husten", "Rücken, unten"][row % 3],
            "seen": "2024-02-03",
        }
        for row in range(240)
    ]
    path = tmp_path / "people.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def released_rows(path):
    with path.open(newline="", encoding="utf-8-sig") as file:
        return sorted(map(tuple, csv.reader(file)))


def test_a_workbook_in_and_out(people, tmp_path):
    frame = pl.read_csv(people, try_parse_dates=True)
    frame.write_excel(tmp_path / "people.xlsx", worksheet="Patienten")
    contents = []
    for name in ("one.xlsx", "two.xlsx"):
        done = call("run", "people.xlsx", "-o", name, *OK, folder=tmp_path)
        assert done.status == 0, done.err
        contents.append((tmp_path / name).read_bytes())
    assert contents[0] == contents[1]
    assert call("check", "one.xlsx", *OK, folder=tmp_path).status == 0
    sheet = openpyxl.load_workbook(tmp_path / "one.xlsx")["release"]
    found = list(sheet.iter_rows(values_only=True))
    assert found[0] == ("age", "sex", "diagnosis")
    assert call("run", people, "-o", "plain.csv", *OK, folder=tmp_path).status == 0
    expected = released_rows(tmp_path / "plain.csv")
    assert sorted(tuple(str(cell) for cell in row) for row in found) == expected
    assert b"zq-" not in contents[0]


def test_a_workbook_has_room_for_so_many_rows(people, tmp_path, monkeypatch):
    monkeypatch.setattr("incrowd.tables.files.excel.MOST_ROWS", 240)
    done = call("run", people, "-o", "full.xlsx", *OK, folder=tmp_path)
    assert done.status == 2
    assert "do not fit into an Excel sheet" in done.err
    assert "searching" not in done.err
    assert not (tmp_path / "full.xlsx").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["-o", "out/"], "one file, since Excel, SPSS"),
        (["--memory", "1MB"], "Excel, SPSS, Stata and SAS files go through memory"),
        (["--sheet", "Feb"], "no sheet 'Feb'"),
    ],
)
def test_workbooks_go_through_memory(people, tmp_path, more, message):
    pl.read_csv(people).write_excel(tmp_path / "people.xlsx")
    done = call("run", "people.xlsx", *OK, *more, folder=tmp_path)
    assert done.status == 2
    assert message in " ".join(done.err.split())


def test_csv_for_excel(people, tmp_path):
    assert call("run", people, "-o", "plain.csv", *OK, folder=tmp_path).status == 0
    for more in ([], ["--memory", "1MB"]):
        done = call(
            "run", people, "-o", "excel.csv", "--excel-csv", "--force", *OK, *more, folder=tmp_path
        )
        assert done.status == 0, done.err
        content = (tmp_path / "excel.csv").read_text("utf-8-sig")
        assert (tmp_path / "excel.csv").read_bytes().startswith(b"\xef\xbb\xbf")
        rows = sorted(map(tuple, csv.reader(content.splitlines(), delimiter=";")))
        assert rows == released_rows(tmp_path / "plain.csv")
    assert call("check", "excel.csv", *OK, folder=tmp_path).status == 0
    done = call("run", people, "-o", "excel.xlsx", "--excel-csv", *OK, folder=tmp_path)
    assert (done.status, "is about a CSV release" in done.err) == (2, True)


def test_statistics_files_are_released_as_csv(people, tmp_path):
    frame = pd.read_csv(people)
    frame["sex"] = (frame["sex"] == "weiblich") + 1.0
    labels = {"sex": {1: "männlich", 2: "weiblich"}}
    pyreadstat.write_sav(frame, tmp_path / "people.sav", variable_value_labels=labels)
    done = call("run", "people.sav", *OK, folder=tmp_path)
    assert done.status == 0, done.err
    assert "value labels are read for 1 of 5 columns" in done.err
    assert "the release is a CSV file" in done.err
    assert call("run", people, "-o", "plain.csv", *OK, folder=tmp_path).status == 0
    assert (tmp_path / "people.release.csv").read_bytes() == (tmp_path / "plain.csv").read_bytes()
    done = call(
        "run", "people.sav", "-o", "codes.csv", "--value-labels", "codes", *OK, folder=tmp_path
    )
    assert done.status == 0, done.err
    assert {row[1] for row in released_rows(tmp_path / "codes.csv")} <= {"sex", "1", "2", "*"}


def test_a_legacy_encoding_is_read_with_a_note_in_memory_and_on_disk(people, tmp_path):
    western = tmp_path / "western.csv"
    western.write_bytes(people.read_text("utf-8").encode("windows-1252"))
    assert call("run", people, "-o", "plain.csv", *OK, folder=tmp_path).status == 0
    for more in ([], ["--memory", "1MB"]):
        done = call("run", western, "-o", "same.csv", "--force", *OK, *more, folder=tmp_path)
        assert done.status == 0, done.err
        assert "read as windows-1252" in done.err
        assert (tmp_path / "same.csv").read_bytes() == (tmp_path / "plain.csv").read_bytes()


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_a_partitioned_folder(people, tmp_path, engine):
    table = pa.csv.read_csv(people)
    pa.parquet.write_to_dataset(table, tmp_path / "people", partition_cols=["sex"])
    whole = table.select(["age", "diagnosis", "sex"])
    pa.parquet.write_table(whole, tmp_path / "whole.parquet")
    where = ["--engine", engine]
    assert call("run", "whole.parquet", "-o", "whole.csv", *OK, folder=tmp_path).status == 0
    for output in ("some.csv", "some.parquet"):
        done = call("run", "people", "-o", output, *OK, *where, folder=tmp_path)
        assert done.status == 0, done.err
    assert (tmp_path / "some.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    found = pa.parquet.read_table(tmp_path / "some.parquet")
    assert found.column_names == ["age", "diagnosis", "sex"]


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_labels_that_come_late_are_shown_first(tmp_path, engine):
    """Readers that infer types from the first rows see the range that few old people are in."""
    lines = [f"{20 if row < 400 else 80 + row % 4},{row % 7}" for row in range(408)]
    (tmp_path / "people.csv").write_text("\n".join(["age,visits", *lines]) + "\n")
    flags = ["--k", "8", "--quasi", "age", "--sensitive", "visits"]
    flags += ["--hierarchy", "age=intervals:10"]
    where = ["--engine", engine]
    outputs = {"some.csv": [], "disk.csv": ["--memory", "1MB"], "spread/": []}
    for name, more in outputs.items():
        more = more if engine == "local" else []
        done = call("run", "people.csv", "-o", name, *flags, *where, *more, folder=tmp_path)
        assert done.status == 0, done.err
    content = (tmp_path / "some.csv").read_bytes()
    assert content.splitlines()[:3] == [b"age,visits", b"80-89,0", b"20,0"]
    assert (tmp_path / "disk.csv").read_bytes() == content
    assert (tmp_path / "spread/part-00000.csv").read_bytes() == content
    assert pl.read_csv(tmp_path / "some.csv")["age"].value_counts().sort("age").rows() == [
        ("20", 400),
        ("80-89", 8),
    ]
    done = call("check", "some.csv", *flags[:6], "--json", folder=tmp_path)
    found = {finding["name"]: finding["holds"] for finding in done.json["findings"]}
    assert found["canonical order"] is True
    assert (done.status, found["k-anonymity"]) == (0, True)


def test_init_on_a_partitioned_folder(people, tmp_path):
    table = pa.csv.read_csv(people)
    pa.parquet.write_to_dataset(table, tmp_path / "people", partition_cols=["sex"])
    done = call("init", "people", "--json", folder=tmp_path)
    assert done.status == 0, done.err
    assert "sex" in done.out
    assert "quasi-identifying" in done.out

"""The hospital's sample: the same everywhere, written as German systems write, with what moves."""

import csv
import hashlib
import re
from datetime import datetime

import pytest

from incrowd.errors import DataError, JobError
from incrowd.samples import admissions, write_hospital, write_workbook


def rows(path):
    with path.open(encoding="windows-1252", newline="") as file:
        return list(csv.DictReader(file, delimiter=";"))


def day(text):
    return datetime.strptime(text, "%d.%m.%Y").date()


def test_the_same_seed_gives_the_same_bytes_everywhere(tmp_path):
    digest = hashlib.sha256()
    for path in write_hospital(tmp_path, 200):
        digest.update(path.read_bytes())
    # a change of this value changes everybody's sample: say so in the changelog
    assert digest.hexdigest() == "5b147db3b69f2221ef8772bd38599d1e9e9b8dddfb5147b9e9cec958238f7535"
    with pytest.raises(DataError, match="already exists"):
        write_hospital(tmp_path, 200)
    with pytest.raises(JobError):
        admissions(3)


def test_three_months_by_recount(tmp_path):
    months = [rows(path) for path in write_hospital(tmp_path, 400)]
    for number, month in enumerate(months, 10):
        assert len(month) == 400
        assert len({row["Fallnummer"] for row in month}) == 400
        for row in month:
            admitted, left = day(row["Aufnahmedatum"]), day(row["Entlassungsdatum"])
            assert (admitted.year, admitted.month) == (2026, number)
            assert day(row["Geburtsdatum"]) < admitted < left
            assert re.fullmatch(r"\d{5}", row["PLZ"])
            assert re.fullmatch(r"[A-Z]\d\d\.\d", row["Hauptdiagnose"])
            assert re.fullmatch(r"(\d+,\d)?", row["HbA1c"])
    first, second, third = ({row["Patientennummer"] for row in month} for month in months)
    assert len(first & second) == len(second & third) == 20
    assert {row["Hauptdiagnose"] for row in months[1]} - {r["Hauptdiagnose"] for r in months[0]}
    assert {row["PLZ"] for row in months[2]} - {row["PLZ"] for row in months[0]}
    names = "".join(row["Nachname"] for row in months[0])
    assert {"ä", "ö", "ü", "ß"} <= set(names)


def test_returning_patients_are_the_same_people():
    october = {row[1]: row[2:7] for row in admissions(0, 200)}
    again = [row for row in admissions(1, 200) if row[1] in october]
    assert len(again) == 10
    for row in again:
        assert row[2:6] == october[row[1]][:4]


def test_the_workbook_holds_the_same(tmp_path):
    import openpyxl

    written = write_workbook(tmp_path, 30)
    with pytest.raises(DataError, match="already exists"):
        write_workbook(tmp_path, 30)
    book = openpyxl.load_workbook(written)
    for month, path in enumerate(write_hospital(tmp_path, 30)):
        sheet = book.worksheets[month]
        assert sheet.title == path.stem.removeprefix("Aufnahmen-")
        head, *body = sheet.iter_rows(values_only=True)
        assert [dict(zip(head, row, strict=True)) for row in body] == [
            {name: typed(name, text) for name, text in row.items()} for row in rows(path)
        ]


def typed(name, text):
    """Return a cell of the text file as Excel has it."""
    if name.endswith("datum"):
        return datetime.strptime(text, "%d.%m.%Y")
    if name == "HbA1c":
        return float(text.replace(",", ".")) if text else None
    return text

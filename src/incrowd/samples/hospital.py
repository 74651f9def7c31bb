"""Three months of admissions to a made-up German hospital, as its system exports them.

``;`` between cells, windows-1252, decimal commas, dates as dd.mm.yyyy. Nobody in it exists. Some
patients come back, and later months have diagnoses and postcodes that the first one has not.
"""

from __future__ import annotations

import csv
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np

from incrowd.errors import DataError, JobError
from incrowd.samples.census import Codes, Draws

MONTHS = ("2026-10", "2026-11", "2026-12")
COLUMNS = (
    "Fallnummer",
    "Patientennummer",
    "Nachname",
    "Vorname",
    "Geburtsdatum",
    "Geschlecht",
    "PLZ",
    "Aufnahmedatum",
    "Entlassungsdatum",
    "Hauptdiagnose",
    "HbA1c",
)
ENCODING = "windows-1252"

RETURNING = 20
"""One stay in so many is that of a patient of the month before."""

_FAMILY = (
    "Bäcker", "Böhm", "Fischer", "Förster", "Günther", "Hübner", "Jäger", "Köhler", "König",
    "Krüger", "Meyer", "Möller", "Müller", "Schäfer", "Schmidt", "Schröder", "Schulz", "Weiß",
    "Wagner", "Zöller",
)  # fmt: skip
_GIVEN = {
    "w": ("Anneliese", "Brigitte", "Jördis", "Käthe", "Lena", "Mia", "Renate", "Ünal", "Ursula"),
    "m": ("Björn", "Emil", "Günter", "Hans", "Jörg", "Jürgen", "Klaus", "Leon", "Sören"),
}
_POSTCODES = (
    "10115", "10117", "10119", "10243", "10245", "10247", "12043", "12045", "12047", "13347",
    "13349", "13351", "14050", "14052", "01067", "01069",
)  # fmt: skip
_LATER_POSTCODES = {1: ("04103",), 2: ("04103", "20095")}
_DIAGNOSES = {
    "E11.9": 150, "I10.0": 120, "I21.4": 60, "I50.1": 70, "J18.9": 80, "J44.1": 60, "K35.8": 50,
    "K80.2": 60, "M16.1": 70, "M54.5": 80, "N39.0": 50, "S72.0": 60, "C50.9": 40, "F32.1": 30,
}  # fmt: skip
_LATER_DIAGNOSES = {1: {"J10.1": 60}, 2: {"J10.1": 110, "U07.1": 50}}
_AGES = {0: 30, 18: 90, 40: 160, 60: 280, 75: 260}
"""Weights of patients by the least age of a band; bands end at the next, the last at 95."""


def admissions(month: int, n_rows: int = 600, seed: int = 1) -> list[list[str]]:
    """Return the rows of the first, second or third month (0, 1, 2) as texts, without a header."""
    if not 0 <= month < len(MONTHS) or n_rows < 1:
        raise JobError("a sample has three months of at least one row", remedy="Ask for one row.")
    rows = []
    numbers = np.arange(n_rows) + month * n_rows
    if month:
        is_returning = np.arange(n_rows) % RETURNING == RETURNING - 1
        # whoever stands one place before in the last month, and was new then
        numbers = np.where(is_returning, numbers - n_rows - 1, numbers)
    people = _people((month + 1) * n_rows, seed)
    draws = Draws(n_rows, 1_000 * seed + month)
    first = date.fromisoformat(f"{MONTHS[month]}-01")
    day, stay = draws.one_of(np.ones(28, np.int64)), draws.one_of(np.arange(14, 0, -1))
    weights = {**_DIAGNOSES, **_LATER_DIAGNOSES.get(month, {})}
    diagnosis = draws.one_of(np.array([*weights.values()]))
    tenths, is_missing = draws.one_of(np.ones(30, np.int64)), draws.one_of(np.array([9, 1]))
    postcodes = [*_POSTCODES, *_LATER_POSTCODES.get(month, ())]
    moved = draws.one_of(np.ones(len(postcodes), np.int64))
    names = list(weights)
    for place, number in enumerate(numbers.tolist()):
        family, given, born, sex, home = people[number]
        code = names[diagnosis[place]]
        base = 65 if code.startswith("E11") else 48
        value = "" if is_missing[place] else f"{(base + int(tenths[place])) / 10:.1f}"
        admitted = first + timedelta(days=int(day[place]))
        rows.append(
            [
                f"F{MONTHS[month].replace('-', '')}{place + 1:05d}",
                f"P{number + 1:06d}",
                family,
                given,
                _german(born),
                sex,
                postcodes[moved[place]] if moved[place] >= len(_POSTCODES) else home,
                _german(admitted),
                _german(admitted + timedelta(days=int(stay[place]) + 1)),
                code,
                value.replace(".", ","),
            ]
        )
    return rows


def _people(n_people: int, seed: int) -> list[tuple[str, str, date, str, str]]:
    """Return names, birth date, sex and postcode; the first people are the same for any number."""
    n_drawn = -(-n_people // 10_000) * 10_000
    draws = Draws(n_drawn, seed)
    edges = [*_AGES, 95]
    band = draws.one_of(np.array([*_AGES.values()]))
    within: Codes = draws.one_of(np.ones(10_000, np.int64))
    family, given = draws.one_of(np.ones(20, np.int64)), draws.one_of(np.ones(9, np.int64))
    sex = draws.one_of(np.array([52, 48]))
    home = draws.one_of(np.ones(len(_POSTCODES), np.int64))
    people = []
    for person in range(n_people):
        low, high = edges[band[person]], edges[band[person] + 1]
        days = int(low * 365.25 + (high - low) * 365.25 * int(within[person]) / 10_000)
        shown = "wm"[sex[person]]
        people.append(
            (
                _FAMILY[family[person]],
                _GIVEN[shown][given[person]],
                date(2026, 9, 30) - timedelta(days=days),
                shown,
                _POSTCODES[home[person]],
            )
        )
    return people


def _german(day: date) -> str:
    return day.strftime("%d.%m.%Y")


def _day(text: str) -> datetime:
    return datetime.strptime(text, "%d.%m.%Y")


def _refuse_existing(paths: list[Path], force: bool) -> None:
    existing = [path for path in paths if path.exists()]
    if existing and not force:
        raise DataError(
            f"{existing[0]}: the file already exists",
            remedy="Choose another folder, or replace it with --force.",
        )


def write_workbook(
    folder: str | Path, n_rows: int = 600, seed: int = 1, *, force: bool = False
) -> Path:
    """Write ``Aufnahmen.xlsx``, a sheet per month with dates and numbers as Excel has them."""
    import xlsxwriter

    path = Path(folder) / "Aufnahmen.xlsx"
    _refuse_existing([path], force)
    path.parent.mkdir(parents=True, exist_ok=True)
    dates = [COLUMNS.index(name) for name in COLUMNS if name.endswith("datum")]
    number = COLUMNS.index("HbA1c")
    with xlsxwriter.Workbook(path) as workbook:
        workbook.set_properties({"created": datetime(2000, 1, 1, tzinfo=UTC)})
        shown = workbook.add_format({"num_format": "dd.mm.yyyy"})
        for month, name in enumerate(MONTHS):
            sheet = workbook.add_worksheet(name)
            sheet.write_row(0, 0, COLUMNS)
            for line, row in enumerate(admissions(month, n_rows, seed), 1):
                for place, text in enumerate(row):
                    if place in dates:
                        sheet.write_datetime(line, place, _day(text), shown)
                    elif place == number and text:
                        sheet.write_number(line, place, float(text.replace(",", ".")))
                    elif text:
                        sheet.write_string(line, place, text)
    return path


def write_hospital(
    folder: str | Path, n_rows: int = 600, seed: int = 1, *, force: bool = False
) -> list[Path]:
    """Write a file per month, ``Aufnahmen-2026-10.csv`` and so on; over existing ones by force."""
    folder = Path(folder)
    paths = [folder / f"Aufnahmen-{month}.csv" for month in MONTHS]
    _refuse_existing(paths, force)
    folder.mkdir(parents=True, exist_ok=True)
    for month, path in enumerate(paths):
        with path.open("w", encoding=ENCODING, newline="") as file:
            writer = csv.writer(file, delimiter=";", lineterminator="\r\n")
            writer.writerow(COLUMNS)
            writer.writerows(admissions(month, n_rows, seed))
    return paths

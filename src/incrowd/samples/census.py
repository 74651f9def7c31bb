"""Made-up data to try incrowd on: a country's census, with its hierarchies.

Everything is drawn from the weights below and a seed; nobody in it exists. The same seed gives
the same rows on every platform: only raw 64-bit draws of PCG64 and integer weights are used.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.errors import DataError, JobError
from incrowd.hierarchies.tree import STAR

Codes = NDArray[np.int64]
ValuesUnder = dict[tuple[str, ...], tuple[str, ...]]

# ── values, by what they generalize to (below the root) ──────────────────────────────────────

_EDUCATION: ValuesUnder = {
    ("primary or less", "school"): ("no schooling", "preschool", "grades 1-4", "grades 5-6"),
    ("lower secondary", "school"): ("grades 7-8", "grade 9"),
    ("upper secondary", "school"): (
        "grade 10",
        "grade 11",
        "grade 12 without diploma",
        "high school diploma",
    ),
    ("college", "beyond school"): ("some college", "vocational degree", "associate degree"),
    ("university", "beyond school"): ("bachelor", "master", "professional degree", "doctorate"),
}

_OCCUPATION: ValuesUnder = {
    ("not in work",): ("not at work", "pupil or student", "retired"),
    ("academic work",): ("manager", "engineer", "scientist", "lawyer", "physician", "teacher"),
    ("care and services",): ("nurse", "care worker", "cook", "cleaner", "police or guard"),
    ("office and sales",): ("clerk", "sales"),
    ("manual work",): ("craft", "machine operator", "driver", "farm worker"),
}

_MARITAL: ValuesUnder = {
    ("not married",): ("never married",),
    ("married or partnered",): ("married", "registered partnership"),
    ("no longer married",): ("separated", "divorced", "widowed"),
}

_DIAGNOSIS: ValuesUnder = {
    ("infection",): ("influenza", "hepatitis C", "HIV infection"),
    ("cancer",): ("breast cancer", "prostate cancer", "colorectal cancer"),
    ("metabolism",): ("type 2 diabetes", "thyroid disorder"),
    ("mental health",): ("depression", "anxiety disorder", "alcohol dependence"),
    ("nervous system",): ("migraine", "epilepsy"),
    ("heart and vessels",): ("hypertension", "coronary heart disease", "stroke"),
    ("breathing",): ("asthma", "bronchitis", "pneumonia"),
    ("bones and muscles",): ("back pain", "arthrosis", "fracture"),
}

_SEXES = ("female", "male", "other")

_GIVEN = {
    "female": (
        "Alice", "Anna", "Carla", "Clara", "Diana", "Elena", "Emma", "Eva", "Fiona", "Grace",
        "Hannah", "Ines", "Julia", "Laura", "Lena", "Maria", "Nora", "Olivia", "Paula", "Sofia",
    ),
    "male": (
        "Aron", "Alex", "Ben", "Carlos", "Daniel", "David", "Emil", "Felix", "George", "Hugo",
        "Ivan", "Jonas", "Leo", "Louis", "Martin", "Noah", "Oscar", "Paul", "Samuel", "Thomas",
    ),
    "other": ("Alex", "Andrea", "Charlie", "Kim", "Luca", "Maxime", "Robin", "Sam"),
}  # fmt: skip

_FAMILY = (
    "Baker", "Bauer", "Brown", "Carpenter", "Clark", "Cook", "Costa", "Dubois", "Ferrari",
    "Fischer", "Fontaine", "Garcia", "Green", "Hill", "Hoffmann", "Jansen", "King", "Lambert",
    "Lee", "Lopez", "Martin", "Meyer", "Miller", "Moreau", "Moreno", "Novak", "Perez", "Petit",
    "Rossi", "Schmidt", "Silva", "Smith", "Taylor", "Walker", "Weber", "Wood", "Wright", "Young",
)  # fmt: skip

# ── weights: how often, given what ───────────────────────────────────────────────────────────

_AGE_EDGES = (0, 20, 35, 55, 75, 90, 100)
_AGE_WEIGHTS = (95, 115, 130, 125, 70, 12, 1)
"""The age pyramid at those ages, straight lines between them."""

_WOMEN_OF_1000 = {0: 488, 40: 502, 65: 530, 80: 620, 90: 720}
"""By the least age; 3 of 1000 are neither women nor men."""

_STAGES_OF_SCHOOL = dict.fromkeys((0, 3, 6, 10, 12, 14, 15, 16, 17))
"""The ages at which a child reaches the first, second, … education."""

_ADULT_EDUCATION = {  # weights from "grades 1-4" on, by the least age
    18: (1, 2, 6, 10, 24, 40, 70, 420, 360, 40, 26, 1, 0, 0, 0),
    22: (1, 3, 8, 12, 22, 28, 24, 250, 230, 60, 62, 240, 48, 8, 4),
    30: (3, 6, 14, 14, 22, 26, 16, 270, 170, 68, 60, 210, 90, 18, 13),
    50: (10, 16, 34, 22, 34, 34, 18, 330, 165, 66, 46, 140, 64, 12, 9),
    70: (34, 44, 110, 40, 56, 42, 16, 340, 130, 36, 22, 84, 34, 8, 4),
}
_UNIVERSITY_FACTOR = 3
"""In one region out of eight, degrees from bachelor up are that many times as frequent."""

_JOBS = {  # weights of women and of men, by the least education
    0: (
        (200, 0, 0, 4, 0, 0, 0, 0, 0, 4, 120, 80, 190, 8, 40, 110, 12, 60, 12, 50),
        (130, 0, 0, 6, 0, 0, 0, 0, 0, 1, 16, 60, 50, 40, 14, 40, 220, 150, 160, 90),
    ),
    9: (
        (150, 10, 0, 50, 3, 1, 0, 0, 6, 40, 130, 50, 60, 14, 250, 170, 20, 36, 10, 12),
        (90, 8, 0, 70, 16, 1, 0, 0, 3, 6, 20, 40, 20, 60, 80, 120, 250, 130, 110, 26),
    ),
    13: (
        (90, 16, 0, 150, 60, 30, 26, 40, 210, 80, 20, 6, 4, 10, 150, 70, 8, 4, 2, 2),
        (60, 14, 0, 210, 190, 40, 36, 50, 80, 14, 6, 8, 4, 20, 80, 90, 40, 16, 12, 6),
    ),
}

_MARITAL_WEIGHTS = {  # by the least age
    0: (1, 0, 0, 0, 0, 0),
    18: (940, 40, 12, 5, 3, 0),
    25: (560, 340, 40, 26, 33, 1),
    35: (260, 540, 34, 40, 118, 8),
    50: (130, 600, 16, 34, 180, 40),
    70: (60, 530, 6, 14, 110, 280),
    85: (50, 280, 2, 6, 62, 600),
}

_DIAGNOSIS_WEIGHTS = {  # weights of women and of men, by the least age
    0: (
        (330, 1, 0, 0, 0, 0, 2, 6, 8, 24, 0, 24, 14, 1, 0, 0, 150, 220, 60, 6, 0, 150),
        (340, 1, 0, 0, 0, 0, 2, 2, 6, 16, 0, 14, 16, 1, 0, 0, 190, 230, 66, 4, 0, 200),
    ),
    18: (
        (190, 4, 3, 4, 0, 2, 12, 50, 130, 140, 14, 130, 14, 24, 2, 2, 80, 80, 16, 130, 6, 50),
        (210, 6, 8, 0, 0, 2, 14, 10, 80, 80, 44, 44, 14, 36, 3, 2, 70, 80, 18, 160, 6, 110),
    ),
    45: (
        (80, 6, 2, 34, 0, 10, 70, 80, 110, 90, 18, 80, 10, 170, 16, 10, 50, 60, 16, 180, 70, 40),
        (80, 8, 5, 0, 14, 14, 100, 20, 70, 50, 50, 24, 10, 210, 50, 14, 40, 60, 18, 190, 50, 50),
    ),
    65: (
        (50, 3, 1, 40, 0, 22, 130, 60, 60, 40, 8, 20, 8, 280, 60, 46, 30, 50, 40, 90, 150, 80),
        (50, 4, 2, 0, 60, 30, 150, 14, 40, 20, 24, 8, 8, 280, 120, 56, 30, 60, 50, 90, 90, 40),
    ),
}

_K_WEIGHTS = {2: 300, 3: 240, 4: 120, 5: 220, 8: 30, 10: 50, 15: 24, 20: 16}
"""What people ask for; it depends on nothing else, so that it discloses nothing else."""

_N_ZIP_AREAS = 320
_REGIONS = ("021", "100", "103", "010", "112", "078", "191", "207")
"""How the ZIP codes of each region begin; areas of one rank of size are one per region."""


# ── the table ────────────────────────────────────────────────────────────────────────────────


def census(n_rows: int = 30_000, seed: int = 1) -> pa.Table:
    """Return a made-up census of ``n_rows`` people, the same for the same seed.

    Columns: id, name, age, sex, zip (text with leading zeros), education, occupation,
    marital_status, diagnosis, and k, the group size that each person asks for. Ages, ZIP codes
    and diagnoses are skewed; education goes with age and place, occupation with education and
    sex, marital status with age, diagnosis with age and sex.
    """
    if n_rows < 1:
        raise JobError(f"a sample of {n_rows} rows", remedy="Ask for at least one row.")
    if seed < 0:
        raise JobError("seed: not a whole number of 0 or more", remedy="State --seed 1.")
    draws = Draws(n_rows, seed)
    age = draws.one_of(_pyramid())
    sexes = np.array([(women, 997 - women, 3) for women in _WOMEN_OF_1000.values()])
    sex = draws.given(_band_of(age, _WOMEN_OF_1000), sexes)
    area = draws.one_of(1_000_000 // np.arange(4, _N_ZIP_AREAS + 4))
    education = _education(draws, age, is_university_region=area % len(_REGIONS) == 3)
    occupation = _occupation(draws, age, sex, education)
    marital = draws.given(_band_of(age, _MARITAL_WEIGHTS), np.array([*_MARITAL_WEIGHTS.values()]))
    band = 2 * _band_of(age, _DIAGNOSIS_WEIGHTS) + _weights_of_men(draws, sex)
    by_sex = np.array([weights for pair in _DIAGNOSIS_WEIGHTS.values() for weights in pair])
    diagnosis = draws.given(band, by_sex)
    k = np.array([*_K_WEIGHTS])[draws.one_of(np.array([*_K_WEIGHTS.values()]))]
    return pa.table(
        {
            "id": pa.array(np.arange(n_rows) + 100_001),
            "name": _names(draws, sex),
            "age": pa.array(age),
            "sex": _label(sex, _SEXES),
            "zip": _label(area, _zip_codes()),
            "education": _label(education, _values(_EDUCATION)),
            "occupation": _label(occupation, _values(_OCCUPATION)),
            "marital_status": _label(marital, _values(_MARITAL)),
            "diagnosis": _label(diagnosis, _values(_DIAGNOSIS)),
            "k": pa.array(k),
        }
    )


class Draws:
    """Weighted draws, one column of all rows at a time.

    The generator's raw 64-bit stream and its seeding never change between versions of NumPy,
    unlike what is built on them; 32 bits of each draw are scaled to the total of the weights.
    """

    def __init__(self, n_rows: int, seed: int) -> None:
        self._bits = np.random.PCG64(seed)
        self._n_rows = n_rows

    def _below(self, totals: Codes) -> Codes:
        """Return one number from 0 to total − 1 per row."""
        raw = self._bits.random_raw(self._n_rows) >> np.uint64(32)
        return (raw.astype(np.int64) * totals) >> 32

    def one_of(self, weights: Codes) -> Codes:
        """Return one index per row, by one list of weights for all."""
        edges = np.cumsum(weights)
        return np.searchsorted(edges, self._below(edges[-1]), side="right").astype(np.int64)

    def given(self, case: Codes, weights: NDArray[np.int64]) -> Codes:
        """Return one index per row, by the weights of each row's case."""
        edges = np.cumsum(weights, axis=1)
        drawn = self._below(edges[case, -1])
        chosen = np.zeros(self._n_rows, dtype=np.int64)
        for choice in range(weights.shape[1] - 1):
            chosen += drawn >= edges[case, choice]
        return chosen


def _pyramid() -> Codes:
    """Return the weight of each age from 0 to 99, in hundredths to keep it whole."""
    weights = np.zeros(100, dtype=np.int64)
    for position in range(len(_AGE_EDGES) - 1):
        first, last = _AGE_EDGES[position : position + 2]
        low, high = _AGE_WEIGHTS[position : position + 2]
        ages = np.arange(first, last)
        weights[first:last] = 100 * low + 100 * (high - low) * (ages - first) // (last - first)
    return weights


def _band_of(value: Codes, table: Mapping[int, object]) -> Codes:
    """Return the position of the last key of ``table`` at or below each value."""
    return np.searchsorted(np.array([*table]), value, side="right").astype(np.int64) - 1


def _weights_of_men(draws: Draws, sex: Codes) -> Codes:
    """Return 1 for rows to be treated by the weights of men; others fall to either side."""
    either = draws.one_of(np.array([1, 1]))
    return np.where(sex == 2, either, sex)


def _education(draws: Draws, age: Codes, is_university_region: NDArray[np.bool_]) -> Codes:
    rows = np.array([*_ADULT_EDUCATION.values()])
    lifted = rows.copy()
    lifted[:, 11:] *= _UNIVERSITY_FACTOR
    case = np.maximum(_band_of(age, _ADULT_EDUCATION), 0) + len(rows) * is_university_region
    grown_up = 2 + draws.given(case, np.concatenate([rows, lifted]))
    return np.where(age < 18, _band_of(age, _STAGES_OF_SCHOOL), grown_up)


def _occupation(draws: Draws, age: Codes, sex: Codes, education: Codes) -> Codes:
    case = 2 * _band_of(education, _JOBS) + _weights_of_men(draws, sex)
    job = draws.given(case, np.array([weights for pair in _JOBS.values() for weights in pair]))
    percent = draws.one_of(np.ones(100, dtype=np.int64))
    labels = _values(_OCCUPATION)
    # still learning: everybody below 16, then fewer with each year of age
    learns = percent < np.where(age < 16, 100, np.maximum(0, 95 - 8 * (age - 16)))
    retired = percent < np.where(age < 60, 0, np.minimum(99, 8 * (age - 59)))
    job = np.where(learns, labels.index("pupil or student"), job)
    job = np.where(retired, labels.index("retired"), job)
    return np.where(age < 3, labels.index("not at work"), job)


def _zip_codes() -> list[str]:
    """Return the code of each area, most populous first."""
    ends = [f"{(37 * place + 11) % 100:02d}" for place in range(_N_ZIP_AREAS // len(_REGIONS))]
    return [region + end for end in ends for region in _REGIONS]


def _names(draws: Draws, sex: Codes) -> pa.Array:
    n_given = np.array([len(_GIVEN[label]) for label in _SEXES])
    first = np.concatenate([[0], np.cumsum(n_given)[:-1]])
    given_names = [name for label in _SEXES for name in _GIVEN[label]]
    rank = np.arange(n_given.max())
    weights = np.where(rank < n_given[:, None], 100 // (3 + rank), 0)
    given = first[sex] + draws.given(sex, weights)
    family = draws.one_of(1_000 // np.arange(5, len(_FAMILY) + 5))
    full = [f"{name} {surname}" for name in given_names for surname in _FAMILY]
    return _label(given * len(_FAMILY) + family, full)


def _label(codes: Codes, labels: Iterable[str]) -> pa.Array:
    return pa.array(list(labels), pa.string()).take(pa.array(codes))


# ── its hierarchies ──────────────────────────────────────────────────────────────────────────


def census_hierarchies() -> dict[str, list[list[str]]]:
    """Return the hierarchies by column, one line per value: the value, its groups, ``*``."""
    values_of_column = {
        "education": _EDUCATION,
        "occupation": _OCCUPATION,
        "marital_status": _MARITAL,
        "diagnosis": _DIAGNOSIS,
    }
    return {
        column: [[value, *above, STAR] for above, values in under.items() for value in values]
        for column, under in values_of_column.items()
    }


def _values(values_under: ValuesUnder) -> list[str]:
    return [value for values in values_under.values() for value in values]


# ── files ────────────────────────────────────────────────────────────────────────────────────


class SampleFiles(NamedTuple):
    """Where a sample was written: the data, and a hierarchy per column."""

    data: Path
    hierarchies: dict[str, Path]


def write_sample(
    folder: str | Path, n_rows: int = 30_000, seed: int = 1, *, force: bool = False
) -> SampleFiles:
    """Write ``census.csv`` and ``hierarchies/*.csv`` (ARX's format) into a folder.

    Nothing is written if one of the files exists, unless ``force`` is set.
    """
    folder = Path(folder)
    hierarchies = census_hierarchies()
    files = SampleFiles(
        folder / "census.csv",
        {column: folder / "hierarchies" / f"{column}.csv" for column in hierarchies},
    )
    existing = [path for path in (files.data, *files.hierarchies.values()) if path.exists()]
    if existing and not force:
        raise DataError(
            f"{existing[0]}: the file already exists",
            remedy="Choose another folder, or replace it with --force.",
        )
    table = census(n_rows, seed)
    (folder / "hierarchies").mkdir(parents=True, exist_ok=True)
    columns = [column.to_pylist() for column in table.columns]
    _write(files.data, [table.column_names, *zip(*columns, strict=True)], ",", force)
    for column, lines in hierarchies.items():
        _write(files.hierarchies[column], lines, ";", force)
    return files


def _write(path: Path, lines: Iterable[Sequence[object]], delimiter: str, force: bool) -> None:
    with path.open("w" if force else "x", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(lines)

"""Tables whose rows are searched: published ones, and a generated voter list of any length.

The voter list is in the shape of the one that greedy's paper used: five columns as in its Table
III (1,026 ZIP codes, two sexes, eight races, 109 years of birth, ten parties). The paper took 10⁶
of 14 million voters and found 151,061 distinct rows, far fewer than an even sample of a whole state
has. So here most rows are from a few covered ZIP codes, as in a list that is taken place by place,
and the others are thinly sown; race goes with the ZIP code, party with race. How many are covered
was chosen for the paper's number of distinct rows. Nobody in it exists; the same seed gives the
same rows on every platform.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.shared.provenance import file_sha256, require_file
from incrowd.encoding.encode import encode
from incrowd.encoding.rows import Rows
from incrowd.errors import DataError
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.hierarchies.tree import Hierarchy
from incrowd.samples import Codes, Draws
from incrowd.tables.files.read import read_table

ADULT = "adult/adult_30162_qi9.csv.gz"
ADULT_HIERARCHIES = "adult/hierarchies_arx"
CUP98 = "cup98/cup98.csv.gz"
CUP98_HIERARCHIES = "cup98/hierarchies"
ZIP_POPULATION = "voters/florida_zip_population.csv"

ADULT_NINE = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
)
ADULT_EIGHT = ADULT_NINE[:-1]
CUP98_EIGHT = ("ZIP", "AGE", "GENDER", "INCOME", "STATE", "RAMNTALL", "NGIFTALL", "MINRAMNT")
AGES = (17, 90)  # the 74 ages that greedy's paper counts


@dataclass(frozen=True)
class DataSet:
    """A data set by name: ``adult-nine`` (74 ages), ``adult`` (without salary-class), ``cup98``,
    ``voters``.

    ``n_rows`` and ``n_covered`` are of generated voters only; 0 takes the generator's own.
    """

    name: str
    n_rows: int = 0
    n_covered: int = 0

    def load(self, folder: Path) -> Rows:
        """Read or generate the rows and code their columns as leaves."""
        path = require_file(folder, self._source)
        if self.name == "voters":
            return voters(self.n_rows, zip_population(path), n_covered=self.n_covered or N_COVERED)
        if self.name == "cup98":
            return _read_coded(path, CUP98_EIGHT, folder / CUP98_HIERARCHIES)
        if self.name == "adult":
            return _read_coded(path, ADULT_EIGHT, folder / ADULT_HIERARCHIES)
        return _read_coded(path, ADULT_NINE, folder / ADULT_HIERARCHIES, AGES)

    def record(self, folder: Path) -> dict[str, Any]:
        """Return what results say of this data set; voters have the hash of ZIP populations."""
        digest = file_sha256(require_file(folder, self._source))
        return {**asdict(self), "source": self._source, "sha256": digest}

    @property
    def _source(self) -> str:
        return {"voters": ZIP_POPULATION, "cup98": CUP98}.get(self.name, ADULT)


def _read_coded(
    path: Path, columns: tuple[str, ...], hierarchies: Path, ages: tuple[int, int] | None = None
) -> Rows:
    """Read a table and code it by published hierarchies; ages may be cut down to a range."""
    specs = {name: HierarchySpec("file", path=hierarchies / f"{name}.csv") for name in columns}
    with tempfile.TemporaryDirectory() as scratch:
        if ages is not None:
            lines = (hierarchies / "age.csv").read_text(encoding="utf-8").splitlines()
            kept = [line for line in lines if ages[0] <= int(line.split(";")[0]) <= ages[1]]
            cut = Path(scratch) / "age.csv"
            cut.write_text("\n".join(kept) + "\n", encoding="utf-8")
            specs["age"] = HierarchySpec("file", path=cut)
        return encode(read_table(path), columns, specs)[0]


# ── generated voters ────────────────────────────────────────────────────────────────────────────

COLUMNS = ("zip", "sex", "race", "birth_year", "party")

N_ZIP_CODES = 1_026
SEXES = ("F", "M")
RACES = ("white", "hispanic", "black", "asian", "other", "unknown", "multiracial", "native")
PARTIES = ("REP", "DEM", "NPA", "IND", "LPF", "GRE", "CPF", "REF", "ECO", "PSL")
FIRST_YEAR, N_YEARS = 1896, 109

N_COVERED = 80
"""How many ZIP codes, the most populous ones, nearly all rows are from."""

THIN_SHARE = 25
"""One row in so many is from the other ZIP codes."""

_RACE_WEIGHTS = (  # by the kind of a ZIP code
    (9_500, 210, 150, 60, 40, 30, 7, 3),
    (8_400, 800, 560, 100, 70, 50, 14, 6),
    (2_200, 6_900, 600, 110, 110, 60, 16, 4),
    (1_700, 650, 7_300, 90, 140, 90, 22, 8),
)
_ZIP_KINDS = (0, 1, 0, 2, 0, 1, 3)  # ZIP codes by turns
_PARTY_WEIGHTS = (  # by race
    (520, 260, 205, 8, 3, 1, 1, 1, 1, 0),
    (270, 370, 350, 6, 2, 1, 1, 0, 0, 0),
    (40, 820, 135, 3, 1, 1, 0, 0, 0, 0),
    (280, 310, 400, 6, 2, 1, 1, 0, 0, 0),
    (220, 400, 370, 6, 2, 1, 0, 0, 0, 1),
    (280, 320, 390, 6, 2, 1, 1, 0, 0, 0),
    (200, 450, 340, 6, 2, 1, 0, 0, 0, 1),
    (330, 350, 310, 6, 2, 1, 1, 0, 0, 0),
)


def zip_population(path: Path) -> dict[str, int]:
    """Read the people of each ZIP code from a CSV with the columns ``zip`` and ``population``."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {line["zip"]: int(line["population"]) for line in csv.DictReader(file)}
    except (OSError, KeyError, ValueError, TypeError):
        raise DataError(
            f"{path.name}: no table of ZIP codes and their population",
            remedy="Give a CSV with the columns zip and population.",
        ) from None


def extend_codes(population: Mapping[str, int], n_codes: int = N_ZIP_CODES) -> dict[str, int]:
    """Return ``n_codes`` ZIP codes: those given, and the next free numbers with few people."""
    codes = dict(population)
    few = sorted(population.values())[len(population) // 10]
    number = min(int(code) for code in population)
    while len(codes) < n_codes:
        codes.setdefault(f"{number:05d}", few)
        number += 1
    return dict(sorted(codes.items())[:n_codes])


def voters(
    n_rows: int, population: Mapping[str, int], seed: int = 1, n_covered: int = N_COVERED
) -> Rows:
    """Return a voter list as leaves of its hierarchies, the same for the same seed."""
    codes = extend_codes(population)
    draws = Draws(n_rows, seed)
    people = np.asarray(list(codes.values()), dtype=np.int64)
    area = draws.one_of(_zip_weights(people, n_covered))
    race = draws.given(np.asarray(_ZIP_KINDS)[area % len(_ZIP_KINDS)], np.asarray(_RACE_WEIGHTS))
    party = draws.given(race, np.asarray(_PARTY_WEIGHTS))
    sex = draws.one_of(np.asarray([53, 47]))
    year = draws.one_of(_years())
    nodes = np.empty((len(COLUMNS), n_rows), dtype=np.int32)
    for position, column in enumerate((area, sex, race, year, party)):
        nodes[position] = column
    return Rows(COLUMNS, nodes, hierarchies(list(codes)))


def _zip_weights(people: Codes, n_covered: int) -> Codes:
    """Return the weight of each ZIP code: covered by its people, others by a thin share of them."""
    is_covered = np.zeros(len(people), dtype=np.bool_)
    is_covered[np.argsort(-people, kind="stable")[:n_covered]] = True
    covered, others = int(people[is_covered].sum()), int(people[~is_covered].sum())
    # scaled to stay whole, below 2³¹ in all: others together weigh covered / (THIN_SHARE − 1)
    thin = 50 * people * covered // max(1, others * (THIN_SHARE - 1))
    return np.where(is_covered, 50 * people, np.maximum(1, thin))


def _years() -> Codes:
    """Return the weight of each year of birth: level until 65 years of age, then falling."""
    age = np.arange(N_YEARS)[::-1] + 18
    return np.where(age < 65, 1_000, np.maximum(1, 1_000 - 26 * (age - 65))).astype(np.int64)


def hierarchies(codes: Sequence[str]) -> tuple[Hierarchy, ...]:
    """Return the hierarchies of the columns.

    ZIP codes by 500 and by 1,000 numbers as in the paper; years by 10, 20 and 40 (the paper's 10,
    20 and 30 do not nest); the others are suppressed or not.
    """
    numbers = [int(code) for code in codes]
    years = range(FIRST_YEAR, FIRST_YEAR + N_YEARS)
    return (
        _intervals("zip", list(codes), numbers, (500, 1_000), None),
        Hierarchy.from_ladder("sex", [list(SEXES)]),
        Hierarchy.from_ladder("race", [list(RACES)]),
        _intervals(
            "birth_year",
            [str(year) for year in years],
            list(years),
            (10, 20, 40),
            np.asarray(years, dtype=np.float64),
        ),
        Hierarchy.from_ladder("party", [list(PARTIES)]),
    )


def _intervals(
    name: str,
    labels: list[str],
    numbers: list[int],
    widths: tuple[int, ...],
    values: np.ndarray[tuple[int], np.dtype[np.float64]] | None,
) -> Hierarchy:
    levels = [
        [f"{n // width * width:05d}-{n // width * width + width - 1:05d}" for n in numbers]
        for width in widths
    ]
    return Hierarchy.from_ladder(name, [labels, *levels], values=values)


def as_table(rows: Rows) -> pa.Table:
    """Return a voter list as texts, to be written to a file."""
    return pa.table(
        {
            name: pa.array(hierarchy.labels[: hierarchy.n_leaves]).take(pa.array(nodes))
            for name, hierarchy, nodes in zip(rows.names, rows.hierarchies, rows.nodes, strict=True)
        }
    )

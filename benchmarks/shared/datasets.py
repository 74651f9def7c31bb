"""The data sets of the workloads as rows in a file, ready to be searched.

They are read and coded in a process of their own, so that neither its memory nor its threads are
part of what is measured.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.shared.provenance import file_record
from incrowd.errors import InputError

if TYPE_CHECKING:
    from incrowd.encoding.rows import Rows

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
    """A data set by name: ``adult-nine`` (74 ages), ``adult``, ``cup98``, ``voters``.

    ``n_rows`` and ``n_covered`` are of generated voters only; 0 takes the generator's own.
    """

    name: str
    n_rows: int = 0
    n_covered: int = 0

    @property
    def source(self) -> str:
        """The file that it is made from."""
        return {"voters": ZIP_POPULATION, "cup98": CUP98}.get(self.name, ADULT)

    def record(self, folder: Path) -> dict[str, Any]:
        """Return what results say of this data set."""
        described = {
            "adult-nine": "Adult, nine columns, ARX's hierarchies, age as 74 values",
            "adult": "Adult, eight columns (all but salary-class), ARX's hierarchies",
            "cup98": "KDD Cup 1998, eight columns, hierarchies published with it",
            "voters": f"{self.n_rows} generated voters, five columns; hash of the ZIP populations",
        }
        return {**asdict(self), **file_record(described[self.name], require(folder, self.source))}


def require(folder: Path, name: str) -> Path:
    """Return the path of a data set's file, or say that it is missing."""
    path = folder / name
    if not path.exists():
        raise InputError(
            f"a workload needs the data set {name}",
            remedy="Set INCROWD_DATA to the folder that holds the data sets.",
        )
    return path


def load(wanted: DataSet, folder: Path) -> Rows:
    """Read or generate a data set and code its columns as leaves."""
    if wanted.name == "voters":
        from benchmarks.shared.voters import N_COVERED, voters, zip_population

        people = zip_population(require(folder, ZIP_POPULATION))
        return voters(wanted.n_rows, people, n_covered=wanted.n_covered or N_COVERED)
    if wanted.name == "cup98":
        return _coded(folder, CUP98, CUP98_EIGHT, CUP98_HIERARCHIES)
    if wanted.name == "adult":
        return _coded(folder, ADULT, ADULT_EIGHT, ADULT_HIERARCHIES)
    return _coded(folder, ADULT, ADULT_NINE, ADULT_HIERARCHIES, ages=AGES)


def save(rows: Rows, path: Path) -> None:
    """Write rows so that another process can read them without reading the data set again."""
    with path.open("wb") as file:
        pickle.dump(rows, file, protocol=5)


def reload(path: Path) -> Rows:
    """Read what ``save`` wrote; only ever a file of this run's own private folder."""
    with path.open("rb") as file:
        rows: Rows = pickle.load(file)
    return rows


def _coded(
    folder: Path,
    name: str,
    columns: tuple[str, ...],
    hierarchies: str,
    ages: tuple[int, int] | None = None,
) -> Rows:
    import tempfile

    from incrowd.encoding.encode import encode
    from incrowd.tables.read import read_table

    table = read_table(require(folder, name))
    with tempfile.TemporaryDirectory() as scratch:
        specs = specs_of(folder / hierarchies, columns, Path(scratch), ages)
        rows, _ = encode(table, columns, specs)
    return rows


def specs_of(
    folder: Path, columns: tuple[str, ...], scratch: Path, ages: tuple[int, int] | None = None
) -> Mapping[str, Any]:
    """Return published hierarchies, with ages cut down to a range where one is given."""
    from incrowd.hierarchies.specs import HierarchySpec

    specs = {name: HierarchySpec("file", path=folder / f"{name}.csv") for name in columns}
    if ages is not None:
        lines = (folder / "age.csv").read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if ages[0] <= int(line.split(";")[0]) <= ages[1]]
        cut = scratch / "age.csv"
        cut.write_text("\n".join(kept) + "\n", encoding="utf-8")
        specs["age"] = HierarchySpec("file", path=cut)
    return specs

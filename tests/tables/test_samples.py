"""The sample: the same everywhere, shaped like a census, covered by its hierarchies."""

from __future__ import annotations

import csv
import hashlib
import statistics
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from incrowd.errors import DataError, JobError
from incrowd.hierarchies.tree import Hierarchy
from incrowd.samples import Draws, census, census_hierarchies, write_sample

HIERARCHIES = census_hierarchies()


@pytest.fixture(scope="module")
def people() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = census().to_pylist()
    return rows


def test_the_same_seed_gives_the_same_bytes_everywhere(tmp_path: Path) -> None:
    written = write_sample(tmp_path, n_rows=500, seed=1)
    digest = hashlib.sha256(written.data.read_bytes()).hexdigest()
    # a change of this value changes everybody's sample: say so in the changelog
    assert digest == "d27533cbf2655b9c12f85f6efdd8a8226e7c7956b79cec647794f53fdf9a4542"


def test_another_seed_gives_other_rows() -> None:
    assert census(200, seed=2) != census(200, seed=1)
    assert census(200, seed=2) == census(200, seed=2)


def test_columns_and_types() -> None:
    table = census(50)
    whole = ("id", "age", "k")
    names = ["id", "name", "age", "sex", "zip", "education", "occupation", "marital_status"]
    assert table.column_names == [*names, "diagnosis", "k"]
    for field in table.schema:
        assert field.type == (pa.int64() if field.name in whole else pa.string())
    assert sum(column.null_count for column in table.columns) == 0


def test_values_are_plausible(people: list[dict[str, object]]) -> None:
    assert len({row["id"] for row in people}) == len(people) == 30_000
    ages = [int(str(row["age"])) for row in people]
    assert min(ages) == 0
    assert max(ages) <= 99
    codes = Counter(str(row["zip"]) for row in people)
    assert all(len(code) == 5 and code.isdigit() for code in codes)
    assert 200 <= len(codes) <= 400
    assert any(code.startswith("0") for code in codes)
    by_size = sorted(codes.values(), reverse=True)
    assert by_size[0] > 20 * statistics.median(by_size)
    assert {row["k"] for row in people} == {2, 3, 4, 5, 8, 10, 15, 20}
    assert sum(int(str(row["k"])) <= 5 for row in people) > 0.8 * len(people)
    diagnoses = Counter(row["diagnosis"] for row in people)
    assert len(diagnoses) >= 20
    assert max(diagnoses.values()) > 30 * min(diagnoses.values())


def test_columns_go_together_as_they_do_in_life(people: list[dict[str, object]]) -> None:
    def ages_of(column: str, value: str) -> list[int]:
        return [int(str(row["age"])) for row in people if row[column] == value]

    assert min(ages_of("education", "bachelor")) >= 18
    assert min(ages_of("marital_status", "married")) >= 18
    assert statistics.mean(ages_of("marital_status", "widowed")) > 65
    assert min(ages_of("occupation", "retired")) >= 60
    assert {row["sex"] for row in people if row["diagnosis"] == "prostate cancer"} <= {
        "male",
        "other",
    }
    jobs = Counter((row["occupation"], row["sex"]) for row in people)
    assert jobs["nurse", "female"] > 2 * jobs["nurse", "male"]
    doctors = {row["education"] for row in people if row["occupation"] == "physician"}
    assert doctors <= {"bachelor", "master", "professional degree", "doctorate"}


def test_k_tells_nothing_about_the_diagnosis(people: list[dict[str, object]]) -> None:
    high = Counter(row["diagnosis"] for row in people if int(str(row["k"])) >= 8)
    every = Counter(row["diagnosis"] for row in people)
    common = [value for value, count in every.items() if count > 1000]
    share = sum(high.values()) / len(people)
    for value in common:
        assert high[value] / every[value] == pytest.approx(share, abs=0.04)


@pytest.mark.parametrize("column", HIERARCHIES)
def test_hierarchies_cover_the_column_and_are_trees(
    column: str, people: list[dict[str, object]]
) -> None:
    ladder = HIERARCHIES[column]
    assert {line[0] for line in ladder} == {row[column] for row in people}
    assert {line[-1] for line in ladder} == {"*"}
    assert len({len(line) for line in ladder}) == 1
    for level in range(1, len(ladder[0])):
        above: dict[str, str] = {}
        for line in ladder:
            assert above.setdefault(line[level - 1], line[level]) == line[level]
    hierarchy = Hierarchy.from_ladder(column, list(zip(*ladder, strict=True)))
    assert hierarchy.height[hierarchy.root] == len(ladder[0]) - 1


def test_written_files_are_the_table(tmp_path: Path) -> None:
    written = write_sample(tmp_path / "new" / "folder", n_rows=300, seed=5)
    with written.data.open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    table = census(300, seed=5)
    assert lines[0] == table.column_names
    assert lines[1:] == [[str(row[name]) for name in lines[0]] for row in table.to_pylist()]
    assert written.hierarchies.keys() == HIERARCHIES.keys()
    for column, path in written.hierarchies.items():
        with path.open(encoding="utf-8", newline="") as file:
            assert list(csv.reader(file, delimiter=";")) == HIERARCHIES[column]


def test_existing_files_are_kept_unless_forced(tmp_path: Path) -> None:
    kept = tmp_path / "hierarchies" / "diagnosis.csv"
    kept.parent.mkdir()
    kept.write_text("mine", encoding="utf-8")
    with pytest.raises(DataError, match="already exists"):
        write_sample(tmp_path, n_rows=10)
    assert kept.read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "census.csv").exists()
    assert write_sample(tmp_path, n_rows=10, force=True).data.exists()
    assert kept.read_text(encoding="utf-8") != "mine"


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(JobError, match="0 rows"):
        census(0)
    with pytest.raises(JobError, match="seed"):
        census(10, seed=-1)


def test_draws_follow_their_weights() -> None:
    draws = Draws(20_000, seed=3)
    counts = np.bincount(draws.one_of(np.array([1, 0, 3])), minlength=3) / 20_000
    assert counts == pytest.approx([0.25, 0.0, 0.75], abs=0.02)
    case = np.arange(20_000) % 2
    chosen = draws.given(case, np.array([[1, 1, 0], [0, 0, 5]]))
    assert set(chosen[case == 1].tolist()) == {2}
    assert np.bincount(chosen[case == 0], minlength=3) / 10_000 == pytest.approx(
        [0.5, 0.5, 0.0], abs=0.02
    )

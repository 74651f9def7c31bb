"""The stages around a search: each column numbered once, the same on any number of threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import incrowd as ic
from incrowd import codes
from incrowd.engines.choice import EngineChoice
from incrowd.flow.run import run
from incrowd.job.job import Job
from incrowd.methods.table import METHODS

N_ROWS = 70_000  # several blocks of every stage
ROLES = {"quasi": ["age", "sex", "zip"], "sensitive": ["diagnosis"]}


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("census")
    rows = ic.sample_census(N_ROWS)
    names = [*ROLES["quasi"], *ROLES["sensitive"]]
    pa.csv.write_csv(rows.select(names), folder / "census.csv")
    return folder / "census.csv"


def job_of(data: Path, output: Path, threads: int = 0) -> Job:
    return Job(
        schema=ic.Schema(**ROLES),
        guarantee=ic.KAnonymity(5),
        method=METHODS["mondrian"](),
        data=data,
        output=output,
        engine=EngineChoice(threads=threads),
    )


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_same_release_and_audit_on_any_number_of_threads(
    census: Path, tmp_path: Path, suffix: str
) -> None:
    found = []
    for threads in (1, 2, 3):
        output = tmp_path / f"{threads}{suffix}"
        audit = run(job_of(census, output, threads)).audit.to_dict()
        for name in ("stages", "engine", "seconds", "peak_memory_bytes"):
            audit.pop(name, None)
        found.append((output.read_bytes(), audit))
        checked = ic.check(output, ic.KAnonymity(5), ic.Schema(**ROLES)).to_dict()
        assert [finding["holds"] for finding in checked["findings"]].count(False) == 0
    assert found[0] == found[1] == found[2]


def test_each_text_column_is_hashed_once_per_table(
    census: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed = []
    encode = codes.pc.dictionary_encode

    def counted(column: Any) -> Any:
        hashed.append(len(column))
        return encode(column)

    monkeypatch.setattr(codes.pc, "dictionary_encode", counted)
    run(job_of(census, tmp_path / "release.csv"))
    assert hashed.count(N_ROWS) == 2 * 4  # of the original and of the release that was read back
    hashed.clear()
    assert ic.check(tmp_path / "release.csv", ic.KAnonymity(5), ic.Schema(**ROLES)).holds
    assert hashed.count(N_ROWS) == 4

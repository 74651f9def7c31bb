"""Whether a table fits into memory: which failures are left to the file's reader."""

import pyarrow as pa
import pytest
from pyarrow import parquet

import incrowd as ic
from incrowd.engines.choice import EngineChoice
from incrowd.flow import placement as room
from incrowd.flow.placement import is_larger


def job(memory):
    return ic.Job(
        schema=ic.Schema(quasi=["a"]),
        guarantee=ic.KAnonymity(2),
        engine=EngineChoice(memory=memory),
    )


def test_a_file_is_held_against_the_memory_that_is_stated(tmp_path):
    text, typed = tmp_path / "t.csv", tmp_path / "t.parquet"
    with text.open("wb") as file:
        file.truncate(100_000_000)
    parquet.write_table(pa.table({"a": ["x"] * 1_000_000}), typed)
    assert is_larger(job("500MB"), text)
    assert not is_larger(job("2GB"), text)
    assert is_larger(job("430MB"), typed)
    assert not is_larger(job("1GB"), typed)


@pytest.mark.parametrize("name", ["missing.csv", "t.unknown", "broken.parquet"])
def test_a_file_that_cannot_be_looked_at_is_left_to_its_reader(tmp_path, name):
    (tmp_path / "t.unknown").write_text("a\n1\n")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    assert not is_larger(job("500MB"), tmp_path / name)


@pytest.mark.parametrize("error", [TypeError, ZeroDivisionError, MemoryError])
def test_a_mistake_of_the_program_is_not_swallowed(tmp_path, monkeypatch, error):
    def mistaken(_path):
        raise error

    monkeypatch.setattr(room, "memory_needed", mistaken)
    with pytest.raises(error):
        is_larger(job("500MB"), tmp_path / "t.csv")

"""The workload stages: stages do not overlap, tables divide what they say they divide."""

import json

import pytest

from benchmarks.__main__ import main
from benchmarks.stages.page import TABLES, beside
from benchmarks.stages.workload import least, separate


def stage(cpu: float) -> dict[str, float]:
    return {"cpu_seconds": cpu, "seconds": 2 * cpu}


def run_of(cpu: float) -> dict[str, object]:
    stages = {"start": 1, "read": 2, "encode": 3, "search": 50, "decode": 4, "write": 5}
    overlapping = {name: stage(seconds) for name, seconds in stages.items()}
    overlapping |= {"audit": stage(9), "re-read": stage(6)}
    taken = {**stage(cpu), "peak_memory_bytes": 300 << 20}
    return {**taken, "stages": separate(overlapping, taken)}


def test_the_audit_is_without_reading_and_the_end_is_the_rest():
    run = run_of(80)
    assert run["stages"]["audit"] == stage(3)
    assert run["stages"]["re-read"] == stage(6)
    assert run["stages"]["end"] == stage(6)
    assert beside(run) == 30
    assert least([run_of(80), run_of(90)])["stages"]["end"] == stage(6)


def test_tables_divide_by_the_same_round():
    data = {"data": {"table_bytes": 100 << 20}}
    peer = {"read": stage(1), "group": stage(2), "write": stage(3), "read and group": stage(2)}
    check = {name: stage(3) for name in ("start", "read", "audit", "end")}
    runs = [
        {**data, "what": "run before", **run_of(92)},
        {**data, "what": "run now", **run_of(80)},
        {**data, "what": "check now", **stage(12), "peak_memory_bytes": 1 << 20, "stages": check},
        *({**data, "what": name, "stages": peer} for name in ("polars", "duckdb")),
    ]
    case = {"commit": "abc", "machine": {"cores": 2}, "is_small": False, "runs": runs}
    measured = {"parts": {"formats": {"results": {"csv": case}}}}
    table = TABLES["stages-run"](measured)
    assert "| stage | CSV, before | CSV, now |" in table
    assert "| **all but the search** | 42.00 | 30.00 |" in table
    assert "| **times polars** | 7.0 | 5.0 |" in table
    assert "| beyond the table | 200 MB | 200 MB |" in table
    table = TABLES["stages-check"](measured)
    assert "| **times DuckDB, into memory** | 4.0 |" in table
    assert "| **times DuckDB, in one query** | 6.0 |" in table


@pytest.mark.slow
def test_a_small_trial(tmp_path, monkeypatch):
    monkeypatch.delenv("INCROWD_BEFORE", raising=False)
    monkeypatch.setenv("INCROWD_DATA", str(tmp_path))
    assert main(["stages", "--small", "--results", str(tmp_path)]) == 0
    measured = json.loads((tmp_path / "stages.json").read_text("utf-8"))
    for case in measured["parts"]["formats"]["results"].values():
        runs = {run["what"]: run for run in case["runs"]}
        assert set(runs) == {"polars", "duckdb", "run now", "check now"}
        assert runs["run now"]["data"]["name"] == "census"
        for run in runs.values():
            of_stages = sum(one["cpu_seconds"] for one in run["stages"].values())
            assert of_stages == pytest.approx(run["cpu_seconds"], abs=0.05)
    for make in TABLES.values():
        assert "a small trial" in make(measured)

"""The workload scale: what it counts is counted right, and its tables say what was measured."""

import json
import os
import sys

import pytest

from benchmarks.__main__ import WORKLOADS
from benchmarks.pages import TABLES, fill
from benchmarks.scale import page as render_scale
from benchmarks.scale import runs as scale_runs
from benchmarks.scale import workload as scale
from benchmarks.scale.cluster import standalone
from benchmarks.scale.data import made
from benchmarks.scale.events import log_settings, logged, told
from benchmarks.scale.runs import Place, measured, said_of, voters, words_of
from benchmarks.scale.sizes import SMALL
from benchmarks.scale.tree import Account, Watch, account_of, below, busy_seconds, watched
from benchmarks.shared.table_text import NOT_MEASURED
from incrowd.errors import EngineError, JobError
from incrowd.progress import silent

MB = 2**20


# ── what processes take ─────────────────────────────────────────────────────────────────────────


def stat(process, parent, seconds, pages, name="python"):
    ticks = int(seconds * os.sysconf("SC_CLK_TCK"))
    numbers = [parent, *[0] * 9, ticks, 0, *[0] * 8, pages, 0]
    return f"{process} ({name}) S {' '.join(map(str, numbers))}\n"


def write_processes(folder, lines):
    for old in folder.iterdir():
        (old / "stat").unlink()
        old.rmdir()
    for line in lines:
        process = folder / line.split()[0]
        process.mkdir()
        (process / "stat").write_text(line)


def test_a_line_of_the_kernel_whose_name_has_brackets():
    found = account_of(stat(7, 3, 1.5, 10, name="a) b (c) 9"))
    assert found == Account("a) b (c) 9", 3, 1.5, 10 * os.sysconf("SC_PAGE_SIZE"))


def test_processors_work_but_not_while_they_wait():
    ticks = os.sysconf("SC_CLK_TCK")
    numbers = [3 * ticks, ticks, 2 * ticks, 900 * ticks, 70 * ticks, 0, ticks, 0, 0, 0]
    assert busy_seconds(f"cpu  {' '.join(map(str, numbers))}\ncpu0 1 2 3\n") == 7


def test_processes_below_roots_and_no_others():
    known = {
        n: Account("x", parent, 0.0, 0) for n, parent in {1: 0, 5: 1, 6: 5, 7: 1, 8: 6}.items()
    }
    assert set(below([5], known)) == {5, 6, 8}
    assert set(below([5, 6, 99], known)) == {5, 6, 8}


def test_memory_is_added_up_and_time_goes_from_the_beginning(tmp_path):
    page = os.sysconf("SC_PAGE_SIZE")
    write_processes(tmp_path, [stat(5, 1, 0, 10), stat(9, 1, 100, 50, "java")])
    watch = Watch([5, 9], tmp_path)
    write_processes(
        tmp_path,
        [stat(5, 1, 2, 20), stat(9, 1, 103, 50, "java"), stat(6, 9, 1, 7), stat(4, 1, 50, 999)],
    )
    watch.look()
    write_processes(tmp_path, [stat(5, 1, 4, 5), stat(9, 1, 103, 50, "java")])
    watch.look()
    assert watch.peak_memory_bytes == 77 * page
    assert watch.worker_memory_bytes == 7 * page
    assert watch.n_processes == 3
    assert watch.cpu_seconds == pytest.approx(4 + 3 + 1)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="accounts are Linux's")
def test_a_child_of_the_command_counts(tmp_path):
    child = (
        "import time; held = bytearray(80 << 20); end = time.time() + 1\n"
        "while time.time() < end: pass"
    )
    parent = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}]); print('ok')"
    )
    out = tmp_path / "out"
    found = watched([sys.executable, "-c", parent], out, tmp_path / "errors")
    assert out.read_text() == "ok\n"
    assert found["n_processes"] == 2
    assert found["peak_memory_bytes"] > 85 * MB
    assert found["cpu_seconds"] > 0.1
    assert found["seconds"] >= 1


def test_a_command_that_fails_is_told_with_its_last_words(tmp_path):
    words = [sys.executable, "-c", "raise SystemExit('no such thing')"]
    with pytest.raises(RuntimeError, match="status 1:\nno such thing"):
        watched(words, tmp_path / "out", tmp_path / "errors")


# ── what Spark logs ─────────────────────────────────────────────────────────────────────────────


def task(begin, end, shuffled=0, **metrics):
    return {
        "Event": "SparkListenerTaskEnd",
        "Task Info": {"Launch Time": 1000 * begin, "Finish Time": 1000 * end},
        "Task Metrics": {"Shuffle Write Metrics": {"Shuffle Bytes Written": shuffled}, **metrics},
    }


STAGES = {"read": 1.0, "encode": 10.0, "search": 5.0, "decode": 2.0, "write": 3.0, "audit": 4.0}


def test_tasks_belong_to_the_stage_they_began_in(tmp_path):
    events = [
        {"Event": "SparkListenerLogStart"},
        task(60, 61),  # before all stages
        task(85, 90, 100),  # encode goes from 76 to 86
        task(86, 88, 7, **{"Disk Bytes Spilled": 3}),
        {**task(97, 98), "Task Metrics": None},
        {"Event": "SparkListenerApplicationEnd", "Timestamp": 100_000},
    ]
    (tmp_path / "local-1").write_text("".join(json.dumps(event) + "\n" for event in events))
    (tmp_path / ".local-1.crc").write_text("no event")
    found = told(logged(tmp_path), STAGES)
    by_stage = {name: one["task_seconds"] for name, one in found.pop("tasks_by_stage").items()}
    assert by_stage == {
        "read": 1.0,
        "encode": 5.0,
        "search": 2.0,
        "decode": 0.0,
        "write": 0.0,
        "audit": 1.0,
    }
    assert found == {"n_tasks": 4, "task_seconds": 9.0, "shuffle_bytes": 107, "spilled_bytes": 3}


def test_a_log_without_an_end_ends_with_its_last_task():
    found = told([task(98, 100)], STAGES)
    assert found["tasks_by_stage"]["audit"]["task_seconds"] == 2.0
    assert told([], STAGES)["n_tasks"] == 0


# ── the plan ────────────────────────────────────────────────────────────────────────────────────


def test_the_command_knows_the_parts():
    assert WORKLOADS["scale"].parts == tuple(scale.PARTS)
    names = [name for plan in scale.PARTS.values() for name in plan(scale.FULL)]
    assert len(names) == len(set(names))


def test_the_most_rows_are_run_only_when_they_are_named(monkeypatch, tmp_path):
    ran = []
    monkeypatch.setattr(
        scale, "run_cases", lambda _, __, ___, parts, *____, **_____: ran.append(parts)
    )
    monkeypatch.setattr("incrowd.engines.spark.session.unavailable", lambda: None)
    scale.run(tmp_path, (), silent, sizes=SMALL)
    scale.run(tmp_path, ("most",), silent, sizes=SMALL)
    assert ran == [tuple(scale.PARTS)[:-1], ("most",)]
    with pytest.raises(JobError, match="nothing"):
        scale.run(tmp_path, (), silent, cases=("nothing",), sizes=SMALL)


def test_spark_that_is_missing_is_told_first_where_it_is_needed(monkeypatch, tmp_path):
    monkeypatch.setattr(
        "incrowd.engines.spark.session.unavailable", lambda: EngineError("no Java here")
    )
    monkeypatch.setattr(scale, "run_cases", lambda *_, **__: {"ran": True})
    with pytest.raises(EngineError, match="no Java here"):
        scale.run(tmp_path, ("places",), silent, sizes=SMALL)
    name = f"disk-{SMALL.voters}-p1"
    assert scale.run(tmp_path, ("places",), silent, cases=(name,), sizes=SMALL) == {"ran": True}


@pytest.mark.parametrize("name", scale.PLACES)
def test_the_command_of_each_place(name, tmp_path):
    place = scale.place_of(name, SMALL)
    source = tmp_path / "data"
    words = words_of(
        voters(10, "greedy", 5, 3), place, source, tmp_path, place.master or "spark://x"
    )
    assert words[words.index("--partitions") + 1] == "3"
    assert f"zip={source}/zip.csv" in words
    output = words[words.index("-o") + 1]
    if name == "memory":
        assert words[1] == f"{source}/voters.parquet"
        assert output == f"{tmp_path}/release.parquet"
        assert "--memory" not in words
        assert "--engine" not in words
        return
    assert output.endswith("/release.parquet/")
    if name == "disk":
        assert words[1] == f"{source}/voters"
        assert words[words.index("--memory") + 1] == SMALL.memory
        return
    assert all(
        f"{key}={value}" in words for key, value in log_settings(tmp_path / "events").items()
    )
    is_cluster = name != "spark-local"
    assert words[1] == (f"file://{source}/voters" if is_cluster else f"{source}/voters")
    assert ("spark.executor.memory=1024m" in words) == is_cluster
    assert place.n_cores == (1 if name == "one-worker" else 2)


def test_an_account_that_does_not_hold_does_not_count():
    with pytest.raises(RuntimeError, match="does not hold"):
        said_of({"holds": False})


# ── measured runs ───────────────────────────────────────────────────────────────────────────────


def test_the_whole_product_in_memory_and_on_disk(data_folder):
    wanted = voters(3_000, "greedy", 5, 2)
    memory, disk = (
        measured(wanted, scale.place_of(name, SMALL), data_folder)[0] for name in ("memory", "disk")
    )
    assert memory["losses"] == pytest.approx(disk["losses"])
    assert memory["n_groups"] == disk["n_groups"]
    for run in (memory, disk):
        assert run["n_rows"] == run["data"]["n_rows"] == 3_000
        assert 0 < run["data"]["n_distinct"] <= 3_000
        assert set(run["stages"]) == set(STAGES)
        assert run["released_bytes"] > 1_000
        assert run["seconds"] >= sum(run["stages"].values())
    assert disk["memory"] == SMALL.memory
    assert "shuffle_bytes" not in disk


@pytest.mark.spark
@pytest.mark.skipif(
    os.environ.get("INCROWD_MEASURE") != "1",
    reason="a measured run on a cluster takes a minute: INCROWD_MEASURE=1",
)
def test_the_whole_product_on_a_cluster(data_folder, spark_is_available, monkeypatch):  # noqa: ARG001
    monkeypatch.setattr(scale_runs, "_warm", lambda *_: None)
    wanted = voters(400, "mondrian", 5)
    place = Place("one-worker", is_folder=True, n_workers=1, executor_memory=1_024)
    (run,) = measured(wanted, place, data_folder)
    (disk,) = measured(wanted, scale.place_of("disk", SMALL), data_folder)
    assert run["release_sha256"] == disk["release_sha256"]
    assert run["n_processes"] > 3
    assert run["shuffle_bytes"] > 0
    assert run["worker_memory_bytes"] > 20 * MB
    assert run["task_seconds"] > 0
    assert run["cpu_seconds"] > disk["cpu_seconds"]


@pytest.mark.spark
def test_a_cluster_is_stopped_whatever_happens(tmp_path, spark_is_available):  # noqa: ARG001
    processes = []

    def fails():
        with standalone(tmp_path, 1, 512) as cluster:
            assert cluster.address.startswith("spark://127.0.0.1:")
            processes.extend(cluster.processes)
            for process in processes:
                os.kill(process, 0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert len(processes) == 2
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_every_kind_of_data(data_folder):
    lists, record = made("lists", (60, 50), data_folder)
    assert (lists / "lists.parquet").stat().st_size == record["n_bytes"]
    _, record = made("payments", (50,), data_folder)
    assert record["n_rows"] == 50
    assert len(record["columns"]) == 32
    baskets, _ = made("baskets", (300, 40, 20, 5), data_folder)
    assert len((baskets / "rules.txt").read_text().splitlines()) == 5
    assert all(" -> " in line for line in (baskets / "rules.txt").read_text().splitlines())
    assert made("baskets", (300, 40, 20, 5), data_folder)[0] == baskets


# ── tables ──────────────────────────────────────────────────────────────────────────────────────


def fake(place, n_rows, partitions=2, method="greedy", **other):
    run = {
        "place": place,
        "method": method,
        "partitions": partitions,
        "n_cores": 1 if place == "one-worker" else 2,
        "n_rows": n_rows,
        "n_groups": n_rows // 6,
        "data": {"n_rows": n_rows, "n_distinct": n_rows // 4, "columns": ["a"]},
        "seconds": 10 + n_rows / 1000,
        "cpu_seconds": 20.0,
        "others_cpu_seconds": 3.0,
        "peak_memory_bytes": 300 * MB,
        "driver_memory_bytes": 200 * MB,
        "worker_memory_bytes": 50 * MB,
        "stages": dict.fromkeys(STAGES, n_rows / 6000),
        "losses": {"nllm": 0.01 * partitions, "loss": 0.02, "jaccard": 0.7},
        "release_sha256": "same",
        **other,
    }
    if "worker" in place or "spark" in place:
        run |= {
            "shuffle_bytes": 30 * n_rows,
            "task_seconds": n_rows / 1000,
            "tasks_by_stage": {name: {"task_seconds": n_rows / 6000} for name in STAGES},
        }
    return run


def results_of(**parts):
    about = {"commit": "abc", "machine": {"cores": 2}, "is_small": True}
    return {
        "workload": "scale",
        "parts": {
            part: {
                "results": {
                    f"{part}-{number}-engine-": {**about, "runs": [run]}
                    for number, run in enumerate(runs)
                }
            }
            for part, runs in parts.items()
        },
    }


@pytest.fixture
def results():
    return results_of(
        places=[fake("memory", 4_000, 1), fake("disk", 4_000), fake("spark-local", 4_000)],
        workers=[
            fake("one-worker", 4_000),
            fake("two-workers", 4_000),
            fake("two-workers", 8_000),
            fake("disk", 8_000),
        ],
        many=[fake("disk", 40_000, memory="2GB"), fake("two-workers", 40_000)],
        yardsticks=[fake("memory", 4_000, method="mondrian")],
        lists=[fake("memory", 900), fake("spark-local", 900, release_sha256="other")],
        adaptive=[fake("memory", 300), fake("spark-local", 300)],
        rules=[fake("memory", 800)],
    )


def test_every_table_of_what_was_measured(results):
    for name, (workload, make) in TABLES.items():
        if workload == "scale":
            text = make(results)
            lines = [line for line in text.splitlines() if line.startswith("|")]
            assert len(lines) > 2, name
            assert len({line.count("|") for line in lines}) == 1, name
            if "papers-rest" not in name and "model" not in name:
                assert "a small trial" in text, name


def test_nothing_measured_is_said_to_be_so():
    for name, (workload, make) in TABLES.items():
        if workload == "scale" and name != "scale-papers-rest":
            assert make({"parts": {}}) == NOT_MEASURED
    page = "<!-- table scale-lists -->\nold\n<!-- end -->"
    assert NOT_MEASURED in fill(page, {"scale": {"parts": {}}})


def test_tables_tell_loss_against_one_part_and_other_bytes(results):
    table = render_scale.SCALE_TABLES["scale-voters"](results)
    assert "| +1.000 |" in table
    assert "| a file |" in table
    assert "**no**" not in table
    assert "**no**" in render_scale.SCALE_TABLES["scale-lists"](results)
    workers = render_scale.SCALE_TABLES["scale-workers"](results)
    assert "1.00×" in workers
    assert "0.50" in workers  # twice the rows took twice as long with twice the workers
    results["parts"]["places"]["results"]["places-1-engine-"]["runs"][0]["release_sha256"] = "other"
    assert "**no**" in render_scale.SCALE_TABLES["scale-voters"](results)


def test_what_is_foretold_stands_beside_what_was_measured(results):
    table = render_scale.SCALE_TABLES["scale-model-check"](results)
    (both,) = [line for line in table.splitlines() if "on disk, 40,000 rows | search |" in line]
    assert both.endswith("| 6.67 s | 6.67 s | 1.00 |")

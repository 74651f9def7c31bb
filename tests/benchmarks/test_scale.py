"""The workload scale: its cost model, what processes take, and what its tables say."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.scale import runs, threads, workload
from benchmarks.scale.data import write_data
from benchmarks.scale.model import (
    Line,
    Machines,
    StageCost,
    distinct_at,
    fit_line,
    model_of,
    with_search_of,
)
from benchmarks.scale.page import TABLES
from benchmarks.scale.runs import Place, measure, read_account, voters, words_of
from benchmarks.scale.spark import STAGES, log_settings, read_events, standalone, sum_tasks
from benchmarks.scale.workload import SMALL
from benchmarks.shared.processes import Watch, run_watched

MB = 2**20
SECONDS = {"read": 1.0, "encode": 10.0, "search": 5.0, "decode": 2.0, "write": 3.0, "audit": 4.0}

# ── the cost model, on runs whose costs are known ───────────────────────────────────────────────

TASKS = dict(zip(STAGES, (1.0, 4.0, 8.0, 6.0, 5.0, 3.0), strict=True))
REST = dict(zip(STAGES, (0.0, 2.0, 9.0, 1.0, 0.5, 0.25), strict=True))


def run_of(n_rows, n_distinct, n_cores=2, has_tasks=True):
    """Return a run whose every stage costs what the tables above say, and a start of 7 s."""
    millions, distinct = n_rows / 1e6, n_distinct / 1e6
    tasks = {
        name: cost * (distinct if name == "search" else millions) for name, cost in TASKS.items()
    }
    if has_tasks:
        stages = {name: 0.5 + REST[name] * distinct + tasks[name] / n_cores for name in STAGES}
    else:
        stages = {name: 0.5 + tasks[name] for name in STAGES}
    run = {
        "n_rows": n_rows,
        "n_cores": n_cores,
        "data": {"n_distinct": n_distinct},
        "stages": stages,
        "seconds": 7 + sum(stages.values()),
        "driver_memory_bytes": 1e8 + 100 * n_distinct,
        "worker_memory_bytes": 5e7 + 200 * n_rows / n_cores,
    }
    if has_tasks:
        run["shuffle_bytes"] = 40 * n_rows
        run["tasks_by_stage"] = {name: {"task_seconds": taken} for name, taken in tasks.items()}
    return run


FIT = [run_of(250_000, 80_000), run_of(1_000_000, 150_000), run_of(2_000_000, 210_000)]


@given(
    fixed=st.floats(0, 100),
    slope=st.floats(0, 100),
    counts=st.sets(st.integers(1, 10**7), min_size=2, max_size=6),
)
def test_a_line_is_found_again(fixed, slope, counts):
    true = Line(fixed, slope)
    found = fit_line([(count, true.at(count)) for count in counts])
    for count in (min(counts), max(counts)):
        assert found.at(count) == pytest.approx(true.at(count), rel=1e-5, abs=1e-4)


@given(st.lists(st.tuples(st.integers(1, 10**8), st.floats(0, 1e4)), min_size=1, max_size=6))
def test_no_line_falls_or_begins_below_nothing(points):
    found = fit_line(points)
    assert found.fixed >= 0
    assert found.per_million >= 0


def test_one_count_makes_a_line_through_nothing():
    assert fit_line([(2_000_000, 6.0), (2_000_000, 10.0)]) == Line(0.0, 4.0)
    assert fit_line([(1_000_000, 5.0), (2_000_000, 3.0)]) == Line(4.0, 0.0)
    with pytest.raises(ValueError, match="no line"):
        fit_line([])
    with pytest.raises(ValueError, match="no model"):
        model_of([])


@pytest.mark.parametrize("has_tasks", [True, False])
def test_ten_times_the_rows_are_foretold(has_tasks):
    fit = [run_of(run["n_rows"], run["data"]["n_distinct"], 2, has_tasks) for run in FIT]
    model = model_of(fit)
    true = run_of(10_000_000, 510_000, 2, has_tasks)
    foretold = model.stage_seconds(10_000_000, 510_000, 2)
    assert foretold == pytest.approx(true["stages"])
    assert model.seconds(10_000_000, 510_000, 2) == pytest.approx(true["seconds"])
    assert model.driver_memory.at(510_000) == pytest.approx(1e8 + 100 * 510_000)
    assert model.worker_memory.at(5_000_000) == pytest.approx(5e7 + 200 * 5_000_000)


def test_a_cluster_shortens_tasks_alone_and_has_a_network():
    model = model_of(FIT)
    n_rows, n_distinct = 100_000_000, 1_000_000
    waiting = model.waiting(n_rows, n_distinct)
    assert waiting == pytest.approx(7 + sum(0.5 + REST[name] for name in STAGES))
    tasks = 8.0 + 100 * (sum(TASKS.values()) - 8.0)
    many = Machines(16, 8, network=1e9)
    wanted = waiting + tasks / 128 + 40 * n_rows / 16e9
    assert model.seconds(n_rows, n_distinct, many) == pytest.approx(wanted)


def test_what_every_worker_pays_for_itself_is_not_shortened():
    cost = StageCost(Line(60.0, 8.0), Line(1.0, 2.0), False, fitted_cores=2)
    assert cost.seconds(10e6, 3e6, 1) == pytest.approx(1 + 6 + 30 + 80)
    assert cost.seconds(10e6, 3e6, 80) == pytest.approx(1 + 6 + 30 + 1)


def test_the_search_grows_as_another_s():
    disk = model_of([run_of(run["n_rows"], run["data"]["n_distinct"], 2, False) for run in FIT])
    model = with_search_of(model_of(FIT), disk, 2)
    assert model.stages["search"].tasks.per_million == pytest.approx(16.0)
    assert model.stages["search"].tasks.fixed == model_of(FIT).stages["search"].tasks.fixed
    assert model.stages["read"] == model_of(FIT).stages["read"]


def test_distinct_rows_grow_by_a_power_up_to_all_there_can_be():
    known = [(1_000_000, 100_000), (100_000_000, 1_000_000), (2_000_000, 5)]
    assert distinct_at(10_000, known, 1e9) == pytest.approx(10_000)
    assert distinct_at(10_000_000_000, known, 1e9) == pytest.approx(10_000_000)
    assert distinct_at(10_000_000_000, known, 4e6) == 4e6
    assert distinct_at(2_000, [(1_000, 10)], 1e9) == 20


# ── what processes take ─────────────────────────────────────────────────────────────────────────


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
    found = run_watched([sys.executable, "-c", parent], out, tmp_path / "errors")
    assert out.read_text() == "ok\n"
    assert found["n_processes"] == 2
    assert found["peak_memory_bytes"] > 85 * MB
    assert found["cpu_seconds"] > 0.1
    assert found["seconds"] >= 1


def test_time_before_the_watch_does_not_count():
    """Of two processes that have worked the lower one is a worker, and neither works any more."""
    lower = "import sys, time; held = bytearray(40 << 20)\nwhile time.process_time() < 0.5: pass\n"
    lower += "print('done', flush=True); sys.stdin.read()"
    upper = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {lower!r}])"
    words = [sys.executable, "-c", upper]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"done\n"
        watch = Watch([child.pid])
        watch.look()
        child.stdin.close()
    assert watch.cpu_seconds < 0.2
    assert watch.n_processes == 2
    assert watch.peak_memory_bytes > watch.worker_memory_bytes > 40 * MB


def test_a_command_that_fails_is_told_with_its_last_words(tmp_path):
    words = [sys.executable, "-c", "raise SystemExit('no such thing')"]
    with pytest.raises(RuntimeError, match="status 1:\nno such thing"):
        run_watched(words, tmp_path / "out", tmp_path / "errors")


# ── what Spark logs ─────────────────────────────────────────────────────────────────────────────


def task(begin, end, shuffled=0, **metrics):
    return {
        "Event": "SparkListenerTaskEnd",
        "Task Info": {"Launch Time": 1000 * begin, "Finish Time": 1000 * end},
        "Task Metrics": {"Shuffle Write Metrics": {"Shuffle Bytes Written": shuffled}, **metrics},
    }


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
    found = sum_tasks(read_events(tmp_path), SECONDS)
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
    found = sum_tasks([task(98, 100)], SECONDS)
    assert found["tasks_by_stage"]["audit"]["task_seconds"] == 2.0
    assert sum_tasks([], SECONDS)["n_tasks"] == 0


@pytest.mark.parametrize("name", workload.PLACES)
def test_the_command_of_each_place(name, tmp_path):
    place = workload.place_of(name, SMALL)
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
        read_account({"holds": False})


# ── measured runs ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.spark
@pytest.mark.skipif(
    os.environ.get("INCROWD_MEASURE") != "1",
    reason="a measured run on a cluster takes a minute: INCROWD_MEASURE=1",
)
def test_the_whole_product_on_a_cluster(data_folder, spark_is_available, monkeypatch):  # noqa: ARG001
    monkeypatch.setattr(runs, "_warm_up", lambda *_: None)
    wanted = voters(400, "mondrian", 5)
    place = Place("one-worker", is_folder=True, n_workers=1, executor_memory=1_024)
    (run,) = measure(wanted, place, data_folder)
    (disk,) = measure(wanted, workload.place_of("disk", SMALL), data_folder)
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


@pytest.mark.slow
def test_every_kind_of_data(data_folder):
    lists, record = write_data("lists", (60, 50), data_folder)
    assert (lists / "lists.parquet").stat().st_size == record["n_bytes"]
    _, record = write_data("payments", (50,), data_folder)
    assert record["n_rows"] == 50
    assert len(record["columns"]) == 32
    baskets, _ = write_data("baskets", (300, 40, 20, 5), data_folder)
    assert len((baskets / "rules.txt").read_text().splitlines()) == 5
    assert all(" -> " in line for line in (baskets / "rules.txt").read_text().splitlines())
    assert write_data("baskets", (300, 40, 20, 5), data_folder)[0] == baskets


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
        "stages": dict.fromkeys(SECONDS, n_rows / 6000),
        "losses": {"nllm": 0.01 * partitions, "loss": 0.02, "jaccard": 0.7},
        "release_sha256": "same",
        **other,
    }
    if "worker" in place or "spark" in place:
        run |= {
            "shuffle_bytes": 30 * n_rows,
            "task_seconds": n_rows / 1000,
            "tasks_by_stage": {name: {"task_seconds": n_rows / 6000} for name in SECONDS},
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


def test_tables_tell_loss_against_one_part_and_other_bytes(results):
    table = TABLES["scale-voters"](results)
    assert "| +1.000 |" in table
    assert "| a file |" in table
    assert "**no**" not in table
    assert "**no**" in TABLES["scale-lists"](results)
    workers = TABLES["scale-workers"](results)
    assert "1.00×" in workers
    assert "0.50" in workers  # twice the rows took twice as long with twice the workers
    results["parts"]["places"]["results"]["places-1-engine-"]["runs"][0]["release_sha256"] = "other"
    assert "**no**" in TABLES["scale-voters"](results)


def test_threads_are_held_against_one():
    def run(threads, seconds, sha256="same"):
        told = {"cpu": 2.0, "longest": 2.0 / threads, "sha256": sha256}
        return {
            "search": "km",
            "n_rows": 900,
            "threads": threads,
            "seconds": seconds,
            **told,
        }

    results = results_of(threads=[run(1, 2.0)])
    (case,) = results["parts"]["threads"]["results"].values()
    case["runs"] = [run(1, 2.0), run(2, 1.6)]
    assert "| 1.25× | 2.00× | yes |" in TABLES["scale-threads"](results)
    case["runs"] = [run(1, 2.0), run(2, 0.0, "other")]  # too short to be told
    assert "| **no** |" in TABLES["scale-threads"](results)


@pytest.mark.slow
def test_searches_on_threads_are_measured(data_folder):
    runs = threads.measure("mondrian", (300,), data_folder)
    assert [run["threads"] for run in runs] == [1, 2]
    assert len({run["sha256"] for run in runs}) == 1
    assert all(0 < run["longest"] <= run["cpu"] + 0.01 for run in runs)


def test_what_is_foretold_stands_beside_what_was_measured(results):
    table = TABLES["scale-model-check"](results)
    (both,) = [line for line in table.splitlines() if "on disk, 40,000 rows | search |" in line]
    assert both.endswith("| 6.67 s | 6.67 s | 1.00 |")

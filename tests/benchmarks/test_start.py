"""The workload start: it misses no method, measures what it says, and its tables say the same."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.start import jobs, runs, workload
from benchmarks.start.jobs import every_job, write_inputs
from benchmarks.start.page import TABLES
from benchmarks.start.runs import IMPORTS, Installation, least, room_of
from command_line import call
from incrowd.compiling.kernel import BUILT, COMPILED
from incrowd.errors import InputError, JobError
from incrowd.guarantees.table import CONDITIONS, GUARANTEES
from incrowd.methods.table import METHODS

# ── the jobs ────────────────────────────────────────────────────────────────────────────────────


def test_every_method_is_started_with_all_it_keeps():
    started = {(job.method, job.promise) for job in every_job()}
    assert started == {(name, one) for name, kind in METHODS.items() for one in kind.keeps}
    assert {promise for _, promise in started} >= {*GUARANTEES, *CONDITIONS}


def test_a_guarantee_without_words_is_an_error(monkeypatch):
    monkeypatch.delitem(jobs.WORDS, "km")
    with pytest.raises(JobError, match="'km', which 'rbat' keeps"):
        every_job()


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_jobs_make_releases(method, tmp_path):
    n_rows = workload.SMALL.n_rows
    write_inputs(tmp_path, n_rows)
    for job in every_job():
        if job.method == method:
            if job.before:
                assert call("run", *job.before, "--force", folder=tmp_path).status == 0
            out = f"{job.name}{Path(job.words[0]).suffix}"
            finished = call("run", *job.words, "-o", out, "--json", folder=tmp_path)
            assert finished.status == 0, (job.name, finished.err)
            audit = finished.json
            assert audit["n_rows"] + audit["n_suppressed"] == n_rows
            assert audit["method"]["name"] == method


# ── what is measured ────────────────────────────────────────────────────────────────────────────


def test_a_command_s_own_time_and_memory():
    held = bytearray(300 << 20)  # what the benchmark holds is not the command's
    with room_of(Installation(), 50) as room:
        cache = room.new_cache()
        nothing = room.python(["-c", "pass"], cache)
        filled = room.python(["-c", "x = b'1' * (150 << 20)"], cache)
        assert nothing["peak_memory_bytes"] < 100 << 20 < filled["peak_memory_bytes"] < 250 << 20
        busy = "import time\nwhile time.process_time() < 0.3: pass"
        assert room.python(["-c", busy], cache)["cpu_seconds"] >= 0.3
        with pytest.raises(RuntimeError, match="no such thing"):
            room.python(["-c", "import sys; sys.exit('no such thing')"], cache)
    assert len(held) == 300 << 20


def test_every_cache_is_new():
    with room_of(Installation(), 50) as room:
        caches = [room.new_cache() for _ in range(3)]
        assert len(set(caches)) == 3
        assert not any(list(cache.iterdir()) for cache in caches)
        show = "import os; print(os.environ['NUMBA_CACHE_DIR'], os.environ.get('INCROWD_KERNELS'))"
        room.python(["-c", show], caches[0], **runs.COMPILE)
        assert (caches[0] / "out.txt").read_text() == f"{caches[0]} jit\n"


def test_the_environment_of_another_installation(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "here")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("INCROWD_KERNELS", "jit")
    own = Installation().environment(tmp_path, {})
    assert own["PYTHONPATH"] == "here"
    assert not {"PYTHONDONTWRITEBYTECODE", "INCROWD_KERNELS"} & own.keys()
    other = Installation("env/bin/python")
    assert other.executable == str(Path.cwd() / "env/bin/python")
    assert "PYTHONPATH" not in other.environment(tmp_path, {})
    homeless = Installation("python", "nobody").environment(tmp_path, {"A": "1"})
    assert homeless == {
        "PATH": os.defpath,
        "HOME": "/nonexistent",
        "TMPDIR": str(tmp_path),
        "A": "1",
    }


def test_who_cannot_be_measured_is_named(monkeypatch, tmp_path):
    with pytest.raises(InputError, match="unknown user"):
        assert Installation(user="no-such-user").user_id
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(InputError, match="only root"):
        assert Installation(user="root").user_id
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
    bare.chmod(0o755)
    with (
        pytest.raises(InputError, match="cannot import incrowd"),
        room_of(Installation(str(bare)), 50),
    ):
        pass


@pytest.mark.skipif(os.getuid() != 0, reason="only root runs commands as somebody else")
def test_another_user_without_a_home():
    show = "import os; print(os.getuid(), os.environ['HOME']); open('mine.txt', 'w')"
    installation = Installation(user="nobody")
    with room_of(Installation(), 50) as room:
        room.folder.chmod(0o777)
        room.installation = replace(installation, python="/usr/bin/env")
        cache = room.new_cache()
        room.python(["python3", "-c", show], cache)
        assert (cache / "out.txt").read_text() == f"{installation.user_id} /nonexistent\n"


@pytest.mark.slow
def test_a_job_beside_bare_imports():
    tiny = replace(workload.SMALL, may_compile=True)
    small = replace(workload.WORKLOAD, small=tiny)
    name = "full-domain-k-anonymity"  # few kernels
    measured = small.run(Path(), parts=("methods",), cases=(name,), is_small=True)
    (run,) = measured["parts"]["methods"]["results"][name]["runs"]
    assert run["place"] == "checkout"
    for kind in ("imports", "warm", "first", "compiling", "cached"):
        assert run[kind]["peak_memory_bytes"] > 10**7
        assert run[kind]["cpu_seconds"] > 0
    for kind in ("compiling", "cached"):
        assert run[kind]["kernels"] == COMPILED  # the library is switched off
    assert json.loads(json.dumps(measured)) == measured
    line = TABLES["start-methods"](measured).splitlines()[2]
    assert line.startswith("| `full-domain` | k-anonymity | ")
    assert f"{run['warm']['cpu_seconds']:.2f} s (" in line


# ── the tables ──────────────────────────────────────────────────────────────────────────────────


def taken(cpu, memory=100, kernels=BUILT):
    peak = memory << 20
    return {"cpu_seconds": cpu, "seconds": 2 * cpu, "peak_memory_bytes": peak, "kernels": kernels}


def measured_of(part, runs):
    case = {"commit": "c", "machine": {"cores": 2}, "is_small": False, "runs": runs}
    return {"parts": {part: {"results": {"one": case}}}}


def test_the_table_of_methods():
    first = {"place": "checkout", "method": "greedy", "search": "", "promise": "k-anonymity"}
    first |= {"imports": taken(0.5), "warm": taken(0.8), "first": taken(1.2, 140)}
    first |= {"n_rows": 2_000, "compiling": taken(10.0)}
    other = {**first, "place": "wheel", "first": taken(4.0, kernels=COMPILED)}
    del other["compiling"]
    results = measured_of("methods", [first, other])
    table = TABLES["start-methods"](results).splitlines()
    assert table[2] == (
        "| `greedy` | k-anonymity | 2,000 | 0.50 s | 0.80 s (1.60×) | 1.20 s (2.40×) | "
        "10 s (20.00×) | – | 1.50 | 1.60 s, 2.40 s | 100 MB, 140 MB | built ahead |"
    )
    assert len([line for line in table if line.startswith("|")]) == 3
    places = TABLES["start-places"](results).splitlines()
    assert places[2].startswith("| checkout | 1 | built ahead | 0.80 s (at most 0.80 s) | ")
    assert "| 1.50 | 10 s (at most 10 s) |" in places[2]
    assert places[3].endswith("| 4.00 s (at most 4.00 s) | 5.00 | – |")


def test_the_table_of_commands():
    bare = [{"place": "checkout", "command": "imports", **taken(0.5)}]
    bare += [{"place": "checkout", "command": "help", **taken(0.1)}]
    run = {"place": "checkout", "command": "km", "n_rows": 100, "imports": taken(0.4), **taken(0.8)}
    lines = TABLES["start-commands"](measured_of("commands", [*bare, run])).splitlines()
    assert lines[3] == "| `incrowd --help` | – | 0.10 s | 0.20× | 0.20 s | 100 MB |"
    assert "| 100 | 0.80 s | 2.00× | 1.60 s | 100 MB |" in lines[4]


def test_the_least_of_several_runs():
    assert least([taken(2.0, 90), taken(1.0, 100)]) == {**taken(1.0, 90), "seconds": 2.0}


# ── the command ─────────────────────────────────────────────────────────────────────────────────


def test_results_of_another_place_are_kept_beside_the_others(monkeypatch, tmp_path):
    asked = []

    def measure_command(name, installation, n_rows, repeats):
        asked.append((name, installation, n_rows, repeats))
        return [{"command": name, "n_rows": n_rows, "imports": taken(0.5), **taken(0.9)}]

    monkeypatch.setattr(workload, "measure_command", measure_command)
    monkeypatch.delenv("INCROWD_DATA", raising=False)
    words = ["start", "--part", "commands", "--results", str(tmp_path)]
    assert main([*words, "--case", "check"]) == 0
    there = ["--python", "p", "--user", "u", "--place", "wheel"]
    assert main([*words, *there, "--case", "wheel-check", "--small"]) == 0
    assert asked == [
        ("check", Installation(), 2_000, 3),
        ("check", Installation("p", "u"), 300, 1),
    ]
    kept = json.loads((tmp_path / "start.json").read_text())["parts"]["commands"]["results"]
    places = {name: case["runs"][0]["place"] for name, case in kept.items()}
    assert places == {"wheel-check": "wheel", "check": "checkout"}


def test_other_workloads_have_no_installation(capsys):
    assert main(["rules", "--python", "p"]) == 2
    assert "'rules' has no option --python" in capsys.readouterr().err


def test_every_multiple_is_of_the_same_imports():
    assert runs.BARE["imports"] == IMPORTS
    for name in runs.LIBRARIES:
        assert f"import-{name}" in runs.BARE

"""Processes that fork after a release was made fail at once, and fresh ones work: nothing hangs."""

import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor

def work(seed):
    import incrowd as ic
    frame = ic.sample_census(100, seed)
    release = ic.anonymize(frame, quasi=["age", "sex"], k=5, method="mondrian")
    return ic.check(release.data, release.job).holds

def pool(method):
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as workers:
        try:
            print(list(workers.map(work, [1, 2])))
        except Exception as error:
            print(type(error).__name__, error)
"""


def output_of(tmp_path: Path, script: str) -> str:
    """Run a script in an interpreter of its own; one that hangs is killed, and fails the test."""
    path = tmp_path / "script.py"
    path.write_text(BEGIN + script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_fork_after_a_release_fails_at_once_and_says_what_to_do(tmp_path):
    told = output_of(
        tmp_path,
        """
if __name__ == "__main__":
    import time
    work(0)
    begun = time.monotonic()
    pool("fork")
    assert time.monotonic() - begun < 8, "it was the probe that ended it"
""",
    )
    assert told.startswith("EngineError this process was forked after polars")
    assert 'get_context("spawn")' in told


@pytest.mark.slow
def test_what_a_release_shows_later_fails_in_a_fork_too(tmp_path):
    told = output_of(
        tmp_path,
        """
import os
if __name__ == "__main__":
    import incrowd as ic
    frame = ic.sample_census(100, 0)
    release = ic.anonymize(frame, quasi=["age", "sex"], k=5, method="mondrian")
    if (child := os.fork()) == 0:
        if os.fork() == 0:  # also in the child of a child
            for call in (release.plot, lambda: ic.check(frame, release.job)):
                try:
                    call()
                except ic.InputError as error:
                    print(error.what[:23], flush=True)
            os._exit(0)
        os.wait()
        os._exit(0)
    os.waitpid(child, 0)
    print("parent:", release.plot().title)
""",
    )
    assert told.split("\n")[:2] == ["this process was forked"] * 2
    assert "parent: What each column lost" in told


@pytest.mark.slow
def test_a_fork_before_anything_is_anonymized_works(tmp_path):
    told = output_of(
        tmp_path,
        """
if __name__ == "__main__":
    import incrowd as ic
    ic.KAnonymity(5)
    pool("fork")
""",
    )
    assert told == "[True, True]\n"


@pytest.mark.slow
def test_processes_started_afresh_work(tmp_path):
    told = output_of(
        tmp_path,
        """
if __name__ == "__main__":
    work(0)
    pool("spawn")
    pool("forkserver")
""",
    )
    assert told == "[True, True]\n" * 2


def test_a_fork_of_a_process_that_used_polars_without_incrowd_fails(tmp_path):
    told = output_of(
        tmp_path,
        """
import os
if __name__ == "__main__":
    import polars as pl
    pl.DataFrame({"a": [1, 2]}).group_by("a").len()
    if (child := os.fork()) == 0:
        import incrowd as ic
        from incrowd import forks
        forks.PROBE_SECONDS = 1.0
        try:
            work(1)
        except ic.InputError as error:
            print(error.what[:23], flush=True)
        os._exit(0)
    os.waitpid(child, 0)
""",
    )
    assert told == "this process was forked\n"

"""Spark for measured runs: a standalone cluster on this machine, and what its event log tells.

The cluster is on the loopback, from the wheel of PySpark, and is stopped whatever happens. It is
for measuring: a cluster of yours is started by your own means.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

START_SECONDS = 120
HOST = "127.0.0.1"
_DEPLOY = "org.apache.spark.deploy"


@dataclass(frozen=True)
class Cluster:
    """Where it listens, and the processes at the roots of all that it does."""

    address: str
    processes: tuple[int, ...]


@contextlib.contextmanager
def standalone(folder: Path, n_workers: int, memory: int) -> Iterator[Cluster]:
    """Yield a master with workers of one core and ``memory`` MB each; its files are in a folder."""
    port = free_port()
    with contextlib.ExitStack() as stack:
        log = folder / "master.log"
        words = [f"{_DEPLOY}.master.Master", "--host", HOST, "--port", str(port)]
        words += ["--webui-port", str(free_port())]
        master = stack.enter_context(spark_process(words, log, folder))
        wait_until(lambda: answers(port), master, log)
        workers = []
        for number in range(n_workers):
            log = folder / f"worker-{number}.log"
            words = [f"{_DEPLOY}.worker.Worker", "--host", HOST]
            words += ["--webui-port", str(free_port()), "-c", "1", "-m", f"{memory}m"]
            words += ["-d", str(folder / f"work-{number}"), f"spark://{HOST}:{port}"]
            worker = stack.enter_context(spark_process(words, log, folder / f"local-{number}"))
            workers.append((worker, log))
        for worker, log in workers:
            wait_until(lambda log=log: _is_registered(log), worker, log)  # type: ignore[misc]
        roots = (master.pid, *(worker.pid for worker, _ in workers))
        yield Cluster(f"spark://{HOST}:{port}", roots)


@contextlib.contextmanager
def spark_process(
    words: Sequence[str], log: Path, scratch: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a Java process of Spark; it and all that it started end with this."""
    import pyspark

    home = Path(pyspark.__file__).parent
    scratch.mkdir(exist_ok=True)
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_DIRS": str(scratch),
        "PYSPARK_PYTHON": sys.executable,
    }
    # The engine ships the package: workers must not find another one on a path.
    environment.pop("PYTHONPATH", None)
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [str(home / "bin" / "spark-class"), *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        # A worker that is asked first ends its executors, which have sessions of their own.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_until(is_ready: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait for a process of Spark; raise with the end of its log where it does not start."""
    end = time.monotonic() + START_SECONDS
    while not is_ready():
        if process.poll() is not None or time.monotonic() > end:
            last = log.read_text("utf-8", "replace")[-1_500:]
            raise RuntimeError(f"Spark did not start:\n{last}")
        time.sleep(0.1)


def _is_registered(log: Path) -> bool:
    return "Successfully registered" in log.read_text("utf-8", "replace")


def answers(port: int) -> bool:
    """Whether something listens on a port."""
    with contextlib.suppress(OSError), socket.create_connection((HOST, port), 1):
        return True
    return False


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    return port


# ── the event log ───────────────────────────────────────────────────────────────────────────────

STAGES = ("read", "encode", "search", "decode", "write", "audit")
"""The stages of a run in their order; an audit tells how long each of them took."""


def log_settings(folder: Path) -> dict[str, str]:
    """Return the settings of Spark that make it write its event log to a folder."""
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }


def read_events(folder: Path) -> list[dict[str, Any]]:
    """Return the events of the one run that logged to a folder."""
    (path,) = [one for one in sorted(folder.iterdir()) if not one.name.startswith(".")]
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def sum_tasks(events: Iterable[Mapping[str, Any]], stages: Mapping[str, float]) -> dict[str, Any]:
    """Sum up the tasks of a run, by its stages too.

    The log has hours and the audit has durations: stages are laid out backwards from the end of
    the application, and a task belongs to the stage in which it began.
    """
    every = list(events)
    ended = max((one["Timestamp"] for one in every if "ApplicationEnd" in one["Event"]), default=0)
    tasks = [one for one in every if one["Event"] == "SparkListenerTaskEnd"]
    if not ended:
        ended = max((one["Task Info"]["Finish Time"] for one in tasks), default=0)
    begun = _beginnings(stages, ended / 1000)
    figures = {"n_tasks": 0, "task_seconds": 0.0, "shuffle_bytes": 0, "spilled_bytes": 0}
    by_stage = {name: {"task_seconds": 0.0, "shuffle_bytes": 0} for name in begun}
    for task in tasks:
        metrics, info = task.get("Task Metrics") or {}, task["Task Info"]
        seconds = (info["Finish Time"] - info["Launch Time"]) / 1000
        shuffled = metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
        figures["n_tasks"] += 1
        figures["task_seconds"] += seconds
        figures["shuffle_bytes"] += shuffled
        figures["spilled_bytes"] += metrics.get("Disk Bytes Spilled", 0)
        stage = by_stage[_stage_at(begun, info["Launch Time"] / 1000)]
        stage["task_seconds"] += seconds
        stage["shuffle_bytes"] += shuffled
    return {**_round(figures), "tasks_by_stage": {n: _round(s) for n, s in by_stage.items()}}


def _beginnings(stages: Mapping[str, float], end: float) -> dict[str, float]:
    begun: dict[str, float] = {}
    for name in reversed([one for one in STAGES if one in stages]):
        end -= stages[name]
        begun[name] = end
    return dict(reversed(begun.items()))


def _stage_at(begun: Mapping[str, float], moment: float) -> str:
    """Return the last stage that had begun; before all of them is the first."""
    names = list(begun)
    return next((name for name in reversed(names) if begun[name] <= moment), names[0])


def _round(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 2) for name, value in figures.items()}

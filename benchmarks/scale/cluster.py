"""A standalone cluster of Spark on this machine's loopback, from the wheel of PySpark.

It is stopped whatever happens. It is for measuring: a cluster of yours is started by your own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

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
    port = _free_port()
    with contextlib.ExitStack() as stack:
        log = folder / "master.log"
        words = [f"{_DEPLOY}.master.Master", "--host", HOST, "--port", str(port)]
        words += ["--webui-port", str(_free_port())]
        master = stack.enter_context(_java(words, log, folder))
        _wait(lambda: _answers(port), master, log)
        workers = []
        for number in range(n_workers):
            log = folder / f"worker-{number}.log"
            words = [f"{_DEPLOY}.worker.Worker", "--host", HOST]
            words += ["--webui-port", str(_free_port()), "-c", "1", "-m", f"{memory}m"]
            words += ["-d", str(folder / f"work-{number}"), f"spark://{HOST}:{port}"]
            worker = stack.enter_context(_java(words, log, folder / f"local-{number}"))
            workers.append((worker, log))
        for worker, log in workers:
            _wait(lambda log=log: _is_registered(log), worker, log)  # type: ignore[misc]
        roots = (master.pid, *(worker.pid for worker, _ in workers))
        yield Cluster(f"spark://{HOST}:{port}", roots)


@contextlib.contextmanager
def _java(words: Sequence[str], log: Path, scratch: Path) -> Iterator[subprocess.Popen[bytes]]:
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


def _wait(is_ready: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while not is_ready():
        if process.poll() is not None or time.monotonic() > end:
            last = log.read_text("utf-8", "replace")[-1_500:]
            raise RuntimeError(f"the standalone cluster did not start:\n{last}")
        time.sleep(0.1)


def _is_registered(log: Path) -> bool:
    return "Successfully registered" in log.read_text("utf-8", "replace")


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((HOST, port), 1):
        return True
    return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    return port

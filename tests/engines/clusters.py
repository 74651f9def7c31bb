"""Real clusters of Spark on loopback, started from the wheel of PySpark, always stopped."""

import contextlib
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

START_SECONDS = 90


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def spark_process(words, log, **variables):
    """Run a Java process of Spark; it and all that it started end with this."""
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        **variables,
    }
    # What the tests import must not be what the workers import: the engine ships the package.
    environment.pop("PYTHONPATH", None)
    with Path(log).open("wb") as sink:
        process = subprocess.Popen(
            [home / "bin" / "spark-class", *map(str, words)],
            env=environment,
            stdout=sink,
            stderr=sink,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        # Workers of Python are in the group of the Java process that started them.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(is_ready, process, log):
    end = time.monotonic() + START_SECONDS
    while not is_ready():
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError("did not start:\n" + Path(log).read_text(errors="replace")[-3000:])
        time.sleep(0.1)


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@contextlib.contextmanager
def standalone(folder, n_workers=2):
    """Yield the address of a standalone master with workers of one core and 1 GB each."""
    port, web = free_port(), free_port()
    deploy = "org.apache.spark.deploy"
    with contextlib.ExitStack() as stack:
        log = folder / "master.log"
        words = [f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", port]
        master = stack.enter_context(spark_process([*words, "--webui-port", web], log))
        wait_for(lambda: answers(port), master, log)
        logs = []
        for number in range(n_workers):
            log = folder / f"worker-{number}.log"
            words = [f"{deploy}.worker.Worker", "--host", "127.0.0.1", "--webui-port", free_port()]
            words += ["-c", "1", "-m", "1g", "-d", folder / f"work-{number}"]
            worker = stack.enter_context(
                spark_process(
                    [*words, f"spark://127.0.0.1:{port}"],
                    log,
                    SPARK_LOCAL_DIRS=str(folder / f"local-{number}"),
                )
            )
            logs.append((worker, log))
        for worker, log in logs:
            wait_for(lambda log=log: "Successfully registered" in log.read_text(), worker, log)
        yield f"spark://127.0.0.1:{port}"


@contextlib.contextmanager
def connect(folder):
    """Yield the address of a Spark Connect server with two threads for tasks."""
    port = free_port()
    settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.local.dir": folder,
        "spark.sql.warehouse.dir": folder / "warehouse",
    }
    words = ["org.apache.spark.deploy.SparkSubmit"]
    words += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    for key, value in settings.items():
        words += ["--conf", f"{key}={value}"]
    log = folder / "connect.log"
    with spark_process([*words, "spark-internal"], log) as server:
        wait_for(lambda: answers(port), server, log)
        yield f"sc://127.0.0.1:{port}"


class Child:
    """A process of its own with a Spark engine in it: one process has one master."""

    def __init__(self, pool):
        self._pool = pool

    def __call__(self, function, *arguments, seconds=300):
        """Run ``function(engine, *arguments)`` there, and return or raise what it does."""
        return self._pool.submit(_with_engine, function, arguments).result(seconds)


@contextlib.contextmanager
def spark_in_child(master, folder, *, is_shipped=True):
    """Yield a child whose engine is on that master; functions must be of importable modules."""
    # Few rows: to interpret a plan costs less than to compile it, on every executor anew.
    settings = {"spark.sql.codegen.wholeStage": "false"}
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(
        1, context, _start_engine, (master, str(folder), settings, is_shipped)
    )
    try:
        yield Child(pool)
        pool.submit(_stop_engine).result(60)
    finally:
        for process in list((pool._processes or {}).values()):
            process.kill()  # where it was stopped, it has nothing left to do
        pool.shutdown(wait=True, cancel_futures=True)


_engine = None


def _start_engine(master, folder, settings, is_shipped):
    global _engine
    from incrowd.engines.spark.engine import SparkEngine

    _engine = SparkEngine(
        master,
        memory=1 << 30,
        directory=Path(folder),
        settings=settings,
        is_shipped=is_shipped,
    )


def _stop_engine():
    _engine.close()


def _with_engine(function, arguments):
    return function(_engine, *arguments)

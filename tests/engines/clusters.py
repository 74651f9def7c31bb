"""A Spark Connect server on loopback, and Spark engines in processes of their own."""

import contextlib
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.scale.spark import answers, free_port, spark_process, wait_until


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
    with spark_process([*words, "spark-internal"], log, folder) as server:
        wait_until(lambda: answers(port), server, log)
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

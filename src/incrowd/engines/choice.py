"""The part of a job that chooses an engine, and the engines by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from incrowd.errors import JobError, unknown
from incrowd.options import documented, option

if TYPE_CHECKING:
    from pathlib import Path

    from incrowd.engines.base import Engine, OutOfCoreEngine
    from incrowd.engines.disk.engine import DiskEngine


LEAST_MEMORY = 1 << 20
_SECRET = re.compile(r"secret|password|token|access[.]?key|private[.]?key|credential", re.I)
PACKAGES = ("shipped", "installed")
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@documented
@dataclass(frozen=True)
class EngineChoice:
    """Where a job runs.

    >>> EngineChoice("spark", threads=2).master
    'local[2]'
    """

    name: str = option(
        "local",
        flag="--engine",
        help="Execution engine.",
        choices=("local", "spark"),
    )
    threads: int = option(0, help="Number of threads; 0: one per processor.", minimum=0)
    spark_master: str = option(
        "local[*]",
        help="Spark master for a new session, unless one is active.",
    )

    spark_conf: tuple[str, ...] = option(
        (),
        help="Spark setting for the new session, key=value; repeatable.",
        repeats=True,
    )
    spark_package: str = option(
        "shipped",
        help="How workers get incrowd: shipped by the driver, or installed there in the same "
        "version (compiled kernels are then kept).",
        choices=PACKAGES,
    )
    memory: str | None = option(
        None,
        help="Memory limit (4GB); larger tables and sets are processed out of core. Default: "
        "half of the machine's memory, and 2GB for the blocks of adaptive's cover.",
    )

    def __post_init__(self) -> None:
        for setting in self.spark_conf:
            _check_setting(setting)
        if self.memory is not None:
            parse_memory(self.memory)
        if self.name not in ENGINES:
            raise unknown("engine", self.name, ENGINES, where="engine")
        if self.spark_package not in PACKAGES:
            raise unknown("value", self.spark_package, PACKAGES, where="engine: spark_package")
        if self.threads < 0:
            raise JobError(
                "engine: the number of threads is negative", remedy="0 means one per processor."
            )

    @property
    def memory_bytes(self) -> int | None:
        """The memory limit in bytes, if stated."""
        return None if self.memory is None else parse_memory(self.memory)

    @property
    def spark_settings(self) -> dict[str, str]:
        """The Spark settings by key."""
        pairs = (setting.partition("=") for setting in self.spark_conf)
        return {key.strip(): value.strip() for key, _, value in pairs}

    @property
    def master(self) -> str:
        """The Spark master URL, with the number of threads if it leaves that open."""
        if self.threads and self.spark_master == "local[*]":
            return f"local[{self.threads}]"
        return self.spark_master


def parse_memory(text: str) -> int:
    """Return the number of bytes in a text such as 4GB or 512MB."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE)
    n_bytes = int(float(found[1]) * UNITS[found[2].upper()]) if found else 0
    if n_bytes < LEAST_MEMORY:
        raise JobError("engine: memory must be at least 1MB", remedy="For example  --memory 4GB .")
    return n_bytes


def _check_setting(setting: str) -> None:
    key, equals, _ = setting.partition("=")
    if not equals or not key.strip().startswith("spark."):
        raise JobError(
            "engine: a Spark setting has the form spark.key=value",
            remedy="For example  --spark-conf spark.executor.memory=8g .",
        )
    if _SECRET.search(key):
        raise JobError(
            f"engine: {key.strip()} is a secret, and the audit records the job",
            remedy="Write it to spark-defaults.conf, in the folder that SPARK_CONF_DIR names.",
        )


def make_engine(choice: EngineChoice | None = None, directory: Path | None = None) -> Engine:
    """Return the chosen engine; the caller closes it.

    ``directory`` is where the engine puts its temporary files, by default the system's temporary
    directory.
    """
    stated = choice or EngineChoice()
    return ENGINES[stated.name](stated, directory)


def _make_local(choice: EngineChoice, directory: Path | None) -> Engine:  # noqa: ARG001
    from incrowd.engines.base import DEFAULT_MEMORY
    from incrowd.engines.local.engine import LocalEngine

    return LocalEngine(choice.threads, memory=choice.memory_bytes or DEFAULT_MEMORY)


def _make_spark(choice: EngineChoice, directory: Path | None) -> Engine:
    from incrowd.engines.base import DEFAULT_MEMORY
    from incrowd.engines.spark.engine import SparkEngine

    return SparkEngine(
        choice.master,
        directory=directory,
        working_memory=choice.memory_bytes or DEFAULT_MEMORY,
        settings=choice.spark_settings,
        is_shipped=choice.spark_package == "shipped",
    )


ENGINES: dict[str, Callable[[EngineChoice, Path | None], Engine]] = {
    "local": _make_local,
    "spark": _make_spark,
}


def out_of_core_engine(choice: EngineChoice, folder: Path) -> OutOfCoreEngine:
    """Return the engine for an out-of-core job: Spark, or this machine's disk."""
    if choice.name == "local":
        return disk_engine(choice, folder)
    return cast("OutOfCoreEngine", make_engine(choice, folder))


def disk_engine(choice: EngineChoice, folder: Path) -> DiskEngine:
    """Return the out-of-core engine of this machine, with the stated memory limit."""
    from incrowd.engines.base import DEFAULT_MEMORY
    from incrowd.engines.disk.engine import DiskEngine

    return DiskEngine(folder, choice.threads, choice.memory_bytes or DEFAULT_MEMORY)


@contextmanager
def file_engine(engine: Engine, choice: EngineChoice, folder: Path) -> Iterator[OutOfCoreEngine]:
    """Yield an out-of-core engine: this one if it is one, else that of this machine's disk."""
    if engine.is_out_of_core:
        yield cast("OutOfCoreEngine", engine)
        return
    with closing(disk_engine(choice, folder)) as disk:
        yield disk

"""The engines by name, and the part of a job that chooses one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from incrowd.errors import JobError, unknown
from incrowd.options import option

if TYPE_CHECKING:
    from pathlib import Path

    from incrowd.engines.base import Engine, OutOfCoreEngine
    from incrowd.engines.disk.engine import DiskEngine


LEAST_MEMORY = 1 << 20
_SECRET = re.compile(r"secret|password|token|access[.]?key|private[.]?key|credential", re.I)
PACKAGES = ("shipped", "installed")
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class EngineChoice:
    """Where a job runs.

    >>> EngineChoice("spark", threads=2).master
    'local[2]'
    """

    name: str = option(
        "local", flag="--engine", help="Execution engine.", choices=("local", "spark")
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
            memory_of(self.memory)
        if self.name not in ENGINES:
            raise unknown("engine", self.name, ENGINES, where="engine")
        if self.spark_package not in PACKAGES:
            raise unknown("way", self.spark_package, PACKAGES, where="engine: spark_package")
        if self.threads < 0:
            raise JobError(
                "engine: the number of threads is negative", remedy="0 is one per processor."
            )

    @property
    def memory_bytes(self) -> int | None:
        """The memory that is stated, in bytes."""
        return None if self.memory is None else memory_of(self.memory)

    @property
    def spark_settings(self) -> dict[str, str]:
        """The settings of Spark by their keys."""
        pairs = (setting.partition("=") for setting in self.spark_conf)
        return {key.strip(): value.strip() for key, _, value in pairs}

    @property
    def master(self) -> str:
        """The Spark master, with the number of threads where it leaves that open."""
        if self.threads and self.spark_master == "local[*]":
            return f"local[{self.threads}]"
        return self.spark_master


def memory_of(text: str) -> int:
    """Return the bytes that a text such as 4GB or 512MB means."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE)
    n_bytes = int(float(found[1]) * UNITS[found[2].upper()]) if found else 0
    if n_bytes < LEAST_MEMORY:
        raise JobError(
            "engine: memory is no amount of at least 1MB", remedy="State --memory 4GB, for example."
        )
    return n_bytes


def _check_setting(setting: str) -> None:
    key, equals, _ = setting.partition("=")
    if not equals or not key.strip().startswith("spark."):
        raise JobError(
            "engine: a setting of Spark is written spark.key=value",
            remedy="For example  --spark-conf spark.executor.memory=8g .",
        )
    if _SECRET.search(key):
        raise JobError(
            f"engine: {key.strip()} is a secret, and the audit keeps the job",
            remedy="Write it to spark-defaults.conf, in the folder that SPARK_CONF_DIR names.",
        )


def make_engine(choice: EngineChoice | None = None, directory: Path | None = None) -> Engine:
    """Return the engine that was chosen, ready to take rows; whoever asked for it closes it.

    ``directory`` is where the engine puts what it must keep on disk, the system's temporary
    directory where none is given.
    """
    stated = choice or EngineChoice()
    return ENGINES[stated.name](stated, directory)


def _local(choice: EngineChoice, directory: Path | None) -> Engine:  # noqa: ARG001
    from incrowd.engines.base import DEFAULT_MEMORY
    from incrowd.engines.local.engine import LocalEngine

    return LocalEngine(choice.threads, memory=choice.memory_bytes or DEFAULT_MEMORY)


def _spark(choice: EngineChoice, directory: Path | None) -> Engine:
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
    "local": _local,
    "spark": _spark,
}


def out_of_core_engine(choice: EngineChoice, folder: Path) -> OutOfCoreEngine:
    """Return the engine that rows stay on: Spark, or this machine's disk within a folder."""
    if choice.name == "local":
        return disk_engine(choice, folder)
    return cast("OutOfCoreEngine", make_engine(choice, folder))


def disk_engine(choice: EngineChoice, folder: Path) -> DiskEngine:
    """Return this machine's disk as an engine, within the memory that is stated."""
    from incrowd.engines.base import DEFAULT_MEMORY
    from incrowd.engines.disk.engine import DiskEngine

    return DiskEngine(folder, choice.threads, choice.memory_bytes or DEFAULT_MEMORY)


@contextmanager
def file_engine(engine: Engine, choice: EngineChoice, folder: Path) -> Iterator[OutOfCoreEngine]:
    """Yield an engine on which whole files lie: this one where it is such, else the disk."""
    if engine.is_out_of_core:
        yield cast("OutOfCoreEngine", engine)
        return
    with closing(disk_engine(choice, folder)) as disk:
        yield disk

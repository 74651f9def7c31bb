"""The engines by name, and the part of a job that chooses one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incrowd.errors import JobError, unknown
from incrowd.fields import option

if TYPE_CHECKING:
    from pathlib import Path

    from incrowd.engines.base import Engine


@dataclass(frozen=True)
class EngineChoice:
    """Where a job runs.

    >>> EngineChoice("spark", threads=2).master
    'local[2]'
    """

    name: str = option(
        "local", flag="--engine", help="Where rows live.", choices=("local", "spark")
    )
    threads: int = option(0, help="Threads on this machine; 0 is one per processor.", minimum=0)
    spark_master: str = option(
        "local[*]",
        help="The Spark master to start a session on, unless one runs in this program already.",
    )

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise unknown("engine", self.name, ENGINES, where="engine")
        if self.threads < 0:
            raise JobError(
                "engine: the number of threads is negative", remedy="0 is one per processor."
            )

    @property
    def master(self) -> str:
        """The Spark master, with the number of threads where it leaves that open."""
        if self.threads and self.spark_master == "local[*]":
            return f"local[{self.threads}]"
        return self.spark_master


def make_engine(choice: EngineChoice | None = None, directory: Path | None = None) -> Engine:
    """Return the engine that was chosen, ready to take rows; whoever asked for it closes it.

    ``directory`` is where the engine puts what it must keep on disk, the system's temporary
    directory where none is given.
    """
    stated = choice or EngineChoice()
    return ENGINES[stated.name](stated, directory)


def _local(choice: EngineChoice, directory: Path | None) -> Engine:  # noqa: ARG001
    from incrowd.engines.local import LocalEngine

    return LocalEngine(choice.threads)


def _spark(choice: EngineChoice, directory: Path | None) -> Engine:
    from incrowd.engines.spark import SparkEngine

    return SparkEngine(choice.master, directory=directory)


ENGINES: dict[str, Callable[[EngineChoice, Path | None], Engine]] = {
    "local": _local,
    "spark": _spark,
}

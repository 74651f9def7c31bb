"""The engines that rows can stay on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.engines.base import DEFAULT_MEMORY, Reading
from incrowd.engines.table import EngineChoice, make_engine
from incrowd.job import InputOptions

if TYPE_CHECKING:
    from incrowd.engines.disk import DiskEngine


def engine_of(choice: EngineChoice, folder: Path) -> Any:
    """Return the engine that rows lie on: Spark, or this machine's disk."""
    if choice.name == "local":
        return disk_engine(choice, folder)
    return make_engine(choice, folder)


def disk_engine(choice: EngineChoice, folder: Path) -> DiskEngine:
    """Return this machine's disk as an engine, within the memory that is stated."""
    from incrowd.engines.disk import DiskEngine

    return DiskEngine(folder, choice.threads, choice.memory_bytes or DEFAULT_MEMORY)


def reading_of(options: InputOptions) -> Reading:
    """Return how files are to be read as they stand."""
    return Reading(options.delimiter, options.encoding, options.header, options.missing_values)

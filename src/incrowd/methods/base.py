"""What a method of tables is to the pipeline."""

from __future__ import annotations

from typing import ClassVar, Protocol

from incrowd.encoding.rows import Rows
from incrowd.engines.base import Engine
from incrowd.methods.shared.conditions import Conditions
from incrowd.progress import Progress


class Method(Protocol):
    """A search: Rows in, Rows out, every group valid under the conditions.

    What it did goes with the rows it returns, as their trace.
    """

    name: ClassVar[str]
    keeps: ClassVar[frozenset[str]]

    def run(
        self, rows: Rows, conditions: Conditions, engine: Engine, seed: int, progress: Progress
    ) -> Rows:
        """Return the rows generalized so that rows with equal nodes form valid groups."""

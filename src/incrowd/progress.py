"""Progress reports of long work: a function, called with the stage, done and total; and a log."""

from __future__ import annotations

import logging
from typing import Protocol

log = logging.getLogger("incrowd")
"""Stages, notes and verdicts, without values of people's data; silent unless somebody listens."""

log.addHandler(logging.NullHandler())


class Progress(Protocol):
    """Receives progress reports; a total of 0 means that the end is unknown.

    ``loss`` is the information loss so far, where a search knows it.
    """

    def __call__(self, stage: str, done: int, total: int, loss: float | None = None, /) -> None:
        """Receive one report."""


def silent(stage: str, done: int, total: int, loss: float | None = None, /) -> None:
    """Ignore every report."""

"""Progress reports of long work: one function, called with the stage, done and total."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives progress reports; a total of 0 means that the end is unknown.

    ``loss`` is the information loss so far, where a search knows it.
    """

    def __call__(self, stage: str, done: int, total: int, loss: float | None = None, /) -> None:
        """Receive one report."""


def silent(stage: str, done: int, total: int, loss: float | None = None, /) -> None:
    """Ignore every report."""

"""How long work tells how far it is: one function, called with the stage, done and total."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Takes reports of how far work is; a total of 0 means that the end is not known.

    ``loss`` is the share lost so far, where a search knows it.
    """

    def __call__(self, stage: str, done: int, total: int, loss: float | None = None, /) -> None:
        """Take one report."""


def silent(stage: str, done: int, total: int, loss: float | None = None, /) -> None:
    """Take every report and show none."""

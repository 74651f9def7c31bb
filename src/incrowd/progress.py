"""How long work tells how far it is: one function, called with the stage, done and total."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""``progress(stage, done, total)``; a total of 0 means that the end is not known."""


def silent(stage: str, done: int, total: int) -> None:
    """Take every report and show none."""

"""Fields of a job that document themselves: one source for TOML, flags, help and the docs."""

from __future__ import annotations

from dataclasses import MISSING, field
from typing import Any


def option(
    default: Any = MISSING,
    *,
    help: str,
    flag: str = "",
    choices: tuple[str, ...] = (),
    minimum: float | None = None,
    maximum: float | None = None,
    repeats: bool = False,
) -> Any:
    """Return a dataclass field that carries its help, its flag (if not its name) and bounds.

    With ``repeats`` the flag may be given several times, each a text of its own.
    """
    metadata = {
        "help": help,
        "flag": flag,
        "choices": choices,
        "min": minimum,
        "max": maximum,
        "repeats": repeats,
    }
    if isinstance(default, (dict, list)):
        return field(default_factory=type(default), metadata=metadata)
    return field(default=default, metadata=metadata)

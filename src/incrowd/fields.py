"""Fields of a job that document themselves: one source for TOML, flags, help and the docs."""

from __future__ import annotations

from dataclasses import MISSING, field
from typing import Any


def option(
    default: Any = MISSING,
    *,
    help: str,  # noqa: A002
    flag: str = "",
    choices: tuple[str, ...] = (),
    minimum: float | None = None,
    maximum: float | None = None,
) -> Any:
    """Return a dataclass field with its help, its flag where that is not its name, and its bounds."""
    metadata = {"help": help, "flag": flag, "choices": choices, "min": minimum, "max": maximum}
    if isinstance(default, (dict, list)):
        return field(default_factory=type(default), metadata=metadata)
    return field(default=default, metadata=metadata)

"""Dataclass fields that document themselves: one source for TOML, flags, help and the docs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields
from inspect import cleandoc
from textwrap import fill
from typing import Any, TypeVar

Part = TypeVar("Part", bound=type)

HELP_WIDTH = 88

DOCUMENTED: list[type[Any]] = []
"""Every class of options that is loaded."""


def option(
    default: Any = MISSING,
    *,
    help: str,
    flag: str = "",
    choices: tuple[str, ...] = (),
    minimum: float | None = None,
    maximum: float | None = None,
    repeats: bool = False,
    about: str = "",
) -> Any:
    """Return a dataclass field that carries its help, its flag (if not its name) and bounds.

    With ``repeats`` the flag may be given several times, each a text of its own. ``about`` is the
    shape of data (tables, sets, transactions) that a setting applies to, where it is not all.
    """
    metadata = {
        "help": help,
        "flag": flag,
        "choices": choices,
        "min": minimum,
        "max": maximum,
        "repeats": repeats,
        "about": about,
    }
    if isinstance(default, (dict, list)):
        return field(default_factory=type(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def documented(part: Part) -> Part:
    """Append a section to a dataclass's docstring that explains every one of its options."""
    lines = [cleandoc(part.__doc__ or ""), "", "Parameters", "----------"]
    for item in fields(part):
        lines += [_heading(item), _explanation(item)]
    part.__doc__ = "\n".join(lines)
    DOCUMENTED.append(part)
    return part


def _heading(item: Field[Any]) -> str:
    """Return a parameter's name, type and default."""
    if item.default is not MISSING:
        return f"{item.name} : {item.type}, default {item.default!r}"
    if item.default_factory is not MISSING:
        return f"{item.name} : {item.type}, default {item.default_factory()!r}"
    return f"{item.name} : {item.type}"


def _explanation(item: Field[Any]) -> str:
    """Return what a parameter means, the values it may have, and the data it is about."""
    stated = item.metadata
    sentences = [stated["help"]]
    if stated["choices"]:
        sentences.append(f"One of {', '.join(map(repr, stated['choices']))}.")
    if stated["min"] is not None and stated["max"] is not None:
        sentences.append(f"From {stated['min']:g} to {stated['max']:g}.")
    elif stated["min"] is not None:
        sentences.append(f"At least {stated['min']:g}.")
    elif stated["max"] is not None:
        sentences.append(f"At most {stated['max']:g}.")
    if stated["about"]:
        sentences.append(f"Applies to {stated['about']} only.")
    return fill(
        " ".join(sentences),
        HELP_WIDTH,
        initial_indent="    ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def parameters(part: Any, shape: str = "") -> dict[str, Any]:
    """Return a part's fields that are set, as plain values for TOML and JSON.

    With ``shape`` those that are about data of another shape are left out.
    """
    values = {
        item.name: getattr(part, item.name)
        for item in fields(part)
        if not shape or item.metadata.get("about") in (None, "", shape)
    }
    return {name: _plain(value) for name, value in values.items() if value not in (None, {}, ())}


def changed_parameters(part: Any) -> dict[str, Any]:
    """Return the fields of a part that are not as they are by default."""
    default = type(part)()
    return {
        name: value
        for name, value in parameters(part).items()
        if getattr(part, name) != getattr(default, name)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value

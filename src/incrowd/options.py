"""Dataclass fields that document themselves: one source for TOML, flags, help and the docs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, field, fields
from functools import cache, wraps
from inspect import Parameter, cleandoc, signature
from numbers import Integral, Real
from textwrap import fill
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from incrowd.errors import JobError, near_names
from incrowd.wording import DOCUMENTED

Part = TypeVar("Part", bound=type)
Called = TypeVar("Called", bound=Callable[..., Any])

HELP_WIDTH = 88


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
    """Append a section to a dataclass's docstring that explains every one of its options.

    Its arguments are checked by their types where it is made, with an error that says what is
    accepted: lists for tuples, a text for a list of one, numbers of NumPy and paths are.
    """
    lines = [cleandoc(part.__doc__ or ""), "", "Parameters", "----------"]
    for item in fields(part):
        lines += [_heading(item), _explanation(item)]
    part.__doc__ = "\n".join(lines)
    DOCUMENTED.append(part)
    return suggest_keywords(_check_arguments(part))


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


# What is passed in Python: unknown keywords with near names, and types that do not fit.


def suggest_keywords(called: Called) -> Called:
    """Let a function or a class name near keywords in its TypeError for an unknown one."""
    if isinstance(called, type):
        kind = cast(Any, called)
        kind.__init__ = _suggest(kind.__init__, called.__name__)
        return called
    return cast(Called, _suggest(called, called.__name__))


def _suggest(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    known = [
        parameter.name
        for parameter in signature(function).parameters.values()
        if parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    ]

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        for keyword in keywords:
            if keyword not in known:
                near = near_names(keyword, known)
                hint = f"did you mean {' or '.join(near)}?" if near else f"it takes {_list(known)}"
                raise TypeError(f"{name}() got an unexpected keyword argument {keyword!r}; {hint}")
        return function(*arguments, **keywords)

    return call


def _list(names: list[str]) -> str:
    return ", ".join(name for name in names if name != "self")


def _check_arguments(part: Part) -> Part:
    """Let a dataclass of options check the types of what it is made of."""
    kind = cast(Any, part)
    make = kind.__init__
    items = {item.name: item for item in fields(part)}

    @wraps(make)
    def __init__(self: Any, *arguments: Any, **keywords: Any) -> None:  # noqa: N807
        n_named = min(len(arguments), len(items))
        stated = dict(zip(items, arguments[:n_named], strict=False)) | keywords
        if n_named < len(arguments) or len(stated) < len(arguments) + len(keywords):
            make(self, *arguments, **keywords)  # Python's own error: too many, or stated twice
        for name, value in stated.items():
            if name in items:
                repeats = bool(items[name].metadata.get("repeats"))
                hint = _hints(part)[name]
                stated[name] = accept_argument(value, hint, name, part.__name__, repeats)
        make(self, **stated)

    kind.__init__ = __init__
    return part


@cache
def _hints(part: type[Any]) -> dict[str, Any]:
    return get_type_hints(part)


def accept_argument(value: Any, hint: Any, name: str, where: str, repeats: bool = False) -> Any:
    """Return an argument as its field's type, where that loses nothing; else raise JobError."""
    origin = get_origin(hint)
    if value is None or origin is Mapping:
        if value is None or isinstance(value, (Mapping, str)):
            return value
        raise _type_error(
            value, f'a mapping such as {{"age": {_EXAMPLES.get(get_args(hint)[1])}}}', name, where
        )
    if origin is tuple:
        return _accept_texts(value, name, where, repeats)
    kinds = [kind for kind in (get_args(hint) or (hint,)) if kind is not type(None)]
    if isinstance(value, Integral) and not isinstance(value, (bool, int)):
        value = int(value)
    elif isinstance(value, Real) and not isinstance(value, (Integral, int, float)):
        value = float(value)
    elif isinstance(value, float):
        value = float(value)  # of NumPy, which has a class of its own for it
    elif isinstance(value, os.PathLike) and str in kinds:
        value = os.fspath(value)
    elif type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):
        value = bool(value)
    if type(value) in kinds or (float in kinds and type(value) is int):
        return value
    raise _type_error(value, " or ".join(_WORDS[kind] for kind in kinds), name, where)


_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "True or False"}
_EXAMPLES = {int: "2", float: "0.5", str: '"age.csv"'}


def _accept_texts(value: Any, name: str, where: str, repeats: bool) -> tuple[str, ...]:
    if isinstance(value, str):
        parts = [value] if repeats else [part.strip() for part in value.split(",")]
        return tuple(part for part in parts if part)
    listed = tuple(value) if isinstance(value, Iterable) else None
    if listed is None or not all(isinstance(part, (str, os.PathLike)) for part in listed):
        raise _type_error(value, 'a list of texts such as ["a", "b"]', name, where)
    return tuple(os.fspath(part) for part in listed)


def _type_error(value: Any, wanted: str, name: str, where: str) -> JobError:
    shown = repr(value) if isinstance(value, (str, int, float)) else f"a {type(value).__name__}"
    return JobError(
        f"{where}: {name} is not {wanted}: it is {shown[:80]}", remedy=f"State {wanted}."
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

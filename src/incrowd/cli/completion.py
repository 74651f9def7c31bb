"""Shell completion: columns of the data named on the line, methods, guarantees, builders, topics.

Only the beginning of a data file is read. Whatever goes wrong completes to nothing: a shell that
completes must not print errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer

SOURCES = ("data", "released", "source")
"""Parameters of commands that name the data, or a job file that names them."""


def complete_columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the last of several comma-separated columns."""
    return _continue_list(incomplete, columns_on_line(ctx))


def complete_column(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete one column."""
    return _starting(columns_on_line(ctx), incomplete)


def complete_hierarchy(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete COLUMN=HOW: columns first, then how a hierarchy is built."""
    column, equals, how = incomplete.partition("=")
    if not equals:
        return [f"{name}=" for name in _starting(columns_on_line(ctx), column)]
    return [f"{column}={builder}" for builder in complete_builder(how)]


def complete_builder(incomplete: str) -> list[str]:
    """Complete how a hierarchy is built."""
    from incrowd.hierarchies.specs import KINDS

    return _starting([kind for kind in KINDS if kind != "file"], incomplete)


def complete_number_of_column(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the column of COLUMN=NUMBER."""
    if "=" in incomplete:
        return []
    return [f"{name}=" for name in _starting(columns_on_line(ctx), incomplete)]


def complete_method(incomplete: str) -> list[str]:
    """Complete the last of several comma-separated methods."""
    from incrowd.methods.table import METHODS

    return _continue_list(incomplete, METHODS)


def complete_guarantee(incomplete: str) -> list[str]:
    """Complete a guarantee."""
    from incrowd.guarantees.table import GUARANTEES

    return _starting(GUARANTEES, incomplete)


def complete_topic(incomplete: str) -> list[str]:
    """Complete a topic of ``incrowd explain``; flags where dashes are begun."""
    from incrowd.cli.explain.topics import all_topics

    names = dict.fromkeys(topic.name for topic in all_topics())
    return _starting(names, incomplete)


def completing(choices: Iterable[str]) -> Callable[[str], list[str]]:
    """Return what completes one of the given words."""
    words = tuple(choices)
    return lambda incomplete: _starting(words, incomplete)


def columns_on_line(ctx: typer.Context) -> list[str]:
    """Return the columns of the data that the line names, from the beginning of the file."""
    from incrowd.errors import IncrowdError
    from incrowd.job.build import build, read_mapping
    from incrowd.job.inputs import InputOptions, read_columns

    named = next((ctx.params[name] for name in SOURCES if ctx.params.get(name)), None)
    if named is None:  # a flag that still lacks its value leaves the arguments unread
        named = next(iter(ctx.args), None)
    if named is None:
        return []
    stated = {
        item.name: ctx.params[item.name]
        for item in fields(InputOptions)
        if ctx.params.get(item.name) is not None
    }
    try:
        path = Path(str(named))
        if path.suffix == ".toml":
            mapping = read_mapping(path)
            path = path.parent / str(mapping["data"])
            stated = {**mapping.get("input", {}), **stated}
        return read_columns(path, build(InputOptions, stated, "input"))
    except (IncrowdError, OSError, KeyError, TypeError, ValueError):
        return []


def _continue_list(incomplete: str, words: Iterable[str]) -> list[str]:
    """Complete the last word of a comma-separated list with words that are not in it yet."""
    *given, last = incomplete.split(",")
    before = "".join(f"{word}," for word in given)
    return [before + word for word in _starting(words, last) if word not in given]


def _starting(words: Iterable[Any], incomplete: str) -> list[str]:
    return [str(word) for word in words if str(word).startswith(incomplete)]

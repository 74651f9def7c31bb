"""What goes to a person: messages and progress on standard error, results on standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incrowd.bars import live_bar, plain_lines
from incrowd.progress import Progress, silent

if TYPE_CHECKING:
    from rich.console import Console


PLAIN_WIDTH = 110


@dataclass(frozen=True)
class Verbosity:
    """How much a command says: errors alone, what most people need, or all there is."""

    is_quiet: bool = False
    is_verbose: bool = False


VERBOSITY: ContextVar[Verbosity] = ContextVar("verbosity", default=Verbosity())  # noqa: B039
"""What ``--quiet`` and ``--verbose`` ask for, while a command runs."""


def results() -> Console:
    """Return the console for results, on standard output."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    return Console(width=width, highlight=False, soft_wrap=not sys.stdout.isatty())


def messages() -> Console:
    """Return the console for messages, on standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


def say(text: str, style: str = "") -> None:
    """Print a message to standard error, brackets and all; nothing with ``--quiet``."""
    if not VERBOSITY.get().is_quiet:
        messages().print(text, style=style or None, markup=False)


def complain(text: str) -> None:
    """Print an error to standard error, also with ``--quiet``."""
    messages().print(text, style="bold red", markup=False)


def may_show_values(arguments: list[str]) -> bool:
    """Whether examples of people's values may be printed: on a terminal, or where asked for."""
    return "--show-values" in arguments or (sys.stderr.isatty() and sys.stdout.isatty())


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show how far the work is, with an estimate, once it has taken two seconds."""
    if VERBOSITY.get().is_quiet:
        yield silent
    elif sys.stderr.isatty():
        with live_bar(messages()) as report:
            yield report
    else:
        yield plain_lines()

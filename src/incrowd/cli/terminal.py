"""What goes to a person: messages and progress on standard error, results on standard output."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incrowd.progress import COMPILING, Progress, silent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID


QUIET_SECONDS = 2.0  # nothing is shown for work shorter than this
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
        with _live_bar() as report:
            yield report
    else:
        yield plain_lines()


@contextmanager
def _live_bar() -> Iterator[Progress]:
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    bars = Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[loss]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=messages(),
        transient=True,
    )
    tasks: dict[str, TaskID] = {}
    showing = ""
    # work that says nothing for long is shown too: a bar that moves, without a share
    waiting = threading.Timer(QUIET_SECONDS, bars.start)
    waiting.daemon = True
    waiting.start()

    def report(stage: str, done: int, total: int, loss: float | None = None, /) -> None:
        nonlocal showing
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=total or None, loss="")
        if stage != showing:
            for task in tasks.values():
                bars.update(task, visible=False)
            showing = stage
        shown = "" if loss is None else f"loss {loss:.2%}"
        bars.update(tasks[stage], completed=done, total=total or None, loss=shown, visible=True)

    try:
        yield report
    finally:
        waiting.cancel()
        waiting.join()
        if bars.live.is_started:
            bars.stop()


def plain_lines(clock: Callable[[], float] = time.monotonic) -> Progress:
    """Return a report that prints one line per stage, once the work has taken two seconds.

    What takes long and happens once, such as compiling, is told at once.
    """
    begun = clock()
    told: set[str] = set()

    def report(stage: str, done: int, total: int, loss: float | None = None, /) -> None:
        del done, total, loss
        is_announcement = stage.startswith(COMPILING)
        if stage in told or not (is_announcement or clock() - begun >= QUIET_SECONDS):
            return
        told.add(stage)
        print(f"{stage} …", file=sys.stderr, flush=True)

    return report

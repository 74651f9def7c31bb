"""What goes to a person: messages and progress on standard error, results on standard output."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from incrowd.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console

QUIET_SECONDS = 2.0  # nothing is shown for work shorter than this
PLAIN_LINE_SECONDS = 10.0  # how often progress is told without a terminal
PLAIN_WIDTH = 110


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
    """Print a message to standard error, brackets and all."""
    messages().print(text, style=style or None, markup=False)


def may_show_values(arguments: list[str]) -> bool:
    """Whether examples of people's values may be printed: on a terminal, or where asked for."""
    return "--show-values" in arguments or (sys.stderr.isatty() and sys.stdout.isatty())


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show how far the work is, with an estimate, once it has taken two seconds."""
    if sys.stderr.isatty():
        with _live_bar() as report:
            yield report
    else:
        yield _plain_lines()


@contextmanager
def _live_bar() -> Iterator[Progress]:
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    started = time.monotonic()
    bars = Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=messages(),
        transient=True,
    )
    tasks = {}

    def report(stage: str, done: int, total: int) -> None:
        if not bars.live.is_started:
            if time.monotonic() - started < QUIET_SECONDS:
                return
            bars.start()
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=total or None)
        bars.update(tasks[stage], completed=done, total=total or None)

    try:
        yield report
    finally:
        if bars.live.is_started:
            bars.stop()


def _plain_lines() -> Progress:
    told = time.monotonic() + QUIET_SECONDS - PLAIN_LINE_SECONDS

    def report(stage: str, done: int, total: int) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told < PLAIN_LINE_SECONDS:
            return
        told = now
        share = f"{100 * done / total:.0f}%" if total else f"{done:,}"
        print(f"{stage}: {share}", file=sys.stderr)

    return report

"""What goes to a person: messages and progress on standard error, results on standard output."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from incrowd.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

QUIET_SECONDS = 2.0  # nothing is shown for work shorter than this
PLAIN_LINE_SECONDS = 5.0  # how often progress is told without a terminal
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
    # work that says nothing for long is shown too: a bar that moves, without a share
    waiting = threading.Timer(QUIET_SECONDS, bars.start)
    waiting.daemon = True
    waiting.start()

    def report(stage: str, done: int, total: int, loss: float | None = None, /) -> None:
        if stage not in tasks:
            for task in tasks.values():
                bars.update(task, visible=False)
            tasks[stage] = bars.add_task(stage, total=total or None, loss="")
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
    """Return a report that prints a line every few seconds, the first after two."""
    told = clock() + QUIET_SECONDS - PLAIN_LINE_SECONDS
    begun: dict[str, float] = {}

    def report(stage: str, done: int, total: int, loss: float | None = None, /) -> None:
        nonlocal told
        now = clock()
        begun.setdefault(stage, now)
        if now - told < PLAIN_LINE_SECONDS:
            return
        told = now
        words = [f"{stage}: {100 * done / total:.0f}%" if total else f"{stage} …"]
        if loss is not None:
            words.append(f"loss {loss:.2%}")
        if 0 < done < total:
            words.append(f"about {(now - begun[stage]) * (total - done) / done:.0f} s left")
        print(", ".join(words), file=sys.stderr)

    return report

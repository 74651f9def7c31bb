"""How far long work is, shown to a person: bars on a terminal or in a notebook, lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from incrowd.errors import JobError
from incrowd.progress import COMPILING, Progress, silent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID


QUIET_SECONDS = 2.0
"""Nothing is shown for work shorter than this."""


@contextmanager
def shown(progress: Progress | bool) -> Iterator[Progress]:
    """Yield the function that reports are sent to: a bar for True, nothing for False."""
    if callable(progress):
        yield progress
    elif progress is True:
        with _for_a_person() as report:
            yield report
    elif progress is False or progress is None:
        yield silent
    else:
        raise JobError(
            f"progress is neither True nor a function but a {type(progress).__name__}",
            remedy="State progress=True for a bar, or a function of stage, done, total and loss.",
        )


@contextmanager
def _for_a_person() -> Iterator[Progress]:
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    # without its widgets a notebook would show every change of a bar as a line of its own
    is_notebook = console.is_jupyter and find_spec("ipywidgets") is not None
    if is_notebook or (sys.stderr.isatty() and not console.is_jupyter):
        with live_bar(console) as report:
            yield report
    else:
        yield plain_lines()


@contextmanager
def live_bar(console: Console) -> Iterator[Progress]:
    """Show a bar per stage on a terminal or in a notebook, with an estimate of the time left."""
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    bars = Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[loss]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
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

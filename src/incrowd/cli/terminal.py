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

    from incrowd.audit import Audit
    from incrowd.flow.release import Release


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


# How an audit looks in a terminal.

SIGNS = {True: "[green]holds[/green]", False: "[bold red]does not hold[/bold red]", None: "note"}
SHOWN_LOSSES = (
    "loss",
    "ncp",
    "nllm",
    "precision",
    "non_uniform_entropy",
    "suppressed_cells",
    "discernibility",
    "average_class_size",
)
SET_LOSSES = {
    "jaccard": "higher is better",
    "suppressed": "share of the entries, lower is better",
    "created": "share of the entries, lower is better",
    "item_error": "mean over items, lower is better",
    "share_ungeneralized": "of the public items, higher is better",
    "mean_part_size": "items that a shown one stands for, lower is better",
    "are_subsets": "mean relative error of random counts, lower is better",
    "log2_utility_loss_unscaled": "logarithm of the utility loss, lower is better",
}
ASSUMED = {
    "rules": "the public items of the stated rules only",
    "km": "up to {m} public items of their own only",
}


def show_release(release: Release[None]) -> None:
    """Show what was published and why it may be trusted; nothing with ``--quiet``."""
    if VERBOSITY.get().is_quiet:
        return
    console, audit = results(), release.audit
    console.print(
        f"[bold green]published[/bold green] [bold]{release.path}[/bold]: "
        f"{audit.crowds}"
        f" ({audit.seconds:.1f} s, {audit.peak_memory_bytes / 2**20:,.0f} MB)"
    )
    _show_promise(console, audit)
    _show_findings(console, audit)
    _show_losses(console, audit)


def show_check(audit: Audit) -> None:
    """Show the verdict first, then each finding; with ``--quiet`` only that it does not hold."""
    console = results()
    is_quiet = VERBOSITY.get().is_quiet
    if is_quiet and audit.holds:
        return
    verdict = "[bold green]holds[/bold green]" if audit.holds else "[bold red]does not hold[/]"
    console.print(f"{verdict}: {audit.crowds}")
    if is_quiet:
        return
    _show_promise(console, audit)
    _show_findings(console, audit)


def show_verified(audit: Audit) -> None:
    """Show what a certificate came to, first of all whether it is signed."""
    signature = audit.finding("signature")
    if signature.holds is None:
        results().print(f"[bold yellow]{signature.summary}[/]")
    show_check(audit)


def _show_promise(console: Console, audit: Audit) -> None:
    stars = audit.guarantee["parameters"].get("stars", "as-wildcard")
    reading = f" (stars {stars})" if audit.quasi else ""
    console.print(
        f"  promise: {audit.guarantee['name']}: {audit.guarantee['claim']}{reading}", markup=False
    )
    if not audit.quasi:
        known = ASSUMED.get(audit.guarantee["name"], "their own lists only")
        known = known.format(**audit.guarantee["parameters"])
        console.print(f"  assumes that people can be known by {known}", markup=False)
        return
    console.print(
        f"  assumes that people can be known by {', '.join(audit.quasi)} only; "
        "no audit can check that choice",
        markup=False,
    )


def _show_findings(console: Console, audit: Audit) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in audit.findings:
        summary = escape(finding.summary)
        if finding.exposed_rows and finding.holds is False:
            rows = ", ".join(str(row) for row in finding.exposed_rows[:10])
            summary += f" (rows {rows}{', …' if len(finding.exposed_rows) > 10 else ''})"
        table.add_row(escape(finding.name), SIGNS[finding.holds], summary)
    console.print(table)


def _show_losses(console: Console, audit: Audit) -> None:
    from rich.table import Table

    from incrowd.measures.losses.tables import METRICS

    table = Table(box=None, padding=(0, 2, 0, 2), show_header=False, title_justify="left")
    for name in SHOWN_LOSSES:
        if name in audit.losses:
            value = audit.losses[name]
            shown = f"{value:.4f}" if abs(value) < 1000 else f"{value:,.0f}"
            table.add_row(name, shown, METRICS[name].direction)
    for name, direction in SET_LOSSES.items():
        if name in audit.losses:
            table.add_row(name, f"{audit.losses[name]:.4f}", direction)
    console.print("  what it cost (all losses: --json)")
    console.print(table)

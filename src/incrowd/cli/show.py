"""How an audit looks in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.cli.terminal import results

if TYPE_CHECKING:
    from rich.console import Console

    from incrowd.audit import Audit
    from incrowd.pipeline import Release

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


def show_release(release: Release) -> None:
    """Show what was published and why it may be trusted."""
    console, audit = results(), release.audit
    console.print(
        f"[bold green]published[/bold green] [bold]{release.path}[/bold]: "
        f"{_crowds(audit)}{_left_out(audit)}"
        f" ({audit.seconds:.1f} s, {audit.peak_memory_bytes / 2**20:,.0f} MB)"
    )
    _show_promise(console, audit)
    _show_findings(console, audit)
    _show_losses(console, audit)


def show_check(audit: Audit) -> None:
    """Show the verdict first, then each finding."""
    console = results()
    verdict = "[bold green]holds[/bold green]" if audit.holds else "[bold red]does not hold[/]"
    console.print(f"{verdict}: {_crowds(audit)}{_left_out(audit)}")
    _show_promise(console, audit)
    _show_findings(console, audit)


def _crowds(audit: Audit) -> str:
    """Say how many rows there are and how large the smallest crowd is, groups or compatible rows.

    Where crowds are compatible rows, groups are merely rows that are written alike.
    """
    for finding in audit.findings:
        if finding.name == "mutual compatibility":
            smallest = finding.figures.get("smallest_crowd", 0)
            return f"{audit.n_rows:,} rows, smallest crowd {smallest}"
    return f"{audit.n_rows:,} rows in {audit.n_groups:,} groups, smallest {audit.smallest_group}"


def _left_out(audit: Audit) -> str:
    return f", {audit.n_suppressed:,} rows suppressed" if audit.n_suppressed else ""


def _show_promise(console: Console, audit: Audit) -> None:
    stars = audit.guarantee["parameters"].get("stars", "as-wildcard")
    console.print(
        f"  promise: {audit.guarantee['name']}: {audit.guarantee['claim']} (stars {stars})",
        markup=False,
    )
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

    from incrowd.metrics.table import METRICS

    table = Table(box=None, padding=(0, 2, 0, 2), show_header=False, title_justify="left")
    for name in SHOWN_LOSSES:
        if name in audit.losses:
            value = audit.losses[name]
            shown = f"{value:.4f}" if abs(value) < 1000 else f"{value:,.0f}"
            table.add_row(name, shown, METRICS[name].direction)
    console.print("  what it cost (all losses: --json)")
    console.print(table)

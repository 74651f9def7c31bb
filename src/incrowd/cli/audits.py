"""How a release and an audit look in a terminal: what everybody needs first, the rest if asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.cli.terminal import VERBOSITY, results

if TYPE_CHECKING:
    from rich.console import Console

    from incrowd.audit import Audit
    from incrowd.flow.overview import Overview
    from incrowd.flow.release import Release
    from incrowd.guarantees.evidence import Finding


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
MAIN_WORDS = {
    "loss": "information loss {:.1f}%",
    "jaccard": "similarity to the original {:.1f}%",
    "share_ungeneralized": "{:.1f}% of the public items unchanged",
}
ASSUMED = {
    "rules": "the public items of the stated rules only",
    "km": "up to {m} public items of their own only",
}
MEASURED = ("risk", "queries", "statistics", "learning", "canonical order")
"""Findings of a run that measure and neither hold nor warn: they are in its documents."""

PROMISED = ("l-diversity", "t-closeness")
"""Findings that are part of the promise besides the first."""

MOST_CELL = 28
"""Characters of a cell that are shown of a sample row."""


def show_release(release: Release[None]) -> None:
    """Show what was published, what became of each column, a few rows and the verdict.

    Findings that hold, further losses and times are for ``--verbose``; nothing with ``--quiet``.
    """
    verbosity = VERBOSITY.get()
    if verbosity.is_quiet:
        return
    console, audit = results(), release.audit
    done = "[bold green]published[/bold green]"
    if not release.is_published:
        done = "[bold yellow]dry run: nothing is published[/bold yellow]; would publish"
    console.print(f"{done} [bold]{release.path}[/bold]: {audit.crowds}")
    if release.overview is not None:
        _show_overview(console, release.overview, audit)
    _show_verdict(console, audit)
    if verbosity.is_verbose:
        _show_findings(console, list(audit.findings))
        _show_losses(console, audit)
        _show_times(console, audit)
        return
    shown = [finding for finding in audit.findings if _must_be_shown(finding)]
    _show_findings(console, shown)
    console.print("  --verbose shows all findings, losses and times; --report draws them")


def show_check(audit: Audit) -> None:
    """Show the verdict first, then each finding that everybody needs; ``--verbose`` shows all.

    With ``--quiet`` only that it does not hold.
    """
    console = results()
    verbosity = VERBOSITY.get()
    if verbosity.is_quiet and audit.holds:
        return
    verdict = "[bold green]holds[/bold green]" if audit.holds else "[bold red]does not hold[/]"
    console.print(f"{verdict}: {audit.crowds}")
    if verbosity.is_quiet:
        return
    _show_promise(console, audit)
    if [finding.name for finding in audit.broken] == ["key"]:
        console.print(
            "  the promise itself was not looked at: what the owner gave (--original, --key, "
            "--aligned) and the release do not agree"
        )
    shown = [
        finding
        for place, finding in enumerate(audit.findings)
        if verbosity.is_verbose
        or place == 0
        or finding.holds is not True
        or finding.name in PROMISED
    ]
    _show_findings(console, shown)
    n_hidden = len(audit.findings) - len(shown)
    if n_hidden:
        noun = "finding holds" if n_hidden == 1 else "findings hold"
        console.print(f"  {n_hidden} further {noun}: --verbose lists them")


def _must_be_shown(finding: Finding) -> bool:
    """Whether a finding of a release is broken or warns."""
    return finding.holds is False or (finding.holds is None and finding.name not in MEASURED)


def _show_overview(console: Console, overview: Overview, audit: Audit) -> None:
    """Show what each column became, and the sample rows."""
    from rich.table import Table

    from incrowd.audit import MAIN_LOSSES

    main = next((name for name in MAIN_LOSSES if name in audit.losses), None)
    told = ""
    if main is not None:
        told = f" ({MAIN_WORDS[main].format(100 * audit.losses[main])})"
    heading = "what each column became" if audit.quasi else "what became of the lists"
    console.print(f"  {heading}{told}", style="bold")
    table = Table(box=None, padding=(0, 0, 0, 4), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for outcome in overview.outcomes:
        table.add_row(_plain(outcome.column), _plain(outcome.words))
    console.print(table)
    if not overview.rows:
        return
    n_rows = f"{len(overview.rows)} of the {audit.n_rows:,} released rows"
    console.print(f"  {n_rows}", style="bold")
    cut = MOST_CELL if audit.quasi else None
    rows = [[_plain(cell[:cut]) for cell in row] for row in overview.rows]
    columns = [_plain(column) for column in overview.columns]
    widths = [max(map(len, cells)) + 4 for cells in zip(columns, *rows, strict=True)]
    if audit.quasi and sum(widths) > console.width:  # a line per column, and rows side by side
        sample = Table(box=None, padding=(0, 0, 0, 4), show_header=False)
        sample.add_column(no_wrap=True, style="dim", min_width=max(map(len, columns)))
        for _ in rows:
            sample.add_column(overflow="ellipsis", no_wrap=True)
        for column, *cells in zip(columns, *rows, strict=True):
            sample.add_row(column, *cells)
    else:
        sample = Table(box=None, padding=(0, 0, 0, 4), header_style="dim")
        for column in columns:
            sample.add_column(column, overflow="ellipsis", no_wrap=True)
        for row in rows:
            sample.add_row(*row)
    console.print(sample)


def _show_verdict(console: Console, audit: Audit) -> None:
    """Tell in a sentence what is promised, that it was checked, and on what assumption."""
    claim = audit.guarantee["claim"]
    console.print(f"  [bold green]verdict: holds[/], checked on the written file: {_plain(claim)}")
    console.print(f"  assumes that {_assumption(audit)}", markup=False)


def _plain(text: str) -> str:
    """Return a text with its brackets as they are, and nothing that moves the cursor."""
    from rich.markup import escape

    return escape("".join(sign if sign.isprintable() else "\ufffd" for sign in text))


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
    console.print(f"  assumes that {_assumption(audit)}", markup=False)


def _assumption(audit: Audit) -> str:
    """Return what an attacker is taken to know, which no audit can check."""
    if audit.quasi:
        known = f"{', '.join(audit.quasi)} only; no audit can check that choice"
    else:
        known = ASSUMED.get(audit.guarantee["name"], "their own lists only")
        known = known.format(**audit.guarantee["parameters"])
    return f"people can be known by {known}"


def _show_findings(console: Console, findings: list[Finding]) -> None:
    if not findings:
        return
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
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


def _show_times(console: Console, audit: Audit) -> None:
    stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in audit.stages.items())
    memory = f"{audit.peak_memory_bytes / 2**20:,.0f} MB"
    console.print(f"  {audit.seconds:.1f} s ({stages}), at most {memory} of memory", markup=False)

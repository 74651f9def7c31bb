"""Help in two tiers: ``--help`` is one screen of common flags, ``--help-all`` has every flag.

Which flags are on the first screen is stated here and nowhere else; all others come from the
fields of a job's parts. ``incrowd explain`` has the words for each of them. First screens are drawn
without Typer and without any command, so that they appear at once.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

HELP_WIDTH = 100
"""Columns of the first screen where standard output is not a terminal."""

PURPOSE = (
    "Anonymize personal data (k-anonymity, l-diversity, t-closeness, …) and verify the file you "
    "publish."
)
FIRST_STEPS = (
    "Start with [bold]incrowd demo[/bold]; then [bold]incrowd init DATA[/bold] on your own file."
)
OPTIONS = {
    "--version": "Show the version.",
    "--install-completion": "Install completion for the current shell.",
    "--show-completion": "Show completion for the current shell, to copy it or customize the "
    "installation.",
    "--help": "Show this message and exit.",
}
SUMMARIES = {
    "demo": "Make sample data, anonymize them, audit the release: the whole product in one "
    "command.",
    "init": "Look at a table and propose roles, hierarchies and a job, with reasons.",
    "run": "Anonymize a table; the release appears under its name only if its audit holds.",
    "check": "Audit a released table, or sets, from any tool, sharing no code with what makes "
    "them.",
    "compare": "Compare releases of one data set over k, methods, metrics, efforts and budgets.",
    "verify-certificate": "Check a release against its certificate: the bytes, the signature, and "
    "the promise again.",
    "hierarchy": "Build, examine and explain the generalization hierarchy of a column.",
    "explain": "Explain a guarantee, method, flag, finding, loss, file format or paper in plain "
    "words.",
}
"""What each command does: the first sentence of its docstring, without importing it."""

TOPICS = {
    "Columns": "Tables",
    "Guarantee": "Guarantee",
    "Method": "Method",
    "Sets": "Sets",
    "Rules": "Transactions",
    "Engine": "Engines",
    "Input": "Reading files",
    "Release": "Release",
    "Documents": "Documents",
}
"""What a part of a job is called where all flags are listed."""


@dataclass(frozen=True)
class Screen:
    """The first screen of a command: what it does, three examples, its flags, its exit status."""

    usage: str
    purpose: str
    examples: tuple[str, ...]
    lines: tuple[tuple[str, str], ...]
    status: str

    @property
    def flags(self) -> list[str]:
        """The flags that the screen names, each once."""
        words = " ".join(flags for flags, _ in self.lines).replace(",", " ").split()
        return [word for word in words if word.startswith("--")]


_COMMON = (
    ("--json, --quiet, --verbose", "Results as JSON; only errors; all findings, losses and times."),
    ("--log-file FILE", "Append stages, notes and errors to this log."),
)

SCREENS = {
    "run": Screen(
        "incrowd run JOB.toml | DATA [FLAGS]",
        "Anonymize data. The release appears under its name only if its audit holds.",
        (
            "incrowd run patients.csv --k 5 --quasi age,sex,zip --sensitive diagnosis --l 3",
            "incrowd run job.toml --k 10 -o k10.csv --report report.html",
            "incrowd run baskets.dat --guarantee smooth --k 8",
        ),
        (
            ("--quasi, --sensitive COLUMNS", "Quasi-identifiers; sensitive attributes: age,zip."),
            ("--insensitive, --identifying", "Columns released unchanged; columns removed."),
            ("--hierarchy COLUMN=HOW", "A file, ranges, intervals:5,10, prefix, dates, flat."),
            ("--k N", "Smallest group of rows that look alike."),
            ("--l N, --t X", "l-diversity and t-closeness of the sensitive attributes."),
            ("--guarantee, --method NAME", "Another promise, another search (incrowd explain)."),
            ("--suppression-limit SHARE", "Maximum share of rows left out, 0 to 1."),
            ("--effort, --seed", "How long the search may take (10s, quick); random seed."),
            ("--missing-values TOKENS", "Further tokens for missing values: '?,NA'."),
            ("-o, --output FILE, --force", "The release; overwrite what is there already."),
            ("--report, --certificate FILE", "Documents of the release and its audit."),
            (
                "--save-job, --policy",
                "Write the job that reproduces this; release as an earlier batch.",
            ),
            ("--dry-run", "Show what would be released, and publish nothing."),
            *_COMMON,
        ),
        "0 published, 2 bad job, data or usage, 3 impossible, 4 audit refused, 130 interrupted",
    ),
    "check": Screen(
        "incrowd check RELEASE [JOB.toml] [FLAGS]",
        "Audit a release from any tool; no code is shared with what makes releases.",
        (
            "incrowd check patients.release.csv --job job.toml",
            "incrowd check patients.release.csv --k 5 --quasi age,sex,zip --risk",
            "incrowd check baskets.release.dat --guarantee smooth --k 8",
        ),
        (
            ("--job JOB.toml", "Roles, hierarchies and guarantee as this job states them."),
            ("--quasi, --sensitive COLUMNS", "Quasi-identifiers; sensitive attributes: age,zip."),
            ("--k N", "Smallest group of rows that look alike."),
            ("--l N, --t X", "l-diversity and t-closeness of the sensitive attributes."),
            ("--guarantee NAME", "Another promise: adaptive, smooth, rules, km, …"),
            ("--stars, --person", "What a * counts as; the column by which groups count people."),
            ("--hierarchy COLUMN=HOW", "How a column was generalized."),
            ("--missing-values TOKENS", "Further tokens for missing values: '?,NA'."),
            ("--original DATA, --key FILE", "The owner's original, and who is in which row."),
            ("--measure, --risk", "What the file achieves; re-identification risk."),
            ("--attack, --utility NAMES", "Attacks to carry out; what the data are good for."),
            ("--composition", "Whom two releases expose together: check FIRST SECOND."),
            ("--report FILE", "Write a report of the check (.html), for the owner."),
            *_COMMON,
        ),
        "0 holds, 1 does not hold (with what is exposed), 2 could not check",
    ),
    "compare": Screen(
        "incrowd compare JOB.toml | DATA [FLAGS]",
        "Compare releases of one data set over k, methods and efforts. Nothing is published.",
        (
            "incrowd compare patients.csv --quasi age,sex,zip --k 2,5,10",
            "incrowd compare job.toml --k 5,20 --method cluster,mondrian --report compare.html",
            "incrowd compare job.toml --k 2,5,10 --at-least-k 5 --predict diagnosis",
        ),
        (
            ("--k NUMBERS", "Values of k: 2,5,10."),
            ("--method, --metric NAMES", "Searches and information losses to compare."),
            ("--effort, --suppression-limit", "Efforts (quick,auto,10s) and budgets to compare."),
            ("--quasi, --sensitive COLUMNS", "Quasi-identifiers; sensitive attributes: age,zip."),
            ("--insensitive, --identifying", "Columns released unchanged; columns removed."),
            ("--hierarchy COLUMN=HOW", "A file, ranges, intervals:5,10, prefix, dates, flat."),
            ("--guarantee NAME", "Another promise: adaptive, smooth, rules, km, …"),
            ("--by LOSS", "The loss to compare by."),
            ("--at-least-k, --knee", "Which point is recommended."),
            ("--predict COLUMN, --queries N", "Models learnt from releases; random count queries."),
            ("-o, --output FILE, --force", "JSON with the results, continued if it exists."),
            ("--report FILE", "Write the comparison as a page (.html)."),
            *_COMMON,
        ),
        "0 compared, 2 bad job, data or usage, 130 interrupted (what was measured is kept)",
    ),
}


def show_screen(screen: Screen) -> None:
    """Print the first screen of a command to standard output."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else HELP_WIDTH, highlight=False)
    console.print(Text(f"Usage: {screen.usage}", style="bold"))
    console.print(Text(screen.purpose))
    console.print(Text("Examples:", style="bold"))
    for example in screen.examples:
        console.print(Text(f"  {example}", style="cyan"), overflow="fold")
    console.print(Text("Flags most people need:", style="bold"))
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for flags, meaning in screen.lines:
        table.add_row(Text(f"  {flags}", style="green"), Text(meaning))
    table.add_row(
        Text("  --help-all", style="green"),
        Text("Every flag, by topic. One flag: incrowd explain --l"),
    )
    console.print(table)
    console.print(Text(f"Exit status: {screen.status}"))


def show_start() -> None:
    """Print what ``incrowd --help`` shows: the purpose, the options and the commands."""
    from rich.console import Console, Group
    from rich.padding import Padding
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    def panel(title: str, table: Table) -> Panel:
        return Panel(table, border_style="dim", title=title, title_align="left")

    options, commands = (
        Table(show_header=False, expand=True, box=None, pad_edge=False) for _ in range(2)
    )
    options.add_column(style="bold cyan", no_wrap=True, width=max(map(len, OPTIONS)) + 8)
    options.add_column(ratio=1)
    for flag, meaning in OPTIONS.items():
        options.add_row(flag, meaning)
    commands.add_column(style="bold cyan", no_wrap=True, width=max(map(len, SUMMARIES)))
    commands.add_column(ratio=10)
    for name, summary in SUMMARIES.items():
        commands.add_row(name, summary)
    usage = Text.assemble(("Usage: ", "yellow"), "incrowd [OPTIONS] COMMAND [ARGS]...")
    console = Console(highlight=False)
    console.print(Padding(usage, 1), style="bold")
    first_steps = Text.from_markup(FIRST_STEPS, style="dim")
    console.print(Padding(Group(PURPOSE, "", first_steps), (0, 1, 1, 1)))
    console.print(panel("Options", options))
    console.print(panel("Commands", commands))

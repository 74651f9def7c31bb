"""The commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer
from typer.core import TyperCommand

from incrowd.cli.check import check_command
from incrowd.cli.compare import compare_command
from incrowd.cli.demo import demo_command
from incrowd.cli.explain.command import explain_command
from incrowd.cli.help import SCREENS, TieredCommand
from incrowd.cli.hierarchy import hierarchy_command
from incrowd.cli.init import init_command
from incrowd.cli.run import run_command
from incrowd.cli.verbosity import with_common_flags
from incrowd.cli.verify import verify_command
from incrowd.version import __version__

app = typer.Typer(
    name="incrowd",
    help="Anonymize personal data (k-anonymity, l-diversity, t-closeness, …) and verify the "
    "file you publish.\n\nStart with [bold]incrowd demo[/bold]; then [bold]incrowd init "
    "DATA[/bold] on your own file.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"incrowd {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


COMMANDS: dict[str, Callable[..., int]] = {
    "demo": demo_command,
    "init": init_command,
    "run": run_command,
    "check": check_command,
    "compare": compare_command,
    "verify-certificate": verify_command,
    "hierarchy": hierarchy_command,
    "explain": explain_command,
}

for _name, _command in COMMANDS.items():
    app.command(
        _name,
        cls=TieredCommand if _name in SCREENS else TyperCommand,
        # a flag is a topic: incrowd explain --l
        context_settings={"ignore_unknown_options": _name == "explain"},
    )(with_common_flags(_name, _command))

"""The commands: listed by name and summary, imported when they are called."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from incrowd.cli.help import FIRST_STEPS, PURPOSE, SCREENS, SUMMARIES, show_start
from incrowd.version import __version__

PLACES = {
    "demo": "incrowd.cli.demo:demo_command",
    "init": "incrowd.cli.init:init_command",
    "run": "incrowd.cli.run:run_command",
    "check": "incrowd.cli.check:check_command",
    "compare": "incrowd.cli.compare:compare_command",
    "verify-certificate": "incrowd.cli.verify:verify_command",
    "hierarchy": "incrowd.cli.hierarchy:hierarchy_command",
    "explain": "incrowd.cli.explain.command:explain_command",
}
"""Where the function of each command is."""

_MARKUP: dict[str, Any] = {"rich_markup_mode": "rich", "pretty_exceptions_enable": False}


class Commands(TyperGroup):
    """The commands as help and shell completion list them; the one that is called is loaded."""

    def __init__(self, **stated: Any) -> None:
        super().__init__(**stated)
        self.commands = {name: TyperCommand(name, help=text) for name, text in SUMMARIES.items()}

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the first screen of all."""
        del ctx, formatter
        show_start()

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load the command that is called."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, found and load_command(str(found.name)), rest


def command_function(name: str) -> Callable[..., int]:
    """Return the function of a command, with the flags that every command has."""
    from incrowd.cli.verbosity import with_common_flags

    module, _, function = PLACES[name].partition(":")
    return with_common_flags(name, getattr(import_module(module), function))


@cache
def load_command(name: str) -> Any:
    """Return a command as Typer runs it."""
    from incrowd.cli.verbosity import TieredCommand

    alone = typer.Typer(add_completion=False, **_MARKUP)
    alone.command(
        name,
        cls=TieredCommand if name in SCREENS else TyperCommand,
        # a flag is a topic: incrowd explain --l
        context_settings={"ignore_unknown_options": name == "explain"},
    )(command_function(name))
    return typer.main.get_command(alone)


app = typer.Typer(
    name="incrowd",
    cls=Commands,
    help=f"{PURPOSE}\n\n{FIRST_STEPS}",
    no_args_is_help=True,
    **_MARKUP,
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

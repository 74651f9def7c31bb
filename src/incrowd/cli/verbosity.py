"""Flags that every command has: how much it says, where its log goes, and all its flags."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand

from incrowd.cli.help import SCREENS, TOPICS, show_screen
from incrowd.cli.terminal import VERBOSITY, Verbosity, say
from incrowd.errors import IncrowdError, InputError, JobError
from incrowd.progress import log
from incrowd.version import __version__

LOG_FORMAT = "%(asctime)s %(name)s %(levelname)s %(message)s"
FIRST_LINE = " incrowd INFO "
"""What the first line of every log of ours has, after its time."""

Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print nothing but errors and refused releases.")
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Also show all findings, losses and times.")
]
LogFile = Annotated[
    Path | None,
    typer.Option(
        help="Append stages, notes, findings and errors to this file; it holds no values of "
        "people's data.",
    ),
]


class TieredCommand(TyperCommand):
    """A command whose ``--help`` is one screen and whose ``--help-all`` lists every flag."""

    def __init__(self, *arguments: Any, **stated: Any) -> None:
        super().__init__(*arguments, **stated)
        for parameter in self.params:
            panel = getattr(parameter, "rich_help_panel", None)
            if panel in TOPICS:
                parameter.rich_help_panel = TOPICS[panel]  # type: ignore[attr-defined]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the first screen."""
        del ctx, formatter
        show_screen(SCREENS[str(self.name)])

    def format_every_flag(self, ctx: Any) -> None:
        """Print every flag by topic, as Typer prints the help of a command."""
        super().format_help(ctx, ctx.make_formatter())


def _show_every_flag(ctx: typer.Context, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        cast(TieredCommand, ctx.command).format_every_flag(ctx)
        raise typer.Exit


HelpAll = Annotated[
    bool,
    typer.Option(
        "--help-all",
        is_eager=True,
        callback=_show_every_flag,
        help="Show every flag, by topic, and exit.",
    ),
]

ADDED: dict[str, tuple[Any, Any]] = {
    "quiet": (Quiet, False),
    "verbose": (Verbose, False),
    "log_file": (LogFile, None),
}


def with_common_flags(name: str, command: Callable[..., int]) -> Callable[..., int]:
    """Return a command that also takes ``--quiet``, ``--verbose`` and ``--log-file``.

    One whose help has a first screen takes ``--help-all`` too.
    """
    signature = inspect.signature(command, eval_str=True)
    added = ADDED | ({"help_all": (HelpAll, False)} if name in SCREENS else {})

    def run(*, quiet: bool, verbose: bool, log_file: Path | None, **stated: Any) -> int:
        stated.pop("help_all", None)
        if quiet and verbose:
            raise JobError("--quiet and --verbose exclude each other", remedy="Give one of them.")
        with ExitStack() as kept:
            kept.enter_context(_speaking(Verbosity(quiet, verbose)))
            kept.enter_context(_notes_of_libraries())
            if log_file is not None:
                kept.enter_context(_logging_to(log_file, name))
            return command(**stated)

    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in signature.parameters.values()
    ]
    parameters += [
        inspect.Parameter(
            flag, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
        )
        for flag, (annotation, default) in added.items()
    ]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__doc__ = command.__doc__
    return run


@contextmanager
def _speaking(verbosity: Verbosity) -> Iterator[None]:
    """Say as much as is asked for while a command runs."""
    kept = VERBOSITY.set(verbosity)
    try:
        yield
    finally:
        VERBOSITY.reset(kept)


class _Notes(logging.Handler):
    """Shows what a part of the code notes outside of any audit, such as where its cache lies."""

    def emit(self, record: logging.LogRecord) -> None:
        say(f"note: {record.getMessage()}")


@contextmanager
def _notes_of_libraries() -> Iterator[None]:
    handler = _Notes(logging.WARNING)
    source = logging.getLogger("incrowd.compiling")
    source.addHandler(handler)
    try:
        yield
    finally:
        source.removeHandler(handler)


@contextmanager
def _logging_to(path: Path, command: str) -> Iterator[None]:
    """Write the log of a command to a file, which is ours alone: another file is refused."""
    _refuse_other_files(path)
    try:
        handler = logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{path}: the log cannot be written ({type(error).__name__})",
            remedy="Name a file in a folder that exists and is writable.",
        ) from None
    handler.setFormatter(logging.Formatter(LOG_FORMAT))
    handler.setLevel(logging.DEBUG)
    level = log.level
    log.setLevel(logging.DEBUG)
    log.addHandler(handler)
    log.info("incrowd %s %s", __version__, command)
    try:
        yield
    except IncrowdError as error:
        log.error("%s (exit %d)", error.text(show_values=False), error.exit_status)
        raise
    except KeyboardInterrupt:
        log.error("interrupted")
        raise
    except BaseException as error:
        if not isinstance(error, SystemExit):
            log.error("internal error (%s)", type(error).__name__)
        raise
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        handler.close()


def _refuse_other_files(path: Path) -> None:
    if not path.exists():
        return
    try:
        with path.open(encoding="utf-8") as file:
            first = file.readline(200)
    except (OSError, UnicodeDecodeError):
        first = "?"
    if first and FIRST_LINE not in first:
        raise InputError(
            f"{path}: exists and is not a log of incrowd",
            remedy="Name another file for --log-file: nothing is overwritten.",
        )

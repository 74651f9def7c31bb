"""The command line: build a job, run it, show the audit."""

from __future__ import annotations

import signal
import sys
import traceback
from typing import NoReturn

from incrowd.errors import AuditError, IncrowdError
from incrowd.progress import TERMINATED

INTERNAL_ERROR, INTERRUPTED = 70, 130


def main() -> NoReturn:
    """Run the command line and leave with its exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    sys.exit(run_with_status(sys.argv[1:]))


def run_with_status(arguments: list[str]) -> int:
    """Run one command; every deliberate error becomes a message and its exit status."""
    import typer

    from incrowd.cli.app import app
    from incrowd.cli.terminal import may_show_values, say

    wants_debug = "--debug" in arguments
    try:
        command = typer.main.get_command(app)
        status = command.main(args=arguments, prog_name="incrowd", standalone_mode=False)
        if status == INTERRUPTED:  # some versions of Typer answer Ctrl-C themselves
            raise KeyboardInterrupt
        return int(status or 0)
    except IncrowdError as error:
        if wants_debug:
            traceback.print_exc()
        if isinstance(error, AuditError) and "--json" in arguments:
            print(error.audit.to_json())
        say(f"incrowd: {error.text(may_show_values(arguments))}", style="bold red")
        return error.exit_status
    except (typer.Abort, KeyboardInterrupt):
        say("incrowd: interrupted, nothing was published", style="bold red")
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except SystemExit:
        raise
    except BaseException as error:  # a panic in a compiled library is no Exception
        if _is_of_usage(error):
            error.show(sys.stderr)  # type: ignore[attr-defined]
            return 2
        if wants_debug:
            traceback.print_exc()
        say(
            f"incrowd: internal error ({type(error).__name__}); nothing was published. "
            "Run again with --debug for details",
            style="bold red",
        )
        return INTERNAL_ERROR


def _is_of_usage(error: BaseException) -> bool:
    """Whether Typer says that the command line is wrong; its class lives elsewhere by version."""
    return any(kind.__name__ == "ClickException" for kind in type(error).__mro__)

"""The command line: build a job, run it, show the audit."""

from __future__ import annotations

import json
import signal
import sys
import traceback
from typing import Any, NoReturn

from incrowd.errors import IncrowdError
from incrowd.progress import TERMINATED
from incrowd.wording import speak_flags

USAGE_ERROR, INTERNAL_ERROR, INTERRUPTED = 2, 70, 130
COULD_NOT_CHECK = "could not check"
STOPPED = "interrupted, nothing was published"


def main() -> NoReturn:
    """Run the command line and leave with its exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    sys.exit(run_with_status(sys.argv[1:]))


def run_with_status(arguments: list[str]) -> int:
    """Run one command; every deliberate error becomes a message and its exit status.

    With ``--json`` the error is printed to standard output as JSON too.
    """
    with speak_flags():
        return _run_with_status(arguments)


def _run_with_status(arguments: list[str]) -> int:
    import typer

    from incrowd.cli.app import app
    from incrowd.cli.terminal import complain, may_show_values

    wants_debug, wants_json = "--debug" in arguments, "--json" in arguments

    def refuse(kind: str, what: str, remedy: str, status: int, **more: Any) -> int:
        if wants_json:
            error = {"kind": kind, "what": what, "remedy": remedy, "exit_status": status}
            audit = more.pop("audit", {})
            print(json.dumps({**audit, "error": {**error, **more}}, indent=2, ensure_ascii=False))
        return status

    try:
        command = typer.main.get_command(app)
        status = command.main(args=arguments, prog_name="incrowd", standalone_mode=False)
        if status == INTERRUPTED:  # some versions of Typer answer Ctrl-C themselves
            raise KeyboardInterrupt
        return int(status or 0)
    except IncrowdError as error:
        if wants_debug:
            traceback.print_exc()
        text = error.text(may_show_values(arguments))
        if _checks(arguments) and not text.startswith(COULD_NOT_CHECK):
            text = f"{COULD_NOT_CHECK}: {text}"
        complain(f"incrowd: {text}")
        return refuse(**error.to_mapping(), status=error.exit_status)
    except (typer.Abort, KeyboardInterrupt):
        complain(f"incrowd: {STOPPED}")
        return refuse("interrupted", STOPPED, "", INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except SystemExit:
        raise
    except BaseException as error:  # a panic in a compiled library is no Exception
        if _is_of_usage(error):
            error.show(sys.stderr)  # type: ignore[attr-defined]
            what = str(error.format_message())  # type: ignore[attr-defined]
            return refuse("usage", what, "Run the command with --help.", USAGE_ERROR)
        if wants_debug:
            traceback.print_exc()
        what = f"internal error ({type(error).__name__}); nothing was published"
        remedy = "Run again with --debug for details"
        complain(f"incrowd: {what}. {remedy}")
        return refuse("internal", what, remedy, INTERNAL_ERROR)


def _checks(arguments: list[str]) -> bool:
    """Whether a command checks: its errors are no verdict, and say so."""
    return arguments[:1] in (["check"], ["verify-certificate"])


def _is_of_usage(error: BaseException) -> bool:
    """Whether Typer says that the command line is wrong; its class lives elsewhere by version."""
    return any(kind.__name__ == "ClickException" for kind in type(error).__mro__)

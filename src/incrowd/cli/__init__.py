"""The command line: build a job, run it, show the audit."""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import Any, NoReturn

USAGE_ERROR, INTERNAL_ERROR, INTERRUPTED = 2, 70, 130
COULD_NOT_CHECK = "could not check"
STOPPED = "interrupted, nothing was published"

GARBAGE_THRESHOLD = 50_000
"""New objects after which cycles are searched: Python's 700 search hundreds of times in imports."""


def main() -> NoReturn:
    """Run the command line and leave with its exit status."""
    arguments = sys.argv[1:]
    if _show_at_once(arguments):
        sys.exit(0)
    from incrowd.progress import TERMINATED

    gc.set_threshold(GARBAGE_THRESHOLD)
    _prepare_packages(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    status = run_with_status(arguments)
    if "duckdb" not in sys.modules:  # which reports objects that are left at the end
        gc.freeze()  # the process ends: nothing that it holds need be searched for cycles
    sys.exit(status)


def _show_at_once(arguments: list[str]) -> bool:
    """Print the version or a first screen of help, if that is asked for: neither needs Typer."""
    from incrowd.cli.help import SCREENS, show_screen, show_start
    from incrowd.version import __version__

    if arguments == ["--version"]:
        print(f"incrowd {__version__}")
        return True
    if arguments == ["--help"]:
        show_start()
    elif arguments[1:] == ["--help"] and arguments[0] in SCREENS:
        show_screen(SCREENS[arguments[0]])
    else:
        return False
    print()
    return True


class _WithoutPandas:
    """Answers that pandas is not installed."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        """Refuse pandas, and leave everything else to the finders that follow."""
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name=name)


def _prepare_packages(arguments: list[str]) -> None:
    """Have pyarrow use the system's memory pool, and take it that pandas is not installed.

    Its own pool keeps what threads have freed: 50 MB more for 32,000 rows, and no time is won. The
    first value that pyarrow converts makes it import pandas, where that is installed, which takes
    as long as all else of a small run; no command hands it frames of pandas. What needs pandas
    (Spark) still imports it, and pyarrow too as soon as it is asked for a frame
    (``engines/spark/session.py``). NumPy is kept from starting threads for linear algebra, of
    which no command has much.
    """
    from incrowd.cli.help import SUMMARIES

    if not arguments or arguments[0] not in SUMMARIES or arguments[0] == "explain":
        return
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import pyarrow as pa

    sys.meta_path.insert(0, _WithoutPandas)
    try:
        pa.scalar(0)
    finally:
        sys.meta_path.remove(_WithoutPandas)


def run_with_status(arguments: list[str]) -> int:
    """Run one command; every deliberate error becomes a message and its exit status.

    With ``--json`` the error is printed to standard output as JSON too.
    """
    from incrowd.wording import speak_flags

    with speak_flags():
        return _run_with_status(arguments)


def _run_with_status(arguments: list[str]) -> int:
    import json
    import traceback

    import typer

    from incrowd.cli.app import app
    from incrowd.cli.terminal import complain, may_show_values
    from incrowd.errors import IncrowdError

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

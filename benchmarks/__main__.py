"""``python -m benchmarks WORKLOAD``: measure time, memory and loss; update the docs from it.

``./dev bench WORKLOAD`` runs it in an environment that has all it needs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from benchmarks.shared.cases import Measured, Workload
from benchmarks.workloads import WORKLOADS, load_results, update_docs
from incrowd.cli.terminal import progress_bar, say
from incrowd.errors import IncrowdError, InputError

RESULTS = Path(__file__).parent / "results"
INSTALLATION = ("python", "user", "place")
"""Options that say which installation the workload ``start`` measures."""


def main(arguments: list[str] | None = None) -> int:
    """Run one workload; every deliberate error becomes a message and its exit status."""
    options = _parser().parse_args(arguments)
    try:
        if not options.only_docs:
            _measure(WORKLOADS[options.workload], options)
        if options.docs is not None:
            update_docs(options.docs, load_results(options.results))
    except IncrowdError as error:
        say(f"benchmarks: {error.text(True)}", style="bold red")
        return error.exit_status
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev bench",
        description="Reproduce the figures of the docs: time, peak memory and loss in one run. "
        "The environment variable INCROWD_DATA names the folder of the data sets.",
        epilog="example: INCROWD_DATA=data ./dev bench tables --docs docs",
    )
    parts = "; ".join(f"{name}: {', '.join(one.parts)}" for name, one in WORKLOADS.items())
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument(
        "--part",
        action="append",
        default=[],
        help=f"measure this part only and keep the others ({parts}); repeatable",
    )
    parser.add_argument(
        "--case",
        action="append",
        default=[],
        help="measure this case only and keep the others, such as times-16; repeatable",
    )
    parser.add_argument(
        "--python",
        default="",
        metavar="PATH",
        help="start: measure the incrowd of this Python, such as that of another environment",
    )
    parser.add_argument(
        "--user",
        default="",
        metavar="NAME",
        help="start: run commands as this user, without a home (needs root)",
    )
    parser.add_argument(
        "--place",
        default="",
        metavar="NAME",
        help="start: the name under which results of another installation are kept",
    )
    parser.add_argument("--small", action="store_true", help="a small version, to try it out")
    parser.add_argument(
        "--results",
        type=Path,
        default=RESULTS,
        metavar="FOLDER",
        help="folder of the results, WORKLOAD.json (default: benchmarks/results)",
    )
    parser.add_argument(
        "--docs", type=Path, metavar="FOLDER", help="update the tables and charts of these pages"
    )
    parser.add_argument(
        "--only-docs", action="store_true", help="measure nothing, only update the docs"
    )
    return parser


def _measure(workload: Workload, options: argparse.Namespace) -> None:
    stated = {name: getattr(options, name) for name in INSTALLATION if getattr(options, name)}
    if stated:
        workload = workload.stating(**stated)
    folder = os.environ.get("INCROWD_DATA", "")
    if not folder and workload.needs_data:
        raise InputError(
            "no data sets to measure on", remedy="Set INCROWD_DATA to the folder of data sets."
        )
    target = options.results / f"{workload.name}.json"
    target.parent.mkdir(parents=True, exist_ok=True)

    def write(measured: Measured) -> None:
        target.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")

    with progress_bar() as progress:
        workload.run(
            Path(folder).resolve(),
            parts=tuple(options.part),
            cases=tuple(options.case),
            is_small=options.small,
            before=json.loads(target.read_text("utf-8")) if target.exists() else None,
            keep=write,
            progress=progress,
        )
    say(f"written: {target}")


if __name__ == "__main__":
    sys.exit(main())

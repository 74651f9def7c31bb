"""``python -m benchmarks WORKLOAD``: measure time, memory and loss; make the docs' tables of it.

``./dev bench WORKLOAD`` runs it in an environment that has all it needs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks import pages
from incrowd.cli.terminal import progress_bar, say
from incrowd.errors import IncrowdError, InputError, JobError

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Workload:
    """What ``benchmarks.NAME`` can measure: its parts, and which flags it takes besides."""

    parts: tuple[str, ...] = ()
    has_cases: bool = False
    has_peers: bool = False


WORKLOADS = {
    "tables": Workload(),
    "compare": Workload(),
    "greedy": Workload(("index", "growth", "paper", "boundary", "peers", "curve"), has_peers=True),
    "adaptive": Workload(("exact", "large", "memory", "searches"), has_cases=True),
    "sets": Workload(
        ("tables", "parameters", "noise", "learning", "scale", "neighbours"), has_cases=True
    ),
    "rules": Workload(
        ("growth", "alpha", "items", "rules", "real", "mined", "km", "plain"), has_cases=True
    ),
    "scale": Workload(
        ("places", "workers", "many", "yardsticks", "lists", "adaptive", "rules", "most"),
        has_cases=True,
    ),
}
PARTS = {name: known.parts for name, known in WORKLOADS.items() if known.parts}


def main(arguments: list[str] | None = None) -> int:
    """Run one workload; every deliberate error becomes a message and its exit status."""
    stated = _parser().parse_args(arguments)
    try:
        _run(stated)
    except IncrowdError as error:
        say(f"benchmarks: {error.text(True)}", style="bold red")
        return error.exit_status
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Reproduce the figures of the docs: time, peak memory and loss in one run. "
        "Data sets are found by the environment variable INCROWD_DATA.",
        epilog="example: INCROWD_DATA=data ./dev bench tables --docs docs",
    )
    parts = "; ".join(f"of {name}: {', '.join(parts)}" for name, parts in PARTS.items())
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument(
        "--results",
        type=Path,
        default=ROOT / "benchmarks" / "results",
        metavar="FOLDER",
        help="where results are written, as WORKLOAD.json (default: benchmarks/results)",
    )
    parser.add_argument(
        "--part",
        action="append",
        default=[],
        help=f"measure this part only, keeping the others ({parts}); repeatable",
    )
    parser.add_argument(
        "--case",
        action="append",
        default=[],
        help="measure this case of adaptive, sets, rules or scale only, keeping the others, such "
        "as adult or times-16; repeatable",
    )
    parser.add_argument("--small", action="store_true", help="a small version, to try it out")
    parser.add_argument(
        "--peers-python",
        metavar="PYTHON",
        help="another Python that has peers installed which this one has not",
    )
    parser.add_argument(
        "--docs", type=Path, metavar="FOLDER", help="update the tables and charts of these pages"
    )
    parser.add_argument(
        "--only-docs", action="store_true", help="measure nothing, only update the docs"
    )
    return parser


def _run(stated: argparse.Namespace) -> None:
    known = WORKLOADS[stated.workload]
    for flag, value, need in (
        ("--part", stated.part, "parts"),
        ("--small", stated.small, "parts"),
        ("--case", stated.case, "has_cases"),
        ("--peers-python", stated.peers_python, "has_peers"),
    ):
        if value and not getattr(known, need):
            able = [name for name, other in WORKLOADS.items() if getattr(other, need)]
            raise JobError(
                f"the workload {stated.workload} takes no {flag}",
                remedy=f"Leave it out, or name a workload that does: {', '.join(able)}.",
            )
    if not stated.only_docs:
        _measure(stated, known)
    if stated.docs is not None:
        _update_docs(stated.docs, stated.results)


def _measure(stated: argparse.Namespace, known: Workload) -> None:
    folder = os.environ.get("INCROWD_DATA")
    if not folder:
        raise InputError(
            "no data sets to measure on", remedy="Set INCROWD_DATA to the folder of data sets."
        )
    target = stated.results / f"{stated.workload}.json"
    stated.results.mkdir(parents=True, exist_ok=True)
    before = json.loads(target.read_text("utf-8")) if target.exists() else None

    def write(measured: dict[str, Any]) -> None:
        target.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")

    module = import_module(f"benchmarks.{stated.workload}.workload")
    given: dict[str, Any] = {}
    if known.parts:
        given |= {"sizes": module.SMALL if stated.small else module.FULL, "before": before}
    if known.has_cases:
        given |= {"cases": tuple(stated.case), "keep": write}
    if known.has_peers:
        given |= {"peers_python": stated.peers_python}
    with progress_bar() as progress:
        wanted = (tuple(stated.part), progress) if known.parts else (progress,)
        measured = module.run(Path(folder), *wanted, **given)
    write(measured)
    say(f"written: {target}")


def _update_docs(docs: Path, results: Path) -> None:
    """Make the tables and charts of the docs anew from all results that are there."""
    found = {path.stem: json.loads(path.read_text("utf-8")) for path in results.glob("*.json")}
    for page in sorted(docs.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        page.write_text(pages.fill(text, found), encoding="utf-8")
    for name, drawing in pages.drawings(found).items():
        (docs / "images").mkdir(exist_ok=True)
        (docs / "images" / name).write_text(drawing, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

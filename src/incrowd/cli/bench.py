"""``incrowd bench``: measure time, memory and loss, and make the docs' tables from it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from incrowd.cli.options import Debug
from incrowd.cli.terminal import progress_bar, say
from incrowd.errors import InputError, JobError, unknown


@dataclass(frozen=True)
class Workload:
    """What ``incrowd.bench.NAME`` can measure: its parts, and which flags it takes besides."""

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
_PARTS_HELP = "; ".join(f"of {name}: {', '.join(parts)}" for name, parts in PARTS.items())


def bench_command(
    workload: Annotated[
        str, typer.Argument(metavar="[WORKLOAD]", help=f"One of: {', '.join(WORKLOADS)}.")
    ] = "tables",
    results: Annotated[
        Path, typer.Option(help="Where results are written, as WORKLOAD.json.")
    ] = Path("benchmarks/results"),
    part: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Measure this part alone, keeping the others ({_PARTS_HELP}). Several times."
        ),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(
            help="Measure this case of adaptive, sets, rules or scale alone, keeping the others, "
            "such as adult or times-16. Several times."
        ),
    ] = None,
    small: Annotated[
        bool, typer.Option("--small", help="A small version of the parts, to try it out.")
    ] = False,
    peers_python: Annotated[
        str | None,
        typer.Option(help="Another Python that has peers installed which this one has not."),
    ] = None,
    docs: Annotated[
        Path | None, typer.Option(help="Make the marked tables of these pages anew.")
    ] = None,
    only_docs: Annotated[
        bool, typer.Option("--only-docs", help="Measure nothing, only make the tables.")
    ] = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Reproduce the figures of the docs: time, peak memory and loss in one run.

    Data sets are found by the environment variable INCROWD_DATA.

    [bold]Example[/bold]

        INCROWD_DATA=data incrowd bench tables --docs docs
    """
    from incrowd.bench import render

    if workload not in WORKLOADS:
        raise unknown("workload", workload, WORKLOADS)
    known = WORKLOADS[workload]
    for flag, is_stated, need in (
        ("--part", part, "parts"),
        ("--small", small, "parts"),
        ("--case", case, "has_cases"),
        ("--peers-python", peers_python, "has_peers"),
    ):
        if is_stated and not getattr(known, need):
            able = [name for name, other in WORKLOADS.items() if getattr(other, need)]
            raise JobError(
                f"the workload {workload} takes no {flag}",
                remedy=f"Leave it out, or name a workload that does: {', '.join(able)}.",
            )
    target = results / f"{workload}.json"
    if not only_docs:
        folder = os.environ.get("INCROWD_DATA")
        if not folder:
            raise InputError(
                "no data sets to measure on", remedy="Set INCROWD_DATA to the folder of data sets."
            )
        results.mkdir(parents=True, exist_ok=True)
        before = json.loads(target.read_text("utf-8")) if target.exists() else None
        parts = tuple(part or ())

        def write(measured: dict[str, Any]) -> None:
            target.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")

        module = import_module(f"incrowd.bench.{workload}")
        given: dict[str, Any] = {}
        if known.parts:
            given |= {"sizes": module.SMALL if small else module.FULL, "before": before}
        if known.has_cases:
            given |= {"cases": tuple(case or ()), "keep": write}
        if known.has_peers:
            given |= {"peers_python": peers_python}
        with progress_bar() as progress:
            wanted = (parts, progress) if known.parts else (progress,)
            measured = module.run(Path(folder), *wanted, **given)
        write(measured)
        say(f"written: {target}")
    if docs is not None:
        _make_pages(render, docs, results)
    return 0


def _make_pages(render: Any, docs: Path, results: Path) -> None:
    """Make the tables and drawings of the docs anew from all results that are there."""
    found = {path.stem: json.loads(path.read_text("utf-8")) for path in results.glob("*.json")}
    for page in sorted(docs.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        page.write_text(render.fill(text, found), encoding="utf-8")
    for name, drawing in render.drawings(found).items():
        (docs / "images").mkdir(exist_ok=True)
        (docs / "images" / name).write_text(drawing, encoding="utf-8")

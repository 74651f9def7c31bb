"""``incrowd bench``: measure time, memory and loss, and make the docs' tables from it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from incrowd.cli.options import Debug
from incrowd.cli.terminal import progress_bar, say
from incrowd.errors import InputError, JobError, unknown

WORKLOADS = ("tables", "greedy", "adaptive")
PARTS = {
    "greedy": ("index", "growth", "paper", "boundary", "peers", "curve"),
    "adaptive": ("exact", "large", "memory", "searches"),
}
_PARTS_HELP = "; ".join(f"of {name}: {', '.join(parts)}" for name, parts in PARTS.items())


def bench_command(
    workload: Annotated[
        str, typer.Argument(metavar="[WORKLOAD]", help=f"One of: {', '.join(WORKLOADS)}.")
    ] = WORKLOADS[0],
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
            help="Measure this case of adaptive alone, keeping the others, such as adult or "
            "payments-first. Several times."
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
    from incrowd.bench import adaptive, greedy, render, tables

    if workload not in WORKLOADS:
        raise unknown("workload", workload, WORKLOADS)
    if workload == "tables" and (part or small):
        raise JobError(
            "--part and --small are of the workloads greedy and adaptive",
            remedy="Leave them out, or say  incrowd bench greedy.",
        )
    if (workload != "greedy" and peers_python) or (workload != "adaptive" and case):
        raise JobError(
            "--peers-python is of the workload greedy, --case of adaptive",
            remedy="Leave it out, or name that workload.",
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

        with progress_bar() as progress:
            if workload == "tables":
                measured = tables.run(Path(folder), progress)
            elif workload == "greedy":
                measured = greedy.run(
                    Path(folder),
                    parts,
                    progress,
                    sizes=greedy.SMALL if small else greedy.FULL,
                    before=before,
                    peers_python=peers_python,
                )
            else:
                measured = adaptive.run(
                    Path(folder),
                    parts,
                    progress,
                    cases=tuple(case or ()),
                    sizes=adaptive.SMALL if small else adaptive.FULL,
                    before=before,
                    keep=write,
                )
        write(measured)
        say(f"written: {target}")
    if docs is not None:
        known = {path.stem: json.loads(path.read_text("utf-8")) for path in results.glob("*.json")}
        for page in sorted(docs.rglob("*.md")):
            text = page.read_text(encoding="utf-8")
            page.write_text(render.fill(text, known), encoding="utf-8")
        if "greedy" in known:
            (docs / "images").mkdir(exist_ok=True)
            for name, drawing in render.drawings(known).items():
                (docs / "images" / name).write_text(drawing, encoding="utf-8")
    return 0

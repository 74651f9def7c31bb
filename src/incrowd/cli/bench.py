"""``incrowd bench``: measure time, memory and loss, and make the docs' tables from it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli.options import Debug
from incrowd.cli.terminal import progress_bar, say
from incrowd.errors import InputError, unknown

WORKLOADS = ("tables",)


def bench_command(
    workload: Annotated[
        str, typer.Argument(metavar="[WORKLOAD]", help=f"One of: {', '.join(WORKLOADS)}.")
    ] = WORKLOADS[0],
    results: Annotated[
        Path, typer.Option(help="Where results are written, as WORKLOAD.json.")
    ] = Path("benchmarks/results"),
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
    from incrowd.bench import render, tables

    if workload not in WORKLOADS:
        raise unknown("workload", workload, WORKLOADS)
    if not only_docs:
        folder = os.environ.get("INCROWD_DATA")
        if not folder:
            raise InputError(
                "no data sets to measure on", remedy="Set INCROWD_DATA to the folder of data sets."
            )
        with progress_bar() as progress:
            measured = tables.run(Path(folder), progress)
        results.mkdir(parents=True, exist_ok=True)
        target = results / f"{workload}.json"
        target.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
        say(f"written: {target}")
    if docs is not None:
        known = {path.stem: json.loads(path.read_text("utf-8")) for path in results.glob("*.json")}
        for page in sorted(docs.rglob("*.md")):
            text = page.read_text(encoding="utf-8")
            page.write_text(render.fill(text, known), encoding="utf-8")
    return 0

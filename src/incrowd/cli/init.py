"""``incrowd init``: look at a file and propose a job for a person to confirm."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli.flags import AsJson, Debug, Force, apply_flags, flags_of, with_flags
from incrowd.cli.terminal import results, say
from incrowd.job.build import build
from incrowd.job.inputs import InputOptions

if TYPE_CHECKING:
    from incrowd.proposing.roles import Proposal


FLAGS = flags_of("input", [InputOptions], "Input")


@with_flags(FLAGS)
def init_command(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The table to look at.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="JOB.toml", help="Write the proposal as a job."),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    debug: Debug = False,  # noqa: ARG001
    **stated: Any,
) -> int:
    """Look at a table and propose roles, hierarchies and a job, with reasons.

    Nothing is decided: read the job, change what is wrong, then run it. In doubt a column is
    proposed as quasi-identifying, never as insensitive.

    [bold]Example[/bold]

        incrowd init patients.csv -o job.toml
    """
    from incrowd.flow.outputs import refuse_overwriting
    from incrowd.job.inputs import read_input
    from incrowd.proposing.job import propose_for_table

    refuse_overwriting([output], [data])
    mapping: dict[str, Any] = {}
    apply_flags(mapping, FLAGS, stated)
    reading = build(InputOptions, mapping.get("input", {}), "input")
    table = read_input(data, reading)
    proposal = propose_for_table(table, data=data, input=reading)
    if as_json:
        print(json.dumps([asdict(part) for part in proposal.proposals], indent=2))
    else:
        _show(data, table.n_rows, proposal.proposals)
    for warning in proposal.warnings:
        say(f"note: {warning}")
    if output is not None:
        from incrowd.workspace import write_atomically

        text = proposal.to_toml(output.absolute().parent)
        write_atomically(output, text, force=force)
        say(f"job written: {output}. Read it, change what is wrong, then: incrowd run {output}")
    elif not as_json:
        say("write it as a job with  -o job.toml")
    return 0


def _show(data: Path, n_rows: int, proposals: Sequence[Proposal]) -> None:
    from rich.markup import escape
    from rich.table import Table as Grid

    grid = Grid(title=f"{data}: {n_rows:,} rows; a proposal to confirm", title_justify="left")
    for heading in ("column", "kind", "proposed role", "sure?", "hierarchy", "because"):
        grid.add_column(heading, overflow="fold")
    for proposal in proposals:
        grid.add_row(
            escape(proposal.column),
            proposal.kind,
            f"[bold]{proposal.role}[/bold]",
            proposal.confidence,
            escape(proposal.hierarchy_spec_text),
            escape("; ".join(proposal.reasons)),
        )
    results().print(grid)

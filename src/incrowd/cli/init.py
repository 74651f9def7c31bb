"""``incrowd init``: look at a file and propose a job for a person to confirm."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli.flags import AsJson, Debug, Force, apply_flags, flags_of, with_flags
from incrowd.cli.terminal import results, say
from incrowd.job.build import build
from incrowd.job.inputs import InputOptions
from incrowd.options import parameters

if TYPE_CHECKING:
    from incrowd.tables.role_proposals import Proposal, TableSummary


FLAGS = flags_of("input", [InputOptions], "Input")
PROPOSED_K = 5


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
    from incrowd.tables.role_proposals import propose_roles, summarize_proposals

    refuse_overwriting([output], [data])
    mapping: dict[str, Any] = {}
    apply_flags(mapping, FLAGS, stated)
    reading = build(InputOptions, mapping.get("input", {}), "input")
    table = read_input(data, reading)
    proposals = propose_roles(table)
    notes = summarize_proposals(table, proposals)
    if as_json:
        print(json.dumps([asdict(proposal) for proposal in proposals], indent=2))
    else:
        _show(data, table.n_rows, proposals)
    for warning in notes.warnings:
        say(f"note: {warning}")
    if output is not None:
        from incrowd.workspace import write_atomically

        text = job_text(data, output, proposals, notes, parameters(reading))
        write_atomically(output, text, force=force)
        say(f"job written: {output}. Read it, change what is wrong, then: incrowd run {output}")
    elif not as_json:
        say("write it as a job with  -o job.toml")
    return 0


def _show(data: Path, n_rows: int, proposals: list[Proposal]) -> None:
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


def job_text(
    data: Path,
    output: Path,
    proposals: list[Proposal],
    notes: TableSummary,
    reading: dict[str, Any],
) -> str:
    """Return a job file with every reason as a comment beside its column."""
    import os

    from incrowd.tables.schema import ROLES

    lines = [
        "# A proposal: confirm every role before you run it.",
        "# Roles: identifying (removed), quasi-identifying (generalized), sensitive (kept,",
        "# protected by l and t), insensitive (kept as it is). Without a role: removed.",
        f"data = {_toml(os.path.relpath(data, output.absolute().parent))}",
    ]
    if notes.person:
        lines.append(f"person = {_toml(notes.person)}  # groups count people, not rows")
    lines += ["", "[roles]"]
    for proposal in proposals:
        reason = "; ".join(proposal.reasons)
        if proposal.role in ROLES:
            stated = f"{_key(proposal.column)} = {_toml(proposal.role)}"
        else:
            stated = f"# {proposal.column}: the {proposal.role}, never released"
        lines.append(f"{stated}  # {proposal.confidence}: {reason}")
    hierarchies = [
        f"{_key(proposal.column)} = {_toml(proposal.hierarchy_spec_text)}"
        for proposal in proposals
        if proposal.role == "quasi-identifying" and proposal.hierarchy_spec_text
    ]
    if hierarchies:
        lines += ["", "[hierarchies]", *hierarchies]
    lines += ["", "[guarantee]", 'name = "k-anonymity"', f"k = {PROPOSED_K}"]
    if notes.k_column:
        lines.append(f"# k_column = {_toml(notes.k_column)}  # everybody their own k")
    if any(proposal.role == "sensitive" for proposal in proposals):
        lines.append("# l = 2  # at least two different sensitive values in every group")
    known = {name: value for name, value in reading.items() if value != []}
    if known:
        lines += ["", "[input]"]
        lines += [f"{name} = {_toml(value)}" for name, value in known.items()]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    import tomli_w

    return tomli_w.dumps({"v": value}).removeprefix("v = ").rstrip("\n")


def _key(name: str) -> str:
    import tomli_w

    return tomli_w.dumps({name: 0}).rpartition(" = ")[0]

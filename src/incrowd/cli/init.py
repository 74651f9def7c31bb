"""``incrowd init``: look at a file and propose a job for a person to confirm."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli.flags import AsJson, Debug, Force, apply_flags, flags_of, with_flags
from incrowd.cli.terminal import may_show_values, progress_bar, results, say
from incrowd.errors import IncrowdError
from incrowd.job.build import build
from incrowd.job.inputs import InputOptions
from incrowd.workspace import output_exists_error

if TYPE_CHECKING:
    from incrowd.proposing.job import JobProposal
    from incrowd.proposing.prediction import Prediction
    from incrowd.proposing.roles import Proposal
    from incrowd.tables.table import Table


FLAGS = flags_of("input", [InputOptions], "Input")


@with_flags(FLAGS)
def init_command(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The table to look at.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="JOB.toml", help="Write the proposal as a job."),
    ] = None,
    force: Force = False,
    yes: Annotated[
        bool,
        typer.Option("--yes", "-y", help="Ask nothing: take the proposal as it is."),
    ] = False,
    predict: Annotated[
        bool,
        typer.Option(help="Estimate how much information the proposed job loses."),
    ] = True,
    as_json: AsJson = False,
    debug: Debug = False,  # noqa: ARG001
    **stated: Any,
) -> int:
    """Look at a table and propose roles, hierarchies and a job, with reasons.

    On a terminal it asks about one column after another: Enter accepts, a letter chooses another
    role, and at the end the job is written. Elsewhere, and with --yes, the proposal is shown and,
    with -o, written with every reason as a comment. In doubt a column is proposed as
    quasi-identifying, never as insensitive.

    [bold]Example[/bold]

        incrowd init patients.csv -o job.toml
    """
    from incrowd.cli.conversation import Quit, converse
    from incrowd.flow.outputs import refuse_overwriting
    from incrowd.job.inputs import read_input
    from incrowd.proposing.job import propose_for_table

    refuse_overwriting([output], [data])
    if output is not None and output.exists() and not force:
        raise output_exists_error(output)
    mapping: dict[str, Any] = {}
    apply_flags(mapping, FLAGS, stated)
    reading = build(InputOptions, mapping.get("input", {}), "input")
    table = read_input(data, reading)
    proposal = propose_for_table(table, data=data, input=reading)

    def estimate(proposed: JobProposal) -> Prediction | None:
        return _estimate(table, proposed) if predict else None

    if not (yes or as_json) and _may_converse():
        for warning in proposal.warnings:
            say(f"note: {warning}")
        try:
            proposal = converse(table, proposal, estimate)
            output = output or _ask_for_path(data)
        except Quit:
            say("nothing was written")
            return 0
        # what it costs was shown and decided upon
        _write(proposal, output, force, ())
        return 0
    if as_json:
        print(json.dumps([asdict(part) for part in proposal.proposals], indent=2))
    else:
        _show(data, table.n_rows, proposal.proposals)
    for warning in proposal.warnings:
        say(f"note: {warning}")
    prediction = estimate(proposal)
    if prediction is not None:
        say(f"note: {prediction.text}")
    if output is not None:
        _write(proposal, output, force, [prediction.text] if prediction is not None else ())
    elif not as_json:
        say("write it as a job with  -o job.toml")
    return 0


def _may_converse() -> bool:
    """Whether somebody sits at a terminal, who may also see values of the table."""
    return sys.stdin.isatty() and may_show_values([])


def _estimate(table: Table, proposal: JobProposal) -> Prediction | None:
    """Return what the job would lose; say why where it would not run."""
    from incrowd.proposing.prediction import predict_loss

    in_doubt = [part.column for part in proposal.proposals if part.confidence == "low"]
    try:
        with progress_bar() as progress:
            return predict_loss(table, proposal.job, in_doubt=in_doubt, progress=progress)
    except IncrowdError as error:
        say(f"note: this job would not run yet: {error.text(show_values=False)}")
        return None


def _ask_for_path(data: Path) -> Path:
    """Return where the job goes: a new file, by default beside the data."""
    from incrowd.cli.conversation import Quit

    proposed = data.with_name(f"{data.name.partition('.')[0]}.job.toml")
    while True:
        try:
            typed = results().input(f"job file [{proposed}] ", markup=False).strip()
        except EOFError:
            raise Quit from None
        path = Path(typed) if typed else proposed
        if path.exists():
            say(f"{path} exists: state another name")
        elif not path.absolute().parent.is_dir():
            say(f"{path.parent}: no such folder")
        else:
            return path


def _write(proposal: JobProposal, path: Path, force: bool, remarks: Iterable[str]) -> None:
    from incrowd.workspace import write_atomically

    write_atomically(path, proposal.to_toml(path.absolute().parent, remarks), force=force)
    say(f"job written: {path}. Read it, change what is wrong, then: incrowd run {path}")


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

"""``incrowd run``: anonymize; the release appears only if its audit holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from incrowd.cli.completion import complete_method
from incrowd.cli.flags import (
    AsJson,
    Bins,
    Bottoms,
    Debug,
    Force,
    GuaranteeName,
    Hierarchies,
    Identifying,
    Insensitive,
    Person,
    Quasi,
    Seed,
    Sensitive,
    Settings,
    ShowValues,
    Tops,
    apply_flags,
    apply_settings,
    stated_files,
    with_flags,
)
from incrowd.cli.job_flags import (
    FILE_FLAGS,
    FLAGS,
    apply_columns,
    read_job_source,
    resolve_from_here,
    sound_job,
)
from incrowd.cli.terminal import progress_bar, say
from incrowd.errors import InputError, ProblemList, unknown
from incrowd.job.job import Job
from incrowd.methods.table import METHODS

ON_INTERRUPT = ("abort", "publish")
ENDING = (
    "interrupted: the search ends as soon as its groups are valid (cluster: at once; other "
    "methods: at their end), then the release is audited and published. "
    "Ctrl-C again aborts: nothing is published"
)


@with_flags(FLAGS)
def run_command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="JOB.toml | DATA", help="Job file, or data: file, folder or address."
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="The release; default: DATA.release.EXT beside DATA. A name that ends in / is a "
            "folder of part files.",
        ),
    ] = None,
    force: Force = False,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    insensitive: Insensitive = None,
    identifying: Identifying = None,
    person: Person = None,
    hierarchy: Hierarchies = None,
    bottom: Bottoms = None,
    top: Tops = None,
    bins: Bins = None,
    guarantee: GuaranteeName = None,
    method: Annotated[
        str | None,
        typer.Option(
            help=f"The search: {', '.join(METHODS)}.",
            rich_help_panel="Method",
            autocompletion=complete_method,
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            help="Show DATA as an earlier release was: the folder that run --save-policy made."
        ),
    ] = None,
    seed: Seed = None,
    settings: Settings = None,
    save_job: Annotated[
        Path | None, typer.Option(help="Write the job that reproduces this release.")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Do everything but publish: read, search, audit, and show what would be released.",
        ),
    ] = False,
    on_interrupt: Annotated[
        str,
        typer.Option(
            help="What Ctrl-C does: abort, or publish what the search has (abort, publish). "
            "A second Ctrl-C always aborts."
        ),
    ] = "abort",
    as_json: AsJson = False,
    show_values: ShowValues = False,  # noqa: ARG001
    debug: Debug = False,  # noqa: ARG001
    **stated: Any,
) -> int:
    """Anonymize a table; the release appears under its name only if its audit holds.

    [bold]Example[/bold]

        incrowd run patients.csv --k 5 --quasi age,sex,zip --sensitive diagnosis --l 3

    Exit status: 0 published, 2 bad job, data or usage, 3 no release can satisfy it,
    4 the audit refused it, 130 interrupted.
    """
    from incrowd.flow.outputs import files_read, files_written, refuse_overwriting
    from incrowd.flow.preflight import problems_of_job
    from incrowd.methods.policy.files import POLICY

    mapping, base = read_job_source(source, policy)
    if output is not None:
        mapping["output"] = resolve_from_here(output, base)
    roles = {
        "quasi": quasi,
        "sensitive": sensitive,
        "insensitive": insensitive,
        "identifying": identifying,
    }
    problems = ProblemList()
    problems.attempt(apply_columns, mapping, roles, person, hierarchy, bottom, top, bins)
    if guarantee is not None and mapping.get("guarantee", {}).get("name") != guarantee:
        mapping["guarantee"] = {"name": guarantee}  # another promise's settings do not carry over
    if method is not None and mapping.get("method", {}).get("name") != method:
        mapping["method"] = {"name": method}  # another method's settings do not carry over
    if seed is not None:
        mapping["seed"] = seed
    stated["costs"] = stated_files(stated["costs"], "--costs", base)
    for flag in FILE_FLAGS:
        if stated[flag] is not None:
            paths = stated[flag]
            stated[flag] = (
                [resolve_from_here(path, base) for path in paths]
                if isinstance(paths, list)
                else resolve_from_here(paths, base)
            )
    apply_flags(mapping, FLAGS, stated)
    problems.attempt(apply_settings, mapping, settings or [])
    if on_interrupt not in ON_INTERRUPT:
        problems.found.append(
            unknown("answer to Ctrl-C", on_interrupt, ON_INTERRUPT, where="--on-interrupt")
        )
    job = sound_job(mapping, base, problems, lambda job: problems_of_job(job, force, save_job))
    stated_in = Path(source) if source.endswith(".toml") else policy and policy / POLICY
    refuse_overwriting([*files_written(job), save_job], [*files_read(job), stated_in])
    return execute(
        job,
        force=force,
        save_job=save_job,
        as_json=as_json,
        publishes=on_interrupt == "publish",
        dry_run=dry_run,
    )


def execute(
    job: Job,
    *,
    force: bool,
    save_job: Path | None,
    as_json: bool,
    publishes: bool = False,
    dry_run: bool = False,
) -> int:
    """Run a job and show its audit; the exit status of success is 0.

    With ``publishes`` the first Ctrl-C ends the search and publishes what it has. With ``dry_run``
    nothing is published.
    """
    from incrowd.cli.audits import show_release
    from incrowd.flow.run import run
    from incrowd.progress import handle_interrupts
    from incrowd.workspace import output_exists_error

    if save_job is not None:
        if save_job.exists() and not force:
            raise output_exists_error(save_job)
        if not save_job.absolute().parent.is_dir():
            raise InputError(f"{save_job.parent}: no such folder", remedy="Make it first.")
    with (
        progress_bar() as progress,
        handle_interrupts(publishes=publishes, notify=lambda: say(ENDING)),
    ):
        release = run(
            job,
            force=force,
            progress=progress,
            save_job=save_job,
            dry_run=dry_run,
            warn=lambda warning: say(f"warning: {warning}", style="yellow"),
        )
    for note in release.audit.notes:
        say(f"note: {note}")
    if save_job is not None and not dry_run:
        say(f"job saved: {save_job}")
    if as_json:
        print(release.to_json())
    else:
        show_release(release)
    return 0

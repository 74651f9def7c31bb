"""``incrowd compare``: a grid of releases of one data set, and the front of loss, k and time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli.completion import complete_column, complete_method
from incrowd.cli.flags import (
    AsJson,
    Bins,
    Bottoms,
    Debug,
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
    split_names,
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
from incrowd.cli.terminal import VERBOSITY, progress_bar, results, say
from incrowd.errors import InputError, JobError, ProblemList
from incrowd.job.documents import NOT_WRITTEN
from incrowd.job.job import Job

if TYPE_CHECKING:
    from incrowd.comparing.comparison import Comparison


VARIED = ("k", "metric", "effort", "suppression_limit")
"""Flags of a job that are lists here."""

JOB_FLAGS = {
    name: flag
    for name, flag in FLAGS.items()
    if flag.field not in (*VARIED, *NOT_WRITTEN) and name != "save_rules"
}
"""The flags of a job but for those that are lists here, and for files that no grid writes."""


@with_flags(JOB_FLAGS)
def compare_command(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(metavar="JOB.toml | DATA", help="Job file, or data: file or folder."),
    ],
    k: Annotated[
        str | None,
        typer.Option("--k", help="Values of k to compare; default: 2,5,10.", show_default=False),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="Methods to compare, comma-separated; default: the job's.",
            autocompletion=complete_method,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="Information losses to search for, comma-separated: loss,ncp."),
    ] = None,
    effort: Annotated[
        str | None, typer.Option(help="Efforts to compare, comma-separated: quick,auto,10s.")
    ] = None,
    suppression_limit: Annotated[
        str | None, typer.Option(help="Suppression limits to compare, comma-separated: 0,0.02.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="JSON file with the results, continued if it exists; default: "
            "DATA.compare.json beside DATA.",
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write the comparison as an HTML report.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="The loss to compare by: any of the audit, or are. Default: loss of tables, "
            "jaccard of sets, are of transactions with rules."
        ),
    ] = None,
    at_least_k: Annotated[
        int | None, typer.Option(help="Recommend the least loss with at least this k.")
    ] = None,
    knee: Annotated[
        float,
        typer.Option(
            help="Without --at-least-k: recommend the largest k that costs at most so much more "
            "loss than the smallest."
        ),
    ] = 0.1,
    predict: Annotated[
        str | None,
        typer.Option(
            help="A published column to predict: models learn it from each release, and are "
            "tested on rows that were held back.",
            autocompletion=complete_column,
        ),
    ] = None,
    queries: Annotated[
        int, typer.Option(help="Number of random count queries per release.")
    ] = 1_000,
    force: Annotated[
        bool, typer.Option("--force", help="Start over, overwriting existing results and report.")
    ] = False,
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
    seed: Seed = None,
    settings: Settings = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,  # noqa: ARG001
    debug: Debug = False,  # noqa: ARG001
    **stated: Any,
) -> int:
    """Compare releases of one data set over k, methods, metrics, efforts and budgets.

    Each is made and audited in a process of its own and removed: nothing is published. What was
    measured is kept, and the same command goes on where it stopped.

    [bold]Example[/bold]

        incrowd compare patients.csv --quasi age,sex,zip --k 2,5,10 --method cluster,mondrian

    Exit status: 0 compared, 2 bad job, data or usage, 130 interrupted (what was measured is kept).
    """
    from incrowd.comparing.comparison import compare
    from incrowd.flow.outputs import default_output, files_read, refuse_overwriting
    from incrowd.flow.preflight import problems_of_data

    mapping, base = read_job_source(source)
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
    if seed is not None:
        mapping["seed"] = seed
    stated["costs"] = stated_files(stated["costs"], "--costs", base)
    for name in FILE_FLAGS:
        if isinstance(stated.get(name), str):
            stated[name] = resolve_from_here(stated[name], base)
    methods = split_names(method)
    own = mapping.get("method", {}).get("name")
    is_own = own in methods if methods else own is not None
    if methods and not is_own:
        mapping["method"] = {"name": methods[0]}  # the job's own settings do not carry over
    ks = problems.attempt(_numbers, k, int, "--k") or [2, 5, 10]
    limits = problems.attempt(_numbers, suppression_limit, float, "--suppression-limit") or []
    mapping.setdefault("guarantee", {})["k"] = ks[0]
    apply_flags(mapping, JOB_FLAGS, stated)
    problems.attempt(apply_settings, mapping, settings or [])
    job = sound_job(mapping, base, problems, problems_of_data)
    if not is_own and "metric" not in mapping.get("method", {}):
        job = _searching_for(job, by or "loss")
    if output is None and job.data is not None:
        released = str(default_output(job.data)).rstrip("/")
        output = Path(released.partition(".release")[0] + ".compare.json")
    stated_in = Path(source) if source.endswith(".toml") else None
    refuse_overwriting([output, report], [*files_read(job), stated_in])
    if report is not None:
        _require_writable(report, force)
    kept = "" if output is None else f"; measured points are kept in {output}"
    try:
        with progress_bar() as progress:
            comparison = compare(
                job,
                ks,
                methods,
                split_names(metric),
                split_names(effort),
                limits,
                by=by,
                predict=predict,
                n_queries=queries,
                at_least_k=at_least_k,
                knee=knee,
                output=output,
                force=force,
                progress=progress,
                words=_publishing_words(context, source),
            )
    except KeyboardInterrupt:
        say(f"incrowd: interrupted{kept}. The same command goes on from there", style="bold red")
        raise
    if report is not None:
        comparison.report(report, force=force)
        say(f"page written: {report}")
    say(f"results: {output}")
    if as_json:
        print(comparison.to_json())
    elif not VERBOSITY.get().is_quiet:
        _show(comparison)
    return 0


OWN_PARAMETERS = (
    *("source", "k", "method", "metric", "effort", "suppression_limit", "output", "report", "by"),
    *("at_least_k", "knee", "predict", "queries", "force", "as_json", "show_values", "debug"),
    *("help_all", "quiet", "verbose", "log_file"),
)
"""Parameters that are about the grid and not about a release of it."""


def _publishing_words(context: typer.Context, source: str) -> list[str]:
    """Return how the command begins that publishes a point: as this one, for what is shared."""
    words = ["incrowd", "run", source]
    for parameter in context.command.params:
        name = parameter.name or ""
        stated_by = context.get_parameter_source(name)
        if stated_by is None or stated_by.name != "COMMANDLINE" or name in OWN_PARAMETERS:
            continue
        value = context.params[name]
        if isinstance(value, bool):
            words.append(parameter.opts[0] if value else parameter.secondary_opts[0])
            continue
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words += [parameter.opts[0], str(one)]
    return words


def _searching_for(job: Job, loss: str) -> Job:
    """Return a job whose method searches for a loss where it can."""
    field = job.method.__dataclass_fields__.get("metric")
    if field is None or loss not in field.metadata["choices"]:
        return job
    method: Any = job.method
    return replace(job, method=replace(method, metric=loss))


def _numbers(text: str | None, kind: type[Any], flag: str) -> list[Any]:
    """Return the numbers of a comma-separated flag."""
    try:
        return [kind(part) for part in split_names(text)]
    except ValueError:
        raise JobError(f"{flag}: not a list of numbers", remedy=f"Write {flag} 2,5.") from None


def _require_writable(path: Path, force: bool) -> None:
    from incrowd.workspace import output_exists_error

    if path.exists() and not force:
        raise output_exists_error(path)
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path.parent}: no such folder", remedy="Make it first.")


def _format_loss(loss: float | None, is_share: bool) -> str:
    from incrowd.comparing.grid import format_loss

    if loss is None:
        return "–"
    return f"{loss:.1%}" if is_share else format_loss(loss, is_share=False)


def _show(comparison: Comparison) -> None:
    from rich.markup import escape
    from rich.table import Table

    from incrowd.comparing.comparison import ONE_ONLY, are_of
    from incrowd.comparing.page import STATUS, loss_title

    console = results()
    labels, on_front, choice = comparison.labels(), set(comparison.front), comparison.choice
    has_learning = any("learning" in one.get("utility", {}) for one in comparison.points)
    is_share, loss = comparison.are_losses_shares, loss_title(comparison.by)
    table = Table(box=None, padding=(0, 1))
    table.add_column("")
    table.add_column("release", overflow="fold")
    names = ["k", loss, "ARE", "seconds", "MB", "smallest"]
    names += ["suppressed", *(["accuracy"] if has_learning else [])]
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for place, result in enumerate(comparison.points):
        mark = "" if place not in on_front else "front"
        if choice is not None and choice.place == place:
            mark = "[bold green]best[/bold green]"
        k = str(result["point"]["k"])
        if result["status"] != "released":
            word = f"[red]{STATUS[result['status']]}[/red]"
            table.add_row("", f"{escape(labels[place])}: {word}", k)
            continue
        lost, are = comparison.loss(result), are_of(result)
        cells = [
            k,
            _format_loss(lost, is_share),
            "–" if are is None else f"{are:.1%}",
            f"{result['seconds']:.2f}",
            f"{result['peak_memory_bytes'] / 2**20:.0f}",
            f"{result['smallest_group']:,}",
            f"{result['n_suppressed']:,}",
        ]
        learning = result["utility"].get("learning")
        if has_learning:
            cells.append(f"{learning['accuracy']:.1%}" if learning else "–")
        table.add_row(mark, escape(labels[place]), *cells)
    console.print(table)
    if choice is None:
        console.print("no point can be recommended", markup=False)
    else:
        console.print(f"{', '.join(comparison.costs)} (least {loss})", markup=False)
        console.print(f"recommended: {choice.reason}", markup=False)
        if comparison.command is not None:
            console.print("publish it with:", markup=False)
            console.print(f"  {comparison.command}", markup=False, soft_wrap=True)
    for place, result in enumerate(comparison.points):
        if result["status"] != "released":
            what = f"{labels[place]} at k {result['point']['k']}"
            say(f"note: {what}: {result['reason']}")
    say(ONE_ONLY)

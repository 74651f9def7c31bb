"""``incrowd check``: audit a file from any tool."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from incrowd.checking.request import Measurements, Request
from incrowd.cli.completion import complete_columns, complete_guarantee
from incrowd.cli.flags import (
    AsJson,
    Bins,
    Bottoms,
    Debug,
    Force,
    Hierarchies,
    Person,
    Quasi,
    Sensitive,
    ShowValues,
    Tops,
    apply_flags,
    apply_limits,
    flags_of,
    split_names,
    stated_bins,
    stated_hierarchies,
    with_flags,
)
from incrowd.encoding.coding import Coding
from incrowd.engines.choice import EngineChoice
from incrowd.errors import InputError, JobError, ProblemList
from incrowd.guarantees.evidence import TABLES
from incrowd.guarantees.table import GUARANTEES, SET_GUARANTEES, TABLE_GUARANTEES
from incrowd.job.accept import build_guarantee
from incrowd.job.build import build
from incrowd.job.inputs import InputOptions, RuleInput, SetInput
from incrowd.job.job import Job, implied_guarantee
from incrowd.measures.options import AttackOptions, CompositionOptions, RiskOptions, UtilityOptions
from incrowd.methods.base import TableMethod
from incrowd.tables.locations import location_name, resolve_location
from incrowd.tables.schema import Schema

if TYPE_CHECKING:
    from incrowd.checking.check import CheckedRelease
    from incrowd.tables.locations import Location


FLAGS = {
    **flags_of("guarantee", GUARANTEES.values(), "Guarantee"),
    **flags_of("sets", [SetInput], "Sets"),
    **flags_of("rules", [RuleInput], "Rules"),
    **flags_of("engine", [EngineChoice], "Engine"),
    **flags_of("input", [InputOptions], "Input"),
    **flags_of("risk", [RiskOptions], "Risk"),
    **flags_of("attacks", [AttackOptions], "Attacks"),
    **flags_of("composition", [CompositionOptions], "Attacks"),
    **flags_of("utility", [UtilityOptions], "Utility"),
}
FILE_FLAGS = (
    *("rules", "weights", "sensitive_items", "row_k", "items"),
    *("population", "other_key", "other_original"),
)
"""Flags that name files."""

PARTS = {"input": InputOptions, "engine": EngineChoice, "sets": SetInput, "rules": RuleInput}
"""The parts of a job that a check takes besides its guarantee and columns."""

HOLDS, DOES_NOT_HOLD = 0, 1


@with_flags(FLAGS)
def check_command(
    released: Annotated[
        str,
        typer.Argument(metavar="RELEASE", help="Release to check: file, folder or address."),
    ],
    other: Annotated[
        str | None,
        typer.Argument(
            metavar="[JOB.toml | SECOND]",
            help="The job that made it, as with --job; or a second release, for --composition.",
        ),
    ] = None,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    person: Person = None,
    hierarchy: Hierarchies = None,
    bottom: Bottoms = None,
    top: Tops = None,
    bins: Bins = None,
    bits: Annotated[
        bool,
        typer.Option(
            "--bits",
            help="The release shows bits (run --mask bit): columns such as sex=F.",
            rich_help_panel="Columns",
        ),
    ] = False,
    pseudonyms: Annotated[
        str | None,
        typer.Option(
            help="The column of random strings that run --pseudonyms added.",
            rich_help_panel="Columns",
        ),
    ] = None,
    accept_insensitive: Annotated[
        str | None,
        typer.Option(
            help="Insensitive columns to accept although they can identify people.",
            rich_help_panel="Columns",
            autocompletion=complete_columns,
        ),
    ] = None,
    guarantee: Annotated[
        str | None,
        typer.Option(
            help=f"The promise to check, of tables: {', '.join(TABLE_GUARANTEES)}; of sets: "
            f"{', '.join(SET_GUARANTEES)}. Default: the job's, or the first.",
            rich_help_panel="Guarantee",
            autocompletion=complete_guarantee,
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            help="(α, k)-anonymity: no sensitive value's share in a group above α.",
            rich_help_panel="Guarantee",
        ),
    ] = None,
    beta: Annotated[
        float | None, typer.Option(help="Basic β-likeness.", rich_help_panel="Guarantee")
    ] = None,
    enhanced_beta: Annotated[
        float | None, typer.Option(help="Enhanced β-likeness.", rich_help_panel="Guarantee")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="δ-disclosure privacy.", rich_help_panel="Guarantee")
    ] = None,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure",
            help="Also report the achieved k, α, l, t, β, δ.",
            rich_help_panel="Guarantee",
        ),
    ] = False,
    risk: Annotated[
        bool,
        typer.Option(
            "--risk",
            help="Also measure re-identification risk, by column and value.",
            rich_help_panel="Risk",
        ),
    ] = False,
    original: Annotated[
        Path | None,
        typer.Option(
            help="Original data, for checks that compare with it.", rich_help_panel="Owner"
        ),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(help="Key file written by run --key.", rich_help_panel="Owner"),
    ] = None,
    aligned: Annotated[
        bool,
        typer.Option(
            help="Row i of the release is row i of the original.", rich_help_panel="Owner"
        ),
    ] = False,
    job: Annotated[
        Path | None,
        typer.Option(
            help="Job file to take roles, hierarchies and guarantee from.", rich_help_panel="Owner"
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write a report of the check (.html), for the owner."),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,  # noqa: ARG001
    debug: Debug = False,  # noqa: ARG001
    **stated: Any,
) -> int:
    """Audit a released table, or sets, from any tool, sharing no code with what makes them.

    [bold]Examples[/bold]

        incrowd check patients.release.csv --job job.toml

        incrowd check patients.release.csv --k 5 --quasi age,sex,zip --sensitive diagnosis --l 3

        incrowd check baskets.release.dat --guarantee smooth --k 8

        incrowd check visits.release.dat --k 5 --rules rules.txt --confidence 0.5

        incrowd check patients.release.csv --k 5 --quasi age,sex,zip --risk --original patients.csv

        incrowd check first.csv second.csv --composition --k 5 --quasi age,sex,zip

    Exit status: 0 holds, 1 does not hold (with what is exposed), 2 could not check.
    """
    from incrowd.checking.check import check_release
    from incrowd.cli.audits import show_check
    from incrowd.cli.terminal import progress_bar
    from incrowd.progress import report_compilation

    if other is not None and other.endswith(".toml"):
        if job is not None:
            raise JobError("two job files are given", remedy="Give one: --job JOB.toml.")
        job, other = Path(other), None
    named = [released, other, original, key, job, *(stated[flag] for flag in FILE_FLAGS)]
    named += [spec.path for spec in stated_hierarchies(hierarchy).values()]
    saved = None if job is None else Job.load(job)
    if report is not None:
        _refuse_report(report, force, [*named, *_files_of(saved)])
    request = _request(
        released,
        saved,
        stated,
        {"quasi": quasi, "sensitive": sensitive, "person": person},
        guarantee=guarantee,
        risk=risk,
        other=other,
        about_columns={
            "hierarchies": stated_hierarchies(hierarchy),
            "bins": stated_bins(bins),
            "coding": _limits(saved, bottom, top),
        },
        has_bits=bits,
        pseudonyms=pseudonyms,
        accepted=tuple(split_names(accept_insensitive)),
        original=original,
        key=key,
        aligned=aligned,
        thresholds={
            name: value
            for name, value in (
                ("alpha", alpha),
                ("beta", beta),
                ("enhanced_beta", enhanced_beta),
                ("delta", delta),
            )
            if value is not None
        },
        measures=measure,
    )
    with progress_bar() as progress, report_compilation(progress):
        checked = check_release(request)
    if report is not None:
        _write_report(report, checked, released, original, force)
    audit = checked.audit
    if as_json:
        print(audit.to_json())
    else:
        show_check(audit)
    return HOLDS if audit.holds else DOES_NOT_HOLD


def _request(
    released: str,
    saved: Job | None,
    stated: dict[str, Any],
    columns: dict[str, str | None],
    *,
    guarantee: str | None,
    risk: bool,
    other: str | None,
    about_columns: dict[str, dict[str, Any]],
    has_bits: bool,
    pseudonyms: str | None,
    accepted: tuple[str, ...],
    **further: Any,
) -> Request:
    """Return what is to be checked: what the job states, and over it what flags state."""
    flags: dict[str, Any] = {}
    problems = ProblemList()
    apply_flags(flags, FLAGS, stated)
    measurements = problems.attempt(lambda: _measurements(flags, risk=risk, other=other))
    for part in ("risk", "attacks", "composition", "utility"):
        flags.pop(part, None)
    name = guarantee or (saved.guarantee.name if saved else "")
    name = name or implied_guarantee({**flags, "data": released})
    mapping: dict[str, Any] = {}
    if saved is not None:
        of_job = saved.to_mapping()
        mapping = {part: of_job.get(part, {}) for part in ("guarantee", "input", "sets", "rules")}
        if mapping["guarantee"].pop("name") != name:
            mapping["guarantee"] = {}  # another promise's settings do not carry over
    for part, values in flags.items():
        mapping[part] = {**mapping.get(part, {}), **values}
    promise = problems.attempt(build_guarantee, name, mapping.get("guarantee", {}))
    request: dict[str, Any] = {"guarantee": promise, "measurements": measurements, **further}
    for part, kind in PARTS.items():
        request[part] = problems.attempt(build, kind, mapping.get(part, {}), part)
    if promise is not None and promise.shape == TABLES:
        request |= problems.attempt(_about_columns, saved, columns, about_columns) or {}
    problems.refuse()
    assert promise is not None
    if promise.shape == TABLES:
        request["accepted"] = accepted or (saved.release.accept_insensitive if saved else ())
        request["pseudonyms"] = pseudonyms or (saved.release.pseudonyms if saved else None)
        request["has_bits"] = has_bits or (
            saved is not None and cast(TableMethod, saved.method).releases_bits
        )
    if saved is not None:
        request["seed"] = saved.seed
    return Request(resolve_location(released), **request)


def _about_columns(
    saved: Job | None, columns: dict[str, str | None], stated: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return roles, hierarchies, bins and codings: the job's, and over them those of flags."""
    roles = {}
    for role in ("quasi", "sensitive"):
        text = columns[role]
        of_job = list(getattr(saved.schema, role)) if saved else []
        roles[role] = split_names(text) if text is not None else of_job
    if not roles["quasi"]:
        raise JobError(
            "no column is quasi-identifying, so there is nothing to check",
            remedy="Name the columns that somebody could know a person by: --quasi age,zip.",
        )
    person = columns["person"] or (saved.schema.person if saved else None)
    return {
        "schema": Schema(roles["quasi"], roles["sensitive"], person=person),
        "hierarchies": {**(saved.hierarchy_specs if saved else {}), **stated["hierarchies"]},
        "bins": {**(saved.bins if saved else {}), **stated["bins"]},
        "coding": stated["coding"],
    }


def _limits(
    saved: Job | None, bottoms: list[str] | None, tops: list[str] | None
) -> dict[str, Coding]:
    coding = {
        column: limits.to_toml() for column, limits in (saved.coding if saved else {}).items()
    }
    apply_limits(coding, bottoms, tops)
    return {column: Coding.from_toml(limits, column) for column, limits in coding.items()}


def _measurements(flags: dict[str, Any], *, risk: bool, other: str | None) -> Measurements:
    """Take what is measured besides the promise out of the flags; refuse what asks for nothing."""
    about_risk = flags.pop("risk", {})
    if about_risk and not risk:
        raise JobError(
            "a threshold, a population or a sampling fraction is stated, and no risk is asked",
            remedy="Add --risk.",
        )
    return Measurements(
        build(RiskOptions, about_risk, "risk") if risk else None,
        build(AttackOptions, flags.pop("attacks", {}), "attacks"),
        build(CompositionOptions, flags.pop("composition", {}), "composition"),
        build(UtilityOptions, flags.pop("utility", {}), "utility"),
        other,
    )


def _refuse_report(path: Path, force: bool, read: Iterable[Location | None]) -> None:
    """Raise before anything is read where a report cannot be written."""
    from incrowd.flow.outputs import refuse_overwriting
    from incrowd.workspace import output_exists_error

    refuse_overwriting([path], read)
    if path.suffix != ".html":
        raise InputError(f"{path}: does not end in .html", remedy="State --report report.html.")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path.parent}: no such folder", remedy="Make it first.")
    if path.exists() and not force:
        raise output_exists_error(path)


def _files_of(job: Job | None) -> list[Location]:
    """Return the files that a job names for a run to read."""
    from incrowd.flow.outputs import files_read

    return [] if job is None else files_read(job)


def _write_report(
    path: Path, checked: CheckedRelease, released: str, original: Location | None, force: bool
) -> None:
    """Write the owner's page of a check, for the owner's eyes: it may show values."""
    from datetime import date

    from incrowd.figures.pages import Heading, owner_page
    from incrowd.report.render import render
    from incrowd.workspace import write_atomically

    heading = Heading(
        title=f"Check of {location_name(released)}",
        date=date.today().isoformat(),
        data="" if original is None else location_name(original),
    )
    page = owner_page(checked.audit, None, checked.material(), heading)
    write_atomically(path, render(page), force=force, private=True)

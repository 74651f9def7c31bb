"""``incrowd check``: audit a file from any tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from incrowd.cli.check_more import More, with_more_of_table
from incrowd.cli.check_report import files_of_job, refuse_report, write_report
from incrowd.cli.check_sets import check_sets_file, is_about_sets
from incrowd.cli.check_tables import TableRequest, check_table
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
from incrowd.errors import JobError
from incrowd.guarantees.table import GUARANTEES, SET_GUARANTEES, TABLE_GUARANTEES, TableGuarantee
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.job.build import build
from incrowd.job.inputs import InputOptions, RuleInput, SetInput
from incrowd.job.job import Job, build_guarantee
from incrowd.measures.attacks.options import AttackOptions, CompositionOptions
from incrowd.measures.risk.options import RiskOptions
from incrowd.measures.utility.options import UtilityOptions
from incrowd.methods.base import TableMethod
from incrowd.tables.locations import is_folder, located
from incrowd.tables.schema import Schema

if TYPE_CHECKING:
    from incrowd.audit import Audit
    from incrowd.cli.check_sets import CheckedSets
    from incrowd.cli.check_tables import CheckedTable


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

HOLDS, DOES_NOT_HOLD = 0, 1


@with_flags(FLAGS)
def check_command(
    released: Annotated[
        str,
        typer.Argument(metavar="RELEASE", help="What to check: a file, a folder or an address."),
    ],
    other: Annotated[
        str | None,
        typer.Argument(metavar="[SECOND]", help="A second release, for --composition."),
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
    accept_insensitive: Annotated[
        str | None,
        typer.Option(
            help="Insensitive columns published although they point at people.",
            rich_help_panel="Columns",
        ),
    ] = None,
    guarantee: Annotated[
        str | None,
        typer.Option(
            help=f"The promise to check, of tables: {', '.join(TABLE_GUARANTEES)}; of sets: "
            f"{', '.join(SET_GUARANTEES)}. Default: the job's, or the first.",
            rich_help_panel="Guarantee",
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
            help="Also print what the file achieves: k, α, l, t, β, δ.",
            rich_help_panel="Guarantee",
        ),
    ] = False,
    risk: Annotated[
        bool,
        typer.Option(
            "--risk",
            help="Also measure how likely people are found, and by which columns and values.",
            rich_help_panel="Risk",
        ),
    ] = False,
    original: Annotated[
        Path | None,
        typer.Option(help="The original data: also what needs them.", rich_help_panel="Owner"),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(help="The key file that run --key wrote.", rich_help_panel="Owner"),
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
            help="Take columns, hierarchies and guarantee from a job.", rich_help_panel="Owner"
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Draw what was found as a page (.html), for the owner's eyes."),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,  # noqa: ARG001
    debug: Debug = False,  # noqa: ARG001
    **stated: Any,
) -> int:
    """Audit a released table, or sets, from any tool, sharing no code with what makes them.

    [bold]Examples[/bold]

        incrowd check patients.release.csv --k 5 --quasi age,sex,zip --sensitive diagnosis --l 3

        incrowd check baskets.release.dat --guarantee smooth --k 8

        incrowd check visits.release.dat --k 5 --rules rules.txt --confidence 0.5

        incrowd check patients.release.csv --k 5 --quasi age,sex,zip --risk --original patients.csv

        incrowd check first.csv second.csv --composition --k 5 --quasi age,sex,zip

    Exit status: 0 holds, 1 does not hold (with what is exposed), 2 could not check.
    """
    named = [released, other, original, key, job, *(stated[flag] for flag in FILE_FLAGS)]
    named += [spec.path for spec in stated_hierarchies(hierarchy).values()]
    if report is not None:
        refuse_report(report, force, [*named, *files_of_job(job)])
    mapping: dict[str, Any] = {}
    apply_flags(mapping, FLAGS, stated)
    location = located(released)
    more = More.stated(mapping, measures_risk=risk, other=other)
    if is_about_sets(Path(released), guarantee, job, mapping):
        of_sets = check_sets_file(
            Path(released),
            guarantee,
            mapping,
            original=original,
            key=key,
            aligned=aligned,
            job=job,
            more=more,
        )
        if report is not None:
            write_report(report, of_sets, force)
        return _told(of_sets, as_json)
    mapping = {}
    specs: dict[str, HierarchySpec] = {}
    coding: dict[str, Any] = {}
    n_bins: dict[str, int] = {}
    if job is not None:
        saved = Job.load(job)
        mapping = {
            section: values
            for section, values in saved.to_mapping().items()
            if section in ("guarantee", "input")
        }
        of_job = mapping["guarantee"].pop("name")
        if guarantee not in (None, of_job):
            mapping["guarantee"] = {}  # another promise's settings do not carry over
        guarantee = guarantee or of_job
        n_bins.update(saved.bins)
        bits = bits or cast(TableMethod, saved.method).masks_bits
        specs.update(saved.hierarchies)
        coding = {column: limits.to_toml() for column, limits in saved.coding.items()}
        quasi_names = split_names(quasi) if quasi is not None else list(saved.schema.quasi)
        sensitive_names = (
            split_names(sensitive) if sensitive is not None else list(saved.schema.sensitive)
        )
        person = person or saved.schema.person
        accept_insensitive = accept_insensitive or ",".join(saved.release.accept_insensitive)
    else:
        quasi_names, sensitive_names = split_names(quasi), split_names(sensitive)
    apply_flags(mapping, FLAGS, stated)
    specs |= stated_hierarchies(hierarchy)
    n_bins |= stated_bins(bins)
    apply_limits(coding, bottom, top)
    if not quasi_names:
        raise JobError(
            "no column is quasi-identifying, so there is nothing to check",
            remedy="Name the columns that somebody could know a person by: --quasi age,zip.",
        )
    stated_guarantee = build_guarantee(guarantee or KAnonymity.name, mapping.get("guarantee", {}))
    promise = cast(TableGuarantee, stated_guarantee)
    schema = Schema(quasi_names, sensitive_names, person=person)
    reading = build(InputOptions, mapping.get("input", {}), "input")
    choice = build(EngineChoice, mapping.get("engine", {}), "engine")
    accepted = tuple(split_names(accept_insensitive))
    thresholds = {"alpha": alpha, "beta": beta, "enhanced_beta": enhanced_beta, "delta": delta}
    if is_folder(location):
        from incrowd.checking.out_of_core import check_spread

        for_files = {
            "--original": original,
            "--report": report,
            "--key": key,
            "--aligned": aligned,
            "--measure": measure,
            "--bits": bits,
            "--person": person,
            "limits": coding,
            "hierarchical t": isinstance(promise, KAnonymity)
            and promise.t is not None
            and promise.t_kind != "equal",
            "personal k": promise.needs_owner,
            **dict.fromkeys(more.asks, True),
            **{f"--{name.replace('_', '-')}": value for name, value in thresholds.items()},
        }
        refused = [name for name, value in for_files.items() if value]
        if refused:
            raise JobError(
                f"a folder is not checked with {', '.join(refused)}",
                remedy="Check one file: such checks hold all rows in memory.",
            )
        audit = check_spread(location, promise, schema, reading, choice, accepted)
        return _told(audit, as_json)
    request = TableRequest(
        Path(location),
        promise,
        schema,
        specs,
        {column: Coding.from_toml(limits, column) for column, limits in coding.items()},
        reading,
        choice,
        n_bins=n_bins,
        is_bit=bits,
        original=original,
        key=key,
        aligned=aligned,
        accepted=accepted,
        thresholds=thresholds,
        measures=measure,
    )
    of_table = with_more_of_table(check_table(request), request, more)
    if report is not None:
        write_report(report, of_table, force)
    return _told(of_table, as_json)


def _told(checked: CheckedTable | CheckedSets | Audit, as_json: bool) -> int:
    """Print what was found and return the exit status that it stands for."""
    from incrowd.audit import Audit

    audit = checked if isinstance(checked, Audit) else checked.audit
    if as_json:
        print(audit.to_json())
    else:
        from incrowd.cli.terminal import show_check

        show_check(audit)
    return HOLDS if audit.holds else DOES_NOT_HOLD

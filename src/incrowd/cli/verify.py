"""``incrowd verify-certificate``: hold a certificate against its release."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli.options import AsJson, Debug, Force, ShowValues
from incrowd.data.locations import is_folder, located
from incrowd.data.schema import Schema
from incrowd.errors import InputError
from incrowd.guarantees.set_table import SET_GUARANTEES
from incrowd.job import InputOptions

if TYPE_CHECKING:
    from incrowd.audit import Audit
    from incrowd.data.table import Table

HOLDS, DOES_NOT_HOLD = 0, 1


def verify_command(
    released: Annotated[str, typer.Argument(metavar="RELEASE", help="The release.")],
    certificate: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE", help="What run --certificate wrote.")
    ],
    public_key: Annotated[
        Path | None, typer.Option(help="Who must have signed it: an Ed25519 public key in PEM.")
    ] = None,
    original: Annotated[
        Path | None, typer.Option(help="The original: is the release made from it?")
    ] = None,
    commitment_key: Annotated[
        Path | None, typer.Option(help="The secret key of a public certificate's commitment.")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Make the public report again, of the release and the certificate."),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,  # noqa: ARG001
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Check a release against its certificate: the bytes, the signature, and the promise again.

    [bold]Example[/bold]

        incrowd verify-certificate patients.release.csv patients.certificate.json

    Exit status: 0 holds, 1 does not hold, 2 could not check.
    """
    from incrowd.cli.show import show_check
    from incrowd.verification import (
        check_bytes,
        check_found_again,
        check_input,
        check_signature,
        read_certificate,
    )

    stated = read_certificate(certificate)
    location = located(released)
    findings = [check_bytes(stated, location), check_signature(certificate, public_key)]
    if original is not None:
        findings.append(check_input(stated, original, commitment_key))
    elif commitment_key is not None:
        raise InputError("a commitment is to an original", remedy="Give --original too.")
    again, why_not = _audited(stated, location)
    if again is not None:
        findings.append(check_found_again(stated, again))
    else:
        findings.append(_only_the_owner(stated, why_not))
    holds = all(finding.holds is not False for finding in findings) and bool(stated["holds"])
    audit = _as_audit(stated, again)
    audit = replace(audit, holds=holds, findings=(*findings, *audit.findings))
    if report is not None:
        _make_report(stated, location, holds, report, force)
    if as_json:
        print(audit.to_json())
    else:
        show_check(audit)
    return HOLDS if audit.holds else DOES_NOT_HOLD


def _audited(certificate: dict[str, Any], location: Any) -> tuple[Audit | None, str]:
    """Audit the release for what the certificate promises, as anyone can, or say why not."""
    promise = certificate["guarantee"]
    try:
        if promise["name"] in SET_GUARANTEES:
            from incrowd.cli.check_more import More
            from incrowd.cli.check_sets import check_sets_file

            mapping = {
                "guarantee": promise["parameters"],
                "sets": {"graph": certificate["reading"]["graph"]},
            }
            nothing_more = More.stated({}, measures_risk=False, other=None)
            checked = check_sets_file(
                Path(location),
                promise["name"],
                mapping,
                original=None,
                key=None,
                aligned=False,
                job=None,
                more=nothing_more,
            )
            return checked.audit, ""
        return _audited_table(certificate, location), ""
    except InputError as error:
        return None, error.what


def _audited_table(certificate: dict[str, Any], location: Any) -> Audit:
    from incrowd import pipeline
    from incrowd.engines.table import EngineChoice
    from incrowd.job import build_guarantee
    from incrowd.spread_check import check_spread

    promise = certificate["guarantee"]
    guarantee = build_guarantee(promise["name"], promise["parameters"])
    if is_folder(location):
        schema = Schema(certificate["reading"]["quasi"], certificate["reading"]["sensitive"])
        reading = _input_options(certificate)
        return check_spread(location, guarantee, schema, reading, EngineChoice(), ())
    table, schema = _table(certificate, location)
    return pipeline.check(table, guarantee, schema, accepted=schema.insensitive)


def _input_options(certificate: dict[str, Any]) -> InputOptions:
    return InputOptions(missing_values=tuple(certificate["reading"]["missing_values"]))


def _table(certificate: dict[str, Any], location: Any) -> tuple[Table, Schema]:
    """Read a released table, and say which of its columns is what."""
    from incrowd import pipeline

    table = pipeline.read_input(Path(location), _input_options(certificate))
    quasi, sensitive = certificate["reading"]["quasi"], certificate["reading"]["sensitive"]
    others = [name for name in table.columns if name not in (*quasi, *sensitive)]
    return table, Schema(quasi, sensitive, others)


def _only_the_owner(certificate: dict[str, Any], why: str) -> Any:
    from incrowd.guarantees.evidence import Finding

    told = f"{certificate['guarantee']['name']} was not checked again: {why}"
    return Finding("found again", None, told)


def _as_audit(certificate: dict[str, Any], again: Audit | None) -> Audit:
    from incrowd.audit import Audit

    if again is not None:
        return again
    return Audit(
        holds=bool(certificate["holds"]),
        guarantee=certificate["guarantee"],
        findings=(),
        quasi=tuple(certificate["quasi"]),
        n_rows=certificate["n_rows"],
        n_groups=certificate["n_groups"],
        smallest_group=certificate["smallest_group"],
    )


def _make_report(
    certificate: dict[str, Any], location: Any, holds: bool, report: Path, force: bool
) -> None:
    """Render the public report of a release that its certificate holds for."""
    from incrowd.figures.public import public_page
    from incrowd.report.render import render
    from incrowd.workspace import write_whole

    if certificate["edition"] != "public":
        raise InputError(
            "a public report is made of a public certificate",
            remedy="Give what run --certificate-for public wrote.",
        )
    if not holds:
        raise InputError(
            "no report is made of a release that its certificate does not hold for",
            remedy="Give the release that the certificate is of.",
        )
    material = _material(certificate, location)
    write_whole(report, render(public_page(certificate, material)), force=force)


def _material(certificate: dict[str, Any], location: Any) -> Any:
    from incrowd.data.set_files import read_sets
    from incrowd.figures.material import SetMaterial, TableMaterial
    from incrowd.set_job import SetInput
    from incrowd.set_pipeline import options_of

    if certificate["guarantee"]["name"] in SET_GUARANTEES:
        stated = SetInput(graph=certificate["reading"]["graph"])
        return SetMaterial(read_sets(Path(location), options_of(stated, InputOptions())))
    return TableMaterial(*_table(certificate, location))

"""``incrowd verify-certificate``: hold a certificate against its release."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli.flags import AsJson, Debug, Force, ShowValues
from incrowd.errors import InputError, JobError
from incrowd.guarantees.table import SET_GUARANTEES
from incrowd.guarantees.transactions.promises import KmAnonymity
from incrowd.job.inputs import InputOptions
from incrowd.tables.locations import is_folder, located
from incrowd.tables.schema import Schema

if TYPE_CHECKING:
    from incrowd.audit import Audit
    from incrowd.tables.table import Table


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

    What the release alone cannot show (a k per person, adaptive, rules, noise) could not be
    checked: it never holds.

    [bold]Example[/bold]

        incrowd verify-certificate patients.release.csv patients.certificate.json

    Exit status: 0 holds, 1 does not hold, 2 could not check.
    """
    from incrowd.checking.verification import (
        check_bytes,
        check_found_again,
        check_input,
        check_signature,
        not_checked,
        read_certificate,
    )
    from incrowd.cli.terminal import show_verified
    from incrowd.flow.outputs import refuse_overwriting
    from incrowd.guarantees.evidence import Finding

    beside = f"{certificate}.sig"
    refuse_overwriting(
        [report], [released, certificate, beside, public_key, original, commitment_key]
    )
    stated = read_certificate(certificate)
    promise = _promise(stated, certificate)
    location = located(released)
    signature = check_signature(certificate, public_key)
    findings = [check_bytes(stated, location), signature]
    if original is not None:
        findings.append(check_input(stated, original, commitment_key))
    elif commitment_key is not None:
        raise InputError("a commitment is to an original", remedy="Give --original too.")
    again: Audit | None = None
    why_not: InputError | None = None
    try:
        again = _audited(stated, promise, location)
        findings.append(check_found_again(stated, again))
    except InputError as error:
        why_not = error
        findings.append(Finding("found again", None, f"was not checked: {error.what}"))
    findings.append(not_checked(stated, again, has_original=original is not None))
    holds = all(finding.holds is not False for finding in findings) and stated["holds"]
    if report is not None:
        is_vouched_for = again is not None or signature.holds is True
        _make_report(stated, location, holds and is_vouched_for, report, force)
    if why_not is not None and holds:
        raise _could_not_check(certificate, promise, why_not, signature.summary)
    audit = _as_audit(stated, again)
    audit = replace(audit, holds=holds, findings=(*findings, *audit.findings))
    if as_json:
        print(audit.to_json())
    else:
        show_verified(audit)
    return HOLDS if audit.holds else DOES_NOT_HOLD


def _promise(certificate: dict[str, Any], path: Path) -> Any:
    """Return the guarantee that a certificate states, refusing one that is none."""
    from incrowd.job.job import build_guarantee

    name, parameters = certificate["guarantee"]["name"], certificate["guarantee"]["parameters"]
    try:
        return build_guarantee(name, parameters)
    except JobError as error:
        raise InputError(
            f"{path}: could not check, since the certificate states no guarantee: {error.what}",
            remedy="Ask its issuer for the file that run --certificate wrote.",
        ) from None


def _could_not_check(path: Path, promise: Any, why: InputError, signature: str) -> InputError:
    """Return the answer where nothing speaks against a certificate and its promise is not shown."""
    what = why.what.removeprefix("could not check: ")
    remedy = why.remedy
    if promise.name not in ("edge-dp", "node-dp"):
        remedy = f"Check the promise with incrowd check, which takes what it needs. {remedy}"
    return InputError(
        f"{path}: could not check {promise.name} on the release alone: {what}. "
        f"The bytes match. The certificate is {signature}",
        remedy=remedy,
    )


def _audited(certificate: dict[str, Any], promise: Any, location: Any) -> Audit:
    """Audit the release for what the certificate promises, as anyone can, or raise why not."""
    from incrowd.checking.verification import why_owner_only

    if promise.name in ("edge-dp", "node-dp"):
        promise.check(None)  # raises: no file shows what noise promises
    owner_only = why_owner_only(certificate)
    if owner_only:
        raise InputError(owner_only, remedy=_AS_OWNER)
    if promise.name in SET_GUARANTEES:
        return _audited_sets(certificate, promise.name, location)
    if not certificate["reading"]["quasi"]:
        raise InputError("the certificate names no quasi-identifying column", remedy=_AS_OWNER)
    return _audited_table(certificate, promise, location)


_AS_OWNER = "As the owner, give it --job, --original and --key."


def _audited_sets(certificate: dict[str, Any], name: str, location: Any) -> Audit:
    from incrowd.cli.check_more import More
    from incrowd.cli.check_sets import check_sets_file

    audit = check_sets_file(
        Path(location),
        name,
        {
            "guarantee": certificate["guarantee"]["parameters"],
            "sets": {"graph": certificate["reading"]["graph"]},
        },
        original=None,
        key=None,
        aligned=False,
        job=None,
        more=More.stated({}, measures_risk=False, other=None),
    ).audit
    if name == KmAnonymity.name and [finding.name for finding in audit.broken] == [name]:
        raise InputError(
            "it holds for public items, and which items are sensitive is not in the release",
            remedy="Name them there with --sensitive-items.",
        )
    return audit


def _audited_table(certificate: dict[str, Any], guarantee: Any, location: Any) -> Audit:
    from incrowd.checking.check import check
    from incrowd.checking.out_of_core import check_spread
    from incrowd.engines.choice import EngineChoice

    if is_folder(location):
        schema = Schema(certificate["reading"]["quasi"], certificate["reading"]["sensitive"])
        reading = _input_options(certificate)
        return check_spread(location, guarantee, schema, reading, EngineChoice(), ())
    table, schema = _table(certificate, location)
    return check(table, guarantee, schema, accepted=schema.insensitive)


def _input_options(certificate: dict[str, Any]) -> InputOptions:
    return InputOptions(missing_values=tuple(certificate["reading"]["missing_values"]))


def _table(certificate: dict[str, Any], location: Any) -> tuple[Table, Schema]:
    """Read a released table, and say which of its columns is what."""
    from incrowd.job.inputs import read_input

    table = read_input(Path(location), _input_options(certificate))
    quasi, sensitive = certificate["reading"]["quasi"], certificate["reading"]["sensitive"]
    others = [name for name in table.columns if name not in (*quasi, *sensitive)]
    return table, Schema(quasi, sensitive, others)


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
    from incrowd.figures.pages import public_page
    from incrowd.report.render import render
    from incrowd.workspace import write_atomically

    if certificate["edition"] != "public":
        raise InputError(
            "a public report is made of a public certificate",
            remedy="Give what run --certificate-for public wrote.",
        )
    if not holds:
        raise InputError(
            "no report is made of a release that its certificate was not found to hold for",
            remedy="Give the release that the certificate is of; where its promise cannot be "
            "checked on the release alone, also --public-key, which shows who vouches for it.",
        )
    material = _material(certificate, location)
    write_atomically(report, render(public_page(certificate, material)), force=force)


def _material(certificate: dict[str, Any], location: Any) -> Any:
    from incrowd.checking.material import SetMaterial, TableMaterial
    from incrowd.job.inputs import SetInput
    from incrowd.sets.files import read_sets

    if certificate["guarantee"]["name"] in SET_GUARANTEES:
        stated = SetInput(graph=certificate["reading"]["graph"])
        return SetMaterial(read_sets(Path(location), stated.reading(InputOptions())))
    return TableMaterial(*_table(certificate, location))

"""``incrowd verify-certificate``: hold a certificate against its release."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli.flags import AsJson, Debug, Force, ShowValues
from incrowd.errors import InputError
from incrowd.tables.locations import Location, resolve_location

if TYPE_CHECKING:
    from incrowd.audit import Audit
    from incrowd.guarantees.table import Guarantee


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
        audit_again,
        check_bytes,
        check_input,
        check_signature,
        compare_with_audit,
        list_unchecked,
        read_certificate,
        read_guarantee,
    )
    from incrowd.cli.terminal import show_verified
    from incrowd.flow.outputs import refuse_overwriting
    from incrowd.guarantees.evidence import Finding

    beside = f"{certificate}.sig"
    refuse_overwriting(
        [report], [released, certificate, beside, public_key, original, commitment_key]
    )
    stated = read_certificate(certificate)
    promise = read_guarantee(stated, certificate)
    location = resolve_location(released)
    signature = check_signature(certificate, public_key)
    findings = [check_bytes(stated, location), signature]
    if original is not None:
        findings.append(check_input(stated, original, commitment_key))
    elif commitment_key is not None:
        raise InputError("a commitment is to an original", remedy="Give --original too.")
    again: Audit | None = None
    why_not: InputError | None = None
    try:
        again = audit_again(stated, promise, location)
        findings.append(compare_with_audit(stated, again))
    except InputError as error:
        why_not = error
        findings.append(Finding("found again", None, f"was not checked: {error.what}"))
    findings.append(list_unchecked(stated, again, has_original=original is not None))
    holds = all(finding.holds is not False for finding in findings) and stated["holds"]
    if report is not None:
        is_vouched_for = again is not None or signature.holds is True
        _make_report(stated, promise, location, holds and is_vouched_for, report, force)
    if why_not is not None and holds:
        raise _could_not_check(certificate, promise, why_not, signature.summary)
    audit = _as_audit(stated, again)
    audit = replace(audit, holds=holds, findings=(*findings, *audit.findings))
    if as_json:
        print(audit.to_json())
    else:
        show_verified(audit)
    return HOLDS if audit.holds else DOES_NOT_HOLD


def _could_not_check(path: Path, promise: Guarantee, why: InputError, signature: str) -> InputError:
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
    certificate: dict[str, Any],
    promise: Guarantee,
    location: Location,
    holds: bool,
    report: Path,
    force: bool,
) -> None:
    """Render the public report of a release that its certificate holds for."""
    from incrowd.checking.verification import public_material
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
    material = public_material(certificate, promise, location)
    write_atomically(report, render(public_page(certificate, material)), force=force)

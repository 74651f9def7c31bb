"""``incrowd verify-certificate``: hold a certificate against its release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli.flags import AsJson, Debug, Force, ShowValues
from incrowd.errors import InputError
from incrowd.tables.locations import Location, resolve_location

if TYPE_CHECKING:
    from incrowd.checking.verification import Verified


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
    from incrowd.checking.verification import verify
    from incrowd.cli.audits import show_verified
    from incrowd.flow.outputs import refuse_overwriting

    beside = f"{certificate}.sig"
    refuse_overwriting(
        [report], [released, certificate, beside, public_key, original, commitment_key]
    )
    verified = verify(released, certificate, original, public_key, commitment_key)
    if report is not None:
        _make_report(verified, resolve_location(released), report, force)
    if verified.could_not_check is not None:
        raise verified.could_not_check
    if as_json:
        print(verified.audit.to_json())
    else:
        show_verified(verified.audit)
    return HOLDS if verified.audit.holds else DOES_NOT_HOLD


def _make_report(verified: Verified, location: Location, report: Path, force: bool) -> None:
    """Render the public report of a release that its certificate holds for."""
    from incrowd.checking.verification import public_material
    from incrowd.figures.pages import public_page
    from incrowd.report.render import render
    from incrowd.workspace import write_atomically

    certificate = verified.certificate
    if certificate["edition"] != "public":
        raise InputError(
            "a public report is made of a public certificate",
            remedy="Give what run --certificate-for public wrote.",
        )
    if not (verified.audit.holds and verified.is_vouched_for):
        raise InputError(
            "no report is made of a release that its certificate was not found to hold for",
            remedy="Give the release that the certificate is of; where its promise cannot be "
            "checked on the release alone, also --public-key, which shows who vouches for it.",
        )
    material = public_material(certificate, verified.promise, location)
    write_atomically(report, render(public_page(certificate, material)), force=force)

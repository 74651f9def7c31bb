"""What is written about a release, beside it: a report, a certificate, a signature."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from incrowd.errors import JobError, unknown
from incrowd.options import option

EDITIONS = ("owner", "public")
FILES = ("report", "certificate", "commitment_key", "sign_key")
"""The fields that name files; all but the last are written."""


@dataclass(frozen=True)
class Documents:
    """The documents that a job asks for, and for whom."""

    report: str | None = option(
        None, help="Write a page that shows the release and its audit to this file (.html)."
    )
    report_for: str = option(
        "owner",
        help="Whom the report is for: the owner, with values and figures of the original, or "
        "anyone.",
        choices=EDITIONS,
    )
    certificate: str | None = option(
        None, help="Write what was promised, found and checked to this file (.json)."
    )
    certificate_for: str = option(
        "owner",
        help="Whom the certificate is for: the owner, with all hashes and the job, or anyone.",
        choices=EDITIONS,
    )
    commitment_key: str | None = option(
        None,
        help="Have the public certificate commit to the input, under a new secret key that is "
        "written to this file (mode 0600).",
    )
    sign_key: str | None = option(
        None,
        help="Sign the certificate with the Ed25519 key in this PEM file; the signature lies "
        "beside it (.sig).",
    )

    @property
    def written_files(self) -> list[Path]:
        """The files that the documents are written to."""
        stated = [self.report, self.certificate, self.commitment_key]
        if self.certificate and self.sign_key:
            stated.append(self.certificate + ".sig")
        return [Path(path) for path in stated if path]

    def refuse_contradictions(self) -> None:
        """Raise where the documents do not fit together."""
        for field in ("report_for", "certificate_for"):
            if getattr(self, field) not in EDITIONS:
                raise unknown("edition", getattr(self, field), EDITIONS, where=f"[release] {field}")
        for name, ending in (("report", ".html"), ("certificate", ".json")):
            stated = getattr(self, name)
            if stated is not None and not stated.endswith(ending):
                raise JobError(
                    f"[release] {name}: the file's name does not end in {ending}",
                    remedy=f"State --{name} {name}{ending}, for example.",
                )
        if self.sign_key and not self.certificate:
            raise JobError("what is signed is a certificate", remedy="State --certificate too.")
        if self.commitment_key and (not self.certificate or self.certificate_for != "public"):
            raise JobError(
                "a commitment to the input is part of a public certificate",
                remedy="State --certificate FILE.json --certificate-for public too.",
            )
        paths = [path.absolute() for path in self.written_files]
        if len(set(paths)) < len(paths):
            raise JobError("two documents have one name", remedy="Name them differently.")

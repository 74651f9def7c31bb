"""Release: data that passed its audit."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from incrowd.audit import Audit
from incrowd.errors import AuditError, InputError
from incrowd.flow.publication import DocumentSource, Publication, place_documents
from incrowd.job.documents import Documents
from incrowd.job.job import Job
from incrowd.tables.locations import Location


@dataclass(frozen=True)
class Release:
    """Data that passed its audit, and the audit. ``path`` is set where it was written to a file.

    ``job`` makes this very release again: what the stated job left open is settled in it.
    """

    data: Any
    audit: Audit
    path: Location | None = None
    job: Job | None = None
    source: DocumentSource | None = field(default=None, repr=False, compare=False)

    def report(self, path: str | Path, *, edition: str = "owner", force: bool = False) -> Path:
        """Write a page that shows the release and its audit; with values, unless it is public."""
        self._write(force, report=str(path), report_for=edition)
        return Path(path)

    def certificate(self, path: str | Path, *, edition: str = "owner", force: bool = False) -> Path:
        """Write what was promised, found and checked as JSON; hashes too, unless it is public."""
        self._write(force, certificate=str(path), certificate_for=edition)
        return Path(path)

    def _write(self, force: bool, **stated: Any) -> None:
        documents = Documents(**stated)
        documents.refuse_contradictions()
        if self.source is None:
            raise InputError(
                "what documents are made of was not kept with this release",
                remedy="Ask for them in the job: release = ReleaseOptions(report=...).",
            )
        with Publication(force=force) as publication:
            place_documents(publication, documents, self.source.appraised(documents))


def refuse_broken(audit: Audit) -> None:
    """Raise AuditError unless the audit holds."""
    if not audit.holds:
        reasons = "; ".join(f"{finding.name}: {finding.summary}" for finding in audit.broken)
        raise AuditError(
            f"the audit refused the release: {reasons}",
            audit=audit,
            remedy="Nothing was published."
            + (
                " Leave such columns out, or release them all the same with --accept-insensitive."
                if {"unique rows", "stand-in"} & {finding.name for finding in audit.broken}
                else ""
            ),
        )

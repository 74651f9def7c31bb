"""Release: data that passed its audit."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from incrowd.audit import Audit
from incrowd.errors import AuditError, InputError
from incrowd.flow.publication import DocumentSource, Publication, place_documents
from incrowd.job.documents import Documents
from incrowd.job.job import Job
from incrowd.summaries import Summarized, verdict
from incrowd.tables.locations import Location

Data = TypeVar("Data")


@dataclass(frozen=True, repr=False)
class Release(Summarized, Generic[Data]):
    """Data that passed its audit, and the audit. ``path`` is set where it was written to a file.

    ``job`` makes this very release again: what the stated job left open is settled in it. What
    documents are made of, the original among it, is not pickled with a release.
    """

    data: Data
    audit: Audit
    path: Location | None = None
    job: Job | None = None
    source: DocumentSource | None = field(default=None, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "source": None}

    def _title(self) -> str:
        where = f", {self.path}" if self.path is not None else ""
        return f"Release{where}: {self.audit.guarantee['name']} {verdict(self.audit.holds)}"

    def _facts(self) -> list[tuple[str, str]]:
        return self.audit._facts()

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
                remedy="Ask for them in the job: release=ic.ReleaseOptions(report=...).",
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

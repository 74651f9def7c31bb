"""Release: data that passed its audit; and what every flow does on the way there."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from incrowd.audit import Audit
from incrowd.errors import AuditError, InputError
from incrowd.flow.publication import Told, documents_written, with_appraisal
from incrowd.guarantees.evidence import Finding
from incrowd.job.documents import Documents
from incrowd.job.job import Job, parameters
from incrowd.job.set_job import SetJob
from incrowd.progress import Progress
from incrowd.tables.table import Location


@dataclass(frozen=True)
class Release:
    """Data that passed its audit, and the audit. ``path`` is set where it was written to a file.

    ``job`` makes this very release again: what the stated job left open is settled in it.
    """

    data: Any
    audit: Audit
    path: Location | None = None
    job: Job | SetJob | None = None
    told: Told | None = field(default=None, repr=False, compare=False)

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
        if self.told is None:
            raise InputError(
                "what documents are made of was not kept with this release",
                remedy="Ask for them in the job: release = ReleaseOptions(report=...).",
            )
        told = with_appraisal(documents, self.told)
        with documents_written(documents, told, force=force):
            pass


STAGES = {
    "read": "reading",
    "encode": "encoding",
    "search": "searching",
    "decode": "putting rows in order",
    "write": "writing",
    "audit": "auditing",
}


@dataclass
class Stages:
    """How long each stage took; its beginning is told."""

    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        self.progress(STAGES[name], 0, 0)
        started = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - started, 4)


def promise_of(guarantee: Any) -> dict[str, Any]:
    """Return a guarantee as an audit tells it."""
    return {
        "name": guarantee.name,
        "claim": guarantee.claim,
        "parameters": parameters(guarantee),
    }


def audit_of(
    guarantee: Any,
    findings: list[Finding],
    n_rows: int,
    started: float,
    losses: dict[str, float] | None = None,
) -> Audit:
    """Return the audit of released sets that these findings and losses make.

    Groups are told where the first finding counts them.
    """
    first = findings[0].figures
    return Audit(
        holds=all(finding.holds is not False for finding in findings),
        guarantee=promise_of(guarantee),
        findings=tuple(findings),
        losses=losses or {},
        n_rows=n_rows,
        n_groups=int(first.get("n_groups", 0)),
        smallest_group=int(first.get("smallest_group", 0)),
        seconds=round(time.perf_counter() - started, 4),
        peak_memory_bytes=peak_memory(),
    )


def timed(audit: Audit, stages: Stages) -> Audit:
    """Return the audit with the time that the flow took."""
    total = round(sum(stages.seconds.values()), 4)
    return replace(audit, seconds=total, stages=dict(stages.seconds))


def signed(audit: Audit, release_hash: str, input_hash: str) -> Audit:
    """Return the audit with the hashes of what was written and of what was read."""
    return replace(audit, release_sha256=release_hash, input_sha256=input_hash)


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


def peak_memory() -> int:
    """Return the most bytes that this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024

"""Release: data that passed its audit."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from incrowd.audit import Audit
from incrowd.errors import AuditError, InputError
from incrowd.flow.former_releases import NAME as FORMER_RELEASE
from incrowd.flow.publication import DocumentSource, Publication, place_documents
from incrowd.forks import refuse_lost_threads
from incrowd.job.documents import Documents
from incrowd.job.job import Job
from incrowd.summaries import Summarized, html_table, verdict
from incrowd.tables.locations import Location

if TYPE_CHECKING:
    from incrowd.flow.overview import Overview
    from incrowd.report.plot import Plot


Data = TypeVar("Data")


@dataclass(frozen=True, repr=False)
class Release(Summarized, Generic[Data]):
    """Data that passed its audit, and the audit. ``path`` is set where it was written to a file.

    ``job`` makes this very release again: what the stated job left open is settled in it.
    ``overview`` says what each column became and has a few released rows. Of a dry run
    ``is_published`` is False, and nothing is at ``path``. What
    documents are made of, the original among it, is not pickled with a release.
    """

    data: Data
    audit: Audit
    path: Location | None = None
    job: Job | None = None
    source: DocumentSource | None = field(default=None, compare=False)
    overview: Overview | None = field(default=None, compare=False)
    is_published: bool = True

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "source": None}

    def _title(self) -> str:
        where = f", {self.path}" if self.path is not None else ""
        what = "Release" if self.is_published else "Dry run of a release"
        return f"{what}{where}: {self.audit.guarantee['name']} {verdict(self.audit.holds)}"

    def _verdict(self) -> bool | None:
        return self.audit.holds

    def _facts(self) -> list[tuple[str, str]]:
        return self.audit._facts()

    def to_json(self) -> str:
        """Return the audit as indented JSON; that of a dry run says so."""
        if self.is_published:
            return self.audit.to_json()
        return json.dumps({"dry_run": True, **self.audit.to_dict()}, indent=2, ensure_ascii=False)

    def _more_html(self) -> str:
        overview = self.overview
        if overview is None:
            return ""
        became = [(each.column, each.words) for each in overview.outcomes]
        parts = [html_table(("column", "what it became"), became, "What each column became")]
        if overview.rows:
            said = f"{len(overview.rows)} released rows"
            parts.append(html_table(overview.columns, overview.rows, said))
        return "".join(parts)

    def report(
        self,
        path: str | Path,
        *,
        edition: str = "owner",
        force: bool = False,
        title: str | None = None,
        note: str | None = None,
        date: str | None = None,
    ) -> Path:
        """Write a page that shows the release and its audit; with values, unless it is public.

        ``title`` and ``note`` are your own words, ``date`` is written YYYY-MM-DD. What a public
        page says its public certificate must say too: state the same words for both.
        """
        words = {"report_title": title, "report_note": note, "report_date": date}
        self._write(force, report=str(path), report_for=edition, **words)
        return Path(path)

    def certificate(
        self,
        path: str | Path,
        *,
        edition: str = "owner",
        force: bool = False,
        title: str | None = None,
        note: str | None = None,
        date: str | None = None,
    ) -> Path:
        """Write what was promised, found and checked as JSON; hashes too, unless it is public.

        ``title``, ``note`` and ``date`` are those of the public report, where they are stated.
        """
        words = {"report_title": title, "report_note": note, "report_date": date}
        self._write(force, certificate=str(path), certificate_for=edition, **words)
        return Path(path)

    def plot(self, what: str | None = None) -> Plot:
        """Return a chart of the release beside its original, which a notebook shows.

        Of a table: what each quasi-identifying column lost or, with a column's name, its values
        before and after. Of sets and transactions: ``"entries"``, ``"items"`` or ``"sizes"``. It
        may show values of the original: it is for you. ``plot().save("losses.svg")`` writes it.
        Of a release in a file, or one that was pickled, the original is not known: then it shows
        which share of each column is as it was and which is suppressed.
        """
        from incrowd.figures.plots import outcome_chart, release_chart
        from incrowd.report.plot import Plot

        if self.source is None and what is None and self.overview is not None:
            return Plot(outcome_chart(self.overview.outcomes))
        source = self._kept_source()
        if source.material is None:
            raise InputError(
                "a chart looks at all rows of the release, and these stay where they lie",
                remedy="Make one of a part that fits into memory.",
            )
        return Plot(release_chart(self.audit, source.material(), what))

    def _write(self, force: bool, **stated: Any) -> None:
        documents = Documents(**stated)
        documents.refuse_contradictions()
        source = self._kept_source()
        with Publication(force=force) as publication:
            place_documents(publication, documents, source.appraised(documents))

    def _kept_source(self) -> DocumentSource:
        if self.source is None:
            raise InputError(
                "what documents and charts are made of was not kept with this release: it was "
                "written to a file, or pickled",
                remedy="Ask for a report in the job: release=ic.ReleaseOptions(report=...), or "
                "anonymize a frame, and make charts before pickling.",
            )
        refuse_lost_threads()
        return self.source


def refuse_broken(audit: Audit) -> None:
    """Raise AuditError unless the audit holds."""
    if not audit.holds:
        reasons = "; ".join(f"{finding.name}: {finding.summary}" for finding in audit.broken)
        remedy, names = "Nothing was published.", [finding.name for finding in audit.broken]
        if {"unique rows", "stand-in"} & set(names):
            remedy += (
                " Leave such columns out, or release them all the same with --accept-insensitive."
            )
        if any(name.startswith(FORMER_RELEASE) for name in names):
            remedy += (
                " Leave those people's rows out with --repeated-people exclude, or publish it if "
                "both releases together expose nobody, with --repeated-people compare."
            )
        raise AuditError(f"the audit refused the release: {reasons}", audit=audit, remedy=remedy)

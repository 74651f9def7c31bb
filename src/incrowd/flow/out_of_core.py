"""Tables whose rows stay on an engine, larger than memory or on Spark: their steps in the flow.

Rows are counted where they lie, distinct rows (or the codes of all rows, where more than one k
counts) are searched here, each block is generalized where it is and proven against its original
there, and what was written is audited by counts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.audit import Audit
from incrowd.checking.certificates import Reading as CertificateReading
from incrowd.checking.examine import K_OF_ROW
from incrowd.checking.out_of_core import Expected, Fingerprint, examine_rows, fingerprint
from incrowd.encoding.rows import Rows
from incrowd.engines.base import Blocks, OutOfCoreEngine, ReadOptions, ReleaseFolder
from incrowd.engines.choice import disk_engine
from incrowd.errors import DataError, EngineError, InputError
from incrowd.flow.adapter import Candidate, Checked
from incrowd.flow.assignment import (
    LEFT_OUT,
    WITH_OWN_K,
    Generalization,
    Shown,
    generalize_blocks,
)
from incrowd.flow.conditions import refuse_infeasible
from incrowd.flow.distinct_rows import DistinctRows, count_distinct_rows, derive_blocks
from incrowd.flow.outputs import Target, for_excel
from incrowd.flow.overview import count_fragments, overview_of_table
from incrowd.flow.publication import Publication
from incrowd.flow.suppression import Suppressed, settle, suppression_finding
from incrowd.flow.tables import refuse_leaks, settle_formats
from incrowd.guarantees.evidence import Evidence, Finding
from incrowd.guarantees.table import TableGuarantee
from incrowd.guarantees.tables.counts import EngineCounts
from incrowd.guarantees.tables.leaks import insensitive_leaks
from incrowd.job.inputs import InputOptions
from incrowd.job.job import Job
from incrowd.job.preparation import notes_on_removed, required_columns
from incrowd.methods.base import TableMethod
from incrowd.methods.shared.conditions import Conditions, put_back
from incrowd.progress import Progress
from incrowd.sets.sets import format_bytes, memory_limit
from incrowd.tables.columns.normalize import notes_on_readings, stated_of
from incrowd.tables.files.leading_rows import LeadingRows, candidate_schema, skip_leading
from incrowd.tables.files.read import notes_on_encoding
from incrowd.tables.files.write import format_of_path, write_tables
from incrowd.tables.locations import Location, location_name
from incrowd.tables.table import Format, missing_columns
from incrowd.version import __version__
from incrowd.workspace import Workspace, file_hash

if TYPE_CHECKING:
    from incrowd.engines.disk.engine import DiskEngine


PER_CODE = 90
"""About how many bytes a search by more than one k takes for each code of a row."""


@dataclass(frozen=True, eq=False)
class Original:
    """The rows of a table on an engine, what messages call it, and what was found on reading."""

    blocks: Blocks
    where: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Distinct rows and their counts, and what must stay as it is."""

    blocks: Blocks
    distinct: DistinctRows
    published: list[str]
    others: Fingerprint
    notes: tuple[str, ...]
    settled_input: InputOptions


@dataclass(frozen=True, eq=False)
class FoundRows:
    """What a search made: ``count[i]`` of the rows equal to ``row[i]`` are row i of ``after``.

    ``conditions`` speak of the rows of ``after``.
    """

    row: NDArray[np.int64]
    after: Rows
    count: NDArray[np.int64]
    conditions: Conditions


@dataclass(frozen=True, eq=False)
class RowEvidence:
    """What the audit of a release on an engine holds it against."""

    expected: Expected
    suppressed: Suppressed


@dataclass(frozen=True, eq=False)
class Reread:
    """A written release on the engine that audits it.

    ``tables`` are its rows in the file's order, where that can be followed; ``sample`` returns
    the first of them.
    """

    engine: OutOfCoreEngine
    blocks: Blocks
    tables: Iterator[pa.Table] | None = None
    sample: Callable[[], pa.Table | None] | None = None


class OutOfCoreAdapter:
    """The steps of the flow for a table whose rows stay on an engine."""

    def __init__(
        self,
        job: Job,
        engine: OutOfCoreEngine,
        store: OutOfCoreFile | OutOfCoreFolder | OutOfCoreFrame,
    ) -> None:
        self.job, self.engine, self.store = job, engine, store
        self.guarantee = cast(TableGuarantee, job.guarantee)

    def encode(self, original: Original, progress: Progress) -> EncodedRows:
        """Count values and distinct rows on the engine; encode those here."""
        del progress
        job, engine, schema = self.job, self.engine, self.job.schema
        columns = engine.schema(original.blocks).names
        missing_columns(required_columns(job), columns, original.where).refuse()
        blocks, of_dates, derived = derive_blocks(engine, original.blocks, job, original.where)
        published = [name for name in columns if name in schema.published]
        other_names = [name for name in published if name not in schema.quasi]
        others = fingerprint(engine, blocks, other_names)
        _refuse_stars(others, other_names, job, original.where)
        refuse_leaks(
            insensitive_leaks(
                EngineCounts(engine, blocks),
                schema.quasi,
                schema.insensitive,
                job.release.accept_insensitive,
            ),
            original.where,
        )
        distinct = count_distinct_rows(engine, blocks, job, original.where)
        _refuse_unheld(distinct, job, original.where)
        refuse_infeasible(job, distinct.conditions, distinct.n_all, distinct.n_of_row)
        found = {**of_dates, **distinct.readings}
        readings = {name: found[name] for name in columns if name in found}
        notes = [*original.notes, *notes_on_removed(job, columns), *notes_on_readings(readings)]
        notes += [*derived, *distinct.notes]
        settled = settle_formats(job, readings)
        return EncodedRows(blocks, distinct, published, others, tuple(notes), settled)

    def search(self, encoded: EncodedRows, progress: Progress) -> FoundRows:
        """Run the method on distinct rows with their counts, or on the codes of all rows."""
        method, view = cast(TableMethod, self.job.method), encoded.distinct.view
        searched = encoded.distinct.searched
        conditions = searched.conditions
        if conditions.is_size_only:
            found = method.run_distinct(
                searched.rows, searched.n_of_row, conditions, self.engine, self.job.seed, progress
            )
            shown = Rows(searched.rows.names, found.nodes, searched.rows.hierarchies)
            after = put_back(shown, found.nodes, found.trace)
            return FoundRows(found.row, view.restore(after), found.count, conditions)
        row, rows, conditions = searched.one_by_one()
        after = method.run(rows, conditions, self.engine, self.job.seed, progress)
        return FoundRows(row, view.restore(after), np.ones_like(row), conditions)

    def decode(self, encoded: EncodedRows, found: FoundRows) -> Candidate[Blocks, RowEvidence]:
        """Settle suppressed rows, and generalize every block where it is."""
        engine, blocks, distinct = self.engine, encoded.blocks, encoded.distinct
        settled = settle(found.after, found.conditions, self.job.release, found.count)
        shown = Shown.of(found.row, settled.rows, found.count)
        _refuse_lost(distinct.searched.n_of_row, shown)
        schema = self.job.schema
        made = Generalization.of(distinct, shown, encoded.published, schema)
        released = generalize_blocks(engine, blocks, made, distinct.n_all)
        others = encoded.others
        if shown.n_left_out:
            left_out = generalize_blocks(engine, blocks, made, distinct.n_all, LEFT_OUT)
            names = [name for name in encoded.published if name not in schema.quasi]
            others = others.without(fingerprint(engine, left_out, names))
        nodes, n_of_group = shown.groups()
        expected = Expected(
            distinct.rows,
            distinct.counts_of_leaves(),
            nodes,
            n_of_group,
            fingerprint(engine, released, encoded.published),
            others,
            distinct.readings,
            shown.n_left_out,
            distinct.sensitive_hierarchies,
            self._wishes(encoded, made, distinct.n_all - shown.n_left_out),
        )
        trace = found.after.trace
        method = replace(self.job.method, **trace.settings)
        return Candidate(
            released,
            replace(self.job, method=method, input=encoded.settled_input),
            RowEvidence(expected, Suppressed.of(settled, found.conditions)),
            figures={**trace.figures, "distinct_rows": distinct.n_distinct},
            notes=(*encoded.notes, *settled.notes, *trace.notes),
        )

    def _wishes(
        self, encoded: EncodedRows, made: Generalization, n_released: int
    ) -> Evidence | None:
        """Return the rows as they are made, with each one's own k beside them."""
        if not self.guarantee.needs_owner:
            return None
        n_all = encoded.distinct.n_all
        return Evidence(
            engine=self.engine,
            blocks=generalize_blocks(self.engine, encoded.blocks, made, n_all, WITH_OWN_K),
            n_rows=n_released,
            quasi=self.job.schema.quasi,
            k_column=K_OF_ROW,
            missing_values=self.job.input.missing_values,
        )

    def audit(self, candidate: Candidate[Blocks, RowEvidence], reread: Reread) -> Checked:
        """Check the written release by counts and fingerprints, where it lies."""
        findings, losses = examine_rows(
            reread.engine,
            reread.blocks,
            self.job.schema,
            self.guarantee,
            candidate.evidence.expected,
            missing_values=self.job.input.missing_values,
            accepted=self.job.release.accept_insensitive,
            codings=self.job.coding,
            tables=reread.tables,
        )
        evidence, columns = candidate.evidence, reread.engine.schema(reread.blocks).names
        expected, suppressed = evidence.expected, evidence.suppressed
        hierarchies = expected.before.hierarchies
        shown = count_fragments(hierarchies, expected.nodes, expected.n_of_group)
        sample = None if reread.sample is None else reread.sample()
        overview = overview_of_table(self.job.schema, hierarchies, shown, columns, sample)
        n_rows = int(findings[0].figures["n_rows"])
        findings += suppression_finding(suppressed, n_rows)
        return Checked(findings, n_rows, losses, suppressed.n_suppressed, overview)

    def reading(self, candidate: Candidate[Blocks, RowEvidence]) -> CertificateReading:
        """Return how a stranger reads the release, for its certificate."""
        schema, stated = self.job.schema, stated_of(candidate.evidence.expected.readings)
        return CertificateReading(
            schema.quasi,
            schema.sensitive,
            self.job.input.missing_values,
            date_formats=dict(stated.dates),
            number_formats=dict(stated.numbers),
        )

    def findings_on_file(
        self, candidate: Candidate[Blocks, RowEvidence], reread: Reread, audit: Audit
    ) -> list[Finding]:
        """Return what was counted on the release; nothing where only its owner can."""
        del candidate, reread
        return [] if self.guarantee.needs_owner else list(audit.findings)

    def material(self, candidate: Candidate[Blocks, RowEvidence], reread: Reread) -> None:
        """A report looks at all rows together: there is none."""
        del candidate, reread

    def private_files(
        self,
        candidate: Candidate[Blocks, RowEvidence],
        reread: Reread,
        publication: Publication,
        audit: Audit,
    ) -> None:
        """What is kept for the owner needs rows in this process: there is none."""
        del candidate, reread, publication, audit


def _refuse_unheld(distinct: DistinctRows, job: Job, where: str) -> None:
    """Raise where the codes of all rows, which more than one k needs, take too much memory."""
    conditions = distinct.conditions
    if conditions.is_size_only:
        return
    n_codes = distinct.rows.n_columns + len(conditions.sensitive)
    n_codes += conditions.k_of_row is not None
    needed = PER_CODE * n_codes * distinct.n_all
    allowed = memory_limit(job.engine.memory_bytes)
    if needed > allowed:
        raise InputError(
            f"{where}: a search by l, t or a k per row takes the codes of all "
            f"{distinct.n_all:,} rows, about {format_bytes(needed)} in this process, and "
            f"{format_bytes(allowed)} may be used",
            remedy=f"State --memory {format_bytes(needed)} where the machine has it, name fewer "
            "columns, or ask for k alone.",
        )


def _refuse_lost(n_of_row: NDArray[np.int64], shown: Shown) -> None:
    n_shown = np.bincount(shown.row, weights=shown.count, minlength=len(n_of_row))
    if not np.array_equal(n_shown.astype(np.int64), n_of_row):
        raise EngineError("rows were lost or doubled by the search", remedy="Nothing was released.")


def _refuse_stars(others: Fingerprint, names: list[str], job: Job, where: str) -> None:
    """Raise where a sensitive cell is literally ``*`` before anything was suppressed."""
    for name, n_starred in zip(names, others.starred, strict=False):
        if n_starred and name in job.schema.sensitive:
            raise DataError(
                f"{where}, column {name!r}: {n_starred} cells are already '*', which is how a "
                "release writes a suppressed cell",
                remedy="Replace them in the data by another token, such as 'unknown'.",
            )


class OutOfCoreFile:
    """A file or folder whose rows stay on an engine, released to one file of this machine."""

    def __init__(
        self,
        job: Job,
        target: Target,
        engine: OutOfCoreEngine,
        workspace: Workspace,
        resources: ExitStack,
    ) -> None:
        self.job, self.target, self.engine = job, target, engine
        self.workspace, self.resources = workspace, resources
        self.output = Path(target.output)
        self.stored = Format()
        self.columns: list[str] = []
        self.leading: LeadingRows | None = None

    def read(self) -> Original:
        """Leave the rows where they are."""
        blocks, self.stored = read_original(self.job, self.target, self.engine)
        notes = notes_on_encoding(self.stored, self.job.input.encoding)
        return Original(blocks, location_name(self.target.data), notes)

    def write(self, data: Blocks) -> Path:
        """Write the rows in the order of their content to a file that only this run sees."""
        stored = format_of_path(self.output, self.stored)
        self.stored = settle_format(self.engine, data, stored, self.job)
        self.columns = self.engine.schema(data).names
        path = self.workspace.file("release" + "".join(self.output.suffixes[-2:]))
        tables = self.engine.iter_sorted(data)
        self.leading = leading_rows(self.engine, data, self.stored)
        if self.leading is not None:
            tables = self.leading.put_first(tables)
        write_tables(tables, self.engine.schema(data), path, self.stored)
        return path

    def reread(self, written: Path) -> Reread:
        """Read the file back on this machine's disk, whatever engine made it."""
        if self.engine.name == "local":
            auditor = cast("DiskEngine", self.engine)
        else:
            disk = disk_engine(self.job.engine, self.workspace.folder)
            auditor = self.resources.enter_context(closing(disk))
        blocks, _ = auditor.read(str(written), as_written(self.stored, self.job))
        if not self.stored.has_header:
            blocks = auditor.rename_columns(blocks, self.columns)
        return Reread(
            auditor,
            blocks,
            skip_leading(auditor.tables(blocks), self.leading and self.leading.rows),
            lambda: next(iter(auditor.tables(blocks)), None),
        )

    def hashes(self, written: Path, reread: Reread, n_rows: int) -> tuple[str, str]:
        """Return the SHA-256 of both."""
        del reread, n_rows
        return file_hash(written), self.engine.hash_location(str(self.target.data))

    def publish(self, written: Path, publication: Publication) -> tuple[None, Location]:
        """Give the file its name."""
        publication.place(written, self.output)
        return None, self.output


class OutOfCoreFolder:
    """A file or folder whose rows stay on an engine, released as a folder of part files."""

    def __init__(
        self,
        job: Job,
        target: Target,
        engine: OutOfCoreEngine,
        resources: ExitStack,
        *,
        force: bool,
    ) -> None:
        self.job, self.target, self.engine = job, target, engine
        self.resources, self.force = resources, force
        self.stored = Format()
        self.manifest = ""

    def read(self) -> Original:
        """Leave the rows where they are."""
        blocks, self.stored = read_original(self.job, self.target, self.engine)
        notes = notes_on_encoding(self.stored, self.job.input.encoding)
        return Original(blocks, location_name(self.target.data), notes)

    def write(self, data: Blocks) -> ReleaseFolder:
        """Have the engine write part files into a folder that has no name yet."""
        stored = self.target.format_like(self.stored)
        self.stored = settle_format(self.engine, data, stored, self.job)
        folder = self.resources.enter_context(
            self.engine.new_folder(str(self.target.output), force=self.force)
        )
        leading = leading_rows(self.engine, data, self.stored)
        arrange = None if leading is None else leading.put_first
        self.engine.write_folder(data, folder.where, self.stored, arrange)
        return folder

    def reread(self, written: ReleaseFolder) -> Reread:
        """Read the part files back where they lie."""
        blocks, _ = self.engine.read(written.where, as_written(self.stored, self.job))
        return Reread(self.engine, blocks)

    def hashes(self, written: ReleaseFolder, reread: Reread, n_rows: int) -> tuple[str, str]:
        """Return the SHA-256 of the list of part files, and of the original."""
        columns = self.engine.schema(reread.blocks).names
        self.manifest = _manifest(written.parts(), columns, n_rows)
        digest = hashlib.sha256(self.manifest.encode()).hexdigest()
        return digest, self.engine.hash_location(str(self.target.data))

    def publish(self, written: ReleaseFolder, publication: Publication) -> tuple[None, Location]:
        """Give the folder its name, or mark it as whole where it has one."""
        del publication
        written.publish(self.manifest)
        return None, self.target.output


class OutOfCoreFrame:
    """A Spark frame, handed back as one on the same session; no row comes here."""

    def __init__(self, frame: Any, engine: OutOfCoreEngine) -> None:
        self.frame, self.engine = frame, cast(Any, engine)

    def read(self) -> Original:
        """Leave the rows where they are."""
        return Original(self.engine.from_frame(self.frame, has_plain_zeros=True), "the frame")

    def write(self, data: Blocks) -> Any:
        """Make a frame of the released rows."""
        return self.engine.to_frame(data)

    def reread(self, written: Any) -> Reread:
        """Look at the frame that will be handed out."""
        return Reread(self.engine, self.engine.from_frame(written))

    def hashes(self, written: Any, reread: Reread, n_rows: int) -> tuple[str, str]:
        """A frame on a cluster has no bytes to hash."""
        del written, reread, n_rows
        return "", ""

    def publish(self, written: Any, publication: Publication) -> tuple[Any, None]:
        """Hand the frame out."""
        del publication
        return written, None


def read_original(job: Job, target: Target, engine: OutOfCoreEngine) -> tuple[Blocks, Format]:
    """Take in what a job reads, as it is to be released: without signed zeros."""
    return engine.read(str(target.data), replace(job.input.reading, has_plain_zeros=True))


def settle_format(engine: OutOfCoreEngine, blocks: Blocks, stored: Format, job: Job) -> Format:
    """Return the format as the job asks, with the quoted columns of text found on the engine."""
    if job.release.excel_csv:
        stored = for_excel(stored)
    if stored.kind != "csv":
        return stored
    position = pa.schema([("position", pa.int64())])

    def quoted(block: pa.Table) -> pa.Table:
        from incrowd.tables.files.write import find_quoted_columns

        return pa.table([pa.array(find_quoted_columns([block], stored), pa.int64())], position)

    found = engine.collect(engine.map_blocks(blocks, quoted, position))
    return replace(stored, quoted_columns=tuple(sorted(set(found.column(0).to_pylist()))))


def leading_rows(engine: OutOfCoreEngine, blocks: Blocks, stored: Format) -> LeadingRows | None:
    """Return what puts the leading rows of a text file first; None for other files."""
    if stored.kind != "csv":
        return None
    schema = engine.schema(blocks)

    def candidates(block: pa.Table) -> pa.Table:
        from incrowd.tables.files.leading_rows import find_candidates

        return find_candidates(block)

    return LeadingRows(
        engine.collect(engine.map_blocks(blocks, candidates, candidate_schema(schema)))
    )


def as_written(stored: Format, job: Job) -> ReadOptions:
    """Return how a release is read that was written so."""
    missing_values = job.input.missing_values
    if stored.kind != "csv":
        return ReadOptions(missing_values=missing_values)
    return ReadOptions(stored.delimiter, "utf-8", stored.has_header, missing_values)


def _manifest(parts: list[Any], columns: list[str], n_rows: int) -> str:
    """Return the list of part files that makes a folder whole, as JSON."""
    listed = [{"name": p.name, "bytes": p.n_bytes, "sha256": p.sha256} for p in parts]
    content = {"incrowd": __version__, "columns": columns, "rows": n_rows, "parts": listed}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"

"""Tables in this process: their steps in the flow, and where they come from and go to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.audit import Audit
from incrowd.checking.certificates import Reading
from incrowd.checking.examine import Owner, encode_release, examine, released_nodes
from incrowd.codes import canonical_order, compact_text
from incrowd.encoding.coding import CodedView
from incrowd.encoding.cost_matrices import add_costs
from incrowd.encoding.derived import name_derivations, reference_columns
from incrowd.encoding.encode import decode, encode, refuse_stars, star_missing
from incrowd.encoding.rows import Rows
from incrowd.engines.base import Engine
from incrowd.engines.choice import file_engine
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import InputError
from incrowd.flow.adapter import Candidate, Checked
from incrowd.flow.assignment import assign_by_content
from incrowd.flow.conditions import derive_conditions, refuse_infeasible, sensitive_hierarchies_of
from incrowd.flow.former_releases import exclude_repeated, former_findings, identifiers_of
from incrowd.flow.outputs import Target, for_excel
from incrowd.flow.overview import Overview, overview_of_table
from incrowd.flow.publication import Publication
from incrowd.flow.suppression import SettledRows, Suppressed, settle, suppression_finding
from incrowd.guarantees.evidence import Finding
from incrowd.guarantees.table import TableGuarantee
from incrowd.guarantees.tables.counts import FrameCounts
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from incrowd.guarantees.tables.leaks import insensitive_leaks
from incrowd.hierarchies.builders import ColumnValues
from incrowd.hierarchies.tree import Hierarchy
from incrowd.job.inputs import InputOptions, read_input
from incrowd.job.job import Job
from incrowd.job.preparation import (
    Prepared,
    decode_bits,
    notes_on_columns,
    plan_job_reading,
    prepare,
    required_columns,
    without_unshown_bits,
)
from incrowd.measures.losses.tables import (
    Tally,
    count_released,
    measure_mean_loss,
    measure_tally,
    stated_cost_share,
)
from incrowd.memory import return_free_memory
from incrowd.methods.base import TableMethod
from incrowd.methods.shared.conditions import Conditions
from incrowd.methods.shared.fragments import content_key
from incrowd.progress import Progress
from incrowd.tables.columns.normalize import (
    Readings,
    as_written,
    normalize_table,
    notes_on_readings,
    restore_frame,
    stated_of,
)
from incrowd.tables.files.leading_rows import lead
from incrowd.tables.files.read import notes_on_encoding, reread_table
from incrowd.tables.files.write import format_of_path, write_table
from incrowd.tables.frame_types import FrameTypes, named_levels
from incrowd.tables.frames import (
    SPARK,
    drop_signed_zeros,
    frame_hash,
    from_frame,
    is_spark_frame,
    to_frame,
)
from incrowd.tables.locations import Location, is_folder, location_name
from incrowd.tables.schema import Schema
from incrowd.tables.table import STATISTICS, Format, Table, format_by_suffix
from incrowd.threads import iter_in_threads
from incrowd.workspace import Workspace, file_hash

if TYPE_CHECKING:
    from incrowd.checking.material import Material, TableMaterial
    from incrowd.flow.pseudonyms import Secret


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """A table as a method searches it, and what every group must meet."""

    prepared: Prepared
    before: Rows
    view: CodedView
    conditions: Conditions
    sensitive_hierarchies: dict[str, Hierarchy]
    notes_on_columns: list[str]
    notes_on_hierarchies: list[str]
    settled_input: InputOptions
    identifiers: pa.Table | None = None
    removed: tuple[str, ...] = ()
    identifying: pa.Table | None = None


@dataclass(frozen=True, eq=False)
class TableEvidence:
    """What the audit of a released table holds it against."""

    prepared: Prepared
    before: Rows
    settled: SettledRows
    conditions: Conditions
    sensitive_hierarchies: dict[str, Hierarchy]
    identifiers: pa.Table | None = None
    removed: tuple[str, ...] = ()
    identifying: pa.Table | None = None
    secret: Secret | None = None


class TableAdapter:
    """The steps of the flow for a table whose rows are in this process."""

    def __init__(self, job: Job, engine: Engine, store: TableFile | TableFrame) -> None:
        self.job, self.engine, self.store = job, engine, store
        self.method = cast(TableMethod, job.method)
        self.guarantee = cast(TableGuarantee, job.guarantee)

    def encode(self, original: Table, progress: Progress) -> EncodedTable:
        """Prepare the columns, build hierarchies, and refuse what no release could satisfy."""
        del progress
        original = replace(original, frame=drop_signed_zeros(original.frame))
        job, stated = self.job, self.job.schema
        original.require(required_columns(job), original.name)
        original, notes_on_people = exclude_repeated(job, original)
        table = original
        refuse_stars(table, (*stated.quasi, *stated.sensitive))
        notes = [*notes_on_people, *notes_on_columns(job, table)]
        identifiers = identifiers_of(job, table)
        identifying = None
        if job.release.pseudonyms is not None:  # the key leads from them to the pseudonyms
            identifying = table.frame.select(list(stated.identifying))
        original = table = plan_job_reading(job).read(table)
        notes += notes_on_readings(table.readings)
        prepared = prepare(job, table)
        table, schema = prepared.table, prepared.schema
        refuse_leaks(
            insensitive_leaks(
                FrameCounts(table.frame),
                schema.quasi,
                schema.insensitive,
                accepted=job.release.accept_insensitive,
            ),
            table.name,
        )
        before, notes_on_hierarchies = encode(
            table, schema.quasi, prepared.hierarchies, job.coding, self.method.known_values()
        )
        before = replace(self._named(before), attribute_of_column=prepared.attribute_of_column)
        before = add_costs(before, self.method.stated_costs)
        hierarchies = sensitive_hierarchies_of(job, lambda name: ColumnValues.of(name, table))
        conditions = derive_conditions(job, original, hierarchies)
        refuse_infeasible(job, conditions, table.n_rows)
        view = CodedView.of(before, job.coding)
        removed = tuple(name for name in original.columns if name not in stated.published)
        return EncodedTable(
            prepared,
            before,
            view,
            conditions,
            hierarchies,
            notes,
            notes_on_hierarchies,
            settle_formats(job, original.readings),
            identifiers,
            removed,
            identifying,
        )

    def _named(self, rows: Rows) -> Rows:
        """Return rows whose derived columns (ages, days) are described as such."""
        named = name_derivations(rows.hierarchies, self.job.hierarchy_specs)
        return replace(rows, hierarchies=named)

    def search(self, encoded: EncodedTable, progress: Progress) -> Rows:
        """Run the method on the nodes of the quasi-identifying columns."""
        view, conditions = encoded.view, encoded.conditions
        found = self.method.run(view.rows, conditions, self.engine, self.job.seed, progress)
        return view.restore(found)

    def decode(self, encoded: EncodedTable, found: Rows) -> Candidate[pa.Table, TableEvidence]:
        """Put the found nodes on the rows, settle suppressed ones, and sort by content."""
        job, prepared, before, after = self.job, encoded.prepared, encoded.before, found
        table, schema = prepared.table, prepared.schema
        if encoded.conditions.is_size_only or isinstance(self.guarantee, KAnonymity):
            others = [name for name in schema.published if name not in schema.quasi]
            as_shown = restore_frame(table.frame.select(others), table.readings)
            distinct = content_key(encoded.view.rows, encoded.conditions)
            after = _shown_by_content(distinct, after, as_shown)
        if self.method.suppresses_missing:
            after = replace(after, nodes=star_missing(before, after, table.missing_values))
        if self.method.decodes_bits:
            prepared, before, after = decode_bits(prepared, after)
            before = self._named(before)
            after = replace(after, hierarchies=before.hierarchies)
            table = prepared.table
        elif self.method.drops_unshown_bits:
            prepared, after = without_unshown_bits(prepared, after)
        schema = prepared.schema
        settled = settle(after, encoded.conditions, job.release)
        frame, original_row = decode(settled.rows, table, schema)
        frame = restore_frame(frame, table.readings)
        frame, original_row = self._in_order(frame, original_row)
        secret, key_columns = None, None
        if job.release.pseudonyms is not None:
            from incrowd.flow.pseudonyms import Secret, add_pseudonyms, key_columns_of

            name, secret = job.release.pseudonyms, Secret.of(job.release.pseudonym_secret)
            frame = add_pseudonyms(frame, name, secret)
            frame, original_row = self._in_order(frame, original_row)  # of equal rows
            key_columns = key_columns_of(frame.column(name), encoded.identifying, original_row)
        method = replace(job.method, **after.trace.settings)
        return Candidate(
            frame,
            replace(job, method=method, bins=prepared.bins, input=encoded.settled_input),
            TableEvidence(
                replace(prepared, table=self._needed_columns(prepared)),
                before,
                settled,
                encoded.conditions,
                encoded.sensitive_hierarchies,
                None
                if encoded.identifiers is None
                else encoded.identifiers.take(pa.array(original_row)),
                encoded.removed,
                encoded.identifying,
                secret,
            ),
            original_row,
            after.trace.figures,
            (
                *encoded.notes_on_columns,
                *prepared.notes,
                *encoded.notes_on_hierarchies,
                *settled.notes,
                *after.trace.notes,
            ),
            key_columns,
        )

    def _in_order(
        self, frame: pa.Table, original_row: NDArray[np.int64]
    ) -> tuple[pa.Table, NDArray[np.int64]]:
        """Return the rows sorted by what they show, unless they are to keep their order."""
        if self.job.release.keep_order:
            return frame, original_row
        order = canonical_order(frame)
        if self.store.is_text_file:
            order = lead(frame, order)
        rows = pa.array(order)
        columns = list(iter_in_threads(lambda column: column.take(rows), frame.columns))
        frame = pa.table(columns, names=frame.column_names).combine_chunks()
        return frame, original_row[order]

    def _needed_columns(self, prepared: Prepared) -> Table:
        """Return the columns that an audit holds a release against."""
        table, schema = prepared.table, prepared.schema
        needed = {*schema.published, schema.person, self.guarantee.k_column}
        names = [name for name in table.columns if name in needed]
        return replace(table, frame=table.frame.select(names))

    def audit(self, candidate: Candidate[pa.Table, TableEvidence], reread: Table) -> Checked:
        """Check the guarantee, leaks and truth of the release as it was read back."""
        job, evidence, written = self.job, candidate.evidence, reread
        reread = _as_read(candidate, reread)
        before, original_row = evidence.before, _key_of(candidate)
        hierarchies = dict(zip(before.names, before.hierarchies, strict=True))
        findings = examine(
            reread,
            evidence.prepared.schema,
            self.guarantee,
            self.engine,
            owner=Owner(
                evidence.prepared.table,
                original_row,
                hierarchies,
                keeps_order=job.release.keep_order,
                k_of_row=evidence.conditions.k_of_row,
                attribute_of_bit=evidence.prepared.attribute_of_bit,
            ),
            sensitive_hierarchies=evidence.sensitive_hierarchies,
            accepted=job.release.accept_insensitive,
            codings=job.coding,
        )
        if job.release.pseudonyms is not None:
            from incrowd.flow.pseudonyms import audit_pseudonyms

            pseudonyms = written.frame.column(job.release.pseudonyms)
            originals = (evidence.prepared.table.frame, evidence.identifying)
            findings.append(audit_pseudonyms(pseudonyms, originals, original_row))
        findings += former_findings(job, reread, evidence.identifiers, hierarchies)
        suppressed = Suppressed.of(evidence.settled, evidence.conditions)
        findings += suppression_finding(suppressed, reread.n_rows)
        losses: dict[str, float] = {}
        overview = None
        return_free_memory()
        if all(finding.holds is not False for finding in findings):
            shown = released_nodes(before, reread, original_row)
            counted = count_released(before, shown, self.guarantee.k)
            losses = measure_tally(counted)
            overview = self._overview(evidence.prepared.schema, counted, reread)
            losses |= measure_mean_loss(before, reread, original_row)
            if self.method.stated_costs:
                metric = str(job.method_parameters["metric"])
                after = encode_release(before, reread, original_row)
                losses["costs"] = stated_cost_share(before, after, metric)
        return Checked(findings, reread.n_rows, losses, suppressed.n_suppressed, overview)

    @staticmethod
    def _overview(schema: Schema, counted: Tally, reread: Table) -> Overview:
        """Return what each column became, of the rows that are released."""
        released = [counts.copy() for counts in counted.after]
        for counts, hierarchy in zip(released, counted.hierarchies, strict=True):
            counts[hierarchy.root] -= counted.n_suppressed
        return overview_of_table(
            schema, counted.hierarchies, released, reread.columns, as_written(reread)
        )

    def reading(self, candidate: Candidate[pa.Table, TableEvidence]) -> Reading:
        """Return how a stranger reads the release, for its certificate."""
        prepared = candidate.evidence.prepared
        stated = stated_of(prepared.table.readings)
        return Reading(
            prepared.schema.quasi,
            self.job.schema.sensitive,
            self.job.input.missing_values,
            date_formats=dict(stated.dates),
            number_formats=dict(stated.numbers),
            pseudonyms=self.job.release.pseudonyms or "",
        )

    def findings_on_file(
        self, candidate: Candidate[pa.Table, TableEvidence], reread: Table, audit: Audit
    ) -> list[Finding]:
        """Return what anyone finds on the released file alone; nothing where only its owner can."""
        from incrowd.measures.risk.finding import risk_finding

        del audit
        if self.guarantee.needs_owner or self.job.schema.person:
            return []
        schema, written = candidate.evidence.prepared.schema, reread
        reread = _as_read(candidate, reread)
        found = examine(
            reread,
            schema,
            self.guarantee,
            LocalEngine(),
            sensitive_hierarchies=candidate.evidence.sensitive_hierarchies,
            accepted=self.job.release.accept_insensitive,
        )
        name = self.job.release.pseudonyms
        if name is not None:
            from incrowd.guarantees.tables.pseudonyms import check_pseudonyms

            found.append(check_pseudonyms(written.frame.column(name)))
        return [*found, risk_finding(reread, schema, with_values=False)]

    def material(
        self, candidate: Candidate[pa.Table, TableEvidence], reread: Table
    ) -> Callable[[], Material]:
        """Return what a report is computed from: the release as reread, beside its original."""
        evidence, original_row = candidate.evidence, _key_of(candidate)
        reread = _as_read(candidate, reread)

        def material() -> TableMaterial:
            from incrowd.checking.material import OwnTable, TableMaterial

            own = OwnTable(
                evidence.prepared.table,
                original_row,
                evidence.before,
                encode_release(evidence.before, reread, original_row),
                evidence.conditions.k_of_row,
                evidence.removed,
            )
            return TableMaterial(reread, evidence.prepared.schema, own)

        return material

    def private_files(
        self,
        candidate: Candidate[pa.Table, TableEvidence],
        reread: Table,
        publication: Publication,
        audit: Audit,
    ) -> None:
        """Keep a new secret of pseudonyms, and save what was generalized how as a policy."""
        secret = candidate.evidence.secret
        if secret is not None and secret.path is not None:
            publication.write(secret.path, secret.content.hex() + "\n", private=True)
        folder = self.job.release.save_policy
        if folder is None:
            return
        from incrowd.flow.policies import place_policy

        evidence = candidate.evidence
        place_policy(
            publication,
            Path(folder),
            replace(self.job, input=candidate.job.input),
            evidence.before,
            _as_read(candidate, reread),
            evidence.identifiers,
            audit.release_sha256,
            self.store.location,
        )


def _shown_by_content(distinct: NDArray[np.int64], after: Rows, others: pa.Table) -> Rows:
    """Return what rows show, or that they are left out, by the content of the equal ones."""
    if not after.is_suppressed.any():
        return replace(after, nodes=assign_by_content(distinct, after.nodes, others))
    shown = np.vstack([after.nodes, after.is_suppressed.astype(np.int32)])
    *nodes, is_suppressed = assign_by_content(distinct, shown, others)
    return replace(after, nodes=np.asarray(nodes), is_suppressed=is_suppressed.astype(np.bool_))


def refuse_leaks(leaks: list[Finding], where: str) -> None:
    """Raise where an insensitive column points at people, before anything is searched."""
    for leak in leaks:
        if leak.holds is False:
            raise InputError(
                f"{where}: {leak.summary}",
                remedy="Leave the column out, make it quasi-identifying, or release it all the "
                "same with --accept-insensitive COLUMN.",
            )


def settle_formats(job: Job, readings: Readings) -> InputOptions:
    """Return how a job's data are read, with the formats of all columns that are generalized.

    They were detected on these data; the next ones may not show them.
    """
    settled = {*job.schema.quasi, *reference_columns(job.hierarchy_specs)}
    found = stated_of({name: way for name, way in readings.items() if name in settled})
    return replace(
        job.input,
        date_formats={**found.dates, **job.input.date_formats},
        number_formats={**found.numbers, **job.input.number_formats},
    )


def _as_read(candidate: Candidate[pa.Table, TableEvidence], reread: Table) -> Table:
    """Return a release with the dates and numbers of its original's columns as those were read.

    Pseudonyms are left out: they are checked by themselves, and tell nothing else.
    """
    name = candidate.job.release.pseudonyms
    if name is not None:
        reread = replace(reread, frame=reread.frame.drop_columns([name]))
    return normalize_table(reread, candidate.evidence.prepared.table.readings)


def _key_of(candidate: Candidate[pa.Table, TableEvidence]) -> NDArray[np.int64]:
    assert candidate.original_row is not None
    return candidate.original_row


@dataclass(frozen=True, eq=False)
class WrittenTable:
    """A released file that only this run sees, how it is written, and its columns."""

    path: Path
    stored: Format
    columns: list[str]


class TableFile:
    """A table in a file, a folder or at an address, released to a file of this machine."""

    def __init__(self, job: Job, target: Target, engine: Engine, workspace: Workspace) -> None:
        self.job, self.target, self.engine, self.workspace = job, target, engine, workspace
        self.output = self.location = Path(target.output)
        self.input_hash = ""
        self.format = Format()
        self.is_text_file = format_by_suffix(self.output).kind == "csv"

    def read(self) -> Table:
        """Read the table; many files, or an address, are gathered into this process."""
        location, options = self.target.data, self.job.input
        if is_folder(location):
            with file_engine(self.engine, self.job.engine, self.workspace.folder) as engine:
                reading = replace(options.reading, has_plain_zeros=True)
                blocks, self.format = engine.read(str(location), reading)
                self.input_hash = engine.hash_location(str(location))
                frame = compact_text(engine.collect(blocks))
            notes = notes_on_encoding(self.format, options.encoding)
            name = location_name(location)
            table = Table(frame, self.format, options.missing_values, name, notes)
            return self._fit_output(table)
        table = read_input(Path(location), options, is_compact=True)
        self.input_hash, self.format = file_hash(Path(location)), table.format
        return self._fit_output(table)

    def _fit_output(self, table: Table) -> Table:
        """Refuse a table that the release's format cannot hold; say where the format is another."""
        if format_by_suffix(self.output).kind == "xlsx":
            from incrowd.tables.files.excel import refuse_too_large

            refuse_too_large(table.n_rows, len(table.columns), self.output.name)
        if self.job.output is None and self.format.kind in STATISTICS:
            note = "the release is a CSV file: SPSS, Stata and SAS files are not written"
            return replace(table, notes=(*table.notes, note))
        return table

    def write(self, data: pa.Table) -> WrittenTable:
        """Write the release to a file that only this run sees."""
        stored = format_of_path(self.output, self.format)
        if self.job.release.excel_csv:
            stored = for_excel(stored)
        path = self.workspace.file("release" + "".join(self.output.suffixes[-2:]))
        write_table(data, path, stored)
        return WrittenTable(path, stored, data.column_names)

    def reread(self, written: WrittenTable) -> Table:
        """Read the release back; a file without a header gets the names its columns had."""
        missing_values = self.job.input.missing_values
        return reread_table(written.path, written.stored, written.columns, missing_values)

    def hashes(self, written: WrittenTable, reread: Table, n_rows: int) -> tuple[str, str]:
        """Return the SHA-256 of both files."""
        del reread, n_rows
        return file_hash(written.path), self.input_hash

    def publish(self, written: WrittenTable, publication: Publication) -> tuple[None, Location]:
        """Give the file its name."""
        publication.place(written.path, self.output)
        return None, self.output


class TableFrame:
    """A frame of pandas, polars, pyarrow or Spark, handed back as the same kind."""

    is_text_file = False

    def __init__(self, job: Job, frame: Any, engine: Engine) -> None:
        self.job, self.frame, self.engine = job, frame, engine
        self.kind = ""
        self.types: FrameTypes | None = None
        self.input_hash = ""
        self.location: Path | None = None

    def read(self) -> Table:
        """Take the frame's columns in, and the levels of its index that have a role."""
        table, self.kind = self._take(self.frame)
        if self.kind != SPARK:
            levels: tuple[str, ...] = ()
            if self.kind == "pandas":
                levels = named_levels(self.frame, self._index)
            self.types = FrameTypes.of(self.frame, self.kind, table.frame, levels)
        self.input_hash = frame_hash(table.frame)
        return replace(table, frame=compact_text(table.frame))

    @property
    def _index(self) -> list[str]:
        schema, guarantee = self.job.schema, cast(TableGuarantee, self.job.guarantee)
        named = (*schema.roles, schema.person, guarantee.k_column)
        return [name for name in named if name]

    def _take(self, frame: Any) -> tuple[Table, str]:
        missing_values = self.job.input.missing_values
        if not is_spark_frame(frame):
            return from_frame(frame, missing_values=missing_values, index=self._index)
        engine = cast(Any, self.engine)
        rows = engine.collect(engine.from_frame(frame))
        return from_frame(rows, missing_values=missing_values)[0], SPARK

    def write(self, data: pa.Table) -> Any:
        """Make a frame of the kind, on Spark's session where the original came from one."""
        if self.types is None:
            engine = cast(Any, self.engine)
            return engine.to_frame(engine.load(data))
        return self.types.restore(to_frame(data, self.kind), data)

    def reread(self, written: Any) -> Table:
        """Take in what will be handed out."""
        table = self._take(written)[0]
        return replace(table, frame=compact_text(table.frame))

    def hashes(self, written: Any, reread: Table, n_rows: int) -> tuple[str, str]:
        """Return the SHA-256 of both frames as Arrow streams."""
        del written, n_rows
        return frame_hash(reread.frame), self.input_hash

    def publish(self, written: Any, publication: Publication) -> tuple[Any, None]:
        """Hand the frame out."""
        del publication
        return written, None

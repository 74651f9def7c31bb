"""The flow of tables whose rows stay on an engine: larger than memory, or on Spark.

read → count → search distinct rows → generalize where rows lie → write → re-read → audit → publish.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from incrowd.audit import Audit
from incrowd.checking.certificates import Reading as CertificateReading
from incrowd.checking.out_of_core import Expected, Fingerprint, examine_spread, fingerprint
from incrowd.encoding.rows import Trace
from incrowd.engines.base import Blocks, Reading, SpreadEngine
from incrowd.errors import DataError, EngineError, InputError, unknown
from incrowd.flow.assignment import DistinctRows, Generalization, distinct_rows, released_blocks
from incrowd.flow.outputs import Target
from incrowd.flow.placement import disk_engine, engine_of, is_larger, reading_of, why_not_spread
from incrowd.flow.preparation import notes_on_removed
from incrowd.flow.publication import Told, documents_written
from incrowd.flow.release import (
    Release,
    Stages,
    peak_memory,
    promise_of,
    refuse_broken,
    signed,
    timed,
)
from incrowd.guarantees.tables.leaks_on_engine import spread_insensitive_leaks
from incrowd.job.job import Job, parameters
from incrowd.methods.shared.fragments import Fragments
from incrowd.progress import Progress, silent
from incrowd.tables.table import Format, Location, Table, is_address, is_folder, name_of
from incrowd.tables.write import format_of_path, write_tables
from incrowd.version import __version__
from incrowd.workspace import Workspace, file_hash, publish


@dataclass(frozen=True, eq=False)
class _Made:
    """Released rows on an engine that nobody has audited yet, with what their audit will need."""

    released: Blocks
    expected: Expected
    trace: Trace
    notes: tuple[str, ...]
    n_distinct: int


def goes_spread(job: Job, target: Target) -> bool:
    """Return whether a job's rows stay on an engine; raise where they would have to and cannot.

    On Spark they do wherever they can. On this machine they lie on disk where they are many
    files, or more than fits into the memory that is stated (or half of the machine's).
    """
    reason = why_not_spread(job)
    if job.engine.name == "local":
        for location in (target.data, target.output):
            if is_address(location):
                raise InputError(
                    f"{location}: the local engine reads and writes this machine's files",
                    remedy="Use --engine spark, which knows such addresses.",
                )
        needs_disk = is_folder(target.data) or target.is_folder or is_larger(job, target.data)
        if not needs_disk:
            return False
    if not reason:
        return True
    if target.is_folder:
        raise InputError(
            f"{target.output}: this release is one file, since {reason}",
            remedy="Name a file of this machine with -o.",
        )
    if job.engine.memory is not None and not is_folder(target.data) and is_larger(job, target.data):
        raise InputError(
            f"{target.data}: the table does not fit into {job.engine.memory}, and its rows cannot "
            f"be searched from disk, since {reason}",
            remedy="State more with --memory, or ask for less.",
        )
    return False


def gathered(job: Job, location: Location, engine: Any, folder: Path) -> tuple[Table, str]:
    """Read many files, or an address, into this process; return also their hash."""
    if engine.name == "local":
        with closing(disk_engine(job.engine, folder)) as disk:
            return _gathered(job, location, disk)
    return _gathered(job, location, engine)


def _gathered(job: Job, location: Location, engine: SpreadEngine) -> tuple[Table, str]:
    reading = replace(reading_of(job.input), has_plain_zeros=True)
    blocks, stored = engine.read(str(location), reading)
    frame = engine.collect(blocks)
    table = Table(frame, stored, job.input.missing_values, name_of(location))
    return table, engine.hash_of(str(location))


def run_spread(
    job: Job, target: Target, *, force: bool = False, progress: Progress = silent
) -> Release:
    """Anonymize a file or folder whose rows stay on an engine; raises as ``pipeline.run`` does."""
    stages = Stages(progress)
    with (
        Workspace(target.beside) as workspace,
        closing(engine_of(job.engine, workspace.folder)) as engine,
    ):
        with stages("read"):
            reading = replace(reading_of(job.input), has_plain_zeros=True)
            blocks, stored = engine.read(str(target.data), reading)
        made = _made(job, engine, blocks, name_of(target.data), stages, progress)
        if target.is_folder:
            audit = _in_folder(job, target, engine, made, stored, stages, force)
        else:
            audit = _in_file(job, target, engine, made, stored, stages, force, workspace)
    return Release(None, audit, target.output, repeating(job, made.trace))


def anonymize_spread(frame: Any, job: Job, *, progress: Progress = silent) -> Release:
    """Anonymize a Spark frame and hand back one on the same session; no row comes here."""
    from incrowd.engines.spark.engine import SparkEngine

    stages = Stages(progress)
    with closing(SparkEngine(session=frame.sparkSession)) as engine:
        with stages("read"):
            blocks = engine.from_frame(frame, has_plain_zeros=True)
        made = _made(job, engine, blocks, "the frame", stages, progress)
        with stages("write"):
            handed_out = engine.to_frame(made.released)
        with stages("audit"):
            again = engine.from_frame(handed_out)
            audit = _audit(job, engine, made, again, None)
        audit = timed(audit, stages)
        refuse_broken(audit)
    told = _told(job, made, audit)
    with documents_written(job.release, told, force=False):
        return Release(handed_out, audit, job=repeating(job, made.trace), told=told)


def repeating(job: Job, trace: Trace) -> Job:
    """Return the job that does the same again."""
    return replace(job, method=replace(job.method, **trace.settings))


def _made(
    job: Job,
    engine: SpreadEngine,
    blocks: Blocks,
    where: str,
    stages: Stages,
    progress: Progress,
) -> _Made:
    columns = engine.schema(blocks).names
    schema = job.schema
    for name in schema.roles:
        if name not in columns:
            raise unknown("column", name, columns, where=where)
    with stages("encode"):
        published = [name for name in columns if name in schema.published]
        other_names = [name for name in published if name not in schema.quasi]
        others = fingerprint(engine, blocks, other_names)
        _refuse_stars(others, other_names, job, where)
        for leak in spread_insensitive_leaks(
            engine, blocks, schema.quasi, schema.insensitive, job.release.accept_insensitive
        ):
            if leak.holds is False:
                raise InputError(
                    f"{where}: {leak.summary}",
                    remedy="Leave the column out, make it quasi-identifying, or release it all "
                    "the same with --accept-insensitive COLUMN.",
                )
        distinct = distinct_rows(engine, blocks, job, where)
        job.guarantee.refuse_infeasible(distinct.n_all)
    with stages("search"):
        fragments = job.method.run_distinct(
            distinct.rows, distinct.n_of_row, job.guarantee.k, engine, job.seed, progress
        )
        _refuse_lost(distinct, fragments)
    with stages("decode"):
        generalization = Generalization.of(distinct.rows, fragments)
        released = released_blocks(engine, blocks, published, generalization, distinct.n_all)
        expected = Expected(
            distinct.rows,
            distinct.counts_of_leaves(),
            fragments.nodes,
            fragments.count,
            fingerprint(engine, released, published),
            others,
        )
    notes = (*notes_on_removed(job, columns), *distinct.notes, *fragments.trace.notes)
    return _Made(released, expected, fragments.trace, notes, distinct.rows.n_rows)


def _refuse_lost(distinct: DistinctRows, fragments: Fragments) -> None:
    n_shown = np.bincount(
        fragments.row, weights=fragments.count, minlength=distinct.rows.n_rows
    ).astype(np.int64)
    if not np.array_equal(n_shown, distinct.n_of_row):
        raise EngineError("rows were lost or doubled by the search", remedy="Nothing was released.")


def _in_file(
    job: Job,
    target: Target,
    engine: SpreadEngine,
    made: _Made,
    like: Format,
    stages: Stages,
    force: bool,
    workspace: Workspace,
) -> Audit:
    """Write one file on this machine, audit it there, and give it its name."""
    output = Path(target.output)
    with stages("write"):
        stored = format_of_path(output, like)
        temporary = workspace.file("release" + "".join(output.suffixes[-2:]))
        write_tables(
            engine.in_order(made.released), engine.schema(made.released), temporary, stored
        )
    with stages("audit"), _auditor(job, engine, workspace.folder) as auditor:
        again, _ = auditor.read(str(temporary), _as_written(stored, job.input.missing_values))
        if not stored.has_header:
            names = engine.schema(made.released).names
            again = auditor.renamed(again, names)
        audit = _audit(job, auditor, made, again, auditor.tables(again))
        audit = replace(audit, engine=engine.describe())
        audit = signed(audit, file_hash(temporary), engine.hash_of(str(target.data)))
    audit = timed(audit, stages)
    refuse_broken(audit)
    with documents_written(job.release, _told(job, made, audit), force=force):
        publish(temporary, output, force=force)
    return audit


@contextmanager
def _auditor(job: Job, engine: Any, folder: Path) -> Iterator[Any]:
    """Yield the engine that audits a file of this machine, whose rows lie on its disk."""
    if engine.name == "local":
        yield engine
        return
    with closing(disk_engine(job.engine, folder)) as auditor:
        yield auditor


def _in_folder(
    job: Job,
    target: Target,
    engine: SpreadEngine,
    made: _Made,
    like: Format,
    stages: Stages,
    force: bool,
) -> Audit:
    """Have the engine write part files, audit them where they lie, and publish the folder."""
    stored = target.format_like(like)
    with engine.new_folder(str(target.output), force=force) as folder:
        with stages("write"):
            engine.write_folder(made.released, folder.where, stored)
        with stages("audit"):
            again, _ = engine.read(folder.where, _as_written(stored, job.input.missing_values))
            audit = _audit(job, engine, made, again, None)
            manifest = _manifest(folder.parts(), engine.schema(again).names, audit.n_rows)
            digest = hashlib.sha256(manifest.encode()).hexdigest()
            audit = signed(audit, digest, engine.hash_of(str(target.data)))
        audit = timed(audit, stages)
        refuse_broken(audit)
        with documents_written(job.release, _told(job, made, audit), force=force):
            folder.publish(manifest)
    return audit


def _told(job: Job, made: _Made, audit: Audit) -> Told:
    """Return what documents may tell of rows that stay away: what was counted of them."""
    job_text = repeating(job, made.trace).to_toml()
    reading = CertificateReading(job.schema.quasi, job.schema.sensitive, job.input.missing_values)
    return Told(audit, job_text, lambda: audit.findings, reading)


def _as_written(stored: Format, missing_values: tuple[str, ...]) -> Reading:
    if stored.kind != "csv":
        return Reading(missing_values=missing_values)
    return Reading(stored.delimiter, "utf-8", stored.has_header, missing_values)


def _manifest(parts: list[Any], columns: list[str], n_rows: int) -> str:
    """Return the list of part files that makes a folder whole, as JSON."""
    listed = [{"name": p.name, "bytes": p.n_bytes, "sha256": p.sha256} for p in parts]
    content = {"incrowd": __version__, "columns": columns, "rows": n_rows, "parts": listed}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _audit(
    job: Job, engine: SpreadEngine, made: _Made, again: Blocks, tables: Iterator[pa.Table] | None
) -> Audit:
    findings, losses = examine_spread(
        engine,
        again,
        job.schema,
        job.guarantee,
        made.expected,
        missing_values=job.input.missing_values,
        accepted=job.release.accept_insensitive,
        tables=tables,
    )
    first = findings[0].figures
    figures = {**made.trace.figures, "distinct_rows": made.n_distinct}
    return Audit(
        holds=all(finding.holds is not False for finding in findings),
        guarantee=promise_of(job.guarantee),
        findings=tuple(findings),
        quasi=job.schema.quasi,
        losses=losses,
        n_rows=int(first["n_rows"]),
        n_groups=int(first["n_groups"]),
        smallest_group=int(first["smallest_group"]),
        method={"name": job.method.name, "parameters": {**parameters(job.method), **figures}},
        engine=engine.describe(),
        seed=job.seed,
        peak_memory_bytes=peak_memory(),
        notes=made.notes,
    )


def _refuse_stars(others: Fingerprint, names: list[str], job: Job, where: str) -> None:
    """Raise where a sensitive cell is literally ``*`` before anything was suppressed."""
    for name, n_starred in zip(names, others.starred, strict=False):
        if n_starred and name in job.schema.sensitive:
            raise DataError(
                f"{where}, column {name!r}: {n_starred} cells are already '*', which is how a "
                "release writes a suppressed cell",
                remedy="Replace them in the data by another token, such as 'unknown'.",
            )

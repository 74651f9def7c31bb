"""The flow, one way: read → encode → search → decode → write → re-read → audit → publish."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from incrowd.audit import Audit
from incrowd.checking.tables import Owner, examine
from incrowd.encoding.coding import Coding
from incrowd.encoding.personal_k import wishes
from incrowd.engines.base import Engine
from incrowd.engines.choice import make_engine
from incrowd.errors import InputError
from incrowd.flow.out_of_core import anonymize_spread, gathered, goes_spread, run_spread
from incrowd.flow.out_of_core_check import check_frame
from incrowd.flow.outputs import Target, key_written, target_of
from incrowd.flow.placement import why_not_spread
from incrowd.flow.policies import policy_written
from incrowd.flow.publication import documents_written, with_appraisal
from incrowd.flow.release import (
    Release,
    Stages,
    peak_memory,
    promise_of,
    refuse_broken,
    signed,
    timed,
)
from incrowd.flow.sets import anonymize_sets, run_sets
from incrowd.flow.tables import audit_table, search_table, told_of
from incrowd.guarantees.table import Guarantee
from incrowd.hierarchies.tree import Hierarchy
from incrowd.job.job import InputOptions, Job
from incrowd.job.set_job import SetJob
from incrowd.progress import Progress, silent
from incrowd.tables.frames import SPARK, from_frame, is_spark_frame, to_frame
from incrowd.tables.read import read_table
from incrowd.tables.schema import Schema
from incrowd.tables.table import Format, Table, is_folder
from incrowd.tables.write import format_of_path, write_table
from incrowd.workspace import Workspace, file_hash, publish


def run(job: Job | SetJob, *, force: bool = False, progress: Progress = silent) -> Release:
    """Anonymize a file: the release appears under its name only if its audit holds.

    Raises InputError (exit 2), InfeasibleError (3) or AuditError (4); then nothing was published.
    """
    if isinstance(job, SetJob):
        return run_sets(job, force=force, progress=progress)
    target = target_of(job, force)
    try:
        if goes_spread(job, target):
            return run_spread(job, target, force=force, progress=progress)
        return _run_here(job, target, force, progress)
    except OSError as error:
        raise InputError(
            f"{target.beside}: writing failed ({os.strerror(error.errno or 0)})",
            remedy="Nothing was published. Make room or choose another folder with -o.",
        ) from None


def _run_here(job: Job, target: Target, force: bool, progress: Progress) -> Release:
    """Anonymize a table whose rows lie in this process."""
    stages = Stages(progress)
    output = Path(target.output)
    with (
        Workspace(output.parent) as workspace,
        closing(make_engine(job.engine, workspace.folder)) as engine,
    ):
        with stages("read"):
            if is_folder(target.data):
                table, digest = gathered(job, target.data, engine, workspace.folder)
            else:
                table = read_input(Path(target.data), job.input)
                digest = file_hash(Path(target.data))
        searched = search_table(job, table, engine, stages, progress)
        with stages("write"):
            stored = format_of_path(output, table.format)
            temporary = workspace.file("release" + "".join(output.suffixes[-2:]))
            write_table(searched.frame, temporary, stored)
            searched = searched.written(job)
            del table
        with stages("audit"):
            reread = _reread(temporary, stored, searched.frame, job.input.missing_values)
            audit = audit_table(job, searched, reread, engine)
            audit = signed(audit, file_hash(temporary), digest)
        audit = timed(audit, stages)
        refuse_broken(audit)
        repeating = searched.repeating(job)
        told = with_appraisal(job.release, told_of(repeating, audit, searched, reread))
        with (
            documents_written(job.release, told, force=force),
            policy_written(job, searched.before, reread, force=force),
            key_written(job.release.key, searched.original_row, force=force),
        ):
            publish(temporary, output, force=force)
    return Release(None, told.audit, output, repeating)


def read_input(path: Path, options: InputOptions) -> Table:
    """Read a table as the user says it is written."""
    return read_table(
        path,
        delimiter=options.delimiter,
        encoding=options.encoding,
        header=options.header,
        missing_values=options.missing_values,
    )


def anonymize(frame: Any, job: Job | SetJob, *, progress: Progress = silent) -> Release:
    """Anonymize a pandas, polars, pyarrow or Spark frame and hand back the same kind.

    With a SetJob the frame holds sets: a SciPy matrix, or two columns. The audit is made on the
    very frame that is handed out. A Spark frame is worked on in its own session, whatever engine
    the job names; its rows stay there where the job allows it. Raises as ``run`` does.
    """
    if isinstance(job, SetJob):
        return anonymize_sets(frame, job, progress=progress)
    if is_spark_frame(frame) and not why_not_spread(job):
        return anonymize_spread(frame, job, progress=progress)
    stages = Stages(progress)
    with closing(_engine_for(frame, job)) as engine:
        with stages("read"):
            table, kind = _taken(frame, job, engine)
        searched = search_table(job, table, engine, stages, progress)
        with stages("write"):
            handed_out = _handed_out(searched.frame, kind, engine)
            searched = searched.written(job)
        with stages("audit"):
            reread, _ = _taken(handed_out, job, engine)
            audit = audit_table(job, searched, reread, engine)
            audit = signed(audit, _frame_hash(reread.frame), _frame_hash(table.frame))
        audit = timed(audit, stages)
        refuse_broken(audit)
    repeating = searched.repeating(job)
    told = with_appraisal(job.release, told_of(repeating, audit, searched, reread))
    with (
        documents_written(job.release, told, force=False),
        key_written(job.release.key, searched.original_row, force=False),
    ):
        return Release(handed_out, told.audit, job=repeating, told=told)


def _engine_for(frame: Any, job: Job) -> Any:
    """Return the engine of a frame: Spark on the session of a Spark frame, else the job's."""
    if not is_spark_frame(frame):
        return make_engine(job.engine)
    from incrowd.engines.spark.engine import SparkEngine

    return SparkEngine(session=frame.sparkSession)


def _taken(frame: Any, job: Job, engine: Any) -> tuple[Table, str]:
    """Take a frame's columns in, and say which kind it was."""
    missing_values = job.input.missing_values
    if not is_spark_frame(frame):
        return from_frame(frame, missing_values=missing_values)
    rows = engine.collect(engine.from_frame(frame))
    return from_frame(rows, missing_values=missing_values)[0], SPARK


def _handed_out(table: pa.Table, kind: str, engine: Any) -> Any:
    """Hand a table out as a frame of the kind, on Spark's session where it came from one."""
    return engine.to_frame(engine.load(table)) if kind == SPARK else to_frame(table, kind)


def check(
    released: Any,
    guarantee: Guarantee,
    schema: Schema,
    *,
    engine: Engine | None = None,
    owner: Owner | None = None,
    sensitive_hierarchies: dict[str, Hierarchy] | None = None,
    missing_values: tuple[str, ...] = (),
    accepted: tuple[str, ...] = (),
    thresholds: Mapping[str, float] | None = None,
    measures: bool = False,
    codings: Mapping[str, Coding] | None = None,
) -> Audit:
    """Audit a frame, a table or a file from any tool; nothing is written.

    A Spark frame is audited where its rows lie, by what needs neither the owner nor a row's place.
    """
    started = time.perf_counter()
    if is_spark_frame(released):
        in_memory = {
            "an owner": owner,
            "sensitive hierarchies": sensitive_hierarchies,
            "thresholds": thresholds,
            "measures": measures,
            "codings": codings,
            "a person column": schema.person,
        }
        refused = [name for name, stated in in_memory.items() if stated]
        if refused:
            raise InputError(
                f"a Spark frame is not checked with {', '.join(refused)}",
                remedy="Such checks hold all rows in memory: give frame.toArrow().",
            )
        return check_frame(released, guarantee, schema, missing_values, accepted)
    digest = ""
    if isinstance(released, (str, Path)):
        digest = file_hash(Path(released))
        released = read_table(Path(released), missing_values=missing_values)
    elif not isinstance(released, Table):
        released, _ = from_frame(released, missing_values=missing_values)
        digest = _frame_hash(released.frame)
    private = [name for name in (schema.person, guarantee.k_column) if name]
    if owner is not None and owner.original_row is not None:
        owner.original.require(private, owner.original.name)
        private = []
    lacking = [name for name in private if name not in released.columns]
    if lacking:
        raise InputError(
            f"could not check: {', '.join(lacking)} is the owner's and not in the release",
            remedy="Give --original and --key (or --aligned), as the owner.",
        )
    if owner is not None and guarantee.k_rules and owner.wishes is None:
        stated = wishes(owner.original, guarantee.k, None, guarantee.k_rules)
        owner = replace(owner, wishes=stated)
    released.require(schema.published, released.name)
    working = engine or make_engine()
    findings = examine(
        released,
        schema,
        guarantee,
        working,
        owner=owner,
        sensitive_hierarchies=sensitive_hierarchies,
        accepted=accepted,
        thresholds=thresholds,
        measures=measures,
        codings=codings,
    )
    first = findings[0].figures
    n_left_out = 0
    if owner is not None and owner.original_row is not None:
        n_left_out = owner.original.n_rows - released.n_rows
    return Audit(
        holds=all(finding.holds is not False for finding in findings),
        guarantee=promise_of(guarantee),
        findings=tuple(findings),
        quasi=schema.quasi,
        n_rows=released.n_rows,
        n_suppressed=n_left_out,
        n_groups=int(first.get("n_groups", 0)),
        smallest_group=int(first.get("smallest_group", 0)),
        engine=working.describe(),
        seconds=round(time.perf_counter() - started, 4),
        peak_memory_bytes=peak_memory(),
        release_sha256=digest,
    )


def _reread(path: Path, stored: Format, frame: pa.Table, missing_values: tuple[str, ...]) -> Table:
    """Read a release back; a file without a header gets the names its columns had."""
    if stored.kind != "csv":
        return read_table(path, missing_values=missing_values)
    table = read_table(
        path,
        delimiter=stored.delimiter,
        encoding="utf-8",
        header=stored.has_header,
        missing_values=missing_values,
    )
    if stored.has_header:
        return table
    return replace(table, frame=table.frame.rename_columns(frame.column_names))


def _frame_hash(frame: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, frame.schema) as writer:
        writer.write_table(frame.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()

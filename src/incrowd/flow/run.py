"""The flow, once: read → encode → search → decode → write → re-read → audit → documents → publish.

What differs by the shape of the data is an adapter; where rows live is the engine's business;
where they come from and go to is a store. A release exists under its name only if its audit holds.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incrowd.audit import assemble
from incrowd.compiling import kernels_used
from incrowd.errors import InputError
from incrowd.flow.adapter import Adapter, Stages, adapter_for_file, adapter_for_frame
from incrowd.flow.outputs import Target, resolve_target
from incrowd.flow.placement import engine_for_file, engine_for_frame
from incrowd.flow.publication import DocumentSource, Publication, place_documents, place_key
from incrowd.flow.release import Release, refuse_broken
from incrowd.flow.usefulness import warnings_of_use
from incrowd.forks import refuse_lost_threads
from incrowd.job.job import Job
from incrowd.memory import return_free_memory
from incrowd.progress import Progress, log, report_compilation, silent
from incrowd.tables.locations import Location
from incrowd.threads import use_threads
from incrowd.workspace import Workspace


def run(
    job: Job,
    *,
    force: bool = False,
    progress: Progress = silent,
    save_job: Path | None = None,
    dry_run: bool = False,
    warn: Callable[[str], None] | None = None,
) -> Release[None]:
    """Anonymize a file: the release appears under its name only if its audit holds.

    ``save_job`` is where the job that reproduces this release is written. With ``dry_run``
    everything is done but publishing: no file remains. ``warn`` is told, before anything is
    published, where the release is of little use. Raises InputError (exit 2), InfeasibleError (3)
    or AuditError (4); then nothing was published.
    """
    refuse_lost_threads()
    target = resolve_target(job, force, save_job)
    with (
        _explain_write_failures(target),
        Workspace(target.beside) as workspace,
        closing(engine_for_file(job, target, workspace.folder)) as engine,
        ExitStack() as resources,
    ):
        adapter = adapter_for_file(job, target, engine, workspace, resources, force=force)
        plan = PublishingPlan(force, save_job, target.output if dry_run else None, warn)
        return _anonymize(job, adapter, Stages(progress), plan)


def anonymize(data: Any, job: Job, *, progress: Progress = silent) -> Release[Any]:
    """Anonymize a frame or a matrix and hand back the same kind.

    Tables come as pandas, polars, pyarrow or Spark frames, sets as SciPy matrices or frames of two
    columns. The audit is made on the very data that are handed out. A Spark frame is worked on in
    its own session, whatever engine the job names; its rows stay there where the job allows it.
    Raises as ``run`` does.
    """
    refuse_lost_threads()
    with closing(engine_for_frame(data, job)) as engine:
        adapter = adapter_for_frame(job, data, engine)
        return _anonymize(job, adapter, Stages(progress), PublishingPlan())


@dataclass(frozen=True)
class PublishingPlan:
    """How a release is published: over files that exist, with its job beside it, or not at all.

    ``dry_run_of`` is where a dry run would publish. ``warn`` is told where a release is of little
    use, before it is published.
    """

    force: bool = False
    save_job: Path | None = None
    dry_run_of: Location | None = None
    warn: Callable[[str], None] | None = None


def _anonymize(job: Job, adapter: Adapter, stages: Stages, plan: PublishingPlan) -> Release[Any]:
    compilation = report_compilation(stages.progress, job.method.n_kernels)
    with use_threads(job.engine.threads), compilation:
        return _publish(job, adapter, stages, plan)


def _publish(job: Job, adapter: Adapter, stages: Stages, plan: PublishingPlan) -> Release[Any]:
    with stages("read"):
        original = adapter.store.read()
    with stages("encode"):
        encoded = adapter.encode(original, stages.progress)
        del original
    with stages("search"):
        found = adapter.search(encoded, stages.progress)
    with stages("decode"):
        candidate = adapter.decode(encoded, found)
        del encoded, found  # the audit has its own copy of what it needs
    with stages("write"):
        written = adapter.store.write(candidate.take())
    with stages("audit"):
        reread = adapter.store.reread(written)
        return_free_memory()
        checked = adapter.audit(candidate, reread)
        release_hash, input_hash = adapter.store.hashes(written, reread, checked.n_rows)
    audit = assemble(
        job.guarantee,
        checked.findings,
        checked.n_rows,
        quasi=job.schema.quasi,
        losses=checked.losses,
        n_suppressed=checked.n_suppressed,
        method={
            "name": job.method.name,
            "parameters": {**job.method_parameters, **candidate.figures},
        },
        engine={**adapter.engine.describe(), "kernels": kernels_used()},
        seed=job.seed,
        stages=stages.seconds,
        release_sha256=release_hash,
        input_sha256=input_hash,
        notes=candidate.notes,
        warnings=warnings_of_use(job, checked),
    )
    for note in audit.notes:
        log.info("%s", note)
    for finding in audit.findings:
        if finding.holds is not True:
            log.log(logging.INFO if finding.holds is None else logging.WARNING, "%r", finding)
    refuse_broken(audit)
    for warning in audit.warnings:
        log.warning("%s", warning)
        if plan.warn is not None:
            plan.warn(warning)
    if plan.dry_run_of is not None:
        log.info("dry run: %s would hold, %s", audit.guarantee["name"], audit.crowds)
        where, job, overview = plan.dry_run_of, candidate.job, checked.overview
        return Release(None, audit, where, job, overview=overview, is_published=False)
    source = DocumentSource(
        audit,
        candidate.job,
        lambda: adapter.findings_on_file(candidate, reread, audit),
        adapter.reading(candidate),
        adapter.material(candidate, reread),
    ).appraised(job.release)
    with Publication(force=plan.force) as publication:
        place_documents(publication, job.release, source)
        place_key(publication, job.release.key, candidate.original_row, candidate.key_columns)
        adapter.private_files(candidate, reread, publication, audit)
        if plan.save_job is not None:
            text = candidate.job.to_toml(base=plan.save_job.absolute().parent)
            publication.write(plan.save_job, text)
        data, path = adapter.store.publish(written, publication)
    log.info("released: %s holds, %s", audit.guarantee["name"], audit.crowds)
    kept = source if path is None else None
    return Release(data, source.audit, path, candidate.job, kept, checked.overview)


@contextmanager
def _explain_write_failures(target: Target) -> Iterator[None]:
    """Turn a full disk and its kin into an error that says where, and that nothing is published."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{target.beside}: writing failed ({os.strerror(error.errno or 0)})",
            remedy="Nothing was published. Make room or choose another folder with -o.",
        ) from None

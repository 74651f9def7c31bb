"""The flow of sets, one way: read → search → vote → write → re-read → audit → publish."""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.audit import Audit
from incrowd.checking.certificates import Reading
from incrowd.checking.material import OwnSets, SetMaterial
from incrowd.engines.base import Engine
from incrowd.engines.choice import make_engine
from incrowd.engines.folders import hash_of_location
from incrowd.errors import InputError, JobError
from incrowd.flow.outputs import guarded_outputs, key_written
from incrowd.flow.publication import Told, documents_written, with_appraisal
from incrowd.flow.release import Release, Stages, audit_of, refuse_broken, signed, timed
from incrowd.flow.transactions import (
    FoundRules,
    audit_rules,
    material_of_rules,
    save_rules,
    search_rules,
)
from incrowd.guarantees.evidence import Finding
from incrowd.guarantees.sets.differential_privacy import SEEDED_NOISE, SYSTEM_NOISE, NoiseRecord
from incrowd.guarantees.sets.promises import SetEvidence
from incrowd.guarantees.table import RULE_GUARANTEES, is_noise
from incrowd.job.job import InputOptions, parameters
from incrowd.job.set_job import SetInput, SetJob
from incrowd.measures.losses.sets import set_losses
from incrowd.methods.shared.of_sets.vote import SetPromise, shown_by_groups
from incrowd.progress import Progress, silent
from incrowd.sets.files import read_set_file, read_sets, write_sets
from incrowd.sets.format import SetFile, SetFormat, SetOptions, format_of_path, memory_allowed
from incrowd.sets.order import canonical_order, node_order, renamed_nodes, renamed_rows, symmetrized
from incrowd.sets.sets import BIPARTITE, DIRECTED, IN_MEMORY, UNDIRECTED, Sets, Shelf
from incrowd.sets.universe import read_row_k, with_universe
from incrowd.workspace import Workspace, file_hash, publish


@dataclass(frozen=True, eq=False)
class _Found:
    """A release that nobody has audited yet, with what its audit will need."""

    original: Sets
    released: list[Sets]
    original_row: NDArray[np.int64]
    original_item: NDArray[np.int64] | None
    k_of_row: NDArray[np.int32] | None
    figures: dict[str, Any]
    settings: dict[str, Any]
    notes: list[str]
    record: NoiseRecord | None = None

    def handed_out(self) -> Sets:
        """Return the release and forget it: its audit reads it again from where it was written."""
        return self.released.pop()

    def written(self, path: Path, stored: SetFormat) -> list[Path]:
        """Write the release and forget it; return its files."""
        return write_sets(self.handed_out(), path, stored)


def run_sets(job: SetJob, *, force: bool = False, progress: Progress = silent) -> Release:
    """Anonymize a file of sets, or a folder of part files; published only if its audit holds.

    Raises as ``pipeline.run`` does; then nothing was published.
    """
    data, output = guarded_outputs(job, force)
    format_of_path(output)
    stages = Stages(progress)
    try:
        with (
            Workspace(output.parent) as workspace,
            closing(make_engine(job.engine, workspace.folder)) as engine,
        ):
            shelf = shelf_in(workspace.folder, job.engine.memory_bytes)
            options = options_of(job.sets, job.input, job.engine.memory_bytes)
            with stages("read"):
                read = read_set_file(data, options, shelf)
            found = _found(job, read, engine, stages, progress, shelf)
            with stages("write"):
                stored = format_of_path(output, read.format)
                temporary = workspace.file("release" + "".join(output.suffixes[-2:]))
                written = found.written(temporary, stored)
            with stages("audit"):
                again = _read_again(job, temporary, stored, options, shelf)
                audit = _audit(job, found, again, engine)
                audit = signed(audit, file_hash(temporary), hash_of_location(data))
            audit = timed(audit, stages)
            refuse_broken(audit)
            if isinstance(found, FoundRules):
                save_rules(job, found, force=force)
            repeating = _repeating(job, found)
            told = with_appraisal(job.release, _told(repeating, audit, found, again))
            with (
                documents_written(job.release, told, force=force),
                key_written(job.release.key, found.original_row, force=force),
            ):
                for part in reversed(written):  # what stands beside a release is there before it
                    ending = part.name.removeprefix(temporary.name)
                    publish(part, output.with_name(output.name + ending), force=force)
    except OSError as error:
        raise InputError(
            f"{output.parent}: writing failed ({os.strerror(error.errno or 0)})",
            remedy="Nothing was published. Make room or choose another folder with -o.",
        ) from None
    return Release(None, told.audit, output, repeating)


def anonymize_sets(data: Any, job: SetJob, *, progress: Progress = silent) -> Release:
    """Anonymize a SciPy matrix, a long frame or Sets and hand back the same kind."""
    from incrowd.sets.frames import sets_from_frame, sets_to_frame

    stages = Stages(progress)
    with closing(make_engine(job.engine)) as engine:
        with stages("read"):
            read = sets_from_frame(data, options_of(job.sets, job.input))
            if read.format.kind == "scipy" and job.guarantee.name in RULE_GUARANTEES:
                raise JobError(
                    "a matrix has no place for the names of generalized items",
                    remedy="Give a long frame of rows and items, or a file.",
                )
        found = _found(job, read, engine, stages, progress, IN_MEMORY)
        with stages("write"):
            handed_out = sets_to_frame(found.handed_out(), read.format)
        with stages("audit"):
            rows = None if read.format.kind == "scipy" else range(found.original.n_rows)
            columns = read.format.row_column or None, read.format.item_column or None
            reading = SetOptions(released_graph(job.sets.graph), None, *columns)
            again = sets_from_frame(handed_out, reading, rows=rows).sets
            audit = _audit(job, found, again, engine)
            audit = signed(audit, _hash(again), _hash(read.sets))
        audit = timed(audit, stages)
        refuse_broken(audit)
        if isinstance(found, FoundRules):
            save_rules(job, found, force=False)
        repeating = _repeating(job, found)
        told = with_appraisal(job.release, _told(repeating, audit, found, again))
        with (
            documents_written(job.release, told, force=False),
            key_written(job.release.key, found.original_row, force=False),
        ):
            return Release(handed_out, told.audit, job=repeating, told=told)


def _told(job: SetJob, audit: Audit, found: _Found | FoundRules, again: Sets) -> Told:
    """Return what documents may tell of released sets.

    Rules are the owner's, and so is what proves noise: of those nothing is found on a file alone.
    """
    reading = Reading(graph=released_graph(job.sets.graph))
    if isinstance(found, FoundRules):
        return Told(audit, job.to_toml(), tuple, reading, lambda: material_of_rules(found, again))
    own = OwnSets(found.original, found.original_row, found.original_item, found.k_of_row)

    def on_file() -> list[Finding]:
        evidence = SetEvidence(again, columns_are_people=job.sets.graph != BIPARTITE)
        is_checkable = found.record is None and found.k_of_row is None
        return job.guarantee.check(evidence) if is_checkable else []

    return Told(audit, job.to_toml(), on_file, reading, lambda: SetMaterial(again, own))


def check_released_sets(guarantee: Any, evidence: SetEvidence, started: float) -> Audit:
    """Audit released sets from any tool; nothing is written."""
    return _audit_of(guarantee, guarantee.check(evidence), evidence, started)


def released_graph(graph: str) -> str:
    """Return how a release's lists are to be read: of each node its own, in one direction."""
    return DIRECTED if graph == UNDIRECTED else graph


def options_of(stated: SetInput, reading: InputOptions, memory: int | None = None) -> SetOptions:
    """Return how a file of sets is to be read, in so much memory if that is stated."""
    return SetOptions(
        graph=stated.graph,
        kind=stated.kind,
        row_column=stated.row_column,
        item_column=stated.item_column,
        delimiter=reading.delimiter,
        encoding=reading.encoding,
        header=reading.header,
        values=stated.values,
        memory=memory,
    )


def shelf_in(folder: Path, memory: int | None) -> Shelf:
    """Return where entries lie: in memory as far as its bound goes, else in a folder."""
    return Shelf(folder, memory_allowed(SetOptions(memory=memory)))


def _read_again(
    job: SetJob, path: Path, stored: SetFormat, options: SetOptions, shelf: Shelf
) -> Sets:
    """Read a release as a stranger would, in the memory that its input had."""
    as_written = stored.options(released_graph(job.sets.graph))
    return read_sets(path, replace(as_written, memory=options.memory), shelf)


@dataclass(frozen=True, eq=False)
class _Made:
    """Sets as a method made them: row r of the input shows row ``row_of[r]`` of ``shown``.

    Without ``row_of`` rows are as they came.
    """

    shown: Sets
    row_of: NDArray[np.int32] | None
    figures: dict[str, Any]
    settings: dict[str, Any]
    notes: list[str]
    record: Any = None


def _found(
    job: SetJob,
    read: SetFile,
    engine: Engine,
    stages: Stages,
    progress: Progress,
    shelf: Shelf,
) -> _Found | FoundRules:
    if job.guarantee.name in RULE_GUARANTEES:
        return search_rules(job, read, engine, stages, progress)
    return _search(job, read, engine, stages, progress, shelf)


def _search(
    job: SetJob,
    read: SetFile,
    engine: Engine,
    stages: Stages,
    progress: Progress,
    shelf: Shelf,
) -> _Found:
    original = read.sets
    with stages("encode"):
        if job.sets.items:
            original = with_universe(original, job.sets.items, shelf)
        k_of_row = read_row_k(job.sets.row_k, original) if job.sets.row_k else None
        if not is_noise(job.guarantee):
            job.guarantee.refuse_infeasible(original.n_rows, k_of_row)
        _require_room(job, original, engine, shelf)
    with stages("search"):
        if is_noise(job.guarantee):
            made = _noisy(job, original, engine, progress)
        else:
            made = _grouped(job, original, k_of_row, engine, progress, shelf)
    with stages("decode"):
        released, original_row, original_item = _in_order(job, made, original, shelf)
    notes = [*read.notes, *made.notes]
    if original.graph == UNDIRECTED and job.release.symmetrize == "none" and made.record is None:
        notes.append("a node's released list is its group's: u may be in v's list and v not in u's")
    return _Found(
        original,
        [released],
        original_row,
        original_item,
        k_of_row,
        made.figures,
        made.settings,
        notes,
        made.record,
    )


def _require_room(job: SetJob, original: Sets, engine: Engine, shelf: Shelf) -> None:
    """Refuse a search that would take more memory than it may."""
    if "entries-on-disk" not in job.method.keeps:
        others = "" if is_noise(job.guarantee) else ", or use --method cluster"
        shelf.require_memory(job.method.name, others)
    elif engine.name == "local":
        share = min(1.0, 1.5 * job.method.chunk_rows / max(1, original.n_rows))
        n_searched = round(share * original.n_entries)
        shelf.require_search(original.n_rows, original.n_items, n_searched, engine.n_workers)


def _grouped(
    job: SetJob,
    original: Sets,
    k_of_row: NDArray[np.int32] | None,
    engine: Engine,
    progress: Progress,
    shelf: Shelf,
) -> _Made:
    """Find groups and let each show what its rows vote for."""
    guarantee = job.guarantee
    promise = SetPromise(guarantee.name, guarantee.k, guarantee.settled_vote, k_of_row)
    found = job.method.search(original, promise, engine, job.seed, progress)
    shown = shown_by_groups(original, found.group_of_row, promise, shelf)
    return _Made(shown, found.group_of_row, dict(found.figures), dict(found.settings), [])


def _noisy(job: SetJob, original: Sets, engine: Engine, progress: Progress) -> _Made:
    """Answer for every cell with noise; what to expect of it is told before it starts."""
    guarantee, method = job.guarantee, job.method
    outlook = method.foresee(original, guarantee.level, guarantee.epsilon)
    expected = f"expected Jaccard similarity {outlook.expected_jaccard:.4f}"
    progress(f"drawing noise, {expected}", 0, 0)
    noisy = method.respond(original, guarantee.level, guarantee.epsilon, progress, engine)
    record = NoiseRecord(
        level=guarantee.level,
        epsilon=guarantee.epsilon,
        cell_epsilon=outlook.cell_epsilon,
        flip_probability=outlook.flip_probability,
        n_rows=original.n_rows,
        n_items=original.n_items,
        graph=original.graph,
        has_self_loops=method.self_loops,
        has_public_items=bool(job.sets.items) or original.graph != BIPARTITE,
        source=SYSTEM_NOISE if method.insecure_noise_seed is None else SEEDED_NOISE,
    )
    notes = [expected, *([outlook.warning] if outlook.warning else [])]
    return _Made(noisy.released, None, dict(noisy.figures), {}, notes, record)


def _in_order(
    job: SetJob, made: _Made, original: Sets, shelf: Shelf
) -> tuple[Sets, NDArray[np.int64], NDArray[np.int64] | None]:
    """Return the sets as they are written, each row's original row and, if renamed, item's item."""
    if original.graph == BIPARTITE and not job.release.keep_order:
        order = canonical_order(made.shown, made.row_of)
        rows: NDArray[Any] = order if made.row_of is None else made.row_of[order]
        return renamed_rows(made.shown).take(rows, shelf), order, None
    released = made.shown
    if made.row_of is not None:
        of_row = made.shown.take(made.row_of, shelf)
        released = original.with_entries(of_row.starts, of_row.items)
        if job.release.symmetrize != "none":
            either = job.release.symmetrize == "either"
            released = symmetrized(released, either=either, shelf=shelf)
    if job.release.keep_order:
        order = np.arange(released.n_rows, dtype=np.int64)
        return (
            renamed_rows(released) if released.graph == BIPARTITE else released,
            order,
            None,
        )
    order = node_order(released, original)
    renamed, original_item = renamed_nodes(released, order, shelf)
    return renamed, order, original_item


def _audit(job: SetJob, found: _Found | FoundRules, again: Sets, engine: Engine) -> Audit:
    if isinstance(found, FoundRules):
        return audit_rules(job, found, again, engine)
    evidence = SetEvidence(
        released=again,
        original=found.original,
        original_row=found.original_row,
        original_item=found.original_item,
        k_of_row=found.k_of_row,
        keeps_order=job.release.keep_order,
        columns_are_people=job.sets.graph != BIPARTITE,
    )
    if found.record is not None:  # no file can be checked for differential privacy
        findings = job.guarantee.attest(found.record)
    else:
        findings = job.guarantee.check(evidence)
    audit = _audit_of(job.guarantee, findings, evidence, time.perf_counter())
    return replace(
        audit,
        method={"name": job.method.name, "parameters": {**parameters(job.method), **found.figures}},
        engine=engine.describe(),
        seed=job.seed,
        notes=tuple(found.notes),
    )


def _audit_of(
    guarantee: Any, findings: list[Finding], evidence: SetEvidence, started: float
) -> Audit:
    losses = _losses(evidence)
    return audit_of(guarantee, findings, evidence.released.n_rows, started, losses)


def _losses(evidence: SetEvidence) -> dict[str, float]:
    if evidence.original is None or evidence.original_row is None:
        return {}
    return set_losses(
        evidence.original,
        evidence.released,
        original_row=evidence.original_row,
        original_item=evidence.original_item,
    ).as_dict()


def _repeating(job: SetJob, found: _Found | FoundRules) -> SetJob:
    return replace(job, method=replace(job.method, **found.settings))


def _hash(sets: Sets) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(sets.starts).data)
    digest.update(np.ascontiguousarray(sets.items).data)
    return digest.hexdigest()

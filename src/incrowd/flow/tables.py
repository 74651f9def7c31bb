"""A table's search, the audit of what it found, and what documents are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.audit import Audit
from incrowd.checking.certificates import Reading
from incrowd.checking.material import OwnTable, TableMaterial
from incrowd.checking.tables import Owner, examine, released_rows
from incrowd.codes import canonical_order
from incrowd.encoding.coding import CodedView
from incrowd.encoding.costs import with_costs
from incrowd.encoding.encode import decode, encode, refuse_stars
from incrowd.encoding.rows import Rows, Trace
from incrowd.engines.base import Engine
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import InputError
from incrowd.flow.assignment import assigned_by_content
from incrowd.flow.conditions import conditions_of, refuse_infeasible, sensitive_hierarchies_of
from incrowd.flow.preparation import Prepared, notes_on_columns, prepare, without_unshown_bits
from incrowd.flow.publication import Told
from incrowd.flow.release import Stages, peak_memory, promise_of
from incrowd.flow.suppression import Settled, settle, suppression_finding
from incrowd.guarantees.evidence import Finding
from incrowd.guarantees.tables.leaks import insensitive_leaks
from incrowd.hierarchies.tree import Hierarchy
from incrowd.job.job import Job, parameters
from incrowd.measures.losses.tables import losses_of_means, measure, share_of_stated_costs
from incrowd.measures.risk.finding import risk_finding
from incrowd.methods.adaptive.search import starred_missing
from incrowd.methods.shared.conditions import Conditions
from incrowd.progress import Progress
from incrowd.tables.frames import plain_zeros
from incrowd.tables.table import Table


@dataclass(frozen=True)
class Searched:
    """A release that nobody has audited yet, with what its audit will need."""

    prepared: Prepared
    before: Rows
    settled: Settled
    conditions: Conditions
    frame: pa.Table
    original_row: NDArray[np.int64]
    sensitive_hierarchies: dict[str, Hierarchy]
    notes: list[str]
    trace: Trace

    def written(self, job: Job) -> Searched:
        """Return it without the released rows, which lie elsewhere from now on."""
        needed = replace(self.prepared, table=_needed(self.prepared, job))
        return replace(self, frame=self.frame.schema.empty_table(), prepared=needed)

    def repeating(self, job: Job) -> Job:
        """Return the job that does the same again."""
        method = replace(job.method, **self.trace.settings)
        return replace(job, method=method, bins=self.prepared.bins)


def search_table(
    job: Job, table: Table, engine: Engine, stages: Stages, progress: Progress
) -> Searched:
    stated = job.schema
    table = replace(table, frame=plain_zeros(table.frame))
    table.require([*stated.roles, *([stated.person] if stated.person else [])], table.name)
    if job.guarantee.k_column:
        table.require([job.guarantee.k_column], table.name)
    refuse_stars(table, (*stated.quasi, *stated.sensitive))
    prepared = prepare(job, table)
    notes = notes_on_columns(job, table)
    original, table, schema = table, prepared.table, prepared.schema
    for leak in insensitive_leaks(
        table.frame, schema.quasi, schema.insensitive, accepted=job.release.accept_insensitive
    ):
        if leak.holds is False:
            raise InputError(
                f"{table.name}: {leak.summary}",
                remedy="Leave the column out, make it quasi-identifying, or release it all the "
                "same with --accept-insensitive COLUMN.",
            )
    with stages("encode"):
        before, said = encode(table, schema.quasi, prepared.hierarchies, job.coding)
        before = replace(before, attribute_of_column=prepared.attribute_of_column)
        before = with_costs(before, getattr(job.method, "costs", {}))
        view = CodedView.of(before, job.coding)
        hierarchies = sensitive_hierarchies_of(job, table)
        conditions = conditions_of(job, original, hierarchies)
        refuse_infeasible(job, conditions, table.n_rows)
    with stages("search"):
        after = view.restored(job.method.run(view.rows, conditions, engine, job.seed, progress))
        if conditions.is_size_only and not after.is_suppressed.any():
            others = [name for name in schema.published if name not in schema.quasi]
            nodes = assigned_by_content(before.nodes, after.nodes, table.frame.select(others))
            after = replace(after, nodes=nodes)
        if getattr(job.method, "missing", "value") == "suppress":
            after = replace(after, nodes=starred_missing(before, after, table.missing_values))
        prepared, after = without_unshown_bits(prepared, after)
    with stages("decode"):
        schema = prepared.schema
        settled = settle(after, conditions, job.release)
        notes += [*prepared.notes, *said, *settled.notes]
        frame, original_row = decode(settled.rows, table, schema)
        if not job.release.keep_order:
            order = canonical_order(frame)
            frame = frame.take(pa.array(order)).combine_chunks()
            original_row = original_row[order]
    notes += after.trace.notes
    return Searched(
        prepared, before, settled, conditions, frame, original_row, hierarchies, notes, after.trace
    )


def _needed(prepared: Prepared, job: Job) -> Table:
    """Return the columns that an audit holds a release against."""
    table, schema = prepared.table, prepared.schema
    needed = {*schema.published, schema.person, job.guarantee.k_column}
    return replace(table, frame=table.frame.select([c for c in table.columns if c in needed]))


def audit_table(
    job: Job,
    searched: Searched,
    reread: Table,
    engine: Engine,
) -> Audit:
    schema, before = searched.prepared.schema, searched.before
    findings = examine(
        reread,
        schema,
        job.guarantee,
        engine,
        owner=Owner(
            searched.prepared.table,
            searched.original_row,
            dict(zip(before.names, before.hierarchies, strict=True)),
            keeps_order=job.release.keep_order,
            wishes=searched.conditions.k_of_row,
        ),
        sensitive_hierarchies=searched.sensitive_hierarchies,
        accepted=job.release.accept_insensitive,
        codings=job.coding,
    )
    findings += suppression_finding(searched.settled, searched.conditions, reread.n_rows)
    holds = all(finding.holds is not False for finding in findings)
    losses: dict[str, float] = {}
    if holds:
        after = released_rows(before, reread, searched.original_row)
        losses = measure(before, after, job.guarantee.k)
        losses |= losses_of_means(before, reread, searched.original_row)
        if getattr(job.method, "costs", {}):
            losses["costs"] = share_of_stated_costs(before, after, job.method.metric)
    first = findings[0].figures
    return Audit(
        holds=holds,
        guarantee=promise_of(job.guarantee),
        findings=tuple(findings),
        quasi=job.schema.quasi,
        losses=losses,
        n_rows=reread.n_rows,
        n_suppressed=searched.settled.n_suppressed,
        n_groups=int(first.get("n_groups", 0)),
        smallest_group=int(first.get("smallest_group", 0)),
        method={
            "name": job.method.name,
            "parameters": {**parameters(job.method), **searched.trace.figures},
        },
        engine=engine.describe(),
        seed=job.seed,
        peak_memory_bytes=peak_memory(),
        notes=tuple(searched.notes),
    )


def told_of(job: Job, audit: Audit, searched: Searched, reread: Table) -> Told:
    """Return what documents may tell of a released table, computed when they ask for it."""
    return Told(
        audit,
        job.to_toml(),
        lambda: _found_on_file(job, searched, reread),
        Reading(searched.prepared.schema.quasi, job.schema.sensitive, job.input.missing_values),
        lambda: _material_of(searched, reread),
    )


def _found_on_file(job: Job, searched: Searched, reread: Table) -> list[Finding]:
    """Return what anyone finds on the released file alone; nothing where only its owner can."""
    if job.guarantee.needs_owner or job.schema.person:
        return []
    schema = searched.prepared.schema
    found = examine(
        reread,
        schema,
        job.guarantee,
        LocalEngine(),
        sensitive_hierarchies=searched.sensitive_hierarchies,
        accepted=job.release.accept_insensitive,
    )
    return [*found, risk_finding(reread, schema, with_values=False)]


def _material_of(searched: Searched, reread: Table) -> TableMaterial:
    """Return what a report is made of: the release as it was read again, and its original."""
    before = searched.before
    own = OwnTable(
        searched.prepared.table,
        searched.original_row,
        before,
        released_rows(before, reread, searched.original_row),
        searched.conditions.k_of_row,
    )
    return TableMaterial(reread, searched.prepared.schema, own)

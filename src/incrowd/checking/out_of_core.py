"""The audit of a release that lies on an engine: counts, sums and fingerprints come here, no rows.

That each row is a true, coarser picture of its original is proven block by block where rows are
generalized; here the release as it was written is held against that: the same rows in number and
content, the groups that were to be, the other columns unchanged.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.audit import Audit, assemble
from incrowd.checking.material import Material
from incrowd.checking.request import Request
from incrowd.encoding.coding import Coding
from incrowd.encoding.encode import nodes_of
from incrowd.encoding.rows import Rows
from incrowd.engines.base import N_ROWS, Blocks, OutOfCoreEngine
from incrowd.engines.choice import out_of_core_engine
from incrowd.errors import EngineError, InputError, JobError, unknown
from incrowd.guarantees.evidence import Evidence, Finding
from incrowd.guarantees.table import TableGuarantee
from incrowd.guarantees.tables.counts import EngineCounts
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from incrowd.guarantees.tables.leaks import find_leaks
from incrowd.guarantees.tables.row_order import are_in_canonical_order, order_finding
from incrowd.guarantees.tables.truth import check_coding
from incrowd.hierarchies.tree import STAR, Hierarchy
from incrowd.measures.losses.tables import Tally, measure_tally
from incrowd.tables.columns.normalize import Readings, normalize_frame
from incrowd.tables.columns.types import labels_of
from incrowd.tables.frames import is_spark_frame
from incrowd.tables.locations import location_name
from incrowd.tables.schema import Schema
from incrowd.workspace import Workspace

_HASHES = pa.schema(
    [("n", pa.int64()), ("sum", pa.int64()), ("by", pa.string()), ("starred", pa.string())]
)


@dataclass(frozen=True)
class Fingerprint:
    """How many rows there are, the sum of the hashes of their texts, and how many cells of each
    column are ``*``."""

    n_rows: int
    total: int
    starred: tuple[int, ...] = ()

    def without(self, others: Fingerprint) -> Fingerprint:
        """Return the fingerprint of the rows that remain when others are taken away."""
        starred = (mine - theirs for mine, theirs in zip(self.starred, others.starred, strict=True))
        total = (self.total - others.total) % (1 << 64)
        return Fingerprint(self.n_rows - others.n_rows, total, tuple(starred))


@dataclass(frozen=True, eq=False)
class Expected:
    """What a release must come to.

    ``nodes[column, group]`` are the groups that were to be, ``n_of_group`` rows each; further
    ``n_left_out`` rows are left out. ``released`` is the fingerprint of the rows as they were made,
    ``others`` that of the original's columns that are not generalized, without the rows that are
    left out. By ``readings`` the cells of the release are read. ``wishes`` are the rows as they
    were made, with each one's own k, where there is one.
    """

    before: Rows
    counts_before: Sequence[NDArray[np.int64]]
    nodes: NDArray[np.int32]
    n_of_group: NDArray[np.int64]
    released: Fingerprint
    others: Fingerprint
    readings: Readings
    n_left_out: int = 0
    sensitive_hierarchies: dict[str, Hierarchy] = field(default_factory=dict)
    wishes: Evidence | None = None


def fingerprint(engine: OutOfCoreEngine, blocks: Blocks, names: Sequence[str]) -> Fingerprint:
    """Sum the hashes of rows, of these columns as texts; neither order nor blocks matter."""
    if not names:
        return Fingerprint(int(engine.count(blocks, []).column(N_ROWS)[0].as_py()), 0)
    of_blocks = engine.collect(
        engine.map_blocks(engine.select(blocks, list(names)), _hash_block, _HASHES)
    )
    if len(set(of_blocks.column("by").to_pylist())) > 1:
        raise EngineError(
            "workers run different versions of polars, so that rows cannot be compared",
            remedy="Install the same versions on every worker.",
        )
    total = of_blocks.column("sum").to_numpy().view(np.uint64).sum(dtype=np.uint64)
    counts = [list(map(int, text.split())) for text in of_blocks.column("starred").to_pylist()]
    starred = [sum(of_column) for of_column in zip(*counts, strict=True)]
    return Fingerprint(sum(of_blocks.column("n").to_pylist()), int(total), tuple(starred))


def examine_rows(
    engine: OutOfCoreEngine,
    released: Blocks,
    schema: Schema,
    guarantee: TableGuarantee,
    expected: Expected,
    *,
    missing_values: tuple[str, ...] = (),
    accepted: tuple[str, ...] = (),
    codings: Mapping[str, Coding] | None = None,
    tables: Iterable[pa.Table] | None = None,
) -> tuple[list[Finding], dict[str, float]]:
    """Check a written release; return what was found and what was lost.

    No value beyond the limits of ``codings`` may be shown. ``tables`` are its rows in the file's
    order, where that can be followed.
    """
    counted = engine.count(released, list(schema.quasi))
    of_file = guarantee
    if isinstance(guarantee, KAnonymity) and guarantee.needs_owner:
        of_file = replace(guarantee, k_column=None, k_rules=())
    findings, leaks = _promise_and_leaks(
        engine,
        _read_sensitive(engine, released, schema, expected.readings),
        schema,
        of_file,
        counted,
        missing_values,
        accepted,
        expected.sensitive_hierarchies,
    )
    if of_file is not guarantee and findings[0].holds:
        findings[0] = _check_wishes(guarantee, expected)
    n_of_line = counted.column(N_ROWS).to_numpy()
    read = normalize_frame(counted.select(list(codings or ())), expected.readings)
    findings += [
        check_coding(name, read.column(name), limits, n_of_line)
        for name, limits in (codings or {}).items()
    ]
    truth, after = _truth(engine, released, schema, expected, counted)
    findings += [truth, *leaks]
    if tables is not None:
        findings.append(order_finding(are_in_canonical_order(tables)))
    losses: dict[str, float] = {}
    if all(finding.holds is not False for finding in findings):
        losses = measure_tally(_tally(expected, after, n_of_line, guarantee.k))
    return findings, losses


def _read_sensitive(
    engine: OutOfCoreEngine, released: Blocks, schema: Schema, readings: Readings
) -> Blocks:
    """Return released rows with the dates and numbers of sensitive columns as they were read."""
    known = {name: readings[name] for name in schema.sensitive if name in readings}
    if not known:
        return released
    given = engine.schema(released)
    returned = normalize_frame(given.empty_table(), known).schema

    def read(block: pa.Table) -> pa.Table:
        return normalize_frame(block, known)

    return engine.map_blocks(released, read, returned)


def _check_wishes(guarantee: TableGuarantee, expected: Expected) -> Finding:
    """Check that every group is as large as the largest k of its rows.

    A written release does not hold them: it is checked on the rows as they were made, which
    ``_truth`` finds in the release, one by one.
    """
    if expected.wishes is None:
        raise ValueError("people have a k of their own, and nobody brings it")
    alone = replace(cast(KAnonymity, guarantee), l=None, t=None)
    return alone.check(expected.wishes)[0]


def _truth(
    engine: OutOfCoreEngine,
    released: Blocks,
    schema: Schema,
    expected: Expected,
    counted: pa.Table,
) -> tuple[Finding, NDArray[np.int32]]:
    """Hold the release against what was to be written; return also the nodes of its groups."""
    columns = engine.schema(released).names
    after = np.empty((len(schema.quasi), counted.num_rows), dtype=np.int32)
    for place, (name, hierarchy) in enumerate(
        zip(schema.quasi, expected.before.hierarchies, strict=True)
    ):
        column = normalize_frame(counted.select([name]), expected.readings).column(name)
        after[place] = nodes_of(column, hierarchy, "the release")
    others = [name for name in columns if name not in schema.quasi]
    have_groups = _same_groups(
        after, counted.column(N_ROWS).to_numpy(), expected.nodes, expected.n_of_group
    )
    have_rows = fingerprint(engine, released, columns) == expected.released
    have_others = fingerprint(engine, released, others) == expected.others
    wrong = [
        what
        for what, is_so in (
            ("groups", have_groups),
            ("rows", have_rows),
            ("other columns", have_others),
        )
        if not is_so
    ]
    summary = (
        f"the release differs from what was made of the original in its {', '.join(wrong)}"
        if wrong
        else "every released row is one original row, as it was or coarser"
    )
    figures = {"n_rows": int(counted.column(N_ROWS).to_numpy().sum()), "differs_in": wrong}
    return Finding("truth", not wrong, summary, figures, is_public=False), after


def _same_groups(
    nodes: NDArray[np.int32],
    n_of_line: NDArray[np.int64],
    expected: NDArray[np.int32],
    n_of_group: NDArray[np.int64],
) -> bool:
    """Return whether two lists of groups with their numbers say the same."""
    found, n_found = _sum_counts(nodes, n_of_line)
    wanted, n_wanted = _sum_counts(expected, n_of_group)
    return bool(np.array_equal(found, wanted) and np.array_equal(n_found, n_wanted))


def _sum_counts(
    nodes: NDArray[np.int32], numbers: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the distinct columns of nodes in sorted order, and the sum of each one's numbers."""
    order = np.lexsort(nodes[::-1])
    ordered = nodes[:, order]
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    first = np.flatnonzero(is_first)
    summed = np.add.reduceat(numbers[order], first) if len(first) else numbers
    return ordered[:, first], summed.astype(np.int64)


def _tally(
    expected: Expected, after: NDArray[np.int32], n_of_line: NDArray[np.int64], k: int
) -> Tally:
    """Count nodes and groups for the losses, from the released groups."""
    hierarchies = expected.before.hierarchies
    counts = []
    for nodes, hierarchy in zip(after, hierarchies, strict=True):
        counted = np.bincount(nodes, weights=n_of_line, minlength=hierarchy.n_all_nodes)
        counted[hierarchy.root] += expected.n_left_out
        counts.append(counted.astype(np.int64))
    _, sizes = _sum_counts(after, n_of_line)
    n_left_out = expected.n_left_out
    n_rows = int(n_of_line.sum()) + n_left_out
    before = tuple(expected.counts_before)
    return Tally(hierarchies, before, tuple(counts), sizes, n_rows, n_left_out, k)


def _hash_block(block: pa.Table) -> pa.Table:
    """Return the number of rows of a block and the sum of their texts' hashes."""
    import polars as pl

    texts = [labels_of(column).cast(pa.large_string()) for column in block.columns]
    names = [f"c{place}" for place in range(len(texts))]
    frame = pl.DataFrame(pl.from_arrow(pa.table(texts, names=names)))
    total = frame.fill_null("").hash_rows(seed=0).to_numpy().sum(dtype=np.uint64)
    line = {
        "n": [block.num_rows],
        "sum": [int(np.uint64(total).view(np.int64))],
        "by": [pl.__version__],
        "starred": [" ".join(str((frame[name] == STAR).sum()) for name in names)],
    }
    return pa.table(line, schema=_HASHES)


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """The audit of a release whose rows stayed where they lie."""

    audit: Audit

    def material(self) -> Material:
        """Raise: a report looks at all rows of the release."""
        raise InputError(
            "a report looks at all rows of the release, and these stay where they lie",
            remedy="Leave --report out, or check one file.",
        )


def check_out_of_core(request: Request) -> CheckedRows:
    """Audit a folder of part files, an address or a Spark frame where its rows lie.

    Only what needs neither the owner nor all rows together is checked.
    """
    guarantee = cast(TableGuarantee, request.guarantee)
    is_frame = is_spark_frame(request.released)
    where = "a Spark frame" if is_frame else "a folder"
    remedy = "give frame.toArrow()" if is_frame else "check one file"
    request.refuse_flags(where, f"Such checks hold all rows in memory: {remedy}.")
    is_hierarchical = isinstance(guarantee, KAnonymity) and guarantee.t_kind != "equal"
    if guarantee.needs_owner or (guarantee.t is not None and is_hierarchical):
        raise JobError(
            f"{where} is not checked with personal k or distances between values",
            remedy=f"Such checks hold all rows in memory: {remedy}.",
        )
    started = time.perf_counter()
    with Workspace(Path(tempfile.gettempdir())) as workspace:
        if is_frame:
            from incrowd.engines.spark.engine import SparkEngine

            engine: Any = SparkEngine(session=request.released.sparkSession)
        else:
            engine = out_of_core_engine(request.engine, workspace.folder)
        with closing(engine):
            if is_frame:
                blocks, name, digest = engine.from_frame(request.released), "the frame", ""
            else:
                reading = replace(request.input.reading, is_release=True)
                blocks, _ = engine.read(str(request.released), reading)
                name = location_name(request.released)
                digest = engine.hash_location(str(request.released))
            audit = _audit(engine, blocks, request, name)
    seconds = round(time.perf_counter() - started, 4)
    return CheckedRows(replace(audit, release_sha256=digest, seconds=seconds))


def _audit(engine: OutOfCoreEngine, blocks: Blocks, request: Request, where: str) -> Audit:
    schema, columns = request.schema, engine.schema(blocks).names
    for name in schema.published:
        if name not in columns:
            raise unknown("column", name, columns, where=where)
    others = [name for name in columns if name not in (*schema.quasi, *schema.sensitive)]
    schema = Schema(schema.quasi, schema.sensitive, others)
    groups = engine.count(blocks, list(schema.quasi))
    guarantee = cast(TableGuarantee, request.guarantee)
    findings, leaks = _promise_and_leaks(
        engine, blocks, schema, guarantee, groups, request.input.missing_values, request.accepted
    )
    return assemble(
        guarantee,
        [*findings, *leaks],
        sum(groups.column(N_ROWS).to_pylist()),
        quasi=schema.quasi,
        engine=engine.describe(),
    )


def _promise_and_leaks(
    engine: OutOfCoreEngine,
    blocks: Blocks,
    schema: Schema,
    guarantee: TableGuarantee,
    groups: pa.Table,
    missing_values: tuple[str, ...],
    accepted: tuple[str, ...],
    sensitive_hierarchies: dict[str, Hierarchy] | None = None,
) -> tuple[list[Finding], list[Finding]]:
    """Check the guarantee and look for leaks where the rows lie."""
    n_rows = sum(groups.column(N_ROWS).to_pylist())
    evidence = Evidence(
        engine=engine,
        blocks=blocks,
        n_rows=n_rows,
        quasi=schema.quasi,
        sensitive=schema.sensitive,
        missing_values=missing_values,
        sensitive_hierarchies=sensitive_hierarchies or {},
    )
    counts = EngineCounts(engine, blocks, n_rows, groups)
    leaks = find_leaks(counts, schema.quasi, schema.sensitive, schema.insensitive, accepted)
    return guarantee.check(evidence), leaks

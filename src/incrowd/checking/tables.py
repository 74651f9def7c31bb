"""Check a released table: load it with what its owner brings, audit it, measure what is asked."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.audit import Audit, assemble
from incrowd.checking.examine import Owner, encode_release, examine
from incrowd.checking.material import OwnTable, TableMaterial
from incrowd.checking.request import Request
from incrowd.codes import compact_text
from incrowd.encoding.derived import derive_columns, name_derivations
from incrowd.encoding.encode import encode
from incrowd.encoding.personal_k import assign_k
from incrowd.engines.choice import make_engine
from incrowd.errors import DataError, InputError, JobError, unknown
from incrowd.guarantees.evidence import Finding
from incrowd.guarantees.table import TableGuarantee
from incrowd.hierarchies.builders import hierarchy_for
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.hierarchies.tree import Hierarchy
from incrowd.job.column_readings import AS_WRITTEN, ReadingPlan, plan_reading
from incrowd.job.inputs import InputOptions, read_input
from incrowd.job.preparation import prepare_table, replace_quasi
from incrowd.tables.columns.normalize import normalize_table, read_columns
from incrowd.tables.files.read import read_table
from incrowd.tables.frames import frame_hash, from_frame
from incrowd.tables.schema import Schema
from incrowd.tables.table import Table
from incrowd.threads import use_threads
from incrowd.workspace import file_hash


@dataclass(frozen=True, eq=False)
class LoadedTable:
    """A released table as a check reads it, and what its owner brought.

    ``hierarchies`` are stated for the columns as they are released; ``pseudonyms`` is the column
    that has them, which is in ``released`` no more.
    """

    released: Table
    release_sha256: str
    schema: Schema
    owner: Owner | None
    hierarchies: dict[str, HierarchySpec]
    request: Request
    pseudonyms: pa.ChunkedArray | None = None

    def material(self) -> TableMaterial:
        """Return what figures are computed from, with the original where the key is brought."""
        owner, released, schema = self.owner, self.released, self.schema
        if owner is None or owner.original_row is None:
            return TableMaterial(released, schema)
        before, _ = encode(owner.original, schema.quasi, self.hierarchies, self.request.coding)
        named = name_derivations(before.hierarchies, self.request.hierarchies)
        before = replace(before, hierarchies=named)
        after = encode_release(before, released, owner.original_row)
        removed = tuple(name for name in owner.original.columns if name not in released.columns)
        own = OwnTable(owner.original, owner.original_row, before, after, owner.k_of_row, removed)
        return TableMaterial(released, schema, own)


@dataclass(frozen=True, eq=False)
class CheckedTable:
    """A loaded table and its audit."""

    loaded: LoadedTable
    audit: Audit

    def material(self) -> TableMaterial:
        """Return what figures are computed from; a key that was not proven shows nothing."""
        loaded = self.loaded
        return replace(loaded, owner=None).material() if self.has_broken_key else loaded.material()

    @property
    def has_broken_key(self) -> bool:
        """Whether the owner's key was not proven, so that nothing may be built on it."""
        return any(item.name == "key" and item.holds is False for item in self.audit.findings)


def check_table(request: Request) -> CheckedTable:
    """Audit a released table from any tool; nothing is written."""
    from incrowd.checking.measurements import measure_table

    with use_threads(request.engine.threads):
        return measure_table(_audit_table(request))


def _audit_table(request: Request) -> CheckedTable:
    """Load a released table and hold it against its promise."""
    started = time.perf_counter()
    loaded = load_table(request)
    guarantee, owner = cast(TableGuarantee, request.guarantee), loaded.owner
    with closing(make_engine(request.engine)) as engine:
        findings = examine(
            loaded.released,
            loaded.schema,
            guarantee,
            engine,
            owner=owner,
            sensitive_hierarchies=_sensitive_hierarchies(loaded),
            accepted=request.accepted,
            thresholds=request.thresholds,
            measures=request.measures,
            codings=request.coding,
        )
        description = engine.describe()
    if loaded.pseudonyms is not None:
        findings.append(_check_pseudonyms(loaded))
    _refuse_unrelated_key(findings, loaded.released.n_rows, request)
    n_left_out = 0
    if owner is not None and owner.original_row is not None:
        n_left_out = owner.original.n_rows - loaded.released.n_rows
    audit = assemble(
        guarantee,
        findings,
        loaded.released.n_rows,
        quasi=loaded.schema.quasi,
        n_suppressed=n_left_out,
        engine=description,
        seconds=round(time.perf_counter() - started, 4),
        release_sha256=loaded.release_sha256,
    )
    return CheckedTable(loaded, audit)


MOST_UNTRUE = 0.5
"""The share of rows that are untrue from which on a key is taken for that of another release."""


def _refuse_unrelated_key(findings: list[Finding], n_rows: int, request: Request) -> None:
    """Raise where most rows are not those that the key names: it says nothing of this release.

    A few untrue rows are the release's fault, and make the audit fail.
    """
    for finding in findings:
        if finding.name == "key" and finding.figures.get("n_untrue_rows", 0) > MOST_UNTRUE * n_rows:
            n_untrue = finding.figures["n_untrue_rows"]
            stated = "--aligned" if request.aligned else "--key"
            raise InputError(
                f"could not check: {n_untrue:,} of {n_rows:,} released rows are not the original "
                f"rows that {stated} names for them",
                remedy="A release is sorted unless it was made with --keep-order: give the key "
                "that run --key wrote, and the original, hierarchies and codings of this release "
                "(--job has them). Without --original the promise is checked on the file alone.",
            )


def load_table(request: Request) -> LoadedTable:
    """Read a released table, its original and its key; find which column is what."""
    guarantee, schema = cast(TableGuarantee, request.guarantee), request.schema
    released, digest = read_table_data(request.released, request.input)
    pseudonyms = None
    if request.pseudonyms is not None:
        released.require([request.pseudonyms], released.name)
        pseudonyms = released.frame.column(request.pseudonyms)
        released = replace(released, frame=released.frame.drop_columns([request.pseudonyms]))
    hierarchies = dict(request.hierarchies)
    owner = None
    if request.original is not None:
        original, _ = read_table_data(request.original, request.input)
        original.require(schema.quasi, original.name)
        original = _plan_reading(request).read(original)
        released = normalize_table(released, original.readings)
        k_of_row = None
        if guarantee.k_rules:
            k_of_row = assign_k(original, guarantee.k, None, guarantee.k_rules)
        ready = prepare_table(original, schema, request.bins, hierarchies, is_bit=request.has_bits)
        schema, hierarchies = ready.schema, dict(ready.hierarchies)
        if request.has_bits:  # bits that are not in the release are masked for everybody
            shown = tuple(name for name in schema.quasi if name in released.columns)
            schema = replace_quasi(schema, shown)
            hierarchies = {name: spec for name, spec in hierarchies.items() if name in shown}
        owner = _owner(request, ready.table, released, schema, hierarchies)
        owner = replace(owner, k_of_row=k_of_row, attribute_of_bit=ready.attribute_of_bit)
    elif request.has_bits or any(request.bins.values()):
        raise JobError(
            "--bins and --bits are about how the original was cut up",
            remedy="Name it with --original, or name the released columns with --quasi.",
        )
    else:
        released = _read_alone(request, released)
    released.require(schema.published, released.name)
    withheld = (*schema.quasi, *schema.sensitive, schema.person, guarantee.k_column)
    others = [name for name in released.columns if name not in withheld]
    schema = Schema(schema.quasi, schema.sensitive, others, person=schema.person)
    for column in request.coding:
        if column not in schema.quasi:
            raise unknown("quasi-identifying column", column, schema.quasi, where="coding")
    _refuse_private(schema, guarantee, released, owner)
    return LoadedTable(released, digest, schema, owner, hierarchies, request, pseudonyms)


def _check_pseudonyms(loaded: LoadedTable) -> Finding:
    """Check the pseudonyms of a release, with what its owner brings of the original and the key."""
    from incrowd.guarantees.tables.pseudonyms import PSEUDONYM, check_pseudonyms

    owner, key = loaded.owner, loaded.request.key
    assert loaded.pseudonyms is not None
    in_key = None
    if isinstance(key, (str, Path)):
        stated = read_table(Path(key), header=True)
        if PSEUDONYM in stated.columns:
            order = np.argsort(read_row_numbers(stated, key)[0], kind="stable")
            in_key = stated.frame.column(PSEUDONYM).take(pa.array(order))
    return check_pseudonyms(
        loaded.pseudonyms,
        None if owner is None else owner.original.frame,
        None if owner is None else owner.original_row,
        in_key,
    )


def _plan_reading(request: Request) -> ReadingPlan:
    return plan_reading(
        request.schema,
        request.hierarchies,
        cast(TableGuarantee, request.guarantee),
        request.input,
        coding=request.coding,
        bins=request.bins,
    )


def read_like_original(request: Request, table: Table) -> Table:
    """Return a table of the original's kind with its dates and numbers read, ages and days derived.

    A population and the original of another release are compared with what the release shows.
    """
    return derive_columns(_plan_reading(request).read(table), request.hierarchies)[0]


def _read_alone(request: Request, released: Table) -> Table:
    """Return a release with its dates and numbers read as far as it shows them on its own.

    Cells that were generalized fit no format, and no count depends on it: nothing is refused.
    """
    stated, specs = request.input.stated_formats, request.hierarchies
    as_written = {name for name, spec in specs.items() if spec.kind in AS_WRITTEN}
    names = [
        name
        for name in released.columns
        if name in stated or (request.detects_formats and name not in as_written)
    ]
    return read_columns(released, names, stated, lenient=names)


def read_table_data(data: Any, options: InputOptions) -> tuple[Table, str]:
    """Return a file, a frame or a table as a table, and its SHA-256."""
    if isinstance(data, (str, Path)):
        return read_input(Path(data), options, is_compact=True), file_hash(Path(data))
    if isinstance(data, Table):
        table, digest = data, ""
    else:  # what is named in an index is shown with the frame, as a column is
        table, _ = from_frame(data, missing_values=options.missing_values, index=None)
        digest = frame_hash(table.frame)
    return replace(table, frame=compact_text(table.frame)), digest


def _refuse_private(
    schema: Schema, guarantee: TableGuarantee, released: Table, owner: Owner | None
) -> None:
    """Raise where a column that only the owner has is needed and not there."""
    private = [name for name in (schema.person, guarantee.k_column) if name]
    if owner is not None and owner.original_row is not None:
        owner.original.require(private, owner.original.name)
        return
    lacking = [name for name in private if name not in released.columns]
    if lacking:
        raise InputError(
            f"could not check: {', '.join(lacking)} is the owner's and not in the release",
            remedy="Give --original and --key (or --aligned), as the owner.",
        )


def _owner(
    request: Request,
    original: Table,
    released: Table,
    schema: Schema,
    hierarchies: dict[str, HierarchySpec],
) -> Owner:
    """Return what the owner brings: the original, and with a key who is which row."""
    if request.key is None and not request.aligned:
        return Owner(original)
    original.require([*schema.quasi, *schema.sensitive], original.name)
    if request.aligned:
        if original.n_rows != released.n_rows:
            raise InputError(
                f"--aligned: the original has {original.n_rows} rows, "
                f"the release {released.n_rows}",
                remedy="Use --key with the key that run --key wrote.",
            )
        original_row = np.arange(released.n_rows, dtype=np.int64)
    else:
        original_row = read_key(request.key, released.n_rows)
    before, _ = encode(original, schema.quasi, hierarchies, request.coding)
    return Owner(
        original,
        original_row,
        dict(zip(before.names, before.hierarchies, strict=True)),
        keeps_order=request.aligned,
    )


def _sensitive_hierarchies(loaded: LoadedTable) -> dict[str, Hierarchy]:
    """Return the hierarchies that distances between sensitive values go by."""
    if cast(TableGuarantee, loaded.request.guarantee).t is None:
        return {}
    return {
        name: hierarchy_for(name, loaded.released, loaded.hierarchies[name])[0]
        for name in loaded.schema.sensitive
        if name in loaded.hierarchies
    }


def read_key(key: Any, n_rows: int) -> NDArray[np.int64]:
    """Return ``original_row[released row]``, counted from 0, from the file that run --key wrote.

    A key in Python is that array already.
    """
    if not isinstance(key, (str, Path)):
        return np.asarray(key, dtype=np.int64)
    released_row, original_row = read_row_numbers(read_table(Path(key), header=True), key)
    if not np.array_equal(np.sort(released_row), np.arange(n_rows)):
        raise DataError(
            f"{key}: the key does not name each of the {n_rows} released rows once",
            remedy="Use the key that was written with this release.",
        )
    rows: NDArray[np.int64] = original_row[np.argsort(released_row, kind="stable")]
    return rows


def read_row_numbers(table: Table, key: str | Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the released and the original rows that the lines of a key name, counted from 0."""
    table.require(["released_row", "original_row"], str(key))
    try:
        released_row, original_row = (
            table.frame.column(name).cast(pa.int64()).to_numpy() - 1
            for name in ("released_row", "original_row")
        )
    except (pa.ArrowInvalid, TypeError):
        raise DataError(f"{key}: the key's columns must be whole numbers") from None
    return released_row, original_row

"""``incrowd check`` of one released table: what was read, its owner's part, and the audit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from incrowd.errors import InputError, JobError, unknown
from incrowd.tables.schema import Schema

if TYPE_CHECKING:
    from incrowd.audit import Audit
    from incrowd.checking.tables import Owner
    from incrowd.encoding.coding import Coding
    from incrowd.engines.choice import EngineChoice
    from incrowd.guarantees.table import TableGuarantee
    from incrowd.hierarchies.specs import HierarchySpec
    from incrowd.hierarchies.tree import Hierarchy
    from incrowd.job.inputs import InputOptions
    from incrowd.tables.table import Table


@dataclass(frozen=True, eq=False)
class TableRequest:
    """What is to be checked of a released table, and how it is read."""

    released: Path
    guarantee: TableGuarantee
    schema: Schema
    specs: dict[str, HierarchySpec]
    codings: dict[str, Coding]
    reading: InputOptions
    engine: EngineChoice
    n_bins: dict[str, int]
    is_bit: bool = False
    original: Path | None = None
    key: Path | None = None
    aligned: bool = False
    accepted: tuple[str, ...] = ()
    thresholds: dict[str, float | None] | None = None
    measures: bool = False


@dataclass(frozen=True, eq=False)
class CheckedTable:
    """A released table as the check read it, what its owner brought, and the audit."""

    audit: Audit
    released: Table
    schema: Schema
    owner: Owner | None
    specs: dict[str, HierarchySpec]
    codings: dict[str, Coding]

    @property
    def has_broken_key(self) -> bool:
        """Whether the owner's key was not proven, so that nothing may be built on it."""
        return any(item.name == "key" and item.holds is False for item in self.audit.findings)


def check_table(request: TableRequest) -> CheckedTable:
    """Audit a released table with all that the owner brings."""
    from incrowd.encoding.personal_k import assign_k
    from incrowd.job.inputs import read_input
    from incrowd.job.preparation import prepared, replace_quasi
    from incrowd.workspace import file_hash

    guarantee, schema, specs = request.guarantee, request.schema, request.specs
    table = read_input(request.released, request.reading)
    whole, k_of_row = None, None
    if request.original is not None:
        whole = read_input(request.original, request.reading)
        whole.require(schema.quasi, whole.name)
        if guarantee.k_rules:
            k_of_row = assign_k(whole, guarantee.k, None, guarantee.k_rules)
        ready = prepared(whole, schema, request.n_bins, specs, is_bit=request.is_bit)
        whole, schema, specs = ready.table, ready.schema, dict(ready.hierarchies)
        if request.is_bit:  # bits of values that no row shows are not in the release
            shown = tuple(name for name in schema.quasi if name in table.columns)
            schema = replace_quasi(schema, shown)
            specs = {name: spec for name, spec in specs.items() if name in shown}
    elif request.is_bit or any(request.n_bins.values()):
        raise JobError(
            "--bins and --bits are about how the original was cut up",
            remedy="Name it with --original, or name the released columns with --quasi.",
        )
    others = [
        name
        for name in table.columns
        if name not in (*schema.quasi, *schema.sensitive, schema.person, guarantee.k_column)
    ]
    schema = Schema(schema.quasi, schema.sensitive, others, person=schema.person)
    table.require([*schema.quasi, *schema.sensitive], table.name)
    for column in request.codings:
        if column not in schema.quasi:
            raise unknown("quasi-identifying column", column, schema.quasi, where="coding")
    owner = None
    if whole is not None:
        owner = owner_of(request, whole, table, schema, specs)
        owner = replace(owner, k_of_row=k_of_row)
    elif request.key is not None or request.aligned:
        raise JobError("--key and --aligned speak of an original", remedy="Name it: --original.")
    audit = _audit(request, table, schema, specs, owner)
    audit = replace(audit, release_sha256=file_hash(request.released))
    return CheckedTable(audit, table, schema, owner, specs, request.codings)


def _audit(
    request: TableRequest,
    table: Table,
    schema: Schema,
    specs: dict[str, HierarchySpec],
    owner: Owner | None,
) -> Audit:
    from contextlib import closing

    from incrowd.checking.check import check
    from incrowd.engines.choice import make_engine

    stated = request.thresholds or {}
    with closing(make_engine(request.engine)) as working:
        return check(
            table,
            request.guarantee,
            schema,
            engine=working,
            owner=owner,
            sensitive_hierarchies=_sensitive_hierarchies(request.guarantee, schema, table, specs),
            accepted=request.accepted,
            thresholds={name: value for name, value in stated.items() if value is not None},
            measures=request.measures,
            codings=request.codings,
        )


def owner_of(
    request: TableRequest,
    original: Table,
    released: Table,
    schema: Schema,
    specs: dict[str, HierarchySpec],
) -> Owner:
    """Return what the owner brings: the original, and with a key who is which row."""
    import numpy as np

    from incrowd.checking.tables import Owner
    from incrowd.cli.key_file import read_key
    from incrowd.encoding.encode import encode

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
        assert request.key is not None
        original_row = read_key(request.key, released.n_rows)
    before, _ = encode(original, schema.quasi, specs, request.codings)
    return Owner(
        original,
        original_row,
        dict(zip(before.names, before.hierarchies, strict=True)),
        keeps_order=request.aligned,
    )


def _sensitive_hierarchies(
    guarantee: TableGuarantee, schema: Schema, table: Table, specs: dict[str, HierarchySpec]
) -> dict[str, Hierarchy]:
    from incrowd.hierarchies.builders import hierarchy_for

    if guarantee.t is None:
        return {}
    return {
        name: hierarchy_for(name, table, specs[name])[0]
        for name in schema.sensitive
        if name in specs
    }

"""Audit a table from any tool."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from incrowd.audit import Audit, assemble
from incrowd.checking.out_of_core import check_frame
from incrowd.checking.tables import Owner, examine
from incrowd.encoding.coding import Coding
from incrowd.encoding.personal_k import assign_k
from incrowd.engines.base import Engine
from incrowd.engines.choice import make_engine
from incrowd.errors import InputError
from incrowd.guarantees.table import TableGuarantee
from incrowd.hierarchies.tree import Hierarchy
from incrowd.tables.frames import frame_hash, from_frame, is_spark_frame
from incrowd.tables.read import read_table
from incrowd.tables.schema import Schema
from incrowd.tables.table import Table
from incrowd.workspace import file_hash


def check(
    released: Any,
    guarantee: TableGuarantee,
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
        digest = frame_hash(released.frame)
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
    if owner is not None and guarantee.k_rules and owner.k_of_row is None:
        stated = assign_k(owner.original, guarantee.k, None, guarantee.k_rules)
        owner = replace(owner, k_of_row=stated)
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
    n_left_out = 0
    if owner is not None and owner.original_row is not None:
        n_left_out = owner.original.n_rows - released.n_rows
    return assemble(
        guarantee,
        findings,
        released.n_rows,
        quasi=schema.quasi,
        n_suppressed=n_left_out,
        engine=working.describe(),
        seconds=round(time.perf_counter() - started, 4),
        release_sha256=digest,
    )

"""The check of a release that lies in many files, where it lies."""

from __future__ import annotations

import tempfile
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from incrowd.audit import Audit
from incrowd.engines.base import N_ROWS, Blocks, SpreadEngine
from incrowd.engines.choice import EngineChoice
from incrowd.errors import unknown
from incrowd.flow.placement import engine_of, reading_of
from incrowd.flow.release import audit_of
from incrowd.guarantees.evidence import Evidence
from incrowd.guarantees.table import Guarantee
from incrowd.guarantees.tables.leaks_on_engine import find_spread_leaks
from incrowd.job.job import InputOptions
from incrowd.tables.schema import Schema
from incrowd.tables.table import Location, name_of
from incrowd.workspace import Workspace


def check_spread(
    location: Location,
    guarantee: Guarantee,
    schema: Schema,
    options: InputOptions,
    choice: EngineChoice,
    accepted: tuple[str, ...] = (),
) -> Audit:
    """Audit a folder of part files, or an address, where it lies; nothing is written.

    Columns without a role are looked at as insensitive ones.
    """
    started = time.perf_counter()
    with (
        Workspace(Path(tempfile.gettempdir())) as workspace,
        closing(engine_of(choice, workspace.folder)) as engine,
    ):
        blocks, _ = engine.read(str(location), replace(reading_of(options), is_release=True))
        columns = engine.schema(blocks).names
        stated = (*schema.quasi, *schema.sensitive)
        others = [name for name in columns if name not in stated]
        roles = Schema(schema.quasi, schema.sensitive, others)
        where = name_of(location)
        audit = _audit(engine, blocks, guarantee, roles, options.missing_values, accepted, where)
        audit = replace(audit, release_sha256=engine.hash_of(str(location)))
    return replace(audit, seconds=round(time.perf_counter() - started, 4))


def check_frame(
    frame: Any,
    guarantee: Guarantee,
    schema: Schema,
    missing_values: tuple[str, ...] = (),
    accepted: tuple[str, ...] = (),
) -> Audit:
    """Audit a Spark frame in its own session; nothing is written."""
    from incrowd.engines.spark.engine import SparkEngine

    started = time.perf_counter()
    with closing(SparkEngine(session=frame.sparkSession)) as engine:
        blocks = engine.from_frame(frame)
        audit = _audit(engine, blocks, guarantee, schema, missing_values, accepted, "the frame")
    return replace(audit, seconds=round(time.perf_counter() - started, 4))


def _audit(
    engine: SpreadEngine,
    blocks: Blocks,
    guarantee: Guarantee,
    schema: Schema,
    missing_values: tuple[str, ...],
    accepted: tuple[str, ...],
    where: str,
) -> Audit:
    columns = engine.schema(blocks).names
    for name in schema.published:
        if name not in columns:
            raise unknown("column", name, columns, where=where)
    groups = engine.count(blocks, list(schema.quasi))
    n_rows = sum(groups.column(N_ROWS).to_pylist())
    evidence = Evidence(
        engine=engine,
        blocks=blocks,
        n_rows=n_rows,
        quasi=schema.quasi,
        sensitive=schema.sensitive,
        missing_values=missing_values,
    )
    findings = guarantee.check(evidence)
    findings += find_spread_leaks(
        engine,
        blocks,
        n_rows,
        schema.quasi,
        schema.sensitive,
        schema.insensitive,
        accepted,
        groups=groups,
    )
    audit = audit_of(guarantee, findings, n_rows, time.perf_counter())
    return replace(audit, quasi=schema.quasi, engine=engine.describe())

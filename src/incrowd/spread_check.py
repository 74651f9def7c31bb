"""The check of a release that lies in many files, where it lies."""

from __future__ import annotations

import tempfile
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from incrowd.audit import Audit
from incrowd.data.locations import Location, name_of
from incrowd.data.schema import Schema
from incrowd.engines.base import N_ROWS
from incrowd.engines.table import EngineChoice
from incrowd.errors import unknown
from incrowd.guarantees.evidence import Evidence
from incrowd.guarantees.spread_leaks import find_spread_leaks
from incrowd.guarantees.table import Guarantee
from incrowd.job import InputOptions
from incrowd.release import audit_of
from incrowd.spread.where import engine_of, reading_of
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
        for name in (*schema.quasi, *schema.sensitive):
            if name not in columns:
                raise unknown("column", name, columns, where=name_of(location))
        others = [name for name in columns if name not in (*schema.quasi, *schema.sensitive)]
        n_rows = int(engine.count(blocks, []).column(N_ROWS)[0].as_py())
        evidence = Evidence(
            engine=engine,
            blocks=blocks,
            n_rows=n_rows,
            quasi=schema.quasi,
            sensitive=schema.sensitive,
            missing_values=options.missing_values,
        )
        findings = guarantee.check(evidence)
        findings += find_spread_leaks(
            engine, blocks, n_rows, schema.quasi, schema.sensitive, others, accepted
        )
        audit = audit_of(guarantee, findings, n_rows, started)
        return replace(
            audit,
            quasi=schema.quasi,
            engine=engine.describe(),
            release_sha256=engine.hash_of(str(location)),
        )

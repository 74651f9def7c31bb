"""What users call from Python: anonymize, run, check and compare. Thin: the rooms do the work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from incrowd.checking.check import check_release
from incrowd.checking.request import Request
from incrowd.flow.run import anonymize, run
from incrowd.job.inputs import InputOptions, RuleInput, SetInput
from incrowd.tables.schema import Schema

if TYPE_CHECKING:
    from incrowd.audit import Audit
    from incrowd.checking.examine import Owner
    from incrowd.encoding.coding import Coding
    from incrowd.engines.base import Engine
    from incrowd.guarantees.table import Guarantee
    from incrowd.hierarchies.tree import Hierarchy

__all__ = ["anonymize", "check", "run"]


def check(
    released: Any,
    guarantee: Guarantee,
    schema: Schema | None = None,
    *,
    original: Any = None,
    key: Any = None,
    aligned: bool = False,
    owner: Owner | None = None,
    sets: SetInput | None = None,
    rules: RuleInput | None = None,
    sensitive_hierarchies: Mapping[str, Hierarchy] | None = None,
    missing_values: tuple[str, ...] = (),
    accepted: tuple[str, ...] = (),
    thresholds: Mapping[str, float] | None = None,
    measures: bool = False,
    codings: Mapping[str, Coding] | None = None,
    engine: Engine | None = None,
) -> Audit:
    """Audit a frame, a matrix or a file from any tool, for any guarantee; nothing is written.

    The guarantee says which shape the data have: tables need a ``schema``, transactions ``rules``
    (or sensitive items). The owner adds the ``original`` with the ``key`` (a file, or
    ``original_row[released row]``) or ``aligned`` rows. A Spark frame is audited where its rows
    lie, by what needs neither the owner nor a row's place.
    """
    request = Request(
        released,
        guarantee,
        schema or Schema(),
        sets=sets or SetInput(),
        rules=rules or RuleInput(),
        input=InputOptions(missing_values=missing_values),
        original=original,
        key=key,
        aligned=aligned,
        owner=owner,
        sensitive_hierarchies=sensitive_hierarchies,
        accepted=accepted,
        thresholds=dict(thresholds or {}),
        measures=measures,
        coding=dict(codings or {}),
        working_engine=engine,
        takes_all_columns=False,
    )
    return check_release(request).audit

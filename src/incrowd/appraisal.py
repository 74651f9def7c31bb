"""What a document tells of a release besides its promise: its risk, and what it is still good for.

Each is a finding that informs. They are made only where a document asks for them: they look at
every row of the original once more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from incrowd.figures.material import SetMaterial
from incrowd.guarantees.evidence import Finding

if TYPE_CHECKING:
    from incrowd.audit import Audit
    from incrowd.figures.material import Material


def appraised(audit: Audit, material: Material) -> Audit:
    """Return the audit with the owner's findings of risk, queries and statistics, where told."""
    if material.own is None:
        return audit
    from incrowd.utility.queries import queries_finding
    from incrowd.utility.statistics import statistics_finding

    queries = queries_finding(material)
    found = (_risk(material), queries, statistics_finding(material))
    losses = dict(audit.losses)
    if queries.figures["are"] is not None:
        losses["are"] = queries.figures["are"]
    return replace(audit, findings=(*audit.findings, *found), losses=losses)


def _risk(material: Material) -> Finding:
    if isinstance(material, SetMaterial):
        assert material.own is not None
        from incrowd.risk.of_sets import set_risk_finding

        return set_risk_finding(material.released, original=material.own.original)
    assert material.own is not None
    from incrowd.risk.finding import risk_finding

    return risk_finding(
        material.released,
        material.schema,
        original=material.own.original,
        original_row=material.own.original_row,
    )

"""The findings of a release's use that are asked for, in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.errors import InputError
from incrowd.guarantees.evidence import Finding
from incrowd.measures.options import LEARNING, QUERIES, STATISTICS, UtilityOptions

if TYPE_CHECKING:
    from incrowd.checking.material import Material


def utility_findings(material: Material, options: UtilityOptions) -> list[Finding]:
    """Measure what is asked for; raise InputError where the owner did not bring what it takes."""
    from incrowd.measures.utility.learning import learning_finding
    from incrowd.measures.utility.queries import queries_finding
    from incrowd.measures.utility.statistics import statistics_finding

    if options.utility and material.own is None:
        raise InputError(
            "what a release is still good for is measured beside its original",
            remedy="Give --original, and --key or --aligned.",
        )
    found = []
    if QUERIES in options.utility:
        found.append(queries_finding(material))
    if STATISTICS in options.utility:
        found.append(statistics_finding(material))
    if LEARNING in options.utility:
        assert options.predict is not None
        found.append(learning_finding(material, options.predict))  # type: ignore[arg-type]
    return found

"""What reports are computed from: a release as its audit read it, what only its owner has, and
the appraisal of both.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from incrowd.guarantees.evidence import Finding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.audit import Audit
    from incrowd.encoding.rows import Rows
    from incrowd.sets.sets import Sets
    from incrowd.tables.schema import Schema
    from incrowd.tables.table import Table
    from incrowd.transactions.rules import Rules


@dataclass(frozen=True, eq=False)
class OwnTable:
    """A table that only its owner has, beside its release.

    ``before`` and ``after`` are its quasi-identifying columns as nodes, in the original's order;
    rows that were left out are suppressed in ``after``. ``original_row[released row]``.
    ``removed`` are the original's columns that are not in the release.
    """

    original: Table
    original_row: NDArray[np.int64]
    before: Rows
    after: Rows
    k_of_row: NDArray[np.int32] | None = None
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class TableMaterial:
    """A released table; what only its owner has where that is known."""

    released: Table
    schema: Schema
    own: OwnTable | None = None


@dataclass(frozen=True, eq=False)
class OwnSets:
    """Sets that only their owner has, beside their release; items are renamed in some graphs.

    ``part_of_item``, ``is_sensitive``, ``rules`` and ``splits`` are of transactions with rules:
    which part each item is in, and the tree of splits as the search tells it.
    """

    original: Sets
    original_row: NDArray[np.int64]
    original_item: NDArray[np.int64] | None = None
    k_of_row: NDArray[np.int32] | None = None
    part_of_item: NDArray[np.int32] | None = None
    is_sensitive: NDArray[np.bool_] | None = None
    rules: Rules | None = None
    splits: tuple[dict[str, Any], ...] = field(default=())


@dataclass(frozen=True, eq=False)
class SetMaterial:
    """Released sets; what only their owner has where that is known."""

    released: Sets
    own: OwnSets | None = None


Material = TableMaterial | SetMaterial


# What a document tells of a release besides its promise: its risk, and what it is still good for.


def appraise(audit: Audit, material: Material) -> Audit:
    """Return the audit with the owner's findings of risk, queries and statistics, where told."""
    if material.own is None:
        return audit
    from incrowd.audit import Losses
    from incrowd.measures.utility.queries import queries_finding
    from incrowd.measures.utility.statistics import statistics_finding

    queries = queries_finding(material)
    found = (_risk(material), queries, statistics_finding(material))
    losses = Losses(audit.losses)
    if queries.figures["are"] is not None:
        losses["are"] = queries.figures["are"]
    return replace(audit, findings=(*audit.findings, *found), losses=losses)


def _risk(material: Material) -> Finding:
    if isinstance(material, SetMaterial):
        assert material.own is not None
        from incrowd.measures.risk.finding import set_risk_finding

        return set_risk_finding(material.released, original=material.own.original)
    assert material.own is not None
    from incrowd.measures.risk.finding import risk_finding

    return risk_finding(
        material.released,
        material.schema,
        original=material.own.original,
        original_row=material.own.original_row,
    )

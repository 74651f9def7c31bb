"""The guarantees by name: where a new one is listed."""

from __future__ import annotations

from typing import TypeAlias

from incrowd.guarantees.adaptive.promise import AdaptiveAnonymity
from incrowd.guarantees.evidence import TABLES
from incrowd.guarantees.sets.differential_privacy import EdgeDp, NodeDp
from incrowd.guarantees.sets.promises import Majority, Smooth, Suppression
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from incrowd.guarantees.transactions.promises import KmAnonymity, RuleProtection

TableGuarantee: TypeAlias = KAnonymity | AdaptiveAnonymity
SetGuarantee: TypeAlias = Smooth | Majority | Suppression | EdgeDp | NodeDp
TransactionGuarantee: TypeAlias = RuleProtection | KmAnonymity
Guarantee: TypeAlias = TableGuarantee | SetGuarantee | TransactionGuarantee

GUARANTEES: dict[str, type[Guarantee]] = {
    kind.name: kind
    for kind in (
        KAnonymity,
        AdaptiveAnonymity,
        Smooth,
        Majority,
        Suppression,
        EdgeDp,
        NodeDp,
        RuleProtection,
        KmAnonymity,
    )
}


def guarantees_of(*shapes: str) -> list[str]:
    """Return the names of the guarantees that are about data of these shapes."""
    return [name for name, kind in GUARANTEES.items() if kind.shape in shapes]


TABLE_GUARANTEES = guarantees_of(TABLES)
SET_GUARANTEES = [name for name in GUARANTEES if name not in TABLE_GUARANTEES]
"""Promises about sets and transactions, which are read alike."""

"""The guarantees by name: where a new one is listed."""

from __future__ import annotations

from typing import TypeAlias

from incrowd.errors import JobError, unknown
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


PAPER_NAMES = {
    "smooth-k-anonymity": Smooth.name,
    "smooth-anonymity": Smooth.name,
    "k-majority": Majority.name,
    "majority-k-anonymity": Majority.name,
    "k-suppression": Suppression.name,
    "adaptive-anonymity": AdaptiveAnonymity.name,
    "adaptive-k-anonymity": AdaptiveAnonymity.name,
    "ps-rules": RuleProtection.name,
    "km-anonymity": KmAnonymity.name,
    "edge-differential-privacy": EdgeDp.name,
    "node-differential-privacy": NodeDp.name,
}
"""What papers call a guarantee."""

CONDITIONS = {
    "l-diversity": "--k 5 --l 3",
    "t-closeness": "--k 5 --t 0.3",
    "k-per-person": "--k-column COLUMN or --k-rule",
}
"""What is no guarantee by itself but a condition beside k-anonymity, with the flags for it."""


def require_guarantee(name: str) -> str:
    """Return the name of a guarantee; a paper's name, in any case, is understood.

    Raises where there is none.
    """
    name = PAPER_NAMES.get(name.lower(), name)
    if name in CONDITIONS:
        raise JobError(
            f"{name} is a condition beside k-anonymity, not a guarantee by itself",
            remedy=f"State {CONDITIONS[name]} with --guarantee k-anonymity, which is the default.",
        )
    if name not in GUARANTEES:
        raise unknown("guarantee", name, GUARANTEES)
    return name


def guarantees_of(*shapes: str) -> list[str]:
    """Return the names of the guarantees that are about data of these shapes."""
    return [name for name, kind in GUARANTEES.items() if kind.shape in shapes]


TABLE_GUARANTEES = guarantees_of(TABLES)
SET_GUARANTEES = [name for name in GUARANTEES if name not in TABLE_GUARANTEES]
"""Promises about sets and transactions, which are read alike."""

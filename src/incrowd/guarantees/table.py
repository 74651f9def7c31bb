"""The guarantees by name: where a new one is listed."""

from __future__ import annotations

from typing import Any

from incrowd.guarantees.adaptive.promise import AdaptiveAnonymity
from incrowd.guarantees.sets.differential_privacy import EdgeDp, NodeDp
from incrowd.guarantees.sets.promises import Majority, Smooth, Suppression
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from incrowd.guarantees.transactions.promises import KmAnonymity, RuleProtection

Guarantee = KAnonymity | AdaptiveAnonymity

GUARANTEES: dict[str, type[KAnonymity] | type[AdaptiveAnonymity]] = {
    KAnonymity.name: KAnonymity,
    AdaptiveAnonymity.name: AdaptiveAnonymity,
}


# The guarantees of sets by name: where a new one is listed.

SET_GUARANTEES: dict[str, type[Any]] = {
    Smooth.name: Smooth,
    Majority.name: Majority,
    Suppression.name: Suppression,
    EdgeDp.name: EdgeDp,
    NodeDp.name: NodeDp,
    RuleProtection.name: RuleProtection,
    KmAnonymity.name: KmAnonymity,
}

RULE_GUARANTEES = (RuleProtection.name, KmAnonymity.name)
"""Promises about transactions, kept by generalizing items instead of grouping rows."""


def is_noise(guarantee: Any) -> bool:
    """Whether a promise is kept by noise, and so is a property of the mechanism."""
    return isinstance(guarantee, EdgeDp | NodeDp)

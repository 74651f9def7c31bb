"""The guarantees of sets by name: where a new one is listed."""

from __future__ import annotations

from typing import Any

from incrowd.guarantees.differential_privacy import EdgeDp, NodeDp
from incrowd.guarantees.rules import KmAnonymity, RuleProtection
from incrowd.guarantees.sets import Majority, Smooth, Suppression

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

"""How likely people are found in a release, and which columns and values make it so."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from incrowd.risk.finding import risk_finding
    from incrowd.risk.of_sets import set_risk_finding
    from incrowd.risk.options import RiskOptions
    from incrowd.risk.uniqueness import uniqueness

_HOME = {
    "RiskOptions": "options",
    "risk_finding": "finding",
    "set_risk_finding": "of_sets",
    "uniqueness": "uniqueness",
}

__all__ = ["RiskOptions", "risk_finding", "set_risk_finding", "uniqueness"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'incrowd.risk' has no attribute {name!r}")
    return getattr(import_module(f"incrowd.risk.{_HOME[name]}"), name)

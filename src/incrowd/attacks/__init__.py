"""Attacks on a release, carried out: how often they succeed, with and without it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from incrowd.attacks.composition import Published, composition_finding
    from incrowd.attacks.findings import attack_findings, set_attack_findings
    from incrowd.attacks.options import AttackOptions, CompositionOptions

_HOME = {
    "AttackOptions": "options",
    "CompositionOptions": "options",
    "Published": "composition",
    "attack_findings": "findings",
    "composition_finding": "composition",
    "set_attack_findings": "findings",
}

__all__ = [
    "AttackOptions",
    "CompositionOptions",
    "Published",
    "attack_findings",
    "composition_finding",
    "set_attack_findings",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'incrowd.attacks' has no attribute {name!r}")
    return getattr(import_module(f"incrowd.attacks.{_HOME[name]}"), name)

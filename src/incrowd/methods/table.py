"""The methods by name: where a new one is listed."""

from __future__ import annotations

from incrowd.methods.adaptive.method import Adaptive
from incrowd.methods.base import Method
from incrowd.methods.cluster.method import Cluster
from incrowd.methods.facility.method import Facility
from incrowd.methods.full_domain.method import FullDomain
from incrowd.methods.greedy.method import PRESETS, Greedy
from incrowd.methods.microaggregate.method import Microaggregate
from incrowd.methods.mondrian.method import Mondrian
from incrowd.methods.policy.method import Policy
from incrowd.methods.randomized_response.method import RandomizedResponse
from incrowd.methods.rbat.method import Rbat

METHODS: dict[str, type[Method]] = {
    kind.name: kind
    for kind in (
        Greedy,
        Mondrian,
        Cluster,
        FullDomain,
        Microaggregate,
        Adaptive,
        Policy,
        Facility,
        RandomizedResponse,
        Rbat,
    )
}

DEFAULTS = {
    "adaptive": Adaptive.name,
    "edge-dp": RandomizedResponse.name,
    "node-dp": RandomizedResponse.name,
    "rules": Rbat.name,
    "km": Rbat.name,
}
"""Guarantees that another method than ``cluster`` searches for."""


PAPER_NAMES: dict[str, tuple[str, dict[str, str]]] = {
    **{name: (Greedy.name, {"preset": name}) for name in PRESETS if name != "none"},
    "mr-rbat": (Rbat.name, {}),
    "lower-bounded-facility-location": (Facility.name, {}),
    **{cover: (Adaptive.name, {"search": "cover", "cover": cover}) for cover in ("mce", "lse")},
    "ola": (FullDomain.name, {}),
    "mdav": (Microaggregate.name, {}),
}
"""What papers call a method, and the settings that make it theirs."""


def resolve_method(name: str) -> tuple[str, dict[str, str]]:
    """Return a method's name here and the settings that a paper's name stands for.

    Papers write GkAA and RBAT: case does not count. A name that nobody has comes back as it is.
    """
    lower = name.lower()
    return PAPER_NAMES.get(lower, (lower if lower in METHODS else name, {}))


def default_method(guarantee: str) -> str:
    """Return the name of the method that searches for a guarantee where none is stated."""
    return DEFAULTS.get(guarantee, Cluster.name)


def methods_keeping(*guarantees: str) -> list[str]:
    """Return the names of the methods that keep one of these guarantees."""
    return [name for name, kind in METHODS.items() if kind.keeps.intersection(guarantees)]

"""The methods of tables by name: where a new one is listed."""

from __future__ import annotations

from typing import Any

from incrowd.methods.adaptive.method import Adaptive
from incrowd.methods.cluster.method import Cluster
from incrowd.methods.full_domain.method import FullDomain
from incrowd.methods.greedy.method import Greedy
from incrowd.methods.microaggregate.method import Microaggregate
from incrowd.methods.mondrian.method import Mondrian
from incrowd.methods.policy.method import Policy

METHODS: dict[str, type[Any]] = {
    Greedy.name: Greedy,
    Mondrian.name: Mondrian,
    Cluster.name: Cluster,
    FullDomain.name: FullDomain,
    Microaggregate.name: Microaggregate,
    Adaptive.name: Adaptive,
    Policy.name: Policy,
}

DEFAULT_METHOD = Cluster.name

DEFAULT_OF_GUARANTEE = {"adaptive": Adaptive.name}
"""Guarantees that another method than the default searches for."""

"""The methods by name: where a new one is listed."""

from __future__ import annotations

from typing import Any

from incrowd.methods.adaptive.method import Adaptive
from incrowd.methods.cluster.method import Cluster, SetCluster
from incrowd.methods.facility.method import Facility
from incrowd.methods.full_domain.method import FullDomain
from incrowd.methods.greedy.method import Greedy
from incrowd.methods.microaggregate.method import Microaggregate
from incrowd.methods.mondrian.method import Mondrian, SetMondrian
from incrowd.methods.policy.method import Policy
from incrowd.methods.randomized_response.method import RandomizedResponse
from incrowd.methods.rbat.method import Rbat

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


# The methods of sets by name: where a new one is listed.

SET_METHODS: dict[str, type[Any]] = {
    SetCluster.name: SetCluster,
    Facility.name: Facility,
    SetMondrian.name: SetMondrian,
    RandomizedResponse.name: RandomizedResponse,
    Rbat.name: Rbat,
}

DEFAULT_SET_METHOD = {
    "edge-dp": RandomizedResponse.name,
    "node-dp": RandomizedResponse.name,
    "rules": Rbat.name,
    "km": Rbat.name,
}
"""Guarantees of sets that another method than ``cluster`` searches for."""

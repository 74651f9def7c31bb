"""The methods of sets by name: where a new one is listed."""

from __future__ import annotations

from typing import Any

from incrowd.methods.facility.method import Facility
from incrowd.methods.randomized_response.method import RandomizedResponse
from incrowd.methods.rbat.method import Rbat
from incrowd.methods.set_cluster.method import SetCluster
from incrowd.methods.set_mondrian.method import SetMondrian

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

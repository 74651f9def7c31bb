"""The methods of sets by name: where a new one is listed."""

from __future__ import annotations

from typing import Any

from incrowd.methods.set_cluster.method import SetCluster

SET_METHODS: dict[str, type[Any]] = {
    SetCluster.name: SetCluster,
}

DEFAULT_SET_METHOD: dict[str, str] = {}
"""Guarantees of sets that another method than ``cluster`` searches for."""

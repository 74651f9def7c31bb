"""The guarantees of sets by name: where a new one is listed."""

from __future__ import annotations

from typing import Any

from incrowd.guarantees.sets import Majority, Smooth, Suppression

SET_GUARANTEES: dict[str, type[Any]] = {
    Smooth.name: Smooth,
    Majority.name: Majority,
    Suppression.name: Suppression,
}

"""A grid of releases of one data set, measured, and the front of loss, k and time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from incrowd.compare.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from incrowd.compare import comparison

        return getattr(comparison, name)
    raise AttributeError(name)

"""What several methods let a user choose; light, so that help is shown without loading arrays."""

from __future__ import annotations

from incrowd.errors import unknown

METRICS = (
    "distortion",
    "ncp",
    "total",
    "loss",
    "llm",
    "nllm",
    "wllm",
    "nwllm",
    "weights",
)
"""The names in ``data.prices.PRICES``."""

KEEPS = frozenset({"k-anonymity", "l-diversity", "t-closeness", "k-per-person", "person"})
"""What a method keeps that tests every group with ``kernels.validity``."""


def require_metric(metric: str) -> None:
    """Raise unless a metric of this name has prices."""
    if metric not in METRICS:
        raise unknown("metric", str(metric), METRICS, where="metric")

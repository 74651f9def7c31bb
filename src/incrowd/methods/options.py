"""What several methods let a user choose; light, so that help is shown without loading arrays."""

from __future__ import annotations

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

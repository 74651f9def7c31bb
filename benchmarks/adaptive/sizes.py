"""How large each part of the workload ``adaptive`` is: in full for the docs, small to try it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AdaptiveSizes:
    """The tables of every part. ``adult_rows`` of 0 and the like take the whole table."""

    network_k: tuple[int, int] = (2, 10)
    networks: tuple[str, ...] = ("caltech36", "reed98")
    network_rows: int = 0
    optimum_seconds: float = 600.0
    k: tuple[int, int] = (5, 100)
    adult_rows: int = 0
    census_rows: int = 40_000
    census_first_rows: int = 158_285
    poker_rows: int = 0
    hands_rows: int = 500_000
    payments_rows: int = 74_528
    payments_first_rows: int = 745_280
    growth_rows: tuple[int, ...] = (10_000, 100_000, 500_000)
    plain_rows: int = 100_000
    sweeps: int = 3


FULL = AdaptiveSizes()

SMALL = AdaptiveSizes(
    network_rows=120,
    optimum_seconds=20.0,
    k=(2, 12),
    adult_rows=600,
    census_rows=300,
    census_first_rows=400,
    poker_rows=500,
    hands_rows=600,
    payments_rows=300,
    payments_first_rows=500,
    growth_rows=(300, 600),
    plain_rows=500,
    sweeps=1,
)
"""The same parts in a minute or so."""

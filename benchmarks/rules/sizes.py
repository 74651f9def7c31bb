"""How large each part of the workload ``rules`` is: in full for the docs, small to try it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RulesSizes:
    """The data, rules and settings of every part; the paper's defaults where it states some.

    ``baskets`` are the rows and items of 1X; real files are taken whole with ``most_rows`` of 0.
    """

    baskets: tuple[int, int] = (515_597, 1_657)
    longest: int = 164
    n_rules: int = 4_000
    k: int = 5
    confidence: float = 0.9
    times: tuple[float, ...] = (0.5, 1, 2, 4, 8, 16)
    most_times_of_others: float = 1
    drawn_times: tuple[int, ...] = (4, 16)
    alphas: tuple[int | str, ...] = (1, 4, 16, 64, "full")
    alpha_times: float = 2
    gammas: tuple[int, ...] = (1, 4, 16)
    n_items: tuple[int, ...] = (500, 1_000, 1_657, 3_000, 6_000)
    n_rules_varied: tuple[int, ...] = (1_000, 2_000, 4_000, 8_000, 16_000)
    most_rows: int = 0
    all_m: tuple[int, ...] = (1, 2, 3)
    largest: tuple[int, ...] = (1, 2, 3)
    plain: tuple[int, int, int] = (50_000, 300, 1_000)


FULL = RulesSizes()

SMALL = RulesSizes(
    baskets=(1_500, 120),
    longest=30,
    n_rules=60,
    k=3,
    times=(0.5, 1, 2),
    drawn_times=(2,),
    alphas=(1, 4, "full"),
    alpha_times=1,
    gammas=(1, 4),
    n_items=(60, 120),
    n_rules_varied=(30, 60),
    most_rows=300,
    all_m=(1, 2),
    largest=(1,),
    plain=(400, 30, 20),
)
"""The same parts in a minute or so; ``plain`` is rows, items and rules."""

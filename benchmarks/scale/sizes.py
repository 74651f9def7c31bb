"""How large each part of the workload ``scale`` is: in full for the docs, small to try it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ScaleSizes:
    """The data of every part, and how the rows are cut and held.

    ``voters`` are measured on every place; ``fit_voters`` besides, on those that the cost model
    is made for, since a line needs more than one point; ``most_voters`` on the disk alone.
    Baskets are rows, items, the longest row, and rules.
    """

    k: int = 5
    voters: int = 1_000_000
    fit_voters: tuple[int, ...] = (250_000, 2_000_000)
    many_voters: int = 10_000_000
    most_voters: int = 100_000_000
    partitions: tuple[int, ...] = (1, 4)
    many_partitions: tuple[int, ...] = (4, 8)
    memory: str = "2GB"
    more_memory: str = "4GB"
    executor_memory: int = 2_048
    lists: int = 1_000_000
    list_items: int = 100_000
    list_memory: str = "2GB"
    many_lists: int = 10_000_000
    many_list_memory: str = "4GB"
    payments: int = 20_000
    baskets: tuple[int, int, int, int] = (515_597, 1_657, 164, 4_000)
    round_baskets: tuple[int, int, int, int] = (100_000, 100, 60, 100)


FULL = ScaleSizes()

SMALL = ScaleSizes(
    voters=4_000,
    fit_voters=(2_000, 8_000),
    many_voters=12_000,
    most_voters=16_000,
    partitions=(1, 2),
    many_partitions=(2,),
    memory="300MB",
    more_memory="400MB",
    executor_memory=1_024,
    lists=1_000,
    list_items=200,
    list_memory="300MB",
    many_lists=1_500,
    many_list_memory="400MB",
    payments=300,
    baskets=(900, 100, 30, 20),
    round_baskets=(800, 100, 30, 20),
)
"""The same parts on few rows; most of the time Spark starts."""

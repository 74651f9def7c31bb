"""How large each part of the workload ``greedy`` is: in full for the docs, small to try it out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """The grid of every part. Efforts are what ``Cluster`` takes: ``"10s"`` or a number."""

    index_k: tuple[int, ...] = (2, 10, 100)
    index_repeats: int = 3
    index_voters: int = 1_000_000
    index_voters_k: tuple[int, ...] = (10,)
    growth_rows: tuple[int, ...] = (10_000, 100_000, 1_000_000, 10_000_000)
    growth_methods_up_to: int = 1_000_000
    paper_k: tuple[int, ...] = (2, 3, 5, 10, 100)
    paper_processors: tuple[int, ...] = (2, 8, 32, 64, 128)
    unsorted_processors: tuple[int, ...] = (2, 8, 32)
    paper_voters: tuple[int, ...] = (60_000, 120_000, 240_000, 500_000, 1_000_000)
    voter_processors: tuple[int, ...] = (32, 64, 128)
    boundary_k: tuple[int, ...] = (10, 100)
    boundary_partitions: int = 32
    peer_k: tuple[int, ...] = (10, 100)
    peer_seconds: int = 100
    curve_data: tuple[str, ...] = ("adult", "cup98")
    curve_k: tuple[int, ...] = (2, 5, 10, 100)
    curve_efforts: tuple[int | str, ...] = ("0.1s", "0.5s", "2s", "10s", "60s")


FULL = Sizes()

SMALL = Sizes(
    index_k=(3,),
    index_repeats=1,
    index_voters=3_000,
    index_voters_k=(3,),
    growth_rows=(1_000, 4_000),
    growth_methods_up_to=1_000,
    paper_k=(2, 5),
    paper_processors=(2, 4),
    unsorted_processors=(2,),
    paper_voters=(2_000, 4_000),
    voter_processors=(4,),
    boundary_k=(5,),
    boundary_partitions=4,
    peer_k=(5,),
    peer_seconds=30,
    curve_k=(5,),
    curve_efforts=(50, 500),
)
"""The same parts in a minute or so, on Adult-sized files or smaller."""

"""How large each part of the workload ``sets`` is: in full for the docs, small to try it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SetsSizes:
    """The data and the repetitions of every part; 0 rows take a data set whole."""

    most_rows: int = 0
    block_rows: int = 1024
    block_size: int = 64
    all_k: tuple[int, ...] = (2, 4, 8, 16, 32, 64)
    k: int = 8
    seeds: int = 10
    few_seeds: int = 3
    alphas: tuple[float, ...] = (0.125, 0.25, 0.5)
    betas: tuple[float, ...] = (2, 4, 8)
    epsilons: tuple[float, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
    most_noise: int = 20_000_000
    densities: tuple[float, ...] = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
    dense_entries: int = 200_000
    bound_rows: tuple[tuple[int, int], ...] = ((1024, 64), (2048, 256), (4096, 512))
    learning_k: tuple[int, ...] = (4, 16, 64, 200)
    learning_epsilons: tuple[float, ...] = (10, 100, 300, 1000)
    learning_seeds: int = 5
    epochs: int = 10
    list_rows: tuple[int, ...] = (1_000_000, 10_000_000)
    list_memory: str = "4GB"
    whole_rows: int = 1_000_000
    list_items: int = 100_000
    n_nearest: int = 16
    queries: int = 2_000
    slow_queries: int = 20


FULL = SetsSizes()

SMALL = SetsSizes(
    most_rows=400,
    block_rows=128,
    block_size=32,
    all_k=(2, 8),
    seeds=2,
    few_seeds=1,
    alphas=(0.25, 0.5),
    betas=(2, 4),
    epsilons=(3, 6),
    most_noise=200_000,
    densities=(1e-1, 1e-2),
    dense_entries=2_000,
    bound_rows=((128, 32), (256, 128)),
    learning_k=(8, 50),
    learning_epsilons=(10, 500),
    learning_seeds=2,
    epochs=3,
    list_rows=(2_000, 4_000),
    whole_rows=2_000,
    list_items=500,
    n_nearest=8,
    queries=100,
    slow_queries=10,
)
"""The same parts in a minute or so."""

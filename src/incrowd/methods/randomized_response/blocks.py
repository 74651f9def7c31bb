"""Noise drawn where the engine works: whole rows of cells in blocks, each with noise of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.engines.base import Engine
from incrowd.errors import EngineError
from incrowd.methods.randomized_response.cells import Cells
from incrowd.methods.randomized_response.noise import (
    Bytes,
    bytes_from,
    flipped_places,
    kept_entries,
    nth_empty,
)
from incrowd.progress import Progress, silent

LEAST_BLOCKS, NOISE_OF_BLOCK, ROWS_OF_BLOCK = 16, 1 << 18, 1 << 16

_DRAWN = pa.schema([("block", pa.int64()), ("cells", pa.large_binary())])

Whole = NDArray[np.int64]


def drawn_in_blocks(
    cells: Cells, entries: Whole, q: float, insecure_seed: int | None, engine: Engine
) -> Whole:
    """Return the cells that are shown, ascending; every block draws on a worker of the engine.

    How cells are cut into blocks follows from n, m and ε alone. A block that a worker lost is
    drawn anew, with other noise; only one of its draws ever comes back.
    """
    edges = _edges(cells, q)
    places = np.searchsorted(entries, edges)
    blocks = [
        (entries[start:end] - first).tobytes()
        for start, end, first in zip(places[:-1], places[1:], edges[:-1], strict=True)
    ]
    table = pa.table(
        {
            "block": np.arange(len(blocks)),
            "n_cells": np.diff(edges),
            "cells": pa.array(blocks, pa.large_binary()),
        }
    )
    drawn = engine.collect(engine.map_blocks(engine.load(table), _Draw(q, insecure_seed), _DRAWN))
    numbers = drawn.column("block").to_numpy()
    if not np.array_equal(np.sort(numbers), np.arange(len(blocks))):
        raise EngineError(
            f"{engine.name}: blocks of noise were lost or doubled on the way back",
            remedy="Nothing was released. Run again, or use --engine local.",
        )
    shown = [np.empty(0, dtype=np.int64)]
    column = drawn.column("cells")
    for place in np.argsort(numbers).tolist():
        first = edges[numbers[place]]
        shown.append(first + np.frombuffer(column[place].as_buffer(), np.int64))
    return np.concatenate(shown)


def flipped(entries: Whole, n_cells: int, q: float, noise: Bytes, progress: Progress) -> Whole:
    """Return which of so many cells are shown, ascending, each flipped with probability q."""
    kept = entries[kept_entries(len(entries), q, noise)]
    added = nth_empty(flipped_places(n_cells - len(entries), q, noise, progress), entries)
    shown: Whole = np.concatenate([kept, added])
    shown.sort(kind="stable")  # two runs in order: a merge
    return shown


def _edges(cells: Cells, q: float) -> Whole:
    """Return where blocks of whole rows begin, and where the last one ends."""
    wanted = max(
        LEAST_BLOCKS,
        math.ceil(q * cells.n_cells / NOISE_OF_BLOCK),
        math.ceil(cells.n_rows / ROWS_OF_BLOCK),
    )
    n_blocks = max(1, min(cells.n_rows, wanted))
    rows = np.arange(n_blocks, dtype=np.int64) * cells.n_rows // n_blocks
    return np.append(cells.first_of_row(rows), cells.n_cells)


@dataclass(frozen=True)
class _Draw:
    """Flip the cells of blocks: the operating system's noise, or for tests a seed per block."""

    q: float
    insecure_seed: int | None

    def __call__(self, lines: pa.Table) -> pa.Table:
        shown = []
        for line in lines.to_pylist():
            entries = np.frombuffer(line["cells"], np.int64)
            seed = None if self.insecure_seed is None else (self.insecure_seed, line["block"])
            noise = bytes_from(seed)
            shown.append(flipped(entries, line["n_cells"], self.q, noise, silent).tobytes())
        columns = {"block": lines.column("block"), "cells": pa.array(shown, pa.large_binary())}
        return pa.table(columns, schema=_DRAWN)

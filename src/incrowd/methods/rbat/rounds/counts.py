"""Rounds: transactions that lie in blocks on an engine, and sums over all of them.

A round is one pass over all blocks. Each adds up its own rows, in whole numbers, and what it found
comes back to be added up here: the sums are the same however rows were spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.engines.base import Blocks
from incrowd.engines.items import SUMS, ItemRows
from incrowd.errors import EngineError
from incrowd.methods.rbat.kernels.nodes import NodeDemands
from incrowd.methods.rbat.problem import DistinctRows, Numbering

_TYPES = {
    "starts": np.int64,
    "items": np.int32,
    "n_equal": np.int32,
    "tells_starts": np.int64,
    "tells": np.int32,
}
# a line for each block of transactions, whole arrays in its cells: a round moves few, long cells
_ROWS = pa.schema([(name, pa.binary()) for name in _TYPES])


MOST_ROWS = 1 << 20
"""So many transactions are in one line at most."""


class Request(Protocol):
    """Something to be counted: a number of cells, and how a block's rows add to them."""

    @property
    def n_cells(self) -> int:
        """How many sums there are."""

    def add(self, rows: DistinctRows, cells: NDArray[np.int64]) -> None:
        """Add what these rows come to."""


@dataclass(frozen=True)
class Round:
    """What one round asked of every block, and what came back."""

    n_cells: int
    n_blocks: int
    n_sums: int
    n_bytes: int


class Rounds:
    """Transactions on an engine, distinct in their block; ``counted`` are the rounds so far.

    The rows that a round has counted are compared with those of the first: a block that an
    engine lost or took twice is an error, never a wrong sum.
    """

    def __init__(self, rows: ItemRows, numbering: Numbering) -> None:
        self._engine = rows.engine
        self._blocks: Blocks = rows.map_rows(_LayOut(numbering), _ROWS)
        self._n_rows = -1
        self.counted: list[Round] = []

    def run(self, requests: Sequence[Request]) -> list[NDArray[np.int64]]:
        """Count several things in one round; return the sums of each."""
        ends = np.cumsum([1, *(request.n_cells for request in requests)])
        sums = self._engine.collect(
            self._engine.map_blocks(self._blocks, _Count(tuple(requests)), SUMS)
        )
        places = sums.column("cell").to_numpy()
        # a block's first cell is how many rows it has: there is one of each block
        n_blocks = int(np.count_nonzero(places == 0))
        self.counted.append(Round(int(ends[-1]), n_blocks, len(places), sums.nbytes))
        cells = np.zeros(int(ends[-1]), dtype=np.int64)
        np.add.at(cells, places, sums.column("rows").to_numpy())
        if self._n_rows >= 0 and cells[0] != self._n_rows:
            raise EngineError(
                f"{self._engine.name}: transactions were lost or doubled between two rounds",
                remedy="Nothing was released. Run again, or use --rounds driver.",
            )
        self._n_rows = int(cells[0])
        return np.split(cells[1:], ends[:-1] - 1)[1:]

    @property
    def n_rows(self) -> int:
        """How many transactions hold a public item; known after the first round."""
        return max(0, self._n_rows)


@dataclass(frozen=True, eq=False)
class _LayOut:
    """Turn transactions into distinct rows of public items and what they tell."""

    numbering: Numbering

    def __call__(self, starts: NDArray[np.int64], items: NDArray[np.int32]) -> pa.Table:
        lines: dict[str, list[bytes]] = {name: [] for name in _TYPES}
        for begin in range(0, len(starts) - 1, MOST_ROWS):
            some = starts[begin : begin + MOST_ROWS + 1]
            rows = self.numbering.lay_out_rows(some - some[0], items[some[0] : some[-1]])
            for name, cells in lines.items():
                cells.append(getattr(rows, name).tobytes())
        return pa.table(lines, schema=_ROWS)


@dataclass(frozen=True, eq=False)
class _Count:
    """Add up the rows of a block; sums of 0 stay where they are."""

    requests: tuple[Request, ...]

    def __call__(self, block: pa.Table) -> pa.Table:
        sums = [np.zeros(1, dtype=np.int64)]
        sums += [np.zeros(request.n_cells, dtype=np.int64) for request in self.requests]
        columns = [block.column(name) for name in _TYPES]
        for line in range(block.num_rows):
            cells = (column[line].as_buffer() for column in columns)
            rows = DistinctRows(*map(np.frombuffer, cells, _TYPES.values()))
            sums[0] += rows.n_equal.sum(dtype=np.int64)
            for request, more in zip(self.requests, sums[1:], strict=True):
                request.add(rows, more)
        all_sums = np.concatenate(sums)
        filled = np.flatnonzero(all_sums)
        return pa.table({"cell": filled, "rows": all_sums[filled]}, schema=SUMS)


@dataclass(frozen=True, eq=False)
class Supports:
    """How many rows hold each public item, then each sensitive set."""

    n_items: int
    n_told: int

    @property
    def n_cells(self) -> int:
        """One for each."""
        return self.n_items + self.n_told

    def add(self, rows: DistinctRows, cells: NDArray[np.int64]) -> None:
        """Add the rows."""
        from incrowd.methods.rbat.kernels import nodes as nodes_kernels

        nodes_kernels.add_supports(rows, self.n_items, cells)


@dataclass(frozen=True, eq=False)
class Pairs:
    """In how many rows some items, those with a line of cells, occur with others of their part."""

    n_cells: int
    part_of_item: NDArray[np.int32]
    line_of_item: NDArray[np.int64]
    column_of_item: NDArray[np.int32]

    def add(self, rows: DistinctRows, cells: NDArray[np.int64]) -> None:
        """Add the rows."""
        from incrowd.methods.rbat.kernels import nodes as nodes_kernels

        nodes_kernels.add_pairs(
            rows, self.part_of_item, self.line_of_item, self.column_of_item, cells
        )


@dataclass(frozen=True, eq=False)
class SideCounts:
    """How many rows hold the sides of splits as they stand, and either side with an item."""

    n_cells: int
    split_of_item: NDArray[np.int32]
    side_of_item: NDArray[np.uint8]
    cell_of_item: NDArray[np.int64]
    cell_of_split: NDArray[np.int64]

    def add(self, rows: DistinctRows, cells: NDArray[np.int64]) -> None:
        """Add the rows."""
        from incrowd.methods.rbat.kernels import nodes as nodes_kernels

        nodes_kernels.add_sides(
            rows,
            self.split_of_item,
            self.side_of_item,
            self.cell_of_item,
            self.cell_of_split,
            cells,
        )


@dataclass(frozen=True, eq=False)
class Patterns:
    """How many rows hold every combination of a few items, or sides, of splits."""

    n_cells: int
    split_of_item: NDArray[np.int32]
    bit_of_item: NDArray[np.int64]
    cell_of_split: NDArray[np.int64]

    def add(self, rows: DistinctRows, cells: NDArray[np.int64]) -> None:
        """Add the rows."""
        from incrowd.methods.rbat.kernels import nodes as nodes_kernels

        nodes_kernels.add_patterns(
            rows, self.split_of_item, self.bit_of_item, self.cell_of_split, cells
        )


@dataclass(frozen=True, eq=False)
class DemandCounts:
    """How many rows meet what rules ask for; after them, how many of those tell a sensitive set."""

    demands: NodeDemands

    @property
    def n_cells(self) -> int:
        """One for each demand, and one for each of their sensitive sets."""
        return len(self.demands.starts) - 1 + len(self.demands.told)

    def add(self, rows: DistinctRows, cells: NDArray[np.int64]) -> None:
        """Add the rows."""
        from incrowd.methods.rbat.kernels import nodes as nodes_kernels

        n_demands = len(self.demands.starts) - 1
        nodes_kernels.add_demands(rows, self.demands, cells[:n_demands], cells[n_demands:])

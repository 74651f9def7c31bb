"""Rows of items that lie on an engine, and sums over all of them.

Items are numbered as a stream met them; names and their order are known once all rows have come.
A sum is counted block by block, in whole numbers, and what the blocks come to is added up here:
it is the same however rows were spread. Sums travel, rows do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.engines.base import Blocks, Engine, OutOfCoreEngine
from incrowd.sets.build import sort_in_rows
from incrowd.sets.names import item_names_of
from incrowd.sets.packed import pack_in_chunks, packed, unpack
from incrowd.sets.sets import Sets, count_items

ITEMS = pa.schema([("items", pa.binary())])
"""A row is a cell of bytes: four for each of its items."""

SUMS = pa.schema([("cell", pa.int64()), ("rows", pa.int64())])
"""Sums of 0 are left out."""

Add = Callable[[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]], None]
"""Add what some rows come to: where their items start, the items, and the sums so far."""


class Stream(Protocol):
    """Rows that come block by block: see ``sets.stream.RowStream``."""

    n_rows: int
    n_repeated: int

    def blocks(self) -> Any:
        """Yield where each row's items start, and the items."""

    def finish(self) -> tuple[pa.Array, NDArray[np.int32], NDArray[np.int64]]:
        """Return the names, the place of every number that blocks had, and the supports."""


@dataclass(frozen=True, eq=False)
class ItemRows:
    """Rows of items on an engine; ``names[item]`` is what an item is called.

    ``place_of_code`` is the item that a number in the blocks stands for (None: itself),
    ``support[item]`` how many rows hold it, ``n_repeated`` how many entries stood in their row
    again and were left out.
    """

    engine: Engine
    blocks: Blocks
    names: pa.Array
    support: NDArray[np.int64]
    n_rows: int
    n_repeated: int = 0
    place_of_code: NDArray[np.int32] | None = None

    @property
    def n_items(self) -> int:
        """How many items there are; each is held by some row unless rows were loaded as sets."""
        return len(self.support)

    @property
    def n_entries(self) -> int:
        """How many pairs of a row and an item there are."""
        return int(self.support.sum())

    @classmethod
    def of_stream(cls, engine: OutOfCoreEngine, stream: Stream) -> ItemRows:
        """Load rows as they come; this process holds a block of them."""
        tables = (
            pa.table([packed(starts, items)], schema=ITEMS) for starts, items in stream.blocks()
        )
        blocks = engine.load_tables(tables, ITEMS)
        names, place, support = stream.finish()
        return cls(engine, blocks, names, support, stream.n_rows, stream.n_repeated, place)

    @classmethod
    def of_sets(cls, engine: Engine, sets: Sets) -> ItemRows:
        """Load rows that this process holds."""
        blocks = engine.load(pa.table({"items": pack_in_chunks(sets.starts, sets.items)}))
        support = count_items(sets.items, sets.n_items)
        return cls(engine, blocks, item_names_of(sets), support, sets.n_rows, sets.n_repeated)

    def map_rows(self, function: Callable[..., pa.Table], schema: pa.Schema) -> Blocks:
        """Apply a function of where rows' items start and the items, ascending, to every block."""
        return self.engine.map_blocks(self.blocks, _OnRows(self.place_of_code, function), schema)

    def sum_rows(self, n_cells: int, add: Add) -> NDArray[np.int64]:
        """Return so many sums over all rows."""
        sums = self.engine.collect(self.map_rows(_Sum(n_cells, add), SUMS))
        cells = np.zeros(n_cells, dtype=np.int64)
        np.add.at(cells, sums.column("cell").to_numpy(), sums.column("rows").to_numpy())
        return cells


@dataclass(frozen=True, eq=False)
class _OnRows:
    """Apply a function to the rows of a block, in places of names."""

    place_of_code: NDArray[np.int32] | None
    function: Callable[..., pa.Table]

    def __call__(self, block: pa.Table) -> pa.Table:
        starts, items = unpack(block.column("items"))
        if self.place_of_code is not None:
            items = self.place_of_code[items]
            sort_in_rows(starts, items)
        return self.function(starts, items)


@dataclass(frozen=True, eq=False)
class _Sum:
    """Return the sums of some rows that are not 0."""

    n_cells: int
    add: Add

    def __call__(self, starts: NDArray[np.int64], items: NDArray[np.int32]) -> pa.Table:
        cells = np.zeros(self.n_cells, dtype=np.int64)
        self.add(starts, items, cells)
        filled = np.flatnonzero(cells)
        return pa.table({"cell": filled, "rows": cells[filled]}, schema=SUMS)

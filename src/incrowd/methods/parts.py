"""Parts of a table that are searched on their own, side by side on an engine."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.engines.base import Engine
from incrowd.errors import EngineError


class PartSearch(Protocol):
    """Searches one part: its rows with number and nodes in, row numbers and released nodes out."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of what comes out."""

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return the part's rows as they are released."""


def released_schema(n_columns: int) -> pa.Schema:
    """Return the columns of a searched part: the row's number and its nodes."""
    nodes = [(f"c{column}", pa.int32()) for column in range(n_columns)]
    return pa.schema([("row", pa.int64()), *nodes])


def search_parts(
    engine: Engine, rows: pa.Table, key: str, search: PartSearch, nodes: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Search every part on the engine; return what takes the place of ``nodes[column, row]``.

    ``rows`` has a line per row with its number (``row``), its part (``key``) and its nodes.
    """
    searched = engine.collect(engine.map_groups(engine.load(rows), key, search, search.schema))
    n_columns, n_rows = nodes.shape
    numbers = searched.column("row").to_numpy()
    if not np.array_equal(np.sort(numbers), np.arange(n_rows)):
        raise EngineError(
            f"{engine.name}: rows were lost or doubled on the way back",
            remedy="Nothing was released. Run again, or use --engine local.",
        )
    released = np.empty_like(nodes)
    for column in range(n_columns):
        released[column, numbers] = searched.column(f"c{column}").to_numpy()
    return released

"""The verbs that methods and audits are written over.

An engine knows blocks of Arrow tables and nothing of roles, k or hierarchies. A function given to
``map_blocks`` or ``map_groups`` must not depend on how rows were split or ordered: it breaks ties
by value, and what it needs besides its block travels in its closure. It takes and returns
``pyarrow.Table``; on a cluster it is shipped to workers, so it must be picklable by reference or
closure and import kernels by module inside itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import pyarrow as pa

Blocks = Any
"""An engine's own handle on loaded rows; only that engine looks inside."""

BlockFunction = Callable[[pa.Table], pa.Table]

N_ROWS = "n_rows"
"""The column of counted rows in what ``count`` returns."""

N_PEOPLE = "n_people"
"""The column of counted distinct people in what ``count`` returns."""


class Engine(Protocol):
    """Where rows live, and how they meet."""

    name: str

    def load(self, table: pa.Table) -> Blocks:
        """Take a table in; its rows may be spread over blocks in any way."""

    def collect(self, blocks: Blocks) -> pa.Table:
        """Bring all rows back as one table, in no promised order."""

    def count(self, blocks: Blocks, by: Sequence[str], people: str | None = None) -> pa.Table:
        """Count rows (and distinct values of ``people``) per distinct combination of ``by``.

        Returns the columns ``by`` followed by ``n_rows`` (int64) and, with ``people``,
        ``n_people`` (int64). A null equals a null. The order of the lines is not promised. With
        no ``by`` there is one line, the whole.
        """

    def map_blocks(self, blocks: Blocks, function: BlockFunction, schema: pa.Schema) -> Blocks:
        """Apply a function to every block, however rows were split into them."""

    def map_groups(
        self, blocks: Blocks, key: str, function: BlockFunction, schema: pa.Schema
    ) -> Blocks:
        """Apply a function once to all rows of each value of an integer column ``key``."""

    def describe(self) -> dict[str, object]:
        """Say what ran the job, for the audit: name, threads or master, versions."""

    def close(self) -> None:
        """Give back what the engine holds."""

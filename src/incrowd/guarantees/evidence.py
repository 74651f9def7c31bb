"""What a check looks at and what it finds; the shapes of data that promises are about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from incrowd.summaries import Summarized, verdict

if TYPE_CHECKING:
    import pyarrow as pa

    from incrowd.engines.base import Blocks, Engine
    from incrowd.hierarchies.tree import Hierarchy


TABLES, SETS, TRANSACTIONS = "tables", "sets", "transactions"
SHAPES = (TABLES, SETS, TRANSACTIONS)


# What a check looks at, and what it finds.

STARS = ("as-value", "as-wildcard", "excluded")
"""What a ``*`` or missing cell means when crowds are counted."""

MOST_ROWS_NAMED = 20
"""How many exposed rows a finding names; it counts all of them."""


@dataclass(frozen=True, repr=False)
class Finding(Summarized):
    """One thing a check looked for.

    ``holds`` is False where the promise is broken, None where the finding only informs (or warns).
    ``figures`` are plain numbers and words for JSON. ``exposed_rows`` are row numbers of the
    checked file (1 is the first row after the header), at most 20 of them, for the owner's eyes.
    ``is_public`` is False where the figures are not a function of the released file alone.
    """

    name: str
    holds: bool | None
    summary: str
    figures: dict[str, Any] = field(default_factory=dict)
    exposed_rows: tuple[int, ...] = ()
    is_public: bool = True

    def _title(self) -> str:
        return f"Finding {self.name}: {verdict(self.holds)}; {self.summary}"

    def _verdict(self) -> bool | None:
        return self.holds


@dataclass(frozen=True)
class Evidence:
    """A released file as a stranger reads it, loaded on an engine.

    ``blocks`` hold the file's columns; where the owner has proven a key, also the owner's
    columns that ``person`` and ``k_column`` name. ``frame`` is the same as one local table where
    it fits (row numbers of exposed people come from it), else None. ``original`` has, row by row,
    the quasi-identifying cells that the owner proved to be behind each released row;
    ``n_originals`` counts all rows of the original, and ``attribute_of_bit`` has all its bits,
    released or not, where columns are bits.
    """

    engine: Engine
    blocks: Blocks
    n_rows: int
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    person: str | None = None
    k_column: str | None = None
    missing_values: tuple[str, ...] = ()
    sensitive_hierarchies: dict[str, Hierarchy] = field(default_factory=dict)
    frame: pa.Table | None = None
    original: pa.Table | None = None
    n_originals: int = 0
    attribute_of_bit: dict[str, int] = field(default_factory=dict)

    @classmethod
    def from_table(
        cls,
        table: pa.Table,
        quasi: Iterable[str],
        sensitive: Iterable[str] = (),
        *,
        person: str | None = None,
        k_column: str | None = None,
        missing_values: Iterable[str] = (),
        sensitive_hierarchies: Mapping[str, Hierarchy] | None = None,
        engine: Engine | None = None,
    ) -> Evidence:
        """Load a table on an engine, the local one unless another is given."""
        from incrowd.engines.local.engine import LocalEngine

        working = engine or LocalEngine()
        return cls(
            engine=working,
            blocks=working.load(table),
            n_rows=table.num_rows,
            quasi=tuple(quasi),
            sensitive=tuple(sensitive),
            person=person,
            k_column=k_column,
            missing_values=tuple(missing_values),
            sensitive_hierarchies=dict(sensitive_hierarchies or {}),
            frame=table,
        )

"""The full-domain method: its settings, and the way from rows to released rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.errors import JobError, unknown
from incrowd.methods.base import TableMethod
from incrowd.methods.shared.options import BETA, KEEPS, METRICS, require_metric
from incrowd.options import documented, option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.encoding.rows import Rows
    from incrowd.engines.base import Engine
    from incrowd.methods.shared.conditions import Conditions, PackedConditions
    from incrowd.methods.shared.fragments import Fragments
    from incrowd.progress import Progress


@documented
@dataclass(frozen=True)
class FullDomain(TableMethod):
    """Show each column on one level of its hierarchy in every row: the cheapest levels that hold.

    Global recoding (Samarati 2001), searched exactly as in OLA (El Emam et al. 2009): what does
    not hold on some levels does not hold below them, and what costs more than a choice that holds
    is not looked at. Deviation: the measure that is minimized is the chosen metric of the whole
    table, suppressed rows at the roots, not the height in the lattice. Rows of groups that do not
    hold are suppressed, up to the limit. O(distinct rows · columns) per choice that is judged.
    """

    name: ClassVar[str] = "full-domain"
    n_kernels: ClassVar[int] = 5
    keeps: ClassVar[frozenset[str]] = KEEPS

    metric: str = option("loss", help=f"Information loss to minimize. {BETA}", choices=METRICS)
    minimum_levels: Mapping[str, int] = option(
        {}, help="Minimum generalization level by column, 0 being the original values: age=1,zip=2."
    )
    maximum_levels: Mapping[str, int] = option(
        {}, help="Maximum generalization level by column: age=2 keeps age from '*'."
    )
    column_weights: Mapping[str, float] = option(
        {}, help="Weight of a column's information loss, default 1: age=2,sex=0.5."
    )

    def __post_init__(self) -> None:
        require_metric(self.metric)
        for name in ("minimum_levels", "maximum_levels"):
            for column, level in getattr(self, name).items():
                if type(level) is not int or level < 0:
                    raise JobError(
                        f"{name}: the level of {column!r} is not a whole number of 0 or more",
                        remedy="Levels count from 0, the values themselves.",
                    )
        for column, level in self.minimum_levels.items():
            if level > self.maximum_levels.get(column, level):
                raise JobError(
                    f"minimum_levels: {column!r} is to be on level {level} at least and "
                    f"{self.maximum_levels[column]} at most",
                    remedy="Raise its maximum level, or lower its minimum level.",
                )
        for column, weight in self.column_weights.items():
            is_number = isinstance(weight, (int, float)) and not isinstance(weight, bool)
            if not is_number or not 0 <= weight < float("inf"):
                raise JobError(
                    f"column_weights: that of {column!r} is not a number of 0 or more",
                    remedy="State a weight such as 2 (twice as dear) or 0.5.",
                )

    @property
    def runs_on_distinct_rows(self) -> bool:
        """Whether distinct rows can be searched: always."""
        return True

    def run(
        self,
        rows: Rows,
        conditions: Conditions,
        engine: Engine,  # noqa: ARG002
        seed: int,  # noqa: ARG002
        progress: Progress,
    ) -> Rows:
        """Return the rows on the cheapest levels, those of groups that do not hold suppressed.

        Rows that come suppressed stay so and count towards the limit. The search runs in this
        process, whatever the engine, and there is no chance in it: the seed changes nothing.
        """
        from functools import partial

        import numpy as np

        from incrowd.methods.shared.fragments import search_rows

        self._ranges(rows)
        kept = np.flatnonzero(~rows.is_suppressed)
        search = partial(
            self._search,
            conditions=conditions if len(kept) == rows.n_rows else conditions.take(kept),
            n_suppressible=max(0, conditions.n_suppressible - (rows.n_rows - len(kept))),
            progress=progress,
        )
        return search_rows(rows, conditions, search, is_collapsed=conditions.is_size_only)

    def run_distinct(
        self,
        rows: Rows,
        n_of_row: NDArray[np.int64],
        conditions: Conditions,
        engine: Engine,  # noqa: ARG002
        seed: int,  # noqa: ARG002
        progress: Progress,
    ) -> Fragments:
        """Return distinct rows with their numbers as ``run`` releases the rows they stand for."""
        from functools import partial

        from incrowd.methods.shared.fragments import search_distinct

        self._ranges(rows)
        search = partial(
            self._search,
            conditions=conditions,
            n_suppressible=conditions.n_suppressible,
            progress=progress,
        )
        return search_distinct(rows, n_of_row, conditions, search)

    def _search(
        self,
        rows: Rows,
        n_of_row: NDArray[np.int64],
        limits: PackedConditions,  # noqa: ARG002
        *,
        conditions: Conditions,
        n_suppressible: int,
        progress: Progress,
    ) -> Fragments:
        """Show rows, of which there are several each, on the cheapest levels or leave them out."""
        import numpy as np

        from incrowd.methods.full_domain.search import LeveledTable, search_levels
        from incrowd.methods.shared.conditions import LEFT_OUT
        from incrowd.methods.shared.fragments import Fragments

        table = LeveledTable(
            rows,
            conditions,
            n_suppressible,
            self.metric,
            [float(self.column_weights.get(name, 1.0)) for name in rows.names],
            n_of_row,
        )
        levels = search_levels(table, *self._ranges(rows), progress).levels
        nodes = np.empty_like(rows.nodes)
        for column, (hierarchy, level) in enumerate(zip(rows.hierarchies, levels, strict=True)):
            nodes[column] = hierarchy.ladder[level][rows.nodes[column]]
        nodes[:, table.suppressed(levels)] = LEFT_OUT
        return Fragments.of_each(nodes, n_of_row)

    def _ranges(self, rows: Rows) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the lowest and the highest level of every column, as stated."""
        stated = [*self.minimum_levels, *self.maximum_levels, *self.column_weights]
        for column in stated:
            if column not in rows.names:
                raise unknown("quasi-identifying column", column, rows.names, where="full-domain")
        lowest, highest = [], []
        for name, hierarchy in zip(rows.names, rows.hierarchies, strict=True):
            top = int(hierarchy.height[hierarchy.root])
            for bounds, field in (
                (self.minimum_levels, "minimum_levels"),
                (self.maximum_levels, "maximum_levels"),
            ):
                if bounds.get(name, 0) > top:
                    raise JobError(
                        f"{field}: level {bounds[name]} of column {name!r} does not exist",
                        remedy=f"Its hierarchy has the levels 0 to {top}.",
                    )
            lowest.append(self.minimum_levels.get(name, 0))
            highest.append(self.maximum_levels.get(name, top))
        return tuple(lowest), tuple(highest)

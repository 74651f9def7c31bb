"""The microaggregation method: its settings, and the way from rows to released rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.methods.base import TableMethod
from incrowd.methods.shared.options import AUTO, parse_effort
from incrowd.options import documented, option

if TYPE_CHECKING:
    from incrowd.encoding.rows import Rows
    from incrowd.engines.base import Engine
    from incrowd.methods.shared.conditions import Conditions
    from incrowd.progress import Progress


@documented
@dataclass(frozen=True)
class Microaggregate(TableMethod):
    """Gather rows of near numbers in groups of at least k, and show each group as its means.

    Starts from MDAV (Domingo-Ferrer and Torra 2005) on standardised columns; then a search of
    incrowd's own dissolves a few near groups at a time and rebuilds them with a smaller sum of
    squares. Every group has k to 2k − 1 rows. Tables of more than 20,000 rows are cut into blocks.
    O(rows² · columns) in a block, and time grows with the effort.
    """

    name: ClassVar[str] = "microaggregate"
    n_kernels: ClassVar[int] = 32
    keeps: ClassVar[frozenset[str]] = frozenset({"k-anonymity"})
    shows_means: ClassVar[bool] = True
    least_k: ClassVar[int] = 3

    effort: str | int = option(
        AUTO,
        help="Search effort of microaggregate: a number of iterations, a time (10s, 2m), or "
        "quick, auto or full; auto is 40 iterations per row at k = 3, fewer at larger k; "
        "quick a quarter, full ten times as many.",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "effort", parse_effort(self.effort))

    def run(
        self,
        rows: Rows,
        conditions: Conditions,
        engine: Engine,  # noqa: ARG002
        seed: int,
        progress: Progress,
    ) -> Rows:
        """Return the rows with their groups, and as nodes the least ranges of each group.

        The search runs in this process, whatever the engine. No row is left out.
        """
        from dataclasses import replace

        import numpy as np

        from incrowd.encoding.rows import Trace
        from incrowd.hierarchies.means import covering_ranges
        from incrowd.methods.microaggregate.search import search, standardize

        if not conditions.is_size_only or rows.is_suppressed.any():
            raise ValueError("microaggregation keeps groups of k rows, of all rows, and no more")
        numbers = np.empty((rows.n_rows, rows.n_columns))
        for column, hierarchy in enumerate(rows.hierarchies):
            if hierarchy.mean_unit is None or hierarchy.values is None:
                raise ValueError("microaggregation takes columns that show means")
            numbers[:, column] = hierarchy.values[rows.nodes[column]]
        group_of_row, n_changes, n_tried = search(
            standardize(numbers), conditions.k, self.effort, seed, progress
        )
        nodes = np.stack(
            [
                covering_ranges(hierarchy, leaves, group_of_row)
                for hierarchy, leaves in zip(rows.hierarchies, rows.nodes, strict=True)
            ]
        )
        figures, notes = {"iterations": n_changes}, tuple[str, ...]()
        if n_tried < n_changes and rows.n_rows >= 2 * conditions.k:
            figures["iterations_done"] = n_tried
            notes = (
                f"the search was ended early, after {n_tried:,} of {n_changes:,} changes; "
                "a saved job would make all of them, and another release",
            )
        trace = Trace(figures, {"effort": n_changes}, notes)
        return replace(rows.with_nodes(nodes, trace=trace), group_of_row=group_of_row)

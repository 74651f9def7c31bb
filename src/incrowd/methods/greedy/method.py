"""The greedy method: its settings, and the way from rows to released rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.errors import JobError, unknown
from incrowd.methods.shared.distinct_row_method import DistinctRowMethod
from incrowd.methods.shared.options import (
    KEEPS,
    METRICS,
    NONE,
    QUICK,
    parse_polish,
    require_metric,
    seconds_of,
)
from incrowd.options import documented, option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.encoding.rows import Rows
    from incrowd.engines.base import Engine
    from incrowd.methods.greedy.search import Plan
    from incrowd.methods.shared.conditions import Conditions, PackedConditions
    from incrowd.methods.shared.fragments import Fragments
    from incrowd.progress import Progress


REPAIR = ("auto", "yes", "no")

REORGANIZE = ("levels-first", "values-first", "none")

PRESETS = ("none", "gkaa", "pgkaa", "pgpkaa", "h-pgpkaa")
"""No algorithm of the paper by name, and its four."""

NEEDS_PROCESSORS = ("pgpkaa", "h-pgpkaa")


@documented
@dataclass(frozen=True)
class Greedy(DistinctRowMethod):
    """Merge the smallest group that is not valid with its cheapest partner until all are valid.

    Follows GkAA and, in partitions, PGPkAA (Djeufack Nanfack et al. 2024, Algorithms 1, 2 and 5).
    Deviations: partners are found through an index, which returns the same partner as the paper's
    full scan; ties are settled (least size, then least number; least cost, then least number);
    prices are whole numbers; a partition too small or too uniform to be released by itself is
    joined to its neighbour. Groups are tested for l, t, k per person and people where the paper
    tests their size. Equal rows stay together. O(distinct rows² · columns) per partition at
    worst; the index makes it nearly linear on real tables.
    """

    name: ClassVar[str] = "greedy"
    n_kernels: ClassVar[int] = 22
    keeps: ClassVar[frozenset[str]] = KEEPS

    metric: str = option(
        "nllm",
        help="Information loss to minimize.",
        choices=METRICS,
    )
    partitions: int = option(
        0,
        help="Number of partitions searched independently; 0: one up to 500,000 distinct rows, "
        "then one per 250,000.",
        minimum=0,
    )
    reorganize: str = option(
        "levels-first",
        help="Sort order before partitioning: columns with the fewest hierarchy levels first, "
        "with the fewest values first, or none (file order).",
        choices=REORGANIZE,
    )
    preset: str = option(
        "none",
        help="Algorithm of the paper instead of partitions: gkaa and pgkaa (one partition), "
        "pgpkaa (one per processor), h-pgpkaa (one per doubling of processors, plus one).",
        choices=PRESETS,
    )
    processors: int = option(
        0,
        help="Number of processors the preset is laid out for; affects partitions, not threads.",
        minimum=0,
    )
    repair: str = option(
        "auto",
        help="Improve groups across partition boundaries by a quick second search; auto: if "
        "partitions are stated, not for a preset or costs.",
        choices=REPAIR,
    )
    polish: str | int = option(
        NONE,
        help="Effort of a second search (that of cluster) that improves the groups; see "
        "cluster's effort, or none.",
    )
    costs: Mapping[str, str] = option(
        {},
        help="Cost matrices by column (files, node by node); other columns use the metric. "
        "Partners are then found by a full scan.",
    )

    def __post_init__(self) -> None:
        require_metric(self.metric)
        if not isinstance(self.costs, Mapping) or not all(
            isinstance(text, str) and text for pair in self.costs.items() for text in pair
        ):
            raise JobError(
                "costs does not name a file for each column",
                remedy='Write  [method.costs] education = "education_costs.csv".',
            )
        object.__setattr__(self, "polish", parse_polish(self.polish))
        if self.repair not in REPAIR:
            raise unknown("repair", str(self.repair), REPAIR, where="repair")
        if self.costs and (self.polish != NONE or self.repair == "yes"):
            raise JobError(
                "polish and repair go by a metric, and costs are stated",
                remedy="Leave out the costs, or polish and repair.",
            )
        if self.reorganize not in REORGANIZE:
            raise unknown("order of rows", str(self.reorganize), REORGANIZE, where="reorganize")
        if type(self.partitions) is not int or self.partitions < 0:
            raise JobError(
                "partitions is not a whole number of 0 or more",
                remedy="State how many parts to search, or 0 to leave it to the table's size.",
            )
        if type(self.processors) is not int or self.processors < 0:
            raise JobError(
                "processors is not a whole number of 0 or more",
                remedy="State for how many processors the preset is laid out, or leave it out.",
            )
        self._require_preset()

    def _require_preset(self) -> None:
        """Raise unless preset, processors and partitions say the same."""
        if self.preset not in PRESETS:
            raise unknown("preset", str(self.preset), PRESETS, where="preset")
        if self.preset == "none":
            if self.processors:
                raise JobError(
                    "processors is stated without a preset",
                    remedy="State a preset as well, or partitions in place of processors.",
                )
            return
        if self.preset in NEEDS_PROCESSORS and not self.processors:
            raise JobError(
                f"preset {self.preset} needs processors to be stated",
                remedy="Say for how many, such as --processors 32.",
            )
        if self.preset == "gkaa" and self.processors > 1:
            raise JobError(
                f"preset gkaa runs on one processor, not on {self.processors}",
                remedy="Leave processors out, or take another preset.",
            )
        if self.partitions not in (0, self._stated_partitions):
            raise JobError(
                f"preset {self.preset} means partitions = {self._stated_partitions}, "
                f"but {self.partitions} is asked for",
                remedy="State the preset or the partitions, not both.",
            )

    @property
    def _stated_partitions(self) -> int:
        """How many partitions are asked for by preset or by number; 0 if by neither."""
        if self.preset == "pgpkaa":
            return self.processors
        if self.preset == "h-pgpkaa":
            return self.processors.bit_length()  # the whole part of log2, and one
        return self.partitions if self.preset == "none" else 1

    @property
    def files(self) -> list[str]:
        """The files that the settings name and a run reads."""
        return list(self.costs.values())

    @property
    def stated_costs(self) -> Mapping[str, str]:
        """The files with a user's own costs, by column."""
        return self.costs

    @property
    def runs_on_distinct_rows(self) -> bool:
        """Whether distinct rows can be searched: not by stated costs, seconds or a file's order."""
        goes_by_order = self.reorganize == "none" and self._stated_partitions != 1
        return not (self.costs or goes_by_order or seconds_of(self.polish))

    def _search(
        self,
        rows: Rows,
        n_of_row: NDArray[np.int64],
        limits: PackedConditions,
        *,
        conditions: Conditions,
        engine: Engine,
        seed: int,
        progress: Progress,
    ) -> Fragments:
        """Merge rows of which there are several each, in parts or whole, then repair or polish."""
        from dataclasses import replace

        from incrowd.encoding.rows import Trace
        from incrowd.methods.greedy.search import Plan, loss_by_parts, merge_rows
        from incrowd.methods.shared.fragments import Fragments
        from incrowd.methods.shared.recreate.blocks import polish

        plan = Plan.of(rows, self.metric, limits, conditions.is_size_only)
        partition_of_row = self._partition_of_row(rows, n_of_row, plan)
        figures: dict[str, Any] = {}
        if partition_of_row is None:
            released = merge_rows(rows.nodes, plan, limits, progress, n_of_row=n_of_row)
        else:
            released = _merge_partitions(rows, n_of_row, plan, partition_of_row, engine, progress)
            by_parts = loss_by_parts(rows, released, partition_of_row, self.metric, n_of_row)
            figures["partitions_searched"] = int(partition_of_row.max()) + 1
            figures["equation_2"] = round(by_parts, 9)
        found = Fragments.of_each(released, n_of_row, Trace(figures))
        has_costs = any(hierarchy.costs is not None for hierarchy in rows.hierarchies)
        effort = self._second_effort(partition_of_row is not None and not has_costs)
        if effort == NONE:
            return found
        found = polish(
            rows,
            found,
            self.metric,
            conditions,
            limits,
            engine,
            seed,
            effort,
            progress,
            is_together=True,
        )
        figures["iterations"] = found.trace.figures["iterations"]
        settled = {} if self.polish == NONE else {"polish": figures["iterations"]}
        return replace(found, trace=Trace(figures, settled))

    def _second_effort(self, can_be_repaired: bool) -> int | str:
        """Return the effort of the search after the merging: polish or repair, or none."""
        if self.polish != NONE:
            return self.polish
        is_stated = self.partitions > 1 and self.preset == "none"
        is_wished = self.repair == "yes" or (self.repair == "auto" and is_stated)
        return QUICK if can_be_repaired and is_wished else NONE

    def _partition_of_row(
        self, rows: Rows, n_of_row: NDArray[np.int64], plan: Plan
    ) -> NDArray[np.int64] | None:
        """Return every row's partition, or None where there is one partition only."""
        import numpy as np

        from incrowd.methods.shared.conditions import Validity
        from incrowd.methods.shared.fragments import sort_into_runs
        from incrowd.methods.shared.reorganize import automatic_partitions, column_order, part_runs

        if self._stated_partitions == 1:
            return None
        ranks = plan.forest.in_ranks(rows.nodes)
        columns = column_order(rows, self.reorganize)
        sorted_rows, run_start = sort_into_runs(plan.key_of_row(ranks, columns))
        if self.reorganize == "none":  # runs of equal rows in the order of their first rows
            sizes = np.diff(run_start)
            by_first_row = np.argsort(sorted_rows[run_start[:-1]])
            rank = np.empty(len(sizes), dtype=np.int64)
            rank[by_first_row] = np.arange(len(sizes))
            key = np.empty(rows.n_rows, dtype=np.int64)
            key[sorted_rows] = np.repeat(rank, sizes)
            sorted_rows, run_start = sort_into_runs(key)
        n_partitions = self._stated_partitions or automatic_partitions(len(run_start) - 1)
        if n_partitions == 1:
            return None
        is_valid = None
        if not plan.is_size_only:
            is_valid = Validity(sorted_rows, plan.limits).of_span
        parts = part_runs(sorted_rows, run_start, n_of_row, n_partitions, plan.limits.k, is_valid)
        return parts if parts.max(initial=0) > 0 else None


def _merge_partitions(
    rows: Rows,
    n_of_row: NDArray[np.int64],
    plan: Plan,
    partition_of_row: NDArray[np.int64],
    engine: Engine,
    progress: Progress,
) -> NDArray[np.int32]:
    """Search every partition on the engine; return the released nodes of all rows."""
    import numpy as np

    from incrowd.methods.greedy.search import STAGE, MergePartition
    from incrowd.methods.shared.parts import PartProgress, part_table, search_parts

    sizes = np.bincount(partition_of_row, weights=n_of_row).astype(np.float64)
    n_rows = int(n_of_row.sum())
    report = PartProgress(progress, STAGE, 0, n_rows, n_rows, sizes, sizes)
    function = MergePartition(plan.without_rows(), report)
    # one line per row: its number, its partition, its nodes and what the conditions look at
    table = part_table(rows.nodes, partition_of_row, plan.limits, count=n_of_row)
    released = search_parts(engine, table, function, n_of_row).nodes
    report.ended()
    return released

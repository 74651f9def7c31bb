"""One run of the search over the rows of a table, or of one block of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.encoding.rows import Rows
from incrowd.errors import InfeasibleError
from incrowd.hierarchies.costs import fixed_point_costs
from incrowd.hierarchies.tree import Runs
from incrowd.methods.shared.conditions import LEFT_OUT, PackedConditions
from incrowd.methods.shared.forest import Forest
from incrowd.methods.shared.fragments import Fragments, sort_key
from incrowd.methods.shared.recreate.column_trees import ColumnTree, space_of
from incrowd.methods.shared.recreate.start import (
    CountedRows,
    SortedRows,
    given_groups,
    seed_of,
    split_groups,
)
from incrowd.methods.shared.reorganize import column_order
from incrowd.progress import Progress, is_stop_requested, silent

if TYPE_CHECKING:
    from incrowd.methods.shared.recreate.kernels.near import Near
    from incrowd.methods.shared.recreate.kernels.rules import Rules
    from incrowd.methods.shared.recreate.kernels.state import Space, State


STAGE = "searching groups"

NEAR, NEAR_LARGE_K, LARGE_K = 48, 256, 50
"""How many near rows are listed, and how many where k is large."""

LARGEST_WHOLE = 40_000
"""Up to how many distinct rows a table is searched as one block."""

DISTINCT_PER_BLOCK = 20_000
"""About how many distinct rows a block of a larger table has."""

SUPPRESSING_FROM = 0.7
"""The share of the effort after which rows may be left out: dear groups look hopeless early on."""

ROWS_PER_SLICE = 40_000
"""About how many rows are put into new groups between two reports of progress."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything but the rows: trees, prices, the order of columns, what groups must meet.

    ``runs`` are there for columns of which any run of cells may be shown.
    ``limits`` has the distribution of the whole table, whatever rows it is used on.
    ``typical_k`` is what rows ask for on average: efforts and heat go by it.
    ``is_together``: equal rows stay in one group. ``suppressible`` is how many rows may be left
    out, and of how many. ``effort`` is per distinct row. Plain arrays alone, so that it can be
    sent to workers.
    """

    forest: Forest
    cost_to_root: tuple[NDArray[np.int32], ...]
    runs: tuple[Runs | None, ...]
    columns: tuple[int, ...]
    limits: PackedConditions
    typical_k: int
    is_size_only: bool
    is_together: bool
    suppressible: tuple[int, int]
    effort: float
    seed: int

    @classmethod
    def of(
        cls,
        rows: Rows,
        metric: str,
        limits: PackedConditions,
        seed: int,
        *,
        is_size_only: bool = True,
        is_together: bool = False,
        n_suppressible: int = 0,
        n_rows: int | None = None,
    ) -> Plan:
        """Return the plan for a table, without effort yet; costs are by node of the walk.

        ``n_rows`` is how many rows there are where distinct rows stand for several each.
        """
        forest = Forest.of(rows.hierarchies)
        costs = fixed_point_costs(rows.hierarchies, metric)
        by_rank = [walk.by_rank(cost) for cost, walk in zip(costs, forest.walks, strict=True)]
        columns = tuple(column_order(rows, "levels-first"))
        return cls(
            forest,
            tuple(by_rank),
            tuple(hierarchy.runs for hierarchy in rows.hierarchies),
            columns,
            limits.without_rows(),
            max(limits.k, round(float(limits.k_of_row.mean())))
            if limits.k_of_row.size
            else limits.k,
            is_size_only,
            is_together,
            (n_suppressible, max(1, rows.n_rows if n_rows is None else n_rows)),
            0.0,
            seed,
        )

    @property
    def k(self) -> int:
        """The k of all rows."""
        return self.limits.k

    def n_distinct(self, nodes: NDArray[np.int32]) -> int:
        """Return how many distinct rows there are."""
        return len(np.unique(self.key_of_row(self.forest.in_ranks(nodes))))

    def with_effort(self, iterations: int, n_distinct: int) -> Plan:
        """Return the plan with so many changes to try on a table of so many distinct rows."""
        return replace(self, effort=iterations / n_distinct)

    def key_of_row(self, ranks: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return a number per row that sorts rows by their content, equal for equal rows."""
        return sort_key(
            [ranks[column] for column in self.columns],
            [len(self.forest.walks[column].parent) for column in self.columns],
            ranks.shape[1],
        )


def search_counted_rows(
    counted: CountedRows, plan: Plan, block: int = 0, progress: Progress = silent
) -> Fragments:
    """Return what counted rows are released as, every group valid.

    Every node must be a leaf. The search begins with the groups that the counted rows begin with
    (LEFT_OUT where a row was left out), or else with its own. Rows that are left out come back as
    LEFT_OUT. Distinct rows are numbered in an order that their content decides.
    """
    from incrowd.methods.shared.recreate.kernels.state import (
        COUNT_OF,
        GROUP,
        NODE_START,
        ROW,
        SUPPRESSED,
    )

    nodes = counted.nodes
    if counted.n_rows < plan.k:
        raise InfeasibleError(
            f"all {counted.n_rows} rows in one group do not meet the conditions",
            remedy="Lower k.",
        )
    if len(nodes) == 0:
        return Fragments.of(counted.row, nodes, counted.count)
    n_leaves = np.asarray(
        [[(walk.end == np.arange(1, len(walk.end) + 1)).sum()] for walk in plan.forest.walks]
    )
    if np.any(nodes >= n_leaves):
        raise ValueError("cluster searches rows of leaves, and some nodes are above them")
    begun = begin(counted, plan, block)
    improve(begun, plan, progress)
    # fragments of the search: those of a distinct row together, by group
    fragments = begun.state.fragments[:, begun.state.fragments[GROUP] >= 0]
    fragments = fragments[:, np.lexsort([fragments[GROUP], fragments[ROW]])]
    group, count = fragments[GROUP], fragments[COUNT_OF]
    shown = np.empty((len(nodes), len(group)), dtype=np.int32)
    for place, (column, tree) in enumerate(zip(plan.columns, begun.trees, strict=True)):
        first = begun.space.columns[NODE_START, place]
        ranks = tree.rank[begun.state.box[group, place] - first]
        shown[column] = plan.forest.walks[column].nodes(ranks)
    shown[:, group == SUPPRESSED] = LEFT_OUT
    if plan.is_size_only:
        row = counted.row[begun.counted[begun.run_start[fragments[ROW]]]]
        return Fragments.of(row, shown, count)
    # every one is one row: equal ones take their fragments in the order of their numbers
    released = np.empty_like(nodes)
    released[:, begun.counted] = np.repeat(shown, count, axis=1)
    return Fragments.of(counted.row, released, counted.count)


@dataclass(eq=False)
class Begun:
    """A search at its beginning: its groups, its trees, its counted rows sorted, their runs.

    ``n_distinct`` counts combinations of quasi-identifying values, as an effort does. The state
    is another one once it had to grow.
    """

    space: Space
    state: State
    rules: Rules | None
    trees: list[ColumnTree]
    counted: NDArray[np.int64]
    run_start: NDArray[np.int64]
    n_distinct: int


def begin(counted: CountedRows, plan: Plan, block: int = 0) -> Begun:
    """Return the first groups of a table or block: those it is given, or those of splits."""
    from incrowd.methods.shared.recreate.kernels import state as state_kernels

    ranks = plan.forest.in_ranks(counted.nodes)
    sorted_as = SortedRows.of(plan.key_of_row(ranks), counted.limits, plan.is_together)
    order, run_start = sorted_as.rows, sorted_as.run_start
    trees = [
        ColumnTree.of(plan.forest.walks[column], np.unique(ranks[column]), plan.runs[column])
        for column in plan.columns
    ]
    distinct = ranks[np.asarray(plan.columns)][:, order[run_start[:-1]]]
    n_of_distinct = np.add.reduceat(counted.count[order], run_start[:-1])
    space = space_of(distinct, n_of_distinct, trees, plan)
    if counted.start is not None:
        n_nodes = [len(cost) for cost in plan.cost_to_root]
        first = given_groups(counted, order, run_start, n_nodes)
    elif plan.is_size_only and not plan.is_together:
        first = split_groups(space, plan.k)
    else:
        raise ValueError("where more is asked than one k, a search needs groups to begin with")
    n_rows = counted.n_rows
    n_present = int(first.n_left_out.sum())
    state = state_kernels.empty_state(
        space,
        len(first.starts) - 1,
        len(first.distinct) + len(first.left_out),
        seed_of(plan.seed, block),
        n_present + plan.suppressible[0] * n_rows // plan.suppressible[1],
        sum(
            int(plan.cost_to_root[column][tree.rank].max())
            for column, tree in zip(plan.columns, trees, strict=True)
        ),
    )
    if n_present:
        state_kernels.leave_out(state, first.left_out, first.n_left_out)
    state_kernels.add_groups(space, state, first.starts, first.distinct, first.count)
    rules = None if plan.is_size_only else sorted_as.rules(counted.limits)
    return Begun(space, state, rules, trees, order, run_start, sorted_as.n_distinct)


def no_lists(space: Space, k: int) -> Near:
    """Return room for the lists of near rows that a search makes."""
    from incrowd.methods.shared.recreate.kernels import near as near_kernels

    return near_kernels.no_lists(space, NEAR if k < LARGE_K else NEAR_LARGE_K)


def improve(begun: Begun, plan: Plan, progress: Progress, near: Near | None = None) -> None:
    """Make the groups cheaper, in slices, until the effort is spent or nothing is lost."""
    from incrowd.methods.shared.recreate.kernels import plan as plan_kernels
    from incrowd.methods.shared.recreate.kernels import search as search_kernels
    from incrowd.methods.shared.recreate.kernels.state import (
        N_DONE,
        PRICE,
        SUPPRESSED,
        TOTAL,
        n_items_of_plan,
    )

    space, state = begun.space, begun.state
    effort = round(plan.effort * begun.n_distinct)
    heat = first_heat(plan.effort, plan.typical_k) * plan.typical_k * space.scale
    least = int(space.rows.prod(axis=0).sum())
    pool = plan_kernels.empty_pool(space, state, n_items_of_plan(plan.k))
    near = no_lists(space, plan.typical_k) if near is None else near
    n_iterations = 1 + ROWS_PER_SLICE // plan.typical_k
    n_suppressible = int(state.room_left[0])
    state.room_left[0] = 0
    dearest = int((space.rows[0] * (state.groups[PRICE, SUPPRESSED] - space.rows[1])).sum())

    def loss() -> float:
        return (int(state.counters[TOTAL]) - least) / dearest if dearest > 0 else 0.0

    def search(n_changes: int, stamps: int) -> int:
        nonlocal state, pool
        while True:
            stamps = int(
                search_kernels.search_slice(
                    space, state, pool, near, begun.rules, plan.k, n_changes, effort, heat, stamps
                )
            )
            if not pool.counters[plan_kernels.IS_WAITING]:
                return stamps
            # a plan waits for room; the rest of the slice is left to the next one
            state, pool = plan_kernels.with_room(state, pool)
            begun.state = state
            n_changes = 0

    stamps = search(0, 0)  # compiled before the first report: the time left is that of the search
    while state.counters[N_DONE] < effort and state.counters[TOTAL] > least:
        n_done = int(state.counters[N_DONE])
        end = effort
        if n_suppressible > 0:
            end = round(SUPPRESSING_FROM * effort)
            if n_done >= end:
                state.room_left[0] += n_suppressible
                n_suppressible, end = 0, effort
        progress(STAGE, n_done, effort, loss())
        if is_stop_requested():
            return
        stamps = search(min(n_iterations, end - n_done), stamps)
    progress(STAGE, effort, effort, loss())


PER_ROW, PER_ROW_IN_BLOCKS = 40, 10
"""The automatic effort per distinct row, before it is divided by the square root of k."""


def automatic_effort(n_distinct: int, k: int) -> int:
    """Return how many changes are tried on a table of this many distinct rows unless stated."""
    per_row = PER_ROW if n_distinct <= LARGEST_WHOLE else PER_ROW_IN_BLOCKS
    return max(1, per_row * n_distinct // max(1, isqrt(k)))


def first_heat(effort_per_row: float, k: int) -> float:
    """Return how warm a search begins, in the price of one column at its root for k rows.

    Short searches only go downhill; longer ones have the time to cool down.
    """
    whole = PER_ROW / max(1, isqrt(k))
    if 2 * effort_per_row < whole:
        return 0.0
    return 0.15 if effort_per_row <= 2 * whole else 0.4

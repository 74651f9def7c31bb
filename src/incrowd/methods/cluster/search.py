"""One run of the search over the rows of a table, or of one block of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.data.dataset import Rows
from incrowd.data.prices import fixed_point_costs
from incrowd.data.runs import Runs
from incrowd.errors import InfeasibleError
from incrowd.interrupts import is_end_wished
from incrowd.methods.cluster.column_trees import ColumnTree, space_of
from incrowd.methods.cluster.start import (
    SortedRows,
    given_groups,
    seed_of,
    split_groups,
)
from incrowd.methods.conditions import PackedConditions
from incrowd.methods.distinct import sort_key
from incrowd.methods.forest import Forest
from incrowd.methods.greedy.reorganize import column_order
from incrowd.methods.kept import LEFT_OUT
from incrowd.progress import Progress, silent

if TYPE_CHECKING:
    from incrowd.methods.cluster.kernel_near import Near
    from incrowd.methods.cluster.kernel_rules import Rules
    from incrowd.methods.cluster.kernel_state import Space, State

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
    ) -> Plan:
        """Return the plan for a table, without effort yet; costs are by node of the walk."""
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
            (n_suppressible, max(1, rows.n_rows)),
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


def search_rows(
    nodes: NDArray[np.int32],
    plan: Plan,
    limits: PackedConditions,
    block: int = 0,
    start: NDArray[np.int32] | None = None,
    progress: Progress = silent,
) -> NDArray[np.int32]:
    """Return ``nodes[column, row]`` generalized so that every group is valid.

    Every node must be a leaf. The search begins with the groups of ``start``, nodes that another
    search released (LEFT_OUT where it left a row out), or else with its own. Rows that are left
    out come back as LEFT_OUT. Distinct rows are numbered in an order that their content decides;
    which of several equal rows goes into which group, by their row numbers.
    """
    from incrowd.methods.cluster.kernel_state import NODE_START, SUPPRESSED

    n_columns, n_rows = nodes.shape
    if n_rows < plan.k:
        raise InfeasibleError(
            f"all {n_rows} rows in one group do not meet the conditions",
            remedy="Lower k.",
        )
    if n_columns == 0:
        return nodes.copy()
    n_leaves = np.asarray(
        [[(walk.end == np.arange(1, len(walk.end) + 1)).sum()] for walk in plan.forest.walks]
    )
    if np.any(nodes >= n_leaves):
        raise ValueError("cluster searches rows of leaves, and some nodes are above them")
    begun = begin(nodes, plan, limits, block, start)
    improve(begun, plan, progress)
    # one line per fragment, those of a distinct row together, then per row
    group_of_place = _groups_of_rows(begun.state)
    released = np.empty_like(nodes)
    for place, (column, tree) in enumerate(zip(plan.columns, begun.trees, strict=True)):
        first = begun.space.columns[NODE_START, place]
        ranks_shown = tree.rank[begun.state.box[group_of_place, place] - first]
        released[column, begun.rows] = plan.forest.walks[column].nodes(ranks_shown)
    released[:, begun.rows[group_of_place == SUPPRESSED]] = LEFT_OUT
    return released


@dataclass(frozen=True, eq=False)
class Begun:
    """A search at its beginning: its groups, its trees, and its rows in sorted order.

    ``n_distinct`` counts combinations of quasi-identifying values, as an effort does.
    """

    space: Space
    state: State
    rules: Rules | None
    trees: list[ColumnTree]
    rows: NDArray[np.int64]
    n_distinct: int


def begin(
    nodes: NDArray[np.int32],
    plan: Plan,
    limits: PackedConditions,
    block: int = 0,
    start: NDArray[np.int32] | None = None,
) -> Begun:
    """Return the first groups of a table or block: those of ``start``, or those of splits."""
    from incrowd.methods.cluster import kernel_state

    ranks = plan.forest.in_ranks(nodes)
    sorted_as = SortedRows.of(plan.key_of_row(ranks), limits, plan.is_together)
    rows, run_start = sorted_as.rows, sorted_as.run_start
    trees = [
        ColumnTree.of(plan.forest.walks[column], np.unique(ranks[column]), plan.runs[column])
        for column in plan.columns
    ]
    distinct = ranks[np.asarray(plan.columns)][:, rows[run_start[:-1]]]
    space = space_of(distinct, np.diff(run_start), trees, plan)
    n_rows = nodes.shape[1]
    n_present = 0 if start is None else int((start[0] == LEFT_OUT).sum())
    state = kernel_state.empty_state(
        space,
        n_rows,
        plan.k,
        seed_of(plan.seed, block),
        n_present + plan.suppressible[0] * n_rows // plan.suppressible[1],
        sum(
            int(plan.cost_to_root[column][tree.rank].max())
            for column, tree in zip(plan.columns, trees, strict=True)
        ),
    )
    if start is not None:
        given_groups(space, state, start[:, rows], [len(cost) for cost in plan.cost_to_root])
    elif plan.is_size_only and not plan.is_together:
        split_groups(space, state, plan.k)
    else:
        raise ValueError("where more is asked than one k, a search needs groups to begin with")
    rules = None if plan.is_size_only else sorted_as.rules(limits)
    return Begun(space, state, rules, trees, rows, sorted_as.n_distinct)


def no_lists(space: Space, k: int) -> Near:
    """Return room for the lists of near rows that a search makes."""
    from incrowd.methods.cluster import kernel_near

    return kernel_near.no_lists(space, NEAR if k < LARGE_K else NEAR_LARGE_K)


def improve(begun: Begun, plan: Plan, progress: Progress, near: Near | None = None) -> None:
    """Make the groups cheaper, in slices, until the effort is spent or nothing is lost."""
    from incrowd.methods.cluster import kernel_pool, kernel_search
    from incrowd.methods.cluster.kernel_state import (
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
    pool = kernel_pool.empty_pool(space, state, n_items_of_plan(plan.k))
    near = no_lists(space, plan.typical_k) if near is None else near
    n_iterations = 1 + ROWS_PER_SLICE // plan.typical_k
    n_suppressible = int(state.room_left[0])
    state.room_left[0] = 0
    dearest = int((space.rows[0] * (state.groups[PRICE, SUPPRESSED] - space.rows[1])).sum())

    def loss() -> float:
        return (int(state.counters[TOTAL]) - least) / dearest if dearest > 0 else 0.0

    def search(n_changes: int, stamps: int) -> int:
        return int(
            kernel_search.search_slice(
                space, state, pool, near, begun.rules, plan.k, n_changes, effort, heat, stamps
            )
        )

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
        if is_end_wished():
            return
        stamps = search(min(n_iterations, end - n_done), stamps)
    progress(STAGE, effort, effort, loss())


def _groups_of_rows(state: State) -> NDArray[np.int64]:
    """Return the group of every row, rows sorted by content, equal ones by group."""
    from incrowd.methods.cluster.kernel_state import COUNT_OF, GROUP, ROW

    fragments = state.fragments[:, state.fragments[GROUP] >= 0]
    fragments = fragments[:, np.lexsort([fragments[GROUP], fragments[ROW]])]
    return np.repeat(fragments[GROUP], fragments[COUNT_OF])


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

"""Whole tables: the effort of a search, large tables in blocks of near rows, and polishing the
groups of another method.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.encoding.rows import Rows, Trace
from incrowd.engines.base import Engine
from incrowd.methods.shared.conditions import (
    LEFT_OUT,
    Conditions,
    PackedConditions,
    n_suppressible_of,
)
from incrowd.methods.shared.fragments import Fragments, sort_into_runs, sort_key
from incrowd.methods.shared.options import FULL, QUICK, seconds_of
from incrowd.methods.shared.parts import (
    PartProgress,
    SilentParts,
    limits_of_part,
    nodes_of_part,
    part_table,
    release_part,
    released_schema,
    search_parts,
)
from incrowd.methods.shared.recreate.search import (
    DISTINCT_PER_BLOCK,
    LARGEST_WHOLE,
    STAGE,
    Plan,
    automatic_effort,
    begin,
    improve,
    no_lists,
    search_counted_rows,
)
from incrowd.methods.shared.recreate.start import CountedRows
from incrowd.methods.shared.reorganize import automatic_partitions, part_runs
from incrowd.progress import Progress, is_stop_requested, silent

REPAIR_SHARE = 0.25
"""The share of the effort that a table in blocks spends on new blocks across the old edges."""

WHOLE = 1_000_000
"""The effort of a table in blocks, as it is told: in millionths."""


def search_table(counted: CountedRows, plan: Plan, engine: Engine, progress: Progress) -> Fragments:
    """Return what the counted rows of a table are released as, every group valid.

    The search begins with the groups of the counted rows, or with its own. A table of more than
    40,000 distinct rows is searched in blocks; then in other blocks, made of whole groups in
    another order of columns, so that near groups meet that the first blocks kept apart. Rows that
    are left out come back as LEFT_OUT.
    """
    blocks = first_blocks(counted, plan)
    if blocks.max(initial=0) == 0:
        return search_counted_rows(counted, plan, 0, progress)
    nodes, n_of_row = _rows_of(counted)
    first = replace(plan, effort=(1 - REPAIR_SHARE) * plan.effort)
    edge = round((1 - REPAIR_SHARE) * WHOLE)
    found = _search_blocks(counted, first, blocks, engine, (progress, 0, edge), n_of_row)
    if is_stop_requested():
        return found
    last = replace(plan, effort=REPAIR_SHARE * plan.effort, suppressible=(0, 1), seed=plan.seed + 1)
    # the last column of the first order leads: what stood far apart may stand together
    columns = (plan.columns[-1], *plan.columns[:-1])
    counted = CountedRows.continue_from(nodes, found, counted.limits)
    blocks = block_of_groups(counted, plan, columns)
    return _search_blocks(counted, last, blocks, engine, (progress, edge, WHOLE), n_of_row)


def _rows_of(counted: CountedRows) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the nodes of the rows that counted rows are of, and how many there are of each."""
    n_of_row = np.zeros(int(counted.row.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(n_of_row, counted.row, counted.count)
    nodes = np.empty((len(counted.nodes), len(n_of_row)), dtype=np.int32)
    nodes[:, counted.row] = counted.nodes
    return nodes, n_of_row


def first_blocks(counted: CountedRows, plan: Plan) -> NDArray[np.int64]:
    """Return every counted row's block in the first search, which may begin with groups."""
    if counted.start is None:
        return block_of_counted(counted, plan)
    return block_of_groups(counted, plan, plan.columns)


def block_of_counted(counted: CountedRows, plan: Plan) -> NDArray[np.int64]:
    """Return every counted row's block: one up to 40,000 distinct rows, else about 20,000 to each.

    Rows are sorted by content, columns with the fewest levels first, and cut between rows that
    differ; a block has at least k rows.
    """
    order, run_start = sort_into_runs(plan.key_of_row(plan.forest.in_ranks(counted.nodes)))
    return _cut_runs(order, run_start, counted.count, len(run_start) - 1, plan.k)


def block_of_groups(
    counted: CountedRows, plan: Plan, columns: tuple[int, ...]
) -> NDArray[np.int64]:
    """Return every counted row's block, all rows of a group in one.

    Groups, and rows that are left out, are sorted by what they begin as (as they were), the first
    of ``columns`` first, and cut where about 20,000 distinct rows are full.
    """
    start = counted.nodes if counted.start is None else counted.start
    ranks = plan.forest.in_ranks(np.where(start == LEFT_OUT, counted.nodes, start))
    n_nodes = [len(plan.cost_to_root[column]) for column in columns]
    group_key = sort_key([ranks[column] for column in columns], n_nodes, len(counted.row))
    order, run_start = sort_into_runs(group_key)
    return _cut_runs(order, run_start, counted.count, plan.n_distinct(counted.nodes), plan.k)


def _cut_runs(
    order: NDArray[np.int64],
    run_start: NDArray[np.int64],
    count: NDArray[np.int64],
    n_distinct: int,
    k: int,
) -> NDArray[np.int64]:
    """Return the block of every counted row, given them sorted and the runs to be kept whole."""
    n_blocks = automatic_partitions(n_distinct, LARGEST_WHOLE, DISTINCT_PER_BLOCK)
    return part_runs(order, run_start, count, n_blocks, k)


def _search_blocks(
    counted: CountedRows,
    plan: Plan,
    blocks: NDArray[np.int64],
    engine: Engine,
    told: tuple[Progress, int, int],
    n_of_row: NDArray[np.int64],
) -> Fragments:
    """Search every block on the engine; return what all rows are released as.

    ``told`` says who hears how far it is, and which part of the whole effort this is.
    """
    progress, first, last = told
    dearest = np.zeros(int(blocks.max()) + 1)
    for walk, cost, column in zip(plan.forest.walks, plan.cost_to_root, counted.nodes, strict=True):
        dearest += np.bincount(blocks, weights=cost[walk.rank_of_node][column] * counted.count)
    weights = np.bincount(blocks, weights=counted.count).astype(np.float64)
    report = PartProgress(progress, STAGE, first, last, WHOLE, weights, dearest)
    # one line per counted row: its row, its block, its count, its nodes, what the conditions look
    # at
    table = part_table(
        counted.nodes, blocks, counted.limits, counted.start, count=counted.count, row=counted.row
    )
    search = SearchBlock(plan, counted.start is not None, report)
    found = search_parts(engine, table, search, n_of_row)
    report.ended()
    return found


@dataclass(frozen=True, eq=False)
class SearchBlock:
    """Search one block of counted rows: its part of a ``part_table`` in, its released nodes out."""

    plan: Plan
    has_start: bool
    report: PartProgress | SilentParts

    @property
    def schema(self) -> pa.Schema:
        """The columns of what comes out: the row's number, how many of it, and its nodes."""
        return released_schema(len(self.plan.forest.walks))

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return the block's rows, in the order of their numbers, as they are released.

        An engine may hand rows over in any order: equal rows are told apart by their number.
        """
        block = block.sort_by("row")
        n_columns = len(self.plan.forest.walks)
        counted = CountedRows(
            block.column("row").to_numpy(),
            nodes_of_part(block, "c", n_columns),
            block.column("count").to_numpy(),
            limits_of_part(block, self.plan.limits),
            nodes_of_part(block, "n", n_columns) if self.has_start else None,
        )
        number = int(block.column("part")[0].as_py())
        found = search_counted_rows(counted, self.plan, number, self.report.of(number))
        return release_part(found.row, found.count, found.nodes)


# ── a wish in seconds turned into a number of changes, by a short trial on the table itself ───────

SHORTEST_TRIAL, TRIAL_SHARE = 0.05, 0.05
"""A trial's seconds, and its share of longer budgets."""

QUICKER, FULLER = 4, 10
"""The automatic effort over that of ``quick``, and that of ``full`` over the automatic one."""

SLOWER = 3
"""About how much longer a change takes where more is asked of groups than one k."""

FIRST_CHANGES = 32
"""What a trial begins with, and the least that any budget comes to."""

ROWS_OF_FIRST_TRIAL = 1_000

SETTLING, SETTLED = 2.0, 0.5
"""Changes get quicker as groups settle, within about so many per distinct row, by this share of
what they took at first; less so where groups are few and large, and found without lists."""

N_LISTINGS = 4


@dataclass(frozen=True)
class Pace:
    """How long a block takes: its first groups, then each change and each list of near rows.

    Lists are made once for each distinct row, when it is first asked for. ``seconds_per_change``
    is what a change takes at the start, without lists.
    """

    n_distinct: int
    seconds_to_begin: float
    seconds_per_change: float
    seconds_per_list: float
    lists_per_change: float

    def seconds(self, changes_per_row: float) -> float:
        """Return how long the block takes with this effort per distinct row."""
        saved = SETTLED * min(1.0, self.lists_per_change)
        settling = SETTLING * (1.0 - math.exp(-changes_per_row / SETTLING))
        changing = (1.0 - saved) * changes_per_row + saved * settling
        listing = 1.0 - math.exp(-self.lists_per_change * changes_per_row)
        per_row = changing * self.seconds_per_change + listing * self.seconds_per_list
        return self.seconds_to_begin + self.n_distinct * per_row

    def changes_per_row(self, seconds: float, shares: tuple[float, ...] = (1.0,)) -> float:
        """Return the effort per distinct row that takes this long; 0 if there is no time at all.

        The effort is spent in as many searches as there are shares of it.
        """

        def takes(effort: float) -> float:
            return sum(self.seconds(share * effort) for share in shares)

        low, high = 0.0, 1.0
        while takes(high) < seconds:
            low, high = high, 2 * high
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if takes(middle) < seconds else (low, middle)
        return low


@dataclass(frozen=True)
class Budget:
    """An effort as it was stated, and when the search that it is for began."""

    effort: int | str
    started: float

    def search(
        self, counted: CountedRows, plan: Plan, engine: Engine, progress: Progress
    ) -> Fragments:
        """Spend the effort on a table: what ``search_table`` returns, and what was done."""
        n_distinct = plan.n_distinct(counted.nodes)
        iterations = self._iterations(n_distinct, counted, plan, engine)
        plan = plan.with_effort(iterations, n_distinct)
        share_done = 0.0

        def told(stage: str, done: int, total: int, loss: float | None = None, /) -> None:
            nonlocal share_done
            share_done = done / total if total else 0.0
            progress(stage, done, total, loss)

        found = search_table(counted, plan, engine, told)
        figures, notes = {"iterations": iterations}, tuple[str, ...]()
        if is_stop_requested() and share_done < 1:
            figures["iterations_done"] = done = round(share_done * iterations)
            notes = (
                f"the search was ended early, after about {done:,} of {iterations:,} changes; "
                "a saved job would make all of them, and another release",
            )
        return replace(found, trace=Trace(figures, {"effort": iterations}, notes))

    def _iterations(
        self,
        n_distinct: int,
        counted: CountedRows,
        plan: Plan,
        engine: Engine,
    ) -> int:
        """Return how many changes the effort means for a search of these rows."""
        if isinstance(self.effort, int):
            return self.effort
        if seconds_of(self.effort):
            return self._within(counted, plan, engine)
        automatic = automatic_effort(n_distinct, plan.typical_k)
        if not plan.is_size_only:
            automatic = max(1, automatic // SLOWER)
        if self.effort == QUICK:
            return max(1, automatic // QUICKER)
        return FULLER * automatic if self.effort == FULL else automatic

    def _within(self, counted: CountedRows, plan: Plan, engine: Engine) -> int:
        """Return how many changes the seconds allow that are left; at least a few.

        A block of middling size is begun and thrown away. As many blocks as the engine has workers
        run at a time. The time in which loops are compiled is not counted.
        """
        if len(counted.nodes) == 0 or counted.n_rows < plan.k:
            return FIRST_CHANGES
        blocks = first_blocks(counted, plan)
        sizes = np.bincount(blocks, weights=counted.count)
        block = int(np.argsort(sizes, kind="stable")[len(sizes) // 2])
        whole = counted.take(np.flatnonzero(blocks == block))
        asked = time.perf_counter()
        few = whole
        if counted.start is None:
            n_counted = len(whole.row)
            n_few = min(n_counted, max(plan.k, ROWS_OF_FIRST_TRIAL))
            few = whole.take(np.linspace(0, n_counted - 1, n_few).astype(np.int64))
        _trial(few, plan, 0.0)
        compiled = time.perf_counter()
        seconds = seconds_of(self.effort)
        trial = max(SHORTEST_TRIAL, TRIAL_SHARE * seconds)
        pace = _trial(whole, plan, trial)
        left = self.started + (compiled - asked) + seconds - time.perf_counter()
        shares = (1.0,) if len(sizes) == 1 else (1 - REPAIR_SHARE, REPAIR_SHARE)
        rounds = math.ceil(len(sizes) / max(1, engine.n_workers))
        changes_per_row = pace.changes_per_row(left / rounds, shares)
        return max(FIRST_CHANGES, int(changes_per_row * pace.n_distinct * len(sizes)))


def _trial(counted: CountedRows, plan: Plan, seconds: float) -> Pace:
    """Search these counted rows for about so long; return how fast that went."""
    from incrowd.methods.shared.recreate.kernels.near import list_rows
    from incrowd.methods.shared.recreate.kernels.state import N_DONE

    begun = time.perf_counter()
    search = begin(counted, plan)
    space, state = search.space, search.state
    to_begin = time.perf_counter() - begun
    near = no_lists(space, plan.typical_k)
    n_distinct = search.n_distinct
    changes, spent = FIRST_CHANGES, 0.0
    while True:
        short = replace(plan, effort=(int(state.counters[N_DONE]) + changes) / n_distinct)
        begun = time.perf_counter()
        improve(search, short, silent, near)
        spent += time.perf_counter() - begun
        n_done = int(state.counters[N_DONE])
        if spent >= 0.7 * seconds or n_done < round(short.effort * n_distinct):
            break
        # about as long again, or what is left of the time
        changes = max(1, min(n_done, int(n_done * (seconds - spent) / spent)))
    n_listed = int((near.n_known >= 0).sum())
    per_list = math.inf
    unlisted = np.flatnonzero(near.n_known < 0)
    for part in range(N_LISTINGS):  # the quickest of a few: a pause says nothing about lists
        rows = unlisted[part :: max(N_LISTINGS, 2 * N_LISTINGS * len(unlisted) // (n_listed + 1))]
        begun = time.perf_counter()
        list_rows(space, near, rows, state.random)
        per_list = min(per_list, (time.perf_counter() - begun) / max(1, len(rows)))
    per_change = max(0.1 * spent, spent - n_listed * per_list) / max(1, n_done)
    return Pace(n_distinct, to_begin, per_change, per_list, n_listed / max(1, n_done))


# ── the search as a second step: groups that another method made, made cheaper ────────────────────


def polish(
    rows: Rows,
    found: Fragments,
    metric: str,
    conditions: Conditions,
    limits: PackedConditions,
    engine: Engine,
    seed: int,
    effort: int | str,
    progress: Progress,
    *,
    is_together: bool,
) -> Fragments:
    """Return rows after an effort, every group valid; the trace tells how many changes it came to.

    ``found`` is what another method released ``rows`` as, which are distinct where groups are
    tested by their size alone. Without heat the loss never rises. Rows that are left out come back
    as LEFT_OUT.
    """
    begun = time.perf_counter()
    plan = Plan.of(
        rows,
        metric,
        limits,
        seed,
        is_size_only=conditions.is_size_only,
        is_together=is_together,
        n_suppressible=n_suppressible_of(conditions),
        n_rows=int(found.count.sum()),
    )
    counted = CountedRows.continue_from(rows.nodes, found, limits)
    return Budget(effort, begun).search(counted, plan, engine, progress)

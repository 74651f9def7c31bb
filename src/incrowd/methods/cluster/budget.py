"""A wish in seconds turned into a number of changes, by a short trial on the table itself.

How fast a search goes depends on the table, on k and on the machine. The number must be known
before the search begins, since the heat falls over the whole of it; a search of that number then
gives the same groups on any machine.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from incrowd.data.dataset import Trace
from incrowd.engines.base import Engine
from incrowd.interrupts import is_end_wished
from incrowd.methods.cluster.blocks import REPAIR_SHARE, first_blocks, search_table
from incrowd.methods.cluster.lines import Lines
from incrowd.methods.cluster.search import Plan, automatic_effort, begin, improve, no_lists
from incrowd.methods.effort import FULL, QUICK, seconds_of
from incrowd.methods.fragments import Fragments
from incrowd.progress import Progress, silent

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

    def search(self, lines: Lines, plan: Plan, engine: Engine, progress: Progress) -> Fragments:
        """Spend the effort on a table: what ``search_table`` returns, and what was done."""
        n_distinct = plan.n_distinct(lines.nodes)
        iterations = self._iterations(n_distinct, lines, plan, engine)
        plan = plan.with_effort(iterations, n_distinct)
        share_done = 0.0

        def told(stage: str, done: int, total: int, loss: float | None = None, /) -> None:
            nonlocal share_done
            share_done = done / total if total else 0.0
            progress(stage, done, total, loss)

        found = search_table(lines, plan, engine, told)
        figures, notes = {"iterations": iterations}, tuple[str, ...]()
        if is_end_wished() and share_done < 1:
            figures["iterations_done"] = done = round(share_done * iterations)
            notes = (
                f"the search was ended early, after about {done:,} of {iterations:,} changes; "
                "a saved job would make all of them, and another release",
            )
        return replace(found, trace=Trace(figures, {"effort": iterations}, notes))

    def _iterations(
        self,
        n_distinct: int,
        lines: Lines,
        plan: Plan,
        engine: Engine,
    ) -> int:
        """Return how many changes the effort means for a search of these rows."""
        if isinstance(self.effort, int):
            return self.effort
        if seconds_of(self.effort):
            return self._within(lines, plan, engine)
        automatic = automatic_effort(n_distinct, plan.typical_k)
        if not plan.is_size_only:
            automatic = max(1, automatic // SLOWER)
        if self.effort == QUICK:
            return max(1, automatic // QUICKER)
        return FULLER * automatic if self.effort == FULL else automatic

    def _within(self, lines: Lines, plan: Plan, engine: Engine) -> int:
        """Return how many changes the seconds allow that are left; at least a few.

        A block of middling size is begun and thrown away. As many blocks as the engine has workers
        run at a time. The time in which loops are compiled is not counted.
        """
        if len(lines.nodes) == 0 or lines.n_rows < plan.k:
            return FIRST_CHANGES
        blocks = first_blocks(lines, plan)
        sizes = np.bincount(blocks, weights=lines.count)
        block = int(np.argsort(sizes, kind="stable")[len(sizes) // 2])
        whole = lines.take(np.flatnonzero(blocks == block))
        asked = time.perf_counter()
        few = whole
        if lines.start is None:
            n_lines = len(whole.row)
            n_few = min(n_lines, max(plan.k, ROWS_OF_FIRST_TRIAL))
            few = whole.take(np.linspace(0, n_lines - 1, n_few).astype(np.int64))
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


def _trial(lines: Lines, plan: Plan, seconds: float) -> Pace:
    """Search these lines for about so long; return how fast that went."""
    from incrowd.methods.cluster.kernel_state import N_DONE
    from incrowd.methods.cluster.kernel_trial import list_rows

    begun = time.perf_counter()
    search = begin(lines, plan)
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

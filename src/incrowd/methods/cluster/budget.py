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
from numpy.typing import NDArray

from incrowd.methods.cluster.search import Plan, automatic_effort, begin, improve, no_lists
from incrowd.methods.effort import FULL, QUICK
from incrowd.progress import silent

SHORTEST_TRIAL, TRIAL_SHARE = 0.05, 0.05
"""A trial's seconds, and its share of longer budgets."""

QUICKER, FULLER = 4, 10
"""The automatic effort over that of ``quick``, and that of ``full`` over the automatic one."""

FIRST_CHANGES = 32
"""What a trial begins with, and the least that any budget comes to."""

ROWS_OF_FIRST_TRIAL = 1_000

SETTLING, SETTLED = 2.0, 0.5
"""Changes get quicker as groups settle, within about so many per distinct row, by this share of
what they took at first; less so where groups are few and large, and found without lists."""

N_LISTINGS = 4


def stated_iterations(effort: int | str, n_distinct: int, k: int) -> int:
    """Return how many changes an effort means that is not given in seconds."""
    if isinstance(effort, int):
        return effort
    automatic = automatic_effort(n_distinct, k)
    if effort == QUICK:
        return max(1, automatic // QUICKER)
    return FULLER * automatic if effort == FULL else automatic


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

    def changes_per_row(self, seconds: float) -> float:
        """Return the effort per distinct row that takes this long; 0 if there is no time at all."""
        low, high = 0.0, 1.0
        while self.seconds(high) < seconds:
            low, high = high, 2 * high
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.seconds(middle) < seconds else (low, middle)
        return low


def iterations_within(
    seconds: float,
    started: float,
    nodes: NDArray[np.int32],
    plan: Plan,
    blocks: NDArray[np.int64],
    n_workers: int,
) -> int:
    """Return how many changes to try in the seconds wished for since ``started``; at least a few.

    A block of middling size is begun and thrown away. Blocks run ``n_workers`` at a time. The
    time in which loops are compiled is not counted.
    """
    n_columns, n_rows = nodes.shape
    if n_columns == 0 or n_rows < plan.k:
        return FIRST_CHANGES
    asked = time.perf_counter()
    spread = np.linspace(0, n_rows - 1, max(plan.k, ROWS_OF_FIRST_TRIAL)).astype(np.int64)
    _trial(np.ascontiguousarray(nodes[:, spread]), plan, 0, 0.0)
    started += time.perf_counter() - asked
    sizes = np.bincount(blocks)
    block = int(np.argsort(sizes, kind="stable")[len(sizes) // 2])
    pace = _trial(
        np.ascontiguousarray(nodes[:, blocks == block]) if len(sizes) > 1 else nodes,
        plan,
        block,
        max(SHORTEST_TRIAL, TRIAL_SHARE * seconds),
    )
    left = started + seconds - time.perf_counter()
    rounds = math.ceil(len(sizes) / max(1, n_workers))
    n_distinct = pace.n_distinct * len(sizes)
    return max(FIRST_CHANGES, int(pace.changes_per_row(left / rounds) * n_distinct))


def _trial(nodes: NDArray[np.int32], plan: Plan, block: int, seconds: float) -> Pace:
    """Search a block for about so long; return how fast that went."""
    from incrowd.methods.cluster.kernel_state import N_DONE
    from incrowd.methods.cluster.kernel_trial import list_rows

    begun = time.perf_counter()
    space, state, _, _ = begin(nodes, plan, block)
    to_begin = time.perf_counter() - begun
    near = no_lists(space, plan.k)
    n_distinct = space.value.shape[0]
    changes, spent = FIRST_CHANGES, 0.0
    while True:
        short = replace(plan, effort=(int(state.counters[N_DONE]) + changes) / n_distinct)
        begun = time.perf_counter()
        improve(space, state, short, silent, near)
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

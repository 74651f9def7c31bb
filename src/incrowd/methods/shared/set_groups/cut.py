"""One run of Mondrian over rows of items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from incrowd.errors import InfeasibleError
from incrowd.methods.shared.set_groups.vote import Found, SetConditions, number_by_first_row
from incrowd.progress import Progress, silent
from incrowd.sets.sets import Sets
from incrowd.threads import cut_spans

if TYPE_CHECKING:
    from incrowd.methods.shared.set_groups.cut_kernel import Parts

STAGE = "cutting groups"

LOOKS_PER_SLICE = 2_000_000
"""Rows and items that are looked at between two reports of progress."""


LOOKS_PER_TURN = 200_000
"""The same where threads share parts: a millisecond until one that waits is given some."""

ROWS_PER_THREAD = 10_000
"""Fewer rows are cut sooner than a thread is started."""


def cut_rows(
    sets: Sets, conditions: SetConditions, progress: Progress = silent, n_threads: int = 1
) -> Found:
    """Return groups that no item cuts into two that are large enough.

    Which rows stand together does not depend on their order, nor on the number of threads.
    """
    from incrowd.methods.shared.set_groups import cut_kernel

    need = conditions.needs(sets.n_rows)
    largest = max(conditions.k, int(need.max(initial=0)))
    if largest > sets.n_rows:
        raise InfeasibleError(
            f"a group of {largest} is asked for, and there are {sets.n_rows} rows",
            remedy=f"The largest k that can be kept is {sets.n_rows}.",
        )
    n_threads = max(1, min(n_threads, sets.n_rows // ROWS_PER_THREAD))
    stacks = cut_kernel.start(sets.n_rows, sets.n_items, n_threads)
    # a kernel copies what is read-only, and this one is called many times
    need = np.require(need, requirements="W")
    starts = np.require(sets.starts, requirements="W")
    items = np.require(sets.items, requirements="W")
    has_own_k = bool((need > conditions.k).any())
    n_looks = LOOKS_PER_SLICE if n_threads == 1 else LOOKS_PER_TURN

    def cut(parts: Parts) -> bool:
        return bool(
            cut_kernel.cut_slice(n_looks, conditions.k, has_own_k, need, starts, items, parts)
        )

    def report() -> None:
        progress(STAGE, sum(int(parts.counters[5]) for parts in stacks), sets.n_rows)

    cut_spans(stacks, cut, report)
    progress(STAGE, sets.n_rows, sets.n_rows)
    n_groups = sum(int(parts.counters[4]) for parts in stacks)
    return Found(number_by_first_row(stacks[0].group_of_row), {"n_groups": n_groups})

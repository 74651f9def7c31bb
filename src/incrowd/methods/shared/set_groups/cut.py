"""One run of Mondrian over rows of items."""

from __future__ import annotations

from incrowd.errors import InfeasibleError
from incrowd.methods.shared.set_groups.vote import Found, SetConditions, number_by_first_row
from incrowd.progress import Progress, silent
from incrowd.sets.sets import Sets

STAGE = "cutting groups"

LOOKS_PER_SLICE = 2_000_000
"""Rows and items that are looked at between two reports of progress."""


def cut_rows(sets: Sets, conditions: SetConditions, progress: Progress = silent) -> Found:
    """Return groups that no item cuts into two that are large enough.

    Which rows stand together does not depend on their order.
    """
    from incrowd.methods.shared.set_groups import cut_kernel

    need = conditions.needs(sets.n_rows)
    largest = max(conditions.k, int(need.max(initial=0)))
    if largest > sets.n_rows:
        raise InfeasibleError(
            f"a group of {largest} is asked for, and there are {sets.n_rows} rows",
            remedy=f"The largest k that can be kept is {sets.n_rows}.",
        )
    parts = cut_kernel.start(sets.n_rows, sets.n_items)
    has_own_k = bool((need > conditions.k).any())
    is_done = False
    while not is_done:
        progress(STAGE, int(parts.counters[5]), sets.n_rows)
        is_done = bool(
            cut_kernel.cut_slice(
                LOOKS_PER_SLICE, conditions.k, has_own_k, need, sets.starts, sets.items, parts
            )
        )
    progress(STAGE, sets.n_rows, sets.n_rows)
    return Found(number_by_first_row(parts.group_of_row), {"n_groups": int(parts.counters[4])})

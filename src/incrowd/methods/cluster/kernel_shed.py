"""Members that a plan leaves out, and the rows that a group of a plan would have."""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.compiling import Flag, Whole, compiled_inner
from incrowd.methods.cluster.kernel_pool import (
    MEMBER_COUNT,
    MEMBER_DISTINCT,
    MEMBER_NEXT,
    N_OUT,
    N_PARTIAL,
    NEW_FIRST,
    NEW_PRICE,
    NEW_SIZE,
    OUT_COUNT,
    OUT_DISTINCT,
    OUT_GROUP,
    PARTIAL_COUNT,
    PARTIAL_FRAGMENT,
    STAMP,
    TESTED_STAMP,
    Pool,
    draw_box,
    send_out,
    taken_from,
)
from incrowd.methods.cluster.kernel_rules import can_spare, clear_tally, is_met, tally
from incrowd.methods.cluster.kernel_state import (
    COUNT_OF,
    FIRST_FRAGMENT,
    GROUP,
    NEXT_IN_GROUP,
    PRICE,
    ROW,
    SIZE,
    SUPPRESSED,
    Space,
    State,
    price_of_box,
    set_to_row,
    widen,
)


@compiled_inner
def tally_new(pool: Pool, rules: Any, new: Whole) -> None:
    """Count the members of a new group. O(members)."""
    clear_tally(rules)
    member = pool.news[NEW_FIRST, new]
    while member >= 0:
        if pool.moves[MEMBER_COUNT, member] > 0:
            tally(rules, pool.moves[MEMBER_DISTINCT, member], pool.moves[MEMBER_COUNT, member])
        member = pool.moves[MEMBER_NEXT, member]


@compiled_inner
def tally_standing(state: State, pool: Pool, rules: Any, group: Whole) -> None:
    """Count the rows that a group that stands has after the plan. O(its rows + moves)."""
    clear_tally(rules)
    fragment = state.groups[FIRST_FRAGMENT, group]
    while fragment >= 0:
        tally(rules, state.fragments[ROW, fragment], state.fragments[COUNT_OF, fragment])
        fragment = state.fragments[NEXT_IN_GROUP, fragment]
    for place in range(pool.counters[N_PARTIAL]):
        fragment = pool.moves[PARTIAL_FRAGMENT, place]
        if state.fragments[GROUP, fragment] == group:
            tally(rules, state.fragments[ROW, fragment], -pool.moves[PARTIAL_COUNT, place])
    for place in range(pool.counters[N_OUT]):
        if pool.moves[OUT_GROUP, place] == group:
            tally(rules, pool.moves[OUT_DISTINCT, place], pool.moves[OUT_COUNT, place])


@compiled_inner
def is_standing_valid(state: State, pool: Pool, rules: Any, group: Whole) -> Flag:
    """Return whether a group that stands is valid after the plan; each is tested once."""
    if group == SUPPRESSED or pool.taken[TESTED_STAMP, group] == pool.counters[STAMP]:
        return True
    pool.taken[TESTED_STAMP, group] = pool.counters[STAMP]
    tally_standing(state, pool, rules, group)
    return is_met(rules)


@compiled_inner
def may_join(
    state: State, pool: Pool, rules: Any, group: Whole, distinct: Whole, count: Whole
) -> Flag:
    """Return whether a group that stands is valid after the plan with so many rows more."""
    if rules.grows_by_size:
        size = state.groups[SIZE, group] - taken_from(pool, group)
        return size + count >= rules.k_of_distinct[distinct]
    tally_standing(state, pool, rules, group)
    tally(rules, distinct, count)
    return is_met(rules)


@compiled_inner
def _price_without(space: Space, pool: Pool, new: Whole, left_out: Whole) -> Whole:
    """Return the price of a new group's box without one member. O(members · columns)."""
    is_first = True
    member = pool.news[NEW_FIRST, new]
    while member >= 0:
        if member != left_out and pool.moves[MEMBER_COUNT, member] > 0:
            if is_first:
                set_to_row(space, pool.box, pool.moves[MEMBER_DISTINCT, member])
                is_first = False
            else:
                widen(space, pool.box, pool.moves[MEMBER_DISTINCT, member])
        member = pool.moves[MEMBER_NEXT, member]
    return price_of_box(space, pool.box)


@compiled_inner
def shed(space: Space, state: State, pool: Pool, rules: Any, new: Whole, k: Whole) -> None:
    """Leave members out whose absence saves the others more than it costs. O(members² · columns).

    The group keeps k rows and stays valid. With rules, the tally must be the group's.
    """
    dearest = state.groups[PRICE, SUPPRESSED]
    is_better = True
    while is_better and pool.news[NEW_SIZE, new] > k:
        price, size = pool.news[NEW_PRICE, new], pool.news[NEW_SIZE, new]
        is_better = False
        member = pool.news[NEW_FIRST, new]
        while member >= 0 and not is_better:
            count = pool.moves[MEMBER_COUNT, member]
            if 0 < count <= size - k:
                saved = (price - _price_without(space, pool, new, member)) * (size - count)
                is_better = saved > (dearest - price) * count
                if is_better:
                    distinct = pool.moves[MEMBER_DISTINCT, member]
                    if rules is not None:
                        is_better = can_spare(rules, distinct, count)
                    if is_better:
                        pool.moves[MEMBER_COUNT, member] = 0
                        pool.news[NEW_SIZE, new] -= count
                        send_out(pool, distinct, count, np.int64(SUPPRESSED))
            member = pool.moves[MEMBER_NEXT, member]
        if is_better:
            draw_box(space, pool, new)

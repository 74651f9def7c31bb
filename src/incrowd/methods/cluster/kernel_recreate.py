"""Recreate: new groups for the items of a pool, grown one after the other from random seeds."""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.compiling import Flag, Whole, compiled_inner
from incrowd.methods.cluster.kernel_grow import grow
from incrowd.methods.cluster.kernel_pool import (
    COUNT,
    DISTINCT,
    MEMBER_COUNT,
    MEMBER_DISTINCT,
    MEMBER_NEXT,
    N_ITEMS,
    N_MEMBERS,
    N_NEW,
    N_OUT,
    N_PARTIAL,
    N_ROWS,
    NEW_FIRST,
    NEW_PRICE,
    NEW_SIZE,
    OUT_COUNT,
    OUT_DISTINCT,
    OUT_GROUP,
    OUTSIDE,
    OUTSIDE_PRICE,
    PARTIAL_FRAGMENT,
    PICKED,
    WAITING,
    Pool,
    add_member,
    draw_box,
    open_new,
    send_out,
    taken_from,
)
from incrowd.methods.cluster.kernel_rules import can_spare, is_met
from incrowd.methods.cluster.kernel_shed import is_standing_valid, may_join, shed, tally_new
from incrowd.methods.cluster.kernel_state import (
    GROUP,
    PRICE,
    SUPPRESSED,
    Space,
    State,
    is_inside,
    price_of_meeting,
    widen,
)

REFUSED = np.int64(-1)


@compiled_inner
def _n_to_spare(
    space: Space, rules: Any, distinct: Whole, count: Whole, size: Whole, k: Whole
) -> Whole:
    """Return how many of these rows a group can spare; with rules, count them out of the tally."""
    n_spared = min(count, size - k)
    if n_spared <= 0 or (space.is_together and n_spared < count):
        return np.int64(0)
    if rules is not None and not can_spare(rules, distinct, n_spared):
        return np.int64(0)
    return n_spared


@compiled_inner
def _found(space: Space, state: State, pool: Pool, rules: Any, n_picked: Whole, k: Whole) -> Whole:
    """Make a group of the picked items, or send them outside where that is cheaper.

    Surplus items go outside one by one. Returns the new group's cost, 0 if there is none.
    """
    new = open_new(pool)
    outside_cost = np.int64(0)
    can_go = True
    for place in range(n_picked):
        item = pool.items[PICKED, place]
        add_member(pool, new, pool.items[DISTINCT, item], pool.items[COUNT, item])
        if pool.items[OUTSIDE, item] < 0:
            can_go = False
        outside_cost += pool.items[OUTSIDE_PRICE, item] * pool.items[COUNT, item]
    draw_box(space, pool, new)
    if can_go and outside_cost <= pool.news[NEW_PRICE, new] * pool.news[NEW_SIZE, new]:
        for place in range(n_picked):
            item = pool.items[PICKED, place]
            send_out(
                pool, pool.items[DISTINCT, item], pool.items[COUNT, item], pool.items[OUTSIDE, item]
            )
        pool.counters[N_NEW] -= 1
        return np.int64(0)
    price = pool.news[NEW_PRICE, new]
    is_smaller = False
    member = pool.counters[N_MEMBERS] - n_picked
    for place in range(n_picked):
        if pool.news[NEW_SIZE, new] <= k:
            break
        item = pool.items[PICKED, place]
        if pool.items[OUTSIDE, item] >= 0 and pool.items[OUTSIDE_PRICE, item] < price:
            distinct = pool.items[DISTINCT, item]
            n_sent = _n_to_spare(
                space, rules, distinct, pool.items[COUNT, item], pool.news[NEW_SIZE, new], k
            )
            if n_sent > 0:
                pool.moves[MEMBER_COUNT, member + place] -= n_sent
                pool.news[NEW_SIZE, new] -= n_sent
                send_out(pool, distinct, n_sent, pool.items[OUTSIDE, item])
                is_smaller = True
    if is_smaller:
        draw_box(space, pool, new)
    if state.room_left[0] > 0:
        shed(space, state, pool, rules, new, k)
    return pool.news[NEW_PRICE, new] * pool.news[NEW_SIZE, new]


@compiled_inner
def _place_rest(space: Space, pool: Pool, n_waiting: Whole) -> Flag:
    """Put items that are too few for a group where they cost least; False if nowhere."""
    for place in range(n_waiting):
        item = pool.items[WAITING, place]
        distinct, count = pool.items[DISTINCT, item], pool.items[COUNT, item]
        best = np.int64(-1)
        best_cost = pool.items[OUTSIDE_PRICE, item] * count
        if pool.items[OUTSIDE, item] < 0:
            best_cost = np.int64(1) << 62
        for new in range(pool.counters[N_NEW]):
            size = pool.news[NEW_SIZE, new]
            wider = price_of_meeting(space, pool.new_box[new], distinct)
            cost = wider * (size + count) - pool.news[NEW_PRICE, new] * size
            if cost < best_cost:
                best_cost = cost
                best = np.int64(new)
        if best >= 0:
            pool.news[NEW_PRICE, best] = price_of_meeting(space, pool.new_box[best], distinct)
            widen(space, pool.new_box[best], distinct)
            add_member(pool, best, distinct, count)
        elif pool.items[OUTSIDE, item] >= 0:
            send_out(pool, distinct, count, pool.items[OUTSIDE, item])
        else:
            return False
    return True


@compiled_inner
def _trade_surplus(space: Space, pool: Pool, rules: Any, k: Whole) -> None:
    """Move surplus members to cheaper new groups that contain them. O(members · new groups)."""
    n_new = pool.counters[N_NEW]
    for new in range(n_new):
        if pool.news[NEW_SIZE, new] <= k:
            continue
        is_smaller = False
        if rules is not None:
            tally_new(pool, rules, new)
        member = pool.news[NEW_FIRST, new]
        while member >= 0 and pool.news[NEW_SIZE, new] > k:
            distinct = pool.moves[MEMBER_DISTINCT, member]
            best = np.int64(-1)
            best_price = pool.news[NEW_PRICE, new]
            for other in range(n_new):
                if pool.news[NEW_PRICE, other] < best_price and is_inside(
                    space, pool.new_box[other], distinct
                ):
                    best_price = pool.news[NEW_PRICE, other]
                    best = np.int64(other)
            has_room = pool.counters[N_MEMBERS] < pool.moves.shape[1]
            if best >= 0 and has_room and pool.moves[MEMBER_COUNT, member] > 0:
                n_moved = _n_to_spare(
                    space,
                    rules,
                    distinct,
                    pool.moves[MEMBER_COUNT, member],
                    pool.news[NEW_SIZE, new],
                    k,
                )
                if n_moved > 0:
                    pool.moves[MEMBER_COUNT, member] -= n_moved
                    pool.news[NEW_SIZE, new] -= n_moved
                    add_member(pool, best, distinct, n_moved)
                    is_smaller = True
            member = pool.moves[MEMBER_NEXT, member]
        if is_smaller:
            draw_box(space, pool, new)


@compiled_inner
def _is_allowed(state: State, pool: Pool, rules: Any) -> Flag:
    """Return whether a plan leaves out no more rows than it may, and leaves every group valid.

    O(rows of the groups that it touches).
    """
    n_left_out = np.int64(0)
    for place in range(pool.counters[N_OUT]):
        if pool.moves[OUT_GROUP, place] == SUPPRESSED:
            n_left_out += pool.moves[OUT_COUNT, place]
    n_left_out -= taken_from(pool, np.int64(SUPPRESSED))
    if n_left_out > max(np.int64(0), state.room_left[0]):
        return False
    if rules is not None:
        for new in range(pool.counters[N_NEW]):
            tally_new(pool, rules, new)
            if not is_met(rules):
                return False
        for place in range(pool.counters[N_OUT]):
            group = pool.moves[OUT_GROUP, place]
            distinct, count = pool.moves[OUT_DISTINCT, place], pool.moves[OUT_COUNT, place]
            if rules.grows_by_size and may_join(state, pool, rules, group, distinct, count):
                continue
            if not is_standing_valid(state, pool, rules, group):
                return False
        for place in range(pool.counters[N_PARTIAL]):
            group = state.fragments[GROUP, pool.moves[PARTIAL_FRAGMENT, place]]
            if not is_standing_valid(state, pool, rules, group):
                return False
    return True


@compiled_inner
def recreate(
    space: Space,
    state: State,
    pool: Pool,
    rules: Any,
    k: Whole,
    noise: float,
    absorbs: Flag,
    uses_credit: Flag,
    most: Whole,
    stamps: Whole,
) -> tuple[Whole, Whole]:
    """Plan new groups for a pool; return what they cost, or REFUSED above ``most``, and stamps."""
    n_waiting = pool.counters[N_ITEMS]
    for item in range(n_waiting):
        pool.items[WAITING, item] = item
    n_left = pool.counters[N_ROWS]
    running = np.int64(0)
    while n_left >= k:
        n_picked, n_waiting, stamps, is_enough = grow(
            space, state, pool, rules, n_waiting, k, noise, absorbs, uses_credit, stamps
        )
        if not is_enough:  # all that waited does not make a valid group
            for place in range(n_picked):
                pool.items[WAITING, place] = pool.items[PICKED, place]
            n_waiting = n_picked
            break
        for place in range(n_picked):
            n_left -= pool.items[COUNT, pool.items[PICKED, place]]
        running += _found(space, state, pool, rules, n_picked, k)
        if running > most:
            return REFUSED, stamps
    if not _place_rest(space, pool, n_waiting):
        return REFUSED, stamps
    if pool.counters[N_NEW] > 1:
        _trade_surplus(space, pool, rules, k)
    cost = np.int64(0)
    for new in range(pool.counters[N_NEW]):
        cost += pool.news[NEW_PRICE, new] * pool.news[NEW_SIZE, new]
    for place in range(pool.counters[N_OUT]):
        cost += state.groups[PRICE, pool.moves[OUT_GROUP, place]] * pool.moves[OUT_COUNT, place]
    if cost > most or not _is_allowed(state, pool, rules):
        return REFUSED, stamps
    return cost, stamps

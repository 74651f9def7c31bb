"""The loop: tear up a few near groups, rebuild them, keep what is not dearer."""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.compiling import Flag, Whole, compiled, compiled_inner
from incrowd.kernels.draws import below, share, waiting_time
from incrowd.methods.shared.recreate.kernels.near import Near, list_near
from incrowd.methods.shared.recreate.kernels.plan import (
    CANDIDATE,
    CANDIDATE_RANK,
    COUNT,
    CREDIT,
    DISTINCT,
    FULL,
    IS_WAITING,
    N_FULL,
    N_ITEMS,
    N_ROWS,
    OUTSIDE,
    OUTSIDE_PRICE,
    Pool,
    carry_out,
    clear,
    has_room,
    is_full,
    may_join,
    put_item,
    take_surplus,
    taken_from,
    tally_standing,
)
from incrowd.methods.shared.recreate.kernels.recreate import recreate
from incrowd.methods.shared.recreate.kernels.rules import can_spare
from incrowd.methods.shared.recreate.kernels.state import (
    COUNT_OF,
    FIRST_FRAGMENT,
    GROUP,
    N_BETTER,
    N_DONE,
    N_SLOTS,
    NEXT_IN_GROUP,
    NEXT_OF_ROW,
    PRICE,
    ROW,
    SIZE,
    SUPPRESSED,
    Space,
    State,
    cheapest_group,
    enter,
    price_of_meeting,
)

FEW_GROUPS = 800
"""Up to this many groups, near ones are found by looking at all of them."""

NOISE = 0.2
"""How much chance there is at most in what a growing group takes next."""

COOLING = 0.9
"""The share of the effort after which a search only goes downhill."""


@compiled_inner
def fragment_at_random(state: State, distinct: Whole) -> Whole:
    """Return one of a distinct row's fragments. O(its fragments)."""
    n_fragments = np.int64(0)
    fragment = np.int64(state.fragment_of_row[distinct])
    while fragment >= 0:
        n_fragments += 1
        fragment = np.int64(state.fragments[NEXT_OF_ROW, fragment])
    fragment = np.int64(state.fragment_of_row[distinct])
    if n_fragments > 1:
        for _ in range(below(state.random, n_fragments)):
            fragment = np.int64(state.fragments[NEXT_OF_ROW, fragment])
    return fragment


@compiled_inner
def is_one_row(state: State, group: Whole) -> Flag:
    """Return whether a group's rows are all equal: it loses nothing. O(1)."""
    return state.fragments[NEXT_IN_GROUP, state.groups[FIRST_FRAGMENT, group]] < 0


@compiled_inner
def _is_worth_tearing(state: State, group: Whole, k: Whole) -> Flag:
    """Return whether to tear up a near group: not if it is many equal rows. O(1)."""
    return state.groups[SIZE, group] < 2 * k or not is_one_row(state, group)


@compiled_inner
def _tear_up(pool: Pool, group: Whole) -> None:
    pool.counters[FULL + pool.counters[N_FULL]] = group
    pool.counters[N_FULL] += 1


@compiled_inner
def _choose_by_boxes(
    space: Space, state: State, pool: Pool, distinct: Whole, wanted: Whole, k: Whole
) -> None:
    """Tear up the groups whose boxes are nearest to a row, with some noise. O(groups)."""
    weight = below(state.random, 3)
    n_chosen = wanted - pool.counters[N_FULL]
    for _ in range(n_chosen):
        pool.moves[CANDIDATE, _] = -1
    for group in range(SUPPRESSED + 1, state.counters[N_SLOTS]):
        if state.groups[SIZE, group] == 0 or is_full(pool, group):
            continue
        far = price_of_meeting(space, state.box[group], distinct) + below(
            state.random, (space.scale >> 3) + 1
        )
        if weight == 1:
            far -= state.groups[PRICE, group]
        elif weight == 2:
            far -= state.groups[PRICE, group] >> 1
        newcomer = np.int64(group)
        for place in range(n_chosen):  # a short sorted list
            if pool.moves[CANDIDATE, place] < 0 or far < pool.moves[CANDIDATE_RANK, place]:
                pool.moves[CANDIDATE, place], newcomer = newcomer, pool.moves[CANDIDATE, place]
                pool.moves[CANDIDATE_RANK, place], far = far, pool.moves[CANDIDATE_RANK, place]
                if newcomer < 0:
                    break
    for place in range(n_chosen):
        group = pool.moves[CANDIDATE, place]
        if group >= 0 and _is_worth_tearing(state, group, k):
            _tear_up(pool, group)


@compiled_inner
def _choose_by_rows(
    space: Space, state: State, pool: Pool, near: Near, distinct: Whole, wanted: Whole, k: Whole
) -> None:
    """Tear up groups of rows near to a row, now and then passing one over."""
    n_chosen = pool.counters[N_FULL]
    n_tried = 0
    for row in list_near(space, near, distinct, state.random):
        if n_chosen >= wanted or n_tried > 30:
            return
        if below(state.random, 4) == 0:
            continue
        n_tried += 1
        group = np.int64(state.fragments[GROUP, fragment_at_random(state, row)])
        if group != SUPPRESSED and not is_full(pool, group):
            n_chosen += 1
            if _is_worth_tearing(state, group, k):
                _tear_up(pool, group)


@compiled_inner
def _fill(space: Space, state: State, pool: Pool) -> Whole:
    """Put the rows of torn-up groups into the pool; return what they cost now, −1 if too many."""
    cost = np.int64(0)
    n_room = pool.items.shape[1]
    for place in range(pool.counters[N_FULL]):
        group = pool.counters[FULL + place]
        cost += state.groups[PRICE, group] * state.groups[SIZE, group]
        n_before = pool.counters[N_ITEMS]
        fragment = state.groups[FIRST_FRAGMENT, group]
        while fragment >= 0:
            distinct = state.fragments[ROW, fragment]
            count = state.fragments[COUNT_OF, fragment]
            known = pool.place_of_distinct[distinct]
            if known < n_before and pool.items[DISTINCT, known] == distinct:
                pool.items[COUNT, known] += count
                pool.counters[N_ROWS] += count
            elif pool.counters[N_ITEMS] == n_room:
                return np.int64(-1)
            else:
                pool.place_of_distinct[distinct] = pool.counters[N_ITEMS]
                put_item(space, pool, distinct, count, state.groups[PRICE, group], np.int64(-1))
            fragment = state.fragments[NEXT_IN_GROUP, fragment]
    return cost


@compiled_inner
def _n_surplus(
    space: Space, state: State, pool: Pool, rules: Any, fragment: Whole, k: Whole, most: Whole
) -> Whole:
    """Return how many rows of a fragment may go without breaking the group that they leave."""
    group = np.int64(state.fragments[GROUP, fragment])
    count = state.fragments[COUNT_OF, fragment]
    n_taken = min(count, most)
    if group != SUPPRESSED:
        n_taken = min(n_taken, state.groups[SIZE, group] - k - taken_from(pool, group))
    if n_taken <= 0 or (space.is_together and n_taken < count):
        return np.int64(0)
    if rules is not None and group != SUPPRESSED:
        tally_standing(state, pool, rules, group)
        if not can_spare(rules, state.fragments[ROW, fragment], n_taken):
            return np.int64(0)
    return n_taken


@compiled_inner
def _take_of_row(
    space: Space, state: State, pool: Pool, rules: Any, row: Whole, k: Whole, most: Whole
) -> tuple[Whole, Whole]:
    """Put what groups that stand can spare of a distinct row into the pool, ``most`` at most.

    Returns how many rows they are and what they cost now.
    """
    cost = np.int64(0)
    n_taken = np.int64(0)
    fragment = np.int64(state.fragment_of_row[row])
    while fragment >= 0:
        group = np.int64(state.fragments[GROUP, fragment])
        if not is_full(pool, group) and pool.counters[N_ITEMS] < pool.items.shape[1]:
            most_now = min(most - n_taken, k - 1)
            count = _n_surplus(space, state, pool, rules, fragment, k, most_now)
            if count > 0:
                put_item(space, pool, row, count, state.groups[PRICE, group], group)
                take_surplus(pool, group, fragment, count)
                cost += state.groups[PRICE, group] * count
                n_taken += count
        fragment = np.int64(state.fragments[NEXT_OF_ROW, fragment])
    return n_taken, cost


@compiled_inner
def _add_surplus(
    space: Space, state: State, pool: Pool, near: Near, rules: Any, distinct: Whole, k: Whole
) -> Whole:
    """Put surplus rows of groups near to a row into the pool; return what they cost now."""
    cost = np.int64(0)
    left = 4 + below(state.random, 2 * k)
    for row in list_near(space, near, distinct, state.random):
        n_taken, cost_of_row = _take_of_row(space, state, pool, rules, np.int64(row), k, left)
        cost += cost_of_row
        left -= n_taken
        if left <= 0:
            break
    return cost


@compiled_inner
def _ask_outside(space: Space, state: State, pool: Pool, rules: Any, n_items: Whole) -> None:
    """Find for every item of a torn-up group the cheapest other group that contains it.

    Where rows may be left out, that is where an item goes that no group would take.
    """
    for place in range(pool.counters[N_FULL]):
        enter(space, state, pool.counters[FULL + place], False)
    slack = space.scale >> 2
    for item in range(n_items):
        distinct = np.int64(pool.items[DISTINCT, item])
        group = cheapest_group(space, state, distinct, pool.items[CREDIT, item] + slack)
        if rules is not None and group >= 0:
            count = pool.items[COUNT, item]
            if not may_join(state, pool, rules, group, distinct, count):
                group = np.int64(-1)
        if group < 0 and state.room_left[0] > 0:
            group = np.int64(SUPPRESSED)
        if group >= 0:
            pool.items[OUTSIDE, item] = group
            pool.items[OUTSIDE_PRICE, item] = state.groups[PRICE, group]
            pool.items[CREDIT, item] = min(pool.items[CREDIT, item], state.groups[PRICE, group])
    for place in range(pool.counters[N_FULL]):
        enter(space, state, pool.counters[FULL + place], True)


@compiled
def search_slice(
    space: Space,
    state: State,
    pool: Pool,
    near: Near,
    rules: Any,
    k: Whole,
    n_iterations: Whole,
    effort: Whole,
    heat: float,
    stamps: Whole,
) -> Whole:
    """Rebuild the groups near random rows so many times; return the last stamp used.

    A plan is kept if it is not dearer than allowed: by chance, the more the greater the heat,
    which falls evenly to 0 over most of the effort. Where there is no room for a plan it waits,
    and the slice ends early: the next one, with more room, begins with it.
    """
    random = state.random
    n_distinct = space.value.shape[0]
    # a plan that found no room in the slice before comes first
    if pool.counters[IS_WAITING]:
        if not has_room(state, pool):
            return stamps
        pool.counters[IS_WAITING] = 0
        carry_out(space, state, pool)
    for _ in range(n_iterations):
        warmth = heat * max(0.0, 1.0 - state.counters[N_DONE] / (COOLING * effort))
        state.counters[N_DONE] += 1
        # ruin: a random row whose group is no single row, or that was left out
        clear(pool)
        is_left_out = False
        for _attempt in range(50):
            distinct = below(random, n_distinct)
            group = np.int64(state.fragments[GROUP, fragment_at_random(state, distinct)])
            is_left_out = group == SUPPRESSED
            if is_left_out:
                break
            if not is_one_row(state, group):
                _tear_up(pool, group)
                break
        if pool.counters[N_FULL] == 0 and not is_left_out:
            continue
        # groups near to it, and all their rows in the pool; ``cost`` is what they cost now
        wanted = 2 + below(random, 2)
        if state.counters[N_SLOTS] < FEW_GROUPS:
            _choose_by_boxes(space, state, pool, distinct, wanted, k)
        else:
            _choose_by_rows(space, state, pool, near, distinct, wanted, k)
        cost = _fill(space, state, pool)
        if cost < 0:
            continue
        n_items = pool.counters[N_ITEMS]
        # the row left out, at times surplus rows of near groups, and offers of groups that stand
        if is_left_out:
            _, cost_of_row = _take_of_row(space, state, pool, rules, distinct, k, k)
            cost += cost_of_row
        if below(random, 10) < 4:
            cost += _add_surplus(space, state, pool, near, rules, distinct, k)
        if pool.counters[N_ITEMS] < 2:
            continue
        if below(random, 2):
            _ask_outside(space, state, pool, rules, n_items)
        # recreate under moods drawn anew: how much dearer it may be, noise, and two habits
        most = cost
        if warmth > 0.0:
            most += np.int64(warmth * waiting_time(random))
        noise = NOISE * share(random) if below(random, 2) else 0.0
        absorbs = below(random, 2) == 1
        uses_credit = below(random, 3) != 0
        after, stamps = recreate(
            space, state, pool, rules, k, noise, absorbs, uses_credit, most, stamps
        )
        # keep it if it is cheap enough; of equally cheap ones without heat one in four
        if after < 0 or after > most or (after == cost and warmth == 0.0 and below(random, 4)):
            continue
        if after < cost:
            state.counters[N_BETTER] += 1
        if not has_room(state, pool):
            pool.counters[IS_WAITING] = 1
            break
        carry_out(space, state, pool)
    return stamps

"""A change to the groups, planned before it is made: what is torn up, left out and put in its
place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled_inner
from incrowd.methods.shared.recreate.kernels.rules import can_spare, clear_tally, is_met, tally
from incrowd.methods.shared.recreate.kernels.state import (
    COUNT_OF,
    FIRST_FRAGMENT,
    GROUP,
    N_FREE_FRAGMENTS,
    N_FREE_SLOTS,
    N_ROWS_OF_DISTINCT,
    NEXT_IN_GROUP,
    PRICE,
    ROW,
    SIZE,
    SUPPRESSED,
    TOTAL,
    Space,
    State,
    add_rows,
    dissolve,
    drop_fragment,
    grown,
    open_group,
    price_of_box,
    set_to_row,
    settle,
    unsettle,
    widen,
)

N_ITEMS, N_ROWS, N_NEW, N_MEMBERS, N_OUT, N_PARTIAL, N_FULL, STAMP = range(8)
"""Places in ``Pool.counters``."""


FULL = 8
"""Where the groups that are torn up stand in ``Pool.counters``."""

IS_WAITING = 15
"""The place in ``Pool.counters`` that says that a plan waits for more room to be carried out."""

MOST_MOVES = 64
"""How many members a plan has room for at most, per item of it."""

(
    DISTINCT,
    COUNT,
    CREDIT,
    OUTSIDE,
    OUTSIDE_PRICE,
    MET_PRICE,
    MET_KEY,
    WAITING,
    PICKED,
    CLASS,
) = range(10)
CLASS_STAMP, CLASS_KEY, CLASS_ITEM, CLASS_COUNT, CLASS_CREDIT, CLASS_USED = range(6)
NEW_PRICE, NEW_SIZE, NEW_FIRST = range(3)
(
    MEMBER_DISTINCT,
    MEMBER_COUNT,
    MEMBER_NEXT,
    OUT_DISTINCT,
    OUT_COUNT,
    OUT_GROUP,
    PARTIAL_FRAGMENT,
    PARTIAL_COUNT,
    CANDIDATE,
    CANDIDATE_RANK,
) = range(10)
TAKEN, TAKEN_STAMP, TESTED_STAMP = range(3)


class Pool(NamedTuple):
    """Room for one plan, used over and over; tables have a line per name above.

    ``items``: the distinct row and count; the price it pays now or could pay at once (CREDIT); the
    group OUTSIDE that would take it (−1: none) and its price; while a new group grows, the price
    and the key of the box that would contain the item too (MET); items WAITING, items PICKED.
    ``value`` and ``met`` per column and item: its value, and where it meets the growing ``box``.
    ``classes``: items that would make the same box. ``news``: the new groups, with ``new_box`` and
    a list of members among ``moves``, which also holds what goes outside and what is taken from
    groups that stand. ``taken`` per group that stands: how many rows the plan takes from it, and
    the last plan that tested it.
    """

    items: NDArray[np.int64]
    value: NDArray[np.int32]
    met: NDArray[np.int32]
    classes: NDArray[np.int64]
    news: NDArray[np.int64]
    new_box: NDArray[np.int32]
    moves: NDArray[np.int64]
    taken: NDArray[np.int64]
    place_of_distinct: NDArray[np.int64]
    box: NDArray[np.int32]
    counters: NDArray[np.int64]


def empty_pool(space: Space, state: State, n_items: int) -> Pool:
    """Return room for plans of at most this many items."""
    n_distinct, n_columns = space.value.shape
    n_rows = int(min(space.rows[N_ROWS_OF_DISTINCT].sum(), MOST_MOVES * n_items))
    n_classes = 1 << (2 * n_items).bit_length()
    return Pool(
        items=np.zeros((10, n_items), dtype=np.int64),
        value=np.zeros((n_columns, n_items), dtype=np.int32),
        met=np.zeros((n_columns, n_items), dtype=np.int32),
        classes=np.zeros((6, n_classes), dtype=np.int64),
        news=np.zeros((3, n_items), dtype=np.int64),
        new_box=np.zeros((n_items, n_columns), dtype=np.int32),
        moves=np.zeros((10, 5 * n_items + n_rows), dtype=np.int64),
        taken=np.zeros((3, state.groups.shape[1]), dtype=np.int64),
        place_of_distinct=np.zeros(n_distinct, dtype=np.int64),
        box=np.zeros(n_columns, dtype=np.int32),
        counters=np.zeros(16, dtype=np.int64),
    )


def with_room(state: State, pool: Pool) -> tuple[State, Pool]:
    """Return a state with room for the plan that waits, and half as much again; and its pool."""
    n_slots, n_fragments = state.groups.shape[1], state.fragments.shape[1]
    n_moved = int(pool.counters[N_OUT] + pool.counters[N_MEMBERS])
    state = grown(state, int(pool.counters[N_NEW]) + n_slots // 2, n_moved + n_fragments // 2)
    taken = np.zeros((3, state.groups.shape[1]), dtype=np.int64)
    taken[:, :n_slots] = pool.taken
    return state, pool._replace(taken=taken)


@compiled_inner
def has_room(state: State, pool: Pool) -> Flag:
    """Return whether a plan can be carried out with the slots and fragments that are free. O(1)."""
    n_moved = pool.counters[N_OUT] + pool.counters[N_MEMBERS]
    return (
        pool.counters[N_NEW] <= state.counters[N_FREE_SLOTS]
        and n_moved <= state.counters[N_FREE_FRAGMENTS]
    )


@compiled_inner
def clear(pool: Pool) -> None:
    """Forget the last plan. O(1)."""
    for place in range(STAMP):
        pool.counters[place] = 0
    pool.counters[STAMP] += 1


@compiled_inner
def put_item(
    space: Space, pool: Pool, distinct: Whole, count: Whole, credit: Whole, outside: Whole
) -> None:
    """Add an item that pays ``credit`` per row now; ``outside`` is at that price. O(columns)."""
    item = pool.counters[N_ITEMS]
    pool.counters[N_ITEMS] += 1
    pool.counters[N_ROWS] += count
    pool.items[DISTINCT, item] = distinct
    pool.items[COUNT, item] = count
    pool.items[CREDIT, item] = credit
    pool.items[OUTSIDE, item] = outside
    pool.items[OUTSIDE_PRICE, item] = credit
    for column in range(pool.value.shape[0]):
        pool.value[column, item] = space.value[distinct, column]


@compiled_inner
def taken_from(pool: Pool, group: Whole) -> Whole:
    """Return how many surplus rows the plan takes from a group that stands. O(1)."""
    if pool.taken[TAKEN_STAMP, group] != pool.counters[STAMP]:
        pool.taken[TAKEN_STAMP, group] = pool.counters[STAMP]
        pool.taken[TAKEN, group] = 0
    return pool.taken[TAKEN, group]


@compiled_inner
def take_surplus(pool: Pool, group: Whole, fragment: Whole, count: Whole) -> None:
    """Plan to take rows of a fragment out of a group that stands. O(1)."""
    pool.taken[TAKEN, group] = taken_from(pool, group) + count
    pool.moves[PARTIAL_FRAGMENT, pool.counters[N_PARTIAL]] = fragment
    pool.moves[PARTIAL_COUNT, pool.counters[N_PARTIAL]] = count
    pool.counters[N_PARTIAL] += 1


@compiled_inner
def is_full(pool: Pool, group: Whole) -> Flag:
    """Return whether a group is torn up. O(groups torn up)."""
    is_torn = False
    for place in range(pool.counters[N_FULL]):
        is_torn |= pool.counters[FULL + place] == group
    return is_torn


@compiled_inner
def send_out(pool: Pool, distinct: Whole, count: Whole, group: Whole) -> None:
    """Plan to put rows into a group that stands. O(1)."""
    place = pool.counters[N_OUT]
    pool.moves[OUT_DISTINCT, place] = distinct
    pool.moves[OUT_COUNT, place] = count
    pool.moves[OUT_GROUP, place] = group
    pool.counters[N_OUT] += 1


@compiled_inner
def add_member(pool: Pool, new: Whole, distinct: Whole, count: Whole) -> None:
    """Put rows into a new group and its size, not its box. O(1)."""
    member = pool.counters[N_MEMBERS]
    pool.moves[MEMBER_DISTINCT, member] = distinct
    pool.moves[MEMBER_COUNT, member] = count
    pool.moves[MEMBER_NEXT, member] = pool.news[NEW_FIRST, new]
    pool.news[NEW_FIRST, new] = member
    pool.news[NEW_SIZE, new] += count
    pool.counters[N_MEMBERS] += 1


@compiled_inner
def open_new(pool: Pool) -> Whole:
    """Return the number of a new group without members. O(1)."""
    new = pool.counters[N_NEW]
    pool.counters[N_NEW] += 1
    pool.news[NEW_FIRST, new] = -1
    pool.news[NEW_SIZE, new] = 0
    return new


@compiled_inner
def draw_box(space: Space, pool: Pool, new: Whole) -> None:
    """Give a new group the least box of its members, and its price. O(members · columns)."""
    box = pool.new_box[new]
    is_first = True
    member = pool.news[NEW_FIRST, new]
    while member >= 0:
        if pool.moves[MEMBER_COUNT, member] > 0:
            if is_first:
                set_to_row(space, box, pool.moves[MEMBER_DISTINCT, member])
                is_first = False
            else:
                widen(space, box, pool.moves[MEMBER_DISTINCT, member])
        member = pool.moves[MEMBER_NEXT, member]
    pool.news[NEW_PRICE, new] = price_of_box(space, box)


@compiled_inner
def carry_out(space: Space, state: State, pool: Pool) -> None:
    """Make a plan true: full groups go, rows move, new groups come. O(rows that move).

    Groups that gave rows away are drawn anew last, so that they keep what was sent to them.
    """
    for place in range(pool.counters[N_PARTIAL]):
        fragment = pool.moves[PARTIAL_FRAGMENT, place]
        group = state.fragments[GROUP, fragment]
        state.fragments[COUNT_OF, fragment] -= pool.moves[PARTIAL_COUNT, place]
        state.groups[SIZE, group] -= pool.moves[PARTIAL_COUNT, place]
        state.counters[TOTAL] -= state.groups[PRICE, group] * pool.moves[PARTIAL_COUNT, place]
        if group == SUPPRESSED:
            state.room_left[0] += pool.moves[PARTIAL_COUNT, place]
    for place in range(pool.counters[N_FULL]):
        dissolve(space, state, pool.counters[FULL + place])
    for place in range(pool.counters[N_OUT]):
        group = pool.moves[OUT_GROUP, place]
        add_rows(state, pool.moves[OUT_DISTINCT, place], group, pool.moves[OUT_COUNT, place])
        state.counters[TOTAL] += state.groups[PRICE, group] * pool.moves[OUT_COUNT, place]
        if group == SUPPRESSED:
            state.room_left[0] -= pool.moves[OUT_COUNT, place]
    for place in range(pool.counters[N_PARTIAL]):
        fragment = pool.moves[PARTIAL_FRAGMENT, place]
        group = np.int64(state.fragments[GROUP, fragment])
        if group >= 0 and state.fragments[COUNT_OF, fragment] == 0:
            if group == SUPPRESSED:
                drop_fragment(state, fragment)
                continue
            unsettle(space, state, group)
            drop_fragment(state, fragment)
            settle(space, state, group)
    for new in range(pool.counters[N_NEW]):
        group = open_group(state)
        member = pool.news[NEW_FIRST, new]
        while member >= 0:
            if pool.moves[MEMBER_COUNT, member] > 0:
                add_rows(
                    state,
                    pool.moves[MEMBER_DISTINCT, member],
                    group,
                    pool.moves[MEMBER_COUNT, member],
                )
            member = pool.moves[MEMBER_NEXT, member]
        settle(space, state, group)


# ── members that a plan leaves out, and the rows that a group of a plan would have ────────────────


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

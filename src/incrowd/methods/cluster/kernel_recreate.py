"""Recreate: new groups for the items of a pool, grown one after the other from random seeds."""

from __future__ import annotations

import numpy as np

from incrowd.kernels.compile import Flag, Whole, compiled_inner
from incrowd.methods.cluster.kernel_draw import below, share
from incrowd.methods.cluster.kernel_pool import (
    CLASS,
    CLASS_COUNT,
    CLASS_CREDIT,
    CLASS_ITEM,
    CLASS_KEY,
    CLASS_STAMP,
    CLASS_USED,
    COUNT,
    CREDIT,
    DISTINCT,
    MEMBER_COUNT,
    MEMBER_DISTINCT,
    MEMBER_NEXT,
    MET_KEY,
    MET_PRICE,
    N_ITEMS,
    N_MEMBERS,
    N_NEW,
    N_OUT,
    N_ROWS,
    NEW_FIRST,
    NEW_PRICE,
    NEW_SIZE,
    OUT_COUNT,
    OUT_GROUP,
    OUTSIDE,
    OUTSIDE_PRICE,
    PICKED,
    WAITING,
    Pool,
    add_member,
    draw_box,
    open_new,
    send_out,
)
from incrowd.methods.cluster.kernel_state import (
    LEAF,
    MEETS,
    NODE_KEY,
    NODE_PRICE,
    PRICE,
    VALUE_START,
    Space,
    State,
    is_inside,
    meet,
    price_of_meeting,
    widen,
)

REFUSED = np.int64(-1)


@compiled_inner
def _meet_in_column(space: Space, pool: Pool, column: Whole, n_waiting: Whole) -> None:
    """Find anew where waiting items meet the growing box in one column. O(items)."""
    node = np.int64(pool.box[column])
    line = space.nodes[MEETS, node]
    for place in range(n_waiting):
        item = pool.items[WAITING, place]
        value = np.int64(pool.value[column, item])
        now = np.int64(space.meets[line + value]) if line >= 0 else meet(space, node, value)
        before = np.int64(pool.met[column, item])
        if now != before:
            pool.met[column, item] = now
            pool.items[MET_PRICE, item] += (
                space.nodes[NODE_PRICE, now] - space.nodes[NODE_PRICE, before]
            )
            pool.items[MET_KEY, item] += space.nodes[NODE_KEY, now] - space.nodes[NODE_KEY, before]


@compiled_inner
def _start_meeting(space: Space, pool: Pool, n_waiting: Whole) -> None:
    """Find where every waiting item meets the box of a seed. O(items · columns)."""
    for place in range(n_waiting):
        item = pool.items[WAITING, place]
        pool.items[MET_PRICE, item] = 0
        pool.items[MET_KEY, item] = 0
    for column in range(pool.box.size):
        node = np.int64(pool.box[column])
        line = space.nodes[MEETS, node]
        for place in range(n_waiting):
            item = pool.items[WAITING, place]
            value = np.int64(pool.value[column, item])
            met = np.int64(space.meets[line + value]) if line >= 0 else meet(space, node, value)
            pool.met[column, item] = met
            pool.items[MET_PRICE, item] += space.nodes[NODE_PRICE, met]
            pool.items[MET_KEY, item] += space.nodes[NODE_KEY, met]


@compiled_inner
def _sort_into_classes(pool: Pool, n_waiting: Whole, stamp: Whole) -> Whole:
    """Put waiting items that would make the same box into one class; return how many. O(items)."""
    mask = pool.classes.shape[1] - 1
    n_classes = np.int64(0)
    for place in range(n_waiting):
        item = pool.items[WAITING, place]
        key = pool.items[MET_KEY, item]
        slot = key & mask
        while pool.classes[CLASS_STAMP, slot] == stamp and pool.classes[CLASS_KEY, slot] != key:
            slot = (slot + 1) & mask
        if pool.classes[CLASS_STAMP, slot] != stamp:
            pool.classes[CLASS_STAMP, slot] = stamp
            pool.classes[CLASS_KEY, slot] = key
            pool.classes[CLASS_ITEM, slot] = item
            pool.classes[CLASS_COUNT, slot] = 0
            pool.classes[CLASS_CREDIT, slot] = 0
            pool.classes[CLASS_USED, n_classes] = slot
            n_classes += 1
        pool.classes[CLASS_COUNT, slot] += pool.items[COUNT, item]
        pool.classes[CLASS_CREDIT, slot] += pool.items[CREDIT, item] * pool.items[COUNT, item]
        pool.items[CLASS, item] = slot
    return n_classes


@compiled_inner
def _best_class(
    state: State,
    pool: Pool,
    n_classes: Whole,
    size: Whole,
    price: Whole,
    k: Whole,
    noise: float,
    uses_credit: Flag,
) -> Whole:
    """Return the class that a growing group takes next: the cheapest per row. O(classes)."""
    best = np.int64(-1)
    best_score = np.inf
    for place in range(n_classes):
        slot = pool.classes[CLASS_USED, place]
        count = pool.classes[CLASS_COUNT, slot]
        n_taken = min(count, k - size)
        wider = pool.items[MET_PRICE, pool.classes[CLASS_ITEM, slot]]
        score = (wider - price) * size / n_taken + wider
        if uses_credit:
            score -= pool.classes[CLASS_CREDIT, slot] / count
        if noise > 0.0:
            score += noise * share(state.random) * wider
        if score < best_score:
            best_score = score
            best = slot
    return best


@compiled_inner
def _pick(pool: Pool, place: Whole, n_waiting: Whole, n_picked: Whole) -> Whole:
    """Move the item at a place of the waiting line to the picked; return its count. O(1)."""
    item = pool.items[WAITING, place]
    pool.items[WAITING, place] = pool.items[WAITING, n_waiting - 1]
    pool.items[PICKED, n_picked] = item
    return pool.items[COUNT, item]


@compiled_inner
def _grow(
    space: Space,
    state: State,
    pool: Pool,
    n_waiting: Whole,
    k: Whole,
    noise: float,
    absorbs: Flag,
    uses_credit: Flag,
    stamps: Whole,
) -> tuple[Whole, Whole, Whole]:
    """Pick items for one group of at least k rows: a random seed, then class after class.

    Returns how many are picked, how many still wait, and the last stamp used.
    """
    n_columns = pool.box.size
    size = _pick(pool, below(state.random, n_waiting), n_waiting, 0)
    n_waiting -= 1
    n_picked = np.int64(1)
    seed = pool.items[PICKED, 0]
    price = np.int64(0)
    for column in range(n_columns):
        value = pool.value[column, seed]
        pool.box[column] = space.values[LEAF, space.columns[VALUE_START, column] + value]
        price += space.nodes[NODE_PRICE, pool.box[column]]
    if size < k:
        _start_meeting(space, pool, n_waiting)
    elif absorbs:
        return n_picked, n_waiting, stamps  # nothing else lies within a single row's box
    while size < k:
        stamps += 1
        n_classes = _sort_into_classes(pool, n_waiting, stamps)
        best = _best_class(state, pool, n_classes, size, price, k, noise, uses_credit)
        example = pool.classes[CLASS_ITEM, best]
        price = pool.items[MET_PRICE, example]
        place = np.int64(0)
        while place < n_waiting and size < k:
            if pool.items[CLASS, pool.items[WAITING, place]] == best:
                size += _pick(pool, place, n_waiting, n_picked)
                n_picked += 1
                n_waiting -= 1
            else:
                place += 1
        if size < k or absorbs:
            for column in range(n_columns):
                if pool.met[column, example] != pool.box[column]:
                    pool.box[column] = pool.met[column, example]
                    _meet_in_column(space, pool, column, n_waiting)
    if absorbs:
        place = np.int64(0)
        while place < n_waiting:
            item = pool.items[WAITING, place]
            if pool.items[MET_PRICE, item] == price and is_inside(
                space, pool.box, pool.items[DISTINCT, item]
            ):
                _pick(pool, place, n_waiting, n_picked)
                n_picked += 1
                n_waiting -= 1
            else:
                place += 1
    return n_picked, n_waiting, stamps


@compiled_inner
def _found(space: Space, pool: Pool, n_picked: Whole, k: Whole) -> Whole:
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
            n_sent = min(pool.items[COUNT, item], pool.news[NEW_SIZE, new] - k)
            pool.moves[MEMBER_COUNT, member + place] -= n_sent
            pool.news[NEW_SIZE, new] -= n_sent
            send_out(pool, pool.items[DISTINCT, item], n_sent, pool.items[OUTSIDE, item])
            is_smaller = True
    if is_smaller:
        draw_box(space, pool, new)
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
def _trade_surplus(space: Space, pool: Pool, k: Whole) -> None:
    """Move surplus members to cheaper new groups that contain them. O(members · new groups)."""
    n_new = pool.counters[N_NEW]
    for new in range(n_new):
        is_smaller = False
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
                n_moved = min(pool.moves[MEMBER_COUNT, member], pool.news[NEW_SIZE, new] - k)
                pool.moves[MEMBER_COUNT, member] -= n_moved
                pool.news[NEW_SIZE, new] -= n_moved
                add_member(pool, best, distinct, n_moved)
                is_smaller = True
            member = pool.moves[MEMBER_NEXT, member]
        if is_smaller:
            draw_box(space, pool, new)


@compiled_inner
def recreate(
    space: Space,
    state: State,
    pool: Pool,
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
        n_picked, n_waiting, stamps = _grow(
            space, state, pool, n_waiting, k, noise, absorbs, uses_credit, stamps
        )
        for place in range(n_picked):
            n_left -= pool.items[COUNT, pool.items[PICKED, place]]
        running += _found(space, pool, n_picked, k)
        if running > most:
            return REFUSED, stamps
    if not _place_rest(space, pool, n_waiting):
        return REFUSED, stamps
    if pool.counters[N_NEW] > 1:
        _trade_surplus(space, pool, k)
    cost = np.int64(0)
    for new in range(pool.counters[N_NEW]):
        cost += pool.news[NEW_PRICE, new] * pool.news[NEW_SIZE, new]
    for place in range(pool.counters[N_OUT]):
        cost += state.groups[PRICE, pool.moves[OUT_GROUP, place]] * pool.moves[OUT_COUNT, place]
    return cost, stamps

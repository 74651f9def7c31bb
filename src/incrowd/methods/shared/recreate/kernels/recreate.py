"""Recreate: new groups for the items of a pool, grown one after the other from random seeds."""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.compiling import Flag, Whole, compiled_inner
from incrowd.kernels.draws import below, share
from incrowd.methods.shared.recreate.kernels.plan import (
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
    is_standing_valid,
    may_join,
    open_new,
    send_out,
    shed,
    taken_from,
    tally_new,
)
from incrowd.methods.shared.recreate.kernels.rules import (
    can_spare,
    clear_tally,
    is_met,
    is_wanted,
    n_lacking,
    tally,
)
from incrowd.methods.shared.recreate.kernels.state import (
    GROUP,
    LEAF,
    MEETS,
    NODE_KEY,
    NODE_PRICE,
    PRICE,
    SUPPRESSED,
    VALUE_START,
    Space,
    State,
    is_inside,
    meet,
    price_of_meeting,
    widen,
)


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
    lacking: Whole,
    noise: float,
    uses_credit: Flag,
) -> Whole:
    """Return the class that a growing group takes next: the cheapest per row. O(classes)."""
    best = np.int64(-1)
    best_score = np.inf
    for place in range(n_classes):
        slot = pool.classes[CLASS_USED, place]
        count = pool.classes[CLASS_COUNT, slot]
        n_taken = min(count, lacking)
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
def _wanted_place(pool: Pool, rules: Any, n_waiting: Whole) -> Whole:
    """Return the place of the cheapest waiting item that the tally wants, or of the cheapest."""
    best = np.int64(0)
    is_best_wanted = False
    for place in range(n_waiting):
        item = pool.items[WAITING, place]
        is_cheaper = pool.items[MET_PRICE, item] < pool.items[MET_PRICE, pool.items[WAITING, best]]
        if place > 0 and not is_cheaper and is_best_wanted:
            continue
        wanted = is_wanted(rules, pool.items[DISTINCT, item])
        if (
            place == 0
            or (wanted and not is_best_wanted)
            or (is_cheaper and wanted == is_best_wanted)
        ):
            best = np.int64(place)
            is_best_wanted = wanted
    return best


@compiled_inner
def _widen_growing(space: Space, pool: Pool, example: Whole, n_waiting: Whole) -> None:
    """Widen the growing box to where an item meets it. O(items · columns that change)."""
    for column in range(pool.box.size):
        if pool.met[column, example] != pool.box[column]:
            pool.box[column] = pool.met[column, example]
            _meet_in_column(space, pool, column, n_waiting)


@compiled_inner
def _absorb(
    space: Space, pool: Pool, rules: Any, price: Whole, n_waiting: Whole, n_picked: Whole
) -> tuple[Whole, Whole]:
    """Pick what lies within the box of a group that is large enough, as far as it stays valid."""
    place = np.int64(0)
    while place < n_waiting:
        item = pool.items[WAITING, place]
        distinct = pool.items[DISTINCT, item]
        is_taken = pool.items[MET_PRICE, item] == price and is_inside(space, pool.box, distinct)
        if rules is not None and is_taken:
            tally(rules, distinct, pool.items[COUNT, item])
            is_taken = is_met(rules)
            if not is_taken:
                tally(rules, distinct, -pool.items[COUNT, item])
        if is_taken:
            _pick(pool, place, n_waiting, n_picked)
            n_picked += 1
            n_waiting -= 1
        else:
            place += 1
    return n_picked, n_waiting


@compiled_inner
def grow(
    space: Space,
    state: State,
    pool: Pool,
    rules: Any,
    n_waiting: Whole,
    k: Whole,
    noise: float,
    absorbs: Flag,
    uses_credit: Flag,
    stamps: Whole,
) -> tuple[Whole, Whole, Whole, Flag]:
    """Pick items for one valid group: a random seed, then class after class.

    Where rules ask for more than a number of rows, what the group lacks is picked item by item.
    Returns how many are picked, how many still wait, the last stamp used, and whether the group
    is valid; without rules it is, if k rows wait. With rules, the tally is then that of the group.
    """
    # the seed, and its box: the leaves of its own values
    size = _pick(pool, below(state.random, n_waiting), n_waiting, 0)
    n_waiting -= 1
    n_picked = np.int64(1)
    seed = pool.items[PICKED, 0]
    price = np.int64(0)
    for column in range(pool.box.size):
        value = pool.value[column, seed]
        pool.box[column] = space.values[LEAF, space.columns[VALUE_START, column] + value]
        price += space.nodes[NODE_PRICE, pool.box[column]]
    is_enough = size >= k
    if rules is not None:
        clear_tally(rules)
        tally(rules, pool.items[DISTINCT, seed], size)
        is_enough = is_met(rules)
    if not is_enough:
        _start_meeting(space, pool, n_waiting)
    elif absorbs:
        return n_picked, n_waiting, stamps, True  # nothing else lies within a single row's box
    # items are picked until the group is valid or none waits
    while not is_enough and n_waiting > 0:
        # under rules that count more than rows, one item at a time: the cheapest that is wanted
        lacking = k - size
        takes_one = False
        if rules is not None:
            lacking = n_lacking(rules)
            takes_one = lacking == 0 or rules.limits.person_of_row.size > 0
        if rules is not None and takes_one:
            place = _wanted_place(pool, rules, n_waiting)
            example = pool.items[WAITING, place]
            price = pool.items[MET_PRICE, example]
            size += _pick(pool, place, n_waiting, n_picked)
            n_picked += 1
            n_waiting -= 1
            tally(rules, pool.items[DISTINCT, example], pool.items[COUNT, example])
            is_enough = is_met(rules)
        else:
            # else by class: waiting items by the box that they would make, the best class first
            stamps += 1
            n_classes = _sort_into_classes(pool, n_waiting, stamps)
            best = _best_class(state, pool, n_classes, size, price, lacking, noise, uses_credit)
            example = pool.classes[CLASS_ITEM, best]
            price = pool.items[MET_PRICE, example]
            place = np.int64(0)
            while place < n_waiting and lacking > 0:
                item = pool.items[WAITING, place]
                if pool.items[CLASS, item] == best:
                    size += _pick(pool, place, n_waiting, n_picked)
                    n_picked += 1
                    n_waiting -= 1
                    lacking = k - size
                    if rules is not None:
                        tally(rules, pool.items[DISTINCT, item], pool.items[COUNT, item])
                        lacking = n_lacking(rules)
                else:
                    place += 1
            is_enough = lacking <= 0
            if rules is not None:
                is_enough = is_met(rules)
        # the box now holds what was picked: meetings of those that wait are set anew
        if not is_enough or absorbs:
            _widen_growing(space, pool, example, n_waiting)
    if absorbs and is_enough:
        n_picked, n_waiting = _absorb(space, pool, rules, price, n_waiting, n_picked)
    return n_picked, n_waiting, stamps, is_enough


# ── recreate: new groups for the items of a pool, grown one after the other from random seeds ─────

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

"""One new group: waiting items are picked from a random seed on, the cheapest per row first."""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.compiling import Flag, Whole, compiled_inner
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
    MET_KEY,
    MET_PRICE,
    PICKED,
    WAITING,
    Pool,
)
from incrowd.methods.cluster.kernel_rules import clear_tally, is_met, is_wanted, n_lacking, tally
from incrowd.methods.cluster.kernel_state import (
    LEAF,
    MEETS,
    NODE_KEY,
    NODE_PRICE,
    VALUE_START,
    Space,
    State,
    is_inside,
    meet,
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
    while not is_enough and n_waiting > 0:
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
        if not is_enough or absorbs:
            _widen_growing(space, pool, example, n_waiting)
    if absorbs and is_enough:
        n_picked, n_waiting = _absorb(space, pool, rules, price, n_waiting, n_picked)
    return n_picked, n_waiting, stamps, is_enough

"""What a search over sets knows: distinct sets of rows, groups of them, and what a group is worth.

Equal rows that ask for equally large groups are one distinct set. A group is a run of slots, each
with a distinct set and how many of its rows (units) are in the group; no distinct set has two slots
of one group.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner, compiled_into_callers
from incrowd.methods.shared.set_groups.vote_kernel import Rule, least_holders


class DistinctSets(NamedTuple):
    """Distinct rows: their items, their needs, how many rows each has, and who holds an item.

    Kind v holds ``items[starts[v]:starts[v + 1]]``; item i is held by
    ``holders[list_starts[i]:list_starts[i + 1]]``.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    need: NDArray[np.int32]
    n_units: NDArray[np.int32]
    list_starts: NDArray[np.int64]
    holders: NDArray[np.int32]


class Groups(NamedTuple):
    """Groups in slots ``first[g]`` to ``first[g] + n_slots[g]``; room up to ``first[g + 1]``.

    ``bar[g]`` is at least the need of every member for as long as this layout lasts, and what
    the vote goes by; ``home[v]`` is one group that holds distinct set v.
    """

    first: NDArray[np.int64]
    n_slots: NDArray[np.int32]
    size: NDArray[np.int32]
    bar: NDArray[np.int32]
    distinct: NDArray[np.int32]
    units: NDArray[np.int32]
    home: NDArray[np.int32]


class Scratch(NamedTuple):
    """Room for the counts of two groups, for marks, and for how near other groups are.

    ``listed[side]`` are the ``n_listed[side]`` items whose count may differ from 0.
    ``tables[side]`` has, for each small number of holders, what one holder less changes, one
    more, and what both do if they are counted apart; ``worths`` what they are worth.
    """

    counted: NDArray[np.int32]
    listed: NDArray[np.int32]
    is_listed: NDArray[np.bool_]
    n_listed: NDArray[np.int64]
    mark: NDArray[np.int64]
    last_mark: NDArray[np.int64]
    change: NDArray[np.float64]
    at_most: NDArray[np.float64]
    need_without: NDArray[np.int32]
    nearness: NDArray[np.float32]
    near: NDArray[np.int32]
    tables: NDArray[np.float64]
    worths: NDArray[np.float64]


N_IN_TABLE = 64
"""For how many numbers of holders there are tables: most groups are smaller."""

LESS, MORE, BEND = 0, 1, 2


@compiled
def new_scratch(n_items: Whole, n_groups: Whole, n_looked_at: Whole) -> Scratch:
    """Return room for groups of which so many slots are looked at in one go."""
    return Scratch(
        np.zeros((2, n_items), dtype=np.int32),
        np.empty((2, n_items), dtype=np.int32),
        np.zeros((2, n_items), dtype=np.bool_),
        np.zeros(2, dtype=np.int64),
        np.zeros(n_items, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.empty((2, n_looked_at), dtype=np.float64),
        np.empty((2, n_looked_at), dtype=np.float64),
        np.empty((2, n_looked_at), dtype=np.int32),
        np.zeros(n_groups, dtype=np.float32),
        np.empty(n_groups, dtype=np.int32),
        np.empty((2, 3, N_IN_TABLE), dtype=np.float64),
        np.empty(N_IN_TABLE, dtype=np.float64),
    )


@compiled_into_callers
def worth(n_holders: Whole, least: Whole, size: Whole, price: float) -> float:
    """Return what an item gives a group: rows that keep it, less the price of those it is new to.

    Nothing if fewer than ``least`` rows hold it.
    """
    return (1.0 + price) * n_holders - price * size if n_holders >= least else 0.0


@compiled_inner
def fill_tables(scratch: Scratch, side: Whole, least: Whole, size: Whole, price: float) -> None:
    """Note what one holder less or more changes in a group, for every small number of them."""
    for count in range(min(size + 1, N_IN_TABLE)):
        less, now = worth(count - 1, least, size, price), worth(count, least, size, price)
        more = worth(count + 1, least, size, price)
        scratch.tables[side, LESS, count] = less - now
        scratch.tables[side, MORE, count] = more - now
        scratch.tables[side, BEND, count] = less + more - 2.0 * now


@compiled_into_callers
def changed(
    scratch: Scratch,
    side: Whole,
    what: Whole,
    count: Whole,
    least: Whole,
    size: Whole,
    price: float,
) -> float:
    """Return what the tables of a side say, reckoned anew where a number is beyond them."""
    if count < N_IN_TABLE:
        return float(scratch.tables[side, what, count])
    now = worth(count, least, size, price)
    if what == LESS:
        return worth(count - 1, least, size, price) - now
    if what == MORE:
        return worth(count + 1, least, size, price) - now
    return worth(count - 1, least, size, price) + worth(count + 1, least, size, price) - 2.0 * now


@compiled_inner
def add_to_counts(
    distinct_sets: DistinctSets, scratch: Scratch, side: Whole, distinct: Whole, n_units: Whole
) -> None:
    """Add so many rows of a set to the counts of one side; a negative number takes them away."""
    for entry in range(distinct_sets.starts[distinct], distinct_sets.starts[distinct + 1]):
        item = distinct_sets.items[entry]
        if not scratch.is_listed[side, item]:
            scratch.is_listed[side, item] = True
            scratch.listed[side, scratch.n_listed[side]] = item
            scratch.n_listed[side] += 1
        scratch.counted[side, item] += n_units


@compiled_inner
def clear_counts(scratch: Scratch, side: Whole) -> None:
    """Set every count of a side back to 0."""
    for place in range(scratch.n_listed[side]):
        item = scratch.listed[side, place]
        scratch.counted[side, item] = 0
        scratch.is_listed[side, item] = False
    scratch.n_listed[side] = 0


@compiled_inner
def load_counts(
    distinct_sets: DistinctSets, groups: Groups, scratch: Scratch, side: Whole, group: Whole
) -> None:
    """Count the holders of every item in a group."""
    clear_counts(scratch, side)
    for slot in range(groups.first[group], groups.first[group] + groups.n_slots[group]):
        add_to_counts(distinct_sets, scratch, side, groups.distinct[slot], groups.units[slot])


@compiled_inner
def worth_at(scratch: Scratch, side: Whole, rule: Rule, size: Whole, bar: Whole) -> float:
    """Return what the counted items are worth to a group of this size, whatever its own."""
    least = least_holders(rule, size, bar)
    total = 0.0
    for place in range(scratch.n_listed[side]):
        total += worth(scratch.counted[side, scratch.listed[side, place]], least, size, rule.price)
    return total


@compiled
def tally(
    distinct_sets: DistinctSets, groups: Groups, scratch: Scratch, rule: Rule
) -> tuple[Whole, Whole]:
    """Return how many entries all groups keep, and how many they create."""
    kept = 0
    created = 0
    for group in range(len(groups.size)):
        size = groups.size[group]
        if size == 0:
            continue
        load_counts(distinct_sets, groups, scratch, 0, group)
        least = least_holders(rule, size, groups.bar[group])
        for place in range(scratch.n_listed[0]):
            n_holders = scratch.counted[0, scratch.listed[0, place]]
            if n_holders >= least:
                kept += n_holders
                created += size - n_holders
    clear_counts(scratch, 0)
    return kept, created


@compiled_inner
def has_room(groups: Groups, group: Whole, distinct: Whole) -> Flag:
    """Whether a group can take in a distinct set: it has it already, or a slot is free."""
    first = groups.first[group]
    if first + groups.n_slots[group] < groups.first[group + 1]:
        return True
    slot = first
    while slot < groups.first[group + 1] and groups.distinct[slot] != distinct:
        slot += 1
    return slot < groups.first[group + 1]


@compiled_inner
def transfer(groups: Groups, distinct: Whole, n_units: Whole, source: Whole, target: Whole) -> None:
    """Move units of a distinct set from one group to another, which has room."""
    slot = groups.first[source]
    while groups.distinct[slot] != distinct:
        slot += 1
    groups.units[slot] -= n_units
    if groups.units[slot] == 0:
        groups.n_slots[source] -= 1
        last = groups.first[source] + groups.n_slots[source]
        groups.distinct[slot] = groups.distinct[last]
        groups.units[slot] = groups.units[last]
    groups.size[source] -= n_units
    slot = groups.first[target]
    end = slot + groups.n_slots[target]
    while slot < end and groups.distinct[slot] != distinct:
        slot += 1
    if slot == end:
        groups.distinct[slot] = distinct
        groups.units[slot] = 0
        groups.n_slots[target] += 1
    groups.units[slot] += n_units
    groups.size[target] += n_units
    groups.home[distinct] = target

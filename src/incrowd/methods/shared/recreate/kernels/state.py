"""The groups of a running search: fragments of distinct rows, boxes, and an index of the boxes.

A *fragment* is a number of rows that are equal, in one group. A group's *box* is, per column, the
lowest node above all of its rows; its *price* is the sum of the box's node prices, and the search
keeps Σ size · price low. Every fragment hangs in two lists: its group's and its distinct row's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner, compiled_into_callers

TOTAL, N_GROUPS, N_SLOTS, N_FREE_SLOTS, N_FREE_FRAGMENTS, N_DONE, N_BETTER = range(7)
"""Places in ``State.counters``."""

_DE_BRUIJN = np.int64(0x03F79D71B4CB0A89)
_PLACES = np.zeros(64, dtype=np.int64)
for _place in range(64):
    _PLACES[((0x03F79D71B4CB0A89 << _place) & ((1 << 64) - 1)) >> 58] = _place


N_ROWS_OF_DISTINCT, OWN_PRICE = range(2)
VALUE_START, NODE_START, NARROWEST = range(3)
LEAF, LINE = range(2)
PARENT, FIRST, LAST, NODE_PRICE, NODE_KEY, MEETS, LOW_CELL, HIGH_CELL, RUNS = range(9)
SIZE, PRICE, FIRST_FRAGMENT, FREE_SLOT = range(4)
SUPPRESSED = 0
"""The slot of rows that are left out: no group, no box in the index, the price of all roots."""

(
    ROW,
    COUNT_OF,
    GROUP,
    NEXT_IN_GROUP,
    LAST_IN_GROUP,
    NEXT_OF_ROW,
    LAST_OF_ROW,
    FREE_FRAGMENT,
) = range(8)


class Space(NamedTuple):
    """What never changes: distinct rows as values, and the columns' trees.

    Tables have a line per name above; few arrays make for quick calls between kernels.

    Trees hold only leaves that occur and nodes where two of them meet. A column's values are its
    leaves in the order of a walk, so a node covers the values from FIRST up to LAST. Nodes and
    values of all columns are numbered on, from NODE_START and VALUE_START of ``columns``;
    NARROWEST lists the columns with the most values first.

    Per node: its PARENT (a root is its own), FIRST, LAST, NODE_PRICE, which never falls on the way
    up, and NODE_KEY, a random number. Per value: its LEAF, and its LINE in the index of boxes
    (several values share one in wide columns). ``meets`` holds where a node and each value of its
    column meet, from the node's MEETS on; −1 where that would be too much. Where any run of cells
    is a node, MEETS is −2 less the place from which ``meets`` holds the cell of each value, and a
    node has its outermost cells, LOW_CELL and HIGH_CELL, and from RUNS on the node of every run,
    at high · (high + 1) / 2 + low; a root's low cell is −1 where it holds more than numbers.
    ``is_together``: the rows of a distinct row may not be parted.
    """

    value: NDArray[np.int32]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.int64]
    nodes: NDArray[np.int64]
    meets: NDArray[np.int32]
    is_index_exact: Flag
    scale: Whole
    is_together: Flag


class State(NamedTuple):
    """What a search changes. A group's number is its slot; the SIZE of a free slot is 0.

    Slot SUPPRESSED is not a group but holds the rows that are left out, ``room_left[0]`` more of
    them at most.

    ``box[group, column]``; ``fragment_of_row`` is the first fragment of a distinct row; ``entries``
    has a bit per group in the lines of all values that its box covers.
    """

    box: NDArray[np.int32]
    groups: NDArray[np.int64]
    fragments: NDArray[np.int64]
    fragment_of_row: NDArray[np.int64]
    entries: NDArray[np.int64]
    words: NDArray[np.int64]
    counters: NDArray[np.int64]
    random: NDArray[np.int64]
    room_left: NDArray[np.int64]


def n_items_of_plan(k: int) -> int:
    """Return how many items a plan has room for."""
    return max(1024, 8 * k)


ROOM, SPARE = 64, 4
"""How many more groups and fragments there is room for than a search begins with: so many, and
one for each four of them."""


def empty_state(
    space: Space,
    n_groups: int,
    n_fragments: int,
    seed: int,
    n_suppressible: int = 0,
    root_price: int = 0,
) -> State:
    """Return a state without groups, with room for so many, and for some more.

    ``root_price`` is what a row costs that is left out.
    """
    n_distinct, n_columns = space.value.shape
    n_lines = int(space.values[LINE].max(initial=0)) + 1
    state = State(
        np.zeros((1, n_columns), dtype=np.int32),
        np.zeros((4, 1), dtype=np.int64),
        np.full((8, 0), -1, dtype=np.int64),
        np.full(n_distinct, -1, dtype=np.int64),
        np.zeros((n_lines, 1), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(7, dtype=np.int64),
        np.asarray([seed | 1], dtype=np.int64),
        np.asarray([n_suppressible], dtype=np.int64),
    )
    state.box[SUPPRESSED] = space.columns[NODE_START, :n_columns]
    state.groups[FIRST_FRAGMENT] = -1
    state.groups[PRICE, SUPPRESSED] = root_price
    state.counters[N_SLOTS] = 1
    return grown(
        state, n_groups + n_groups // SPARE + ROOM, n_fragments + n_fragments // SPARE + ROOM
    )


def grown(state: State, n_more_groups: int, n_more_fragments: int) -> State:
    """Return a state with room for more: the same groups in the same slots.

    Slots and fragments that are free now are taken before the new ones, which are taken in their
    order: how much room there was at first changes nothing.
    """
    n_slots = state.groups.shape[1] + n_more_groups
    n_fragments = state.fragments.shape[1] + n_more_fragments
    n_words = (n_slots + 63) // 64
    box = _widened(state.box, 0, n_slots, 0)
    groups = _widened(state.groups, 1, n_slots, 0)
    groups[FIRST_FRAGMENT, state.groups.shape[1] :] = -1
    fragments = _widened(state.fragments, 1, n_fragments, -1)
    for table, line, counter, n_before in (
        (groups, FREE_SLOT, N_FREE_SLOTS, state.groups.shape[1]),
        (fragments, FREE_FRAGMENT, N_FREE_FRAGMENTS, state.fragments.shape[1]),
    ):
        free = table[line, : state.counters[counter]].copy()
        new = np.arange(table.shape[1] - 1, n_before - 1, -1)
        table[line, : len(new)] = new
        table[line, len(new) : len(new) + len(free)] = free
        state.counters[counter] += len(new)
    return state._replace(
        box=box,
        groups=groups,
        fragments=fragments,
        entries=_widened(state.entries, 1, n_words, 0),
        words=np.zeros(n_words, dtype=np.int64),
    )


def _widened(table: NDArray[Any], axis: int, length: int, empty: int) -> NDArray[Any]:
    shape = list(table.shape)
    shape[axis] = length
    wider = np.full(shape, empty, dtype=table.dtype)
    wider[: table.shape[0], : table.shape[1]] = table
    return wider


@compiled_inner
def run_of(space: Space, node: Whole, low: Whole, high: Whole) -> Whole:
    """Return the node of a run of cells in a node's column. O(1)."""
    return np.int64(space.meets[space.nodes[RUNS, node] + ((high * (high + 1)) >> 1) + low])


@compiled_inner
def _meet_far(space: Space, node: Whole, value: Whole) -> Whole:
    """Return what ``meet`` does where it is not tabulated. O(1) for runs, else O(depth)."""
    start = space.nodes[MEETS, node]
    if start < -1 and (value < space.nodes[FIRST, node] or value >= space.nodes[LAST, node]):
        cell = np.int64(space.meets[value - start - 2])
        low = min(space.nodes[LOW_CELL, node], cell)
        return run_of(space, node, low, max(space.nodes[HIGH_CELL, node], cell))
    while value < space.nodes[FIRST, node] or value >= space.nodes[LAST, node]:
        node = np.int64(space.nodes[PARENT, node])
    return node


@compiled_into_callers
def meet(space: Space, node: Whole, value: Whole) -> Whole:
    """Return the lowest node at or above a node and a value. O(1), or O(depth) in wide columns."""
    start = space.nodes[MEETS, node]
    if start >= 0:
        return np.int64(space.meets[start + value])
    return _meet_far(space, node, value)


@compiled_inner
def join(space: Space, node: Whole, other: Whole) -> Whole:
    """Return the lowest node at or above two nodes of a column. O(1), or O(depth) in trees."""
    if space.nodes[MEETS, node] < -1:
        low = min(space.nodes[LOW_CELL, node], space.nodes[LOW_CELL, other])
        high = max(space.nodes[HIGH_CELL, node], space.nodes[HIGH_CELL, other])
        if node == other or (low < 0 and space.nodes[LOW_CELL, node] < 0):
            return node
        return other if low < 0 else run_of(space, node, low, high)
    joined = meet(space, node, np.int64(space.nodes[FIRST, other]))
    while space.nodes[LAST, joined] < space.nodes[LAST, other]:
        joined = np.int64(space.nodes[PARENT, joined])
    return joined


@compiled_inner
def is_inside(space: Space, box: NDArray[np.int32], distinct: Whole) -> Flag:
    """Return whether a box contains a distinct row. O(columns)."""
    for column in range(box.size):
        value = space.value[distinct, column]
        if value < space.nodes[FIRST, box[column]] or value >= space.nodes[LAST, box[column]]:
            return False
    return True


@compiled_inner
def price_of_meeting(space: Space, box: NDArray[np.int32], distinct: Whole) -> Whole:
    """Return the price of the least box that contains a box and a distinct row. O(columns)."""
    price = np.int64(0)
    for column in range(box.size):
        value = np.int64(space.value[distinct, column])
        price += space.nodes[NODE_PRICE, meet(space, np.int64(box[column]), value)]
    return price


@compiled_inner
def widen(space: Space, box: NDArray[np.int32], distinct: Whole) -> None:
    """Widen a box to the least that contains a distinct row too. O(columns)."""
    for column in range(box.size):
        value = np.int64(space.value[distinct, column])
        box[column] = meet(space, np.int64(box[column]), value)


@compiled_inner
def set_to_row(space: Space, box: NDArray[np.int32], distinct: Whole) -> None:
    """Make a box that of one distinct row. O(columns)."""
    for column in range(box.size):
        value = np.int64(space.value[distinct, column])
        box[column] = space.values[LEAF, space.columns[VALUE_START, column] + value]


@compiled_inner
def price_of_box(space: Space, box: NDArray[np.int32]) -> Whole:
    """Return the sum of a box's node prices. O(columns)."""
    price = np.int64(0)
    for column in range(box.size):
        price += space.nodes[NODE_PRICE, box[column]]
    return price


@compiled_inner
def enter(space: Space, state: State, group: Whole, is_entered: Flag) -> None:
    """Enter a group's box into the index, or take it out. O(lines that the box covers)."""
    word = group >> 6
    bit = np.int64(1) << (group & 63)
    for column in range(state.box.shape[1]):
        node = state.box[group, column]
        start = space.columns[VALUE_START, column]
        low = space.values[LINE, start + space.nodes[FIRST, node]]
        high = space.values[LINE, start + space.nodes[LAST, node] - 1] + 1
        if is_entered:
            for line in range(low, high):
                state.entries[line, word] |= bit
        else:
            for line in range(low, high):
                state.entries[line, word] &= ~bit


@compiled_inner
def cheapest_group(space: Space, state: State, distinct: Whole, limit: Whole) -> Whole:
    """Return the cheapest entered group whose box contains a row and costs less than ``limit``.

    −1 if there is none; of equally cheap ones the least number. O(columns · groups / 64).
    """
    n_columns = space.value.shape[1]
    n_words = (state.counters[N_SLOTS] + 63) >> 6
    both = state.words
    for place in range(n_columns):  # one column at a time: loops that the processor does by fours
        column = space.columns[NARROWEST, place]
        value = space.columns[VALUE_START, column] + space.value[distinct, column]
        line = state.entries[space.values[LINE, value]]
        if place == 0:
            for word in range(n_words):
                both[word] = line[word]
        else:
            for word in range(n_words):
                both[word] &= line[word]
    best = np.int64(-1)
    for word in range(n_words):
        found = both[word]
        while found != 0:
            lowest = found & -found
            group = (word << 6) + _PLACES[((lowest * _DE_BRUIJN) >> 58) & 63]
            found ^= lowest
            if state.groups[PRICE, group] < limit and (
                space.is_index_exact or is_inside(space, state.box[group], distinct)
            ):
                limit = state.groups[PRICE, group]
                best = group
    return best


@compiled_inner
def add_rows(state: State, distinct: Whole, group: Whole, count: Whole) -> None:
    """Add rows equal to a distinct row to a group, its size, and nothing else. O(its fragments)."""
    state.groups[SIZE, group] += count
    fragment = state.fragment_of_row[distinct]
    while fragment >= 0:
        if state.fragments[GROUP, fragment] == group:
            state.fragments[COUNT_OF, fragment] += count
            return
        fragment = state.fragments[NEXT_OF_ROW, fragment]
    state.counters[N_FREE_FRAGMENTS] -= 1
    fragment = state.fragments[FREE_FRAGMENT, state.counters[N_FREE_FRAGMENTS]]
    state.fragments[ROW, fragment] = distinct
    state.fragments[GROUP, fragment] = group
    state.fragments[COUNT_OF, fragment] = count
    after = state.groups[FIRST_FRAGMENT, group]
    state.fragments[NEXT_IN_GROUP, fragment] = after
    state.fragments[LAST_IN_GROUP, fragment] = -1
    if after >= 0:
        state.fragments[LAST_IN_GROUP, after] = fragment
    state.groups[FIRST_FRAGMENT, group] = fragment
    after = state.fragment_of_row[distinct]
    state.fragments[NEXT_OF_ROW, fragment] = after
    state.fragments[LAST_OF_ROW, fragment] = -1
    if after >= 0:
        state.fragments[LAST_OF_ROW, after] = fragment
    state.fragment_of_row[distinct] = fragment


@compiled_inner
def drop_fragment(state: State, fragment: Whole) -> None:
    """Take a fragment out of both of its lists; its room is free again. O(1)."""
    before = state.fragments[LAST_IN_GROUP, fragment]
    after = state.fragments[NEXT_IN_GROUP, fragment]
    if before >= 0:
        state.fragments[NEXT_IN_GROUP, before] = after
    else:
        state.groups[FIRST_FRAGMENT, state.fragments[GROUP, fragment]] = after
    if after >= 0:
        state.fragments[LAST_IN_GROUP, after] = before
    before = state.fragments[LAST_OF_ROW, fragment]
    after = state.fragments[NEXT_OF_ROW, fragment]
    if before >= 0:
        state.fragments[NEXT_OF_ROW, before] = after
    else:
        state.fragment_of_row[state.fragments[ROW, fragment]] = after
    if after >= 0:
        state.fragments[LAST_OF_ROW, after] = before
    state.fragments[GROUP, fragment] = -1
    state.fragments[FREE_FRAGMENT, state.counters[N_FREE_FRAGMENTS]] = fragment
    state.counters[N_FREE_FRAGMENTS] += 1


@compiled_inner
def open_group(state: State) -> Whole:
    """Return the number of a new group, without rows, box or price."""
    state.counters[N_FREE_SLOTS] -= 1
    group = np.int64(state.groups[FREE_SLOT, state.counters[N_FREE_SLOTS]])
    state.counters[N_SLOTS] = max(state.counters[N_SLOTS], group + 1)
    state.counters[N_GROUPS] += 1
    return group


@compiled_inner
def settle(space: Space, state: State, group: Whole) -> None:
    """Give a group that is not in the index its box and price, count it and enter it. O(rows)."""
    box = state.box[group]
    fragment = state.groups[FIRST_FRAGMENT, group]
    set_to_row(space, box, state.fragments[ROW, fragment])
    while fragment >= 0:
        widen(space, box, state.fragments[ROW, fragment])
        fragment = state.fragments[NEXT_IN_GROUP, fragment]
    state.groups[PRICE, group] = price_of_box(space, box)
    state.counters[TOTAL] += state.groups[PRICE, group] * state.groups[SIZE, group]
    enter(space, state, group, True)


@compiled_inner
def unsettle(space: Space, state: State, group: Whole) -> None:
    """Take a group out of the index and out of the total. O(lines that its box covers)."""
    state.counters[TOTAL] -= state.groups[PRICE, group] * state.groups[SIZE, group]
    enter(space, state, group, False)


@compiled_inner
def dissolve(space: Space, state: State, group: Whole) -> None:
    """Remove a group and its fragments. O(its fragments)."""
    unsettle(space, state, group)
    while state.groups[FIRST_FRAGMENT, group] >= 0:
        drop_fragment(state, np.int64(state.groups[FIRST_FRAGMENT, group]))
    state.groups[SIZE, group] = 0
    state.groups[FREE_SLOT, state.counters[N_FREE_SLOTS]] = group
    state.counters[N_FREE_SLOTS] += 1
    state.counters[N_GROUPS] -= 1


@compiled
def leave_out(state: State, distinct: NDArray[np.int64], count: NDArray[np.int64]) -> None:
    """Leave rows out: pairs of distinct row and count, within the room that is left. O(pairs)."""
    for place in range(distinct.size):
        add_rows(state, distinct[place], np.int64(SUPPRESSED), count[place])
        state.counters[TOTAL] += state.groups[PRICE, SUPPRESSED] * count[place]
        state.room_left[0] -= count[place]


@compiled
def add_groups(
    space: Space,
    state: State,
    starts: NDArray[np.int64],
    distinct: NDArray[np.int64],
    count: NDArray[np.int64],
) -> None:
    """Add one group per span of (distinct row, count) pairs. O(pairs)."""
    for span in range(starts.size - 1):
        group = open_group(state)
        for place in range(starts[span], starts[span + 1]):
            add_rows(state, distinct[place], group, count[place])
        settle(space, state, group)

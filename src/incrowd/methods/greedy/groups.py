"""The groups of a run of GkAA: who they are made of, and which of them is merged next.

Groups are numbered as they come to be: the distinct rows in the order given, then each merged
group. A group's nodes lie in a *slot*; a merged group takes its partner's, and those who look for
partners may move groups to other slots.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled_inner
from incrowd.kernels.trees import Trees, common_ancestor
from incrowd.kernels.validity import Scratch, is_valid, scratch_for

RUNNING, DONE, STUCK = 0, 1, 2

ALIVE, NEXT, TESTED, QUEUED, MADE = 0, 1, 2, 3, 4
"""Places in ``Groups.counters``: groups alive, next number, first number whose group has not been
tested, entries in the heap, merges made."""


class Groups(NamedTuple):
    """The groups between two slices of a run.

    Per group: its slot, the group it was merged into (−1 while alive), its first and last
    distinct row. Per distinct row: the next one of its group, and its run in ``rows``.
    ``heap`` holds size · 2³² + number of groups that are not valid; some of them dead.
    """

    slot_of_group: NDArray[np.int32]
    merged_into: NDArray[np.int32]
    first_of_group: NDArray[np.int32]
    last_of_group: NDArray[np.int32]
    next_of_distinct: NDArray[np.int32]
    rows: NDArray[np.int32]
    run_start: NDArray[np.int32]
    heap: NDArray[np.int64]
    counters: NDArray[np.int64]


class Slots(NamedTuple):
    """Per slot: the group's node in each column, its size in rows, and its number."""

    node_of_slot: NDArray[np.uint32]
    size_of_slot: NDArray[np.int64]
    group_of_slot: NDArray[np.int32]


class Room(NamedTuple):
    """What one thread needs to test groups: room for members, and to count in."""

    is_size_only: bool
    members: NDArray[np.int32]
    scratch: Scratch


def start_groups(rows: NDArray[np.int64], run_start: NDArray[np.int64]) -> Groups:
    """Return the state in which every distinct row is a group, in the slot of its number.

    Rows ``rows[run_start[distinct] : run_start[distinct + 1]]`` are those equal to a distinct row.
    """
    n_distinct = len(run_start) - 1
    numbers = np.arange(2 * n_distinct, dtype=np.int32)
    return Groups(
        numbers.copy(),
        np.full(2 * n_distinct, -1, dtype=np.int32),
        numbers.copy(),
        numbers.copy(),
        np.full(n_distinct, -1, dtype=np.int32),
        rows.astype(np.int32),
        run_start.astype(np.int32),
        np.zeros(2 * n_distinct, dtype=np.int64),
        np.asarray([n_distinct, n_distinct, 0, 0, 0], dtype=np.int64),
    )


def start_slots(node_of_distinct: NDArray[np.int32], size_of_distinct: NDArray[np.int64]) -> Slots:
    """Return a slot per distinct row; ``node_of_distinct[column, distinct]`` are tree numbers."""
    return Slots(
        np.ascontiguousarray(node_of_distinct.T, dtype=np.uint32),
        size_of_distinct.astype(np.int64),
        np.arange(len(size_of_distinct), dtype=np.int32),
    )


def room_for(limits: Any, is_size_only: bool, n_rows: int) -> Room:
    """Return what one thread needs to test groups of ``n_rows`` rows under packed conditions."""
    return Room(is_size_only, np.zeros(n_rows, dtype=np.int32), scratch_for(limits))


def slot_of_distinct(groups: Groups) -> NDArray[np.int32]:
    """Return the slot of the living group that each distinct row ended in."""
    numbers = np.arange(len(groups.merged_into), dtype=np.int32)
    last = np.where(groups.merged_into < 0, numbers, groups.merged_into)
    while np.any(groups.merged_into[last] >= 0):
        last = last[last]
    slots: NDArray[np.int32] = groups.slot_of_group[last[: len(groups.next_of_distinct)]]
    return slots


def n_not_valid(groups: Groups) -> int:
    """Return how many groups are queued, and not merged since. O(queued)."""
    queued = groups.heap[: groups.counters[QUEUED]] & 0xFFFFFFFF
    return int((groups.merged_into[queued] < 0).sum())


@compiled_inner
def _push(heap: NDArray[np.int64], n_entries: Whole, entry: Whole) -> Whole:
    """Add an entry to a heap, the least on top; return how many there are. O(log)."""
    place = n_entries
    while place > 0:
        above = (place - 1) >> 1
        if heap[above] <= entry:
            break
        heap[place] = heap[above]
        place = above
    heap[place] = entry
    return n_entries + 1


@compiled_inner
def _drop_top(heap: NDArray[np.int64], n_entries: Whole) -> Whole:
    """Take the least entry off a heap; return how many are left. O(log)."""
    n_entries -= 1
    entry = heap[n_entries]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= n_entries:
            break
        if below + 1 < n_entries and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= entry:
            break
        heap[place] = heap[below]
        place = below
    heap[place] = entry
    return n_entries


@compiled_inner
def _queue_unless_valid(group: Whole, size: Whole, groups: Groups, limits: Any, room: Room) -> None:
    """Queue a group that is not valid, by its size alone where that decides. O(size)."""
    if room.is_size_only:
        if size >= limits.k:
            return
    else:
        n_members = np.int64(0)
        distinct = groups.first_of_group[group]
        while distinct >= 0:
            for place in range(groups.run_start[distinct], groups.run_start[distinct + 1]):
                room.members[n_members] = groups.rows[place]
                n_members += 1
            distinct = groups.next_of_distinct[distinct]
        if is_valid(room.members, n_members, limits, room.scratch):
            return
    queue(group, size, groups)


@compiled_inner
def queue(group: Whole, size: Whole, groups: Groups) -> None:
    """Queue a group by its size and number. O(log)."""
    entry = (np.int64(size) << 32) | np.int64(group)
    groups.counters[QUEUED] = _push(groups.heap, groups.counters[QUEUED], entry)


@compiled_inner
def queue_new(groups: Groups, slots: Slots, limits: Any, room: Room) -> None:
    """Queue what is not valid of the groups that are new: all at first, then those merged since."""
    for group in range(groups.counters[TESTED], groups.counters[NEXT]):
        size = slots.size_of_slot[groups.slot_of_group[group]]
        _queue_unless_valid(group, size, groups, limits, room)
    groups.counters[TESTED] = groups.counters[NEXT]


@compiled_inner
def take_small(groups: Groups) -> tuple[Whole, Whole]:
    """Return RUNNING and the least (size, number) of groups not valid, or how it ended and −1."""
    heap = groups.heap
    n_entries = groups.counters[QUEUED]
    while n_entries > 0 and groups.merged_into[heap[0] & 0xFFFFFFFF] >= 0:
        n_entries = _drop_top(heap, n_entries)
    state = RUNNING
    small = np.int64(-1)
    if n_entries == 0:
        state = DONE
    elif groups.counters[ALIVE] == 1:
        state = STUCK
    else:
        small = heap[0] & 0xFFFFFFFF
        n_entries = _drop_top(heap, n_entries)
    groups.counters[QUEUED] = n_entries
    return state, small


@compiled_inner
def _join(small: Whole, partner: Whole, slot: Whole, groups: Groups) -> Whole:
    """Merge two groups into a new one, which lies in a slot; return its number. O(1)."""
    merged = groups.counters[NEXT]
    groups.slot_of_group[merged] = slot
    groups.merged_into[small] = merged
    groups.merged_into[partner] = merged
    groups.first_of_group[merged] = groups.first_of_group[small]
    groups.next_of_distinct[groups.last_of_group[small]] = groups.first_of_group[partner]
    groups.last_of_group[merged] = groups.last_of_group[partner]
    groups.counters[ALIVE] -= 1
    groups.counters[NEXT] += 1
    groups.counters[MADE] += 1
    return merged


@compiled_inner
def merge_in_slot(small: Whole, slot: Whole, groups: Groups, slots: Slots, trees: Trees) -> None:
    """Merge a group with the one of a slot, which the merged group takes. O(columns · depth)."""
    small_slot = np.int64(groups.slot_of_group[small])
    for column in range(slots.node_of_slot.shape[1]):
        slots.node_of_slot[slot, column] = common_ancestor(
            trees.parent,
            np.int64(slots.node_of_slot[small_slot, column]),
            np.int64(slots.node_of_slot[slot, column]),
        )
    slots.size_of_slot[slot] += slots.size_of_slot[small_slot]
    slots.group_of_slot[slot] = _join(small, slots.group_of_slot[slot], slot, groups)

"""Threads that share the search for partners: PGkAA (paper §III-A, Algorithms 3 and 4).

One merge takes some microseconds to a millisecond, too little to hand over. So threads work in
*rounds*: the next groups to be merged, in their order, are shared out, and each thread lists the
cheapest partners of its own among the groups alive. Then the merges are made one after the other,
as GkAA makes them. A merge changes three groups only: what is listed still stands but for those
that are dead by then, and groups that are new since the round began are compared one by one. A
group whose listed partners are all dead is searched for again. So the partner is the one that a
scan finds at that moment, whoever listed what: neither the number of threads nor the size of
rounds changes a merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner
from incrowd.kernels.trees import Trees, common_ancestor
from incrowd.methods.greedy.groups import (
    ALIVE,
    MADE,
    NEXT,
    RUNNING,
    Groups,
    Room,
    Slots,
    queue,
    queue_new,
    take_small,
)
from incrowd.methods.greedy.scan import (
    StatedCosts,
    find_partner_by_scan,
    merge_by_scan,
    price_pairs,
)
from incrowd.progress import is_abort_requested
from incrowd.threads import Team

LISTED = 8
"""So many partners of a group are listed."""

MOST_EACH = 32
"""So many groups a thread lists partners of in a round, at most: all are compared with groups that
are new in the round, by one thread."""

ROUND_CELLS = 1 << 21
"""So many cells a thread looks at in a round, about: a millisecond or two."""

LEAST_CELLS = 1 << 14
"""A search that looks at fewer cells than this is not shared."""


class Candidates(NamedTuple):
    """The groups that are merged next, in order, and the cheapest partners listed of each.

    ``n_candidates[0]``: how many there are. Partners are listed by cost, then number;
    ``n_listed[place]`` is 0 where nobody looked.
    """

    n_candidates: NDArray[np.int64]
    group: NDArray[np.int32]
    n_listed: NDArray[np.int32]
    partner: NDArray[np.int32]
    cost: NDArray[np.int64]


def room_for_candidates(n_threads: int) -> Candidates:
    """Return room for the groups of a round on so many threads, none chosen yet."""
    most = n_threads * MOST_EACH
    return Candidates(
        np.zeros(1, dtype=np.int64),
        np.zeros(most, dtype=np.int32),
        np.zeros(most, dtype=np.int32),
        np.zeros((most, LISTED), dtype=np.int32),
        np.zeros((most, LISTED), dtype=np.int64),
    )


def pays(groups: Groups, slots: Slots, trees: Trees) -> bool:
    """Return whether one search looks at enough cells for sharing many to save time."""
    return _cells(groups, slots, trees) >= LEAST_CELLS


def _cells(groups: Groups, slots: Slots, trees: Trees) -> int:
    return int(groups.counters[ALIVE]) * slots.node_of_slot.shape[1] + trees.parent.size


def merge_shared(
    n_merges: int,
    team: Team,
    candidates: Candidates,
    groups: Groups,
    slots: Slots,
    scans: Sequence[StatedCosts],
    trees: Trees,
    limits: Any,
    room: Room,
) -> int:
    """Make at least ``n_merges`` merges by rounds, while that pays; return the state they end in.

    ``scans`` has room to price the nodes of one group for each thread.
    """
    last = int(groups.counters[MADE]) + n_merges
    while groups.counters[MADE] < last:
        n_each = min(MOST_EACH, ROUND_CELLS // _cells(groups, slots, trees) + 1)
        state: int = end_round(
            n_each * team.n_threads, candidates, groups, slots, scans[0], trees, limits, room
        )
        if state != RUNNING or not pays(groups, slots, trees):
            candidates.n_candidates[0] = 0
            return state
        if is_abort_requested():
            raise KeyboardInterrupt
        ranges = team.ranges(int(candidates.n_candidates[0]), 1)
        shares = [(*one, scan) for one, scan in zip(ranges, scans, strict=False)]
        team.map(
            lambda share: list_partners(*share[:2], candidates, groups, slots, share[2], trees),
            shares,
        )
    return RUNNING


@compiled
def end_round(
    n_next: Whole,
    candidates: Candidates,
    groups: Groups,
    slots: Slots,
    stated: StatedCosts,
    trees: Trees,
    limits: Any,
    room: Room,
) -> Whole:
    """Merge the candidates with their partners as far as they reach, and choose the next ones.

    Returns RUNNING, DONE or STUCK, as ``merge_slice`` does. O(columns · depth) for each merge and
    each group that is new in the round, and a scan where no partner listed is alive.
    """
    n_candidates = candidates.n_candidates[0]
    first_new = groups.counters[NEXT]
    place: Whole = np.int64(0)
    while True:
        queue_new(groups, slots, limits, room)
        state, small = take_small(groups)
        if state != RUNNING:
            return state
        # candidates before it have died, as partners of others
        while place < n_candidates and candidates.group[place] != small:
            place += 1
        if place == n_candidates:
            break
        partner = _listed_partner(place, first_new, candidates, groups, slots, stated, trees)
        if partner >= 0:
            slot = np.int64(groups.slot_of_group[partner])
        else:
            slot = find_partner_by_scan(small, groups, slots, stated, trees)
        merge_by_scan(small, slot, groups, slots, trees)
    # the next ones come off the heap in order, and go back to it
    n_candidates = np.int64(0)
    while state == RUNNING and n_candidates < n_next:
        candidates.group[n_candidates] = small
        candidates.n_listed[n_candidates] = 0
        n_candidates += 1
        state, small = take_small(groups)
    if state == RUNNING:
        queue(small, slots.size_of_slot[groups.slot_of_group[small]], groups)
    for place in range(n_candidates):
        group = np.int64(candidates.group[place])
        queue(group, slots.size_of_slot[groups.slot_of_group[group]], groups)
    candidates.n_candidates[0] = n_candidates
    return RUNNING


@compiled_inner
def _listed_partner(
    place: Whole,
    first_new: Whole,
    candidates: Candidates,
    groups: Groups,
    slots: Slots,
    stated: StatedCosts,
    trees: Trees,
) -> Whole:
    """Return a candidate's cheapest partner, the oldest of equals; −1 if that is not known.

    Groups that died are passed over. Groups not listed cost no less than the last one listed, and
    groups from ``first_new`` on are younger than those. O(new groups · columns · depth).
    """
    n_listed = candidates.n_listed[place]
    if n_listed == 0:
        return np.int64(-1)
    partner: Whole = np.int64(-1)
    least = candidates.cost[place, n_listed - 1]
    for listed in range(n_listed):
        if groups.merged_into[candidates.partner[place, listed]] < 0:
            partner = np.int64(candidates.partner[place, listed])
            least = candidates.cost[place, listed]
            break
    slot = np.int64(groups.slot_of_group[candidates.group[place]])
    for new in range(first_new, groups.counters[NEXT]):
        if groups.merged_into[new] < 0:
            cost = _cost_of_merging(slot, np.int64(groups.slot_of_group[new]), slots, stated, trees)
            if cost < least:
                least = cost
                partner = new
    return partner


@compiled_inner
def _cost_of_merging(
    one: Whole, other: Whole, slots: Slots, stated: StatedCosts, trees: Trees
) -> Whole:
    """Return what merging the groups of two slots costs. O(columns · depth)."""
    own = np.int64(0)
    theirs = np.int64(0)
    for column in range(slots.node_of_slot.shape[1]):
        first = np.int64(slots.node_of_slot[one, column])
        second = np.int64(slots.node_of_slot[other, column])
        depth = stated.depth[common_ancestor(trees.parent, first, second)]
        own += stated.costs[first, depth]
        theirs += stated.costs[second, depth]
    return slots.size_of_slot[one] * own + slots.size_of_slot[other] * theirs


@compiled
def list_partners(
    first: Whole,
    end: Whole,
    candidates: Candidates,
    groups: Groups,
    slots: Slots,
    stated: StatedCosts,
    trees: Trees,
) -> None:
    """List the cheapest partners of some candidates, one after the other.

    One that an earlier one of these will take for its partner is left out: nobody will ask, and
    neighbours in this order are alike, so they often take each other.
    """
    for place in range(first, end):
        if not _is_taken(np.int64(candidates.group[place]), first, place, candidates):
            _list_partners_of(place, candidates, groups, slots, stated, trees)


@compiled_inner
def _is_taken(group: Whole, first: Whole, end: Whole, candidates: Candidates) -> Flag:
    """Return whether a group is the best partner of one of these candidates. O(candidates)."""
    for place in range(first, end):
        if candidates.n_listed[place] > 0 and candidates.partner[place, 0] == group:
            return True
    return False


@compiled_inner
def _list_partners_of(
    place: Whole,
    candidates: Candidates,
    groups: Groups,
    slots: Slots,
    stated: StatedCosts,
    trees: Trees,
) -> None:
    """List the cheapest partners of one candidate. O(groups alive · columns + nodes)."""
    n_columns = slots.node_of_slot.shape[1]
    own_slot = np.int64(groups.slot_of_group[candidates.group[place]])
    size = slots.size_of_slot[own_slot]
    for column in range(n_columns):
        price_pairs(np.int64(slots.node_of_slot[own_slot, column]), stated, trees)
    partners, costs = candidates.partner[place], candidates.cost[place]
    n_listed = 0
    dearest = np.int64(9223372036854775807)
    for slot in range(groups.counters[ALIVE]):
        own = np.int64(0)
        theirs = np.int64(0)
        for column in range(n_columns):
            node = slots.node_of_slot[slot, column]
            own += stated.own[node]
            theirs += stated.theirs[node]
        cost = size * own + slots.size_of_slot[slot] * theirs
        if cost > dearest or slot == own_slot:
            continue
        # the list is full: the new one goes in before the last, unless it comes after it
        group = slots.group_of_slot[slot]
        if n_listed == LISTED:
            if cost == dearest and group > partners[LISTED - 1]:
                continue
            n_listed -= 1
        above = n_listed
        while above > 0 and (
            costs[above - 1] > cost or (costs[above - 1] == cost and partners[above - 1] > group)
        ):
            costs[above] = costs[above - 1]
            partners[above] = partners[above - 1]
            above -= 1
        costs[above] = cost
        partners[above] = group
        n_listed += 1
        if n_listed == LISTED:
            dearest = costs[LISTED - 1]
    candidates.n_listed[place] = n_listed

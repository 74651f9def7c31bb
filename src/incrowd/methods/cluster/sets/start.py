"""Distinct rows and the groups that a search begins with: near rows together, what is left in
runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.codes import stable_order
from incrowd.methods.shared.set_groups.part import Part
from incrowd.methods.shared.set_groups.vote import number_by_first_row
from incrowd.progress import is_stop_requested

if TYPE_CHECKING:
    from incrowd.methods.cluster.sets.kernels.near import Index
    from incrowd.methods.cluster.sets.kernels.state import DistinctSets, Groups
    from incrowd.methods.shared.set_groups.vote_kernel import Rule


LEAST_ROOM, MOST_ROOM = 8, 64
"""How many distinct sets a group has room for besides its own, at least and at most."""


@dataclass(frozen=True, eq=False)
class Placements:
    """How many rows (units) of a distinct set are in a group: an entry per pair of the two."""

    distinct: NDArray[np.int32]
    units: NDArray[np.int32]
    group: NDArray[np.int32]

    def groups_of_rows(self, distinct_of_row: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return a group for every row, groups numbered by their first row.

        Of a distinct set's rows the first ones go to the group with the lowest number.
        """
        pairs = np.lexsort([self.group, self.distinct])
        rows = np.argsort(distinct_of_row, kind="stable")
        group_of_row = np.empty(len(distinct_of_row), dtype=np.int32)
        group_of_row[rows] = np.repeat(self.group[pairs], self.units[pairs])
        return number_by_first_row(group_of_row)


def collapse_part(part: Part) -> tuple[DistinctSets, NDArray[np.int32]]:
    """Return the distinct sets of a part, whose items have no gaps, and the one of every row."""
    from incrowd.kernels.item_rows import invert_rows
    from incrowd.methods.cluster.sets.kernels import near as near_kernels
    from incrowd.methods.cluster.sets.kernels.state import DistinctSets

    content = near_kernels.content_of_rows(part.starts, part.items, part.needs)
    _, first, distinct_of_row, n_units = np.unique(
        content, return_index=True, return_inverse=True, return_counts=True
    )
    sizes = np.diff(part.starts)[first]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.arange(starts[-1]) - np.repeat(starts[:-1] - part.starts[first], sizes)
    items = part.items[places]
    list_starts, holders = invert_rows(starts, items, part.n_items)
    distinct_sets = DistinctSets(
        starts, items, part.needs[first], n_units.astype(np.int32), list_starts, holders
    )
    return distinct_sets, distinct_of_row.reshape(-1).astype(np.int32)


def place_rows(distinct_of_row: NDArray[np.int32], group_of_row: NDArray[np.int32]) -> Placements:
    """Return the placements of groups that rows are in already."""
    n_groups = int(group_of_row.max(initial=-1)) + 1
    pairs, units = np.unique(
        distinct_of_row.astype(np.int64) * n_groups + group_of_row, return_counts=True
    )
    return Placements(
        (pairs // n_groups).astype(np.int32),
        units.astype(np.int32),
        (pairs % n_groups).astype(np.int32),
    )


def lay_out_groups(
    distinct_sets: DistinctSets, placed: Placements
) -> tuple[Groups, NDArray[np.int32]]:
    """Return groups with room to grow, numbered without gaps, and which number each had before."""
    from incrowd.methods.cluster.sets.kernels.state import Groups

    n_distinct = len(distinct_sets.need)
    # pairs of a group and a distinct set, by group and then by set; there are no equal ones
    pairs = stable_order(placed.group.astype(np.int64) * n_distinct + placed.distinct)
    distinct, units, group = placed.distinct[pairs], placed.units[pairs], placed.group[pairs]
    start = np.flatnonzero(np.diff(group, prepend=group[:1] - 1))
    before = group[start]
    n_slots = np.diff(start, append=len(group))
    n_groups = len(before)
    bar = np.maximum.reduceat(distinct_sets.need[distinct], start)
    size = np.add.reduceat(units, start)
    room = n_slots + np.clip(bar, LEAST_ROOM, MOST_ROOM)
    first = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
    group = np.repeat(np.arange(n_groups, dtype=np.int32), n_slots)
    slots = first[group] + np.arange(len(distinct)) - start[group]
    distinct_of_slot = np.full(first[-1], -1, dtype=np.int32)
    slot_units = np.zeros(first[-1], dtype=np.int32)
    distinct_of_slot[slots], slot_units[slots] = distinct, units
    place = np.empty(n_distinct, dtype=np.int64)  # the first pair; every distinct set has one
    place[distinct[::-1]] = np.arange(len(distinct) - 1, -1, -1)
    groups = Groups(
        first,
        n_slots.astype(np.int32),
        size.astype(np.int32),
        bar.astype(np.int32),
        distinct_of_slot,
        slot_units,
        group[place].copy(),
    )
    return groups, before


def read_placements(groups: Groups) -> Placements:
    """Return the placements of laid out groups."""
    n_slots = groups.n_slots.astype(np.int64)
    group = np.repeat(np.arange(len(n_slots), dtype=np.int32), n_slots)
    ends = np.cumsum(n_slots)
    slots = np.arange(len(group)) + (groups.first[:-1] - (ends - n_slots))[group]
    return Placements(groups.distinct[slots], groups.units[slots], group)


# ── the groups that a search begins with: near rows together, what is left in runs ────────────────

N_FOUND = 64
"""Of how many near distinct sets a group is made, besides as many as it needs rows."""

WIDEST_IN_BITS, MOST_IN_BITS = 256, 50_000
"""Up to how many items, and how many distinct sets, bitsets find near ones rather than lists."""

SEEDS_PER_SLICE = 2_000
"""How many seeds are tried between two looks at whether an end is wished."""


def first_groups(
    distinct_sets: DistinctSets,
    rule: Rule,
    order: np.random.Generator,
    random: NDArray[np.int64],
    given: Placements | None = None,
) -> Placements:
    """Return valid groups of all rows: those that are given, and first groups of the others.

    A distinct set with as many rows as it needs is a group of its own; what it has beyond may fill
    up others, and comes back if it does not. The rest grow from seeds, those with the largest needs
    first, at random among equals. Seeds without enough near ones are put in runs by need and first
    item; a last run that is too short joins the group before it, a given one if need be. An end
    that is wished for puts all that is left in runs.
    """
    from incrowd.methods.cluster.sets.kernels import near as near_kernels
    from incrowd.methods.cluster.sets.kernels import start as start_kernels
    from incrowd.methods.cluster.sets.kernels.state import new_scratch

    n_distinct = len(distinct_sets.need)
    n_left = distinct_sets.n_units.copy()
    if given is not None:
        np.subtract.at(n_left, given.distinct, given.units)
        if not n_left.any():
            return given
    n_rows = int(n_left.sum())
    growing = start_kernels.GrowingGroups(
        np.empty(n_rows, dtype=np.int32),
        np.empty(n_rows, dtype=np.int32),
        np.empty(n_rows, dtype=np.int32),
        np.zeros(2, dtype=np.int64),
    )
    is_enough = n_left >= distinct_sets.need
    enough = np.flatnonzero(is_enough)
    seeds = order.permutation(np.flatnonzero(~is_enough & (n_left > 0)))
    seeds = seeds[np.argsort(-distinct_sets.need[seeds], kind="stable")]
    index = index_of(distinct_sets)
    n_found = N_FOUND + int(distinct_sets.need.max())
    found = near_kernels.Found(
        np.empty(n_found, dtype=np.int32),
        np.empty(n_found, dtype=np.float64),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )
    scratch = new_scratch(len(distinct_sets.list_starts) - 1, 1, 1)

    def grow(some: NDArray[np.int64]) -> None:
        start_kernels.grow_groups(
            distinct_sets, index, found, scratch, rule, some, n_left, growing, random
        )

    grow(enough)  # the first pairs, in this order
    surplus = n_left[enough].copy()
    n_left[enough] = 0
    for start in range(0, len(seeds), SEEDS_PER_SLICE):
        if is_stop_requested():
            break
        grow(seeds[start : start + SEEDS_PER_SLICE])
    growing.units[: len(enough)] += surplus
    n_pairs = int(growing.n[0])
    placed = Placements(
        growing.distinct[:n_pairs], growing.units[:n_pairs], growing.group[:n_pairs]
    )
    if given is not None:
        placed = _after(given, placed)
    if not n_left.any():
        return placed
    return _with_rest(distinct_sets, placed, n_left, n_distinct)


def _after(given: Placements, placed: Placements) -> Placements:
    """Return the given groups followed by others."""
    n_given = np.int32(given.group.max(initial=-1) + 1)
    return Placements(
        np.concatenate([given.distinct, placed.distinct]),
        np.concatenate([given.units, placed.units]),
        np.concatenate([given.group, placed.group + n_given]),
    )


def index_of(distinct_sets: DistinctSets) -> Index:
    """Return where sets are found: bitsets for few items, else copies of the lists by item."""
    from incrowd.methods.cluster.sets.kernels.near import Index, bitsets

    n_distinct, n_items = len(distinct_sets.need), len(distinct_sets.list_starts) - 1
    none = np.empty(0, dtype=np.int32)
    if n_items <= WIDEST_IN_BITS and n_distinct <= MOST_IN_BITS:
        no_lists = np.empty(0, dtype=np.int64)
        bits = bitsets(distinct_sets, max(1, -(-n_items // 64)))
        live = np.arange(n_distinct, dtype=np.int32)
        n_live = np.array([n_distinct], dtype=np.int64)
        return Index(no_lists, no_lists, none, bits, live, n_live, none, none)
    return Index(
        distinct_sets.list_starts[:-1],
        distinct_sets.list_starts[1:].copy(),
        distinct_sets.holders.copy(),
        np.empty((0, 0), dtype=np.uint64),
        none,
        np.zeros(1, dtype=np.int64),
        np.zeros(n_distinct, dtype=np.int32),
        np.empty(n_distinct, dtype=np.int32),
    )


def _with_rest(
    distinct_sets: DistinctSets, placed: Placements, n_left: NDArray[np.int32], n_distinct: int
) -> Placements:
    """Return the groups with those of all rows that are left, sorted by need and first item."""
    from incrowd.methods.cluster.sets.kernels import start as start_kernels

    rest = np.flatnonzero(n_left)
    is_empty = distinct_sets.starts[rest] == distinct_sets.starts[rest + 1]
    first_item = np.full(len(rest), -1, dtype=np.int64)
    first_item[~is_empty] = distinct_sets.items[distinct_sets.starts[rest[~is_empty]]]
    rest = rest[np.lexsort((first_item, -distinct_sets.need[rest]))]
    n_groups = int(placed.group.max(initial=-1)) + 1
    pairs, units, group, n_short = start_kernels.cut_run(
        distinct_sets.need[rest], n_left[rest], n_groups
    )
    distinct = np.concatenate([placed.distinct, rest[pairs].astype(np.int32)])
    units = np.concatenate([placed.units, units])
    group = np.concatenate([placed.group, group])
    if n_short:
        # Groups made last are the least near: the short one takes them in until it is none.
        last = int(group[-1])
        need = int(distinct_sets.need[distinct[group == last]].max())
        size = int(n_short)
        target = last
        while True:
            target -= 1
            if target < 0:
                raise ValueError("there are fewer rows than a group needs")
            is_target = group == target
            size += int(units[is_target].sum())
            need = max(need, int(distinct_sets.need[distinct[is_target]].max()))
            group[is_target] = last
            if size >= need:
                break
    # a distinct set may have been cut between two groups that are one now
    pairs, pair = np.unique(group.astype(np.int64) * n_distinct + distinct, return_inverse=True)
    total = np.bincount(pair.reshape(-1), weights=units).astype(np.int32)
    return Placements(
        (pairs % n_distinct).astype(np.int32), total, (pairs // n_distinct).astype(np.int32)
    )

"""Distinct rows and the groups that a search begins with: near rows together, what is left in
runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.interrupts import is_stop_requested
from incrowd.methods.shared.of_sets.vote import numbered_by_first_row

if TYPE_CHECKING:
    from incrowd.methods.cluster.sets.kernels.near import Index
    from incrowd.methods.cluster.sets.kernels.state import Groups, Kinds
    from incrowd.methods.shared.of_sets.kernel_vote import Rule


LEAST_ROOM, MOST_ROOM = 8, 64
"""How many kinds a group has room for besides its own, at least and at most."""


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that are searched together: their items as in Sets, and the group size each needs."""

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    n_items: int
    needs: NDArray[np.int32]

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.needs)

    def compact(self) -> Part:
        """Return the same rows with items numbered without gaps, in the same order."""
        if self.n_items <= 8 * len(self.items) + 1024:
            is_used = np.zeros(self.n_items, dtype=np.bool_)
            is_used[self.items] = True
            number = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
            return Part(self.starts, number[self.items], int(is_used.sum()), self.needs)
        used, items = np.unique(self.items, return_inverse=True)
        return Part(self.starts, items.astype(np.int32), len(used), self.needs)


@dataclass(frozen=True, eq=False)
class Placed:
    """Units of kinds in groups, a line each; no kind is in a group twice."""

    kind: NDArray[np.int32]
    units: NDArray[np.int32]
    group: NDArray[np.int32]

    def groups_of_rows(self, kind_of_row: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return a group for every row, groups numbered by their first row.

        Of a kind's rows the first ones go to the group with the lowest number.
        """
        lines = np.lexsort([self.group, self.kind])
        rows = np.argsort(kind_of_row, kind="stable")
        group_of_row = np.empty(len(kind_of_row), dtype=np.int32)
        group_of_row[rows] = np.repeat(self.group[lines], self.units[lines])
        return numbered_by_first_row(group_of_row)


def kinds_of(part: Part) -> tuple[Kinds, NDArray[np.int32]]:
    """Return the distinct rows of a part, whose items have no gaps, and the kind of every row."""
    from incrowd.kernels.item_rows import turned_around
    from incrowd.methods.cluster.sets.kernels import near as near_kernels
    from incrowd.methods.cluster.sets.kernels.state import Kinds

    content = near_kernels.content_of_rows(part.starts, part.items, part.needs)
    _, first, kind_of_row, n_units = np.unique(
        content, return_index=True, return_inverse=True, return_counts=True
    )
    sizes = np.diff(part.starts)[first]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.arange(starts[-1]) - np.repeat(starts[:-1] - part.starts[first], sizes)
    items = part.items[places]
    list_starts, holders = turned_around(starts, items, part.n_items)
    kinds = Kinds(starts, items, part.needs[first], n_units.astype(np.int32), list_starts, holders)
    return kinds, kind_of_row.reshape(-1).astype(np.int32)


def placed_rows(kind_of_row: NDArray[np.int32], group_of_row: NDArray[np.int32]) -> Placed:
    """Return the lines of groups that rows are in already."""
    n_groups = int(group_of_row.max(initial=-1)) + 1
    lines, units = np.unique(
        kind_of_row.astype(np.int64) * n_groups + group_of_row, return_counts=True
    )
    return Placed(
        (lines // n_groups).astype(np.int32),
        units.astype(np.int32),
        (lines % n_groups).astype(np.int32),
    )


def laid_out(kinds: Kinds, placed: Placed) -> tuple[Groups, NDArray[np.int32]]:
    """Return groups with room to grow, numbered without gaps, and which number each had before."""
    from incrowd.methods.cluster.sets.kernels.state import Groups

    lines = np.lexsort([placed.kind, placed.group])
    kind, units = placed.kind[lines], placed.units[lines]
    before, start, n_slots = np.unique(placed.group[lines], return_index=True, return_counts=True)
    n_groups = len(before)
    bar = np.maximum.reduceat(kinds.need[kind], start)
    size = np.add.reduceat(units, start)
    room = n_slots + np.clip(bar, LEAST_ROOM, MOST_ROOM)
    first = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
    group = np.repeat(np.arange(n_groups, dtype=np.int32), n_slots)
    slots = first[group] + np.arange(len(kind)) - start[group]
    slot_kind = np.full(first[-1], -1, dtype=np.int32)
    slot_units = np.zeros(first[-1], dtype=np.int32)
    slot_kind[slots], slot_units[slots] = kind, units
    _, place = np.unique(kind, return_index=True)  # every kind has a line
    groups = Groups(
        first,
        n_slots.astype(np.int32),
        size.astype(np.int32),
        bar.astype(np.int32),
        slot_kind,
        slot_units,
        group[place].copy(),
    )
    return groups, before


def placed_groups(groups: Groups) -> Placed:
    """Return the lines of laid out groups."""
    n_slots = groups.n_slots.astype(np.int64)
    group = np.repeat(np.arange(len(n_slots), dtype=np.int32), n_slots)
    ends = np.cumsum(n_slots)
    slots = np.arange(len(group)) + (groups.first[:-1] - (ends - n_slots))[group]
    return Placed(groups.kind[slots], groups.units[slots], group)


# The groups that a search begins with: near rows together, what is left in runs.

N_FOUND = 64
"""Of how many near kinds a group is made, besides as many as it needs rows."""

WIDEST_IN_BITS, MOST_IN_BITS = 256, 50_000
"""Up to how many items, and how many kinds, bitsets find near ones rather than lists."""

SEEDS_PER_SLICE = 2_000
"""How many seeds are tried between two looks at whether an end is wished."""


def first_groups(
    kinds: Kinds,
    rule: Rule,
    order: np.random.Generator,
    random: NDArray[np.int64],
    given: Placed | None = None,
) -> Placed:
    """Return valid groups of all rows: those that are given, and first groups of the others.

    A kind with as many rows as it needs is a group of its own; what it has beyond may fill up
    others, and comes back if it does not. The rest grow from seeds, those with the largest needs
    first, at random among equals. Seeds without enough near ones are put in runs by need and
    first item; a last run that is too short joins the group before it, a given one if need be.
    An end that is wished for puts all that is left in runs.
    """
    from incrowd.methods.cluster.sets.kernels import near as near_kernels
    from incrowd.methods.cluster.sets.kernels import start as start_kernels
    from incrowd.methods.cluster.sets.kernels.state import new_scratch

    n_kinds = len(kinds.need)
    n_left = kinds.n_units.copy()
    if given is not None:
        np.subtract.at(n_left, given.kind, given.units)
        if not n_left.any():
            return given
    n_rows = int(n_left.sum())
    fragments = start_kernels.Fragments(
        np.empty(n_rows, dtype=np.int32),
        np.empty(n_rows, dtype=np.int32),
        np.empty(n_rows, dtype=np.int32),
        np.zeros(2, dtype=np.int64),
    )
    is_enough = n_left >= kinds.need
    enough = np.flatnonzero(is_enough)
    seeds = order.permutation(np.flatnonzero(~is_enough & (n_left > 0)))
    seeds = seeds[np.argsort(-kinds.need[seeds], kind="stable")]
    index = index_of(kinds)
    n_found = N_FOUND + int(kinds.need.max())
    found = near_kernels.Found(
        np.empty(n_found, dtype=np.int32),
        np.empty(n_found, dtype=np.float64),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )
    scratch = new_scratch(len(kinds.list_starts) - 1, 1, 1)

    def grow(some: NDArray[np.int64]) -> None:
        start_kernels.grow_groups(
            kinds, index, found, scratch, rule, some, n_left, fragments, random
        )

    grow(enough)  # the first lines, in this order
    surplus = n_left[enough].copy()
    n_left[enough] = 0
    for start in range(0, len(seeds), SEEDS_PER_SLICE):
        if is_stop_requested():
            break
        grow(seeds[start : start + SEEDS_PER_SLICE])
    fragments.units[: len(enough)] += surplus
    n_lines = int(fragments.n[0])
    placed = Placed(fragments.kind[:n_lines], fragments.units[:n_lines], fragments.group[:n_lines])
    if given is not None:
        placed = _after(given, placed)
    if not n_left.any():
        return placed
    return _with_rest(kinds, placed, n_left, n_kinds)


def _after(given: Placed, placed: Placed) -> Placed:
    """Return the given groups followed by others."""
    n_given = np.int32(given.group.max(initial=-1) + 1)
    return Placed(
        np.concatenate([given.kind, placed.kind]),
        np.concatenate([given.units, placed.units]),
        np.concatenate([given.group, placed.group + n_given]),
    )


def index_of(kinds: Kinds) -> Index:
    """Return where kinds are found: bitsets for few items, else copies of the lists by item."""
    from incrowd.methods.cluster.sets.kernels.near import Index, bitsets

    n_kinds, n_items = len(kinds.need), len(kinds.list_starts) - 1
    none = np.empty(0, dtype=np.int32)
    if n_items <= WIDEST_IN_BITS and n_kinds <= MOST_IN_BITS:
        no_lists = np.empty(0, dtype=np.int64)
        bits = bitsets(kinds, max(1, -(-n_items // 64)))
        live = np.arange(n_kinds, dtype=np.int32)
        n_live = np.array([n_kinds], dtype=np.int64)
        return Index(no_lists, no_lists, none, bits, live, n_live, none, none)
    return Index(
        kinds.list_starts[:-1],
        kinds.list_starts[1:].copy(),
        kinds.holders.copy(),
        np.empty((0, 0), dtype=np.uint64),
        none,
        np.zeros(1, dtype=np.int64),
        np.zeros(n_kinds, dtype=np.int32),
        np.empty(n_kinds, dtype=np.int32),
    )


def _with_rest(kinds: Kinds, placed: Placed, n_left: NDArray[np.int32], n_kinds: int) -> Placed:
    """Return the groups with those of all rows that are left, sorted by need and first item."""
    from incrowd.methods.cluster.sets.kernels import start as start_kernels

    rest = np.flatnonzero(n_left)
    is_empty = kinds.starts[rest] == kinds.starts[rest + 1]
    first_item = np.full(len(rest), -1, dtype=np.int64)
    first_item[~is_empty] = kinds.items[kinds.starts[rest[~is_empty]]]
    rest = rest[np.lexsort((first_item, -kinds.need[rest]))]
    n_groups = int(placed.group.max(initial=-1)) + 1
    lines, units, group, n_short = start_kernels.cut_run(kinds.need[rest], n_left[rest], n_groups)
    kind = np.concatenate([placed.kind, rest[lines].astype(np.int32)])
    units = np.concatenate([placed.units, units])
    group = np.concatenate([placed.group, group])
    if n_short:
        # Groups made last are the least near: the short one takes them in until it is none.
        last = int(group[-1])
        need = int(kinds.need[kind[group == last]].max())
        size = int(n_short)
        target = last
        while True:
            target -= 1
            if target < 0:
                raise ValueError("there are fewer rows than a group needs")
            is_target = group == target
            size += int(units[is_target].sum())
            need = max(need, int(kinds.need[kind[is_target]].max()))
            group[is_target] = last
            if size >= need:
                break
    # a kind may have been cut between two groups that are one now
    lines, line = np.unique(group.astype(np.int64) * n_kinds + kind, return_inverse=True)
    total = np.bincount(line.reshape(-1), weights=units).astype(np.int32)
    return Placed((lines % n_kinds).astype(np.int32), total, (lines // n_kinds).astype(np.int32))

"""Rows to kinds, kinds to rows, and groups laid out so that a search can change them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.methods.sets.found import numbered_by_first_row

if TYPE_CHECKING:
    from incrowd.methods.set_cluster.kernel_state import Groups, Kinds

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
    from incrowd.kernels.rows import turned_around
    from incrowd.methods.set_cluster import kernel_kinds
    from incrowd.methods.set_cluster.kernel_state import Kinds

    content = kernel_kinds.content_of_rows(part.starts, part.items, part.needs)
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
    from incrowd.methods.set_cluster.kernel_state import Groups

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

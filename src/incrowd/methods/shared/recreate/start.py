"""How a search begins: distinct rows with their counts, sorted by content, and the first groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.methods.shared.conditions import LEFT_OUT, PackedConditions
from incrowd.methods.shared.fragments import Fragments, sort_into_runs, sort_key

if TYPE_CHECKING:
    from incrowd.methods.shared.recreate.kernels.rules import Rules
    from incrowd.methods.shared.recreate.kernels.state import Space


@dataclass(frozen=True, eq=False)
class CountedRows:
    """``count[counted]`` rows equal to row ``row[counted]``, with ``nodes[column, counted]``.

    Where groups are tested by their size alone, a row is a distinct one, and there may be several
    counted rows of it that begin in different groups; else every one is one row. ``start[column,
    counted]`` are nodes that another search released, where this one begins with its groups;
    ``limits`` speak of the counted rows.
    """

    row: NDArray[np.int64]
    nodes: NDArray[np.int32]
    count: NDArray[np.int64]
    limits: PackedConditions
    start: NDArray[np.int32] | None = None

    @classmethod
    def of_rows(
        cls, nodes: NDArray[np.int32], count: NDArray[np.int64], limits: PackedConditions
    ) -> CountedRows:
        """Return a counted row per row."""
        return cls(np.arange(nodes.shape[1]), nodes, count, limits)

    @classmethod
    def continue_from(
        cls, nodes: NDArray[np.int32], found: Fragments, limits: PackedConditions
    ) -> CountedRows:
        """Return what a search has released of rows with ``nodes[column, row]``, to go on from.

        Where rows are told apart, all of them are there, in their order.
        """
        node_of_counted = np.ascontiguousarray(nodes[:, found.row])
        return cls(found.row, node_of_counted, found.count, limits, found.nodes)

    @property
    def n_rows(self) -> int:
        """How many rows the counted rows stand for."""
        return int(self.count.sum())

    def take(self, places: NDArray[np.int64]) -> CountedRows:
        """Return some of the counted rows."""
        limits = self.limits
        return CountedRows(
            self.row[places],
            np.ascontiguousarray(self.nodes[:, places]),
            self.count[places],
            limits.of_rows(
                limits.k_of_row[places] if limits.k_of_row.size else limits.k_of_row,
                limits.person_of_row[places] if limits.person_of_row.size else limits.person_of_row,
                limits.code_of_row[:, places] if limits.code_of_row.size else limits.code_of_row,
            ),
            None if self.start is None else np.ascontiguousarray(self.start[:, places]),
        )


LARGEST_FREQUENT_K = 20
"""Up to this k, distinct rows that occur k times or more begin as groups of their own."""


@dataclass(frozen=True, eq=False)
class SortedRows:
    """Rows sorted by content, then by number, and the runs of those that a search takes as equal.

    Runs are of rows that nothing tells apart, or, where equal rows stay together, of rows with
    the same quasi-identifying values. ``profile_start`` has the runs that nothing tells apart;
    ``n_distinct`` counts the combinations of quasi-identifying values.
    """

    rows: NDArray[np.int64]
    run_start: NDArray[np.int64]
    profile_start: NDArray[np.int64]
    n_distinct: int

    @classmethod
    def of(
        cls, key_of_row: NDArray[np.int64], limits: PackedConditions, is_together: bool
    ) -> SortedRows:
        """Sort rows by the key of their nodes and by what the conditions look at."""
        rows, run_start = sort_into_runs(key_of_row)
        profile = _profile_of_row(limits, len(key_of_row))
        if profile is None:
            return cls(rows, run_start, run_start, len(run_start) - 1)
        number = np.empty(len(rows), dtype=np.int64)
        number[rows] = np.repeat(np.arange(len(run_start) - 1), np.diff(run_start))
        n_profiles = int(profile.max(initial=0)) + 1
        n_distinct = len(run_start) - 1
        rows, profile_start = sort_into_runs(number * n_profiles + profile)
        return cls(rows, run_start if is_together else profile_start, profile_start, n_distinct)

    def rules(self, limits: PackedConditions) -> Rules:
        """Return what groups must meet, in terms of the runs."""
        from incrowd.methods.shared.recreate.kernels.rules import rules_of

        count = np.diff(self.profile_start)
        first_profile = np.searchsorted(self.profile_start, self.run_start)
        unit = np.diff(self.run_start)
        if len(unit) == len(count):  # any number of a run's rows may go anywhere
            count, unit = np.ones_like(count), np.ones_like(unit)
        profiles = np.stack([self.rows[self.profile_start[:-1]], count])
        return rules_of(limits, first_profile.astype(np.int64), profiles, unit)


def _profile_of_row(limits: PackedConditions, n_rows: int) -> NDArray[np.int64] | None:
    """Return a number per row, equal where no condition tells rows apart; None without any."""
    columns = list(limits.code_of_row)
    n_values = [int(count) + 1 for count in limits.n_values]
    if limits.k_of_row.size:
        columns.append(limits.k_of_row)
        n_values.append(int(limits.k_of_row.max()) + 1)
    if limits.person_of_row.size:
        columns.append(limits.person_of_row)
        n_values.append(limits.n_people)
    if not columns:
        return None
    _, profile = np.unique(sort_key(columns, n_values, n_rows), return_inverse=True)
    return np.asarray(profile, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class FirstGroups:
    """Groups as spans of (distinct row, count) pairs, and pairs that are left out."""

    starts: NDArray[np.int64]
    distinct: NDArray[np.int64]
    count: NDArray[np.int64]
    left_out: NDArray[np.int64]
    n_left_out: NDArray[np.int64]


def split_groups(space: Space, k: int) -> FirstGroups:
    """Return the groups of top-down splits."""
    from incrowd.methods.shared.recreate.kernels import start as start_kernels
    from incrowd.methods.shared.recreate.kernels import state as state_kernels

    count = space.rows[state_kernels.N_ROWS_OF_DISTINCT]
    everything = np.arange(len(count))
    is_frequent = (count >= k) & (k <= LARGEST_FREQUENT_K)
    if 0 < int(count[~is_frequent].sum()) < k:
        is_frequent[:] = False
    frequent, n_of_frequent = everything[is_frequent], count[is_frequent]
    others = everything[~is_frequent]
    starts = np.zeros(1, dtype=np.int64)
    distinct, n_rows = others[:0], count[:0]
    if len(others):
        starts, distinct, n_rows = start_kernels.top_down(space, k, others, count[~is_frequent])
    none = np.zeros(0, dtype=np.int64)
    return FirstGroups(
        np.concatenate([np.arange(len(frequent)), len(frequent) + starts]),
        np.concatenate([frequent, distinct]),
        np.concatenate([n_of_frequent, n_rows]),
        none,
        none,
    )


def given_groups(
    counted: CountedRows,
    order: NDArray[np.int64],
    run_start: NDArray[np.int64],
    n_nodes: Sequence[int],
) -> FirstGroups:
    """Return the groups that counted rows begin with; ``order`` sorts them by distinct row.

    Counted rows that show the same nodes are one group.
    """
    if counted.start is None:
        raise ValueError("the counted rows do not say where they begin")
    start, count = counted.start[:, order], counted.count[order]
    n_distinct = len(run_start) - 1
    distinct_of_place = np.repeat(np.arange(n_distinct), np.diff(run_start))
    is_kept = start[0] != LEFT_OUT
    left_out, n_left_out = _add_up(distinct_of_place[~is_kept], count[~is_kept])
    key = sort_key(list(start[:, is_kept]), n_nodes, int(is_kept.sum()))
    _, group = np.unique(key, return_inverse=True)
    pairs, n_rows = _add_up(group * n_distinct + distinct_of_place[is_kept], count[is_kept])
    group_of_pair, distinct = np.divmod(pairs, n_distinct)
    starts = np.searchsorted(group_of_pair, np.arange(int(group.max(initial=-1)) + 2))
    return FirstGroups(starts, distinct, n_rows, left_out, n_left_out)


def _add_up(
    keys: NDArray[np.int64], count: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the keys that occur, sorted, and the sum of each one's counts."""
    order, start = sort_into_runs(keys)
    if not len(keys):
        return keys, count
    return keys[order[start[:-1]]], np.add.reduceat(count[order], start[:-1])


def seed_of(seed: int, block: int) -> int:
    """Return a well-mixed start of a block's draws (the finish of splitmix64)."""
    mixed = (seed * 0x9E3779B97F4A7C15 + (block + 1) * 0xD1B54A32D192ED03) & ((1 << 64) - 1)
    for multiplier in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
        mixed = ((mixed ^ (mixed >> 30)) * multiplier) & ((1 << 64) - 1)
    return (mixed ^ (mixed >> 31)) & ((1 << 63) - 1)

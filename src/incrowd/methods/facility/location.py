"""Facility location on distinct sets: opening costs, Meyerson's algorithm, nearest facilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.methods.shared.set_groups.vote import SetConditions
from incrowd.progress import Progress, is_stop_requested, silent
from incrowd.sets.sets import Sets
from incrowd.threads import map_in_threads

if TYPE_CHECKING:
    from incrowd.methods.facility.kernels.location import Facilities


SETS_PER_SLICE = 1024
"""How many distinct sets are looked at between two questions whether to stop."""

ROWS_PER_SLICE = 4096

OPENING_COSTS = "opening costs"


@dataclass(frozen=True, eq=False)
class DistinctSets:
    """The distinct sets of rows, how many rows have each, and the largest k that those ask for.

    A distinct set s holds ``items[starts[s]:starts[s + 1]]``; item i is held by
    ``holders[holder_starts[i]:holder_starts[i + 1]]``. Distinct sets are numbered by their first
    rows. All rows of one stay in one group.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    holder_starts: NDArray[np.int64]
    holders: NDArray[np.int32]
    weight: NDArray[np.int64]
    need: NDArray[np.int64]
    distinct_of_row: NDArray[np.int32]

    @property
    def n_distinct(self) -> int:
        """How many different sets there are."""
        return len(self.weight)

    @property
    def n_items(self) -> int:
        """How many items there are, held or not."""
        return len(self.holder_starts) - 1

    def sums_of(
        self, group_of_distinct: NDArray[np.int32], n_groups: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return, per group, how many rows it has and the largest k that those ask for."""
        n_rows = np.zeros(n_groups, dtype=np.int64)
        np.add.at(n_rows, group_of_distinct, self.weight)
        asked = np.zeros(n_groups, dtype=np.int64)
        np.maximum.at(asked, group_of_distinct, self.need)
        return n_rows, asked


def collapse_sets(sets: Sets, conditions: SetConditions) -> DistinctSets:
    """Return the different sets of rows with what they weigh and ask for. O(entries)."""
    from incrowd.kernels.item_rows import invert_rows
    from incrowd.kernels.near_rows import distinct_rows

    firsts, distinct_of_row, weight = distinct_rows(sets.starts, sets.items)
    need = np.full(len(firsts), conditions.k, dtype=np.int64)
    np.maximum.at(need, distinct_of_row, conditions.needs(sets.n_rows))
    different = sets.take(firsts)
    holder_starts, holders = invert_rows(different.starts, different.items, sets.n_items)
    return DistinctSets(
        different.starts,
        different.items,
        holder_starts,
        holders,
        weight,
        need,
        distinct_of_row.astype(np.int32),
    )


@dataclass(frozen=True, eq=False)
class Work:
    """What a search runs with: its chance, how many threads, and whom it tells."""

    rng: np.random.Generator
    n_threads: int
    progress: Progress

    def in_slices(self, stage: str, n: int, step: int, do: Callable[[int, int], None]) -> None:
        """Call ``do(first, end)`` for every slice, on all threads; slices must not meet."""
        slices = [(first, min(first + step, n)) for first in range(0, n, step)]
        done = map_in_threads(lambda part: do(*part), slices, self.n_threads)
        self.progress(stage, 0, n)
        for place, _ in enumerate(done):
            self.progress(stage, slices[place][1], n)

    @property
    def alone(self) -> Work:
        """The same on one thread, unheard: one of several searches side by side."""
        return replace(self, n_threads=1, progress=silent)


def nearest_sums(
    distinct: DistinctSets, n_nearest: NDArray[np.int64], work: Work
) -> NDArray[np.int64]:
    """Return, per set, the sum of Hamming distances to its nearest rows, itself among them.

    ``n_nearest`` says how many, per set; of several such lines come as many lines of sums.
    """
    from incrowd.kernels.near_rows import rows_by_size, sum_nearest

    rows_of_size = rows_by_size(distinct.starts, distinct.weight)
    wanted = np.ascontiguousarray(np.atleast_2d(n_nearest), dtype=np.int64)
    summed = np.empty_like(wanted)

    def sum_up(first: int, end: int) -> None:
        sum_nearest(
            first,
            end,
            distinct.starts,
            distinct.items,
            distinct.holder_starts,
            distinct.holders,
            distinct.weight,
            wanted,
            rows_of_size,
            summed,
        )

    work.in_slices(OPENING_COSTS, distinct.n_distinct, SETS_PER_SLICE, sum_up)
    return summed.reshape(n_nearest.shape)


@dataclass(frozen=True, eq=False)
class Location:
    """Open facilities, who is nearest to which, and what that costs."""

    facility: NDArray[np.int32]
    number_of_distinct: NDArray[np.int32]
    distance_of_distinct: NDArray[np.int64]
    cost: float


def best_of_orders(
    distinct: DistinctSets, cost: NDArray[np.float64], n_orders: int, work: Work
) -> Location:
    """Run Meyerson's algorithm on random orders of the rows and keep the cheapest outcome.

    The cost of an outcome is that of its facilities plus every row's way to its nearest one (the
    algorithm itself counts the way to the nearest at the time). Ties: the earlier order.
    """
    best: Location | None = None
    at_once = work.n_threads if distinct.n_distinct >= SETS_PER_SLICE else 1
    for first in range(0, n_orders, at_once):
        # drawn one after the other, run side by side
        orders = [_Order(distinct, work) for _ in range(first, min(first + at_once, n_orders))]
        stage = f"opening facilities, order {{}} of {n_orders}"
        if len(orders) == 1:
            found = [_locate(distinct, cost, orders[0], stage.format(first + 1), work)]
        else:
            found = []
            locate = partial(_locate, distinct, cost, stage="", work=work.alone)
            for location in map_in_threads(locate, orders, work.n_threads):
                found.append(location)
                work.progress("opening facilities", first + len(found), n_orders)
        for location in found:
            if best is None or location.cost < best.cost:
                best = location
        if is_stop_requested():
            break
    if best is None:
        raise ValueError("at least one order is needed")
    return best


class _Order:
    """The rows in one random order, each with the number that decides what it opens."""

    def __init__(self, distinct: DistinctSets, work: Work) -> None:
        n_rows = len(distinct.distinct_of_row)
        self.distinct_of_place = distinct.distinct_of_row[work.rng.permutation(n_rows)]
        self.chance = work.rng.random(n_rows)


def _locate(
    distinct: DistinctSets, cost: NDArray[np.float64], order: _Order, stage: str, work: Work
) -> Location:
    """Return what Meyerson's algorithm comes to on one order."""
    facility = _online(distinct, cost, order, stage, work)
    nearest, distance = nearest_facilities(distinct, facilities_at(distinct, facility), work)
    total = float(cost[facility].sum()) + float((distance * distinct.weight).sum())
    return Location(facility, nearest, distance, total)


def _online(
    distinct: DistinctSets, cost: NDArray[np.float64], order: _Order, stage: str, work: Work
) -> NDArray[np.int32]:
    from incrowd.methods.facility.kernels import location as location_kernels

    n_rows = len(order.chance)
    opened = location_kernels.nothing_opened(
        distinct.n_distinct, distinct.n_items, len(distinct.items)
    )
    for first in range(0, n_rows, ROWS_PER_SLICE):
        work.progress(stage, first, n_rows)
        location_kernels.meet_rows(
            first,
            min(first + ROWS_PER_SLICE, n_rows),
            order.distinct_of_place,
            order.chance,
            cost,
            distinct.starts,
            distinct.items,
            opened,
        )
    work.progress(stage, n_rows, n_rows)
    return np.sort(opened.facility[: opened.counters[0]])


def facilities_at(distinct: DistinctSets, facility: NDArray[np.int32]) -> Facilities:
    """Return facilities at these distinct sets, all open, with the lists that find the nearest."""
    from incrowd.kernels.item_rows import invert_rows
    from incrowd.methods.facility.kernels.location import Facilities

    sizes = np.diff(distinct.starts)[facility]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.arange(starts[-1]) - np.repeat(starts[:-1] - distinct.starts[facility], sizes)
    number_starts, numbers = invert_rows(starts, distinct.items[places], distinct.n_items)
    return Facilities(
        facility,
        number_starts,
        numbers,
        np.argsort(sizes, kind="stable").astype(np.int32),
        np.ones(len(facility), dtype=np.bool_),
        np.zeros(len(facility), dtype=np.int32),
        np.empty(len(facility), dtype=np.int32),
        np.zeros(3, dtype=np.int64),
    )


def nearest_facilities(
    distinct: DistinctSets, facilities: Facilities, work: Work
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return each distinct set's nearest open facility and how far it is."""
    from incrowd.methods.facility.kernels.location import assign

    number_of_distinct = np.empty(distinct.n_distinct, dtype=np.int32)
    distance_of_distinct = np.empty(distinct.n_distinct, dtype=np.int64)

    def give(first: int, end: int) -> None:
        own = facilities._replace(
            common=np.zeros_like(facilities.common),
            touched=np.empty_like(facilities.touched),
            found=np.zeros_like(facilities.found),
        )
        assign(
            first,
            end,
            distinct.starts,
            distinct.items,
            own,
            number_of_distinct,
            distance_of_distinct,
        )

    work.in_slices("nearest facilities", distinct.n_distinct, SETS_PER_SLICE, give)
    return number_of_distinct, distance_of_distinct

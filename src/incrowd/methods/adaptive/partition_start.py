"""The first groups of a partition: buckets of masks from cheap to dear, then splits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.interrupts import is_end_wished
from incrowd.progress import Progress

STAGE = "making groups"

MOST_LATTICE_ATTRIBUTES = 12
"""Up to so many attributes all sets of them are tried as masks."""

MOST_LATTICE_WORK = 400_000_000
"""The most rows times masks of one pass over the lattice; larger tables begin with splits."""

WORK_OF_TRIES = 500_000_000
"""About how many rows times masks all tries may take together."""

MOST_TRIES, TRIES_AT_ONCE = 64, 8
"""Tries at most, and how many begin from the same costs, side by side."""

NOISE_OF_ATTRIBUTES, NOISE_OF_MASKS = 0.15, 0.06
"""How far a try moves the costs of attributes, and of masks: a share, of standard deviation."""

GROUP_PRICE = 1.0
"""What a group costs beside its masked cells, in cells per row that a row needs on average: the
fewer groups, the more cells sweeps unmask later."""

UNEVEN = 1e-3
"""How much dearer a mask is for the spread of what it hides: it settles ties only."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows in the order of their groups, each by rising need, and where groups start."""

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    price: float

    def group_of_row(self, n_rows: int) -> NDArray[np.int64]:
        """Return every row's group, −1 where it has none."""
        groups = np.full(n_rows, -1, dtype=np.int64)
        n_groups = len(self.starts) - 1
        groups[self.order] = np.repeat(np.arange(n_groups), np.diff(self.starts))
        return groups


def first_groups(
    codes: NDArray[np.int32],
    n_values: NDArray[np.int64],
    need: NDArray[np.int64],
    seed: int,
    n_threads: int,
    progress: Progress,
) -> NDArray[np.int64]:
    """Return every row's group, −1 for the few that fit nowhere: every group is valid.

    ``codes[row, attribute]``. Tries that move the costs of masks begin from the best so far; how
    many there are depends on the table alone, and threads change nothing.
    """
    n_rows, n_attributes = codes.shape
    by_need = np.lexsort([*codes.T[::-1], need])
    work = n_rows << min(n_attributes, 62)
    if n_attributes > MOST_LATTICE_ATTRIBUTES or work > MOST_LATTICE_WORK:
        progress(STAGE, 0, 1)
        groups = _split(codes, n_values, need, _longest_run(by_need, need))
        progress(STAGE, 1, 1)
        return groups.group_of_row(n_rows)
    lattice = _Lattice(codes, n_values, need, by_need, seed)
    costs = lattice.plain_costs()
    best = lattice.groups(costs)
    n_tries = min(MOST_TRIES, WORK_OF_TRIES // max(1, work))
    with ThreadPoolExecutor(max(1, min(n_threads, TRIES_AT_ONCE))) as pool:
        for first in range(0, n_tries, TRIES_AT_ONCE):
            progress(STAGE, first, n_tries)
            if is_end_wished():
                break
            tries = range(first, min(n_tries, first + TRIES_AT_ONCE))
            moved = [lattice.moved(costs, number) for number in tries]
            for new_costs, groups in zip(moved, pool.map(lattice.groups, moved), strict=True):
                if groups.price < best.price:
                    best, costs = groups, new_costs
    progress(STAGE, max(1, n_tries), max(1, n_tries))
    return best.group_of_row(n_rows)


@dataclass(frozen=True, eq=False)
class _Lattice:
    """All sets of attributes as masks of these rows."""

    codes: NDArray[np.int32]
    n_values: NDArray[np.int64]
    need: NDArray[np.int64]
    by_need: NDArray[np.int64]
    seed: int

    def plain_costs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a cost per attribute and a factor per mask."""
        n_rows, n_attributes = self.codes.shape
        costs = np.ones(n_attributes)
        for attribute in range(n_attributes):
            share = np.bincount(self.codes[:, attribute]) / n_rows
            share = share[share > 0]
            costs[attribute] += UNEVEN * float(np.exp(-(share * np.log(share)).sum()))
        return costs, np.ones(1 << n_attributes)

    def moved(
        self, costs: tuple[NDArray[np.float64], NDArray[np.float64]], number: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return costs that chance moved, of attributes and of masks by turns."""
        random = np.random.default_rng([self.seed, number])
        of_attributes, of_masks = costs
        if number % 2:
            noise = np.exp(NOISE_OF_ATTRIBUTES * random.standard_normal(len(of_attributes)))
            return of_attributes * noise, of_masks
        noise = np.exp(NOISE_OF_MASKS * random.standard_normal(len(of_masks)))
        return of_attributes, of_masks * noise

    def groups(self, costs: tuple[NDArray[np.float64], NDArray[np.float64]]) -> Groups:
        """Fill the buckets of masks by rising cost, then split each group."""
        from incrowd.methods.adaptive.kernel_partition import fill_buckets

        n_attributes = self.codes.shape[1]
        of_attributes, of_masks = costs
        masks = np.arange(1 << n_attributes)
        cost = np.zeros(len(masks))
        for attribute in range(n_attributes):
            cost += np.where((masks >> attribute) & 1, of_attributes[attribute], 0.0)
        cost *= of_masks
        cost[-1] = np.inf  # the mask of everything comes last: what it leaves fits nowhere
        by_cost = np.argsort(cost[1:], kind="stable") + 1
        random = np.random.default_rng(self.seed)
        hashes = random.integers(0, 1 << 64, int(self.n_values.sum()), dtype=np.uint64)
        first = np.concatenate([[0], np.cumsum(self.n_values)]).astype(np.int64)
        group_of_row = fill_buckets(
            self.codes, self.need, self.by_need, hashes, first, by_cost.astype(np.int64)
        )
        grouped = group_of_row[self.by_need]
        by_group = np.argsort(grouped, kind="stable")
        order = self.by_need[by_group]
        grouped = grouped[by_group]
        starts = np.searchsorted(grouped, np.arange(int(grouped[-1]) + 2))
        order, starts = order[starts[0] :], starts - starts[0]
        return _split(self.codes, self.n_values, self.need, (order, starts.astype(np.int64)))


def _longest_run(
    by_need: NDArray[np.int64], need: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the longest run by rising need, as one group, whose needs it meets."""
    met = np.flatnonzero(need[by_need] <= np.arange(1, len(by_need) + 1))
    length = int(met[-1]) + 1 if len(met) else 0
    return by_need[:length].copy(), np.unique([0, length]).astype(np.int64)


def _split(
    codes: NDArray[np.int32],
    n_values: NDArray[np.int64],
    need: NDArray[np.int64],
    groups: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> Groups:
    """Split groups while that shows more cells."""
    from incrowd.methods.adaptive.kernel_partition import count_masked, split_groups, values_of

    order, starts = groups
    starts = split_groups(codes, need, order, starts, values_of(n_values))
    n_masked = int(count_masked(codes, order, starts))
    return Groups(order, starts, n_masked + GROUP_PRICE * (len(starts) - 1) * float(need.mean()))

"""People sorted by profile, and their mutual crowds while masks change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from incrowd.interrupts import is_end_wished
from incrowd.methods.adaptive.problem import Problem
from incrowd.methods.distinct import sort_key
from incrowd.progress import Progress

STAGE = "unmasking cells"

MOST_TABLE_CELLS = 12
"""Up to so many attributes the smallest mask is looked up in a table of all sets of them."""

GROUPS_PER_REPORT = 256


@dataclass(frozen=True, eq=False)
class Sorted:
    """A problem whose rows are sorted by profile, then by k; ``rows`` are their old numbers."""

    problem: Problem
    rows: NDArray[np.int64]
    profile_of_row: NDArray[np.int64]
    start: NDArray[np.int64]
    codes: NDArray[np.int32]
    k: NDArray[np.int64]

    @classmethod
    def of(cls, problem: Problem) -> Sorted:
        """Sort the rows."""
        key = sort_key(list(problem.codes), problem.n_values.tolist(), problem.n_rows)
        rows = np.lexsort((problem.k, key))
        _, first, profile = np.unique(key[rows], return_index=True, return_inverse=True)
        codes = np.ascontiguousarray(problem.codes[:, rows])
        ordered = Problem(codes, problem.n_values, problem.k[rows], problem.is_bit)
        return cls(
            ordered,
            rows.astype(np.int64),
            profile.astype(np.int64),
            np.append(first, problem.n_rows).astype(np.int64),
            np.ascontiguousarray(codes[:, first].T),
            ordered.k.astype(np.int64),
        )

    def in_turn(self, random: np.random.Generator) -> NDArray[np.int64]:
        """Return the profiles in the order of a sweep: frequent ones first, else by chance.

        On Adult that unmasks about a tenth more cells than chance alone.
        """
        chance = random.permutation(len(self.codes))
        return chance[np.argsort(-np.diff(self.start)[chance], kind="stable")]

    def count_lost(
        self,
        profiles: NDArray[np.int64],
        rows: NDArray[np.int64],
        before: NDArray[np.bool_],
        now: NDArray[np.bool_],
    ) -> NDArray[np.int64]:
        """Return for each row how many of the profiles were compatible with it, and are no more."""
        from incrowd.methods.adaptive.kernel_posterior import count_lost

        problem = self.problem
        return np.asarray(
            count_lost(
                self.codes[profiles],
                np.ascontiguousarray(problem.codes[:, rows].T),
                before[rows],
                now[rows],
                problem.first_cell,
                problem.is_bit,
            )
        )


class Crowds(Protocol):
    """Masks and the mutual crowds that they make."""

    masks: NDArray[np.bool_]

    @property
    def crowd(self) -> NDArray[np.int64]:
        """Everybody's mutual crowd, themselves included."""

    def sweep(self, profiles: NDArray[np.int64], asked: NDArray[np.int64]) -> int:
        """Sweep the profiles in this order; return how many masks changed.

        A row that changes has a crowd of ``asked[row]`` then, k or more, and nobody is left with
        less than they ask for unless they had less.
        """


def crowds_of(people: Sorted, masks: NDArray[np.bool_]) -> Crowds:
    """Return the crowds of masks: by table where cells are few, else by words."""
    if not people.problem.is_bit and people.problem.n_attributes <= MOST_TABLE_CELLS:
        return _TableCrowds(people, masks)
    return _WideCrowds(people, masks)


class _TableCrowds:
    """Masks as bits of one number."""

    def __init__(self, people: Sorted, masks: NDArray[np.bool_]) -> None:
        from incrowd.methods.adaptive.kernel_sweeps import People, empty_table

        n_rows = len(people.k)
        numbers = np.zeros(n_rows, dtype=np.int64)
        self._table = empty_table(n_rows, people.problem.n_attributes)
        self._people = People(
            people.codes, people.start, people.k, numbers, np.zeros(n_rows, dtype=np.int64)
        )
        self.masks = masks

    @property
    def masks(self) -> NDArray[np.bool_]:
        places = np.arange(self._people.codes.shape[1])
        return ((self._people.mask[:, None] >> places) & 1).astype(np.bool_)

    @masks.setter
    def masks(self, masks: NDArray[np.bool_]) -> None:
        from incrowd.methods.adaptive.kernel_sweeps import count_crowds

        self._people.mask[:] = masks @ (1 << np.arange(masks.shape[1]))
        count_crowds(self._people)

    @property
    def crowd(self) -> NDArray[np.int64]:
        return self._people.crowd

    def sweep(self, profiles: NDArray[np.int64], asked: NDArray[np.int64]) -> int:
        from incrowd.methods.adaptive.kernel_sweeps import sweep

        return int(sweep(self._people, self._table, profiles, asked))


class _WideCrowds:
    """Masks as words of 64 bits."""

    def __init__(self, people: Sorted, masks: NDArray[np.bool_]) -> None:
        from incrowd.methods.adaptive.kernel_sweeps_wide import WidePeople

        n_rows, self._n_cells = masks.shape
        words = np.zeros((n_rows, max(1, -(-self._n_cells // 64))), dtype=np.uint64)
        self._people = WidePeople(
            people.codes,
            people.start,
            people.k,
            words,
            np.zeros(n_rows, dtype=np.int64),
            people.problem.first_cell,
            people.problem.is_bit,
        )
        self.masks = masks

    @property
    def masks(self) -> NDArray[np.bool_]:
        octets = self._people.mask.astype("<u8").view(np.uint8)
        bits = np.unpackbits(octets, axis=1, count=self._n_cells, bitorder="little")
        return bits.astype(np.bool_)

    @masks.setter
    def masks(self, masks: NDArray[np.bool_]) -> None:
        from incrowd.methods.adaptive.kernel_sweeps_wide import count_crowds

        words = self._people.mask
        octets = np.zeros((len(words), 8 * words.shape[1]), dtype=np.uint8)
        packed = np.packbits(masks, axis=1, bitorder="little")
        octets[:, : packed.shape[1]] = packed
        words[:] = octets.view("<u8")
        count_crowds(self._people)

    @property
    def crowd(self) -> NDArray[np.int64]:
        return self._people.crowd

    def sweep(self, profiles: NDArray[np.int64], asked: NDArray[np.int64]) -> int:
        from incrowd.methods.adaptive.kernel_sweeps_wide import sweep

        return int(sweep(self._people, profiles, asked))


def sweep_groups(
    people: Sorted, masks: NDArray[np.bool_], n_sweeps: int, seed: int, progress: Progress
) -> tuple[NDArray[np.bool_], int]:
    """Sweep the groups of equal released rows, each on its own; return masks, and rows changed.

    Everybody's crowd is counted inside their group, and rows of their profile that are shown in
    full besides. Nothing is swept where that does not reach everybody's k: others may then need
    rows of groups that are not theirs.
    """
    problem, profile = people.problem, people.profile_of_row
    is_full = ~masks.any(axis=1)
    n_full = np.bincount(profile[is_full], minlength=len(people.codes))[profile]
    k = np.maximum(1, people.k - n_full)
    _, group = equal_released(problem, masks, np.arange(problem.n_rows))
    size = np.bincount(group)
    if problem.is_bit or np.any(~is_full & (size[group] < k)):
        return masks, 0
    swept = masks.copy()
    by_group = np.argsort(group, kind="stable")
    starts = np.append(np.cumsum(size) - size, len(group))
    for number in range(len(size)):
        if number % GROUPS_PER_REPORT == 0:
            progress(STAGE, number, len(size), float(swept.mean()))
            if is_end_wished():
                break
        rows = by_group[starts[number] : starts[number + 1]]
        attributes = np.flatnonzero(masks[rows[0]])
        if not len(attributes):
            continue
        part = Sorted.of(
            Problem(
                np.ascontiguousarray(problem.codes[np.ix_(attributes, rows)]),
                problem.n_values[attributes],
                k[rows].astype(np.int32),
            )
        )
        crowds = crowds_of(part, np.ones((len(rows), len(attributes)), dtype=np.bool_))
        random = np.random.default_rng([seed, number])
        for _ in range(n_sweeps):
            if not crowds.sweep(part.in_turn(random), part.k):
                break
        swept[np.ix_(rows[part.rows], attributes)] = crowds.masks
    return swept, int((swept != masks).any(axis=1).sum())


def equal_released(
    problem: Problem, masks: NDArray[np.bool_], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first of each kind of equal released rows, and the kind of each of these rows."""
    columns, n_values = [], []
    for attribute in range(problem.n_attributes):
        codes = problem.codes[attribute, rows]
        cells = range(problem.first_cell[attribute], problem.first_cell[attribute + 1])
        for value, cell in enumerate(cells):
            shown = codes == value if problem.is_bit else codes
            columns.append(np.where(masks[rows, cell], 0, shown + 1))
            n_values.append(3 if problem.is_bit else int(problem.n_values[attribute]) + 1)
    key = sort_key(columns, n_values, len(rows))
    _, first, kind = np.unique(key, return_index=True, return_inverse=True)
    return rows[first], kind.astype(np.int64)

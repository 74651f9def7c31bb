"""The search of the lattice of levels: the cheapest levels on which the conditions hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InfeasibleError, JobError
from incrowd.methods.full_domain.levels import LeveledTable, Levels, Verdict
from incrowd.progress import Progress

STAGE = "searching levels"

MOST_CHOICES = 2_000_000
"""The largest lattice that is searched: three numbers are kept per choice of levels."""

DONE = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Found:
    """The best choice of levels, and how many choices were looked at."""

    levels: Levels
    price: int
    n_judged: int
    n_choices: int


def search_levels(
    table: LeveledTable, lowest: Levels, highest: Levels, progress: Progress
) -> Found:
    """Return the cheapest levels between ``lowest`` and ``highest`` on which the conditions hold.

    Exact. Of equally cheap choices the one with the least sum of levels is taken, then the
    lexicographically first. Raises InfeasibleError where none holds.
    """
    lattice = _Lattice(table, lowest, highest)
    current: Levels | None = highest
    while current is not None:
        progress(STAGE, lattice.n_settled, lattice.n_choices)
        if lattice.judge(current):
            _descend(lattice, current)
        current = lattice.next_choice()
    progress(STAGE, lattice.n_choices, lattice.n_choices)
    if lattice.best is None:
        raise InfeasibleError(
            f"none of the {lattice.n_choices} choices of levels keeps the promise",
            remedy="Raise --maximum-levels or --suppression-limit, or lower k or l or raise t.",
        )
    return Found(lattice.best, lattice.best_price, lattice.n_judged, lattice.n_choices)


def _descend(lattice: _Lattice, levels: Levels) -> None:
    """Go down from levels that hold, always to the cheapest that holds, while that is better."""
    current: Levels | None = levels
    while current is not None:
        below = [lower for lower in lattice.lower_neighbours(current) if lattice.is_open(lower)]
        # judged in the order of what they save at best, so that good ones close others early
        below.sort(key=lambda lower: (lattice.bound_of(lower), lower))
        better = [lower for lower in below if lattice.is_open(lower) and lattice.judge(lower)]
        current = better[-1] if better else None


class _Lattice:
    """All choices of levels: what each costs at least, and the best that was found.

    ``_bound`` is the least that a choice can cost, DONE once it is judged or known not to hold.
    All choices below one are a slice of it.
    """

    def __init__(self, table: LeveledTable, lowest: Levels, highest: Levels) -> None:
        self._table, self._lowest = table, lowest
        shape = tuple(top - low + 1 for low, top in zip(lowest, highest, strict=True))
        self.n_choices = 1
        for n_levels in shape:
            self.n_choices *= n_levels
        if self.n_choices > MOST_CHOICES:
            raise JobError(
                f"method full-domain: {self.n_choices} choices of levels are more than the "
                f"{MOST_CHOICES} that are searched",
                remedy="Narrow them with --minimum-levels and --maximum-levels, use fewer "
                "columns, or another method.",
            )
        # columns with one level take no part, so that the lattice has few axes, but one at least
        self._axes = [column for column, n_levels in enumerate(shape) if n_levels > 1] or [0]
        self._shape = tuple(shape[column] for column in self._axes)
        fixed = table.price(lowest)
        self._price = np.full(self._shape, fixed, dtype=np.int64)
        self._level_sum = np.zeros(self._shape, dtype=np.int32)
        for axis, column in enumerate(self._axes):
            prices = table.columns[column].price[lowest[column] : highest[column] + 1]
            across = [1] * len(self._shape)
            across[axis] = len(prices)
            self._price += (np.asarray(prices) - prices[0]).reshape(across)
            self._level_sum += np.arange(len(prices), dtype=np.int32).reshape(across)
        self._bound = self._price.copy()
        self.best: Levels | None = None
        self.best_price = int(DONE)
        self.n_judged = 0

    @property
    def n_settled(self) -> int:
        """How many choices need not be looked at any more."""
        return self.n_choices - int(self._is_candidate().sum())

    def judge(self, levels: Levels) -> bool:
        """Judge a choice; return whether it is the best so far."""
        verdict = self._table.judge(levels)
        self.n_judged += 1
        place = self._place(levels)
        self._close_below(place, verdict)
        self._bound[place] = DONE
        if verdict.price is None or not self._is_better(verdict.price, place):
            return False
        self.best, self.best_price = levels, verdict.price
        return True

    def is_open(self, levels: Levels) -> bool:
        """Return whether a choice may still be the best."""
        place = self._place(levels)
        return self._bound[place] < DONE and self._is_better(int(self._bound[place]), place)

    def bound_of(self, levels: Levels) -> int:
        """Return the least that a choice can cost."""
        return int(self._bound[self._place(levels)])

    def lower_neighbours(self, levels: Levels) -> list[Levels]:
        """Return the choices one level lower in one column."""
        return [
            (*levels[:column], levels[column] - 1, *levels[column + 1 :])
            for column in self._axes
            if levels[column] > self._lowest[column]
        ]

    def next_choice(self) -> Levels | None:
        """Return the dearest choice that may still be the best, or None where there is none.

        Dear choices lie high: one that does not hold closes all below it.
        """
        candidate = self._is_candidate()
        if not candidate.any():
            return None
        index = int(np.where(candidate, self._bound, -1).argmax())
        place = np.unravel_index(index, self._shape)
        levels = list(self._lowest)
        for column, step in zip(self._axes, place, strict=True):
            levels[column] += int(step)
        return tuple(levels)

    def _close_below(self, place: tuple[int, ...], verdict: Verdict) -> None:
        below = tuple(slice(0, step + 1) for step in place)
        if self._table.is_hopeless(verdict):
            self._bound[below] = DONE
        elif verdict.extra:
            bound = self._bound[below]
            np.maximum(bound, self._price[below] + verdict.extra, out=bound)

    def _is_candidate(self) -> NDArray[np.bool_]:
        is_cheaper = np.asarray(self._bound < self.best_price, dtype=np.bool_)
        if self.best is None:
            return is_cheaper
        place = self._place(self.best)
        is_equal = self._bound == self.best_price
        if not is_equal.any():
            return is_cheaper
        is_lower = self._level_sum < self._level_sum[place]
        is_tied = (self._level_sum == self._level_sum[place]).reshape(-1)
        is_tied[int(np.ravel_multi_index(place, self._shape)) :] = False
        is_first = np.asarray(is_lower | is_tied.reshape(self._shape), dtype=np.bool_)
        return np.asarray(is_cheaper | (is_equal & is_first), dtype=np.bool_)

    def _is_better(self, price: int, place: tuple[int, ...]) -> bool:
        if self.best is None or price != self.best_price:
            return price < self.best_price
        best = self._place(self.best)
        return (int(self._level_sum[place]), place) < (int(self._level_sum[best]), best)

    def _place(self, levels: Levels) -> tuple[int, ...]:
        return tuple(levels[column] - self._lowest[column] for column in self._axes)

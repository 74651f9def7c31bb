"""Who needs no group, and how large a group everybody else needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.methods.adaptive.problem import Problem
from incrowd.methods.distinct import sort_key


@dataclass(frozen=True, eq=False)
class Needs:
    """People by profile (their whole original row), and who is shown in full.

    A *free* row is shown in full. ``need[row]`` is how many equal released rows another row's
    group must have. ``with_credit``: the free rows of one's own profile count towards one's crowd
    (``k − n_free`` rows suffice); without it every group of equal released rows is as large as
    its largest k, with stars as values.
    """

    k: NDArray[np.int64]
    profile_of_row: NDArray[np.int64]
    is_free: NDArray[np.bool_]
    with_credit: bool

    @classmethod
    def of(cls, problem: Problem, *, is_as_value: bool) -> Needs:
        """Free everybody who may be: the most rows that can be shown in full.

        With credit these are the rows whose profile occurs at least k times, shown in full or
        not. Without it, the longest run of a profile's rows by rising k whose largest k is not
        above its length. O(rows · attributes).
        """
        k = problem.k.astype(np.int64)
        key = sort_key(list(problem.codes), problem.n_values.tolist(), problem.n_rows)
        _, profile = np.unique(key, return_inverse=True)
        profile = profile.astype(np.int64)
        n_of_profile = np.bincount(profile)
        if not is_as_value:
            return cls(k, profile, k <= n_of_profile[profile], True)
        by_k = np.lexsort([k, profile])
        start = np.cumsum(n_of_profile) - n_of_profile
        # place: how many of the profile's rows have been met, this one included
        place = np.empty_like(profile)
        place[by_k] = np.arange(len(k)) - start[profile[by_k]] + 1
        longest = np.zeros(len(n_of_profile), dtype=np.int64)
        is_last = k <= place
        np.maximum.at(longest, profile[is_last], place[is_last])
        return cls(k, profile, place <= longest[profile], False)

    @property
    def n_free_of_profile(self) -> NDArray[np.int64]:
        """How many rows of each profile are shown in full."""
        return np.bincount(
            self.profile_of_row[self.is_free],
            minlength=int(self.profile_of_row.max(initial=-1)) + 1,
        ).astype(np.int64)

    @property
    def need(self) -> NDArray[np.int64]:
        """How many rows each row's group must have, if it is not free; 2 at least."""
        credit = self.n_free_of_profile[self.profile_of_row] if self.with_credit else 0
        return np.maximum(2, self.k - credit)

    def without(self, rows: NDArray[np.int64]) -> Needs:
        """Return the needs where these rows are free no more."""
        is_free = self.is_free.copy()
        is_free[rows] = False
        return Needs(self.k, self.profile_of_row, is_free, self.with_credit)

"""Rows that fit nowhere: put into groups, or given a crowd of rows that were free."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.methods.adaptive.partition_needs import Needs

SHARE_AT_ONCE = 8
"""One part in so many of what a group lacks is taken before the candidates are looked at anew."""


def repair(
    codes: NDArray[np.int32], needs: Needs, group_of_row: NDArray[np.int64]
) -> tuple[Needs, NDArray[np.int64]]:
    """Return needs and groups in which everybody who is not free has a group that suffices.

    ``codes[row, attribute]`` and ``group_of_row`` of all rows, −1 for free rows and for those
    without a group. Each of the latter joins the group that masks the fewest further cells for
    it, if any is large enough. A group that is still too small takes in other groups, or rows
    that were free, the fewest masked cells per row that it lacks first; free rows may be the
    credit of others, whose groups are then looked at too. Every step leaves fewer groups or fewer
    free rows, and one group of everybody is valid where nobody asks for more than all rows: so it
    ends.
    """
    groups = _join(codes, needs, group_of_row)
    while True:
        crowds = _Crowds.of(codes, needs, groups)
        lacking = np.flatnonzero(crowds.lack > 0)
        if not len(lacking):
            return needs, crowds.group_of_row
        if crowds.n_groups == 1 and needs.is_free.sum() == 0:
            raise ValueError("somebody asks for a larger crowd than there are rows")
        needs, groups = _take_in(needs, crowds, int(lacking[0]))


def _join(
    codes: NDArray[np.int32], needs: Needs, group_of_row: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Put rows without a group into the cheapest that suffices, the others into one each."""
    lost = np.flatnonzero(~needs.is_free & (group_of_row < 0))
    if not len(lost):
        return group_of_row
    crowds = _Crowds.of(codes, needs, group_of_row)
    groups, size, box = crowds.group_of_row.copy(), crowds.size, crowds.box
    need, n_groups = needs.need, crowds.n_groups
    for row in lost[np.lexsort([*codes[lost].T[::-1], need[lost]])]:
        suffices = np.flatnonzero(size[:n_groups] + 1 >= need[row])
        if not len(suffices):
            groups[row] = int(groups.max(initial=-1)) + 1
            continue
        is_new = (box[suffices] >= 0) & (box[suffices] != codes[row])
        price = is_new.sum(axis=1) * size[suffices] + (is_new | (box[suffices] < 0)).sum(axis=1)
        best = suffices[np.argmin(price)]
        groups[row] = best
        size[best] += 1
        box[best][box[best] != codes[row]] = -1
    return groups


@dataclass(frozen=True, eq=False)
class _Crowds:
    """Groups as sizes, needs and boxes; the free rows of each profile stand as candidates too.

    Candidates are the groups, then the profiles that have free rows (``profiles``), with those
    as ``size``. A box is the code that all rows of a candidate have, −1 where they differ:
    ``box[candidate, attribute]``.
    """

    group_of_row: NDArray[np.int64]
    n_groups: int
    profiles: NDArray[np.int64]
    size: NDArray[np.int64]
    need: NDArray[np.int64]
    box: NDArray[np.int32]

    @classmethod
    def of(cls, codes: NDArray[np.int32], needs: Needs, groups: NDArray[np.int64]) -> _Crowds:
        """Count groups, numbered anew from 0. O(cells)."""
        rows = np.flatnonzero(groups >= 0)
        rows = rows[np.argsort(groups[rows], kind="stable")]
        starts = np.flatnonzero(np.diff(groups[rows], prepend=-1))
        sizes = np.diff(np.append(starts, len(rows)))
        group_of_row = np.full(len(groups), -1, dtype=np.int64)
        group_of_row[rows] = np.repeat(np.arange(len(starts)), sizes)
        n_free = needs.n_free_of_profile
        profiles = np.flatnonzero(n_free)
        free_row = np.zeros(len(n_free), dtype=np.int64)
        free_rows = np.flatnonzero(needs.is_free)
        free_row[needs.profile_of_row[free_rows]] = free_rows
        box = codes[free_row[profiles]]
        need = np.zeros(0, dtype=np.int64)
        if len(starts):
            need = np.maximum.reduceat(needs.need[rows], starts)
            low = np.minimum.reduceat(codes[rows], starts, axis=0)
            high = np.maximum.reduceat(codes[rows], starts, axis=0)
            box = np.concatenate([np.where(low == high, low, np.int32(-1)), box])
        size = np.concatenate([sizes, n_free[profiles]]).astype(np.int64)
        return cls(group_of_row, len(starts), profiles, size, need, box)

    @property
    def lack(self) -> NDArray[np.int64]:
        """How many rows each group is short of."""
        return np.maximum(0, self.need - self.size[: self.n_groups])


def _take_in(needs: Needs, crowds: _Crowds, group: int) -> tuple[Needs, NDArray[np.int64]]:
    """Take other groups or free rows into a group that is too small: some of what it lacks."""
    n_groups, box = crowds.n_groups, crowds.box
    need = np.concatenate([crowds.need, np.zeros(len(crowds.profiles), dtype=np.int64)])
    size = crowds.size.copy()
    if needs.with_credit:  # a part of a profile's free rows will do
        size[n_groups:] = np.minimum(size[n_groups:], crowds.lack[group])
    together = size + size[group]
    lacked = np.maximum(0, need - size)
    less = lacked + lacked[group] - np.maximum(0, np.maximum(need, need[group]) - together)
    is_masked = (box < 0) | (box != box[group])
    n_masked = together * is_masked.sum(axis=1)
    n_masked -= size * (box < 0).sum(axis=1) + size[group] * int((box[group] < 0).sum())
    price = n_masked / less
    price[group] = np.inf
    wanted = int(lacked[group])
    enough = wanted - max(1, wanted // SHARE_AT_ONCE)
    groups = crowds.group_of_row.copy()
    is_drafted = np.zeros(len(groups), dtype=np.bool_)
    for candidate in np.argsort(price, kind="stable"):
        if candidate == group or wanted <= enough:
            break
        if candidate < n_groups:
            groups[groups == candidate] = group
        else:
            profile = crowds.profiles[candidate - n_groups]
            free = np.flatnonzero(needs.is_free & (needs.profile_of_row == profile))
            free = free[np.argsort(needs.k[free], kind="stable")]
            if needs.with_credit:
                free = free[:wanted]
            is_drafted[free] = True
        wanted -= int(less[candidate])
    groups[is_drafted] = group
    return needs.without(np.flatnonzero(is_drafted)), groups

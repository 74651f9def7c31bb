"""Groups of rows that are shown equal: masks per attribute with an exact certificate."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from incrowd.encoding.rows import Rows, Trace
from incrowd.engines.base import Engine
from incrowd.errors import InfeasibleError
from incrowd.hierarchies.tree import Hierarchy
from incrowd.methods.adaptive.search import Found, Problem
from incrowd.methods.shared.conditions import Conditions
from incrowd.methods.shared.fragments import Fragments, sort_key
from incrowd.methods.shared.options import FULL, QUICK, seconds_of
from incrowd.methods.shared.recreate.blocks import Budget
from incrowd.methods.shared.recreate.search import Plan
from incrowd.methods.shared.recreate.start import CountedRows
from incrowd.progress import Progress, is_stop_requested, silent


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


# ── the first groups of a partition: buckets of masks from cheap to dear, then splits ─────────────

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
            if is_stop_requested():
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
        from incrowd.methods.adaptive.kernels.partition import fill_buckets

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
    from incrowd.methods.adaptive.kernels.partition import count_masked, split_groups, values_of

    order, starts = groups
    starts = split_groups(codes, need, order, starts, values_of(n_values))
    n_masked = int(count_masked(codes, order, starts))
    return Groups(order, starts, n_masked + GROUP_PRICE * (len(starts) - 1) * float(need.mean()))


# ── rows that fit nowhere: put into groups, or given a crowd of rows that were free ───────────────

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


# ── groups of rows that are shown equal: masks per attribute with an exact certificate ────────────

PER_ROW, PER_ROW_IN_BLOCKS, LARGEST_WHOLE = 10, 1, 40_000
"""The automatic effort per distinct row that needs a group, over the square root of its need; per
row of a larger table, and what is one."""

QUICKER, FULLER = 4, 10
"""The automatic effort over that of ``quick``, and that of ``full`` over the automatic one."""


def search(
    problem: Problem,
    *,
    effort: int | str,
    seed: int,
    engine: Engine,
    progress: Progress = silent,
    is_as_value: bool = False,
) -> Found:
    """Mask the cells in which the rows of a group differ, every group as large as its rows need.

    Rows whose profile occurs often enough are *free*: shown in full, in no group. Groups begin as
    buckets and splits, rows that fit nowhere are repaired, then cluster's search makes groups
    cheaper for an effort. ``is_as_value``: every group of equal released rows, free ones too, is
    as large as its largest k, so that the release is k-anonymous with stars as values.
    The figure ``iterations`` as effort makes the same masks again. Raises InfeasibleError where
    somebody asks for a larger crowd than there are rows.
    """
    if problem.is_bit:
        raise ValueError("a partition masks attributes, not bits")
    n_over = int((problem.k > problem.n_rows).sum())
    if n_over:
        raise InfeasibleError(
            f"{n_over} rows ask for a crowd of more than the {problem.n_rows} rows there are",
            remedy="Lower their k.",
        )
    begun = time.perf_counter()
    needs = Needs.of(problem, is_as_value=is_as_value)
    codes = np.ascontiguousarray(problem.codes.T)
    groups = np.full(problem.n_rows, -1, dtype=np.int64)
    rows = np.flatnonzero(~needs.is_free)
    if len(rows):
        attributes = _varied(codes[rows])
        groups[rows] = first_groups(
            np.ascontiguousarray(codes[np.ix_(rows, attributes)]),
            problem.n_values[attributes],
            needs.need[rows],
            seed,
            engine.n_workers,
            progress,
        )
    needs, groups = repair(codes, needs, groups)
    before = Found(masks_of_groups(codes, groups)).shown
    trace = Trace({"iterations": 0})
    rows = np.flatnonzero(groups >= 0)
    if len(rows):
        budget = Budget(_stated(effort, rows, needs), begun)
        groups[rows], trace = _polish(
            problem, rows, needs.need[rows], groups[rows], budget, seed, engine, progress
        )
    is_masked = masks_of_groups(codes, groups)
    require_crowds(problem, is_masked, is_as_value=is_as_value)
    found = Found(is_masked)
    figures = {
        "free_rows": int(needs.is_free.sum()),
        "groups": int(groups.max(initial=-1)) + 1,
        "shown_before": before,
        "shown": found.shown,
        **trace.figures,
    }
    return Found(is_masked, figures, trace.notes)


def _varied(codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the attributes in which these rows differ."""
    return np.flatnonzero(codes.min(axis=0) < codes.max(axis=0))


def masks_of_groups(codes: NDArray[np.int32], group_of_row: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the cells in which rows of one group differ: ``[row, attribute]``. O(cells)."""
    is_masked = np.zeros(codes.shape, dtype=np.bool_)
    rows = np.flatnonzero(group_of_row >= 0)
    if not len(rows):
        return is_masked
    rows = rows[np.argsort(group_of_row[rows], kind="stable")]
    starts = np.flatnonzero(np.diff(group_of_row[rows], prepend=-1))
    low = np.minimum.reduceat(codes[rows], starts, axis=0)
    high = np.maximum.reduceat(codes[rows], starts, axis=0)
    sizes = np.diff(np.append(starts, len(rows)))
    is_masked[rows] = np.repeat(low < high, sizes, axis=0)
    return is_masked


def require_crowds(problem: Problem, is_masked: NDArray[np.bool_], *, is_as_value: bool) -> None:
    """Raise unless everybody's crowd is certified by what is shown, whatever groups were meant.

    With z people of one's profile, n_free of them shown in full and s released rows equal to
    one's own: z ≥ k where one's row is shown in full, else s + n_free ≥ k; as values, s ≥ k.
    """
    codes, n_rows = problem.codes, problem.n_rows
    n_values = problem.n_values.tolist()
    shown = np.where(is_masked.T, problem.n_values[:, None], codes)
    z, profile = _counts(sort_key(list(codes), n_values, n_rows))
    s, _ = _counts(sort_key(list(shown), [count + 1 for count in n_values], n_rows))
    is_full = ~is_masked.any(axis=1)
    n_free = np.bincount(profile[is_full], minlength=n_rows)[profile]
    crowd = s if is_as_value else np.where(is_full, z, s + n_free)
    if np.any(crowd < problem.k):
        raise RuntimeError("a partition left somebody without their crowd")


def _counts(key: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many rows have each row's key, and the key as a number from 0."""
    _, number, count = np.unique(key, return_inverse=True, return_counts=True)
    return count[number], number


def _stated(effort: int | str, rows: NDArray[np.int64], needs: Needs) -> int | str:
    """Return an effort as a number of changes, or as the seconds that are wished for."""
    if isinstance(effort, int) or seconds_of(effort):
        return effort
    n_distinct = len(np.unique(needs.profile_of_row[rows]))
    typical = round(float(needs.need[rows].mean()))
    per_row = PER_ROW if n_distinct <= LARGEST_WHOLE else PER_ROW_IN_BLOCKS
    automatic = max(1, per_row * n_distinct // max(1, isqrt(typical)))
    if effort == QUICK:
        return max(1, automatic // QUICKER)
    return FULLER * automatic if effort == FULL else automatic


def _polish(
    problem: Problem,
    rows: NDArray[np.int64],
    need: NDArray[np.int64],
    groups: NDArray[np.int64],
    budget: Budget,
    seed: int,
    engine: Engine,
    progress: Progress,
) -> tuple[NDArray[np.int64], Trace]:
    """Make the groups of these rows cheaper by cluster's search; return their groups.

    An attribute is a column whose values have nothing above them but the star.
    """
    attributes = _varied(problem.codes[:, rows].T)
    table = Rows(
        tuple(str(attribute) for attribute in attributes),
        np.ascontiguousarray(problem.codes[np.ix_(attributes, rows)]),
        tuple(
            Hierarchy.from_groups(str(attribute), [str(value) for value in range(n_values)], [])
            for attribute, n_values in zip(attributes, problem.n_values[attributes], strict=True)
        ),
    )
    roots = np.asarray([[hierarchy.root] for hierarchy in table.hierarchies], dtype=np.int32)
    is_masked = masks_of_groups(table.nodes.T, groups).T
    start = np.where(is_masked, roots, table.nodes).astype(np.int32)
    conditions = Conditions(2, need.astype(np.int32))
    limits = conditions.packed(len(rows))
    plan = Plan.of(table, "loss", limits, seed, is_size_only=False)
    each = np.ones(len(rows), dtype=np.int64)
    counted = CountedRows.continue_from(table.nodes, Fragments.of_each(start, each), limits)
    found = budget.search(counted, plan, engine, progress)
    key = sort_key(
        list(found.nodes), [hierarchy.n_nodes for hierarchy in table.hierarchies], len(rows)
    )
    return np.unique(key, return_inverse=True)[1].astype(np.int64), found.trace

"""Local search on masks: fewer masked cells while everybody keeps their crowd and their
posterior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.methods.adaptive.search import Found, Problem
from incrowd.methods.shared.fragments import sort_key
from incrowd.progress import Progress, is_stop_requested, silent

CROWDS_STAGE = "unmasking cells"

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
        from incrowd.methods.adaptive.kernels.posterior import count_lost

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


class Crowds:
    """Masks as bits, and the mutual crowds that they make.

    One word a row where a table of all sets of cells finds the smallest masks, else several.
    """

    def __init__(self, people: Sorted, masks: NDArray[np.bool_]) -> None:
        from incrowd.methods.adaptive.kernels.sweeps import People, table_of

        problem = people.problem
        n_rows, self._n_cells = masks.shape
        is_few = not problem.is_bit and self._n_cells <= MOST_TABLE_CELLS
        self._people = People(people.codes, people.start, problem.first_cell, problem.is_bit)
        self._table = table_of(self._n_cells if is_few else 0)
        self._words = np.zeros((n_rows, max(1, -(-self._n_cells // 64))), dtype=np.uint64)
        self._mask = self._words.reshape(-1) if is_few else self._words
        self.crowd = np.zeros(n_rows, dtype=np.int64)
        self.masks = masks

    @property
    def masks(self) -> NDArray[np.bool_]:
        """``masks[row, cell]``; the crowds are counted where they are set."""
        octets = self._words.astype("<u8").view(np.uint8)
        bits = np.unpackbits(octets, axis=1, count=self._n_cells, bitorder="little")
        return bits.astype(np.bool_)

    @masks.setter
    def masks(self, masks: NDArray[np.bool_]) -> None:
        from incrowd.methods.adaptive.kernels.sweeps import count_crowds

        octets = np.zeros((len(masks), 8 * self._words.shape[1]), dtype=np.uint8)
        packed = np.packbits(masks, axis=1, bitorder="little")
        octets[:, : packed.shape[1]] = packed
        self._words[:] = octets.view("<u8")
        count_crowds(self._people, self._mask, self.crowd)

    def sweep(self, profiles: NDArray[np.int64], asked: NDArray[np.int64]) -> int:
        """Sweep the profiles in this order; return how many masks changed.

        A row that changes has a crowd of ``asked[row]`` then, k or more, and nobody is left with
        less than they ask for unless they had less.
        """
        from incrowd.methods.adaptive.kernels.sweeps import sweep

        return int(sweep(self._people, self._mask, self.crowd, self._table, profiles, asked))


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
            progress(CROWDS_STAGE, number, len(size), float(swept.mean()))
            if is_stop_requested():
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
        crowds = Crowds(part, np.ones((len(rows), len(attributes)), dtype=np.bool_))
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


# What an attacker believes who matches people to released rows: scaled, on distinct rows.

ROUGH, FINE = 1e-4, 1e-8
"""By how much sums may be off at the end of a scaling: a first look, and one to rely on."""

MOST_ROUNDS, SETTLED = 20_000, 100.0
"""The most rounds, and how much more than asked for the residual may be to be relied on."""

MOST_PAIRS_OF_POSTERIOR = 50_000_000
"""Compatible pairs of profiles and kinds of rows above which there is no scaling."""

FEW_STATES = 20.0
"""Parts of fewer states than two to this can be counted exactly: no estimate will do there."""

MOST_STATES, MOST_STEPS = 18.0, 150_000_000
"""Parts of at most two to this states are counted, the smallest first, for so many steps in all:
those that a check counts too. Estimates of it are not foretold here."""


@dataclass(frozen=True, eq=False)
class Matchings:
    """Pairs of profiles and kinds of rows that lie in a matching, in parts that are in doubt.

    ``person[pair]`` and ``kind[pair]``; ``part`` of every profile, then of every kind, with
    ``n_people[profile]`` and ``n_rows[kind]``; ``log_states[part]``, to the base of two.
    ``pair_of_row[row]`` is that of the row and its own person, −1 without doubt;
    ``share_left[row]`` the share of its profile's people whose rows are not shown in full.
    """

    person: NDArray[np.int64]
    kind: NDArray[np.int32]
    part: NDArray[np.int64]
    n_people: NDArray[np.int64]
    n_rows: NDArray[np.int64]
    log_states: NDArray[np.float64]
    pair_of_row: NDArray[np.int64]
    share_left: NDArray[np.float64]

    def count(self, is_wanted: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return ``belief[row]`` by counting; infinite in parts unwanted or beyond the bounds.

        ``is_wanted[row]``: its whole part is. O(states · kinds or profiles) a part.
        """
        from incrowd.methods.adaptive.kernels.posterior import count_matchings

        n_steps = np.exp2(np.minimum(self.log_states, FEW_STATES)) * np.bincount(self.part)
        by_steps = np.argsort(n_steps, kind="stable")
        is_few = self.log_states <= MOST_STATES
        is_few[by_steps] &= np.cumsum(n_steps[by_steps]) <= MOST_STEPS
        part_of_pair = self.part[self.person]
        wanted = part_of_pair[self.pair_of_row[is_wanted & (self.pair_of_row >= 0)]]
        likely = np.full(len(self.person) + 1, np.inf)  # the last one is of rows without a pair
        pairs = np.argsort(part_of_pair, kind="stable")
        ends = np.searchsorted(part_of_pair[pairs], np.arange(len(is_few) + 1))
        for part in np.unique(wanted[is_few[wanted]]):
            of_part = pairs[ends[part] : ends[part + 1]]
            persons, step = np.unique(self.person[of_part], return_inverse=True)
            kinds, place = np.unique(self.kind[of_part], return_inverse=True)
            n_people, n_rows = self.n_people[persons], self.n_rows[kinds]
            fits = np.zeros((len(persons), len(kinds)), dtype=np.bool_)
            fits[step, place] = True
            if np.log2(n_rows + 1).sum() <= np.log2(n_people + 1).sum():
                likely[of_part] = count_matchings(n_people, n_rows, fits)[step, place]
            else:
                turned = np.ascontiguousarray(fits.T)
                likely[of_part] = count_matchings(n_rows, n_people, turned)[place, step]
        return np.asarray(likely[self.pair_of_row] * self.share_left)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Beliefs of an attacker who knows everybody's original row and takes any matching as likely.

    ``belief[row]`` is that in the row and its own person; the closed form's bound where scaling
    cannot be relied on, which ``is_estimated`` says. ``is_certain[row]``: that bound is at most
    1/k. ``part_of_row`` numbers the sets of people and rows beyond which no exchange is possible,
    −1 for rows that are shown in full. ``matchings``: what there is to count, where pairs are not
    too many.
    """

    belief: NDArray[np.float64]
    is_certain: NDArray[np.bool_]
    is_estimated: NDArray[np.bool_]
    part_of_row: NDArray[np.int64]
    row_scale: NDArray[np.float64]
    person_scale: NDArray[np.float64]
    matchings: Matchings | None = None


def posterior_of(
    problem: Problem,
    is_masked: NDArray[np.bool_],
    profile_of_row: NDArray[np.int64],
    k: NDArray[np.int64],
    before: Posterior | None = None,
    residual: float = FINE,
) -> Posterior:
    """Return everybody's belief: the closed form where it serves, else pruned and scaled.

    A row that is shown in full leaves with one person of its profile, and is believed with 1 over
    the profile's people. Any other belief is at most (z − n_full) / (z · s), with z people of the
    profile, n_full of them shown in full, and s equal rows. Scaling is for parts in which that is
    above 1/k for somebody, and where pairs are not too many. ``before``: scales to begin with, of
    nearly the same rows.
    """
    from incrowd.methods.adaptive.kernels.posterior import compatible_kinds, exchangeable, scale

    n_rows = problem.n_rows
    z = np.bincount(profile_of_row)
    is_full = ~is_masked.any(axis=1)
    n_left = z - np.bincount(profile_of_row[is_full], minlength=len(z))
    # rows that mask something, their kinds, and profiles that own such a row
    rows = np.flatnonzero(~is_full)
    belief = 1.0 / z[profile_of_row]
    is_certain = k <= z[profile_of_row]
    is_estimated = np.zeros(n_rows, dtype=np.bool_)
    part_of_row = np.full(n_rows, -1, dtype=np.int64)
    row_scale, person_scale = np.ones(n_rows), np.ones(len(z))
    if not len(rows):
        return Posterior(belief, is_certain, is_estimated, part_of_row, row_scale, person_scale)
    first, kind = equal_released(problem, is_masked, rows)
    s = np.bincount(kind)
    profiles, profile = np.unique(profile_of_row[rows], return_inverse=True)
    share_left = n_left[profile_of_row[rows]] / z[profile_of_row[rows]]
    bound = share_left / s[kind]
    owner = np.empty(len(z), dtype=np.int64)
    owner[profile_of_row[rows]] = rows
    start, linked = compatible_kinds(
        np.ascontiguousarray(problem.codes[:, owner[profiles]].T),
        np.ascontiguousarray(problem.codes[:, first].T),
        is_masked[first],
        problem.first_cell,
        problem.is_bit,
        MOST_PAIRS_OF_POSTERIOR,
    )
    is_certain[rows] = k[rows] * n_left[profile_of_row[rows]] <= z[profile_of_row[rows]] * s[kind]
    belief[rows] = bound
    part_of_row[rows] = 0
    if not len(start):
        return Posterior(belief, is_certain, is_estimated, part_of_row, row_scale, person_scale)
    owned = np.unique(kind * len(profiles) + profile)
    owner_start = np.searchsorted(owned, np.arange(len(s) + 1) * len(profiles)).astype(np.int64)
    part = exchangeable(start, linked, owner_start, owned % len(profiles))
    person = np.repeat(np.arange(len(profiles)), np.diff(start))
    part_of_profile, part_of_kind = part[: len(profiles)], part[len(profiles) :]
    # parts that need no scaling: everybody is safe by the closed form
    is_doubtful = np.zeros(int(part.max()) + 1, dtype=np.bool_)
    is_doubtful[part_of_kind[kind[~is_certain[rows]]]] = True
    is_pair = (part_of_profile[person] == part_of_kind[linked]) & is_doubtful[part_of_kind[linked]]
    person, linked = person[is_pair], np.ascontiguousarray(linked[is_pair])
    start = np.searchsorted(person, np.arange(len(profiles) + 1)).astype(np.int64)
    if before is not None:
        row_scale, person_scale = before.row_scale, before.person_scale
    of_kind, of_profile = row_scale[first], person_scale[profiles]
    n_people = n_left[profiles].astype(np.float64)
    off = scale(
        start, linked, n_people, s.astype(np.float64), of_profile, of_kind, residual, MOST_ROUNDS
    )
    scaled = of_profile[profile] * of_kind[kind] * share_left
    worst = np.zeros(len(is_doubtful))
    np.maximum.at(worst, part_of_profile, off)
    log_states = _log_states(part, n_people, s)
    is_reliable = is_doubtful & (worst <= SETTLED * residual) & (log_states > FEW_STATES)
    is_estimated[rows] = is_reliable[part_of_kind[kind]]
    belief[rows] = np.where(is_estimated[rows], np.minimum(bound, scaled), bound)
    part_of_row[rows] = part_of_kind[kind]
    row_scale, person_scale = row_scale.copy(), person_scale.copy()
    row_scale[rows], person_scale[profiles] = of_kind[kind], of_profile
    own = profile * len(s) + kind
    pair_of_row, share_of_row = np.full(n_rows, -1, dtype=np.int64), np.ones(n_rows)
    in_doubt = is_doubtful[part_of_kind[kind]]
    pair_of_row[rows[in_doubt]] = np.searchsorted(person * len(s) + linked, own[in_doubt])
    share_of_row[rows] = share_left
    matchings = Matchings(
        person, linked, part, n_left[profiles], s, log_states, pair_of_row, share_of_row
    )
    return Posterior(
        belief, is_certain, is_estimated, part_of_row, row_scale, person_scale, matchings
    )


def _log_states(
    part: NDArray[np.int64], n_people: NDArray[np.float64], n_rows: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return, to the base of two, how many states a part's enumeration would have, at least."""
    n_parts, n_profiles = int(part.max()) + 1, len(n_people)
    by_profile = np.bincount(part[:n_profiles], np.log2(n_people + 1), minlength=n_parts)
    by_kind = np.bincount(part[n_profiles:], np.log2(n_rows + 1), minlength=n_parts)
    return np.asarray(np.minimum(by_profile, by_kind), dtype=np.float64)


# Local search on masks: fewer masked cells, and everybody keeps their crowd.

STAGE = "unmasking cells"

MOST_PAIRS, MOST_BOUND_PAIRS = 6_000_000_000, 1_000_000_000
"""Pairs of profiles above which only rows of one group are held against each other; and above
which beliefs are not computed."""

MARGIN = 1e-3
"""How far below 1/k beliefs are kept that no closed form settles: a check scales them anew."""

ASK_MORE, ASK_OVER = 1.2, 1.05
"""How much larger a crowd a row must find whose change was undone; also by how far it was over."""

LOSERS_AT_ONCE, NEAR_AT_ONCE = 2, 8
"""One in so many of the rows that left somebody, or are merely like them, is undone before beliefs
are computed anew."""

ROUNDING, COUNT_ROUNDING = 1e-6, 1e-9
"""How far a belief may seem to rise that did not: scaling ends a little short; and how far one
that is counted may seem above 1/k."""


def improve(
    problem: Problem,
    is_masked: NDArray[np.bool_],
    *,
    n_sweeps: int,
    is_bound: bool,
    seed: int,
    progress: Progress = silent,
) -> Found:
    """Unmask cells of masks that keep everybody's mutual crowd; nobody loses theirs.

    Never masks more cells in all than it was given. ``is_bound``: nobody's belief goes over 1/k,
    or over what it was: after every sweep beliefs are computed, and changes that touch whoever is
    over are undone until nobody is. Tables too large to hold all pairs against each other are
    swept inside groups of equal released rows; under ``is_bound`` they are left as they are.
    Raises ValueError where the masks given do not keep the crowds.
    """
    if is_masked.shape != (problem.n_rows, problem.n_cells):
        raise ValueError("one mask per row and one flag per cell")
    people = Sorted.of(problem)
    masks = np.ascontiguousarray(is_masked[people.rows])
    before = int(masks.sum())
    notes: tuple[str, ...] = ()
    n_changed = n_undone = n_done = 0
    if len(people.codes) ** 2 <= (MOST_BOUND_PAIRS if is_bound else MOST_PAIRS):
        swept = _Sweeps(people, masks, is_bound, seed)
        n_done = swept.run(n_sweeps, progress)
        masks, n_changed, n_undone = swept.masks, swept.n_changed, swept.n_undone
    elif is_bound:
        notes = ("there are too many rows to compute beliefs: no cells were unmasked",)
    else:
        masks, n_changed = sweep_groups(people, masks, n_sweeps, seed, progress)
        n_done = n_sweeps
        notes = ("there are many rows: cells were unmasked inside groups alone",)
    found = np.empty_like(is_masked)
    found[people.rows] = masks
    figures = {
        "sweeps": n_done,
        "unmasked_cells": before - int(masks.sum()),
        "changed_rows": n_changed,
        "undone_rows": n_undone,
    }
    return Found(found, figures, notes)


class _Sweeps:
    """Masks that are swept: all rows against all."""

    def __init__(self, people: Sorted, masks: NDArray[np.bool_], is_bound: bool, seed: int) -> None:
        self.people = people
        self.masks = masks
        self.n_changed = self.n_undone = 0
        self._crowds = Crowds(people, masks)
        if np.any(self._crowds.crowd < people.k):
            raise ValueError("the masks given do not keep everybody's crowd")
        self._random = np.random.default_rng(seed)
        self._asked = people.k.copy()
        self._is_bound = is_bound
        self._most = np.full(len(people.k), 1.0 - MARGIN)
        if is_bound:
            self._given, self._posterior = masks, self._believe(None, FINE)
            self._given_posterior = self._posterior
            given = self._posterior.belief * people.k * (1.0 + ROUNDING)
            is_open = ~self._posterior.is_certain
            self._most[is_open] = np.maximum(self._most, given)[is_open]

    def run(self, n_sweeps: int, progress: Progress) -> int:
        """Sweep so many times, or until nothing changes or the end is wished; return how often."""
        for done in range(n_sweeps):
            progress(STAGE, done, n_sweeps, float(self.masks.mean()))
            if is_stop_requested():
                return done
            if not self._crowds.sweep(self.people.in_turn(self._random), self._asked):
                return done
            before, self.masks = self.masks, self._crowds.masks
            if self._is_bound:
                self._undo(before)
            self.n_changed += int((before != self.masks).any(axis=1).sum())
        progress(STAGE, n_sweeps, n_sweeps, float(self.masks.mean()))
        return n_sweeps

    def _ask_more(self, is_undone: NDArray[np.bool_]) -> None:
        """Have rows whose change was undone try a larger crowd next time."""
        over = np.where(self._posterior.is_certain, 1.0, self._posterior.belief * self.people.k)
        more = np.ceil(np.maximum(self._asked * ASK_MORE, self.people.k * over * ASK_OVER))
        self._asked[is_undone] = more[is_undone].astype(np.int64)

    def _believe(self, before: Posterior | None, residual: float) -> Posterior:
        people = self.people
        return posterior_of(
            people.problem, self.masks, people.profile_of_row, people.k, before, residual
        )

    def _undo(self, before: NDArray[np.bool_]) -> None:
        """Undo changes until nobody is over, and nobody lost their crowd by that.

        Whoever is over or alone gets their own mask back; if all of them have it, rows that can
        help them get theirs. With all masks back nobody is over, so it ends.
        """
        people, residual = self.people, ROUGH
        while True:
            is_changed = (before != self.masks).any(axis=1)
            if is_stop_requested() or not is_changed.any():
                self.masks = before
                self._crowds.masks = before
                return
            is_bad = self._crowds.crowd < people.k
            if not is_bad.any():
                self._posterior = posterior = self._believe(self._posterior, residual)
                is_bad = ~posterior.is_certain & (posterior.belief * people.k > self._most)
            if not is_bad.any():
                if residual == ROUGH:
                    residual = FINE
                    continue
                is_bad = self._unproven()
                if not is_bad.any():
                    return
            is_undone = is_bad & is_changed
            if not is_undone.any():
                is_undone = self._losers(is_bad, is_changed, before)
                self._asked[is_bad] = len(people.k) + 1  # nobody may leave them any more
            self.masks = np.where(is_undone[:, None], before, self.masks)
            self._crowds.masks = self.masks
            self._ask_more(is_undone)
            self.n_undone += int(is_undone.sum())

    def _unproven(self) -> NDArray[np.bool_]:
        """Return of whom nothing shows that a check will find them within 1/k.

        A bound above 1/k that did not rise shows nothing, nor does an estimate within a bound.
        They are counted, unless all of their part is as it was given.
        """
        people, now, given = self.people, self._posterior, self._given_posterior
        is_low = now.belief * people.k <= 1.0 - MARGIN
        is_settled = now.is_estimated & (given.is_estimated | is_low)
        is_open = ~now.is_certain & ~is_settled & ~self._is_as_given()
        if now.matchings is not None and is_open.any():
            counted = now.matchings.count(is_open)
            is_open &= counted * people.k > 1.0 + COUNT_ROUNDING
        return is_open

    def _is_as_given(self) -> NDArray[np.bool_]:
        """Return whose part has the rows and masks that it had at the start, and so its beliefs."""
        part, part_given = self._posterior.part_of_row, self._given_posterior.part_of_row
        rows = np.flatnonzero(part >= 0)
        _, first, of_row = np.unique(part[rows], return_index=True, return_inverse=True)
        given_of_row = part_given[rows][first][of_row]
        is_same = (self.masks[rows] == self._given[rows]).all(axis=1)
        is_same &= part_given[rows] == given_of_row
        n_same = np.bincount(of_row, is_same)
        is_whole = (n_same == np.bincount(of_row))[of_row]
        is_whole &= n_same[of_row] == np.bincount(part_given[part_given >= 0])[given_of_row]
        is_as_given = np.zeros(len(part), dtype=np.bool_)
        is_as_given[rows] = is_whole
        return is_as_given

    def _losers(
        self, is_bad: NDArray[np.bool_], is_changed: NDArray[np.bool_], before: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return some of the changed rows whose old masks help people who are over or alone.

        Those that were shown like one of them: back together they are certified again, if they
        were. If there are none, half of those that left them, those first that left most of them;
        if there are none, some that differ from them least.
        """
        people = self.people
        _, group = equal_released(people.problem, before, np.arange(len(is_bad)))
        is_mate = is_changed & np.isin(group, group[is_bad])
        if is_mate.any():
            return is_mate
        changed = np.flatnonzero(is_changed)
        profiles = np.unique(people.profile_of_row[is_bad])
        n_lost = people.count_lost(profiles, changed, before, self.masks)
        losers = changed[np.argsort(-n_lost, kind="stable")][: int((n_lost > 0).sum())]
        n_undone = -(-len(losers) // LOSERS_AT_ONCE)
        if not len(losers):
            away = np.full(len(changed), people.problem.n_attributes)
            for profile in profiles:
                differs = people.problem.codes[:, changed] != people.codes[profile][:, None]
                away = np.minimum(away, differs.sum(axis=0))
            losers = changed[np.argsort(away, kind="stable")]
            n_undone = -(-len(losers) // NEAR_AT_ONCE)
        is_loser = np.zeros(len(is_bad), dtype=np.bool_)
        is_loser[losers[:n_undone]] = True
        return is_loser

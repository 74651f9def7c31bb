"""What an attacker believes who matches people to released rows: scaled, on distinct rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.methods.adaptive.problem import Problem
from incrowd.methods.adaptive.sweeps_crowds import equal_released

ROUGH, FINE = 1e-4, 1e-8
"""By how much sums may be off at the end of a scaling: a first look, and one to rely on."""

MOST_ROUNDS, SETTLED = 20_000, 100.0
"""The most rounds, and how much more than asked for the residual may be to be relied on."""

MOST_PAIRS = 50_000_000
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
        from incrowd.methods.adaptive.kernel_posterior import count_matchings

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
    from incrowd.methods.adaptive.kernel_posterior import compatible_kinds, exchangeable, scale

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
        MOST_PAIRS,
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

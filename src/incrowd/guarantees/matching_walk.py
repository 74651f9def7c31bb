"""A walk over the matchings of people to rows, to hold the scaled estimate against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner

_PARTS = 1 << 30  # parts that chance is drawn in


@compiled_inner
def _below(random: NDArray[np.int64], bound: Whole) -> Whole:
    """Return a whole number from 0 to ``bound`` − 1; ``random[0]`` is never zero (xorshift)."""
    state = random[0]
    state ^= state << 13
    state ^= (state >> 7) & ((np.int64(1) << 57) - 1)
    state ^= state << 17
    random[0] = state
    return (((state >> 32) & 0xFFFFFFFF) * bound) >> 32


@compiled
def walk_matchings(
    profile_of_person: NDArray[np.int32],
    pattern_of_person: NDArray[np.int32],
    people: NDArray[np.int64],
    people_start: NDArray[np.int64],
    kept_start: NDArray[np.int64],
    kept: NDArray[np.int32],
    watched: NDArray[np.int32],
    watch_of_profile: NDArray[np.int32],
    next_watch: NDArray[np.int32],
    n_steps: Whole,
    n_batches: Whole,
    random: NDArray[np.int64],
    seen: NDArray[np.float64],
) -> None:
    """Walk from the true matching by swaps of two people's rows, uniform over matchings.

    A person, then a profile that fits the person's present row, then a person of that profile are
    drawn; they swap where the first fits the second's row, with the ratio of the two ways' odds
    (Metropolis and Hastings). ``pattern_of_person`` is the matching and is changed.
    ``kept`` rises within a pattern. ``seen[batch, watch]`` becomes the mean number of people of a
    watched profile on rows of its pattern. Swaps alone need not reach every matching: this is a
    cross-check, not a proof.
    """
    n_people = len(profile_of_person)
    now = np.zeros(len(watched), dtype=np.int64)
    for person in range(n_people):
        watch = watch_of_profile[profile_of_person[person]]
        while watch >= 0:
            if watched[watch] == pattern_of_person[person]:
                now[watch] += 1
            watch = next_watch[watch]
    in_batch = n_steps // n_batches
    for batch in range(n_batches):
        since = np.zeros(len(watched), dtype=np.int64)
        for at in range(in_batch):
            person = _below(random, n_people)
            mine = pattern_of_person[person]
            n_fit = kept_start[mine + 1] - kept_start[mine]
            drawn = kept[kept_start[mine] + _below(random, n_fit)]
            n_alike = people_start[drawn + 1] - people_start[drawn]
            other = people[people_start[drawn] + _below(random, n_alike)]
            theirs = pattern_of_person[other]
            if theirs == mine:
                continue
            own = profile_of_person[person]
            low, high = kept_start[theirs], kept_start[theirs + 1]
            while low < high:
                middle = (low + high) // 2
                if kept[middle] < own:
                    low = middle + 1
                else:
                    high = middle
            if low == kept_start[theirs + 1] or kept[low] != own:
                continue
            n_own = people_start[own + 1] - people_start[own]
            n_fit_theirs = kept_start[theirs + 1] - kept_start[theirs]
            there = 1.0 / (n_fit * n_alike) + 1.0 / (n_fit_theirs * n_own)
            back = 1.0 / (n_fit_theirs * n_alike) + 1.0 / (n_fit * n_own)
            if back < there and _below(random, _PARTS) * there >= back * _PARTS:
                continue
            pattern_of_person[person], pattern_of_person[other] = theirs, mine
            for profile, left, joined in ((own, mine, theirs), (drawn, theirs, mine)):
                watch = watch_of_profile[profile]
                while watch >= 0:
                    change = (watched[watch] == joined) - (watched[watch] == left)
                    if change:
                        seen[batch, watch] += now[watch] * (at - since[watch])
                        since[watch] = at
                        now[watch] += change
                    watch = next_watch[watch]
        for watch in range(len(watched)):
            seen[batch, watch] += now[watch] * (in_batch - since[watch])
            seen[batch, watch] /= in_batch

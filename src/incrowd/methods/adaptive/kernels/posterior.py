"""Loops of the posterior: who could be which row, what can be exchanged, weights and counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner

PLAIN_ROUNDS, LONG_ROUNDS = 20, 60
"""Rounds of plain steps, then of long ones, by turns."""

FIRST_STEP, LONGEST_STEP = 1.7, 1.95


@compiled_inner
def is_masked_difference(
    codes: NDArray[np.int32],
    owner_codes: NDArray[np.int32],
    is_masked: NDArray[np.bool_],
    first_cell: NDArray[np.int64],
    is_bit: Flag,
) -> Flag:
    """Return whether a released row masks all cells in which its owner differs from a profile."""
    for attribute in range(len(codes)):
        if codes[attribute] == owner_codes[attribute]:
            continue
        first = first_cell[attribute]
        if not is_bit:
            if not is_masked[first]:
                return False
        elif not (
            is_masked[first + codes[attribute]] and is_masked[first + owner_codes[attribute]]
        ):
            return False
    return True


@compiled
def compatible_kinds(
    codes: NDArray[np.int32],
    owner_codes: NDArray[np.int32],
    is_masked: NDArray[np.bool_],
    first_cell: NDArray[np.int64],
    is_bit: Flag,
    most: Whole,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the kinds of rows that each profile is compatible with, profile by profile.

    Nothing at all where there are more than ``most`` pairs.

    ``codes[profile, attribute]``; a kind of row is known by the codes of one owner and its masked
    cells. O(profiles · kinds · attributes), most of it left early.
    """
    n_profiles, n_kinds = len(codes), len(owner_codes)
    start = np.zeros(n_profiles + 1, dtype=np.int64)
    kinds = np.empty(1024, dtype=np.int32)
    n_found = np.int64(0)
    for profile in range(n_profiles):
        for kind in range(n_kinds):
            if is_masked_difference(
                codes[profile], owner_codes[kind], is_masked[kind], first_cell, is_bit
            ):
                if n_found == len(kinds):
                    larger = np.empty(2 * n_found, dtype=np.int32)
                    larger[:n_found] = kinds
                    kinds = larger
                kinds[n_found] = kind
                n_found += 1
        if n_found > most:
            return start[:0].copy(), kinds[:0].copy()
        start[profile + 1] = n_found
    return start, kinds[:n_found].copy()


@compiled
def exchangeable(
    start: NDArray[np.int64],
    kinds: NDArray[np.int32],
    owner_start: NDArray[np.int64],
    owners: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the part of every profile, then of every kind: people and rows that can be exchanged.

    An arc leads from a profile to each kind that it is compatible with, and from a kind to each
    profile that owns such a row; a part is a strongly connected component (Tarjan 1972, with a
    stack in place of recursion). The truth is one matching, so a pair of a profile and a kind
    lies in some matching if and only if both are in one part. O(arcs).
    """
    n_profiles = len(start) - 1
    n_nodes = n_profiles + len(owner_start) - 1
    # per node, profiles before kinds: its part, when it was met (0: not yet), the earliest node
    # that it reaches, and its next arc; way[:n_way] leads to the node that is looked at,
    # pending[:n_pending] are nodes met whose part is open
    part = np.full(n_nodes, -1, dtype=np.int64)
    number = np.zeros(n_nodes, dtype=np.int64)
    low = np.zeros(n_nodes, dtype=np.int64)
    arc = np.zeros(n_nodes, dtype=np.int64)
    way = np.empty(n_nodes, dtype=np.int64)
    pending = np.empty(n_nodes, dtype=np.int64)
    n_numbered, n_pending, n_parts = np.int64(0), np.int64(0), np.int64(0)
    for root in range(n_nodes):
        if number[root]:
            continue
        way[0] = root
        n_way = 1
        while n_way > 0:
            node = way[n_way - 1]
            is_profile = node < n_profiles
            if number[node] == 0:
                n_numbered += 1
                number[node] = n_numbered
                low[node] = n_numbered
                pending[n_pending] = node
                n_pending += 1
                arc[node] = start[node] if is_profile else owner_start[node - n_profiles]
            end = start[node + 1] if is_profile else owner_start[node - n_profiles + 1]
            # follow one arc: onwards to a node that is new, or note how early a node it reaches
            if arc[node] < end:
                target = np.int64(owners[arc[node]])
                if is_profile:
                    target = np.int64(n_profiles + kinds[arc[node]])
                if number[target] == 0:
                    way[n_way] = target  # the arc is looked at again when the way is back
                    n_way += 1
                    continue
                if part[target] < 0:
                    low[node] = min(low[node], low[target])
                arc[node] += 1
                continue
            # no arc is left: a node that reaches nothing earlier closes a part with all after it
            n_way -= 1
            if low[node] < number[node]:
                continue
            while True:
                n_pending -= 1
                part[pending[n_pending]] = n_parts
                if pending[n_pending] == node:
                    break
            n_parts += 1
    return part


@compiled
def scale(
    start: NDArray[np.int64],
    kinds: NDArray[np.int32],
    n_people: NDArray[np.float64],
    n_rows: NDArray[np.float64],
    person_scale: NDArray[np.float64],
    row_scale: NDArray[np.float64],
    residual: float,
    most_rounds: Whole,
) -> NDArray[np.float64]:
    """Scale until everybody belongs to one row and every row to one person, all told.

    ``n_people[profile]``, ``n_rows[kind]``; begins with the scales as given. Plain steps (Sinkhorn
    and Knopp 1967) and longer ones by turns; a long step that made sums worse is shortened.
    Profiles without pairs are passed over. Returns by how much each profile's sum is off.
    O(rounds · pairs).
    """
    n_profiles = len(n_people)
    off = np.full(n_profiles, np.inf)
    received = np.zeros(len(n_rows))
    step, worst_before = FIRST_STEP, np.inf
    for done in range(most_rounds):
        turn = done % (PLAIN_ROUNDS + LONG_ROUNDS)
        power = 1.0 if turn < PLAIN_ROUNDS else step
        received[:] = 0.0
        worst = 0.0
        for profile in range(n_profiles):
            if start[profile] == start[profile + 1]:
                off[profile] = 0.0
                continue
            total = 0.0
            for place in range(start[profile], start[profile + 1]):
                total += n_rows[kinds[place]] * row_scale[kinds[place]]
            total *= person_scale[profile]
            off[profile] = abs(total - 1.0)
            worst = max(worst, off[profile])
            person_scale[profile] *= total**-power
            given = n_people[profile] * person_scale[profile]
            for place in range(start[profile], start[profile + 1]):
                received[kinds[place]] += given
        for kind in range(len(n_rows)):
            if received[kind] > 0.0:
                row_scale[kind] *= (received[kind] * row_scale[kind]) ** -power
        if turn == PLAIN_ROUNDS - 1:
            if worst <= residual:
                break
            step = 1.0 + 0.5 * (step - 1.0) if worst > worst_before else step
            step = min(LONGEST_STEP, step + 0.02)
            worst_before = worst
    return off


@compiled
def count_matchings(
    n_of_step: NDArray[np.int64], n_of_place: NDArray[np.int64], fits: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return how likely somebody of each step has a given row of each place, by all matchings.

    ``n_of_step[step]`` people or rows are given out one after the other to ``n_of_place[place]``
    of the other side, as many in all, only where ``fits[step, place]``; some matching must fit. A
    state is how many of every place are taken. Its weight is the chance that giving out by lot
    leads there, or from there to the end, without a misfit: sums of positive terms, so exact but
    for rounding, and within the range of floats up to 2¹⁸ states. O(states · places).
    """
    n_all, n_places = n_of_place.sum(), len(n_of_place)
    step_of_level = np.repeat(np.arange(len(n_of_step)), n_of_step)
    # a state as one number, whose digits are what is taken: taking more makes it larger
    worth = np.ones(n_places + 1, dtype=np.int64)
    for place in range(n_places):
        worth[place + 1] = worth[place] * (n_of_place[place] + 1)
    n_states = worth[n_places]
    reached, to_end = np.zeros(n_states), np.zeros(n_states)
    reached[0] = to_end[n_states - 1] = 1.0
    likely = np.zeros(fits.shape)
    n_left = np.zeros(n_places, dtype=np.int64)
    # there from nothing taken, rising; then back from everything taken, falling
    for at in range(2 * n_states):
        state = at if at < n_states else 2 * n_states - 1 - at
        if reached[state] == 0.0 or state == n_states - 1:
            continue
        for place in range(n_places):
            n_left[place] = n_of_place[place] - state // worth[place] % (n_of_place[place] + 1)
        n_open = n_left.sum()
        step = step_of_level[n_all - n_open]
        for place in range(n_places):
            if n_left[place] == 0 or not fits[step, place]:
                continue
            chance = n_left[place] / n_open
            target = state + worth[place]
            if at < n_states:
                reached[target] += reached[state] * chance
            else:
                to_end[state] += chance * to_end[target]
                likely[step, place] += reached[state] * chance * to_end[target]
    for step in range(len(n_of_step)):
        for place in range(n_places):
            likely[step, place] /= to_end[0] * n_of_step[step] * n_of_place[place]
    return likely


@compiled
def count_lost(
    codes: NDArray[np.int32],
    row_codes: NDArray[np.int32],
    before: NDArray[np.bool_],
    now: NDArray[np.bool_],
    first_cell: NDArray[np.int64],
    is_bit: Flag,
) -> NDArray[np.int64]:
    """Return for each row how many profiles were compatible with it before, and are no more.

    ``codes[profile, attribute]``, ``row_codes[row, attribute]``; O(profiles · rows · attributes).
    """
    n_lost = np.zeros(len(row_codes), dtype=np.int64)
    for row in range(len(row_codes)):
        for profile in range(len(codes)):
            if is_masked_difference(
                codes[profile], row_codes[row], before[row], first_cell, is_bit
            ) and not is_masked_difference(
                codes[profile], row_codes[row], now[row], first_cell, is_bit
            ):
                n_lost[row] += 1
    return n_lost

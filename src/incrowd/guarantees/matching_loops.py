"""Loops over the matchings of people to rows: which pairs occur in one, and how often.

Profiles and patterns come with counts, so that equal originals and equal rows cost nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled

MOST_STEP = 1.98  # the longest overrelaxed step: 2 would never settle
PLAIN_PHASE, LONG_PHASE = 12, 60  # iterations; each phase of long steps is twice the last


@compiled
def strong_components(
    out_start: NDArray[np.int64],
    pattern_of_edge: NDArray[np.int32],
    back_start: NDArray[np.int64],
    profile_of_back: NDArray[np.int32],
    is_active: NDArray[np.bool_],
    component: NDArray[np.int32],
) -> Whole:
    """Number the strongly connected components of the residual graph; Tarjan (1972), no recursion.

    Nodes are the profiles, then the patterns. An arc leads from a profile to every pattern it fits,
    and from a pattern back to the profiles of the people behind it. Nodes that are not active
    keep the component that they have. O(arcs).
    """
    n_profiles, n_nodes = len(out_start) - 1, len(is_active)
    n_components = np.int64(0)
    met, lowest = np.zeros(n_nodes, dtype=np.int64), np.zeros(n_nodes, dtype=np.int64)
    next_arc = np.zeros(n_nodes, dtype=np.int64)
    is_open = np.zeros(n_nodes, dtype=np.bool_)
    path, opened = np.empty(n_nodes, dtype=np.int64), np.empty(n_nodes, dtype=np.int64)
    n_met, n_opened = np.int64(0), np.int64(0)
    for root in range(n_nodes):
        if met[root] or not is_active[root]:
            continue
        depth = np.int64(1)
        path[0] = root
        while depth:
            node = path[depth - 1]
            if not met[node]:
                n_met += 1
                met[node] = lowest[node] = n_met
                opened[n_opened] = node
                n_opened += 1
                is_open[node] = True
                is_profile = node < n_profiles
                next_arc[node] = out_start[node] if is_profile else back_start[node - n_profiles]
            end = out_start[node + 1] if node < n_profiles else back_start[node - n_profiles + 1]
            went_on = False
            while next_arc[node] < end:
                arc = next_arc[node]
                next_arc[node] += 1
                if node < n_profiles:
                    other = np.int64(n_profiles + pattern_of_edge[arc])
                else:
                    other = np.int64(profile_of_back[arc])
                if not is_active[other]:
                    continue
                if not met[other]:
                    path[depth] = other
                    depth += 1
                    went_on = True
                    break
                if is_open[other]:
                    lowest[node] = min(lowest[node], met[other])
            if went_on:
                continue
            depth -= 1
            if depth:
                above = path[depth - 1]
                lowest[above] = min(lowest[above], lowest[node])
            if lowest[node] == met[node]:
                while True:
                    n_opened -= 1
                    other = opened[n_opened]
                    is_open[other] = False
                    component[other] = n_components
                    if other == node:
                        break
                n_components += 1
    return n_components


@compiled
def keep_inside(
    patterns: NDArray[np.int64],
    edge_start: NDArray[np.int64],
    profile_of_edge: NDArray[np.int32],
    component_of_profile: NDArray[np.int32],
    component_of_pattern: NDArray[np.int32],
    place_of_profile: NDArray[np.int64],
    kept_start: NDArray[np.int64],
    kept: NDArray[np.int32],
) -> None:
    """Keep the pairs within a component; with no room, count them in ``kept_start[place + 1]``."""
    for place in range(len(patterns)):
        pattern = patterns[place]
        out = kept_start[place]
        n_kept = np.int64(0)
        for edge in range(edge_start[pattern], edge_start[pattern + 1]):
            profile = profile_of_edge[edge]
            if component_of_profile[profile] != component_of_pattern[pattern]:
                continue
            if len(kept):
                kept[out + n_kept] = place_of_profile[profile]
            n_kept += 1
        if not len(kept):
            kept_start[place + 1] = n_kept


@compiled
def enumerate_matchings(
    n_of_step: NDArray[np.int64],
    n_of_place: NDArray[np.int64],
    fits: NDArray[np.bool_],
    belief: NDArray[np.float64],
) -> None:
    """Write the share of all perfect matchings in which one given pair of each type is matched.

    Dynamic programming over how many items of each place type are taken, forwards and backwards,
    each level kept in the range of floats by its largest entry. Every term is positive, so the
    result is exact but for rounding. O(states × place types).
    """
    n_types = len(n_of_place)
    radix = np.ones(n_types + 1, dtype=np.int64)
    n_levels = np.int64(0)
    for place in range(n_types):
        radix[place + 1] = radix[place] * (n_of_place[place] + 1)
        n_levels += n_of_place[place]
    n_states = radix[n_types]
    level = np.zeros(n_states, dtype=np.int64)
    level_start = np.zeros(n_levels + 2, dtype=np.int64)
    for state in range(n_states):
        for place in range(n_types):
            level[state] += (state // radix[place]) % (n_of_place[place] + 1)
        level_start[level[state] + 1] += 1
    for at in range(n_levels + 1):
        level_start[at + 1] += level_start[at]
    filled = level_start[:-1].copy()
    states = np.empty(n_states, dtype=np.int64)
    for state in range(n_states):
        states[filled[level[state]]] = state
        filled[level[state]] += 1
    step_of_level = np.empty(n_levels, dtype=np.int64)
    at = 0
    for step in range(len(n_of_step)):
        step_of_level[at : at + n_of_step[step]] = step
        at += n_of_step[step]
    forward, backward = np.zeros(n_states), np.zeros(n_states)
    forward[0] = backward[n_states - 1] = 1.0
    for at in range(n_levels):
        step = step_of_level[at]
        for order in range(level_start[at], level_start[at + 1]):
            state = states[order]
            if forward[state] == 0.0:
                continue
            for place in range(n_types):
                n_left = n_of_place[place] - (state // radix[place]) % (n_of_place[place] + 1)
                if n_left > 0 and fits[step, place]:
                    forward[state + radix[place]] += forward[state] * n_left
        largest = 0.0
        for order in range(level_start[at + 1], level_start[at + 2]):
            largest = max(largest, forward[states[order]])
        for order in range(level_start[at + 1], level_start[at + 2]):
            forward[states[order]] /= largest
    weight = np.empty(n_types)
    for at in range(n_levels - 1, -1, -1):
        step = step_of_level[at]
        weight[:] = 0.0
        largest = 0.0
        for order in range(level_start[at], level_start[at + 1]):
            state = states[order]
            for place in range(n_types):
                n_left = n_of_place[place] - (state // radix[place]) % (n_of_place[place] + 1)
                if n_left > 0 and fits[step, place]:
                    ways = backward[state + radix[place]] * n_left
                    backward[state] += ways
                    weight[place] += forward[state] * ways
            largest = max(largest, backward[state])
        for order in range(level_start[at], level_start[at + 1]):
            backward[states[order]] /= largest
        total = weight.sum()
        for place in range(n_types):
            belief[step, place] = weight[place] / total / n_of_place[place]


@compiled
def scale(
    kept_start: NDArray[np.int64],
    kept: NDArray[np.int32],
    n_people: NDArray[np.int64],
    n_rows: NDArray[np.int64],
    first_profile: Whole,
    of_profile: NDArray[np.float64],
    of_pattern: NDArray[np.float64],
    most_iterations: Whole,
    goal: float,
) -> tuple[float, Whole]:
    """Find factors whose products, on the pairs, sum to 1 for each person and each row.

    Sinkhorn and Knopp (1967), with phases of overrelaxed steps whose length is estimated from how
    fast the plain steps settle. All arrays but ``kept`` are the component's own; ``kept`` counts
    profiles from ``first_profile``. Returns the largest error of a person's sum (rows' sums are
    exact after a plain step), and the iterations it took. O(pairs) an iteration.
    """
    n_profiles, n_patterns = len(of_profile), len(of_pattern)
    sums = np.empty(n_profiles)
    mass = n_people.astype(np.float64)  # n_people × of_profile
    of_profile[:] = 1.0
    of_pattern[:] = 1.0
    step, longest, n_left_in_phase = 1.0, MOST_STEP, PLAIN_PHASE
    n_long = LONG_PHASE
    residual, before, at_phase_start = np.inf, np.inf, np.inf
    for iteration in range(most_iterations):
        sums[:] = 0.0
        worst = 0.0
        for pattern in range(n_patterns):
            total = 0.0
            for edge in range(kept_start[pattern], kept_start[pattern + 1]):
                total += mass[kept[edge] - first_profile]
            if not (0.0 < total < np.inf):  # beyond the range of floats
                return np.inf, iteration + 1
            if step == 1.0:
                of_pattern[pattern] = 1.0 / total
            else:
                error = of_pattern[pattern] * total
                worst = max(worst, abs(error - 1.0))
                of_pattern[pattern] *= error**-step
            amount = n_rows[pattern] * of_pattern[pattern]
            for edge in range(kept_start[pattern], kept_start[pattern + 1]):
                sums[kept[edge] - first_profile] += amount
        for profile in range(n_profiles):
            sums[profile] *= of_profile[profile]
            worst = max(worst, abs(sums[profile] - 1.0))
            if not (0.0 < sums[profile] < np.inf):
                return np.inf, iteration + 1
        before, residual = residual, worst
        if step == 1.0 and residual <= goal:
            return residual, iteration + 1
        for profile in range(n_profiles):
            of_profile[profile] *= 1.0 / sums[profile] if step == 1.0 else sums[profile] ** -step
            mass[profile] = n_people[profile] * of_profile[profile]
        n_left_in_phase -= 1
        if n_left_in_phase > 0 and (step == 1.0 or residual > goal):
            continue
        if step == 1.0:
            rate = residual / before if 0.0 < before < np.inf else 0.0
            if rate >= 1.0 or residual * rate**LONG_PHASE > goal:
                step = min(longest, 2.0 / (1.0 + np.sqrt(1.0 - min(rate, 0.99999))))
                at_phase_start = residual
            n_left_in_phase = n_long
        else:
            if residual > 10.0 * at_phase_start:
                longest = 1.0 + 0.9 * (longest - 1.0)
            n_long *= 2
            step = 1.0
            n_left_in_phase = PLAIN_PHASE
    return residual, most_iterations

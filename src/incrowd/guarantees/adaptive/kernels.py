"""Loops over people and released rows: compatibility, and the matchings between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner


@compiled_inner
def is_compatible(
    profile: NDArray[np.int32], pattern: NDArray[np.int32], columns: NDArray[np.int64]
) -> Flag:
    """Whether an original row agrees with a released one in every cell that is shown."""
    for column in columns:
        shown = pattern[column]
        if shown >= 0 and shown != profile[column]:
            return False
    return True


@compiled_inner
def _rarest_first(
    pattern: NDArray[np.int32],
    first_value: NDArray[np.int64],
    list_start: NDArray[np.int64],
    order: NDArray[np.int64],
    length: NDArray[np.int64],
) -> Whole:
    """Order the shown columns of a pattern by how many profiles have its value; return how many."""
    n_shown = 0
    for column in range(len(pattern)):
        if pattern[column] < 0:
            continue
        value = first_value[column] + pattern[column]
        n_listed = list_start[value + 1] - list_start[value]
        place = n_shown
        while place > 0 and length[place - 1] > n_listed:
            length[place], order[place] = length[place - 1], order[place - 1]
            place -= 1
        length[place], order[place] = n_listed, column
        n_shown += 1
    return n_shown


@compiled
def meet(
    profiles: NDArray[np.int32],
    patterns: NDArray[np.int32],
    n_rows_of_pattern: NDArray[np.int64],
    first_value: NDArray[np.int64],
    list_start: NDArray[np.int64],
    listed: NDArray[np.int32],
    words_of_value: NDArray[np.int32],
    words: NDArray[np.uint64],
    shortest_common: Whole,
    edge_start: NDArray[np.int64],
    profile_of_edge: NDArray[np.int32],
    n_rows_of_profile: NDArray[np.int64],
) -> None:
    """Find the profiles that are compatible with each pattern, in rising order.

    With no room for edges they are counted: ``edge_start[pattern + 1]`` gets the number of a
    pattern's profiles, and ``n_rows_of_profile`` is raised by the pattern's rows. With room they
    are written to where ``edge_start`` says.

    The profiles that have the rarest shown value are walked and the other values tested, rarest
    first. Where even that value is common, as common as ``shortest_common``, all shown values are,
    and the bits of their profiles are intersected, 64 at a time.
    """
    is_counting = len(profile_of_edge) == 0
    n_profiles, n_columns = profiles.shape
    order = np.empty(n_columns, dtype=np.int64)
    length = np.empty(n_columns, dtype=np.int64)
    found = np.empty(n_profiles, dtype=np.int32)
    for pattern in range(len(patterns)):
        n_shown = _rarest_first(patterns[pattern], first_value, list_start, order, length)
        n_met = np.int64(0)
        # a rare value: walk its profiles, test the other values
        if n_shown and length[0] < shortest_common:
            value = first_value[order[0]] + patterns[pattern, order[0]]
            for place in range(list_start[value], list_start[value + 1]):
                profile = listed[place]
                fits = True
                for rank in range(1, n_shown):
                    column = order[rank]
                    if profiles[profile, column] != patterns[pattern, column]:
                        fits = False
                        break
                if fits:
                    found[n_met] = profile
                    n_met += 1
        else:
            for word in range(words.shape[1]):
                # common values only: intersect the bits of their profiles
                bits = words[len(words) - 1, word]  # every profile
                for rank in range(n_shown):
                    column = order[rank]
                    bits &= words[
                        words_of_value[first_value[column] + patterns[pattern, column]], word
                    ]
                    if bits == 0:
                        break
                base = np.int32(64 * word)
                while bits:
                    if bits & np.uint64(1):
                        found[n_met] = base
                        n_met += 1
                    bits >>= np.uint64(1)
                    base += np.int32(1)
        if is_counting:
            # count the edges, or write them
            edge_start[pattern + 1] = n_met
            for place in range(n_met):
                n_rows_of_profile[found[place]] += n_rows_of_pattern[pattern]
        else:
            out = edge_start[pattern]
            profile_of_edge[out : out + n_met] = found[:n_met]


@compiled
def transpose(
    edge_start: NDArray[np.int64],
    profile_of_edge: NDArray[np.int32],
    out_start: NDArray[np.int64],
    pattern_of_edge: NDArray[np.int32],
) -> None:
    """Turn the profiles of each pattern into the patterns of each profile, in rising order.

    ``out_start`` has one entry more than there are profiles, and is all 0 on entry.
    """
    for edge in range(len(profile_of_edge)):
        out_start[profile_of_edge[edge] + 1] += 1
    for profile in range(len(out_start) - 1):
        out_start[profile + 1] += out_start[profile]
    filled = out_start[:-1].copy()
    for pattern in range(len(edge_start) - 1):
        for edge in range(edge_start[pattern], edge_start[pattern + 1]):
            profile = profile_of_edge[edge]
            pattern_of_edge[filled[profile]] = pattern
            filled[profile] += 1


@compiled
def mutual_by_edges(
    kinds: NDArray[np.int32],
    n_people_of_kind: NDArray[np.int64],
    kinds_by_pattern: NDArray[np.int64],
    kind_start: NDArray[np.int64],
    edge_start: NDArray[np.int64],
    profile_of_edge: NDArray[np.int32],
    out_start: NDArray[np.int64],
    pattern_of_edge: NDArray[np.int32],
    is_chosen: NDArray[np.bool_],
    mutual: NDArray[np.int64],
) -> None:
    """Count, for each chosen kind, the people whose row fits it and whose original fits its row."""
    is_marked = np.zeros(len(out_start) - 1, dtype=np.bool_)
    for pattern in range(len(edge_start) - 1):
        first, last = edge_start[pattern], edge_start[pattern + 1]
        for edge in range(first, last):
            is_marked[profile_of_edge[edge]] = True
        for place in range(kind_start[pattern], kind_start[pattern + 1]):
            kind = kinds_by_pattern[place]
            if not is_chosen[kind]:
                continue
            profile = kinds[kind, 0]
            total = np.int64(0)
            for edge in range(out_start[profile], out_start[profile + 1]):
                other = pattern_of_edge[edge]
                for near in range(kind_start[other], kind_start[other + 1]):
                    candidate = kinds_by_pattern[near]
                    if is_marked[kinds[candidate, 0]]:
                        total += n_people_of_kind[candidate]
            mutual[kind] = total
        for edge in range(first, last):
            is_marked[profile_of_edge[edge]] = False


@compiled
def crowds_by_scan(
    chosen: NDArray[np.int64],
    kinds: NDArray[np.int32],
    n_people_of_kind: NDArray[np.int64],
    profiles: NDArray[np.int32],
    patterns: NDArray[np.int32],
    columns: NDArray[np.int64],
    literal: NDArray[np.int64],
    mutual: NDArray[np.int64],
) -> None:
    """Count both crowds of each chosen kind by comparing it with every kind; no memory at all."""
    for kind in chosen:
        profile, pattern = kinds[kind, 0], kinds[kind, 1]
        n_literal, n_mutual = np.int64(0), np.int64(0)
        for other in range(len(kinds)):
            if is_compatible(profiles[profile], patterns[kinds[other, 1]], columns):
                n_literal += n_people_of_kind[other]
                if is_compatible(profiles[kinds[other, 0]], patterns[pattern], columns):
                    n_mutual += n_people_of_kind[other]
        literal[kind] = n_literal
        mutual[kind] = n_mutual


@compiled
def mutual_work(
    kinds: NDArray[np.int32],
    kind_start: NDArray[np.int64],
    out_start: NDArray[np.int64],
    pattern_of_edge: NDArray[np.int32],
    is_chosen: NDArray[np.bool_],
) -> Whole:
    """Count the steps that ``mutual_by_edges`` would take."""
    n_steps = np.zeros(len(out_start) - 1, dtype=np.int64)
    for profile in range(len(out_start) - 1):
        for edge in range(out_start[profile], out_start[profile + 1]):
            other = pattern_of_edge[edge]
            n_steps[profile] += kind_start[other + 1] - kind_start[other]
    total = np.int64(0)
    for kind in range(len(kinds)):
        if is_chosen[kind]:
            total += n_steps[kinds[kind, 0]]
    return total


# Loops over the matchings of people to rows: which pairs occur in one, and how often.

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
                # open a node when it is first met
                n_met += 1
                met[node] = lowest[node] = n_met
                opened[n_opened] = node
                n_opened += 1
                is_open[node] = True
                is_profile = node < n_profiles
                next_arc[node] = out_start[node] if is_profile else back_start[node - n_profiles]
            end = out_start[node + 1] if node < n_profiles else back_start[node - n_profiles + 1]
            # follow its next arcs: down to a new node, or lower its mark to an open one's
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
            # all arcs are followed: back to the node above; a node that reaches none below it
            # closes a component
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
    # states: how many of each place type are taken, as digits of a mixed radix
    radix = np.ones(n_types + 1, dtype=np.int64)
    n_levels = np.int64(0)
    for place in range(n_types):
        radix[place + 1] = radix[place] * (n_of_place[place] + 1)
        n_levels += n_of_place[place]
    n_states = radix[n_types]
    # states by level, the number of places taken
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
    # which type of step takes each level
    step_of_level = np.empty(n_levels, dtype=np.int64)
    at = 0
    for step in range(len(n_of_step)):
        step_of_level[at : at + n_of_step[step]] = step
        at += n_of_step[step]
    # forwards: ways to reach each state, scaled level by level
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
    # backwards: ways from each state to the end; a pair's share is ways in times ways out
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
        # rows: scale each pattern's factor, and add its share to its profiles
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
            # people: how far their sums are from 1
            sums[profile] *= of_profile[profile]
            worst = max(worst, abs(sums[profile] - 1.0))
            if not (0.0 < sums[profile] < np.inf):
                return np.inf, iteration + 1
        before, residual = residual, worst
        if step == 1.0 and residual <= goal:
            return residual, iteration + 1
        for profile in range(n_profiles):
            # people: scale each profile's factor
            of_profile[profile] *= 1.0 / sums[profile] if step == 1.0 else sums[profile] ** -step
            mass[profile] = n_people[profile] * of_profile[profile]
        # the end of a phase: long steps after plain ones that settle slowly, plain ones after
        # long ones, which are shortened where they made it worse
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


# A walk over the matchings of people to rows, to hold the scaled estimate against.

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
    # how many people of each watched pair stand on its rows now
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
            # propose a swap of two people's rows
            mine = pattern_of_person[person]
            n_fit = kept_start[mine + 1] - kept_start[mine]
            drawn = kept[kept_start[mine] + _below(random, n_fit)]
            n_alike = people_start[drawn + 1] - people_start[drawn]
            other = people[people_start[drawn] + _below(random, n_alike)]
            theirs = pattern_of_person[other]
            if theirs == mine:
                continue
            own = profile_of_person[person]
            # refuse it where the first person does not fit the second's row
            low, high = kept_start[theirs], kept_start[theirs + 1]
            while low < high:
                middle = (low + high) // 2
                if kept[middle] < own:
                    low = middle + 1
                else:
                    high = middle
            if low == kept_start[theirs + 1] or kept[low] != own:
                continue
            # accept it by the ratio of the two ways' odds
            n_own = people_start[own + 1] - people_start[own]
            n_fit_theirs = kept_start[theirs + 1] - kept_start[theirs]
            there = 1.0 / (n_fit * n_alike) + 1.0 / (n_fit_theirs * n_own)
            back = 1.0 / (n_fit_theirs * n_alike) + 1.0 / (n_fit * n_own)
            if back < there and _below(random, _PARTS) * there >= back * _PARTS:
                continue
            # swap, and account for the time that watched pairs had their old numbers
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

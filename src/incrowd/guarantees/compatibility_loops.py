"""Loops that compare original rows with released ones; a masked cell is negative."""

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

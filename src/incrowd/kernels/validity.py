"""Is a group of rows valid: crowd size, l-diversity, t-closeness.

The rules are those of ``methods.conditions.Conditions``; ``limits`` is its packed form. Numbers
that come from floating point are compared so that a group which is called valid also passes a
check by other code with a tolerance of 1e-9, while a group that lies exactly on a limit is not lost
to rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner

ROUNDING = 1e-12
"""How far beyond a limit that includes its boundary a computed number may lie."""

MARGIN = 1e-9
"""How far within a limit that excludes its boundary a count must lie, as a share of it."""

DISTINCT, ENTROPY, RECURSIVE = 1, 2, 3
"""Places in ``methods.conditions.L_KINDS``."""


class Scratch(NamedTuple):
    """Room for one thread to count in; every call leaves ``count_of_node`` zero."""

    stamp_of_person: NDArray[np.int64]
    stamp: NDArray[np.int64]
    count_of_node: NDArray[np.int64]


def scratch_for(limits: Any) -> Scratch:
    """Return room to test groups under these packed conditions, for one thread."""
    widest = int(np.diff(limits.tree_start).max(initial=0))
    return Scratch(
        np.zeros(limits.n_people, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(widest, dtype=np.int64),
    )


@compiled_inner
def _crowd(members: NDArray[np.int32], n_members: Whole, limits: Any, scratch: Scratch) -> Whole:
    """Return how many people a group has. O(members)."""
    if limits.person_of_row.size == 0:
        return n_members
    scratch.stamp[0] += 1
    stamp = scratch.stamp[0]
    n_people = np.int64(0)
    for place in range(n_members):
        person = limits.person_of_row[members[place]]
        if scratch.stamp_of_person[person] != stamp:
            scratch.stamp_of_person[person] = stamp
            n_people += 1
    return n_people


@compiled_inner
def is_diverse(counts: NDArray[np.int64], least: float, kind: Whole, c: float) -> Flag:
    """Return whether counts of known values are l-diverse, l being ``least``.

    O(values); the recursive kind O(l · values).
    """
    n_known = np.int64(0)
    n_distinct = np.int64(0)
    most = np.int64(0)
    for value in range(counts.size):
        if counts[value] > 0:
            n_known += counts[value]
            n_distinct += 1
            most = max(most, counts[value])
    if kind == DISTINCT:
        return n_distinct >= least
    if n_known == 0:
        return False
    if kind == ENTROPY:
        entropy = 0.0
        for value in range(counts.size):
            if counts[value] > 0:
                share = counts[value] / n_known
                entropy -= share * np.log(share)
        return entropy >= np.log(least) - ROUNDING
    if n_distinct < least:
        return False
    # the tail is everything but the l − 1 most frequent values, found one after the other
    tail = n_known
    last_count = n_known + 1
    last_value: Whole = np.int64(-1)
    for _ in range(np.int64(np.ceil(least)) - 1):
        next_count = np.int64(0)
        next_value: Whole = np.int64(-1)
        for value in range(counts.size):
            is_further = counts[value] < last_count or value > last_value
            if counts[value] <= last_count and is_further and counts[value] > next_count:
                next_count = counts[value]
                next_value = value
        tail -= next_count
        last_count = next_count
        last_value = next_value
    return most + MARGIN * most <= c * tail


@compiled_inner
def distance_from_all(
    counts: NDArray[np.int64],
    n_members: Whole,
    parent: NDArray[np.int32],
    weight: NDArray[np.float64],
    share: NDArray[np.float64],
) -> float:
    """Return how far a group is from all rows on a tree of values. O(nodes).

    ``counts`` of values climb to the inner nodes, whose counts must be zero before.
    """
    distance = 0.0
    for node in range(parent.size):
        if parent[node] >= 0:
            counts[parent[node]] += counts[node]
        distance += weight[node] * abs(counts[node] / n_members - share[node])
    return distance


@compiled
def is_valid(members: NDArray[np.int32], n_members: Whole, limits: Any, scratch: Scratch) -> Flag:
    """Return whether rows ``members[:n_members]`` form a valid group.

    O(members + nodes of the trees of values); the cheapest test comes first.
    """
    if n_members == 0:
        return False
    needed = limits.k
    if limits.k_of_row.size > 0:
        for place in range(n_members):
            needed = max(needed, np.int64(limits.k_of_row[members[place]]))
    if n_members < needed or _crowd(members, n_members, limits, scratch) < needed:
        return False
    counts = scratch.count_of_node
    for sensitive in range(limits.l.size):
        start = limits.tree_start[sensitive]
        end = limits.tree_start[sensitive + 1]
        for place in range(n_members):
            counts[limits.code_of_row[sensitive, members[place]]] += 1
        is_met = True
        if limits.l_kind[sensitive] > 0:
            is_met = is_diverse(
                counts[: limits.n_values[sensitive]],
                limits.l[sensitive],
                limits.l_kind[sensitive],
                limits.c[sensitive],
            )
        if is_met and limits.t[sensitive] >= 0.0:
            distance = distance_from_all(
                counts[: end - start],
                n_members,
                limits.tree_parent[start:end],
                limits.tree_weight[start:end],
                limits.tree_share[start:end],
            )
            is_met = distance <= limits.t[sensitive] + ROUNDING
        counts[: end - start] = 0
        if not is_met:
            return False
    return True

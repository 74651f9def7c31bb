"""Is a group of rows valid: crowd size, l-diversity, t-closeness.

The rules are those of ``Conditions``; ``limits`` is its packed form. Numbers that come from
floating point are compared so that a group which is called valid also passes a check with other
code and a tolerance of 1e-9, while a group that lies exactly on a limit is not lost to rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

ROUNDING = 1e-12
"""How far beyond a limit that includes its boundary a computed number may lie."""

MARGIN = 1e-9
"""How far within a limit that excludes its boundary a computed number must lie."""

DISTINCT, ENTROPY, RECURSIVE = 1, 2, 3


class Scratch(NamedTuple):
    """Room for one thread to count in; every call leaves ``count_of_node`` zero."""

    stamp_of_person: NDArray[np.int64]
    stamp: NDArray[np.int64]
    count_of_node: NDArray[np.int64]


def scratch_for(limits: Any) -> Scratch:
    """Return room to test groups under these packed conditions, one thread at a time."""
    widest = int(np.diff(limits.tree_start).max(initial=0))
    return Scratch(
        np.zeros(limits.n_people, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(widest, dtype=np.int64),
    )


@njit(cache=True, nogil=True)
def _crowd(members, n_members, limits, scratch):  # type: ignore[no-untyped-def]
    """Return how many people a group has. O(members)."""
    if limits.person_of_row.size == 0:
        return n_members
    scratch.stamp[0] += 1
    stamp = scratch.stamp[0]
    n_people = 0
    for place in range(n_members):
        person = limits.person_of_row[members[place]]
        if scratch.stamp_of_person[person] != stamp:
            scratch.stamp_of_person[person] = stamp
            n_people += 1
    return n_people


@njit(cache=True, nogil=True)
def _is_diverse(counts, l, l_kind, c):  # type: ignore[no-untyped-def]  # noqa: E741
    """Return whether counts of known values are l-diverse. O(values), recursive O(l · values)."""
    n_known = 0
    n_distinct = 0
    for value in range(counts.size):
        if counts[value] > 0:
            n_known += counts[value]
            n_distinct += 1
    if l_kind == DISTINCT:
        return n_distinct >= l
    if n_known == 0:
        return False
    if l_kind == ENTROPY:
        entropy = 0.0
        for value in range(counts.size):
            if counts[value] > 0:
                share = counts[value] / n_known
                entropy -= share * np.log(share)
        return entropy >= np.log(l) - ROUNDING
    if n_distinct < l:
        return False
    # the tail is everything but the l − 1 most frequent values, found one after the other
    tail = n_known
    most = np.int64(0)
    last_count, last_value = n_known + 1, -1
    for _ in range(int(np.ceil(l)) - 1):
        next_count, next_value = np.int64(0), -1
        for value in range(counts.size):
            is_further = counts[value] < last_count or value > last_value
            if counts[value] <= last_count and is_further and counts[value] > next_count:
                next_count, next_value = counts[value], value
        tail -= next_count
        most = max(most, next_count)
        last_count, last_value = next_count, next_value
    if most == 0:  # l is 1: nothing is cut off
        most = counts.max()
    return most + MARGIN * most <= c * tail


@njit(cache=True, nogil=True)
def _distance(counts, n_members, parent, weight, share):  # type: ignore[no-untyped-def]
    """Return the tree's distance of a group from all rows; counts climb to inner nodes. O(tree)."""
    distance = 0.0
    for node in range(parent.size):
        if parent[node] >= 0:
            counts[parent[node]] += counts[node]
        distance += weight[node] * abs(counts[node] / n_members - share[node])
    return distance


@njit(cache=True, nogil=True)
def is_valid(members, n_members, limits, scratch):  # type: ignore[no-untyped-def]
    """Return whether rows ``members[:n_members]`` form a valid group.

    O(members + nodes of the trees of values). The cheapest test comes first.
    """
    if n_members == 0:
        return False
    needed = limits.k
    if limits.k_of_row.size > 0:
        needed = np.int64(0)
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
            is_met = _is_diverse(
                counts[: limits.n_values[sensitive]],
                limits.l[sensitive],
                limits.l_kind[sensitive],
                limits.c[sensitive],
            )
        if is_met and limits.t[sensitive] >= 0.0:
            distance = _distance(
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

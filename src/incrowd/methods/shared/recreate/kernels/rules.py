"""What groups must meet beside one k: a tally of the rows of a group, and the test of it.

Where one k for all rows is all there is, there are no rules (None), and kernels compile without
this module's work.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled_inner
from incrowd.kernels.validity import DISTINCT, ROUNDING, distance_from_all, is_diverse
from incrowd.methods.shared.conditions import PackedConditions

K, SIZE_NOW, NEEDED, N_PEOPLE = range(4)
"""Places in ``Rules.numbers``: the k of all, and of the tally the rows, the k and the people."""

PROFILE_ROW, PROFILE_COUNT = range(2)


class Rules(NamedTuple):
    """The conditions of rows, and one tally that is used over and over.

    A distinct row stands for rows of a few *profiles*: rows that no condition tells apart. Its
    profiles are ``profiles[:, profile_start[distinct] : profile_start[distinct + 1]]``, a row and
    a count each, per ``unit[distinct]`` of its rows. ``limits`` speaks of the rows.
    ``k_of_distinct`` is the largest k of a distinct row's profiles, 0 where none has its own;
    ``grows_by_size``: a valid group stays valid with a row more if it is as large as the row asks.
    """

    limits: PackedConditions
    profile_start: NDArray[np.int64]
    profiles: NDArray[np.int64]
    unit: NDArray[np.int64]
    count_of_person: NDArray[np.int64]
    people: NDArray[np.int64]
    count_of_node: NDArray[np.int64]
    numbers: NDArray[np.int64]
    k_of_distinct: NDArray[np.int64]
    grows_by_size: Flag


def rules_of(
    limits: PackedConditions,
    profile_start: NDArray[np.int64],
    profiles: NDArray[np.int64],
    unit: NDArray[np.int64],
) -> Rules:
    """Return rules with an empty tally."""
    k_of_distinct = np.zeros(len(unit), dtype=np.int64)
    if limits.k_of_row.size and len(unit):
        wishes = limits.k_of_row[profiles[PROFILE_ROW]]
        k_of_distinct[:] = np.maximum.reduceat(wishes, profile_start[:-1])
    return Rules(
        limits,
        profile_start,
        profiles,
        unit,
        np.zeros(limits.n_people, dtype=np.int64),
        np.zeros(limits.n_people, dtype=np.int64),
        np.zeros(int(limits.tree_start[-1]), dtype=np.int64),
        np.asarray([limits.k, 0, limits.k, 0], dtype=np.int64),
        k_of_distinct,
        bool(np.all(limits.l_kind <= DISTINCT))
        and bool(np.all(limits.t < 0.0))
        and (limits.k_of_row.size == 0 or limits.person_of_row.size == 0),
    )


@compiled_inner
def clear_tally(rules: Rules) -> None:
    """Begin the tally of another group. O(people of the last, nodes of the trees of values)."""
    for place in range(rules.numbers[N_PEOPLE]):
        rules.count_of_person[rules.people[place]] = 0
    rules.numbers[SIZE_NOW] = 0
    rules.numbers[NEEDED] = rules.numbers[K]
    rules.numbers[N_PEOPLE] = 0
    rules.count_of_node[:] = 0


@compiled_inner
def tally(rules: Rules, distinct: Whole, count: Whole) -> None:
    """Count rows equal to a distinct row in, or out where ``count`` is negative.

    The k that is needed never falls on the way out: the tally is then stricter than the rule.
    O(profiles · sensitive columns).
    """
    limits = rules.limits
    times = count // rules.unit[distinct]
    rules.numbers[SIZE_NOW] += count
    for place in range(rules.profile_start[distinct], rules.profile_start[distinct + 1]):
        row = rules.profiles[PROFILE_ROW, place]
        n_rows = times * rules.profiles[PROFILE_COUNT, place]
        if limits.k_of_row.size > 0:
            rules.numbers[NEEDED] = max(rules.numbers[NEEDED], np.int64(limits.k_of_row[row]))
        if limits.person_of_row.size > 0:
            _tally_person(rules, np.int64(limits.person_of_row[row]), n_rows)
        for sensitive in range(limits.l.size):
            node = limits.tree_start[sensitive] + limits.code_of_row[sensitive, row]
            rules.count_of_node[node] += n_rows


@compiled_inner
def _tally_person(rules: Rules, person: Whole, n_rows: Whole) -> None:
    """Count a person's rows in or out; ``people`` lists those with any. O(1), or O(people) out."""
    before = rules.count_of_person[person]
    rules.count_of_person[person] += n_rows
    if before == 0 and n_rows > 0:
        rules.people[rules.numbers[N_PEOPLE]] = person
        rules.numbers[N_PEOPLE] += 1
    elif before > 0 and before + n_rows == 0:
        place = np.int64(0)
        while rules.people[place] != person:
            place += 1
        rules.numbers[N_PEOPLE] -= 1
        rules.people[place] = rules.people[rules.numbers[N_PEOPLE]]


@compiled_inner
def n_lacking(rules: Rules) -> Whole:
    """Return how many rows or people the tally lacks for the k that it needs. O(1)."""
    crowd = rules.numbers[SIZE_NOW]
    if rules.limits.person_of_row.size > 0:
        crowd = rules.numbers[N_PEOPLE]
    return max(np.int64(0), rules.numbers[NEEDED] - crowd)


@compiled_inner
def _is_column_met(rules: Rules, sensitive: Whole) -> Flag:
    """Return whether the tally meets l and t in one sensitive column. O(nodes of its tree)."""
    limits: Any = rules.limits
    start, end = limits.tree_start[sensitive], limits.tree_start[sensitive + 1]
    n_values = limits.n_values[sensitive]
    counts = rules.count_of_node[start:end]
    if limits.l_kind[sensitive] > 0 and not is_diverse(
        counts[:n_values], limits.l[sensitive], limits.l_kind[sensitive], limits.c[sensitive]
    ):
        return False
    if limits.t[sensitive] < 0.0:
        return True
    away = distance_from_all(
        counts,
        rules.numbers[SIZE_NOW],
        limits.tree_parent[start:end],
        limits.tree_weight[start:end],
        limits.tree_share[start:end],
    )
    counts[n_values + 1 :] = 0  # the inner nodes, where counts climbed to
    return away <= limits.t[sensitive] + ROUNDING


@compiled_inner
def is_met(rules: Rules) -> Flag:
    """Return whether the group of the tally is valid. O(nodes of the trees of values)."""
    if rules.numbers[SIZE_NOW] == 0 or n_lacking(rules) > 0:
        return False
    is_valid = True
    for sensitive in range(rules.limits.l.size):
        is_valid = is_valid and _is_column_met(rules, sensitive)
    return is_valid


@compiled_inner
def can_spare(rules: Rules, distinct: Whole, count: Whole) -> Flag:
    """Count rows out of a valid group if it stays valid; return whether they are out."""
    tally(rules, distinct, -count)
    if is_met(rules):
        return True
    tally(rules, distinct, count)
    return False


@compiled_inner
def is_wanted(rules: Rules, distinct: Whole) -> Flag:
    """Return whether a distinct row has what the tally has little of. O(its profiles).

    A person who is not in it yet, where people are lacking; else a value of which the group has
    less than its share, by l or of all rows.
    """
    limits = rules.limits
    lacks_people = limits.person_of_row.size > 0 and n_lacking(rules) > 0
    for place in range(rules.profile_start[distinct], rules.profile_start[distinct + 1]):
        row = rules.profiles[PROFILE_ROW, place]
        if lacks_people:
            if rules.count_of_person[limits.person_of_row[row]] == 0:
                return True
            continue
        for sensitive in range(limits.l.size):
            code = limits.code_of_row[sensitive, row]
            node = limits.tree_start[sensitive] + code
            count = np.float64(rules.count_of_node[node])
            size = np.float64(rules.numbers[SIZE_NOW])
            is_known = code < limits.n_values[sensitive]
            if limits.l_kind[sensitive] > 0 and is_known and count * limits.l[sensitive] < size:
                return True
            if limits.t[sensitive] >= 0.0 and count < size * limits.tree_share[node]:
                return True
    return False

"""Sweeps: for each row a smaller mask that keeps everybody's crowd.

Sets of cells are bits: ``sets[at]`` is one word of 64 where cells are few, ``sets[at, word]``
several words where they are not. A kernel is compiled for either: a branch on ``ndim`` is decided
then, and few cells cost no loop over words. For a profile, *acceptors* are rows whose mask covers
the cells in which they differ from it; a row's mutual crowd is those of its profile's acceptors
whose difference its own mask covers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner, compiled_into_callers
from incrowd.kernels.item_rows import n_set

N_TRIED = 16
"""How many of the nearest acceptors are tried as the next that a mask takes in."""

KEPT, NEW, TRIAL = 0, 1, 2
"""Sets that a new mask is made of: cells it must have, the mask so far, and one that is tried."""

ONE = np.uint64(1)


class People(NamedTuple):
    """Rows sorted by profile; ``codes[profile, attribute]``, ``start[profile]`` is its first row.

    An attribute's cells begin at ``first_cell[attribute]``; with ``is_bit``, which takes words of
    their own even where cells are few, it has one per value, and two rows differ in both of their
    values' cells.
    """

    codes: NDArray[np.int32]
    start: NDArray[np.int64]
    first_cell: NDArray[np.int64]
    is_bit: Flag


class Acceptors(NamedTuple):
    """One profile's acceptors: differences with their rows one after the other.

    Difference d has the rows ``row[start[d]:start[d + 1]]``.
    """

    away: NDArray[np.uint64]
    start: NDArray[np.int64]
    row: NDArray[np.int64]


class Table(NamedTuple):
    """All sets of few cells: their sizes, and how many acceptors differ within each.

    ``place[cells]`` is where the next acceptor with this difference goes.
    """

    size: NDArray[np.int64]
    n_within: NDArray[np.int64]
    place: NDArray[np.int64]


def table_of(n_cells: int) -> Table:
    """Return a table of all sets of so many cells."""
    sets = np.arange(1 << n_cells)
    size = np.zeros(len(sets), dtype=np.int64)
    for cell in range(n_cells):
        size += (sets >> cell) & 1
    return Table(size, np.zeros_like(size), np.zeros_like(size))


@compiled_into_callers
def empty_sets(n_sets: Whole, like: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return so many empty sets, of one word or of several as others are."""
    if like.ndim == 1:
        return np.zeros(n_sets, dtype=np.uint64)
    return np.zeros((n_sets, like.shape[1]), dtype=np.uint64)


@compiled_into_callers
def n_cells(sets: NDArray[np.uint64], at: Whole) -> Whole:
    """Return how many cells a set has."""
    if sets.ndim == 1:
        return n_set(np.uint64(sets[at]))
    count = np.int64(0)
    for word in range(sets.shape[1]):
        count += n_set(sets[at, word])
    return count


@compiled_into_callers
def is_within(
    sets: NDArray[np.uint64], at: Whole, others: NDArray[np.uint64], there: Whole
) -> Flag:
    """Return whether a set lies within another."""
    if sets.ndim == 1:
        return sets[at] & ~others[there] == 0
    outside = np.uint64(0)
    for word in range(sets.shape[1]):
        outside |= sets[at, word] & ~others[there, word]
    return outside == 0


@compiled_into_callers
def clear(sets: NDArray[np.uint64], at: Whole) -> None:
    """Empty a set."""
    if sets.ndim == 1:
        sets[at] = np.uint64(0)
    else:
        for word in range(sets.shape[1]):
            sets[at, word] = np.uint64(0)


@compiled_into_callers
def include(sets: NDArray[np.uint64], at: Whole, others: NDArray[np.uint64], there: Whole) -> None:
    """Take the cells of another set into a set."""
    if sets.ndim == 1:
        sets[at] |= others[there]
    else:
        for word in range(sets.shape[1]):
            sets[at, word] |= others[there, word]


@compiled_into_callers
def intersect(
    sets: NDArray[np.uint64], at: Whole, others: NDArray[np.uint64], one: Whole, other: Whole
) -> None:
    """Set a set to the cells that two others share."""
    if sets.ndim == 1:
        sets[at] = others[one] & others[other]
    else:
        for word in range(sets.shape[1]):
            sets[at, word] = others[one, word] & others[other, word]


@compiled_into_callers
def is_difference_within(
    people: People,
    profile: Whole,
    other: Whole,
    within: NDArray[np.uint64],
    there: Whole,
    sets: NDArray[np.uint64],
    at: Whole,
) -> Flag:
    """Set a set to the cells in which two profiles differ, if they all lie within another set.

    O(attributes); left as soon as one does not, the set is then undefined.
    """
    codes = people.codes
    if sets.ndim == 1:
        cells = np.uint64(0)
        for attribute in range(codes.shape[1]):
            if codes[profile, attribute] != codes[other, attribute]:
                cells |= ONE << np.uint64(attribute)
        if cells & ~within[there]:
            return False
        sets[at] = cells
        return True
    clear(sets, at)
    for attribute in range(codes.shape[1]):
        code, code_there = codes[profile, attribute], codes[other, attribute]
        if code == code_there:
            continue
        first = people.first_cell[attribute]
        cell = first + code if people.is_bit else first
        for _ in range(2 if people.is_bit else 1):
            bit = ONE << np.uint64(cell & 63)
            if not within[there, cell >> 6] & bit:
                return False
            sets[at, cell >> 6] |= bit
            cell = first + code_there
    return True


@compiled_inner
def set_union(
    people: People, mask: NDArray[np.uint64], profile: Whole, union: NDArray[np.uint64]
) -> None:
    """Set ``union[profile]`` to the cells that any row of the profile masks. O(its rows)."""
    clear(union, profile)
    for row in range(people.start[profile], people.start[profile + 1]):
        include(union, profile, mask, row)


@compiled
def count_crowds(people: People, mask: NDArray[np.uint64], crowd: NDArray[np.int64]) -> None:
    """Count everybody's mutual crowd anew, themselves included: ``mask[row]``, ``crowd[row]``.

    O(profiles² · attributes + mutual pairs).
    """
    start = people.start
    n_profiles = len(start) - 1
    union = empty_sets(n_profiles, mask)
    both, cells = empty_sets(1, mask), empty_sets(1, mask)
    for profile in range(n_profiles):
        crowd[start[profile] : start[profile + 1]] = start[profile + 1] - start[profile]
        set_union(people, mask, profile, union)
    for profile in range(n_profiles):
        if n_cells(union, profile) == 0:
            continue
        for other in range(profile):
            # rows on both sides whose masks cover the difference are mutual
            intersect(both, 0, union, profile, other)
            if n_cells(both, 0) == 0:
                continue
            if not is_difference_within(people, profile, other, both, 0, cells, 0):
                continue
            n_here, n_there = np.int64(0), np.int64(0)
            for row in range(start[profile], start[profile + 1]):
                n_here += np.int64(is_within(cells, 0, mask, row))
            for row in range(start[other], start[other + 1]):
                if is_within(cells, 0, mask, row):
                    n_there += 1
                    crowd[row] += n_here
            for row in range(start[profile], start[profile + 1]):
                if is_within(cells, 0, mask, row):
                    crowd[row] += n_there


@compiled_inner
def _empty_acceptors(n_profiles: Whole, mask: NDArray[np.uint64]) -> Acceptors:
    """Return room for the acceptors of any profile."""
    return Acceptors(
        empty_sets(n_profiles + 1, mask),
        np.zeros(n_profiles + 2, dtype=np.int64),
        np.zeros(len(mask), dtype=np.int64),
    )


@compiled_inner
def _accept(
    people: People,
    mask: NDArray[np.uint64],
    union: NDArray[np.uint64],
    profile: Whole,
    acceptors: Acceptors,
) -> Whole:
    """List a profile's acceptors by their profiles; return how many profiles they have.

    O(profiles · attributes + rows of profiles that may accept).
    """
    away, start = acceptors.away, acceptors.start
    n_away, n_rows = np.int64(0), np.int64(0)
    for other in range(len(people.codes)):
        if not is_difference_within(people, profile, other, union, other, away, n_away):
            continue
        start[n_away] = n_rows
        for row in range(people.start[other], people.start[other + 1]):
            if is_within(away, n_away, mask, row):
                acceptors.row[n_rows] = row
                n_rows += 1
        if n_rows > start[n_away]:
            n_away += 1
    start[n_away] = n_rows
    return n_away


@compiled_inner
def _gather(table: Table, listed: Acceptors, n_away: Whole, acceptors: Acceptors) -> Whole:
    """Gather listed acceptors by their difference, and count them by all sets of cells.

    Returns how many differences there are. O(acceptors + 2^cells · cells).
    """
    n_within, place = table.n_within, table.place
    n_within[:] = 0
    for at in range(n_away):
        n_within[np.int64(listed.away[at])] += listed.start[at + 1] - listed.start[at]
    # the differences that occur, and where the rows of each begin
    n_differences, n_rows = np.int64(0), np.int64(0)
    for cells in range(len(n_within)):
        if n_within[cells]:
            acceptors.away[n_differences] = np.uint64(cells)
            acceptors.start[n_differences] = place[cells] = n_rows
            n_differences += 1
            n_rows += n_within[cells]
    acceptors.start[n_differences] = n_rows
    for at in range(n_away):
        difference = np.int64(listed.away[at])
        for listed_place in range(listed.start[at], listed.start[at + 1]):
            acceptors.row[place[difference]] = listed.row[listed_place]
            place[difference] += 1
    # from numbers of a difference to numbers within a set, cell by cell
    bit = np.int64(1)
    while bit < len(n_within):
        for cells in range(len(n_within)):
            if cells & bit:
                n_within[cells] += n_within[cells ^ bit]
        bit <<= 1
    return n_differences


@compiled_inner
def _smallest(table: Table, old: Whole, sets: NDArray[np.uint64], k: Whole) -> Whole:
    """Set ``NEW`` to the smallest set around ``KEPT`` with a crowd of k, smaller than the old one.

    Of equally small ones the one with the largest crowd. Returns the crowd, 0 if there is none.
    O(2^cells).
    """
    size, n_within = table.size, table.n_within
    kept, best = np.int64(sets[KEPT]), old
    for cells in range(len(n_within)):
        if cells & kept != kept or n_within[cells] < k:
            continue
        less = size[best] - size[cells]
        is_fuller = best != old and n_within[cells] > n_within[best]
        if less > 0 or (less == 0 and is_fuller):
            best = np.int64(cells)
    sets[NEW] = np.uint64(best)
    return n_within[best] if best != old else np.int64(0)


@compiled_inner
def _n_within(acceptors: Acceptors, n_away: Whole, sets: NDArray[np.uint64], at: Whole) -> Whole:
    """Return how many acceptors differ within a set of cells."""
    count = np.int64(0)
    for difference in range(n_away):
        if is_within(acceptors.away, difference, sets, at):
            count += acceptors.start[difference + 1] - acceptors.start[difference]
    return count


@compiled_inner
def _list_nearest(
    acceptors: Acceptors, n_away: Whole, sets: NDArray[np.uint64], nearest: NDArray[np.int64]
) -> Whole:
    """List the differences with the fewest cells beyond ``NEW``; return how many."""
    n_listed = np.int64(0)
    for at in range(n_away):
        beyond = np.int64(0)
        for word in range(sets.shape[1]):
            beyond += n_set(acceptors.away[at, word] & ~sets[NEW, word])
        if beyond == 0:
            continue
        place = n_listed
        while place > 0 and nearest[1, place - 1] > beyond:
            place -= 1
        if place == N_TRIED:
            continue
        n_listed = min(n_listed + 1, np.int64(N_TRIED))
        for later in range(n_listed - 1, place, -1):
            nearest[:, later] = nearest[:, later - 1]
        nearest[0, place] = at
        nearest[1, place] = beyond
    return n_listed


@compiled_inner
def _grow(
    acceptors: Acceptors,
    n_away: Whole,
    sets: NDArray[np.uint64],
    k: Whole,
    most: Whole,
    nearest: NDArray[np.int64],
) -> Whole:
    """Set ``NEW`` to a set around ``KEPT`` with a crowd of k and fewer than ``most`` cells.

    Returns the crowd, 0 if it found none. O(cells · differences).
    """
    clear(sets, NEW)
    include(sets, NEW, sets, KEPT)
    crowd = _n_within(acceptors, n_away, sets, NEW)
    # take in, of the nearest differences, the one that brings most acceptors per cell
    while crowd < k:
        n_tried = _list_nearest(acceptors, n_away, sets, nearest)
        best, best_share, best_crowd = np.int64(-1), 0.0, np.int64(0)
        for place in range(n_tried):
            clear(sets, TRIAL)
            include(sets, TRIAL, sets, NEW)
            include(sets, TRIAL, acceptors.away, nearest[0, place])
            reached = _n_within(acceptors, n_away, sets, TRIAL)
            gain = min(reached, k) - crowd
            if gain / nearest[1, place] > best_share:
                best, best_share = nearest[0, place], gain / nearest[1, place]
                best_crowd = reached
        if best < 0:
            return np.int64(0)
        include(sets, NEW, acceptors.away, best)
        crowd = best_crowd
        if n_cells(sets, NEW) - n_cells(sets, KEPT) > 2 * most:
            return np.int64(0)
    # leave out cells that the crowd does not need
    for word in range(sets.shape[1]):
        spare = sets[NEW, word] & ~sets[KEPT, word]
        while spare:
            bit = spare & (~spare + ONE)
            spare ^= bit
            sets[NEW, word] ^= bit
            reached = _n_within(acceptors, n_away, sets, NEW)
            if reached >= k:
                crowd = reached
            else:
                sets[NEW, word] |= bit
    return crowd if n_cells(sets, NEW) < most else np.int64(0)


@compiled
def sweep(
    people: People,
    mask: NDArray[np.uint64],
    crowd: NDArray[np.int64],
    table: Table,
    profiles: NDArray[np.int64],
    asked: NDArray[np.int64],
) -> Whole:
    """Give each masked row of these profiles a mask that is smaller, if one is found.

    The new mask covers the differences to mutual rows that have nobody to spare, and to at least
    ``asked[row]`` acceptors, k or more. Of few cells it is the smallest such set, by a table of
    all sets; of many a small one, greedily, and the table is not looked at. Nobody's crowd falls
    below what they ask for. Returns how many masks changed. O(profiles² · attributes + masked
    rows · (2^cells + differences)), or O(… + masked rows · cells · differences).
    """
    n_profiles = len(people.codes)
    # union[profile]: a profile none of whose rows may accept is passed over at a glance
    union = empty_sets(n_profiles, mask)
    for profile in range(n_profiles):
        set_union(people, mask, profile, union)
    # acceptors as they are listed, profile by profile; of few cells gathered by difference besides,
    # which are far fewer
    listed = acceptors = _empty_acceptors(n_profiles, mask)
    if mask.ndim == 1:
        acceptors = _empty_acceptors(n_profiles, mask)
    away, start, row_at = acceptors.away, acceptors.start, acceptors.row
    sets = empty_sets(3, mask)
    nearest = np.zeros((2, N_TRIED), dtype=np.int64)
    n_changed = np.int64(0)
    for profile in profiles:
        if n_cells(union, profile) == 0:
            continue
        n_away = _accept(people, mask, union, profile, listed)
        if mask.ndim == 1:
            n_away = _gather(table, listed, n_away, acceptors)
        for row in range(people.start[profile], people.start[profile + 1]):
            n_old = n_cells(mask, row)
            if n_old == 0:
                continue
            # differences to mutual rows that have nobody to spare stay masked
            clear(sets, KEPT)
            for at in range(n_away):
                if not is_within(away, at, mask, row):
                    continue
                for place in range(start[at], start[at + 1]):
                    if crowd[row_at[place]] <= asked[row_at[place]]:
                        include(sets, KEPT, away, at)
                        break
            if n_cells(sets, KEPT) >= n_old:
                continue
            if mask.ndim == 1:
                reached = _smallest(table, np.int64(mask[row]), sets, asked[row])
            else:
                reached = _grow(acceptors, n_away, sets, asked[row], n_old, nearest)
            if reached == 0:
                continue
            # acceptors gain the row where its new mask covers the difference, or lose it
            n_changed += 1
            for at in range(n_away):
                change = np.int64(is_within(away, at, sets, NEW)) - np.int64(
                    is_within(away, at, mask, row)
                )
                if change:
                    for place in range(start[at], start[at + 1]):
                        crowd[row_at[place]] += change
            crowd[row] = reached
            clear(mask, row)
            include(mask, row, sets, NEW)
        set_union(people, mask, profile, union)
    return n_changed

"""Sweeps over many cells: for each row a small mask that keeps everybody's crowd, greedily.

Sets of cells are words of 64 bits. The words are those of ``kernel_sweeps``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner
from incrowd.kernels.item_rows import n_set

N_TRIED = 16
"""How many of the nearest acceptors are tried as the next that a mask takes in."""

ONE = np.uint64(1)


class WidePeople(NamedTuple):
    """Rows sorted by profile, as in ``kernel_sweeps.People``; ``mask[row, word]`` are its cells.

    An attribute's cells begin at ``first_cell[attribute]``; with ``is_bit`` it has one per value,
    and two rows differ in both of their values' cells.
    """

    codes: NDArray[np.int32]
    start: NDArray[np.int64]
    k: NDArray[np.int64]
    mask: NDArray[np.uint64]
    crowd: NDArray[np.int64]
    first_cell: NDArray[np.int64]
    is_bit: Flag


@compiled_inner
def n_cells(cells: NDArray[np.uint64]) -> Whole:
    """Return how many cells a set has."""
    count = np.int64(0)
    for word in cells:
        count += n_set(word)
    return count


@compiled_inner
def is_within(cells: NDArray[np.uint64], others: NDArray[np.uint64]) -> Flag:
    """Return whether a set lies within another."""
    outside = np.uint64(0)
    for word in range(len(cells)):
        outside |= cells[word] & ~others[word]
    return outside == 0


@compiled_inner
def difference(
    people: WidePeople,
    profile: Whole,
    other: Whole,
    within: NDArray[np.uint64],
    cells: NDArray[np.uint64],
) -> Flag:
    """Set ``cells`` to those in which two profiles differ; False as soon as one is not within."""
    cells[:] = np.uint64(0)
    for attribute in range(people.codes.shape[1]):
        code, code_there = people.codes[profile, attribute], people.codes[other, attribute]
        if code == code_there:
            continue
        first = people.first_cell[attribute]
        cell = first + code if people.is_bit else first
        for _ in range(2 if people.is_bit else 1):
            bit = ONE << np.uint64(cell & 63)
            if not within[cell >> 6] & bit:
                return False
            cells[cell >> 6] |= bit
            cell = first + code_there
    return True


@compiled_inner
def set_union(people: WidePeople, profile: Whole, union: NDArray[np.uint64]) -> None:
    """Set ``union`` to the cells that any row of a profile masks."""
    union[:] = np.uint64(0)
    for row in range(people.start[profile], people.start[profile + 1]):
        for word in range(len(union)):
            union[word] |= people.mask[row, word]


@compiled
def count_crowds(people: WidePeople) -> None:
    """Count everybody's mutual crowd anew. O(profiles² · attributes + mutual pairs)."""
    start = people.start
    n_profiles, n_words = len(start) - 1, people.mask.shape[1]
    union = np.zeros((n_profiles, n_words), dtype=np.uint64)
    both, cells = np.zeros(n_words, dtype=np.uint64), np.zeros(n_words, dtype=np.uint64)
    for profile in range(n_profiles):
        people.crowd[start[profile] : start[profile + 1]] = start[profile + 1] - start[profile]
        set_union(people, profile, union[profile])
    for profile in range(n_profiles):
        for other in range(profile):
            for word in range(n_words):
                both[word] = union[profile, word] & union[other, word]
            if not difference(people, profile, other, both, cells):
                continue
            n_here, n_there = np.int64(0), np.int64(0)
            for row in range(start[profile], start[profile + 1]):
                n_here += np.int64(is_within(cells, people.mask[row]))
            for row in range(start[other], start[other + 1]):
                if is_within(cells, people.mask[row]):
                    n_there += 1
                    people.crowd[row] += n_here
            for row in range(start[profile], start[profile + 1]):
                if is_within(cells, people.mask[row]):
                    people.crowd[row] += n_there


class Acceptors(NamedTuple):
    """One profile's acceptors: distinct differences with their rows one after the other.

    Difference d has the rows ``row[start[d]:start[d + 1]]``.
    """

    away: NDArray[np.uint64]
    start: NDArray[np.int64]
    row: NDArray[np.int64]


@compiled_inner
def _accept(
    people: WidePeople, acceptors: Acceptors, union: NDArray[np.uint64], profile: Whole
) -> Whole:
    """List a profile's acceptors by their profiles; return how many profiles they have."""
    n_away, n_rows = np.int64(0), np.int64(0)
    for other in range(len(people.codes)):
        cells = acceptors.away[n_away]
        if not difference(people, profile, other, union[other], cells):
            continue
        acceptors.start[n_away] = n_rows
        for row in range(people.start[other], people.start[other + 1]):
            if is_within(cells, people.mask[row]):
                acceptors.row[n_rows] = row
                n_rows += 1
        if n_rows > acceptors.start[n_away]:
            n_away += 1
    acceptors.start[n_away] = n_rows
    return n_away


@compiled_inner
def _n_within(acceptors: Acceptors, n_away: Whole, cells: NDArray[np.uint64]) -> Whole:
    """Return how many acceptors differ within a set of cells."""
    count = np.int64(0)
    for at in range(n_away):
        if is_within(acceptors.away[at], cells):
            count += acceptors.start[at + 1] - acceptors.start[at]
    return count


@compiled_inner
def _list_nearest(
    acceptors: Acceptors, n_away: Whole, cells: NDArray[np.uint64], nearest: NDArray[np.int64]
) -> Whole:
    """List acceptors' differences with the fewest cells beyond a set; return how many."""
    n_listed = np.int64(0)
    for at in range(n_away):
        beyond = np.int64(0)
        for word in range(len(cells)):
            beyond += n_set(acceptors.away[at, word] & ~cells[word])
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
    kept: NDArray[np.uint64],
    k: Whole,
    most: Whole,
    new: NDArray[np.uint64],
    trial: NDArray[np.uint64],
    nearest: NDArray[np.int64],
) -> Whole:
    """Set ``new`` to a set around ``kept`` with a crowd of k and fewer than ``most`` cells.

    Takes in, of the nearest differences, the one that brings most acceptors per cell, until there
    are enough; then leaves cells out that are not needed. Returns the crowd, 0 if it found none.
    O(cells · differences).
    """
    new[:] = kept
    crowd = _n_within(acceptors, n_away, new)
    while crowd < k:
        n_tried = _list_nearest(acceptors, n_away, new, nearest)
        best, best_share, best_crowd = np.int64(-1), 0.0, np.int64(0)
        for place in range(n_tried):
            at = nearest[0, place]
            for word in range(len(new)):
                trial[word] = new[word] | acceptors.away[at, word]
            reached = _n_within(acceptors, n_away, trial)
            gain = min(reached, k) - crowd
            if gain / nearest[1, place] > best_share:
                best, best_share, best_crowd = at, gain / nearest[1, place], reached
        if best < 0:
            return np.int64(0)
        for word in range(len(new)):
            new[word] |= acceptors.away[best, word]
        crowd = best_crowd
        if n_cells(new) - n_cells(kept) > 2 * most:
            return np.int64(0)
    for word in range(len(new)):
        spare = new[word] & ~kept[word]
        while spare:
            bit = spare & (~spare + ONE)
            spare ^= bit
            new[word] ^= bit
            reached = _n_within(acceptors, n_away, new)
            if reached >= k:
                crowd = reached
            else:
                new[word] |= bit
    return crowd if n_cells(new) < most else np.int64(0)


@compiled
def sweep(people: WidePeople, profiles: NDArray[np.int64], asked: NDArray[np.int64]) -> Whole:
    """Give each masked row of these profiles a mask that is smaller, if a greedy one is.

    The new mask covers the differences to mutual rows that have nobody to spare, and to at least
    ``asked[row]`` acceptors, k or more. Nobody's crowd falls below what they ask for. Returns
    how many masks changed. O(profiles² · attributes + masked rows · cells · differences).
    """
    mask, crowd = people.mask, people.crowd
    n_profiles, n_words = len(people.codes), mask.shape[1]
    union = np.zeros((n_profiles, n_words), dtype=np.uint64)
    for profile in range(n_profiles):
        set_union(people, profile, union[profile])
    acceptors = Acceptors(
        np.zeros((n_profiles + 1, n_words), dtype=np.uint64),
        np.zeros(n_profiles + 2, dtype=np.int64),
        np.zeros(len(crowd), dtype=np.int64),
    )
    kept, new = np.zeros(n_words, dtype=np.uint64), np.zeros(n_words, dtype=np.uint64)
    trial = np.zeros(n_words, dtype=np.uint64)
    nearest = np.zeros((2, N_TRIED), dtype=np.int64)
    n_changed = np.int64(0)
    for profile in profiles:
        if n_cells(union[profile]) == 0:
            continue
        n_away = _accept(people, acceptors, union, profile)
        for row in range(people.start[profile], people.start[profile + 1]):
            old = mask[row]
            n_old = n_cells(old)
            if n_old == 0:
                continue
            kept[:] = np.uint64(0)
            for at in range(n_away):
                if is_within(acceptors.away[at], old):
                    for place in range(acceptors.start[at], acceptors.start[at + 1]):
                        other = acceptors.row[place]
                        if crowd[other] <= asked[other]:
                            kept |= acceptors.away[at]
                            break
            if n_cells(kept) >= n_old:
                continue
            reached = _grow(acceptors, n_away, kept, asked[row], n_old, new, trial, nearest)
            if reached == 0:
                continue
            n_changed += 1
            for at in range(n_away):
                change = np.int64(is_within(acceptors.away[at], new)) - np.int64(
                    is_within(acceptors.away[at], old)
                )
                if change:
                    for place in range(acceptors.start[at], acceptors.start[at + 1]):
                        crowd[acceptors.row[place]] += change
            crowd[row] = reached
            mask[row] = new
        set_union(people, profile, union[profile])
    return n_changed

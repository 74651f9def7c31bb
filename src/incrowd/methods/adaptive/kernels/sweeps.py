"""Sweeps over few cells: for each row the smallest mask that keeps everybody's crowd, by table.

Sets of cells are bits of one number. For a profile, *acceptors* are rows whose mask covers the
cells in which they differ from it; a row's mutual crowd is those of its profile's acceptors whose
difference its own mask covers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner


class People(NamedTuple):
    """Rows sorted by profile; ``codes[profile, attribute]``, ``start[profile]`` is its first row.

    ``mask[row]`` are the masked attributes, ``crowd[row]`` the mutual crowd, the row included.
    """

    codes: NDArray[np.int32]
    start: NDArray[np.int64]
    k: NDArray[np.int64]
    mask: NDArray[np.int64]
    crowd: NDArray[np.int64]


@compiled_inner
def n_cells(cells: Whole) -> Whole:
    """Return how many cells a set has."""
    count = np.int64(0)
    while cells:
        cells &= cells - 1
        count += 1
    return count


@compiled_inner
def difference(codes: NDArray[np.int32], profile: Whole, other: Whole) -> Whole:
    """Return the attributes in which two profiles differ, as bits. O(attributes)."""
    cells = np.int64(0)
    for attribute in range(codes.shape[1]):
        if codes[profile, attribute] != codes[other, attribute]:
            cells |= np.int64(1) << attribute
    return cells


@compiled_inner
def union_of_masks(people: People, profile: Whole) -> Whole:
    """Return the cells that any row of a profile masks. O(its rows)."""
    union = np.int64(0)
    for row in range(people.start[profile], people.start[profile + 1]):
        union |= people.mask[row]
    return union


@compiled
def count_crowds(people: People) -> None:
    """Count everybody's mutual crowd anew. O(profiles² · attributes + mutual pairs)."""
    codes, start, mask = people.codes, people.start, people.mask
    n_profiles = len(start) - 1
    union = np.zeros(n_profiles, dtype=np.int64)
    for profile in range(n_profiles):
        people.crowd[start[profile] : start[profile + 1]] = start[profile + 1] - start[profile]
        union[profile] = union_of_masks(people, profile)
    for profile in range(n_profiles):
        for other in range(profile):
            if union[profile] == 0 or union[other] == 0:
                continue
            cells = difference(codes, profile, other)
            if cells & ~(union[profile] & union[other]):
                continue
            n_here, n_there = np.int64(0), np.int64(0)
            for row in range(start[profile], start[profile + 1]):
                n_here += np.int64(cells & ~mask[row] == 0)
            for row in range(start[other], start[other + 1]):
                if cells & ~mask[row] == 0:
                    n_there += 1
                    people.crowd[row] += n_here
            for row in range(start[profile], start[profile + 1]):
                if cells & ~mask[row] == 0:
                    people.crowd[row] += n_there


class Table(NamedTuple):
    """One profile's acceptors: their rows, their differences, and how many lie within each set."""

    row: NDArray[np.int64]
    away: NDArray[np.int64]
    n_within: NDArray[np.int64]
    size_of_set: NDArray[np.int64]


def empty_table(n_rows: int, n_attributes: int) -> Table:
    """Return room for the acceptors of any profile."""
    sets = np.arange(1 << n_attributes)
    size = np.zeros(len(sets), dtype=np.int64)
    for attribute in range(n_attributes):
        size += (sets >> attribute) & 1
    rows = np.zeros(n_rows, dtype=np.int64)
    return Table(rows, np.zeros_like(rows), np.zeros(len(sets), dtype=np.int64), size)


@compiled_inner
def _accept(people: People, table: Table, union: NDArray[np.int64], profile: Whole) -> Whole:
    """List a profile's acceptors; return how many they are.

    O(profiles · attributes + acceptors + 2^attributes · attributes).
    """
    n_found = np.int64(0)
    table.n_within[:] = 0
    for other in range(len(people.codes)):
        cells = difference(people.codes, profile, other)
        if cells & ~union[other]:
            continue
        for row in range(people.start[other], people.start[other + 1]):
            if cells & ~people.mask[row] == 0:
                table.row[n_found] = row
                table.away[n_found] = cells
                table.n_within[cells] += 1
                n_found += 1
    for attribute in range(people.codes.shape[1]):
        bit = np.int64(1) << attribute
        for cells in range(len(table.n_within)):
            if cells & bit:
                table.n_within[cells] += table.n_within[cells ^ bit]
    return n_found


@compiled_inner
def _smallest(table: Table, old: Whole, kept: Whole, k: Whole) -> Whole:
    """Return the smallest set of cells around ``kept`` with a crowd of k, if it is smaller.

    Else the old one. Of equally small ones the one with the largest crowd. O(2^attributes).
    """
    best = np.int64(old)
    for cells in range(len(table.n_within)):
        if cells & kept != kept or table.n_within[cells] < k:
            continue
        less = table.size_of_set[best] - table.size_of_set[cells]
        is_fuller = best != old and table.n_within[cells] > table.n_within[best]
        if less > 0 or (less == 0 and is_fuller):
            best = np.int64(cells)
    return best


@compiled
def sweep(
    people: People, table: Table, profiles: NDArray[np.int64], asked: NDArray[np.int64]
) -> Whole:
    """Give each masked row of these profiles a mask that is smaller, if there is one.

    The new mask covers the differences to mutual rows that have nobody to spare, and to at least
    ``asked[row]`` acceptors, k or more; the smallest such set is found by a table of all sets.
    Nobody's crowd falls below what they ask for. Returns how many masks changed.
    O(profiles² · attributes + masked rows · (2^attributes + acceptors)).
    """
    mask, crowd = people.mask, people.crowd
    union = np.zeros(len(people.codes), dtype=np.int64)
    for profile in range(len(people.codes)):
        union[profile] = union_of_masks(people, profile)
    n_changed = np.int64(0)
    for profile in profiles:
        if union[profile] == 0:
            continue
        n_acceptors = _accept(people, table, union, profile)
        for row in range(people.start[profile], people.start[profile + 1]):
            old = mask[row]
            if old == 0:
                continue
            kept = np.int64(0)
            for place in range(n_acceptors):
                other, cells = table.row[place], table.away[place]
                if cells & ~old == 0 and crowd[other] <= asked[other]:
                    kept |= cells
            if table.size_of_set[kept] == table.size_of_set[old]:
                continue
            new = _smallest(table, old, kept, asked[row])
            if new == old:
                continue
            n_changed += 1
            for place in range(n_acceptors):
                other, cells = table.row[place], table.away[place]
                crowd[other] += np.int64(cells & ~new == 0) - np.int64(cells & ~old == 0)
            crowd[row] = table.n_within[new]
            mask[row] = new
        union[profile] = union_of_masks(people, profile)
    return n_changed

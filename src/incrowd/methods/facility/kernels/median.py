"""Lower-bounded medians by greedy stars and local search, and the cutting of large groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner


@compiled
def cut_group(
    members: NDArray[np.int32],
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    weight: NDArray[np.int64],
    need: NDArray[np.int64],
    n_holding: NDArray[np.int64],
    is_held: NDArray[np.bool_],
    part_of_atom: NDArray[np.int32],
    first_part: Whole,
) -> Whole:
    """Write each member's part, numbered from ``first_part``; return the number after the last.

    Members that are enough rows by themselves leave first, where the others can spare them. Then,
    as in fixed-size microaggregation (Domingo-Ferrer and Torra 2005), by Hamming distance: a part
    is the member with the largest total distance to those left and its nearest among them, until
    it has the rows that the most demanding of it asks for. The last part is what is left when no
    other could be taken from it. ``n_holding`` (zero before and after) and ``is_held`` (false) have
    room for every item. O(parts · entries of the group).
    """
    part: Whole = first_part
    left = np.empty(len(members), dtype=np.int32)
    n_left = 0
    rows_of_others = np.int64(0)
    asked_of_others = np.int64(0)
    for place in range(len(members)):
        atom = members[place]
        if weight[atom] < need[atom]:
            rows_of_others += weight[atom]
            asked_of_others = max(asked_of_others, need[atom])
    for place in range(len(members)):
        atom = members[place]
        if weight[atom] >= need[atom] and rows_of_others >= asked_of_others:
            part_of_atom[atom] = part
            part += 1
            continue
        if weight[atom] >= need[atom]:
            rows_of_others += weight[atom]
            asked_of_others = max(asked_of_others, need[atom])
        left[n_left] = atom
        n_left += 1
    if n_left == 0:
        return part
    n_rows = np.int64(0)
    n_entries = np.int64(0)
    for place in range(n_left):
        atom = left[place]
        n_rows += weight[atom]
        n_entries += weight[atom] * (starts[atom + 1] - starts[atom])
        for at in range(starts[atom], starts[atom + 1]):
            n_holding[items[at]] += weight[atom]
    while n_left > 1:
        seed = left[0]
        farthest = np.int64(-1)
        for place in range(n_left):
            atom = left[place]
            total = n_rows * (starts[atom + 1] - starts[atom]) + n_entries
            for at in range(starts[atom], starts[atom + 1]):
                total -= 2 * n_holding[items[at]]
            if total > farthest:
                farthest = total
                seed = atom
        for at in range(starts[seed], starts[seed + 1]):
            is_held[items[at]] = True
        keys = np.empty(n_left, dtype=np.int64)
        for place in range(n_left):
            atom = left[place]
            distance = starts[seed + 1] - starts[seed] + starts[atom + 1] - starts[atom]
            for at in range(starts[atom], starts[atom + 1]):
                if is_held[items[at]]:
                    distance -= 2
            keys[place] = distance * n_left + place
        for at in range(starts[seed], starts[seed + 1]):
            is_held[items[at]] = False
        keys.sort()
        n_taken = 0
        rows_taken = np.int64(0)
        asked = np.int64(0)
        while n_taken < n_left and (n_taken == 0 or rows_taken < asked):
            atom = left[keys[n_taken] % n_left]
            rows_taken += weight[atom]
            asked = max(asked, need[atom])
            n_taken += 1
        asked_of_rest = np.int64(1)
        for rank in range(n_taken, n_left):
            asked_of_rest = max(asked_of_rest, need[left[keys[rank] % n_left]])
        if rows_taken < asked or n_rows - rows_taken < asked_of_rest:
            break
        for rank in range(n_taken):
            atom = left[keys[rank] % n_left]
            part_of_atom[atom] = part
            n_rows -= weight[atom]
            n_entries -= weight[atom] * (starts[atom + 1] - starts[atom])
            for at in range(starts[atom], starts[atom + 1]):
                n_holding[items[at]] -= weight[atom]
        part += 1
        rest = np.empty(n_left - n_taken, dtype=np.int32)
        for rank in range(n_taken, n_left):
            rest[rank - n_taken] = left[keys[rank] % n_left]
        rest.sort()
        left = rest
        n_left -= n_taken
    for place in range(n_left):
        atom = left[place]
        part_of_atom[atom] = part
        for at in range(starts[atom], starts[atom + 1]):
            n_holding[items[at]] = 0
    return part + 1


# Lower-bounded medians: greedy stars, then moves and better centres while the total falls.

NONE = -1


class Stars(NamedTuple):
    """Stars as they are taken: ``star_of_atom``, each star's centre, and room to work in.

    ``live_end[item]`` is where the holders of an item that are in no star end in ``holders``.
    ``smaller`` has all atoms by the size of their sets, ``counters``: stars, rows in none, where
    the atoms in none begin in ``smaller``.
    """

    star_of_atom: NDArray[np.int32]
    centre: NDArray[np.int32]
    holders: NDArray[np.int32]
    live_end: NDArray[np.int64]
    smaller: NDArray[np.int32]
    common: NDArray[np.int32]
    touched: NDArray[np.int32]
    by_distance: NDArray[np.int64]
    counters: NDArray[np.int64]


def no_stars(
    starts: NDArray[np.int64],
    holder_starts: NDArray[np.int64],
    holders: NDArray[np.int32],
    weight: NDArray[np.int64],
) -> Stars:
    """Return the state before any star is taken."""
    n_atoms = len(weight)
    return Stars(
        np.full(n_atoms, NONE, dtype=np.int32),
        np.empty(n_atoms, dtype=np.int32),
        holders.copy(),
        holder_starts[1:].copy(),
        np.argsort(np.diff(starts), kind="stable").astype(np.int32),
        np.zeros(n_atoms, dtype=np.int32),
        np.empty(n_atoms, dtype=np.int32),
        np.empty(n_atoms, dtype=np.int64),
        np.asarray([0, weight.sum(), 0], dtype=np.int64),
    )


@compiled_inner
def _touch_free(
    atom: Whole,
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    holder_starts: NDArray[np.int64],
    stars: Stars,
) -> Whole:
    """Count common items with every atom in no star; return how many share one with the atom."""
    n_touched = np.int64(0)
    for place in range(starts[atom], starts[atom + 1]):
        item = items[place]
        at = holder_starts[item]
        while at < stars.live_end[item]:
            other = stars.holders[at]
            if stars.star_of_atom[other] != NONE:
                # swap it behind the end: it is never looked at again
                stars.live_end[item] -= 1
                stars.holders[at] = stars.holders[stars.live_end[item]]
                continue
            if stars.common[other] == 0:
                stars.touched[n_touched] = other
                n_touched += 1
            stars.common[other] += 1
            at += 1
    return n_touched


@compiled
def take_stars(
    first: Whole,
    end: Whole,
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    holder_starts: NDArray[np.int64],
    weight: NDArray[np.int64],
    need: NDArray[np.int64],
    stars: Stars,
) -> None:
    """Make each of these atoms that is in no star the centre of one, while rows suffice.

    A star takes the nearest atoms in no star (ties: lower numbers) until it has as many rows as
    the most demanding of them asks for. Where the rows left do not suffice, nothing is taken.
    """
    n_atoms = len(weight)
    for place in range(first, end):
        centre = order[place]
        if stars.star_of_atom[centre] != NONE:
            continue
        if stars.counters[1] < need[centre]:
            continue
        size = starts[centre + 1] - starts[centre]
        n_touched = _touch_free(centre, starts, items, holder_starts, stars)
        for at in range(n_touched):
            other = stars.touched[at]
            distance = size + starts[other + 1] - starts[other] - 2 * stars.common[other]
            stars.by_distance[at] = distance * n_atoms + other
            stars.common[other] = 0
        nearest = np.sort(stars.by_distance[:n_touched])
        star = stars.counters[0]
        asked = need[centre]
        n_rows = weight[centre]
        stars.star_of_atom[centre] = star
        n_taken = 1
        stars.touched[0] = centre
        near = 0
        far = stars.counters[2]
        while n_rows < asked:
            # the nearest of those with a common item, and the smallest set of all that are free
            while near < n_touched and stars.star_of_atom[nearest[near] % n_atoms] != NONE:
                near += 1
            while far < n_atoms and stars.star_of_atom[stars.smaller[far]] != NONE:
                far += 1
            if far == n_atoms:
                break
            other = np.int64(stars.smaller[far])
            distance = size + starts[other + 1] - starts[other]
            if near < n_touched and nearest[near] // n_atoms <= distance:
                other = nearest[near] % n_atoms
            stars.star_of_atom[other] = star
            stars.touched[n_taken] = other
            n_taken += 1
            n_rows += weight[other]
            asked = max(asked, need[other])
        if n_rows < asked:
            for at in range(n_taken):
                stars.star_of_atom[stars.touched[at]] = NONE
            continue
        stars.centre[star] = centre
        stars.counters[0] += 1
        stars.counters[1] -= n_rows
        while (
            stars.counters[2] < n_atoms
            and stars.star_of_atom[stars.smaller[stars.counters[2]]] != NONE
        ):
            stars.counters[2] += 1


@compiled
def move_nearer(
    nearest: NDArray[np.int32],
    distance: NDArray[np.int64],
    nearest_distance: NDArray[np.int64],
    weight: NDArray[np.int64],
    need: NDArray[np.int64],
    n_rows: NDArray[np.int64],
    asked: NDArray[np.int64],
    star_of_atom: NDArray[np.int32],
) -> Whole:
    """Move atoms to their nearest centres where both stars keep enough rows; return how many.

    ``asked[star]`` is never lowered when an atom leaves: it may ask for more than it must.
    """
    n_moved = 0
    for atom in range(len(weight)):
        old, new = star_of_atom[atom], nearest[atom]
        if old == new or nearest_distance[atom] >= distance[atom]:
            continue
        if n_rows[old] - weight[atom] < asked[old]:
            continue
        if n_rows[new] + weight[atom] < max(asked[new], need[atom]):
            continue
        n_rows[old] -= weight[atom]
        n_rows[new] += weight[atom]
        asked[new] = max(asked[new], need[atom])
        star_of_atom[atom] = new
        n_moved += 1
    return n_moved


@compiled
def best_centres(
    member_starts: NDArray[np.int64],
    members: NDArray[np.int32],
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    weight: NDArray[np.int64],
    n_items: Whole,
    centre: NDArray[np.int32],
) -> Whole:
    """Make the atom with the least total distance each star's centre; return that of all stars.

    The sum over v of |u| + |v| − 2|u ∩ v| needs only how many members hold each item of u.
    O(entries). Ties: the centre stays, else the lowest number.
    """
    n_holding = np.zeros(n_items, dtype=np.int64)
    total = np.int64(0)
    for star in range(len(member_starts) - 1):
        n_rows = np.int64(0)
        n_entries = np.int64(0)
        for at in range(member_starts[star], member_starts[star + 1]):
            atom = members[at]
            n_rows += weight[atom]
            n_entries += weight[atom] * (starts[atom + 1] - starts[atom])
            for place in range(starts[atom], starts[atom + 1]):
                n_holding[items[place]] += weight[atom]
        least = np.int64(-1)
        best = centre[star]
        for at in range(member_starts[star], member_starts[star + 1]):
            atom = members[at]
            distance = n_rows * (starts[atom + 1] - starts[atom]) + n_entries
            for place in range(starts[atom], starts[atom + 1]):
                distance -= 2 * n_holding[items[place]]
            if least < 0 or distance < least or (distance == least and atom == centre[star]):
                least = distance
                best = atom
        centre[star] = best
        total += max(least, np.int64(0))
        for at in range(member_starts[star], member_starts[star + 1]):
            atom = members[at]
            for place in range(starts[atom], starts[atom + 1]):
                n_holding[items[place]] = 0
    return total


@compiled
def distances_to(
    star_of_atom: NDArray[np.int32],
    centre: NDArray[np.int32],
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
) -> NDArray[np.int64]:
    """Return how far each atom is from its star's centre, by walking both sets in order."""
    distance = np.empty(len(star_of_atom), dtype=np.int64)
    for atom in range(len(star_of_atom)):
        other = centre[star_of_atom[atom]]
        one, two = starts[atom], starts[other]
        n_common = 0
        while one < starts[atom + 1] and two < starts[other + 1]:
            if items[one] == items[two]:
                n_common += 1
                one += 1
                two += 1
            elif items[one] < items[two]:
                one += 1
            else:
                two += 1
        distance[atom] = starts[atom + 1] - starts[atom] + starts[other + 1] - starts[other]
        distance[atom] -= 2 * n_common
    return distance

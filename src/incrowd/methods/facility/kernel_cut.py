"""Cutting a group: the member farthest from all others leaves with its nearest, and so on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled


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

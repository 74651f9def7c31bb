"""The cutting of large groups, as in fixed-size microaggregation."""

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
    part_of_distinct: NDArray[np.int32],
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
    # members that are enough rows by themselves leave, if the others can spare them
    part: Whole = first_part
    left = np.empty(len(members), dtype=np.int32)
    n_left = 0
    rows_of_others = np.int64(0)
    asked_of_others = np.int64(0)
    for place in range(len(members)):
        distinct = members[place]
        if weight[distinct] < need[distinct]:
            rows_of_others += weight[distinct]
            asked_of_others = max(asked_of_others, need[distinct])
    for place in range(len(members)):
        distinct = members[place]
        if weight[distinct] >= need[distinct] and rows_of_others >= asked_of_others:
            part_of_distinct[distinct] = part
            part += 1
            continue
        if weight[distinct] >= need[distinct]:
            rows_of_others += weight[distinct]
            asked_of_others = max(asked_of_others, need[distinct])
        left[n_left] = distinct
        n_left += 1
    if n_left == 0:
        return part
    # n_holding: of the rows left, how many hold each item
    n_rows = np.int64(0)
    n_entries = np.int64(0)
    for place in range(n_left):
        distinct = left[place]
        n_rows += weight[distinct]
        n_entries += weight[distinct] * (starts[distinct + 1] - starts[distinct])
        for at in range(starts[distinct], starts[distinct + 1]):
            n_holding[items[at]] += weight[distinct]
    while n_left > 1:
        # the seed of the next part: the member with the largest total distance to those left
        seed = left[0]
        farthest = np.int64(-1)
        for place in range(n_left):
            distinct = left[place]
            total = n_rows * (starts[distinct + 1] - starts[distinct]) + n_entries
            for at in range(starts[distinct], starts[distinct + 1]):
                total -= 2 * n_holding[items[at]]
            if total > farthest:
                farthest = total
                seed = distinct
        # keys: the members left by their distance to the seed, ties by their place
        for at in range(starts[seed], starts[seed + 1]):
            is_held[items[at]] = True
        keys = np.empty(n_left, dtype=np.int64)
        for place in range(n_left):
            distinct = left[place]
            distance = starts[seed + 1] - starts[seed] + starts[distinct + 1] - starts[distinct]
            for at in range(starts[distinct], starts[distinct + 1]):
                if is_held[items[at]]:
                    distance -= 2
            keys[place] = distance * n_left + place
        for at in range(starts[seed], starts[seed + 1]):
            is_held[items[at]] = False
        keys.sort()
        # the nearest, until they are as many rows as the most demanding of them asks for
        n_taken = 0
        rows_taken = np.int64(0)
        asked = np.int64(0)
        while n_taken < n_left and (n_taken == 0 or rows_taken < asked):
            distinct = left[keys[n_taken] % n_left]
            rows_taken += weight[distinct]
            asked = max(asked, need[distinct])
            n_taken += 1
        # what is left must have enough rows too, else all of it is the last part
        asked_of_rest = np.int64(1)
        for rank in range(n_taken, n_left):
            asked_of_rest = max(asked_of_rest, need[left[keys[rank] % n_left]])
        if rows_taken < asked or n_rows - rows_taken < asked_of_rest:
            break
        # the part leaves
        for rank in range(n_taken):
            distinct = left[keys[rank] % n_left]
            part_of_distinct[distinct] = part
            n_rows -= weight[distinct]
            n_entries -= weight[distinct] * (starts[distinct + 1] - starts[distinct])
            for at in range(starts[distinct], starts[distinct + 1]):
                n_holding[items[at]] -= weight[distinct]
        part += 1
        rest = np.empty(n_left - n_taken, dtype=np.int32)
        for rank in range(n_taken, n_left):
            rest[rank - n_taken] = left[keys[rank] % n_left]
        rest.sort()
        left = rest
        n_left -= n_taken
    for place in range(n_left):
        distinct = left[place]
        part_of_distinct[distinct] = part
        for at in range(starts[distinct], starts[distinct + 1]):
            n_holding[items[at]] = 0
    return part + 1

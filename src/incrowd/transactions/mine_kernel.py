"""Every set of up to three public items that some transaction holds, with what it breaks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner

NO_ITEM = -1


@compiled_inner
def _judge(
    rows: NDArray[np.int32],
    first: Whole,
    last: Whole,
    size: Whole,
    public_starts: NDArray[np.int64],
    sensitive_starts: NDArray[np.int64],
    sensitive_items: NDArray[np.int32],
    limits: NDArray[np.int64],
    confidence: float,
    count_of_item: NDArray[np.int32],
    told: NDArray[np.int32],
) -> int:
    """Put what the public items of these rows break into ``told``; return how many.

    ``limits`` are k, the largest size and the item that stands for no sensitive one. O(entries of
    the rows); ``count_of_item`` is zero before and after.
    """
    support = last - first
    n_met = 0
    has_more = False
    for place in range(first, last):
        row = rows[place]
        if public_starts[row + 1] - public_starts[row] > size:
            has_more = True
        for entry in range(sensitive_starts[row], sensitive_starts[row + 1]):
            item = sensitive_items[entry]
            if count_of_item[item] == 0:
                told[n_met] = item
                n_met += 1
            count_of_item[item] += 1
    n_told = 0
    for place in range(n_met):
        item = told[place]
        # a quotient, not a product: 7 of 10 is then exactly the 0.7 that was stated
        if support < limits[0] or count_of_item[item] / support > confidence:
            told[n_told] = item
            n_told += 1
        count_of_item[item] = 0
    if n_told > 1:
        told[:n_told].sort()
    if n_met == 0 and support < limits[0] and (size == limits[1] or not has_more):
        told[0] = limits[2]
        n_told = 1
    return n_told


@compiled_inner
def _group(
    rows: NDArray[np.int32],
    places: NDArray[np.int64],
    first: Whole,
    last: Whole,
    public_starts: NDArray[np.int64],
    public_items: NDArray[np.int32],
    next_of_item: NDArray[np.int64],
    into_rows: NDArray[np.int32],
    into_places: NDArray[np.int64],
    into_items: NDArray[np.int32],
    into_starts: NDArray[np.int64],
) -> int:
    """Group the entries behind these places by their items; return how many items there are.

    Group g has the item ``into_items[g]`` and the entries ``into_starts[g]:into_starts[g + 1]``,
    rows ascending as before. ``next_of_item`` is zero before and after. O(entries, and groups ·
    log).
    """
    n_groups = 0
    for at in range(first, last):
        for entry in range(places[at] + 1, public_starts[rows[at] + 1]):
            item = public_items[entry]
            if next_of_item[item] == 0:
                into_items[n_groups] = item
                n_groups += 1
            next_of_item[item] += 1
    into_items[:n_groups].sort()
    begins = 0
    for group in range(n_groups):
        item = into_items[group]
        into_starts[group] = begins
        begins += next_of_item[item]
        next_of_item[item] = into_starts[group]
    into_starts[n_groups] = begins
    for at in range(first, last):
        for entry in range(places[at] + 1, public_starts[rows[at] + 1]):
            item = public_items[entry]
            into_rows[next_of_item[item]] = rows[at]
            into_places[next_of_item[item]] = entry
            next_of_item[item] += 1
    for group in range(n_groups):
        next_of_item[into_items[group]] = 0
    return n_groups


@compiled
def mine(
    first_item: Whole,
    last_item: Whole,
    public_starts: NDArray[np.int64],
    public_items: NDArray[np.int32],
    sensitive_starts: NDArray[np.int64],
    sensitive_items: NDArray[np.int32],
    rows_of_item: NDArray[np.int32],
    places_of_item: NDArray[np.int64],
    item_starts: NDArray[np.int64],
    limits: NDArray[np.int64],
    confidence: float,
    scratch_rows: NDArray[np.int32],
    scratch_places: NDArray[np.int64],
    found: NDArray[np.int32],
    n_found: Whole,
) -> Whole:
    """Write the broken rules whose first public item lies in a range behind those there are.

    ``found[rule]`` are up to three public items, −1 for none, and the sensitive item. Ends where
    there is no more room, having counted one rule too many. Walks the sets depth first, by their
    least items; each set's transactions are a part of its prefix's. O(Σ over transactions of the
    number of their sets).
    """
    n_items = len(item_starts) - 1
    half = len(scratch_rows) // 2
    count_of_item = np.zeros(n_items, dtype=np.int32)
    next_of_item = np.zeros(n_items, dtype=np.int64)
    told = np.empty(n_items + 1, dtype=np.int32)
    second_items = np.empty(n_items, dtype=np.int32)
    second_starts = np.empty(n_items + 1, dtype=np.int64)
    third_items = np.empty(n_items, dtype=np.int32)
    third_starts = np.empty(n_items + 1, dtype=np.int64)
    for item in range(first_item, last_item):
        begins, ends = item_starts[item], item_starts[item + 1]
        if begins == ends:
            continue
        n_told = _judge(
            rows_of_item, begins, ends, 1, public_starts, sensitive_starts, sensitive_items,
            limits, confidence, count_of_item, told,
        )  # fmt: skip
        for place in range(n_told):
            if n_found == len(found):
                return n_found + 1
            found[n_found, 0] = item
            found[n_found, 1] = NO_ITEM
            found[n_found, 2] = NO_ITEM
            found[n_found, 3] = told[place]
            n_found += 1
        if limits[1] < 2:
            continue
        n_seconds = _group(
            rows_of_item, places_of_item, begins, ends, public_starts, public_items, next_of_item,
            scratch_rows[:half], scratch_places[:half], second_items, second_starts,
        )  # fmt: skip
        for second in range(n_seconds):
            n_told = _judge(
                scratch_rows, second_starts[second], second_starts[second + 1], 2, public_starts,
                sensitive_starts, sensitive_items, limits, confidence, count_of_item, told,
            )  # fmt: skip
            for place in range(n_told):
                if n_found == len(found):
                    return n_found + 1
                found[n_found, 0] = item
                found[n_found, 1] = second_items[second]
                found[n_found, 2] = NO_ITEM
                found[n_found, 3] = told[place]
                n_found += 1
            if limits[1] < 3:
                continue
            n_thirds = _group(
                scratch_rows, scratch_places, second_starts[second], second_starts[second + 1],
                public_starts, public_items, next_of_item,
                scratch_rows[half:], scratch_places[half:], third_items, third_starts,
            )  # fmt: skip
            for third in range(n_thirds):
                n_told = _judge(
                    scratch_rows[half:], third_starts[third], third_starts[third + 1], 3,
                    public_starts, sensitive_starts, sensitive_items, limits, confidence,
                    count_of_item, told,
                )  # fmt: skip
                for place in range(n_told):
                    if n_found == len(found):
                        return n_found + 1
                    found[n_found, 0] = item
                    found[n_found, 1] = second_items[second]
                    found[n_found, 2] = third_items[third]
                    found[n_found, 3] = told[place]
                    n_found += 1
    return n_found

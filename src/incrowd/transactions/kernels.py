"""Loops over transactions: items replaced by generalized ones, itemsets counted and mined."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner, compiled_into_callers


@compiled
def replace_items(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    new_of_item: NDArray[np.int32],
    n_new: Whole,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return rows of the new items, each once in a row and ascending; O(entries + new items).

    Rows are gathered by item and the items, in order, handed back to their rows: no sorting.
    """
    n_rows = len(starts) - 1
    last_row = np.full(n_new, -1, dtype=np.int64)
    new_starts = np.zeros(n_rows + 1, dtype=np.int64)
    list_start = np.zeros(n_new + 2, dtype=np.int64)
    for row in range(n_rows):
        n_distinct = 0
        for entry in range(starts[row], starts[row + 1]):
            new = new_of_item[items[entry]]
            if last_row[new] != row:
                last_row[new] = row
                list_start[new + 2] += 1
                n_distinct += 1
        new_starts[row + 1] = new_starts[row] + n_distinct
    for new in range(2, len(list_start)):
        list_start[new] += list_start[new - 1]
    row_of = np.empty(new_starts[n_rows], dtype=np.int32)
    last_row[:] = -1
    for row in range(n_rows):
        for entry in range(starts[row], starts[row + 1]):
            new = new_of_item[items[entry]]
            if last_row[new] != row:
                last_row[new] = row
                row_of[list_start[new + 1]] = row
                list_start[new + 1] += 1
    new_items = np.empty(len(row_of), dtype=np.int32)
    next_entry = new_starts[:-1].copy()
    for new in range(n_new):
        for at in range(list_start[new], list_start[new + 1]):
            row = row_of[at]
            new_items[next_entry[row]] = new
            next_entry[row] += 1
    return new_starts, new_items


# Loops that count which rows hold all of some items.

ROWS_OF_LIST = 2
"""A list is walked where it has at most so many rows for each word of bits."""


@compiled_into_callers
def count_bits(word: Whole) -> Whole:
    """Return how many bits of a word are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled_into_callers
def _has(words: NDArray[np.uint64], place: Whole, row: Whole) -> Flag:
    return (words[place, row >> 6] >> np.uint64(row & 63)) & np.uint64(1) != np.uint64(0)


@compiled_inner
def index_rows(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    first: Whole,
    end: Whole,
    place_of_item: NDArray[np.int32],
    words: NDArray[np.uint64],
    list_start: NDArray[np.int64],
    listed: NDArray[np.int32],
) -> None:
    """Make the lists and the bits of rows ``first`` to ``end``, rows counted from ``first``."""
    words[:] = 0
    list_start[:] = 0
    for entry in range(starts[first], starts[end]):
        place = place_of_item[items[entry]]
        if place >= 0:
            list_start[place + 2] += 1
    for place in range(2, len(list_start)):
        list_start[place] += list_start[place - 1]
    # list_start[place + 1] is where the next row of the place goes; at the end, where its list ends
    for row in range(end - first):
        for entry in range(starts[first + row], starts[first + row + 1]):
            place = place_of_item[items[entry]]
            if place >= 0:
                listed[list_start[place + 1]] = row
                list_start[place + 1] += 1
                words[place, row >> 6] |= np.uint64(1) << np.uint64(row & 63)


@compiled_inner
def find_shortest(
    list_start: NDArray[np.int64], places: NDArray[np.int32], low: Whole, high: Whole
) -> Whole:
    """Return which of ``places[low:high]`` has the shortest list."""
    best = places[low]
    for at in range(low + 1, high):
        place = places[at]
        if list_start[place + 1] - list_start[place] < list_start[best + 1] - list_start[best]:
            best = place
    return best


@compiled_inner
def holds_all(
    words: NDArray[np.uint64], places: NDArray[np.int32], low: Whole, high: Whole, row: Whole
) -> Flag:
    """Whether a row of the block has all of ``places[low:high]``."""
    at = low
    while at < high and _has(words, places[at], row):
        at += 1
    return at == high


@compiled_inner
def intersect_word(
    words: NDArray[np.uint64], places: NDArray[np.int32], low: Whole, high: Whole, word: Whole
) -> Whole:
    """Return the bits of the rows that have all of ``places[low:high]``, 64 rows at a time."""
    found = words[places[low], word]
    for at in range(low + 1, high):
        found &= words[places[at], word]
    return found


@compiled
def count_itemsets(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    place_of_item: NDArray[np.int32],
    n_places: Whole,
    rows_at_once: Whole,
    set_starts: NDArray[np.int64],
    places: NDArray[np.int32],
    support: NDArray[np.int64],
) -> None:
    """Add to ``support[set]`` the rows that have ``places[set_starts[set]:set_starts[set + 1]]``.

    O(entries + sets · min(rows / 64, the rarest place's rows)).
    """
    n_rows = len(starts) - 1
    words = np.zeros((n_places, (rows_at_once + 63) >> 6), dtype=np.uint64)
    list_start = np.zeros(n_places + 2, dtype=np.int64)
    listed = np.empty(0, dtype=np.int32)
    for first in range(0, n_rows, rows_at_once):
        end = min(first + rows_at_once, n_rows)
        n_words = (end - first + 63) >> 6
        if starts[end] - starts[first] > len(listed):
            listed = np.empty(starts[end] - starts[first], dtype=np.int32)
        index_rows(starts, items, first, end, place_of_item, words, list_start, listed)
        for one in range(len(support)):
            low, high = set_starts[one], set_starts[one + 1]
            rarest = find_shortest(list_start, places, low, high)
            if list_start[rarest + 1] - list_start[rarest] <= ROWS_OF_LIST * n_words:
                for at in range(list_start[rarest], list_start[rarest + 1]):
                    support[one] += holds_all(words, places, low, high, listed[at])
                continue
            for word in range(n_words):
                support[one] += count_bits(intersect_word(words, places, low, high, word))


# Every set of up to three public items that some transaction holds, with what it breaks.

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
            # rules with this item alone on the left
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
        # rules with a second item: this item's transactions by their later items
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
            # rules with a third item
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

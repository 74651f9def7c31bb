"""Groups of rows that are shown equal: buckets of a mask, and splits by a value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner

NONE = -1

N_EXACT = 8
"""How many of the splits that look best are counted exactly."""

COUNT, LENGTH, SHORT = range(3)
"""Lines of ``Values.runs``."""

BEST_VALUE, BEST_LENGTH, BEST_SHORT, BEST_COUNT = range(4)
"""Lines of ``Values.best``."""


class Values(NamedTuple):
    """The values of all attributes, numbered through, and room to measure them in a group.

    An attribute's values begin at ``first[attribute]``. ``met`` lists the values that occur,
    ``best`` the splits that look best; the last two are for counting what a split masks.
    """

    first: NDArray[np.int64]
    attribute_of_value: NDArray[np.int64]
    runs: NDArray[np.int64]
    met: NDArray[np.int64]
    best: NDArray[np.int64]
    is_varied: NDArray[np.bool_]
    row_of_side: NDArray[np.int64]


def values_of(n_values: NDArray[np.int64]) -> Values:
    """Return room for splits over attributes of so many values."""
    first = np.concatenate([[0], np.cumsum(n_values)]).astype(np.int64)
    return Values(
        first,
        np.repeat(np.arange(len(n_values)), n_values).astype(np.int64),
        np.zeros((3, int(first[-1])), dtype=np.int64),
        np.zeros(int(first[-1]), dtype=np.int64),
        np.zeros((4, N_EXACT), dtype=np.int64),
        np.zeros((2, len(n_values)), dtype=np.bool_),
        np.zeros(2, dtype=np.int64),
    )


@compiled
def fill_buckets(
    codes: NDArray[np.int32],
    need: NDArray[np.int64],
    order: NDArray[np.int64],
    hash_of_value: NDArray[np.uint64],
    first_value: NDArray[np.int64],
    masks: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return every row's group, NONE for those that fit nowhere.

    ``codes[row, attribute]``; ``order`` has the rows by rising need; ``masks`` are sets of
    attributes, as bits. For each mask the rows that are left are put into buckets by the sum of
    the hashes of their other values; the longest run of a bucket, by need, whose largest need is
    not above its length becomes a group and leaves. Two unlike rows whose sums agree by chance
    make a group that is dear, not wrong: what a group masks is counted from its members.
    O(masks · rows left · attributes).
    """
    n_rows, n_attributes = codes.shape
    group_of_row = np.full(n_rows, NONE, dtype=np.int64)
    left = order.copy()
    n_left = len(left)
    # whole: the sum of the hashes of all of a row's values
    whole = np.zeros(n_rows, dtype=np.uint64)
    for row in range(n_rows):
        for attribute in range(n_attributes):
            whole[row] += hash_of_value[first_value[attribute] + codes[row, attribute]]
    # a hash table of buckets, which shrinks as rows leave
    bits = 1
    while (1 << bits) < 2 * n_rows:
        bits += 1
    key_of_slot = np.zeros(1 << bits, dtype=np.uint64)
    n_in_slot = np.zeros(1 << bits, dtype=np.int64)
    length_of_slot = np.zeros(1 << bits, dtype=np.int64)
    group_of_slot = np.zeros(1 << bits, dtype=np.int64)
    slot_of_place = np.zeros(n_rows, dtype=np.int64)
    masked = np.zeros(n_attributes, dtype=np.int64)
    n_groups = np.int64(0)
    for mask in masks:
        if n_left == 0:
            break
        # one mask: its attributes, and an empty table
        n_masked = 0
        for attribute in range(n_attributes):
            if (mask >> attribute) & 1:
                masked[n_masked] = attribute
                n_masked += 1
        while bits > 1 and (1 << (bits - 1)) >= 2 * n_left:
            bits -= 1
        n_slots = 1 << bits
        shift = np.uint64(64 - bits)
        n_in_slot[:n_slots] = 0
        length_of_slot[:n_slots] = 0
        is_any = False
        # rows by rising need into buckets; length_of_slot: the longest run whose last need is met
        for place in range(n_left):
            row = left[place]
            key = whole[row]
            for at in range(n_masked):
                attribute = masked[at]
                key -= hash_of_value[first_value[attribute] + codes[row, attribute]]
            slot = np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> shift)
            while n_in_slot[slot] > 0 and key_of_slot[slot] != key:
                slot = (slot + 1) & (n_slots - 1)
            key_of_slot[slot] = key
            n_in_slot[slot] += 1
            slot_of_place[place] = slot
            if need[row] <= n_in_slot[slot]:
                length_of_slot[slot] = n_in_slot[slot]
                is_any = True
        if not is_any:
            continue
        # those runs become groups and leave; the others stay, in their order
        n_in_slot[:n_slots] = 0
        n_kept = 0
        for place in range(n_left):
            row, slot = left[place], slot_of_place[place]
            n_in_slot[slot] += 1
            if n_in_slot[slot] > length_of_slot[slot]:
                left[n_kept] = row
                n_kept += 1
                continue
            if n_in_slot[slot] == 1:
                group_of_slot[slot] = n_groups
                n_groups += 1
            group_of_row[row] = group_of_slot[slot]
        n_left = n_kept
    return group_of_row


@compiled_inner
def n_varied(codes: NDArray[np.int32], order: NDArray[np.int64], start: Whole, end: Whole) -> Whole:
    """Return in how many attributes these rows differ. O(rows · attributes) at worst."""
    n_differing = np.int64(0)
    for attribute in range(codes.shape[1]):
        code = codes[order[start], attribute]
        for place in range(start + 1, end):
            if codes[order[place], attribute] != code:
                n_differing += 1
                break
    return n_differing


@compiled_inner
def _part(
    codes: NDArray[np.int32],
    order: NDArray[np.int64],
    spare: NDArray[np.int64],
    start: Whole,
    end: Whole,
    attribute: Whole,
    code: Whole,
    length: Whole,
) -> None:
    """Put the first ``length`` rows with a value in front, into ``spare``; both by rising need."""
    front, back = np.int64(start), np.int64(start + length)
    for place in range(start, end):
        row = order[place]
        if codes[row, attribute] == code and front < start + length:
            spare[front] = row
            front += 1
        else:
            spare[back] = row
            back += 1


@compiled_inner
def _measure(
    codes: NDArray[np.int32],
    need: NDArray[np.int64],
    order: NDArray[np.int64],
    start: Whole,
    end: Whole,
    values: Values,
) -> Whole:
    """Find the valid runs of every value among these rows; return how many values occur.

    LENGTH is the longest valid run, SHORT the longest that leaves enough rows for anybody.
    """
    n_met = np.int64(0)
    most_short = end - start - need[order[end - 1]]
    for place in range(start, end):
        row = order[place]
        for attribute in range(codes.shape[1]):
            value = values.first[attribute] + codes[row, attribute]
            seen = values.runs[COUNT, value] + 1
            values.runs[COUNT, value] = seen
            if seen == 1:
                values.met[n_met] = value
                n_met += 1
            if need[row] <= seen:
                values.runs[LENGTH, value] = seen
                if seen <= most_short:
                    values.runs[SHORT, value] = seen
    return n_met


@compiled_inner
def _take_best(values: Values, n_met: Whole, size: Whole) -> Whole:
    """List the values with the longest runs that leave two rows; return how many are listed."""
    n_best = np.int64(0)
    for at in range(n_met):
        value = values.met[at]
        length = values.runs[LENGTH, value]
        if size - length < 2:
            length = values.runs[SHORT, value]
        if length < 2:
            continue
        place = n_best
        while place > 0 and values.best[BEST_LENGTH, place - 1] < length:
            place -= 1
        if place == N_EXACT:
            continue
        n_best = min(n_best + 1, np.int64(N_EXACT))
        for later in range(n_best - 1, place, -1):
            values.best[:, later] = values.best[:, later - 1]
        values.best[BEST_VALUE, place] = value
        values.best[BEST_LENGTH, place] = length
        values.best[BEST_SHORT, place] = values.runs[SHORT, value]
        values.best[BEST_COUNT, place] = values.runs[COUNT, value]
    return n_best


@compiled_inner
def _is_rest_valid(
    codes: NDArray[np.int32],
    need: NDArray[np.int64],
    order: NDArray[np.int64],
    start: Whole,
    end: Whole,
    values: Values,
    place: Whole,
) -> Flag:
    """Return whether what a listed split leaves is a group: its last row has the largest need."""
    value, length = values.best[BEST_VALUE, place], values.best[BEST_LENGTH, place]
    attribute = values.attribute_of_value[value]
    last = end - 1
    if length == values.best[BEST_COUNT, place]:
        while codes[order[last], attribute] == value - values.first[attribute]:
            last -= 1
    return need[order[last]] <= end - start - length


@compiled_inner
def _n_masked_after(
    codes: NDArray[np.int32],
    order: NDArray[np.int64],
    start: Whole,
    end: Whole,
    values: Values,
    place: Whole,
    n_varied_before: Whole,
) -> Whole:
    """Return how many cells the two sides of a listed split mask.

    Looks at rows only until both sides are known to differ wherever the group does. O(rows ·
    attributes) at worst.
    """
    value, length = values.best[BEST_VALUE, place], values.best[BEST_LENGTH, place]
    attribute_of_split = values.attribute_of_value[value]
    code = value - values.first[attribute_of_split]
    values.is_varied[:] = False
    values.row_of_side[:] = NONE
    n_varied_front, n_varied_rest, n_front = np.int64(0), np.int64(0), np.int64(0)
    for at in range(start, end):
        if n_varied_front == n_varied_before - 1 and n_varied_rest == n_varied_before:
            break
        row, side = order[at], 1
        if n_front < length and codes[row, attribute_of_split] == code:
            n_front += 1
            side = 0
        first = values.row_of_side[side]
        if first == NONE:
            values.row_of_side[side] = row
            continue
        for attribute in range(codes.shape[1]):
            if not values.is_varied[side, attribute] and (
                codes[row, attribute] != codes[first, attribute]
            ):
                values.is_varied[side, attribute] = True
                if side == 0:
                    n_varied_front += 1
                else:
                    n_varied_rest += 1
    return length * n_varied_front + (end - start - length) * n_varied_rest


@compiled_inner
def _gain(
    codes: NDArray[np.int32],
    need: NDArray[np.int64],
    order: NDArray[np.int64],
    start: Whole,
    end: Whole,
    values: Values,
    place: Whole,
    n_varied_before: Whole,
) -> Whole:
    """Return how many cells a listed split would show, 0 if it is not valid.

    Where the longest run leaves too few rows for the others, the short one is taken.
    """
    if not _is_rest_valid(codes, need, order, start, end, values, place):
        if values.best[BEST_SHORT, place] < 2:
            return np.int64(0)
        values.best[BEST_LENGTH, place] = values.best[BEST_SHORT, place]
    after = _n_masked_after(codes, order, start, end, values, place, n_varied_before)
    return (end - start) * n_varied_before - after


@compiled
def split_groups(
    codes: NDArray[np.int32],
    need: NDArray[np.int64],
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
    values: Values,
) -> NDArray[np.int64]:
    """Split groups by a value, and again, while that shows more cells; return where groups start.

    ``order`` has the rows group by group, each by rising need, and is put in order by the new
    groups. A split takes the longest run, by need, of the rows with one value whose largest need
    is not above its length; the rest must be valid too. Of the splits that take most rows, a few
    are counted exactly, and the best is made. About O(rows · attributes · depth).
    """
    spare = np.empty(len(order), dtype=np.int64)
    is_start = np.zeros(len(order) + 1, dtype=np.bool_)
    is_start[len(order)] = True
    waiting = [(starts[group], starts[group + 1]) for group in range(len(starts) - 1)]
    while len(waiting) > 0:
        start, end = waiting.pop()
        is_start[start] = True
        if end - start < 4:
            continue
        n_met = _measure(codes, need, order, start, end, values)
        n_best = _take_best(values, n_met, end - start)
        n_varied_before = np.int64(codes.shape[1])
        for at in range(n_met):
            n_varied_before -= np.int64(values.runs[COUNT, values.met[at]] == end - start)
            values.runs[:, values.met[at]] = 0
        most, best = np.int64(0), np.int64(NONE)
        for place in range(n_best):
            gain = _gain(codes, need, order, start, end, values, place, n_varied_before)
            if gain > most:
                most, best = gain, np.int64(place)
        if best == NONE:
            continue
        middle = start + values.best[BEST_LENGTH, best]
        value = values.best[BEST_VALUE, best]
        attribute = values.attribute_of_value[value]
        code = value - values.first[attribute]
        _part(codes, order, spare, start, end, attribute, code, middle - start)
        order[start:end] = spare[start:end]
        waiting.append((start, middle))
        waiting.append((middle, end))
    return np.flatnonzero(is_start)


@compiled
def count_masked(
    codes: NDArray[np.int32], order: NDArray[np.int64], starts: NDArray[np.int64]
) -> Whole:
    """Return how many cells groups mask: those in which their rows differ. O(cells)."""
    n_masked = np.int64(0)
    for group in range(len(starts) - 1):
        start, end = starts[group], starts[group + 1]
        if end > start:
            n_masked += (end - start) * n_varied(codes, order, start, end)
    return n_masked

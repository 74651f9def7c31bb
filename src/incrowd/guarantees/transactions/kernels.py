"""Loops that count rules and small itemsets in released transactions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner
from incrowd.transactions.kernels import (
    ROWS_OF_LIST,
    count_bits,
    find_shortest,
    holds_all,
    index_rows,
    intersect_word,
)


@compiled
def count_rules(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    place_of_item: NDArray[np.int32],
    n_places: Whole,
    rows_at_once: Whole,
    rule_starts: NDArray[np.int64],
    n_public: NDArray[np.int64],
    places: NDArray[np.int32],
    support: NDArray[np.int64],
    joint: NDArray[np.int64],
) -> None:
    """Add to ``support[rule]`` the rows with its public places, to ``joint`` those with all.

    A rule's places are ``places[rule_starts[rule]:rule_starts[rule + 1]]``, the public ones first.
    O(entries + rules · min(rows / 64, the rarest public place's rows)).
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
        for rule in range(len(support)):
            low, high = rule_starts[rule], rule_starts[rule + 1]
            middle = low + n_public[rule]
            rarest = find_shortest(list_start, places, low, middle)
            n_listed = list_start[rarest + 1] - list_start[rarest]
            if n_listed <= ROWS_OF_LIST * n_words:
                for at in range(list_start[rarest], list_start[rarest + 1]):
                    if holds_all(words, places, low, middle, listed[at]):
                        support[rule] += 1
                        joint[rule] += holds_all(words, places, middle, high, listed[at])
                continue
            for word in range(n_words):
                found = intersect_word(words, places, low, middle, word)
                if found != np.uint64(0):
                    support[rule] += count_bits(found)
                    joint[rule] += count_bits(
                        found & intersect_word(words, places, middle, high, word)
                    )


@compiled_inner
def _add_row(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    row: Whole,
    sensitive_of_item: NDArray[np.int32],
    joint: NDArray[np.int32],
) -> None:
    for entry in range(starts[row], starts[row + 1]):
        sensitive = sensitive_of_item[items[entry]]
        if sensitive >= 0:
            joint[sensitive] += 1


@compiled
def count_with_every_sensitive(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    place_of_item: NDArray[np.int32],
    sensitive_of_item: NDArray[np.int32],
    n_places: Whole,
    rows_at_once: Whole,
    set_starts: NDArray[np.int64],
    places: NDArray[np.int32],
    support: NDArray[np.int64],
    joint: NDArray[np.int32],
) -> None:
    """Add to ``support[set]`` the rows with its places, to ``joint[set, s]`` those that hold s.

    O(entries + the sets' supports times the length of a row).
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
                    if holds_all(words, places, low, high, listed[at]):
                        support[one] += 1
                        _add_row(starts, items, first + listed[at], sensitive_of_item, joint[one])
                continue
            for word in range(n_words):
                found = intersect_word(words, places, low, high, word)
                row = first + (word << 6)
                while found != np.uint64(0):
                    if found & np.uint64(1) != np.uint64(0):
                        support[one] += 1
                        _add_row(starts, items, row, sensitive_of_item, joint[one])
                    found >>= np.uint64(1)
                    row += 1


@compiled
def find_untrue(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    is_sensitive: NDArray[np.bool_],
    original_starts: NDArray[np.int64],
    original_items: NDArray[np.int32],
    original_row: NDArray[np.int64],
    released_of_item: NDArray[np.int64],
    untrue: NDArray[np.uint8],
) -> None:
    """Say of every released row whether it is exactly what its original row generalizes to.

    ``untrue[row]`` gets 1 for public items and 2 for sensitive ones that it shows without reason
    or does not show; an original item that no released one stands for counts as public.
    """
    last_row = np.full(len(is_sensitive), -1, dtype=np.int64)
    n_shown = np.zeros(2, dtype=np.int64)
    n_had = np.zeros(2, dtype=np.int64)
    for row in range(len(starts) - 1):
        n_shown[:] = 0
        n_had[:] = 0
        mine = original_row[row]
        for entry in range(original_starts[mine], original_starts[mine + 1]):
            item = released_of_item[original_items[entry]]
            if item < 0:
                untrue[row] |= np.uint8(1)
            elif last_row[item] != row:
                last_row[item] = row
                n_had[np.int64(is_sensitive[item])] += 1
        for entry in range(starts[row], starts[row + 1]):
            item = items[entry]
            kind = np.int64(is_sensitive[item])
            n_shown[kind] += 1
            if last_row[item] != row:
                untrue[row] |= np.uint8(kind + 1)
        for either in range(2):
            if n_shown[either] != n_had[either]:
                untrue[row] |= np.uint8(either + 1)


# Loops that count every pair or triple of items that rows hold, one first item after the other.

N_SETS, N_BROKEN, LEAST = 0, 1, 2


@compiled_inner
def _count_after(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    weight: NDArray[np.int64],
    entries: NDArray[np.int64],
    rows: NDArray[np.int32],
    k: Whole,
    support: NDArray[np.int64],
    met: NDArray[np.int32],
    is_exposed: NDArray[np.bool_],
    tally: NDArray[np.int64],
) -> None:
    """Count the items that follow these entries in their rows, and tally those below k.

    ``support`` is all 0 before and after; ``met`` is room for as many items as there are.
    """
    n_met = 0
    for at in range(len(entries)):
        row = rows[at]
        for entry in range(entries[at] + 1, starts[row + 1]):
            item = items[entry]
            if support[item] == 0:
                met[n_met] = item
                n_met += 1
            support[item] += weight[row]
    n_broken = 0
    for at in range(n_met):
        n_broken += support[met[at]] < k
        tally[LEAST] = min(tally[LEAST], support[met[at]])
    tally[N_SETS] += n_met
    tally[N_BROKEN] += n_broken
    if n_broken:
        for at in range(len(entries)):
            row = rows[at]
            for entry in range(entries[at] + 1, starts[row + 1]):
                is_exposed[row] |= support[items[entry]] < k
    for at in range(n_met):
        support[met[at]] = 0


@compiled_inner
def _entries_by_item(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    entries: NDArray[np.int64],
    rows: NDArray[np.int32],
    list_start: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the entries that follow these in their rows, item by item, and their rows.

    The list of an item ends at ``list_start[item + 1]``.
    """
    list_start[:] = 0
    for at in range(len(entries)):
        for entry in range(entries[at] + 1, starts[rows[at] + 1]):
            list_start[items[entry] + 2] += 1
    for item in range(2, len(list_start)):
        list_start[item] += list_start[item - 1]
    n_following = list_start[len(list_start) - 1]
    following = np.empty(n_following, dtype=np.int64)
    row_of = np.empty(n_following, dtype=np.int32)
    for at in range(len(entries)):
        for entry in range(entries[at] + 1, starts[rows[at] + 1]):
            place = list_start[items[entry] + 1]
            following[place] = entry
            row_of[place] = rows[at]
            list_start[items[entry] + 1] += 1
    return following, row_of


@compiled
def count_shown(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    weight: NDArray[np.int64],
    n_items: Whole,
    low: Whole,
    high: Whole,
    has_three: Flag,
    k: Whole,
    is_exposed: NDArray[np.bool_],
    tally: NDArray[np.int64],
) -> None:
    """Count every pair, or triple, whose first item is from ``low`` to ``high``.

    Row r stands for ``weight[r]`` transactions. O(Σ size²) over rows for pairs, O(Σ size³) for
    triples; memory is 12 bytes for each entry of these first items, and for triples again for
    each entry that follows one first item.
    """
    n_of_first = np.zeros(high - low + 2, dtype=np.int64)
    for entry in range(len(items)):
        if low <= items[entry] < high:
            n_of_first[items[entry] - low + 2] += 1
    for first in range(2, len(n_of_first)):
        n_of_first[first] += n_of_first[first - 1]
    entries = np.empty(n_of_first[high - low + 1], dtype=np.int64)
    rows = np.empty(len(entries), dtype=np.int32)
    for row in range(len(starts) - 1):
        for entry in range(starts[row], starts[row + 1]):
            first = items[entry] - low
            if 0 <= first < high - low:
                entries[n_of_first[first + 1]] = entry
                rows[n_of_first[first + 1]] = row
                n_of_first[first + 1] += 1
    support = np.zeros(n_items, dtype=np.int64)
    met = np.empty(n_items, dtype=np.int32)
    list_start = np.empty(n_items + 2, dtype=np.int64)
    for first in range(high - low):
        mine = entries[n_of_first[first] : n_of_first[first + 1]]
        row_of = rows[n_of_first[first] : n_of_first[first + 1]]
        if not has_three:
            _count_after(starts, items, weight, mine, row_of, k, support, met, is_exposed, tally)
            continue
        following, their_rows = _entries_by_item(starts, items, mine, row_of, list_start)
        for second in range(low + first + 1, n_items):
            begin, end = list_start[second], list_start[second + 1]
            if begin < end:
                _count_after(
                    starts,
                    items,
                    weight,
                    following[begin:end],
                    their_rows[begin:end],
                    k,
                    support,
                    met,
                    is_exposed,
                    tally,
                )

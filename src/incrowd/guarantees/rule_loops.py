"""Loops that count rules in released transactions, and hold transactions against their originals.

Blocks, lists and bits are those of ``incrowd.data.itemset_loops``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner
from incrowd.data.itemset_loops import (
    ROWS_OF_LIST,
    fill,
    has_all,
    n_bits,
    shortest,
    word_of_all,
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
        fill(starts, items, first, end, place_of_item, words, list_start, listed)
        for rule in range(len(support)):
            low, high = rule_starts[rule], rule_starts[rule + 1]
            middle = low + n_public[rule]
            rarest = shortest(list_start, places, low, middle)
            n_listed = list_start[rarest + 1] - list_start[rarest]
            if n_listed <= ROWS_OF_LIST * n_words:
                for at in range(list_start[rarest], list_start[rarest + 1]):
                    if has_all(words, places, low, middle, listed[at]):
                        support[rule] += 1
                        joint[rule] += has_all(words, places, middle, high, listed[at])
                continue
            for word in range(n_words):
                found = word_of_all(words, places, low, middle, word)
                if found != np.uint64(0):
                    support[rule] += n_bits(found)
                    joint[rule] += n_bits(found & word_of_all(words, places, middle, high, word))


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
        fill(starts, items, first, end, place_of_item, words, list_start, listed)
        for one in range(len(support)):
            low, high = set_starts[one], set_starts[one + 1]
            rarest = shortest(list_start, places, low, high)
            if list_start[rarest + 1] - list_start[rarest] <= ROWS_OF_LIST * n_words:
                for at in range(list_start[rarest], list_start[rarest + 1]):
                    if has_all(words, places, low, high, listed[at]):
                        support[one] += 1
                        _add_row(starts, items, first + listed[at], sensitive_of_item, joint[one])
                continue
            for word in range(n_words):
                found = word_of_all(words, places, low, high, word)
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

"""Loops over rows that hold items: lists of them, and bits where an item is common."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import compiled
from incrowd.encoding.fitting_kernels import is_listed
from incrowd.transactions.kernels import count_bits


@compiled
def count_holders(
    list_start: NDArray[np.int64],
    rows: NDArray[np.int32],
    words_of_item: NDArray[np.int32],
    words: NDArray[np.uint64],
    known: NDArray[np.int32],
    own_row: NDArray[np.int64],
    n_holders: NDArray[np.int64],
    is_holder: NDArray[np.bool_],
) -> None:
    """Count, for each person, the rows that hold all known items, and whether their own does.

    Item i is held by ``rows[list_start[i]:list_start[i + 1]]``, rising, and, where it is common,
    by the bits ``words[words_of_item[i]]``. A known item of −1 is held by nobody. The shortest
    list is walked; where every known item is common, their bits are met instead.
    """
    n_words = words.shape[1]
    for person in range(len(known)):
        items = known[person]
        # the rarest known item, and whether all are common
        shortest, are_common, is_missing = items[0], True, False
        for item in items:
            if item < 0:
                is_missing = True
                break
            are_common &= words_of_item[item] >= 0
            length = list_start[item + 1] - list_start[item]
            if length < list_start[shortest + 1] - list_start[shortest]:
                shortest = item
        if is_missing:
            n_holders[person] = 0
            continue
        n_found = 0
        # common items only: intersect their bits
        if are_common:
            for word in range(n_words):
                met = words[words_of_item[items[0]], word]
                for item in items[1:]:
                    met &= words[words_of_item[item], word]
                n_found += count_bits(met)
                if own_row[person] >> 6 == word:
                    at = np.uint64(own_row[person] & 63)
                    is_holder[person] = (met >> at) & np.uint64(1) == np.uint64(1)
            n_holders[person] = n_found
            continue
        # a rare item: walk its rows, test the other items
        for place in range(list_start[shortest], list_start[shortest + 1]):
            row = rows[place]
            holds_all = True
            for item in items:
                if item == shortest:
                    continue
                if words_of_item[item] >= 0:
                    word = words[words_of_item[item], row >> 6]
                    holds_all = (word >> np.uint64(row & 63)) & np.uint64(1) == np.uint64(1)
                else:
                    holds_all = is_listed(rows, list_start[item], list_start[item + 1], row)
                if not holds_all:
                    break
            if holds_all:
                n_found += 1
                if row == own_row[person]:
                    is_holder[person] = True
        n_holders[person] = n_found

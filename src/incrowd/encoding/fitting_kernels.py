"""The loop that matches what is known of people with released rows, by lists or by bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner


@compiled_inner
def is_listed(numbers: NDArray[np.int32], start: Whole, end: Whole, number: Whole) -> Flag:
    """Whether a number is in a rising list, by halving it."""
    low, high = start, end
    while low < high:
        middle = (low + high) // 2
        if numbers[middle] < number:
            low = middle + 1
        else:
            high = middle
    return low < end and numbers[low] == number


@compiled
def match_rows(
    values: NDArray[np.int32],
    is_known: NDArray[np.bool_],
    shown: NDArray[np.int32],
    cell_start: NDArray[np.int64],
    cells: NDArray[np.int32],
    list_start: NDArray[np.int64],
    listed: NDArray[np.int32],
    words_of_cell: NDArray[np.int32],
    words: NDArray[np.uint64],
    n_of_known: NDArray[np.int64],
    weight_of_released: NDArray[np.int64],
    weight_of_known: NDArray[np.int64],
    n_of_released: NDArray[np.int64],
    pair_known: NDArray[np.int64],
    pair_released: NDArray[np.int64],
) -> int:
    """Visit every pair of a known row and a released row that fits it; return their number.

    ``values[known, column]`` and ``shown[released, column]`` are numbered over all columns. A value
    fits ``cells[cell_start[value]:cell_start[value + 1]]``, rising; a cell is shown by the rows
    ``listed[list_start[cell]:…]`` and, where it is common, by the bits
    ``words[words_of_cell[cell]]``. Weights of released rows are summed by known row, numbers of
    known rows by released row; pairs are kept as far as there is room. Each known row takes the
    cheaper way: the shortest lists of a column, row by row, or the bits of all its columns.
    """
    n_released, n_columns = shown.shape
    n_words = (n_released + 63) // 64
    every = np.empty(n_words, dtype=np.uint64)
    one = np.empty(n_words, dtype=np.uint64)
    n_pairs = 0
    for known in range(len(values)):
        # what either way would cost: the lists of the best column, or the bits of all columns
        best, shortest, n_asked, by_bits = -1, n_released + 1, 0, n_words
        for column in range(n_columns):
            if is_known[known, column]:
                n_asked += 1
                length = 0
                value = values[known, column]
                by_bits += 2 * n_words
                for place in range(cell_start[value], cell_start[value + 1]):
                    cell = cells[place]
                    n_listed = list_start[cell + 1] - list_start[cell]
                    length += n_listed
                    by_bits += n_words if words_of_cell[cell] >= 0 else n_listed
                if length < shortest:
                    best, shortest = column, length
        total = 0
        if n_asked and shortest * min(n_asked, 3) <= by_bits:
            # by lists: check the other columns of every row that shows a fitting cell
            value = values[known, best]
            for place in range(cell_start[value], cell_start[value + 1]):
                cell = cells[place]
                for entry in range(list_start[cell], list_start[cell + 1]):
                    released = listed[entry]
                    fits = True
                    for column in range(n_columns):
                        if column != best and is_known[known, column]:
                            other = values[known, column]
                            if not is_listed(
                                cells,
                                cell_start[other],
                                cell_start[other + 1],
                                shown[released, column],
                            ):
                                fits = False
                                break
                    if fits:
                        total += weight_of_released[released]
                        n_of_released[released] += n_of_known[known]
                        if n_pairs < len(pair_known):
                            pair_known[n_pairs] = known
                            pair_released[n_pairs] = released
                        n_pairs += 1
        else:
            # by bits: unite the rows of a column's fitting cells, intersect over columns
            every[:] = ~np.uint64(0)
            for column in range(n_columns):
                if is_known[known, column]:
                    one[:] = np.uint64(0)
                    value = values[known, column]
                    for place in range(cell_start[value], cell_start[value + 1]):
                        cell = cells[place]
                        if words_of_cell[cell] >= 0:
                            of_cell = words[words_of_cell[cell]]
                            for word in range(n_words):
                                one[word] |= of_cell[word]
                        else:
                            for entry in range(list_start[cell], list_start[cell + 1]):
                                released = listed[entry]
                                one[released >> 6] |= np.uint64(1) << np.uint64(released & 63)
                    for word in range(n_words):
                        every[word] &= one[word]
            for word in range(n_words):
                if every[word]:
                    for released in range(64 * word, min(64 * word + 64, n_released)):
                        if (every[word] >> np.uint64(released & 63)) & np.uint64(1):
                            total += weight_of_released[released]
                            n_of_released[released] += n_of_known[known]
                            if n_pairs < len(pair_known):
                                pair_known[n_pairs] = known
                                pair_released[n_pairs] = released
                            n_pairs += 1
        weight_of_known[known] = total
    return n_pairs

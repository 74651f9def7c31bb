"""Which distinct rows are near: the sorted rows as a tree of prefixes, searched within a bound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner
from incrowd.kernels.draws import draw
from incrowd.methods.shared.recreate.kernels.state import (
    FIRST,
    LAST,
    LEAF,
    MEETS,
    NODE_PRICE,
    PARENT,
    VALUE_START,
    Space,
    meet,
)


class Near(NamedTuple):
    """Lists of near rows, nearest first, made when first asked for.

    ``rows[row, :n_known[row]]``; ``n_known`` is −1 where a list is not made yet. ``reach[0]`` is
    how far the last list went. The rest is room to work in.
    """

    prefixes: NDArray[np.int32]
    rows: NDArray[np.int32]
    n_known: NDArray[np.int32]
    reach: NDArray[np.int64]
    price: NDArray[np.int64]
    sums: NDArray[np.int64]
    heap: NDArray[np.int64]
    heap_row: NDArray[np.int32]


def no_lists(space: Space, length: int) -> Near:
    """Return room for lists of near rows of at most this length."""
    n_distinct, n_columns = space.value.shape
    return Near(
        prefixes_of(space.value),
        np.zeros((n_distinct, length), dtype=np.int32),
        np.full(n_distinct, -1, dtype=np.int32),
        np.ones(1, dtype=np.int64),
        np.zeros(space.values.shape[1], dtype=np.int64),
        np.zeros(n_columns + 1, dtype=np.int64),
        np.zeros(length + 1, dtype=np.int64),
        np.zeros(length + 1, dtype=np.int32),
    )


def prefixes_of(value: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the prefixes of sorted distinct rows, ``value[row, column]``."""
    n_rows, n_columns = value.shape
    is_same = np.zeros((n_rows, n_columns), dtype=np.bool_)
    is_same[1:] = np.logical_and.accumulate(value[1:] == value[:-1], axis=1)
    prefixes = np.empty((n_rows, n_columns + 1), dtype=np.int32)
    prefixes[:, n_columns] = is_same.sum(axis=1)
    for column in range(n_columns):
        starts = np.append(np.flatnonzero(~is_same[:, column]), n_rows)
        prefixes[:, column] = starts[np.searchsorted(starts, np.arange(n_rows), side="right")]
    return prefixes


@compiled_inner
def _sink(
    heap: NDArray[np.int64], row: NDArray[np.int32], n: Whole, key: Whole, who: Whole
) -> None:
    """Put an entry in place of the top of a heap, the greatest on top. O(log n)."""
    place = 0
    while True:
        below = 2 * place + 1
        if below >= n:
            break
        if below + 1 < n and heap[below + 1] > heap[below]:
            below += 1
        if heap[below] <= key:
            break
        heap[place] = heap[below]
        row[place] = row[below]
        place = below
    heap[place] = key
    row[place] = who


@compiled_inner
def _climb(
    heap: NDArray[np.int64], row: NDArray[np.int32], n: Whole, key: Whole, who: Whole
) -> None:
    """Add an entry to a heap of n entries, the greatest on top. O(log n)."""
    place = n
    while place > 0:
        above = (place - 1) >> 1
        if heap[above] >= key:
            break
        heap[place] = heap[above]
        row[place] = row[above]
        place = above
    heap[place] = key
    row[place] = who


@compiled_inner
def _price_run_values(space: Space, near: Near, column: Whole, leaf: Whole) -> None:
    """Set ``near.price[value]`` for the values of a column of ranges. O(values)."""
    start = space.columns[VALUE_START, column]
    own = space.nodes[FIRST, leaf]
    cells = -2 - space.nodes[MEETS, leaf]
    cell = np.int64(-1)
    price = np.int64(0)
    for value in range(space.columns[VALUE_START, column + 1] - start):
        # all values of a cell meet a leaf in one node, but for the leaf itself
        if space.meets[cells + value] != cell or value == own or value == own + 1:
            cell = np.int64(space.meets[cells + value])
            price = space.nodes[NODE_PRICE, meet(space, leaf, np.int64(value))]
        near.price[start + value] = price


@compiled_inner
def _price_values(space: Space, near: Near, distinct: Whole) -> None:
    """Set ``near.price[value]`` to the price of where each value meets a row's. O(values)."""
    for column in range(space.value.shape[1]):
        start = space.columns[VALUE_START, column]
        node = np.int64(space.values[LEAF, start + space.value[distinct, column]])
        if space.nodes[MEETS, node] < -1:
            _price_run_values(space, near, column, node)
            continue
        low = high = np.int64(space.nodes[FIRST, node])
        while True:
            price = space.nodes[NODE_PRICE, node]
            first, last = np.int64(space.nodes[FIRST, node]), np.int64(space.nodes[LAST, node])
            for value in range(first, low):
                near.price[start + value] = price
            for value in range(high, last):
                near.price[start + value] = price
            low, high = first, last
            if space.nodes[PARENT, node] == node:
                break
            node = np.int64(space.nodes[PARENT, node])


@compiled_inner
def list_near(
    space: Space, near: Near, distinct: Whole, random: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the rows nearest to a distinct row, by the price of the box of the two.

    Ties are settled by chance. Searched again within a wider bound while too few are found.
    """
    if near.n_known[distinct] >= 0:
        return near.rows[distinct, : near.n_known[distinct]]
    n_distinct, n_columns = space.value.shape
    length = min(near.rows.shape[1], n_distinct - 1)
    _price_values(space, near, distinct)
    n_found = np.int64(0)
    reach = near.reach[0] + (near.reach[0] >> 2)
    while length > 0:
        n_found = np.int64(0)
        bound = (reach << 6) | 63
        row = np.int64(0)
        while row < n_distinct:
            column = np.int64(near.prefixes[row, n_columns])
            total = near.sums[column]
            while column < n_columns:
                value = space.value[row, column]
                total += near.price[space.columns[VALUE_START, column] + value]
                if (total << 6) > bound:
                    break
                column += 1
                near.sums[column] = total
            if column < n_columns:
                row = np.int64(near.prefixes[row, column])
                continue
            if row != distinct:
                key = (total << 6) | (draw(random) & 63)
                if n_found < length:
                    _climb(near.heap, near.heap_row, n_found, key, row)
                    n_found += 1
                elif key < near.heap[0]:
                    _sink(near.heap, near.heap_row, n_found, key, row)
                if n_found == length:
                    bound = near.heap[0]
            row += 1
        if n_found == length:
            near.reach[0] = max(1, near.heap[0] >> 6)
            break
        reach *= 2
    near.n_known[distinct] = n_found
    for place in range(n_found - 1, -1, -1):
        near.rows[distinct, place] = near.heap_row[0]
        _sink(near.heap, near.heap_row, place, near.heap[place], near.heap_row[place])
    return near.rows[distinct, :n_found]


# ── lists of near rows made for their own sake, so that their time can be taken ───────────────────


@compiled
def list_rows(space: Space, near: Near, rows: NDArray[np.int64], random: NDArray[np.int64]) -> None:
    """Make the lists of these distinct rows, where they are not made yet."""
    for distinct in rows:
        list_near(space, near, distinct, random)

"""The cutting loop of Mondrian on sets: parts of the rows on a stack, each cut by one item."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner

MOST_TRIED = 32
"""How many items of a part are tried where rows ask for different k."""


class Parts(NamedTuple):
    """The state of a run between two slices of it.

    ``order`` holds the rows, each part a span of it; ``spans`` the parts to be looked at; of the
    part under work ``n_holding[item]`` counts the rows and ``held`` lists the items that somebody
    holds. ``group_of_row`` names a group by where its rows begin in ``order``. ``counters``: parts
    on the stack, where the part under work begins and ends (equal: there is none), items in
    ``held``, groups made, rows in them.
    """

    order: NDArray[np.int32]
    spare: NDArray[np.int32]
    spans: NDArray[np.int64]
    n_holding: NDArray[np.int64]
    held: NDArray[np.int32]
    group_of_row: NDArray[np.int32]
    counters: NDArray[np.int64]


def start(n_rows: int, n_items: int, n_threads: int = 1) -> list[Parts]:
    """Return the state in which all rows are one part, once for each thread.

    Rows are shared, the first one has all of them, and each has counts of its own.
    """
    whole = Parts(
        np.arange(n_rows, dtype=np.int32),
        np.empty(n_rows, dtype=np.int32),
        np.zeros((n_rows + 1, 2), dtype=np.int64),
        np.zeros(n_items, dtype=np.int64),
        np.empty(n_items, dtype=np.int32),
        np.zeros(n_rows, dtype=np.int32),
        np.asarray([1 if n_rows else 0, 0, 0, 0, 0, 0], dtype=np.int64),
    )
    whole.spans[0, 1] = n_rows
    others = [
        whole._replace(
            spans=np.zeros((n_rows + 1, 2), dtype=np.int64),
            n_holding=np.zeros(n_items, dtype=np.int64),
            held=np.empty(n_items, dtype=np.int32),
            counters=np.zeros(6, dtype=np.int64),
        )
        for _ in range(1, n_threads)
    ]
    return [whole, *others]


@compiled_inner
def _holds(row: Whole, item: Whole, starts: NDArray[np.int64], items: NDArray[np.int32]) -> Flag:
    low, high = starts[row], starts[row + 1]
    while low < high:
        middle = (low + high) // 2
        if items[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low < starts[row + 1] and items[low] == item


@compiled_inner
def _load(parts: Parts, starts: NDArray[np.int64], items: NDArray[np.int32]) -> None:
    """Take the next part from the stack and count its items. O(its entries)."""
    for place in range(parts.counters[3]):
        parts.n_holding[parts.held[place]] = 0
    parts.counters[0] -= 1
    first, end = parts.spans[parts.counters[0], 0], parts.spans[parts.counters[0], 1]
    n_held = 0
    for place in range(first, end):
        row = parts.order[place]
        for at in range(starts[row], starts[row + 1]):
            if parts.n_holding[items[at]] == 0:
                parts.held[n_held] = items[at]
                n_held += 1
            parts.n_holding[items[at]] += 1
    parts.counters[1], parts.counters[2], parts.counters[3] = first, end, n_held


@compiled_inner
def _next_item(parts: Parts, k: Whole, last_off: Whole, last_item: Whole) -> Whole:
    """Return the item held nearest to half of the part, after the last one tried; −1: none.

    Both sides have at least k rows. Ties: the lower number. O(items held).
    """
    n_rows = parts.counters[2] - parts.counters[1]
    best: Whole = np.int64(-1)
    least: Whole = n_rows + 1
    for place in range(parts.counters[3]):
        item = parts.held[place]
        n_with = parts.n_holding[item]
        off = abs(2 * n_with - n_rows)
        if n_with < k or n_rows - n_with < k:
            continue
        if off < last_off or (off == last_off and item <= last_item):
            continue
        if off < least or (off == least and item < best):
            least = off
            best = np.int64(item)
    return best


@compiled_inner
def _are_sides_enough(
    parts: Parts,
    item: Whole,
    need: NDArray[np.int32],
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
) -> Flag:
    """Return whether both sides have the rows that their most demanding row asks for."""
    with_item = np.int64(0)
    asked_with = np.int64(0)
    asked_without = np.int64(0)
    for place in range(parts.counters[1], parts.counters[2]):
        row = parts.order[place]
        if _holds(row, item, starts, items):
            with_item += 1
            asked_with = max(asked_with, need[row])
        else:
            asked_without = max(asked_without, need[row])
    n_rows = parts.counters[2] - parts.counters[1]
    return with_item >= asked_with and n_rows - with_item >= asked_without


@compiled_inner
def _split(parts: Parts, item: Whole, starts: NDArray[np.int64], items: NDArray[np.int32]) -> None:
    """Put the smaller side on the stack and go on with the larger one.

    Rows keep their order within a side. The larger side's counts are the part's minus the
    smaller's, so that a part costs its entries only as often as it was the smaller side.
    """
    first, end = parts.counters[1], parts.counters[2]
    is_with_smaller = 2 * parts.n_holding[item] <= end - first
    n_smaller = parts.n_holding[item] if is_with_smaller else end - first - parts.n_holding[item]
    smaller: Whole = end - n_smaller
    larger: Whole = first
    for place in range(first, end):
        row = parts.order[place]
        if _holds(row, item, starts, items) == is_with_smaller:
            parts.spare[smaller] = row
            smaller += 1
        else:
            parts.spare[larger] = row
            larger += 1
    for place in range(first, end):
        parts.order[place] = parts.spare[place]
    for place in range(larger, end):
        row = parts.order[place]
        for at in range(starts[row], starts[row + 1]):
            parts.n_holding[items[at]] -= 1
    n_held = 0
    for place in range(parts.counters[3]):
        if parts.n_holding[parts.held[place]] > 0:
            parts.held[n_held] = parts.held[place]
            n_held += 1
    parts.spans[parts.counters[0], 0] = larger
    parts.spans[parts.counters[0], 1] = end
    parts.counters[0] += 1
    parts.counters[2] = larger
    parts.counters[3] = n_held


@compiled
def cut_slice(
    n_looks: Whole,
    k: Whole,
    has_own_k: Flag,
    need: NDArray[np.int32],
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    parts: Parts,
) -> Flag:
    """Cut parts until about ``n_looks`` rows and items were looked at; return whether all is done.

    A part is cut by the item held nearest to half of it, or is a group where no item leaves enough
    rows on both sides.
    """
    looked = np.int64(0)
    while looked < n_looks:
        if parts.counters[1] == parts.counters[2]:
            if parts.counters[0] == 0:
                return True
            _load(parts, starts, items)
            looked += parts.counters[2] - parts.counters[1]
        first, end = parts.counters[1], parts.counters[2]
        item = _next_item(parts, k, np.int64(-1), np.int64(-1))
        looked += end - first + parts.counters[3]
        n_tried = 1
        while item >= 0 and has_own_k and not _are_sides_enough(parts, item, need, starts, items):
            off = abs(2 * parts.n_holding[item] - (end - first))
            looked += end - first + parts.counters[3]
            item = _next_item(parts, k, off, item) if n_tried < MOST_TRIED else np.int64(-1)
            n_tried += 1
        if item >= 0:
            _split(parts, item, starts, items)
            continue
        for place in range(first, end):
            parts.group_of_row[parts.order[place]] = first
        parts.counters[4] += 1
        parts.counters[5] += end - first
        parts.counters[1] = end
    return False

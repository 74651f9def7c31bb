"""One part becomes two: the pair of items that loses most together, and the side of every other.

Losses are compared exactly: in whole numbers where all items weigh the same; else in logarithms,
and what they cannot tell apart is left to the caller.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner

LEFT, RIGHT, UNDECIDED = 1, 2, 3
"""Sides of an item; rows carry the sides that they hold as bits."""

NEAR = 1e-9
"""Losses whose ratio is within this of 1 are compared in exact arithmetic."""


class Baskets(NamedTuple):
    """Distinct rows of public items, how many rows each stands for, and who holds an item.

    Row r holds ``items[starts[r]:starts[r + 1]]``; item i is held by the rows
    ``holders[list_starts[i]:list_starts[i + 1]]`` and, counted with ``n_equal``, by
    ``support[i]`` rows.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    n_equal: NDArray[np.int32]
    list_starts: NDArray[np.int64]
    holders: NDArray[np.int32]
    support: NDArray[np.int64]


@compiled_inner
def _count_common(baskets: Baskets, item: Whole, common: NDArray[np.int64]) -> None:
    """Add to ``common`` in how many rows every item occurs together with this one."""
    for place in range(baskets.list_starts[item], baskets.list_starts[item + 1]):
        row = baskets.holders[place]
        for entry in range(baskets.starts[row], baskets.starts[row + 1]):
            common[baskets.items[entry]] += baskets.n_equal[row]


@compiled_inner
def _forget_common(baskets: Baskets, item: Whole, common: NDArray[np.int64]) -> None:
    for place in range(baskets.list_starts[item], baskets.list_starts[item + 1]):
        row = baskets.holders[place]
        for entry in range(baskets.starts[row], baskets.starts[row + 1]):
            common[baskets.items[entry]] = 0


@compiled
def count_all_common(baskets: Baskets, n_items: Whole) -> NDArray[np.int32]:
    """Return in how many rows every two items occur together. O(squares of the rows' sizes)."""
    common = np.zeros((n_items, n_items), dtype=np.int32)
    for row in range(len(baskets.n_equal)):
        end = baskets.starts[row + 1]
        for entry in range(baskets.starts[row], end):
            of_item = common[baskets.items[entry]]
            for later in range(entry + 1, end):
                of_item[baskets.items[later]] += baskets.n_equal[row]
    for item in range(n_items):
        for other in range(item):
            common[item, other] = common[other, item]
    return common


@compiled
def widest_pair(
    baskets: Baskets,
    by_support: NDArray[np.int32],
    all_common: NDArray[np.int32],
    common: NDArray[np.int64],
) -> tuple[Whole, Whole]:
    """Return the pair (a, b), a below b, that most rows hold one of; the least one of equals.

    ``by_support`` are the items by falling support, equals ascending; ``common`` is 0 before and
    after, and used where ``all_common`` is empty. Looks only at items whose support, with that
    of the next, could reach the best pair.
    """
    support = baskets.support
    best: Whole = np.int64(-1)
    first: Whole = np.int64(-1)
    second: Whole = np.int64(-1)
    for number in range(len(by_support) - 1):
        one = np.int64(by_support[number])
        if support[one] + support[by_support[number + 1]] < best:
            break
        is_counted = False
        for place in range(number + 1, len(by_support)):
            other = np.int64(by_support[place])
            most = support[one] + support[other]
            if most < best:
                break
            low, high = min(one, other), max(one, other)
            is_earlier = low < first or (low == first and high < second)
            if most == best and not is_earlier:
                continue
            if len(all_common):
                held = most - all_common[one, other]
            else:
                if not is_counted:
                    _count_common(baskets, one, common)
                    is_counted = True
                held = most - common[other]
            if held > best or (held == best and is_earlier):
                best, first, second = held, low, high
        if is_counted:
            _forget_common(baskets, one, common)
    return first, second


@compiled
def dearest_pairs(
    baskets: Baskets,
    items: NDArray[np.int32],
    weight: NDArray[np.float64],
    common: NDArray[np.int64],
    pairs: NDArray[np.int32],
    held_by: NDArray[np.int64],
) -> Whole:
    """Fill in the pairs whose weight times rows is within NEAR of the most; return how many.

    ``items`` ascend. Of pairs with the same weights and rows only the least is kept. More pairs
    than there is room for are counted, not kept: call again with more room.
    """
    support = baskets.support
    heaviest = 0.0
    widest: Whole = np.int64(0)
    for item in items:
        heaviest = max(heaviest, weight[item])
        widest = max(widest, support[item])
    ceiling = np.empty(len(items), dtype=np.float64)
    for number in range(len(items)):
        item = items[number]
        ceiling[number] = (weight[item] + heaviest) * np.float64(support[item] + widest)
    order = np.argsort(-ceiling)
    best = -1.0
    n_found: Whole = np.int64(0)
    is_done = np.zeros(len(items), dtype=np.bool_)
    for place in order:
        if ceiling[place] < best * (1.0 - NEAR):
            break
        one = np.int64(items[place])
        is_done[place] = True
        _count_common(baskets, one, common)
        for number in range(len(items)):
            if is_done[number]:
                continue
            other = np.int64(items[number])
            held = support[one] + support[other] - common[other]
            worth = (weight[one] + weight[other]) * np.float64(held)
            if worth < best * (1.0 - NEAR):
                continue
            if worth > best * (1.0 + NEAR):
                n_found = 0
            best = max(best, worth)
            low, high = min(one, other), max(one, other)
            n_found = _keep_pair(weight, pairs, held_by, n_found, low, high, held)
        _forget_common(baskets, one, common)
    return n_found


@compiled_inner
def _keep_pair(
    weight: NDArray[np.float64],
    pairs: NDArray[np.int32],
    held_by: NDArray[np.int64],
    n_found: Whole,
    low: Whole,
    high: Whole,
    held: Whole,
) -> Whole:
    """Add a pair to those found, or put it in the place of one that is equal and greater."""
    for number in range(min(n_found, len(pairs))):
        a, b = pairs[number, 0], pairs[number, 1]
        is_same = (weight[a] == weight[low] and weight[b] == weight[high]) or (
            weight[a] == weight[high] and weight[b] == weight[low]
        )
        if is_same and held_by[number] == held:
            if low < a or (low == a and high < b):
                pairs[number, 0], pairs[number, 1] = low, high
            return n_found
    if n_found < len(pairs):
        pairs[n_found, 0], pairs[n_found, 1] = low, high
        held_by[n_found] = held
    return n_found + 1


@compiled_inner
def _is_less(size: Whole, held: Whole, other_size: Whole, other_held: Whole) -> Flag:
    """Whether (2^size − 1) · held < (2^other_size − 1) · other_held; rows are fewer than 2^31.

    With d = size − other_size ≥ 0 the difference is (held · 2^d − other_held) · 2^other_size −
    (held − other_held), whose parts fit into 64 bits wherever its sign is not plain.
    """
    if size < other_size:
        return _is_more(other_size, other_held, size, held)
    if size - other_size > 31:
        return False
    ahead = (held << (size - other_size)) - other_held
    behind = held - other_held
    if ahead == 0:
        return behind > 0
    if other_size > 31 or abs(ahead) >= 1 << 31:
        return ahead < 0
    return (ahead << other_size) < behind


@compiled_inner
def _is_more(size: Whole, held: Whole, other_size: Whole, other_held: Whole) -> Flag:
    """Whether (2^size − 1) · held > (2^other_size − 1) · other_held, for the greater size."""
    if size - other_size > 31:
        return True
    ahead = (held << (size - other_size)) - other_held
    behind = held - other_held
    if ahead == 0:
        return behind < 0
    if other_size > 31 or abs(ahead) >= 1 << 31:
        return ahead > 0
    return (ahead << other_size) > behind


@compiled_inner
def _log_loss(size: Whole, held: Whole, total_weight: Any) -> Any:
    """Return log2 of (2^size − 1) · held · mean weight."""
    if total_weight <= 0.0:
        return -1e300
    return size + np.log2(1.0 - 2.0**-size) + np.log2(held) + np.log2(total_weight / size)


@compiled
def join(
    baskets: Baskets,
    item: Whole,
    side: Whole,
    flags: NDArray[np.uint8],
    rows: NDArray[np.int32],
    so_far: NDArray[np.int64],
) -> None:
    """Add an item to a side: mark its rows, and list those that neither side held.

    ``so_far`` has rows and items of the left, rows and items of the right, and listed rows.
    """
    place_of_rows = 0 if side == LEFT else 2
    so_far[place_of_rows + 1] += 1
    for place in range(baskets.list_starts[item], baskets.list_starts[item + 1]):
        row = baskets.holders[place]
        flag = flags[row]
        if flag == 0:
            rows[so_far[4]] = row
            so_far[4] += 1
        if flag & side == 0:
            so_far[place_of_rows] += baskets.n_equal[row]
            flags[row] = flag | side


@compiled
def join_all(
    baskets: Baskets,
    items: NDArray[np.int32],
    side: Whole,
    flags: NDArray[np.uint8],
    rows: NDArray[np.int32],
    so_far: NDArray[np.int64],
) -> None:
    """Add several items to a side."""
    for item in items:
        join(baskets, np.int64(item), side, flags, rows, so_far)


@compiled
def rows_with_sides(flags: NDArray[np.uint8], n_rows: Whole) -> NDArray[np.int32]:
    """Return the rows, so many, that hold a side, ascending."""
    rows = np.empty(n_rows + 1, dtype=np.int32)
    n_found = 0
    for row in range(len(flags)):  # without a branch: a row without sides is overwritten
        rows[n_found] = row
        n_found += flags[row] != 0
    return rows[:n_rows]


@compiled
def decide(
    baskets: Baskets,
    rest: NDArray[np.int32],
    sides: NDArray[np.uint8],
    bucket_size: Whole,
    place: Whole,
    weight: NDArray[np.float64],
    weight_so_far: NDArray[np.float64],
    flags: NDArray[np.uint8],
    rows: NDArray[np.int32],
    so_far: NDArray[np.int64],
) -> Whole:
    """Give the items of ``rest`` from ``place`` on their sides, bucket by bucket.

    Each is held against both sides as they stood when its bucket began. Weights are looked at
    only if there are any. Returns the place of a bucket with an undecided item, or the end; call
    again with that place once it is decided. O(entries of the items).
    """
    while place < len(rest):
        end = min(place + bucket_size, len(rest))
        n_undecided = 0
        for number in range(place, end):
            if sides[number] == 0:
                item = np.int64(rest[number])
                sides[number] = _side(baskets, item, weight, weight_so_far, flags, so_far)
                n_undecided += sides[number] == UNDECIDED
        if n_undecided:
            return place
        for number in range(place, end):
            item = np.int64(rest[number])
            join(baskets, item, np.int64(sides[number]), flags, rows, so_far)
            if len(weight):
                weight_so_far[sides[number] - 1] += weight[item]
        place = end
    return place


@compiled_inner
def _side(
    baskets: Baskets,
    item: Whole,
    weight: NDArray[np.float64],
    weight_so_far: NDArray[np.float64],
    flags: NDArray[np.uint8],
    so_far: NDArray[np.int64],
) -> Whole:
    with_left: Whole = np.int64(0)
    with_right: Whole = np.int64(0)
    for place in range(baskets.list_starts[item], baskets.list_starts[item + 1]):
        row = baskets.holders[place]
        flag = flags[row]
        with_left += baskets.n_equal[row] * (flag & LEFT)
        with_right += baskets.n_equal[row] * (flag >> 1)
    held_left = so_far[0] + baskets.support[item] - with_left
    held_right = so_far[2] + baskets.support[item] - with_right
    n_left = so_far[1] + 1
    n_right = so_far[3] + 1
    if len(weight) == 0:
        return LEFT if _is_less(n_left, held_left, n_right, held_right) else RIGHT
    loss_left = _log_loss(n_left, held_left, weight_so_far[0] + weight[item])
    loss_right = _log_loss(n_right, held_right, weight_so_far[1] + weight[item])
    if abs(loss_left - loss_right) <= NEAR:
        return UNDECIDED
    return LEFT if loss_left < loss_right else RIGHT

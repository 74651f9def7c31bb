"""Whether sets of up to m parts keep enough rows once a part is split."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner
from incrowd.methods.rbat.kernels.check import N_EQUAL, N_PARTS, ShownRows


@compiled
def few_rows_break(
    shown: ShownRows,
    rows: NDArray[np.int32],
    flags: NDArray[np.uint8],
    part: Whole,
    other_part: Whole,
    m: Whole,
    k: Whole,
    is_left_last: Flag,
    counts: NDArray[np.int64],
    support: NDArray[np.int64],
) -> Flag:
    """Whether some set of up to m parts with a side of the split part is in 1 to k − 1 rows.

    What is split may be two parts taken as one; else both are the same. ``rows`` hold it, with
    the sides that they hold as bits in ``flags``; all other sets are as they were. The side with
    fewer rows is looked at first. ``counts`` is 0 for every part, before and after; ``support``
    says how many rows show a part. O(rows · parts of a row to the power of m − 1), less where a
    break is found early.
    """
    n_left: Whole = np.int64(0)
    n_right: Whole = np.int64(0)
    n_both: Whole = np.int64(0)
    for row in rows:
        flag = flags[row]
        n_equal = shown.parts[shown.starts[row] - N_EQUAL]
        n_left += n_equal * (flag & 1)
        n_right += n_equal * (flag >> 1)
        n_both += n_equal * (flag == 3)
    if 0 < n_left < k or 0 < n_right < k:
        return True
    if m == 1:
        return False
    if 0 < n_both < k:
        return True
    sides = (2, 1) if is_left_last else (1, 2)
    for side in sides:
        if _breaks_pairs(shown, rows, flags, part, other_part, side, k, counts):
            return True
    if m == 2:
        return False
    if _breaks_pairs(shown, rows, flags, part, other_part, 3, k, counts):
        return True
    is_over = np.zeros(1, dtype=np.bool_)
    for side in sides:
        if breaks_triples(
            shown, rows, flags, part, other_part, side, k, counts, support, 0, 1, is_over
        ):
            return True
    return False


@compiled_inner
def _breaks_pairs(
    shown: ShownRows,
    rows: NDArray[np.int32],
    flags: NDArray[np.uint8],
    part: Whole,
    other_part: Whole,
    side: Whole,
    k: Whole,
    counts: NDArray[np.int64],
) -> Flag:
    """Whether another part is with a side (3: with both sides) in 1 to k − 1 rows."""
    count_side(shown, rows, flags, side, counts)
    counts[part] = 0
    counts[other_part] = 0
    is_broken = False
    if 4 * len(rows) >= len(counts):  # rows show more parts than there are
        for other in range(len(counts)):
            is_broken |= 0 < counts[other] < k
            counts[other] = 0
        return is_broken
    for row in rows:
        if flags[row] & side == side:
            start = shown.starts[row]
            for entry in range(start, start + shown.parts[start - N_PARTS]):
                other = shown.parts[entry]
                is_broken |= 0 < counts[other] < k
                counts[other] = 0
    return is_broken


@compiled
def count_side(
    shown: ShownRows,
    rows: NDArray[np.int32],
    flags: NDArray[np.uint8],
    side: Whole,
    counts: NDArray[np.int64],
) -> Whole:
    """Add to ``counts`` in how many rows with a side (3: with both) every part is shown.

    Returns how many of all these rows hold both sides.
    """
    n_both: Whole = np.int64(0)
    for row in rows:
        if flags[row] & side == side:
            start = shown.starts[row]
            n_equal = shown.parts[start - N_EQUAL]
            n_both += n_equal * (flags[row] == 3)
            for entry in range(start, start + shown.parts[start - N_PARTS]):
                counts[shown.parts[entry]] += n_equal
    return n_both


@compiled
def breaks_triples(
    shown: ShownRows,
    rows: NDArray[np.int32],
    flags: NDArray[np.uint8],
    part: Whole,
    other_part: Whole,
    side: Whole,
    k: Whole,
    counts: NDArray[np.int64],
    support: NDArray[np.int64],
    share: Whole,
    n_shares: Whole,
    is_over: NDArray[np.bool_],
) -> Flag:
    """Whether two other parts are with a side in 1 to k − 1 rows, rare parts first.

    Of the first of the two every ``n_shares``th part is looked at, from ``share`` on. Who finds
    that there are says so in ``is_over``, and then nobody looks further.
    """
    # counts: in how many rows of the side each other part is shown
    n_entries: Whole = np.int64(0)
    n_others = 0
    for row in rows:
        if flags[row] & side == side:
            start = shown.starts[row]
            for entry in range(start, start + shown.parts[start - N_PARTS]):
                other = shown.parts[entry]
                n_others += counts[other] == 0
                counts[other] += 1
                n_entries += 1
    # others: those parts, each once; a negative count says that it is listed
    others = np.empty(n_others, dtype=np.int32)
    n_others = 0
    for row in rows:
        if flags[row] & side == side:
            start = shown.starts[row]
            for entry in range(start, start + shown.parts[start - N_PARTS]):
                other = shown.parts[entry]
                if counts[other] > 0:
                    others[n_others] = other
                    n_others += 1
                    counts[other] = -counts[other]
    # showing[starts[o]:starts[o + 1]]: the rows of the side that show others[o], rare parts first
    # counts now holds each part's number in ``others``
    others = others[np.argsort(support[others])]
    starts = np.zeros(n_others + 1, dtype=np.int64)
    for number in range(n_others):
        starts[number + 1] = starts[number] - counts[others[number]]
        counts[others[number]] = number
    filled = starts[:-1].copy()
    showing = np.empty(n_entries, dtype=np.int32)
    for row in rows:
        if flags[row] & side == side:
            start = shown.starts[row]
            for entry in range(start, start + shown.parts[start - N_PARTS]):
                number = counts[shown.parts[entry]]
                showing[filled[number]] = row
                filled[number] += 1
    # per part, the rows that show it with each other one: too few, and at least one, breaks
    of_place = np.zeros(n_others, dtype=np.int64)
    is_broken = False
    for number in range(share, n_others, n_shares):
        if others[number] == part or others[number] == other_part:
            continue
        if is_over[0]:
            break
        for row in showing[starts[number] : starts[number + 1]]:
            start = shown.starts[row]
            for entry in range(start, start + shown.parts[start - N_PARTS]):
                of_place[counts[shown.parts[entry]]] += shown.parts[start - N_EQUAL]
        for place in range(n_others):
            if others[place] == part or others[place] == other_part:
                of_place[place] = 0
        for row in showing[starts[number] : starts[number + 1]]:
            start = shown.starts[row]
            for entry in range(start, start + shown.parts[start - N_PARTS]):
                place = counts[shown.parts[entry]]
                is_broken |= 0 < of_place[place] < k
                of_place[place] = 0
        if is_broken:
            is_over[0] = True
    # counts is as it was
    for other in others:
        counts[other] = 0
    return is_broken

"""How many rows of a block show the parts that rules ask for, and the sums of a round."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner
from incrowd.kernels.item_rows import n_set
from incrowd.methods.rbat.problem import DistinctRows

STRETCH = 1 << 12
"""How many rows are counted at once: their bits stay near the processor."""


class NodeDemands(NamedTuple):
    """Distinct sets of nodes, and the sensitive sets that rows which show them must not tell.

    Demand d is for rows that show all of ``nodes[starts[d]:starts[d + 1]]``; its sensitive sets
    are ``told[told_starts[d]:told_starts[d + 1]]``. An item shows ``node_of_item``, its part, and
    ``side_of_item``, the side of the part that it would be in; -1 is neither.
    """

    starts: NDArray[np.int64]
    nodes: NDArray[np.int32]
    told_starts: NDArray[np.int64]
    told: NDArray[np.int32]
    node_of_item: NDArray[np.int32]
    side_of_item: NDArray[np.int32]
    n_nodes: Whole
    n_told: Whole


class Marks(NamedTuple):
    """Things (nodes, or sensitive sets) and the rows of a stretch that have them.

    ``slot_of_thing`` is -1 for those that no row has. The rows of slot s are bits, ``bits[s]``,
    and a list: ``row[entry]`` from entry ``first[s]`` on by ``following``, ``n_rows[s]`` of them.
    """

    slot_of_thing: NDArray[np.int32]
    thing: NDArray[np.int32]
    bits: NDArray[np.uint64]
    n_rows: NDArray[np.int32]
    first: NDArray[np.int32]
    following: NDArray[np.int32]
    row: NDArray[np.int32]
    so_far: NDArray[np.int64]


@compiled_inner
def _room_for_marks(n_things: Whole, most_entries: Whole) -> Marks:
    n_slots = min(n_things, most_entries)
    return Marks(
        np.full(n_things, -1, dtype=np.int32),
        np.empty(n_slots, dtype=np.int32),
        np.empty((n_slots, STRETCH >> 6), dtype=np.uint64),
        np.zeros(n_slots, dtype=np.int32),
        np.empty(n_slots, dtype=np.int32),
        np.empty(most_entries, dtype=np.int32),
        np.empty(most_entries, dtype=np.int32),
        np.zeros(2, dtype=np.int64),  # slots and entries that are used
    )


@compiled_inner
def _mark(marks: Marks, thing: Whole, number: Whole) -> None:
    """Note that row ``number`` of the stretch has a thing."""
    slot = np.int64(marks.slot_of_thing[thing])
    if slot < 0:
        slot = marks.so_far[0]
        marks.so_far[0] += 1
        marks.slot_of_thing[thing] = slot
        marks.thing[slot] = thing
        marks.bits[slot, :] = np.uint64(0)
        marks.n_rows[slot] = 0
        marks.first[slot] = -1
    bit = np.uint64(1) << np.uint64(number & 63)
    if marks.bits[slot, number >> 6] & bit:
        return
    marks.bits[slot, number >> 6] |= bit
    entry = marks.so_far[1]
    marks.so_far[1] += 1
    marks.row[entry] = number
    marks.following[entry] = marks.first[slot]
    marks.first[slot] = entry
    marks.n_rows[slot] += 1


@compiled_inner
def _forget(marks: Marks) -> None:
    for slot in range(marks.so_far[0]):
        marks.slot_of_thing[marks.thing[slot]] = -1
    marks.so_far[:] = 0


@compiled_inner
def _has(marks: Marks, slot: Whole, number: Whole) -> Flag:
    return (marks.bits[slot, number >> 6] >> np.uint64(number & 63)) & np.uint64(1) != np.uint64(0)


@compiled_inner
def _n_by_planes(
    matched: NDArray[np.uint64], planes: NDArray[np.uint64], n_words_of_plane: NDArray[np.int64]
) -> Whole:
    """Return how many rows the marked ones stand for."""
    total: Whole = np.int64(0)
    for plane in range(len(n_words_of_plane)):
        n_rows: Whole = np.int64(0)
        for word in range(n_words_of_plane[plane]):
            n_rows += n_set(matched[word] & planes[plane, word])
        total += n_rows << plane
    return total


@compiled_inner
def _most_entries(starts: NDArray[np.int64]) -> Whole:
    """Return the most entries of any stretch."""
    most: Whole = np.int64(0)
    n_rows = len(starts) - 1
    for begin in range(0, n_rows, STRETCH):
        most = max(most, starts[min(begin + STRETCH, n_rows)] - starts[begin])
    return most


@compiled
def add_demands(
    rows: DistinctRows, demands: NodeDemands, holding: NDArray[np.int64], telling: NDArray[np.int64]
) -> None:
    """Add how many rows meet each demand, and how many of those tell each of its sensitive sets.

    Rows are read a stretch at a time. A demand whose rarest node few rows of the stretch show is
    looked up row by row, others word by word. O(entries + demands · their nodes · rows / 64).
    """
    n_rows = len(rows.n_equal)
    shown = _room_for_marks(demands.n_nodes, 2 * _most_entries(rows.starts))
    told = _room_for_marks(demands.n_told, _most_entries(rows.tells_starts))
    # planes[b]: bit b of the number of equal rows, a bit per row of the stretch: so that rows in a
    # matched set of bits are counted with their numbers by popcounts
    most_equal = np.int64(0)
    for n_equal in rows.n_equal:
        most_equal = max(most_equal, np.int64(n_equal))
    n_planes = 0
    while most_equal >> n_planes:
        n_planes += 1
    planes = np.empty((n_planes, STRETCH >> 6), dtype=np.uint64)
    n_words_of_plane = np.empty(n_planes, dtype=np.int64)
    matched = np.empty(STRETCH >> 6, dtype=np.uint64)
    is_wanted = np.zeros(demands.n_told, dtype=np.bool_)
    for one in demands.told:
        is_wanted[one] = True
    for begin in range(0, n_rows, STRETCH):
        end = min(begin + STRETCH, n_rows)
        n_words = (end - begin + 63) >> 6
        _read(rows, demands, is_wanted, begin, end, shown, told, planes, n_words_of_plane)
        for demand in range(len(demands.starts) - 1):
            first, last = demands.starts[demand], demands.starts[demand + 1]
            # the rarest of the demand's nodes in this stretch; nothing to count where one is not
            # shown
            rarest = np.int64(-1)
            is_shown = True
            for place in range(first, last):
                slot = np.int64(shown.slot_of_thing[demands.nodes[place]])
                if slot < 0:
                    is_shown = False
                    break
                if rarest < 0 or shown.n_rows[slot] < shown.n_rows[rarest]:
                    rarest = slot
            if not is_shown:
                continue
            told_first, told_last = demands.told_starts[demand], demands.told_starts[demand + 1]
            # few rows show it: look each of them up
            if shown.n_rows[rarest] <= n_words:
                entry = np.int64(shown.first[rarest])
                while entry >= 0:
                    number = shown.row[entry]
                    entry = np.int64(shown.following[entry])
                    is_met = True
                    for place in range(first, last):
                        slot = shown.slot_of_thing[demands.nodes[place]]
                        if not _has(shown, slot, number):
                            is_met = False
                            break
                    if not is_met:
                        continue
                    n_equal = rows.n_equal[begin + number]
                    holding[demand] += n_equal
                    for place in range(told_first, told_last):
                        slot = told.slot_of_thing[demands.told[place]]
                        if slot >= 0 and _has(told, slot, number):
                            telling[place] += n_equal
                continue
            # many do: AND the bits of all nodes
            for word in range(n_words):
                matched[word] = shown.bits[rarest, word]
            for place in range(first, last):
                slot = np.int64(shown.slot_of_thing[demands.nodes[place]])
                if slot != rarest:
                    for word in range(n_words):
                        matched[word] &= shown.bits[slot, word]
            n_matched = _n_by_planes(matched, planes, n_words_of_plane)
            if n_matched == 0:
                continue
            holding[demand] += n_matched
            # of the matched rows, those that tell each sensitive set: by bits, or row by row if few
            # do
            for place in range(told_first, told_last):
                slot = np.int64(told.slot_of_thing[demands.told[place]])
                if slot < 0:
                    continue
                if told.n_rows[slot] > n_words:
                    telling[place] += _n_by_planes(
                        matched & told.bits[slot], planes, n_words_of_plane
                    )
                    continue
                entry = np.int64(told.first[slot])
                while entry >= 0:
                    number = told.row[entry]
                    if (matched[number >> 6] >> np.uint64(number & 63)) & np.uint64(1):
                        telling[place] += rows.n_equal[begin + number]
                    entry = np.int64(told.following[entry])
        _forget(shown)
        _forget(told)


@compiled_inner
def _read(
    rows: DistinctRows,
    demands: NodeDemands,
    is_wanted: NDArray[np.bool_],
    begin: Whole,
    end: Whole,
    shown: Marks,
    told: Marks,
    planes: NDArray[np.uint64],
    n_words_of_plane: NDArray[np.int64],
) -> None:
    """Mark what the rows of a stretch show and tell, and the bits of how many they stand for."""
    planes[:, :] = np.uint64(0)
    n_words_of_plane[:] = 0
    for row in range(begin, end):
        number = row - begin
        for place in range(rows.starts[row], rows.starts[row + 1]):
            item = rows.items[place]
            if demands.node_of_item[item] >= 0:
                _mark(shown, np.int64(demands.node_of_item[item]), number)
            if demands.side_of_item[item] >= 0:
                _mark(shown, np.int64(demands.side_of_item[item]), number)
        for place in range(rows.tells_starts[row], rows.tells_starts[row + 1]):
            if is_wanted[rows.tells[place]]:
                _mark(told, np.int64(rows.tells[place]), number)
        n_equal = rows.n_equal[row]
        bit = np.uint64(1) << np.uint64(number & 63)
        plane = 0
        while n_equal:
            if n_equal & 1:
                planes[plane, number >> 6] |= bit
                n_words_of_plane[plane] = (number >> 6) + 1
            n_equal >>= 1
            plane += 1


# ── what one block of rows adds to the sums of a round that decides how parts are split ───────────


@compiled
def add_supports(rows: DistinctRows, n_items: int, cells: NDArray[np.int64]) -> None:
    """Add how many rows hold each public item, and after them each sensitive set."""
    for row in range(len(rows.n_equal)):
        n_equal = np.int64(rows.n_equal[row])
        for place in range(rows.starts[row], rows.starts[row + 1]):
            cells[rows.items[place]] += n_equal
        for place in range(rows.tells_starts[row], rows.tells_starts[row + 1]):
            cells[n_items + rows.tells[place]] += n_equal


@compiled
def add_pairs(
    rows: DistinctRows,
    part_of_item: NDArray[np.int32],
    line_of_item: NDArray[np.int64],
    column_of_item: NDArray[np.int32],
    cells: NDArray[np.int64],
) -> None:
    """Add in how many rows the items that have a line occur together with others of their part.

    A line begins at the cell ``line_of_item`` (-1: none) and has a cell per item of the part. Of
    two items with lines only the earlier line is filled. O(squares of the rows' sizes).
    """
    for row in range(len(rows.n_equal)):
        n_equal = np.int64(rows.n_equal[row])
        for place in range(rows.starts[row], rows.starts[row + 1]):
            item = rows.items[place]
            line = line_of_item[item]
            if line < 0:
                continue
            for entry in range(rows.starts[row], rows.starts[row + 1]):
                other = rows.items[entry]
                if part_of_item[other] != part_of_item[item] or other == item:
                    continue
                if line_of_item[other] < 0 or line_of_item[other] > line:
                    cells[line + column_of_item[other]] += n_equal


@compiled
def add_sides(
    rows: DistinctRows,
    split_of_item: NDArray[np.int32],
    side_of_item: NDArray[np.uint8],
    cell_of_item: NDArray[np.int64],
    cell_of_split: NDArray[np.int64],
    cells: NDArray[np.int64],
) -> None:
    """Add how many rows hold the left and the right of each split, and either with an item.

    Two cells for each split, and two for each item that has a cell. O(entries).
    """
    flags = np.zeros(len(cell_of_split), dtype=np.uint8)
    for row in range(len(rows.n_equal)):
        n_equal = np.int64(rows.n_equal[row])
        start, end = rows.starts[row], rows.starts[row + 1]
        for place in range(start, end):
            item = rows.items[place]
            if split_of_item[item] >= 0:
                flags[split_of_item[item]] |= side_of_item[item]
        for place in range(start, end):
            item = rows.items[place]
            if split_of_item[item] >= 0 and cell_of_item[item] >= 0:
                flag = np.int64(flags[split_of_item[item]])
                cells[cell_of_item[item]] += n_equal * (flag & 1)
                cells[cell_of_item[item] + 1] += n_equal * (flag >> 1)
        for place in range(start, end):
            split = split_of_item[rows.items[place]]
            if split >= 0:
                flag = np.int64(flags[split])
                cells[cell_of_split[split]] += n_equal * (flag & 1)
                cells[cell_of_split[split] + 1] += n_equal * (flag >> 1)
                flags[split] = 0


@compiled
def add_patterns(
    rows: DistinctRows,
    split_of_item: NDArray[np.int32],
    bit_of_item: NDArray[np.int64],
    cell_of_split: NDArray[np.int64],
    cells: NDArray[np.int64],
) -> None:
    """Add how many rows hold each combination of a split's bits; none of them is not counted.

    O(entries).
    """
    patterns = np.zeros(len(cell_of_split), dtype=np.int64)
    for row in range(len(rows.n_equal)):
        n_equal = np.int64(rows.n_equal[row])
        for place in range(rows.starts[row], rows.starts[row + 1]):
            item = rows.items[place]
            if split_of_item[item] >= 0:
                patterns[split_of_item[item]] |= bit_of_item[item]
        for place in range(rows.starts[row], rows.starts[row + 1]):
            split = split_of_item[rows.items[place]]
            if split >= 0 and patterns[split]:
                cells[cell_of_split[split] + patterns[split]] += n_equal
                patterns[split] = 0

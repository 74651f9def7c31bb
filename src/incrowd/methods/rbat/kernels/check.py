"""What rules ask for once a part is split, and whether they hold, counted over the rows of the
part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner
from incrowd.kernels.item_rows import n_set
from incrowd.kernels.sorting import shell_sort


class RuleTable(NamedTuple):
    """Rules: public items ``items[starts[r]:starts[r + 1]]``, and the sensitive set ``told[r]``."""

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    told: NDArray[np.int32]
    n_told: Whole


class Demands(NamedTuple):
    """Distinct public parts of rules after a split, and the sensitive sets they must not tell.

    Demand d is for rows with the sides ``sides[d]`` (bits) of the split part and with the other
    parts ``others[other_starts[d]:other_starts[d + 1]]``; its sensitive sets are
    ``told[told_starts[d]:told_starts[d + 1]]``, ascending.
    """

    sides: NDArray[np.uint8]
    other_starts: NDArray[np.int64]
    others: NDArray[np.int32]
    told_starts: NDArray[np.int64]
    told: NDArray[np.int32]


@compiled_inner
def distinct_demands(
    table: RuleTable,
    rules: NDArray[np.int32],
    side_of_item: NDArray[np.uint8],
    part_of_item: NDArray[np.int32],
) -> Demands:
    """Return what these rules ask for, each of it once. O(items of the rules) as a rule."""
    n_rules = len(rules)
    n_items: Whole = np.int64(0)
    for rule in rules:
        n_items += table.starts[rule + 1] - table.starts[rule]
    # slots: a hash table of the demands, so that each is listed once
    room = 16
    while room < 2 * n_rules:
        room *= 2
    slots = np.full(room, -1, dtype=np.int32)
    sides = np.zeros(n_rules, dtype=np.uint8)
    other_starts = np.zeros(n_rules + 1, dtype=np.int64)
    others = np.empty(n_items, dtype=np.int32)
    keys = np.empty(n_rules, dtype=np.int64)
    n_demands: Whole = np.int64(0)
    for number in range(n_rules):
        rule = rules[number]
        # the side of the split that the rule asks for, and the other parts that its items lie in,
        # each once, ascending
        begin = other_starts[n_demands]
        end = begin
        side = np.uint8(0)
        for place in range(table.starts[rule], table.starts[rule + 1]):
            item = table.items[place]
            if side_of_item[item]:
                side |= side_of_item[item]
                continue
            part = part_of_item[item]
            hole = end
            while hole > begin and others[hole - 1] > part:
                hole -= 1
            if hole > begin and others[hole - 1] == part:
                continue
            for move in range(end, hole, -1):
                others[move] = others[move - 1]
            others[hole] = part
            end += 1
        # find this demand, or add it
        mixed = np.uint64(side)
        for place in range(begin, end):
            mixed = (mixed ^ np.uint64(others[place])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        slot = np.int64(mixed & np.uint64(room - 1))
        while slots[slot] >= 0 and not _is_demand(
            slots[slot], side, others, begin, end, sides, other_starts
        ):
            slot = (slot + 1) & (room - 1)
        if slots[slot] < 0:
            slots[slot] = n_demands
            sides[n_demands] = side
            n_demands += 1
            other_starts[n_demands] = end
        # demand · n_told + sensitive set: sorted, what each demand must not tell
        keys[number] = np.int64(slots[slot]) * table.n_told + table.told[rule]
    shell_sort(keys, n_rules)
    told_starts = np.zeros(n_demands + 1, dtype=np.int64)
    told = np.empty(n_rules, dtype=np.int32)
    n_told: Whole = np.int64(0)
    for number in range(n_rules):
        if number and keys[number] == keys[number - 1]:
            continue
        told[n_told] = keys[number] % table.n_told
        n_told += 1
        told_starts[keys[number] // table.n_told + 1] = n_told
    return Demands(
        sides[:n_demands],
        other_starts[: n_demands + 1],
        others[: other_starts[n_demands]],
        told_starts,
        told[:n_told],
    )


@compiled_inner
def _is_demand(
    demand: Whole,
    side: Whole,
    others: NDArray[np.int32],
    begin: Whole,
    end: Whole,
    sides: NDArray[np.uint8],
    other_starts: NDArray[np.int64],
) -> Flag:
    start = other_starts[demand]
    if sides[demand] != side or other_starts[demand + 1] - start != end - begin:
        return False
    n_equal = 0
    for place in range(end - begin):
        n_equal += others[start + place] == others[begin + place]
    return n_equal == end - begin


@compiled
def rules_of_sides(
    table: RuleTable, rules: NDArray[np.int32], side_of_item: NDArray[np.uint8]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return which of the rules have an item on the left, and which on the right."""
    on_left = np.empty(len(rules), dtype=np.int32)
    on_right = np.empty(len(rules), dtype=np.int32)
    n_left = 0
    n_right = 0
    for rule in rules:
        side = np.uint8(0)
        for place in range(table.starts[rule], table.starts[rule + 1]):
            side |= side_of_item[table.items[place]]
        if side & 1:
            on_left[n_left] = rule
            n_left += 1
        if side & 2:
            on_right[n_right] = rule
            n_right += 1
    return on_left[:n_left].copy(), on_right[:n_right].copy()


# ── whether rules hold once a part is split, counted over the rows that hold the part ─────────────

BILLION = 10**9
"""A confidence is a whole number of billionths."""

LEFT, RIGHT = 1, 2
"""Where the bits of the sides are; the bits at 0 are not looked at."""

BLOCK_ROWS = 1 << 12
"""How many rows are counted at once: their bits stay near the processor."""


N_PARTS, N_EQUAL, N_TELLS = 3, 2, 1
"""How far before its first part a row says how many parts it shows, how many rows it stands for,
and how many sensitive sets it holds: side by side, for they are read together."""


class ShownRows(NamedTuple):
    """Distinct rows as a release would show them, how many rows each stands for, what they tell.

    Row r shows the ``parts[starts[r] - N_PARTS]`` parts from ``parts[starts[r]]`` on, in no
    order, stands for ``parts[starts[r] - N_EQUAL]`` rows, and holds the
    ``parts[starts[r] - N_TELLS]`` sensitive sets ``tells[tells_starts[r]:tells_starts[r + 1]]``,
    ``most_tells`` at most. Rows that stand for many come first.
    """

    starts: NDArray[np.int64]
    parts: NDArray[np.int32]
    tells_starts: NDArray[np.int64]
    tells: NDArray[np.int32]
    most_tells: Whole


class Block(NamedTuple):
    """Some rows that hold the split part, as bits: of the left, the right, and each wanted part.

    ``bits[b]`` has the rows of side or part b (0: of parts that nothing asks for), ``n_words[b]``
    is how many of its words are not 0. ``planes[p]`` has the rows whose number of equal rows has
    bit p, in its first ``n_words_of_plane[p]`` words. ``matched`` is room for the rows of a
    demand. The ``n_tellers[t]`` rows that hold the wanted sensitive set t are ``teller[entry]``,
    from entry ``first_teller[t]`` on by ``next_teller``; where they are many they are bits too,
    ``tells[t]``.
    """

    bits: NDArray[np.uint64]
    n_words: NDArray[np.int64]
    planes: NDArray[np.uint64]
    n_words_of_plane: NDArray[np.int64]
    matched: NDArray[np.uint64]
    tells: NDArray[np.uint64]
    n_tellers: NDArray[np.int32]
    first_teller: NDArray[np.int32]
    next_teller: NDArray[np.int32]
    teller: NDArray[np.int32]


@compiled_inner
def _room_for_block(
    shown: ShownRows, rows: NDArray[np.int32], n_bits: Whole, n_told: Whole
) -> Block:
    """Return room for the largest block of these rows."""
    n_rows = min(len(rows), BLOCK_ROWS)
    n_words = (n_rows + 63) >> 6
    # rows that stand for many come first
    most_equal = shown.parts[shown.starts[rows[0]] - N_EQUAL]
    most_tellers = min(n_rows * shown.most_tells, len(shown.tells))
    n_planes = 0
    while most_equal >> n_planes:
        n_planes += 1
    return Block(
        np.empty((n_bits, n_words), dtype=np.uint64),
        np.empty(n_bits, dtype=np.int64),
        np.empty((n_planes, n_words), dtype=np.uint64),
        np.empty(n_planes, dtype=np.int64),
        np.empty(n_words, dtype=np.uint64),
        np.empty((n_told, n_words), dtype=np.uint64),
        np.empty(n_told, dtype=np.int32),
        np.empty(n_told, dtype=np.int32),
        np.empty(most_tellers, dtype=np.int32),
        np.empty(most_tellers, dtype=np.int32),
    )


@compiled_inner
def _fill_block(
    shown: ShownRows,
    rows: NDArray[np.int32],
    flags: NDArray[np.uint8],
    local_of_part: NDArray[np.int32],
    local_of_told: NDArray[np.int32],
    block: Block,
) -> None:
    """Fill a block from these rows. O(their parts)."""
    block.bits[:] = np.uint64(0)
    block.n_words[:] = 0
    block.planes[:] = np.uint64(0)
    block.n_words_of_plane[:] = 0
    block.first_teller[:] = -1
    block.n_tellers[:] = 0
    n_tellers = 0
    for number in range(len(rows)):
        row = rows[number]
        word = number >> 6
        bit = np.uint64(1) << np.uint64(number & 63)
        flag = np.uint64(flags[row])
        block.bits[LEFT, word] |= (flag & np.uint64(1)) << np.uint64(number & 63)
        block.bits[RIGHT, word] |= (flag >> np.uint64(1)) << np.uint64(number & 63)
        start = shown.starts[row]
        for entry in range(start, start + shown.parts[start - N_PARTS]):
            block.bits[local_of_part[shown.parts[entry]], word] |= bit
        n_equal = shown.parts[start - N_EQUAL]
        plane = 0
        while n_equal:
            if n_equal & 1:
                block.planes[plane, word] |= bit
                block.n_words_of_plane[plane] = word + 1
            n_equal >>= 1
            plane += 1
        if shown.parts[start - N_TELLS] == 0:
            continue
        for place in range(shown.tells_starts[row], shown.tells_starts[row + 1]):
            local = local_of_told[shown.tells[place]]
            if local >= 0:
                block.teller[n_tellers] = number
                block.next_teller[n_tellers] = block.first_teller[local]
                block.first_teller[local] = n_tellers
                block.n_tellers[local] += 1
                n_tellers += 1
    for local in range(len(block.n_words)):
        for word in block.bits[local]:
            block.n_words[local] += word != np.uint64(0)
    for local in range(len(block.n_tellers)):
        if block.n_tellers[local] > block.tells.shape[1]:
            tells = block.tells[local]
            tells[:] = np.uint64(0)
            entry = block.first_teller[local]
            while entry >= 0:
                number = block.teller[entry]
                tells[number >> 6] |= np.uint64(1) << np.uint64(number & 63)
                entry = block.next_teller[entry]


@compiled_inner
def _match(block: Block, n_words: Whole, side: Whole, others: NDArray[np.int32]) -> Whole:
    """Mark the rows of a block that meet a demand; return how many rows they stand for."""
    fewest = block.n_words[LEFT] if side & 1 else block.n_words[RIGHT]
    if side == 3:
        fewest = min(fewest, block.n_words[RIGHT])
    for other in others:
        fewest = min(fewest, block.n_words[other])
    if fewest == 0:
        return 0
    matched = block.matched
    begun = block.bits[LEFT] if side & 1 else block.bits[RIGHT]
    if side == 3:
        more = block.bits[RIGHT]
        for word in range(n_words):
            matched[word] = begun[word] & more[word]
    else:
        for word in range(n_words):
            matched[word] = begun[word]
    for other in others:
        more = block.bits[other]
        for word in range(n_words):
            matched[word] &= more[word]
    n_matched: Whole = np.int64(0)
    for plane in range(len(block.n_words_of_plane)):
        of_plane = block.planes[plane]
        n_rows: Whole = np.int64(0)
        for word in range(block.n_words_of_plane[plane]):
            n_rows += n_set(matched[word] & of_plane[word])
        n_matched += n_rows << plane
    return n_matched


@compiled_inner
def _n_telling(block: Block, shown: ShownRows, rows: NDArray[np.int32], told: Whole) -> Whole:
    """Return how many rows the matched ones that hold a wanted sensitive set stand for."""
    n_telling: Whole = np.int64(0)
    if block.n_tellers[told] > block.tells.shape[1]:
        tells = block.tells[told]
        for plane in range(len(block.n_words_of_plane)):
            of_plane = block.planes[plane]
            n_rows: Whole = np.int64(0)
            for word in range(block.n_words_of_plane[plane]):
                n_rows += n_set(block.matched[word] & of_plane[word] & tells[word])
            n_telling += n_rows << plane
        return n_telling
    entry = block.first_teller[told]
    while entry >= 0:
        number = block.teller[entry]
        if (block.matched[number >> 6] >> np.uint64(number & 63)) & np.uint64(1):
            n_telling += shown.parts[shown.starts[rows[number]] - N_EQUAL]
        entry = block.next_teller[entry]
    return n_telling


@compiled
def number_demands(
    table: RuleTable,
    rules: NDArray[np.int32],
    side_of_item: NDArray[np.uint8],
    part_of_item: NDArray[np.int32],
    local_of_part: NDArray[np.int32],
    local_of_told: NDArray[np.int32],
) -> tuple[Demands, NDArray[np.int32], Whole, Whole]:
    """Return what rules ask for, the other parts as local numbers, and how many numbers there are.

    Wanted parts and sensitive sets get their numbers, which were 0 and −1.
    """
    demands = distinct_demands(table, rules, side_of_item, part_of_item)
    n_bits: Whole = np.int64(RIGHT + 1)
    others = np.empty(len(demands.others), dtype=np.int32)
    for place in range(len(others)):
        part = demands.others[place]
        if local_of_part[part] == 0:
            local_of_part[part] = n_bits
            n_bits += 1
        others[place] = local_of_part[part]
    n_told: Whole = np.int64(0)
    for told in demands.told:
        if local_of_told[told] < 0:
            local_of_told[told] = n_told
            n_told += 1
    return demands, others, n_bits, n_told


@compiled
def count_demands(
    shown: ShownRows,
    demands: Demands,
    others: NDArray[np.int32],
    n_bits: Whole,
    n_told: Whole,
    rows: NDArray[np.int32],
    flags: NDArray[np.uint8],
    local_of_part: NDArray[np.int32],
    local_of_told: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many of these rows meet each demand, and how many of them tell each of its sets.

    O(parts of the rows + demands · their parts · rows / 64).
    """
    n_demands = len(demands.sides)
    holding = np.zeros(n_demands, dtype=np.int64)
    telling = np.zeros(len(demands.told), dtype=np.int64)
    block = _room_for_block(shown, rows, n_bits, n_told)
    for begin in range(0, len(rows), BLOCK_ROWS):
        some = rows[begin : begin + BLOCK_ROWS]
        n_words = (len(some) + 63) >> 6
        _fill_block(shown, some, flags, local_of_part, local_of_told, block)
        for demand in range(n_demands):
            wanted = others[demands.other_starts[demand] : demands.other_starts[demand + 1]]
            n_matched = _match(block, n_words, np.int64(demands.sides[demand]), wanted)
            if n_matched == 0:
                continue
            holding[demand] += n_matched
            for place in range(demands.told_starts[demand], demands.told_starts[demand + 1]):
                told = local_of_told[demands.told[place]]
                telling[place] += _n_telling(block, shown, some, told)
    return holding, telling


@compiled
def are_demands_met(
    demands: Demands,
    holding: NDArray[np.int64],
    telling: NDArray[np.int64],
    local_of_part: NDArray[np.int32],
    local_of_told: NDArray[np.int32],
    k: Whole,
    confidence: Whole,
) -> Flag:
    """Whether all demands are met; local numbers are as they were before ``number_demands``."""
    for part in demands.others:
        local_of_part[part] = 0
    for told in demands.told:
        local_of_told[told] = -1
    for demand in range(len(holding)):
        if holding[demand] < k:
            return False
        for place in range(demands.told_starts[demand], demands.told_starts[demand + 1]):
            if telling[place] * BILLION > confidence * holding[demand]:
                return False
    return True


@compiled
def check_in_rounds(
    shown: ShownRows,
    table: RuleTable,
    rules: NDArray[np.int32],
    side_of_item: NDArray[np.uint8],
    part_of_item: NDArray[np.int32],
    rows: NDArray[np.int32],
    flags: NDArray[np.uint8],
    local_of_part: NDArray[np.int32],
    local_of_told: NDArray[np.int32],
    per_round: Whole,
    k: Whole,
    confidence: Whole,
) -> Whole:
    """Check ``rules``, all that touch the split part, in rounds of so many; return the rounds.

    The number is negative where a rule is broken once the part is split: there it ends.
    ``rows`` are those that hold the part, with the sides that they hold as bits in ``flags``.
    ``confidence`` is in billionths; ``local_of_part`` is 0 and ``local_of_told`` −1 before and
    after. A round is O(parts of the rows + demands · their parts · rows / 64).
    """
    n_rounds: Whole = np.int64(0)
    for begin in range(0, len(rules), per_round):
        n_rounds += 1
        some = rules[begin : begin + per_round]
        demands, others, n_bits, n_told = number_demands(
            table, some, side_of_item, part_of_item, local_of_part, local_of_told
        )
        holding, telling = count_demands(
            shown, demands, others, n_bits, n_told, rows, flags, local_of_part, local_of_told
        )
        if not are_demands_met(
            demands, holding, telling, local_of_part, local_of_told, k, confidence
        ):
            return -n_rounds
    return n_rounds


@compiled
def show_sides(
    shown: ShownRows,
    rows: NDArray[np.int32],
    flags: NDArray[np.uint8],
    part: Whole,
    other_part: Whole,
    left: Whole,
    right: Whole,
) -> None:
    """Let rows show the sides of what is split, one part or two, in its place."""
    for row in rows:
        start = shown.starts[row]
        if part == other_part:
            entry = start
            while shown.parts[entry] != part:
                entry += 1
            shown.parts[entry] = right if flags[row] == 2 else left
            if flags[row] == 3:
                shown.parts[start + shown.parts[start - N_PARTS]] = right
                shown.parts[start - N_PARTS] += 1
            continue
        end = start
        for entry in range(start, start + shown.parts[start - N_PARTS]):
            shows = shown.parts[entry]
            if shows != part and shows != other_part:
                shown.parts[end] = shows
                end += 1
        if flags[row] & 1:
            shown.parts[end] = left
            end += 1
        if flags[row] & 2:
            shown.parts[end] = right
            end += 1
        shown.parts[start - N_PARTS] = end - start


@compiled
def shown_as_one(
    row_starts: NDArray[np.int64],
    n_equal: NDArray[np.int32],
    tells_starts: NDArray[np.int64],
    tells: NDArray[np.int32],
) -> ShownRows:
    """Return rows that all show part 0, with room for as many parts as they have items."""
    n_rows = len(n_equal)
    starts = np.empty(n_rows, dtype=np.int64)
    parts = np.zeros(row_starts[n_rows] + N_PARTS * n_rows, dtype=np.int32)
    most_tells: Whole = np.int64(0)
    for row in range(n_rows):
        start = row_starts[row] + N_PARTS * (row + 1)
        starts[row] = start
        parts[start - N_PARTS] = 1
        parts[start - N_EQUAL] = n_equal[row]
        n_tells = tells_starts[row + 1] - tells_starts[row]
        parts[start - N_TELLS] = n_tells
        most_tells = max(most_tells, n_tells)
    return ShownRows(starts, parts, tells_starts, tells, most_tells)

"""Rows by content: hashes, and the distinct rows most like one of them (Jaccard)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner
from incrowd.kernels.draws import below
from incrowd.kernels.item_rows import mix_bits, n_set
from incrowd.methods.cluster.sets.kernels.state import DistinctSets


@compiled
def content_of_rows(
    starts: NDArray[np.int64], items: NDArray[np.int32], needs: NDArray[np.int32]
) -> NDArray[np.uint64]:
    """Return a number per row, equal for equal sets with equal needs, and else hardly ever.

    Rows that share a number by chance would be taken for one distinct set: the search would be
    misled about their worth, never about the size of their group, and the vote counts real rows.
    """
    content = np.empty(len(needs), dtype=np.uint64)
    for row in range(len(needs)):
        total = mix_bits(np.uint64(needs[row]) << np.uint64(32))
        for entry in range(starts[row], starts[row + 1]):
            total += mix_bits(np.uint64(items[entry]))
        content[row] = mix_bits(total)
    return content


# ── near sets: those most like one (Jaccard), among those that still have rows to give ──────────

LONGEST_LOOK = 400
"""How many holders of one item are looked at, from a random place on."""


class Index(NamedTuple):
    """Where sets with rows left are found: lists by item, or bitsets where ``bits`` has rows.

    ``holders[list_starts[item]:list_ends[item]]`` are distinct sets that may have rows left;
    ``live[:n_live[0]]`` are those of the bitsets.
    """

    list_starts: NDArray[np.int64]
    list_ends: NDArray[np.int64]
    holders: NDArray[np.int32]
    bits: NDArray[np.uint64]
    live: NDArray[np.int32]
    n_live: NDArray[np.int64]
    shared: NDArray[np.int32]
    touched: NDArray[np.int32]


class Found(NamedTuple):
    """The nearest distinct sets of one seed so far, in no order, and how alike they are."""

    distinct: NDArray[np.int32]
    likeness: NDArray[np.float64]
    n: NDArray[np.int64]
    worst: NDArray[np.int64]


@compiled
def bitsets(distinct_sets: DistinctSets, n_words: Whole) -> NDArray[np.uint64]:
    """Return every set's items as bits."""
    n_distinct = len(distinct_sets.need)
    bits = np.zeros((n_distinct, n_words), dtype=np.uint64)
    for distinct in range(n_distinct):
        for entry in range(distinct_sets.starts[distinct], distinct_sets.starts[distinct + 1]):
            item = distinct_sets.items[entry]
            bits[distinct, item // 64] |= np.uint64(1) << np.uint64(item % 64)
    return bits


@compiled_inner
def _find_worst(found: Found) -> None:
    worst = 0
    for place in range(1, found.n[0]):
        if found.likeness[place] < found.likeness[worst]:
            worst = place
    found.worst[0] = worst


@compiled_inner
def _offer(found: Found, distinct: Whole, likeness: float) -> None:
    """Keep a distinct set if it is among the nearest."""
    if found.n[0] < len(found.distinct):
        found.distinct[found.n[0]] = distinct
        found.likeness[found.n[0]] = likeness
        found.n[0] += 1
        if found.n[0] == len(found.distinct):
            _find_worst(found)
    elif likeness > found.likeness[found.worst[0]]:
        found.distinct[found.worst[0]] = distinct
        found.likeness[found.worst[0]] = likeness
        _find_worst(found)


@compiled_inner
def _near_by_bits(
    distinct_sets: DistinctSets,
    index: Index,
    found: Found,
    n_left: NDArray[np.int32],
    seed: Whole,
    need: Whole,
) -> None:
    n_words = index.bits.shape[1]
    n_items = distinct_sets.starts[seed + 1] - distinct_sets.starts[seed]
    place = 0
    while place < index.n_live[0]:
        distinct = index.live[place]
        if n_left[distinct] == 0:
            index.n_live[0] -= 1
            index.live[place] = index.live[index.n_live[0]]
            continue
        place += 1
        if distinct == seed or distinct_sets.need[distinct] > need:
            continue
        shared = 0
        for word in range(n_words):
            shared += n_set(index.bits[seed, word] & index.bits[distinct, word])
        if shared > 0:
            either = (
                n_items
                + distinct_sets.starts[distinct + 1]
                - distinct_sets.starts[distinct]
                - shared
            )
            _offer(found, distinct, shared / either)


@compiled_inner
def _near_by_lists(
    distinct_sets: DistinctSets,
    index: Index,
    found: Found,
    n_left: NDArray[np.int32],
    seed: Whole,
    need: Whole,
    random: NDArray[np.int64],
) -> None:
    n_items = distinct_sets.starts[seed + 1] - distinct_sets.starts[seed]
    n_touched = 0
    for entry in range(distinct_sets.starts[seed], distinct_sets.starts[seed + 1]):
        item = distinct_sets.items[entry]
        place = index.list_starts[item]
        length = index.list_ends[item] - place
        if length > LONGEST_LOOK:
            place += below(random, length - LONGEST_LOOK + 1)
        n_looked_at = 0
        while place < index.list_ends[item] and n_looked_at < LONGEST_LOOK:
            distinct = index.holders[place]
            if n_left[distinct] == 0:  # used up: out of the list
                index.list_ends[item] -= 1
                index.holders[place] = index.holders[index.list_ends[item]]
                continue
            if index.shared[distinct] == 0:
                index.touched[n_touched] = distinct
                n_touched += 1
            index.shared[distinct] += 1
            place += 1
            n_looked_at += 1
    for place in range(n_touched):
        distinct = index.touched[place]
        shared = index.shared[distinct]
        index.shared[distinct] = 0
        if distinct == seed or distinct_sets.need[distinct] > need:
            continue
        either = (
            n_items + distinct_sets.starts[distinct + 1] - distinct_sets.starts[distinct] - shared
        )
        _offer(found, distinct, shared / either)


@compiled_inner
def find_near(
    distinct_sets: DistinctSets,
    index: Index,
    found: Found,
    n_left: NDArray[np.int32],
    seed: Whole,
    need: Whole,
    random: NDArray[np.int64],
) -> None:
    """Fill ``found`` with the sets most like a seed that have rows left and need no more."""
    found.n[0] = 0
    if index.bits.shape[0] > 0:
        _near_by_bits(distinct_sets, index, found, n_left, seed, need)
    else:
        _near_by_lists(distinct_sets, index, found, n_left, seed, need, random)

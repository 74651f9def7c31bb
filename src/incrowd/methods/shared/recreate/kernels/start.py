"""The first groups: a table is split along the children of one node at a time, while it pays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Whole, compiled, compiled_inner
from incrowd.kernels.sorting import shell_sort
from incrowd.methods.shared.recreate.kernels.state import (
    FIRST,
    HIGH_CELL,
    LAST,
    LEAF,
    LOW_CELL,
    MEETS,
    PARENT,
    VALUE_START,
    Space,
    join,
    price_of_box,
    price_of_meeting,
    run_of,
    set_to_row,
    widen,
)

CHILD_OF, RANKING, SPAN_START, GROUP_START = range(4)
DISTINCT, COUNT = range(2)

ROOM = 64
"""How many more pairs than twice the distinct rows there is room for at first."""


class Children(NamedTuple):
    """Per node: the rows under it and their box; ``seen`` lists the children met in a span."""

    size: NDArray[np.int64]
    box: NDArray[np.int32]
    seen: NDArray[np.int64]


class Room(NamedTuple):
    """Room for splits: (DISTINCT, COUNT) pairs on a stack, beside it, and of groups that are done.

    ``numbers`` has a line per name above; ``boxes`` are those of a span and of its rest.
    """

    stack: NDArray[np.int64]
    spare: NDArray[np.int64]
    done: NDArray[np.int64]
    numbers: NDArray[np.int64]
    boxes: NDArray[np.int32]


def top_down(
    space: Space, k: int, distinct: NDArray[np.int64], count: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return groups of at least k rows as spans of (distinct row, count) pairs.

    There must be at least k rows in all.
    """
    n_rows = int(count.sum())  # a pair has at least one row, so there are never more of them
    n_room = min(n_rows, 2 * len(distinct) + ROOM)
    while True:
        room = _room(space, n_room, distinct, count)
        n_groups = int(split_top_down(space, k, len(distinct), _no_children(space), room))
        if n_groups >= 0:
            starts = room.numbers[GROUP_START, : n_groups + 1]
            return starts, room.done[DISTINCT, : starts[-1]], room.done[COUNT, : starts[-1]]
        n_room = min(n_rows, 2 * n_room)


def _no_children(space: Space) -> Children:
    n_columns, n_nodes = space.value.shape[1], space.nodes.shape[1]
    return Children(
        np.zeros(n_nodes, dtype=np.int64),
        np.zeros((n_nodes, n_columns), dtype=np.int32),
        np.zeros(n_nodes, dtype=np.int64),
    )


def _room(space: Space, n_room: int, distinct: NDArray[np.int64], count: NDArray[np.int64]) -> Room:
    """Return room for so many pairs, the given ones on the stack."""
    pairs = np.zeros((2, n_room), dtype=np.int64)
    numbers = np.zeros((4, n_room + 1), dtype=np.int64)
    boxes = np.zeros((2, space.value.shape[1]), dtype=np.int32)
    room = Room(pairs, pairs.copy(), pairs.copy(), numbers, boxes)
    room.stack[DISTINCT, : len(distinct)] = distinct
    room.stack[COUNT, : len(distinct)] = count
    return room


@compiled_inner
def _part_of_run(space: Space, node: Whole, leaf: Whole) -> Whole:
    """Return the part of a run in which a leaf lies: a half, or the value itself in one cell. O(1).

    A root that holds more than numbers has the others as parts, and stands itself for the part
    that is all numbers.
    """
    low, high = space.nodes[LOW_CELL, node], space.nodes[HIGH_CELL, node]
    cell = space.nodes[LOW_CELL, leaf]
    if low < 0:
        return leaf if cell == high else node
    if low == high:
        return leaf
    middle = (low + high) >> 1
    if cell <= middle:
        return run_of(space, node, low, middle)
    return run_of(space, node, middle + 1, high)


@compiled_inner
def _child_of_row(space: Space, node: Whole, column: Whole, distinct: Whole) -> Whole:
    """Return the child of a node in whose tree's part a distinct row lies. O(depth)."""
    value = space.columns[VALUE_START, column] + space.value[distinct, column]
    child = np.int64(space.values[LEAF, value])
    if space.nodes[MEETS, node] < -1:
        return _part_of_run(space, node, child)
    while space.nodes[PARENT, child] != node:
        child = np.int64(space.nodes[PARENT, child])
    return child


@compiled_inner
def _gain(
    space: Space,
    k: Whole,
    price: Whole,
    size: Whole,
    n_seen: Whole,
    children: Children,
    rest_box: NDArray[np.int32],
) -> Any:
    """Return what splitting into these children saves, about; 0 where it cannot be done.

    Children with k rows or more stand alone, the others are pooled; a pool that is too small
    borrows rows, or takes in the smallest child that is not.
    """
    gain: Any = 0.0
    n_big = surplus = n_rest = np.int64(0)
    for place in range(n_seen):
        child = children.seen[place]
        if children.size[child] >= k:
            n_big += 1
            surplus += children.size[child] - k
            saved = price - price_of_box(space, children.box[child])
            gain += np.float64(children.size[child] * saved)
        else:
            if n_rest == 0:
                for column in range(rest_box.size):
                    rest_box[column] = children.box[child, column]
            for column in range(rest_box.size):
                node = np.int64(children.box[child, column])
                rest_box[column] = join(space, np.int64(rest_box[column]), node)
            n_rest += children.size[child]
    if n_big == 0 or (n_big == 1 and n_rest == 0):
        return 0.0
    if n_rest >= k:
        return gain + np.float64(n_rest * (price - price_of_box(space, rest_box)))
    if n_rest > 0 and surplus < k - n_rest:
        return gain * (1.0 - 1.0 / n_big)
    if n_rest > 0:
        return gain - (k - n_rest) * 0.5 * gain / max(1, size - n_rest)
    return gain


@compiled_inner
def _best_column(
    space: Space,
    k: Whole,
    box: NDArray[np.int32],
    size: Whole,
    distinct: NDArray[np.int64],
    count: NDArray[np.int64],
    children: Children,
    rest_box: NDArray[np.int32],
) -> Whole:
    """Return the column along which a split saves the most, −1 if none. O(rows · columns²)."""
    best_gain = 0.0
    best: Whole = np.int64(-1)
    price = price_of_box(space, box)
    for column in range(box.size):
        node = np.int64(box[column])
        if space.nodes[LAST, node] - space.nodes[FIRST, node] == 1:
            continue
        n_seen = np.int64(0)
        for place in range(distinct.size):
            child = _child_of_row(space, node, column, distinct[place])
            if children.size[child] == 0:
                set_to_row(space, children.box[child], distinct[place])
                children.seen[n_seen] = child
                n_seen += 1
            else:
                widen(space, children.box[child], distinct[place])
            children.size[child] += count[place]
        gain = _gain(space, k, price, size, n_seen, children, rest_box)
        for place in range(n_seen):
            children.size[children.seen[place]] = 0
        if gain > best_gain:
            best_gain = gain
            best = column
    return best


@compiled
def split_top_down(space: Space, k: Whole, n_pairs: Whole, children: Children, room: Room) -> Whole:
    """Split the pairs on the stack into groups of at least k rows; return how many.

    A span is split along the column that saves the most, until no split pays. −1 if there is not
    enough room: a group may borrow rows of others, so that there are more and more pairs.
    O(rows · columns² · splits above each other).
    """
    box, rest_box = room.boxes[0], room.boxes[1]
    stack_distinct, stack_count = room.stack[DISTINCT], room.stack[COUNT]
    spare_distinct, spare_count = room.spare[DISTINCT], room.spare[COUNT]
    child_of, ranking = room.numbers[CHILD_OF], room.numbers[RANKING]
    span_start, group_start = room.numbers[SPAN_START], room.numbers[GROUP_START]
    # the stack holds spans of (distinct row, count) pairs one behind the other; ``top`` is its end
    n_spans: Whole = np.int64(1)
    top: Whole = n_pairs
    n_all: Whole = n_pairs
    n_groups = np.int64(0)
    while n_spans > 0:
        n_spans -= 1
        # take the last span: its size, and the box that its rows are shown as
        start = span_start[n_spans]
        size = np.int64(0)
        set_to_row(space, box, stack_distinct[start])
        for place in range(start, top):
            size += stack_count[place]
            widen(space, box, stack_distinct[place])
        column: Whole = np.int64(-1)
        if size >= 2 * k and top - start > 1:
            column = _best_column(
                space,
                k,
                box,
                size,
                stack_distinct[start:top],
                stack_count[start:top],
                children,
                rest_box,
            )
        # no split pays: the span is a group
        if column < 0:
            out = group_start[n_groups]
            for place in range(start, top):
                room.done[DISTINCT, out] = stack_distinct[place]
                room.done[COUNT, out] = stack_count[place]
                out += 1
            n_groups += 1
            group_start[n_groups] = out
            top = start
            continue
        # child_of: the child of the box's node that each pair lies under; size: rows under each
        # child
        n_items = top - start
        item: Whole
        n_seen = np.int64(0)
        node = np.int64(box[column])
        for item in range(n_items):
            child = _child_of_row(space, node, column, stack_distinct[start + item])
            child_of[item] = child
            if children.size[child] == 0:
                children.seen[n_seen] = child
                n_seen += 1
            children.size[child] += stack_count[start + item]
        # children below k make up the rest; what the others have beyond k is the surplus
        surplus: Whole = np.int64(0)
        n_rest: Whole = np.int64(0)
        smallest: Whole = np.int64(-1)
        for place in range(n_seen):
            child = children.seen[place]
            if children.size[child] < k:
                n_rest += children.size[child]
            else:
                surplus += children.size[child] - k
                if smallest < 0 or children.size[child] <= children.size[smallest]:
                    smallest = child
        # a rest below k that cannot borrow enough takes in the smallest of the others whole
        folded = np.int64(-1)
        if 0 < n_rest < k and surplus < k - n_rest:
            folded = smallest
        # the pool of the rest first, then what it borrows
        out = np.int64(0)
        for item in range(n_items):
            if children.size[child_of[item]] < k or child_of[item] == folded:
                spare_distinct[out] = stack_distinct[start + item]
                spare_count[out] = stack_count[start + item]
                out += 1
        if 0 < n_rest < k and folded < 0:
            set_to_row(space, rest_box, spare_distinct[0])
            for item in range(out):
                widen(space, rest_box, spare_distinct[item])
            # it borrows the rows that widen its box least, from children with more than k
            n_ranked = np.int64(0)
            for item in range(n_items):
                if children.size[child_of[item]] > k:
                    price = price_of_meeting(space, rest_box, stack_distinct[start + item])
                    ranking[n_ranked] = (price << 32) | item
                    n_ranked += 1
            shell_sort(ranking, n_ranked)
            for rank in range(n_ranked):
                if n_rest >= k:
                    break
                item = ranking[rank] & 0xFFFFFFFF
                available = children.size[child_of[item]] - k
                n_taken = min(min(stack_count[start + item], available), k - n_rest)
                if n_taken <= 0:
                    continue
                if n_taken < stack_count[start + item]:
                    n_all += 1
                    if n_all > room.stack.shape[1]:
                        return np.int64(-1)
                spare_distinct[out] = stack_distinct[start + item]
                spare_count[out] = n_taken
                out += 1
                stack_count[start + item] -= n_taken
                children.size[child_of[item]] -= n_taken
                n_rest += n_taken
        # the rest, then each child that stands, are spans of their own in place of the one they
        # were
        if out > 0:
            span_start[n_spans] = start
            n_spans += 1
        for place in range(n_seen):
            child = children.seen[place]
            if children.size[child] < k or child == folded:
                continue
            span_start[n_spans] = start + out
            n_spans += 1
            for item in range(n_items):
                if child_of[item] == child and stack_count[start + item] > 0:
                    spare_distinct[out] = stack_distinct[start + item]
                    spare_count[out] = stack_count[start + item]
                    out += 1
        for place in range(n_seen):
            children.size[children.seen[place]] = 0
        for item in range(out):
            stack_distinct[start + item] = spare_distinct[item]
            stack_count[start + item] = spare_count[item]
        top = start + out
    return n_groups

"""Mondrian's cutting of tables: parts on a stack, each cut in two or released."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.codes import stable_order
from incrowd.compiling import Flag, Whole, compiled, compiled_inner
from incrowd.encoding.rows import Rows
from incrowd.errors import InfeasibleError
from incrowd.hierarchies.costs import cost_to_root
from incrowd.hierarchies.tree import Hierarchy
from incrowd.kernels.sorting import shell_sort
from incrowd.kernels.trees import common_ancestor
from incrowd.kernels.validity import Scratch, is_valid, scratch_for
from incrowd.methods.shared.conditions import PackedConditions, Validity
from incrowd.methods.shared.forest import Forest
from incrowd.methods.shared.fragments import sort_key
from incrowd.progress import Progress
from incrowd.threads import cut_spans

__all__ = ["Boxes", "Parts", "cut_slice", "scratch_for", "start"]

MOST_TRIED = 32
"""How many cuts of a column are tested where more than their sizes must be looked at."""


class Boxes(NamedTuple):
    """The columns' trees, one after the other.

    ``leaf_at[start + position]`` is the leaf at a position, ``first[node]`` the position at which
    a node's leaves begin, ``width[node]`` how much is lost at it, from 0 to 1.
    """

    start: NDArray[np.int64]
    parent: NDArray[np.int32]
    leaf_at: NDArray[np.int32]
    first: NDArray[np.int32]
    width: NDArray[np.float64]


class Parts(NamedTuple):
    """The state of a run between two slices of it.

    ``order`` holds the rows, each part a span of it whose rows stand in the order they were
    given in; ``spans`` the parts that are still to be looked at; ``released[row, column]`` the
    nodes of parts that are done. ``spare``, ``keys``, ``n_before`` and ``count_at`` are room to
    work in. ``counters``: parts on the stack, rows done, each with its count.
    """

    order: NDArray[np.int32]
    count_of_row: NDArray[np.int64]
    spare: NDArray[np.int32]
    keys: NDArray[np.int32]
    n_before: NDArray[np.int64]
    count_at: NDArray[np.int64]
    spans: NDArray[np.int64]
    released: NDArray[np.int32]
    counters: NDArray[np.int64]


def start(
    order: NDArray[np.int64],
    count_of_row: NDArray[np.int64],
    n_columns: int,
    n_positions: int,
    n_threads: int = 1,
) -> list[Parts]:
    """Return the state in which all rows are one part; positions are below ``n_positions``.

    There is one for each thread: rows are shared, the first one has all of them, and each has
    room of its own to work in (memory that is taken only where it is written to).
    """
    n_rows = len(order)
    # parts on the stack are disjoint spans, so there are never more than rows
    whole = Parts(
        order.astype(np.int32),
        count_of_row.astype(np.int64),
        np.empty(n_rows, dtype=np.int32),
        np.empty(n_rows, dtype=np.int32),
        np.empty(n_rows + 1, dtype=np.int64),
        np.zeros(n_positions, dtype=np.int64),
        np.zeros((n_rows + 1, 2), dtype=np.int64),
        np.zeros((n_rows, n_columns), dtype=np.int32),
        np.asarray([1, 0], dtype=np.int64),
    )
    whole.spans[0, 1] = n_rows
    others = [
        whole._replace(
            keys=np.empty(n_rows, dtype=np.int32),
            n_before=np.empty(n_rows + 1, dtype=np.int64),
            count_at=np.zeros(n_positions, dtype=np.int64),
            spans=np.zeros((n_rows + 1, 2), dtype=np.int64),
            counters=np.zeros(2, dtype=np.int64),
        )
        for _ in range(1, n_threads)
    ]
    return [whole, *others]


@compiled_inner
def _sort(
    keys: NDArray[np.int32], n_keys: Whole, low: Whole, high: Whole, count_at: NDArray[np.int64]
) -> None:
    """Sort keys that lie between ``low`` and ``high``; ``count_at`` is zero before and after.

    By counting, O(keys + high − low), where keys are dense enough for it; else by Shell's sort.
    """
    if 4 * n_keys >= high - low:
        for place in range(n_keys):
            count_at[keys[place]] += 1
        n_sorted = 0
        for key in range(low, high + 1):
            for _ in range(count_at[key]):
                keys[n_sorted] = key
                n_sorted += 1
            count_at[key] = 0
        return
    shell_sort(keys, n_keys)


@compiled_inner
def _split(
    order: NDArray[np.int32],
    spare: NDArray[np.int32],
    first: Whole,
    end: Whole,
    position: NDArray[np.int32],
    column: Whole,
    pivot: Whole,
    n_at_pivot: Whole,
) -> Whole:
    """Put rows below ``pivot``, and the first ``n_at_pivot`` at it, before the others in ``spare``.

    Both sides keep their order. Returns where the second side begins. O(rows).
    """
    n_left = np.int64(0)
    for place in range(first, end):
        n_left += position[order[place], column] < pivot
    n_left += n_at_pivot
    left: Whole = first
    right: Whole = first + n_left
    for place in range(first, end):
        row = order[place]
        here = position[row, column]
        is_left = here < pivot
        if here == pivot and n_at_pivot > 0:
            is_left = True
            n_at_pivot -= 1
        if is_left:
            spare[left] = row
            left += 1
        else:
            spare[right] = row
            right += 1
    return first + n_left


@compiled_inner
def _are_sides_valid(
    spare: NDArray[np.int32],
    first: Whole,
    middle: Whole,
    end: Whole,
    limits: Any,
    scratch: Scratch,
) -> Flag:
    """Return whether both sides of a cut are valid, each row standing for itself. O(rows)."""
    if middle - first < limits.k or end - middle < limits.k:
        return False
    return is_valid(spare[first:middle], middle - first, limits, scratch) and is_valid(
        spare[middle:end], end - middle, limits, scratch
    )


@compiled_inner
def _count_children(
    parts: Parts,
    first: Whole,
    end: Whole,
    node: Whole,
    most: Whole,
    column: Whole,
    position: NDArray[np.int32],
    boxes: Boxes,
) -> tuple[Whole, Whole]:
    """Put where the children of ``node`` with rows begin into ``keys``, sorted.

    ``n_before`` then has how many rows come before each child, and how many there are. Returns
    how many children there are, and the rows of the one that has the most; ``most`` is the
    greatest position. O(rows · depth), and the span of positions where children are dense.
    """
    keys, count_at = parts.keys, parts.count_at
    low = np.int64(boxes.first[node])
    offset = boxes.start[column]
    n_children: Whole = np.int64(0)
    for place in range(first, end):
        row = parts.order[place]
        child = boxes.leaf_at[offset + position[row, column]]
        while boxes.parent[child] != node:
            child = boxes.parent[child]
        key = boxes.first[child]
        if count_at[key] == 0:
            keys[n_children] = key
            n_children += 1
        count_at[key] += parts.count_of_row[row]
    if 4 * n_children >= most - low:
        n_children = np.int64(0)
        for key in range(low, most + 1):
            if count_at[key] > 0:
                keys[n_children] = key
                n_children += 1
    else:
        shell_sort(keys, n_children)
    n_most: Whole = np.int64(0)
    parts.n_before[0] = 0
    for child in range(n_children):
        count = count_at[keys[child]]
        count_at[keys[child]] = 0
        parts.n_before[child + 1] = parts.n_before[child] + count
        n_most = max(n_most, count)
    return n_children, n_most


@compiled_inner
def _cut_strict(
    parts: Parts,
    first: Whole,
    end: Whole,
    n_children: Whole,
    column: Whole,
    position: NDArray[np.int32],
    limits: Any,
    is_size_only: Flag,
    scratch: Scratch,
) -> Whole:
    """Cut between two children, as near the median as is valid; −1 if no cut is.

    ``keys`` and ``n_before`` are those of ``_count_children``. Rows of the two sides are left in
    ``spare``. O(rows) per cut tested.
    """
    n_before = parts.n_before
    n_rows = n_before[n_children]
    # the boundary at or above the median, and the one below it; then outwards from there
    above: Whole = np.int64(1)
    while above < n_children and n_before[above] < n_rows // 2:
        above += 1
    below: Whole = above - 1
    n_tried = 0
    while n_tried < MOST_TRIED:
        can_below = (
            below > 0 and n_before[below] >= limits.k and n_rows - n_before[below] >= limits.k
        )
        can_above = (
            above < n_children
            and n_before[above] >= limits.k
            and n_rows - n_before[above] >= limits.k
        )
        if not can_below and not can_above:
            break
        is_below = can_below and (
            not can_above or n_rows - 2 * n_before[below] <= 2 * n_before[above] - n_rows
        )
        child = below if is_below else above
        middle = _split(
            parts.order,
            parts.spare,
            first,
            end,
            position,
            column,
            np.int64(parts.keys[child]),
            np.int64(0),
        )
        n_tried += 1
        if is_size_only or _are_sides_valid(parts.spare, first, middle, end, limits, scratch):
            return middle
        if is_below:
            below -= 1
        else:
            above += 1
    return np.int64(-1)


@compiled_inner
def _cut_relaxed(
    parts: Parts,
    first: Whole,
    end: Whole,
    least: Whole,
    most: Whole,
    column: Whole,
    position: NDArray[np.int32],
    limits: Any,
    is_size_only: Flag,
    scratch: Scratch,
) -> Whole:
    """Cut at the median row, through equal values if need be; −1 if that is not valid.

    Positions lie between ``least`` and ``most``. Rows of the two sides are left in ``spare``.
    O(rows · log rows).
    """
    keys = parts.keys
    n_rows = end - first
    for place in range(n_rows):
        keys[place] = position[parts.order[first + place], column]
    _sort(keys, n_rows, least, most, parts.count_at)
    half = n_rows // 2
    pivot = np.int64(keys[half])
    n_at_pivot: Whole = np.int64(0)
    while n_at_pivot < half and keys[half - 1 - n_at_pivot] == pivot:
        n_at_pivot += 1
    middle = _split(parts.order, parts.spare, first, end, position, column, pivot, n_at_pivot)
    if is_size_only and middle - first >= limits.k and end - middle >= limits.k:
        return middle
    if not is_size_only and _are_sides_valid(parts.spare, first, middle, end, limits, scratch):
        return middle
    return np.int64(-1)


@compiled
def cut_slice(
    n_looked_at: Whole,
    parts: Parts,
    position: NDArray[np.int32],
    boxes: Boxes,
    limits: Any,
    is_size_only: Flag,
    is_strict: Flag,
    scratch: Scratch,
) -> Flag:
    """Cut parts until about ``n_looked_at`` rows were looked at; return whether all is done."""
    n_columns = position.shape[1]
    node_of_column = np.empty(n_columns, dtype=np.int64)
    least_of_column = np.empty(n_columns, dtype=np.int64)
    most_of_column = np.empty(n_columns, dtype=np.int64)
    is_open = np.empty(n_columns, dtype=np.bool_)
    order = parts.order
    n_parts, n_done = parts.counters
    while n_parts > 0 and n_looked_at > 0:
        # take the last part off the stack; count its rows
        n_parts -= 1
        first = parts.spans[n_parts, 0]
        end = parts.spans[n_parts, 1]
        n_looked_at -= end - first
        size = np.int64(0)
        for place in range(first, end):
            size += parts.count_of_row[order[place]]
        # per column the span of its values and the node above them; open: it may be cut
        for column in range(n_columns):
            least = position[order[first], column]
            most = least
            for place in range(first + 1, end):
                here = position[order[place], column]
                least = min(least, here)
                most = max(most, here)
            offset = boxes.start[column]
            node = common_ancestor(
                boxes.parent,
                np.int64(boxes.leaf_at[offset + least]),
                np.int64(boxes.leaf_at[offset + most]),
            )
            node_of_column[column] = node
            least_of_column[column] = least
            most_of_column[column] = most
            is_open[column] = least != most and size >= 2 * limits.k
        # try open columns from the widest on, until one has a cut that leaves both sides valid
        middle: Whole = np.int64(-1)
        while middle < 0:
            widest: Whole = np.int64(-1)
            for column in range(n_columns):
                if is_open[column] and (
                    widest < 0
                    or boxes.width[node_of_column[column]] > boxes.width[node_of_column[widest]]
                ):
                    widest = np.int64(column)
            if widest < 0:
                break
            is_open[widest] = False
            n_looked_at -= end - first
            n_children, n_most = _count_children(
                parts,
                first,
                end,
                node_of_column[widest],
                most_of_column[widest],
                widest,
                position,
                boxes,
            )
            if n_most < limits.k:
                continue  # no group fits into one child: the box would stay at this node
            if is_strict:
                middle = _cut_strict(
                    parts,
                    first,
                    end,
                    n_children,
                    widest,
                    position,
                    limits,
                    is_size_only,
                    scratch,
                )
            else:
                middle = _cut_relaxed(
                    parts,
                    first,
                    end,
                    least_of_column[widest],
                    most_of_column[widest],
                    widest,
                    position,
                    limits,
                    is_size_only,
                    scratch,
                )
        # no cut is left: the part is a group, shown at its nodes
        if middle < 0:
            for place in range(first, end):
                for column in range(n_columns):
                    node = node_of_column[column] - boxes.start[column]
                    parts.released[order[place], column] = node
            n_done += size
            continue
        # both sides go on the stack, the left one on top
        for place in range(first, end):
            order[place] = parts.spare[place]
        parts.spans[n_parts, 0] = middle
        parts.spans[n_parts, 1] = end
        parts.spans[n_parts + 1, 0] = first
        parts.spans[n_parts + 1, 1] = middle
        n_parts += 2
    parts.counters[0] = n_parts
    parts.counters[1] = n_done
    return n_parts == 0


# One run of Mondrian over the rows of a table.

STAGE = "cutting groups"

ROWS_PER_SLICE = 2_000_000
"""How many rows are looked at between two reports of progress: some hundredths of a second."""

ROWS_PER_TURN = 200_000
"""The same where threads share parts: some milliseconds until one that waits is given some."""

ROWS_PER_THREAD = 10_000
"""Fewer rows are cut sooner than a thread is started."""


def cut_rows(
    rows: Rows,
    limits: PackedConditions,
    is_size_only: bool,
    metric: str,
    is_strict: bool,
    progress: Progress,
    n_of_row: NDArray[np.int64] | None = None,
    n_threads: int = 1,
) -> NDArray[np.int32]:
    """Return ``nodes[column, row]`` generalized so that every group is valid.

    Every node must be a leaf. The result does not depend on the order of rows, nor on the number
    of threads: what becomes of a part is decided by its own rows. There are
    ``n_of_row[row]`` of each, if their size is all that groups are tested by and cuts are strict;
    else, or if it is not stated, one of each.
    """

    leaves = np.asarray([[hierarchy.n_leaves] for hierarchy in rows.hierarchies])
    if rows.n_columns and np.any(rows.nodes >= leaves):
        raise ValueError("Mondrian cuts rows of leaves, and some nodes are above them")
    position = np.empty((rows.n_rows, rows.n_columns), dtype=np.int32)
    for column, hierarchy in enumerate(rows.hierarchies):
        position[:, column] = hierarchy.leaf_order[rows.nodes[column]]
    order = _content_order(position, rows, limits)
    if n_of_row is None or not (is_size_only and is_strict):
        n_of_row = np.ones(rows.n_rows, dtype=np.int64)
    n_rows = int(n_of_row.sum())
    is_feasible = n_rows >= limits.k
    if not is_size_only:
        is_feasible = Validity(order, limits).of_span(0, rows.n_rows)
    if not is_feasible:
        raise InfeasibleError(
            f"all {n_rows} rows in one group do not meet the conditions",
            remedy="Lower k or l, raise t, or leave out the rows that ask for too much.",
        )
    forest = Forest.of(rows.hierarchies)
    boxes = _boxes(rows.hierarchies, forest, metric)
    n_threads = max(1, min(n_threads, rows.n_rows // ROWS_PER_THREAD))
    n_positions = int(leaves.max(initial=0))
    stacks = start(order, n_of_row, rows.n_columns, n_positions, n_threads)
    # room to test validity in: one for each thread
    scratch = {id(parts.counters): scratch_for(limits) for parts in stacks}
    n_looked_at = ROWS_PER_SLICE if n_threads == 1 else ROWS_PER_TURN

    def cut(parts: Parts) -> bool:
        room = scratch[id(parts.counters)]
        return bool(
            cut_slice(n_looked_at, parts, position, boxes, limits, is_size_only, is_strict, room)
        )

    def report() -> None:
        progress(STAGE, sum(int(parts.counters[1]) for parts in stacks), n_rows)

    cut_spans(stacks, cut, report, n_kept=1)
    progress(STAGE, n_rows, n_rows)
    return forest.in_nodes(np.ascontiguousarray(stacks[0].released.T))


def _content_order(
    position: NDArray[np.int32], rows: Rows, limits: PackedConditions
) -> NDArray[np.int64]:
    """Return the rows sorted by all that a cut or a condition looks at, then by number.

    Rows that are cut apart although their quasi-identifying values are equal are so by their
    other content; only rows that are equal in everything are told apart by their number.
    """
    keys = [position[:, column] for column in range(rows.n_columns)]
    keys += list(limits.code_of_row)
    n_values = [hierarchy.n_leaves for hierarchy in rows.hierarchies]
    n_values += [int(count) + 1 for count in limits.n_values]
    if limits.k_of_row.size:
        keys.append(limits.k_of_row)
        n_values.append(int(limits.k_of_row.max()) + 1)
    if limits.person_of_row.size:
        keys.append(limits.person_of_row)
        n_values.append(limits.n_people)
    return stable_order(sort_key(keys, n_values, rows.n_rows))


def _boxes(hierarchies: tuple[Hierarchy, ...], forest: Forest, metric: str) -> Boxes:
    """Return the columns' trees as a cut needs them."""

    parent = forest.parent
    leaf_at = np.zeros(len(parent), dtype=np.int32)
    first = np.zeros(len(parent), dtype=np.int32)
    width = np.zeros(len(parent))
    for start, hierarchy, walk in zip(forest.start[:-1], hierarchies, forest.walks, strict=True):
        end = start + hierarchy.n_nodes
        is_leaf = walk.node_at < hierarchy.n_leaves
        # leaves stand in their order within the walk: a node's first position is how many of
        # them come before it
        leaf_at[start : start + hierarchy.n_leaves] = start + np.flatnonzero(is_leaf)
        first[start:end] = np.cumsum(is_leaf) - is_leaf
        width[start:end] = _width(hierarchy, metric)[walk.node_at]
    return Boxes(forest.start, parent, leaf_at, first, width)


def _width(hierarchy: Hierarchy, metric: str) -> NDArray[np.float64]:
    """Return how wide each node is: the dearest way up to it, as a share of that to the root."""
    cost = cost_to_root(hierarchy, metric)[: hierarchy.n_nodes]
    dearest = np.full(hierarchy.n_nodes, -np.inf)
    dearest[: hierarchy.n_leaves] = cost[: hierarchy.n_leaves]
    for node in range(hierarchy.n_nodes - 1):
        above = hierarchy.parent[node]
        dearest[above] = max(dearest[above], dearest[node])
    width = dearest - cost
    whole = width[hierarchy.root]
    return np.asarray(width / whole if whole > 0 else np.zeros_like(width), dtype=np.float64)

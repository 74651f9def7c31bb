"""Columns that show the mean of each group: exact sums, rounding, and the ranges means stand for.

A mean is rounded to multiples of the column's unit, halves upwards, on exact numbers. Two groups
that are shown as one line need no care: the mean of both together lies between the two means, and
what lies between two numbers that round to one number rounds to it too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.errors import HierarchyError
from incrowd.hierarchies.groupings import EXACT_INTEGERS
from incrowd.hierarchies.tree import Hierarchy

MOST_UNITS = 10**15
"""The most rounding units in a mean, so that a float represents all of its digits."""


def exact_numbers(labels: Sequence[str]) -> tuple[list[int], int]:
    """Return the numbers that labels write as whole multiples of 1 / scale, and the scale."""
    numbers = [Fraction(label.strip()) for label in labels]
    scale = math.lcm(*(number.denominator for number in numbers))
    return [int(number * scale) for number in numbers], scale


def sums_of_groups(
    number_of_leaf: Sequence[int], leaf_of_row: NDArray[np.int32], group_of_row: NDArray[np.int32]
) -> list[int]:
    """Return the exact sum of each group's numbers."""
    largest = max(map(abs, number_of_leaf))
    fits = largest * max(len(leaf_of_row), 1) < 1 << 62
    kind: Any = np.int64 if fits else object
    numbers = np.asarray(number_of_leaf, dtype=kind)
    sums = np.zeros(int(group_of_row.max(initial=-1)) + 1, dtype=kind)
    np.add.at(sums, group_of_row, numbers[leaf_of_row])
    return list(sums.tolist())


def mean_cells(
    hierarchy: Hierarchy, leaf_of_row: NDArray[np.int32], group_of_row: NDArray[np.int32]
) -> pa.Array:
    """Return what each row's cell shows: its group's mean as a whole number, else as a float."""
    unit = hierarchy.mean_unit
    if unit is None:
        raise ValueError("the column shows no means")
    number_of_leaf, scale = exact_numbers(hierarchy.labels[: hierarchy.n_leaves])
    sums = sums_of_groups(number_of_leaf, leaf_of_row, group_of_row)
    sizes = np.bincount(group_of_row, minlength=len(sums)).tolist()
    shown = []
    for total, size in zip(sums, sizes, strict=True):
        # a group number that no row has is shown nowhere
        mean = Fraction(total, size * scale) if size else Fraction(0)
        shown.append(math.floor(mean / unit + Fraction(1, 2)) * unit)
    if unit.denominator == 1:
        cells = pa.array([int(number) for number in shown], pa.int64())
    else:
        cells = pa.array([float(number) for number in shown], pa.float64())
    return cells.take(pa.array(group_of_row))


def covering_ranges(
    hierarchy: Hierarchy, leaf_of_row: NDArray[np.int32], group_of_row: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return, row by row, the lowest node above all leaves of the row's group.

    That is what a mean stands for: the group's one value, or the smallest range on the grid.
    """
    n_groups = int(group_of_row.max(initial=-1)) + 1
    first = np.full(n_groups, hierarchy.n_leaves, dtype=np.int32)
    last = np.full(n_groups, -1, dtype=np.int32)
    np.minimum.at(first, group_of_row, leaf_of_row)
    np.maximum.at(last, group_of_row, leaf_of_row)
    node = np.full(n_groups, hierarchy.root, dtype=np.int32)
    if hierarchy.runs is not None and n_groups:
        # leaves are in the order of their numbers, and so are cells
        cell_of_leaf = np.append(hierarchy.runs.cell_of_leaf, 0)
        node = hierarchy.runs.node_of[cell_of_leaf[first], cell_of_leaf[last]]
    node = np.where(first == last, first, node)
    return np.asarray(node[group_of_row], dtype=np.int32)


def choose_mean_unit(
    column: str, stated: int | float | None, step: Fraction | None, tree: Hierarchy, is_whole: bool
) -> Fraction:
    """Return what means are rounded to: as stated, or a tenth of the step of the column's grid.

    Whole numbers have whole means. A column of one number has no grid, and shows that number.
    """
    numbers = [Fraction(label.strip()) for label in tree.labels[: tree.n_leaves]]
    if stated is not None:
        unit = Fraction(str(stated))
    elif step is None:
        unit = Fraction(1, math.lcm(*(number.denominator for number in numbers)))
    else:
        unit = max(step / 10, Fraction(1)) if is_whole else step / 10
    largest = max(map(abs, numbers))
    if largest >= EXACT_INTEGERS:
        raise HierarchyError(
            f"column {column!r}: its numbers are too large to be averaged exactly",
            remedy="Write them in a larger measure (thousands, say), or leave the column out.",
        )
    if largest / unit >= MOST_UNITS:
        raise HierarchyError(
            f"column {column!r}: its numbers have too many digits for means rounded to "
            f"{float(unit):g}",
            remedy=f"State what means are rounded to:  --hierarchy {column}=mean:1000.",
        )
    return unit

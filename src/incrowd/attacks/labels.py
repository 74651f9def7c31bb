"""Which released labels of two files may be about one value.

With a hierarchy, two of its nodes overlap if they have a leaf in common. A label that it does not
have, or a column without one, is read as it is written: ``*`` overlaps all; numbers and ranges
(``20-24``, ``-5 to -1``, ``[0.5, 0.75)``, ``<20``, ``>=90``) if they have a number in common; a
text whose end is starred (``021**``) with texts of its length that begin as it does; any other
text with itself alone. Means tell nothing of one person's number: they overlap with all.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from incrowd.data.hierarchy import STAR, Hierarchy
from incrowd.errors import InputError

MOST_PAIRS = 200_000_000
"""Pairs of labels of one column up to which they are compared."""

_NUMBER = r"[+-]?\d+(?:\.\d+)?"
_RANGES = (
    (re.compile(rf"^\[({_NUMBER}), ({_NUMBER})\)$"), True),
    (re.compile(rf"^({_NUMBER}) to ({_NUMBER})$"), False),
    (re.compile(r"^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$"), False),
)
_BELOW, _FROM = re.compile(rf"^<({_NUMBER})$"), re.compile(rf"^>=({_NUMBER})$")
_ONE = re.compile(rf"^{_NUMBER}$")


def overlapping(
    first: list[str], second: list[str], hierarchy: Hierarchy | None
) -> NDArray[np.bool_]:
    """Return which labels of the first file may be about a value of which of the second."""
    if len(first) * len(second) > MOST_PAIRS:
        raise InputError(
            f"{len(first):,} and {len(second):,} labels of one column are too many to compare",
            remedy="Leave the column out of --quasi, or compare coarser releases.",
        )
    if hierarchy is not None and hierarchy.mean_unit is not None:
        return np.ones((len(first), len(second)), dtype=np.bool_)
    found = _by_text(first, second)
    if hierarchy is not None:
        nodes, other_nodes = (
            np.array([hierarchy.node_of_label.get(label, -1) for label in labels], dtype=np.int32)
            for labels in (first, second)
        )
        rows, columns = np.flatnonzero(nodes >= 0), np.flatnonzero(other_nodes >= 0)
        inside = _share_a_leaf(hierarchy, nodes[rows], other_nodes[columns])
        found[np.ix_(rows, columns)] = inside
    return found


def _share_a_leaf(
    hierarchy: Hierarchy, nodes: NDArray[np.int32], others: NDArray[np.int32]
) -> NDArray[np.bool_]:
    above, below = (grid.astype(np.int32) for grid in np.meshgrid(nodes, others, indexing="ij"))
    found = hierarchy.is_ancestor(above, below) | hierarchy.is_ancestor(below, above)
    runs = hierarchy.runs
    if runs is not None:
        n_leaves = hierarchy.n_leaves
        is_range = (above >= n_leaves) & (below >= n_leaves)
        meets = (runs.first[above] <= runs.last[below]) & (runs.first[below] <= runs.last[above])
        found |= is_range & meets
    return found


def _by_text(first: list[str], second: list[str]) -> NDArray[np.bool_]:
    left, right = np.array(first, dtype=np.str_), np.array(second, dtype=np.str_)
    found: NDArray[np.bool_] = left[:, None] == right[None, :]
    found |= (left == STAR)[:, None] | (right == STAR)[None, :]
    low, high = _ranges(first)
    other_low, other_high = _ranges(second)
    with np.errstate(invalid="ignore"):
        meets = (low[:, None] <= other_high[None, :]) & (other_low[None, :] <= high[:, None])
    found |= meets  # what is no range has bounds of NaN, which are never at most anything
    for row, label in enumerate(first):
        found[row] |= _begins(label, right)
    for column, label in enumerate(second):
        found[:, column] |= _begins(label, left)
    return found


def _begins(label: str, others: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Return which texts begin as a label with a starred end does, and are as long."""
    start = label.rstrip(STAR)
    if not start or start == label:
        return np.zeros(len(others), dtype=np.bool_)
    return np.asarray(np.char.startswith(others, start) & (np.char.str_len(others) == len(label)))


def _ranges(labels: list[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    bounds = np.array([_range_of(label) for label in labels], dtype=np.float64).reshape(-1, 2)
    return bounds[:, 0], bounds[:, 1]


def _range_of(label: str) -> tuple[float, float]:
    """Return the numbers that a label is about, from the least to the greatest; NaN if none."""
    if _ONE.match(label):
        return float(label), float(label)
    for pattern, is_open in _RANGES:
        found = pattern.match(label)
        if found:
            low, high = float(found[1]), float(found[2])
            return low, float(np.nextafter(high, low)) if is_open else high
    below, start = _BELOW.match(label), _FROM.match(label)
    if below:
        return -np.inf, float(np.nextafter(float(below[1]), -np.inf))
    if start:
        return float(start[1]), np.inf
    return np.nan, np.nan

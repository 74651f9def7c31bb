"""Statistics of sets before and after: items, pairs of items and sizes."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from incrowd.guarantees.evidence import Finding
from incrowd.measures.losses.transactions import answer_queries
from incrowd.measures.utility.cells import Numbers
from incrowd.sets.names import item_names_of
from incrowd.sets.order import NO_ITEM, match_items
from incrowd.sets.sets import count_items, row_blocks
from incrowd.transactions.generalized import SUBSETS, item_chance, parse_label

if TYPE_CHECKING:
    from incrowd.checking.material import OwnSets, SetMaterial


def require_set_owner(material: SetMaterial) -> OwnSets:
    """Return what only the owner has: without it nothing can be compared."""
    if material.own is None:
        raise ValueError("utility compares a release with its original, which only its owner has")
    return material.own


def members_of_released(material: SetMaterial) -> list[list[int]]:
    """Return the original items that each released item stands for; none for one that is new."""
    own = require_set_owner(material)
    if own.part_of_item is not None:
        names = [str(name) for name in item_names_of(own.original).to_pylist()]
        item_of_name = {name: item for item, name in enumerate(names)}
        return [
            [item_of_name[name] for name in parse_label(str(label))]
            for label in item_names_of(material.released).to_pylist()
        ]
    behind = own.original_item
    if behind is None:
        behind = match_items(material.released, own.original)
    return [[] if item == NO_ITEM else [item] for item in behind.tolist()]


# What sets say of their items, of pairs of items and of their sizes, before and after.

NAME = "utility: statistics"
N_TOP = 20
"""How many of the most common items are named, and held against each other."""

DIGITS = 6


def set_statistics(material: SetMaterial) -> Finding:
    """Compare the frequencies of items and of pairs of the most common ones, and rows' sizes.

    Where items are generalized, their frequencies and sizes are expected ones.
    """
    own = require_set_owner(material)
    before, after = own.original, material.released
    members = members_of_released(material)
    had = count_items(before.items, before.n_items).astype(np.float64)
    shown, size = _expected_items(material, members)
    n_rows = max(before.n_rows, 1)
    common = np.lexsort((np.arange(before.n_items), -had))[:N_TOP]
    common = common[had[common] > 0]
    names = [str(item_names_of(before)[item].as_py()) for item in common.tolist()]
    pairs = list(combinations(range(len(common)), 2))
    asked = [tuple(sorted(common[list(pair)].tolist())) for pair in pairs]
    found = answer_queries(before, after, members, asked)
    together = (found.true / n_rows, found.expected(SUBSETS) / max(after.n_rows, 1))
    is_had = had > 0
    item_error = np.abs(shown[is_had] - had[is_had]) / n_rows
    figures: dict[str, Any] = {
        "mean_item_error": _mean(item_error),
        "largest_item_error": _round(float(item_error.max(initial=0.0))),
        "mean_pair_error": _mean(np.abs(together[1] - together[0])),
        "items": [
            {
                "item": name,
                "before": _round(float(had[item]) / n_rows),
                "after": _round(float(shown[item]) / max(after.n_rows, 1)),
            }
            for name, item in zip(names, common.tolist(), strict=True)
        ],
        "pairs": {
            "names": names,
            "before": _pair_shares(len(names), pairs, together[0], had[common] / n_rows),
            "after": _pair_shares(
                len(names), pairs, together[1], shown[common] / max(after.n_rows, 1)
            ),
        },
        "sizes": {
            "mean_before": _mean(before.sizes.astype(np.float64)),
            "mean_after": _mean(size),
            "median_before": float(np.median(before.sizes)) if before.n_rows else None,
            "median_after": _round(float(np.median(size))) if after.n_rows else None,
        },
    }
    if figures["mean_item_error"] is None:
        summary = "no item occurs"
    else:
        summary = (
            f"the share of rows that have an item is {figures['mean_item_error']:.2%} of all rows "
            f"off on average; rows have {figures['sizes']['mean_before']:.1f} items on average "
            f"before and {figures['sizes']['mean_after'] or 0:.1f} after"
        )
    return Finding(NAME, None, summary, figures, is_public=False)


def _expected_items(material: SetMaterial, members: list[list[int]]) -> tuple[Numbers, Numbers]:
    """Return how many rows are expected to have each original item, and items per released row."""
    own, after = require_set_owner(material), material.released
    support = count_items(after.items, after.n_items)
    shown = np.zeros(own.original.n_items)
    behind = np.ones(after.n_items)
    for item, of_item in enumerate(members):
        if of_item:
            each = item_chance(len(of_item), SUBSETS)
            shown[of_item] = support[item] * each
            behind[item] = len(of_item) * each
    size = np.zeros(after.n_rows)
    for row, end in row_blocks(after.starts):
        starts = after.starts[row : end + 1]
        running = np.concatenate([[0.0], np.cumsum(behind[after.items[starts[0] : starts[-1]]])])
        size[row:end] = np.diff(running[starts - starts[0]])
    return shown, size


def _pair_shares(
    n_names: int, pairs: list[tuple[int, int]], shares: Numbers, alone: Numbers
) -> list[list[float]]:
    """Return the share of rows with both items of every pair; alone on the diagonal."""
    matrix = np.diag(alone) if n_names else np.zeros((0, 0))
    for (one, other), share in zip(pairs, shares.tolist(), strict=True):
        matrix[one, other] = matrix[other, one] = share
    rounded: list[list[float]] = np.round(matrix, DIGITS).tolist()
    return rounded


def _mean(numbers: Numbers) -> float | None:
    return _round(float(numbers.mean())) if len(numbers) else None


def _round(number: float) -> float:
    return round(number, DIGITS)

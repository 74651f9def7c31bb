"""Information losses of tables: pure functions of (before, after), computed from one tally; by
name in METRICS.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from incrowd.codes import RowKey, stable_order
from incrowd.encoding.cost_matrices import costs_by_depth
from incrowd.encoding.rows import Rows
from incrowd.errors import DataError
from incrowd.hierarchies.costs import cost_to_root
from incrowd.hierarchies.tree import Hierarchy
from incrowd.tables.columns.types import labels_of, parse_numbers
from incrowd.tables.table import Table

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tally:
    """Two tables, counted: ``before[column][node]`` and ``after[column][node]`` are cells.

    A suppressed row counts as all cells at the root in ``after``; it is in none of
    ``group_sizes``, which are the sizes of the groups of equal rows that are released. ``k`` is
    the group size that was asked for.
    """

    hierarchies: tuple[Hierarchy, ...]
    before: tuple[Counts, ...]
    after: tuple[Counts, ...]
    group_sizes: Counts
    n_rows: int
    n_suppressed: int
    k: int

    @property
    def n_columns(self) -> int:
        """How many quasi-identifying columns there are."""
        return len(self.hierarchies)

    @property
    def n_cells(self) -> int:
        """How many quasi-identifying cells the original has."""
        return self.n_rows * self.n_columns


def count_tables(before: Rows, after: Rows, k: int = 1) -> Tally:
    """Count nodes and groups once for all losses; O(cells + rows · log rows)."""
    if before.names != after.names or before.nodes.shape != after.nodes.shape:
        raise ValueError("before and after must be the same rows and columns")
    for one, other in zip(before.hierarchies, after.hierarchies, strict=True):
        if one is not other and not np.array_equal(one.parent, other.parent):
            raise ValueError(f"column {one.name!r}: before and after have different hierarchies")
    released = after.nodes[:, ~after.is_suppressed] if after.is_suppressed.any() else after.nodes
    return count_released(before, released, k)


def count_released(before: Rows, released: NDArray[np.int32], k: int = 1) -> Tally:
    """Count the same of ``released[column, row]``, the nodes of the rows that are released.

    Their order does not matter.
    """
    if before.n_rows == 0:
        raise DataError(
            "there are no rows to measure a loss on", remedy="Give a table with at least one row."
        )
    if k < 1:
        raise ValueError("k is at least 1")
    n_suppressed = before.n_rows - released.shape[1]
    counts_before = []
    counts_after = []
    for column, hierarchy in enumerate(before.hierarchies):
        counts_before.append(np.bincount(before.nodes[column], minlength=hierarchy.n_all_nodes))
        counts = np.bincount(released[column], minlength=hierarchy.n_all_nodes)
        counts[hierarchy.root] += n_suppressed
        counts_after.append(counts)
    sizes = group_sizes(released, [hierarchy.n_all_nodes for hierarchy in before.hierarchies])
    return Tally(
        before.hierarchies,
        tuple(counts_before),
        tuple(counts_after),
        sizes,
        before.n_rows,
        n_suppressed,
        k,
    )


def weighted_sum(counts: Counts, weight: NDArray[np.float64]) -> float:
    """Return Σ counts · weight, exactly rounded: the same number on every machine and thread."""
    return math.fsum((counts * weight).tolist())


def group_sizes(nodes: NDArray[np.int32], n_nodes: list[int]) -> Counts:
    """Return the size of each group of rows with equal nodes in every column, in no fixed order."""
    n_rows = nodes.shape[1]
    if n_rows == 0:
        return np.zeros(0, dtype=np.int64)
    key = RowKey(n_rows)
    for column, n_column in enumerate(n_nodes):
        key.add(nodes[column], n_column)
    # runs: equal rows one after the other; a sorted file has hardly more of them than groups
    first = np.flatnonzero(np.diff(key.numbers, prepend=key.numbers[:1] - 1))
    numbers = key.numbers[first]
    order = stable_order(numbers)
    numbers, sizes = numbers[order], np.diff(first, append=n_rows)[order]
    starts = np.flatnonzero(np.diff(numbers, prepend=numbers[:1] - 1))
    return np.add.reduceat(sizes, starts)


# Non-uniform entropy: how many bits a reader must guess to get the original values back.


def non_uniform_entropy(tally: Tally) -> float:
    """Return the bits lost over the bits that can be lost, 0 where every column is constant.

    A cell of value a shown as node g costs −log₂(n(a) / n(g)), with n(·) the original rows whose
    value lies at or under it (Gionis & Tassa 2009). For full-domain recoding this is ARX's figure
    (after de Waal & Willenborg 1999). Deviation for local recoding: ARX counts, level by level,
    only the rows generalized at least that far; here n(·) is always the original's, so that
    generalizing one more cell never lowers the loss.
    """
    lost = largest = 0.0
    for hierarchy, before, after in zip(tally.hierarchies, tally.before, tally.after, strict=True):
        rows_under = _rows_under(hierarchy, before)
        if not rows_under[after > 0].all():
            raise DataError(
                f"column {hierarchy.name!r}: cells are shown as nodes that no original value lies "
                "under",
                remedy="A loss can only be measured where every cell was generalized upwards.",
            )
        bits = np.log2(np.maximum(rows_under, 1))
        all_at_root = np.zeros_like(before)
        all_at_root[hierarchy.root] = tally.n_rows
        lost += weighted_sum(after - before, bits)
        largest += weighted_sum(all_at_root - before, bits)
    return lost / largest if largest > 0 else 0.0


def _rows_under(hierarchy: Hierarchy, counts: Counts) -> Counts:
    """Return how many of the counted cells lie at or under each node."""
    rows_under = counts.copy()
    if hierarchy.runs is not None:
        rows_under[hierarchy.n_nodes :] = hierarchy.runs.under_further(counts[: hierarchy.n_leaves])
    for depth in range(int(hierarchy.depth.max()), 0, -1):
        nodes = np.flatnonzero(hierarchy.depth == depth)
        np.add.at(rows_under, hierarchy.parent[nodes], rows_under[nodes])
    return rows_under


# Losses that see only how large the released groups are, not what they show.


def discernibility(tally: Tally) -> float:
    """Return how many rows each row cannot be told from, summed; a suppressed row counts all.

    Bayardo & Agrawal 2005, with Σ |E|² over released groups and n per suppressed row.
    """
    within = int((tally.group_sizes * tally.group_sizes).sum())
    return float(within + tally.n_suppressed * tally.n_rows)


def average_class_size(tally: Tally) -> float:
    """Return the mean size of the released groups in units of k.

    LeFevre et al. 2006. A release without rows counts as one group of all, the worst there is.
    """
    n_groups = len(tally.group_sizes)
    if n_groups == 0:
        return tally.n_rows / tally.k
    return (tally.n_rows - tally.n_suppressed) / (n_groups * tally.k)


# Precision: how far up its hierarchy each cell stands.


def precision(tally: Tally) -> float:
    """Return 1 − the mean over cells of the node's height over its tree's height.

    Sweeney 2002, whose hierarchies have all leaves at one depth; elsewhere a node's height is its
    longest way down to a leaf, and a range beyond the tree counts as the least node above it.
    """
    if tally.n_cells == 0:
        return 1.0
    climbed = 0.0
    for hierarchy, after in zip(tally.hierarchies, tally.after, strict=True):
        share = hierarchy.height / hierarchy.height[hierarchy.root]
        climbed += weighted_sum(after, hierarchy.over_all_nodes(share))
    return 1.0 - climbed / tally.n_cells


# Losses that are prices: what the generalized cells cost, over what losing everything costs.


def priced_loss(metric: str) -> Callable[[Tally], float]:
    """Return the loss that weighs cells by a metric's prices.

    It is 0 where nothing can be lost: no columns, or prices that are all 0.
    """

    def share(tally: Tally) -> float:
        lost = dearest = 0.0
        for hierarchy, before, after in zip(
            tally.hierarchies, tally.before, tally.after, strict=True
        ):
            price = cost_to_root(hierarchy, metric)
            # the difference of counts first: an unchanged column is then exactly 0
            lost += weighted_sum(before - after, price)
            dearest += weighted_sum(before, price)
        return lost / dearest if dearest > 0 else 0.0

    return share


def gcp(tally: Tally) -> float:
    """Return the mean over all cells of the released node's normalized certainty penalty."""
    if tally.n_cells == 0:
        return 0.0
    penalty = 0.0
    for hierarchy, after in zip(tally.hierarchies, tally.after, strict=True):
        price = cost_to_root(hierarchy, "ncp")
        penalty += weighted_sum(after, price.max() - price)
    return penalty / tally.n_cells


def granularity(tally: Tally) -> float:
    """Return 1 − loss."""
    return 1.0 - priced_loss("loss")(tally)


# The loss of numbers that are shown as other numbers.


def squared_error_share(
    original: Sequence[NDArray[np.float64]], shown: Sequence[NDArray[np.float64]]
) -> float:
    """Return SSE / SST over standardised columns: squares of (number − shown) over those of
    (number − the column's mean).

    Domingo-Ferrer & Mateo-Sanz 2002, on the numbers that a file shows, rounding included. Every
    column that varies counts alike; 0 where none does.
    """
    shares = []
    for numbers, cells in zip(original, shown, strict=True):
        whole = math.fsum(np.square(numbers - numbers.mean()).tolist())
        if whole > 0:
            shares.append(math.fsum(np.square(numbers - cells).tolist()) / whole)
    return math.fsum(shares) / len(shares) if shares else 0.0


def measure_mean_loss(
    before: Rows, released: Table, original_row: NDArray[np.int64]
) -> dict[str, float]:
    """Return ``sse`` where columns show means: how far they are from the numbers they stand for."""
    original, shown = [], []
    for name, hierarchy, leaves in zip(before.names, before.hierarchies, before.nodes, strict=True):
        if hierarchy.mean_unit is not None and hierarchy.values is not None:
            original.append(hierarchy.values[leaves[original_row]])
            shown.append(parse_numbers(labels_of(released.frame.column(name))))
    return {"sse": squared_error_share(original, shown)} if original else {}


# Losses that count what is not shown at all.


def suppressed_cells(tally: Tally) -> float:
    """Return the share of cells at the root of their hierarchy, suppressed rows included."""
    if tally.n_cells == 0:
        return 0.0
    pairs = zip(tally.hierarchies, tally.after, strict=True)
    at_root = sum(int(after[hierarchy.root]) for hierarchy, after in pairs)
    return at_root / tally.n_cells


def suppressed_rows(tally: Tally) -> float:
    """Return the share of rows that are left out of the release."""
    return tally.n_suppressed / tally.n_rows


# The loss under costs that a user stated node by node.


def stated_cost_share(before: Rows, after: Rows, metric: str) -> float:
    """Return μ(T) / μ(T*): what the release costs over what all rows at the roots cost.

    A cell costs what its column's matrix says of its original node and its released one, or what
    the metric says where the column has none; a suppressed row costs all cells at the root. It is
    0 where nothing can be lost. Unlike other losses it may be above 1: a matrix need not make the
    root the dearest.
    """
    lost = dearest = 0.0
    for hierarchy, old, new in zip(before.hierarchies, before.nodes, after.nodes, strict=True):
        costs = costs_by_depth(hierarchy, metric)
        released = np.where(after.is_suppressed, hierarchy.root, new)
        pairs, counts = np.unique(
            old.astype(np.int64) * hierarchy.n_nodes + released, return_counts=True
        )
        nodes, above = pairs // hierarchy.n_nodes, pairs % hierarchy.n_nodes
        lost += math.fsum((counts * costs[nodes, hierarchy.depth[above]]).tolist())
        dearest += math.fsum((counts * costs[nodes, 0]).tolist())
    return lost / dearest if dearest > 0 else 0.0


# The losses by name: what each says, which way is better, where it comes from.

LOWER: Literal["lower is better"] = "lower is better"
HIGHER: Literal["higher is better"] = "higher is better"

SHARE = "0 to 1"
MAUGER = "Mauger, Le Mahec & Dequen 2020"


@dataclass(frozen=True)
class Metric:
    """A loss: a number for (before, after), with all a reader needs to understand it.

    ``is_reconstructed`` is True where the source does not print the formula and ours was fitted
    to its figures.
    """

    name: str
    direction: Literal["lower is better", "higher is better"]
    range: str
    formula: str
    function: Callable[[Tally], float]
    is_reconstructed: bool
    source: str

    def __call__(self, before: Rows, after: Rows, k: int = 1) -> float:
        """Return the loss of ``after`` with respect to ``before``."""
        return self.function(count_tables(before, after, k))


def measure_losses(before: Rows, after: Rows, k: int) -> dict[str, float]:
    """Return every loss of ``METRICS`` by name; rows are read once for all of them."""
    return measure_tally(count_tables(before, after, k))


def measure_tally(counted: Tally) -> dict[str, float]:
    """Return every loss of ``METRICS`` by name, of tables that were counted already."""
    return {name: metric.function(counted) for name, metric in METRICS.items()}


def _share(name: str, cost: str, source: str, *, is_reconstructed: bool = False) -> Metric:
    formula = f"Σ cost / Σ cost at the root; cost of a cell: {cost}"
    return Metric(name, LOWER, SHARE, formula, priced_loss(name), is_reconstructed, source)


_ALL = (
    _share("loss", "(L − 1) / (N − 1)", "Iyengar 2002; ARX's Loss"),
    Metric(
        "granularity",
        HIGHER,
        SHARE,
        "1 − loss",
        granularity,
        False,
        "ARX's Granularity (see below)",
    ),
    _share("ncp", "L / N, 0 at a leaf; numbers: range / domain", "Xu et al. 2006"),
    Metric(
        "gcp",
        LOWER,
        SHARE,
        "mean of NCP over all cells; equals ncp",
        gcp,
        False,
        "Ghinita et al. 2007",
    ),
    _share(
        "distortion",
        "Σ w over the levels climbed / Σ w over all levels, w = 1 / level from the top",
        "Li et al. 2006",
    ),
    _share("total", "height / h; numbers: range / domain", "Byun et al. 2007"),
    _share("llm", "Σ L(parent) over the steps climbed", MAUGER, is_reconstructed=True),
    _share("nllm", "LLM / the column's LLM to the root", MAUGER, is_reconstructed=True),
    _share("wllm", "Σ L(parent) · weight over the steps climbed", MAUGER, is_reconstructed=True),
    _share("nwllm", "WLLM / the column's WLLM to the root", MAUGER, is_reconstructed=True),
    _share("weights", "Σ weight over the steps climbed (1 where none is given)", "the user's own"),
    Metric(
        "non_uniform_entropy",
        LOWER,
        SHARE,
        "Σ −log₂(n(value) / n(node)) / Σ −log₂(n(value) / n), n(·) rows of the original",
        non_uniform_entropy,
        False,
        "de Waal & Willenborg 1999; Gionis & Tassa 2009",
    ),
    Metric(
        "precision",
        HIGHER,
        SHARE,
        "1 − mean of height / h over all cells",
        precision,
        False,
        "Sweeney 2002",
    ),
    Metric(
        "discernibility",
        LOWER,
        "n to n²",
        "Σ size² over groups + n · suppressed rows",
        discernibility,
        False,
        "Bayardo & Agrawal 2005",
    ),
    Metric(
        "average_class_size",
        LOWER,
        "1 to n / k where k is kept",
        "released rows / (groups · k)",
        average_class_size,
        False,
        "LeFevre et al. 2006",
    ),
    Metric(
        "suppressed_cells",
        LOWER,
        SHARE,
        "cells at the root / all cells",
        suppressed_cells,
        False,
        "–",
    ),
    Metric(
        "suppressed_rows",
        LOWER,
        SHARE,
        "rows left out / all rows",
        suppressed_rows,
        False,
        "–",
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}
"""Every loss that an audit reports, by name."""

"""The cost of generalization: one table per metric and hierarchy.

Every metric here is a sum over the steps of a path, so one number per node says it all:
``cost_to_root(hierarchy, metric)[node]`` is the cost of generalizing the node to the root, and
``cost(n → a) = cost_to_root[n] − cost_to_root[a]`` for an ancestor a of n.

With L(v) leaves under v, N leaves in all and h the height of the tree, the cost of one step from
a node n to its parent p is, per metric:

=========== ============================================================== ==================
metric      cost of a step n → p                                           source
=========== ============================================================== ==================
distortion  w(n) / (sum of w over all levels), w = 1 / (level of p)^β      Li et al. 2006
ncp         z(p) − z(n), z(leaf) = 0, else L/N (numbers: range / domain)   Xu et al. 2006
total       z(p) − z(n), z = height / h (numbers: range / domain)          Byun et al. 2007
loss        (L(p) − L(n)) / (N − 1)                                        Iyengar 2002
llm         L(p)                                                           reconstructed
nllm        LLM over the column's largest leaf-to-root LLM                 reconstructed
wllm        L(p) times the edge's weight (1 where none is given)           reconstructed
nwllm       WLLM over the column's largest leaf-to-root WLLM               reconstructed
weights     the edge's weight (1 where none is given)                      greedy paper, Fig. 3
=========== ============================================================== ==================

A range of a grid that lies beyond the tree has its own width and its own leaves under ncp, total
and loss; under the other metrics it costs what the least node of the tree above it costs.

``distortion`` has β = 1; ``distortion:2`` has β = 2, and so on. β = 0 weighs all levels alike.

Levels are counted from the root, whose level is 1. Leaves are counted in the hierarchy as given,
whether or not they occur in the data. "Reconstructed" metrics are named in Djeufack Nanfack et al.
2024 without a formula; its figures do not settle how they are normalised (see greedy's NOTES.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import HierarchyError, JobError, unknown
from incrowd.hierarchies.tree import Hierarchy

Array = NDArray[np.float64]


def parse_metric(metric: str) -> tuple[str, float | None]:
    """Return a metric's name, and β where it is stated, as in ``distortion:2``; or raise."""
    name, has_beta, text = metric.partition(":")
    if name not in COSTS_OF_METRIC:
        raise unknown("metric", name, COSTS_OF_METRIC, where="metric")
    if not has_beta:
        return name, None
    try:
        beta = float(text)
    except ValueError:
        beta = math.nan
    if name != "distortion" or not 0 <= beta < math.inf:
        raise JobError(
            f"metric: {metric!r} is not a metric with a number of 0 or more",
            remedy="Only distortion takes one, β: write distortion:2.",
        )
    return name, beta


def cost_to_root(hierarchy: Hierarchy, metric: str) -> Array:
    """Return the cost of generalizing each node to the root under a metric's name.

    Ranges beyond the tree have their costs after those of the tree's nodes.
    """
    name, beta = parse_metric(metric)
    table = COSTS_OF_METRIC[name](hierarchy) if beta is None else _distortion(hierarchy, beta)
    runs = hierarchy.runs
    if runs is None:
        return table
    if metric in ("ncp", "total") and runs.width[hierarchy.root] > 0:
        share = runs.width[hierarchy.n_nodes :] / runs.width[hierarchy.root]
        return np.concatenate([table, 1.0 - share])
    if metric == "loss":
        n_outside = hierarchy.n_leaves - runs.under_further(np.ones(hierarchy.n_leaves, np.int64))
        return np.concatenate([table, n_outside / max(1, hierarchy.n_leaves - 1)])
    return hierarchy.over_all_nodes(table)


FIXED_POINT_BITS = 20
"""In fixed point, the most expensive leaf of all columns costs at most 2 to this power."""


def fixed_point_costs(
    hierarchies: Sequence[Hierarchy], metric: str, weights: Sequence[float] | None = None
) -> list[NDArray[np.int32]]:
    """Return every column's cost to the root as whole numbers, on one scale for all columns.

    Sums of whole numbers do not depend on their order, so searches that compare them give the
    same release everywhere. The scale is a power of two: metrics whose most expensive leaf costs 1
    are multiplied by 2²⁰. The sum over all columns stays below 2³¹. ``weights``, one per column,
    make columns cost more or less than one another.
    """
    tables = [cost_to_root(hierarchy, metric) for hierarchy in hierarchies]
    if weights is not None:
        tables = [table * weight for table, weight in zip(tables, weights, strict=True)]
    largest = max((float(table.max()) for table in tables), default=0.0)
    bits = min(FIXED_POINT_BITS, 30 - len(tables).bit_length())
    scale = 2.0 ** (bits - math.ceil(math.log2(largest))) if largest > 0 else 1.0
    return [np.rint(table * scale).astype(np.int32) for table in tables]


def _growth_to_root(hierarchy: Hierarchy, size: Array) -> Array:
    """Return costs where a step costs the growth of a size that never falls on the way up."""
    return np.asarray(size[hierarchy.root] - size, dtype=np.float64)


def _distortion(hierarchy: Hierarchy, beta: float = 1.0) -> Array:
    levels = max(1, int(hierarchy.height[hierarchy.root]))
    # weight[depth − 1]: the step up from that depth
    weight = 1.0 / np.arange(1, levels + 1) ** beta
    steps = np.concatenate([[0.0], np.cumsum(weight)])
    return np.asarray(steps[hierarchy.depth] / weight.sum(), dtype=np.float64)


def _ncp(hierarchy: Hierarchy) -> Array:
    if hierarchy.values is not None and hierarchy.width[hierarchy.root] > 0:
        return _growth_to_root(hierarchy, hierarchy.width / hierarchy.width[hierarchy.root])
    size = hierarchy.leaf_count / hierarchy.n_leaves
    size[: hierarchy.n_leaves] = 0.0
    return _growth_to_root(hierarchy, size)


def _total(hierarchy: Hierarchy) -> Array:
    if hierarchy.values is not None and hierarchy.width[hierarchy.root] > 0:
        return _growth_to_root(hierarchy, hierarchy.width / hierarchy.width[hierarchy.root])
    return _growth_to_root(
        hierarchy, hierarchy.height / max(1, int(hierarchy.height[hierarchy.root]))
    )


def _loss(hierarchy: Hierarchy) -> Array:
    spread = max(1, hierarchy.n_leaves - 1)
    return _growth_to_root(hierarchy, (hierarchy.leaf_count - 1) / spread)


def _llm(hierarchy: Hierarchy) -> Array:
    return hierarchy.sum_to_root(hierarchy.leaf_count[hierarchy.parent].astype(np.float64))


def _edge_weights(hierarchy: Hierarchy) -> Array:
    """Return the user's cost of each step up, 1 where the hierarchy has none."""
    weights = hierarchy.edge_weights
    if weights is None:
        return np.ones(hierarchy.n_nodes)
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise HierarchyError(
            f"column {hierarchy.name!r}: an edge weight is negative or not a number",
            remedy="Give every step up a weight of 0 or more.",
        )
    return weights


def _wllm(hierarchy: Hierarchy) -> Array:
    return hierarchy.sum_to_root(hierarchy.leaf_count[hierarchy.parent] * _edge_weights(hierarchy))


def _weights(hierarchy: Hierarchy) -> Array:
    return hierarchy.sum_to_root(_edge_weights(hierarchy))


def _normalize(costs: Callable[[Hierarchy], Array]) -> Callable[[Hierarchy], Array]:
    def normalized(hierarchy: Hierarchy) -> Array:
        table = costs(hierarchy)
        largest = float(table[: hierarchy.n_leaves].max())
        return table / largest if largest > 0 else table

    return normalized


COSTS_OF_METRIC: dict[str, Callable[[Hierarchy], Array]] = {
    "distortion": _distortion,
    "ncp": _ncp,
    "total": _total,
    "loss": _loss,
    "llm": _llm,
    "nllm": _normalize(_llm),
    "wllm": _wllm,
    "nwllm": _normalize(_wllm),
    "weights": _weights,
}

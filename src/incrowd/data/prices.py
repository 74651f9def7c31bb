"""What it costs to generalize: one table per metric and hierarchy.

Every metric here is a sum over the steps of a path, so one number per node says it all:
``cost_to_root(hierarchy, metric)[node]`` is the price of generalizing the node to the root, and
``cost(n → a) = cost_to_root[n] − cost_to_root[a]`` for an ancestor a of n.

With L(v) leaves under v, N leaves in all and h the height of the tree, the price of one step from
a node to its parent is, per metric:

=========== ============================================================== ==============
metric      price of a step n → p                                          source
=========== ============================================================== ==============
distortion  w / (sum of w over all levels), w = 1 / (level from the top)   Li et al. 2006
ncp         z(p) − z(n), z(leaf) = 0, else L/N (numbers: range / domain)   Xu et al. 2006
total       numbers: range / domain; categories: height(p) / h             Byun et al. 2007
loss        (L(p) − L(n)) / (N − 1)                                        Iyengar 2002
llm         L(p)                                                           reconstructed
nllm        LLM over the column's dearest leaf-to-root LLM                 reconstructed
wllm        L(p) times the edge's weight (1 where none is given)           reconstructed
nwllm       WLLM over the column's dearest leaf-to-root WLLM               reconstructed
=========== ============================================================== ==============
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from incrowd.data.hierarchy import Hierarchy
from incrowd.errors import unknown

Array = NDArray[np.float64]


def cost_to_root(hierarchy: Hierarchy, metric: str) -> Array:
    """Return the price of generalizing each node to the root under a metric's name."""
    if metric not in PRICES:
        raise unknown("metric", metric, PRICES)
    return PRICES[metric](hierarchy)


def _sum_steps(hierarchy: Hierarchy, step: Array) -> Array:
    """Return, per node, the sum of ``step`` over itself and its ancestors below the root."""
    total = np.zeros(hierarchy.n_nodes)
    for node in range(hierarchy.n_nodes - 2, -1, -1):
        total[node] = total[hierarchy.parent[node]] + step[node]
    return total


def _from_size(hierarchy: Hierarchy, size: Array) -> Array:
    """Return prices where a step costs the growth of a size that never falls on the way up."""
    return np.asarray(size[hierarchy.root] - size, dtype=np.float64)


def _distortion(hierarchy: Hierarchy) -> Array:
    levels = int(hierarchy.height[hierarchy.root])
    weight = 1.0 / np.arange(1, levels + 1)  # weight[depth − 1]: the step that ends at that depth
    steps = np.concatenate([[0.0], np.cumsum(weight)])
    return np.asarray(steps[hierarchy.depth] / weight.sum(), dtype=np.float64)


def _ncp(hierarchy: Hierarchy) -> Array:
    if hierarchy.values is not None and hierarchy.width[hierarchy.root] > 0:
        return _from_size(hierarchy, hierarchy.width / hierarchy.width[hierarchy.root])
    size = hierarchy.leaf_count / hierarchy.n_leaves
    size[: hierarchy.n_leaves] = 0.0
    return _from_size(hierarchy, size)


def _total(hierarchy: Hierarchy) -> Array:
    if hierarchy.values is not None and hierarchy.width[hierarchy.root] > 0:
        return _from_size(hierarchy, hierarchy.width / hierarchy.width[hierarchy.root])
    return _from_size(hierarchy, hierarchy.height / hierarchy.height[hierarchy.root])


def _loss(hierarchy: Hierarchy) -> Array:
    spread = max(1, hierarchy.n_leaves - 1)
    return _from_size(hierarchy, (hierarchy.leaf_count - 1) / spread)


def _llm(hierarchy: Hierarchy) -> Array:
    return _sum_steps(hierarchy, hierarchy.leaf_count[hierarchy.parent].astype(np.float64))


def _wllm(hierarchy: Hierarchy) -> Array:
    weights = hierarchy.edge_weights
    if weights is None:
        return _llm(hierarchy)
    return _sum_steps(hierarchy, hierarchy.leaf_count[hierarchy.parent] * weights)


def _weighted(hierarchy: Hierarchy) -> Array:
    """Prices that are the user's edge weights alone (paper §II-B, Fig. 3)."""
    weights = hierarchy.edge_weights
    if weights is None:
        weights = np.ones(hierarchy.n_nodes)
    return _sum_steps(hierarchy, weights)


def _normalized(prices: Callable[[Hierarchy], Array]) -> Callable[[Hierarchy], Array]:
    def scaled(hierarchy: Hierarchy) -> Array:
        table = prices(hierarchy)
        dearest = float(table[: hierarchy.n_leaves].max())
        return table / dearest if dearest > 0 else table

    return scaled


PRICES: dict[str, Callable[[Hierarchy], Array]] = {
    "distortion": _distortion,
    "ncp": _ncp,
    "total": _total,
    "loss": _loss,
    "llm": _llm,
    "nllm": _normalized(_llm),
    "wllm": _wllm,
    "nwllm": _normalized(_wllm),
    "weights": _weighted,
}

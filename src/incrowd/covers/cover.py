"""b-edge covers (every vertex keeps at least b of its edges) and b-matchings (at most b)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from incrowd.covers import kernels
from incrowd.covers.graph import Graph


def b_matching(u: ArrayLike, v: ArrayLike, weight: ArrayLike, b: ArrayLike) -> NDArray[np.bool_]:
    """Return the greedy matching of at most b edges a vertex: at least half of the most weight.

    Found by b-Suitor (Khan, Choromanski et al. 2018, Algorithm 3): vertices propose along their
    heaviest edges, and a heavier proposal annuls a lighter one. A b above the degree is no error:
    b is a ceiling.

    >>> b_matching([0, 0, 1], [1, 2, 2], [4, 1, 1], b=[1, 1, 1]).tolist()
    [True, False, False]
    """
    graph = Graph.of(u, v, weight, b)
    return kernels.matched(graph.order, graph.lower, graph.upper, graph.degree, graph.b)


# b-edge covers: every vertex keeps at least b of its edges, for little weight.


def mce(
    u: ArrayLike, v: ArrayLike, weight: ArrayLike, b: ArrayLike, *, is_partial: bool = False
) -> NDArray[np.bool_]:
    """Return what the greedy b′-matching leaves, b′ = degree − b: at most twice the least weight.

    Made by reverse delete: from the heaviest edge on, an edge goes when both ends still have more
    than b. The same cover as ``mce_by_matching``, the paper's own way to it. A vertex with fewer
    edges than its b is an error; with ``is_partial`` it keeps every edge it has, the paper's
    b′ = max{0, degree − b}. O(edges) after sorting them.

    >>> mce([0, 0, 1], [1, 2, 2], [4, 1, 1], b=[1, 1, 1]).tolist()
    [False, True, True]
    >>> mce([0], [1], [4], b=[2, 1], is_partial=True).tolist()
    [True]
    """
    graph = Graph.of(u, v, weight, b)
    wished = graph.wished(is_partial=is_partial)
    return kernels.reverse_delete(graph.order, graph.lower, graph.upper, graph.degree, wished)


def mce_by_matching(
    u: ArrayLike, v: ArrayLike, weight: ArrayLike, b: ArrayLike, *, is_partial: bool = False
) -> NDArray[np.bool_]:
    """Return the cover of ``mce`` as the paper makes it: what b-Suitor leaves unmatched.

    Khan, Choromanski et al. (2018), Algorithms 2 and 3. Slower than ``mce`` and kept as its twin.

    >>> mce_by_matching([0, 0, 1], [1, 2, 2], [4, 1, 1], b=[1, 1, 1]).tolist()
    [False, True, True]
    """
    graph = Graph.of(u, v, weight, b)
    spare = graph.degree - graph.wished(is_partial=is_partial)
    return ~kernels.matched(graph.order, graph.lower, graph.upper, graph.degree, spare)


def lse(
    u: ArrayLike, v: ArrayLike, weight: ArrayLike, b: ArrayLike, *, is_partial: bool = False
) -> NDArray[np.bool_]:
    """Return the greedy cover, at most 3/2 of the least weight.

    Takes edges by rising *effective weight*: weight / ends that still lack edges. Khan and
    Pothen (2016): the cover of locally subdominant edges (LSE) is the greedy one, which one sorted
    walk finds here. Equal effective weights: two lacking ends first, then the strict order.

    >>> lse([0, 0, 1], [1, 2, 2], [4, 1, 1], b=[1, 1, 1]).tolist()
    [False, True, True]
    """
    graph = Graph.of(u, v, weight, b)
    wished = graph.wished(is_partial=is_partial)
    # exact: whole weights are below 2⁶², and halves are compared by doubling
    is_whole = graph.weight.dtype.kind in "iu"
    weight = graph.weight.astype(np.int64 if is_whole else np.float64)
    return kernels.cheapest_first(graph.order, weight, graph.lower, graph.upper, wished)


def nearest(
    u: ArrayLike, v: ArrayLike, weight: ArrayLike, b: ArrayLike, *, is_partial: bool = False
) -> NDArray[np.bool_]:
    """Return every vertex's b lightest edges together: at most twice the least weight.

    The cover of ``mce`` is a part of it.

    >>> nearest([0, 0, 1], [1, 2, 2], [4, 1, 2], b=[1, 1, 1]).tolist()
    [False, True, True]
    """
    graph = Graph.of(u, v, weight, b)
    wished = graph.wished(is_partial=is_partial)
    return kernels.lightest(graph.order, graph.lower, graph.upper, wished)

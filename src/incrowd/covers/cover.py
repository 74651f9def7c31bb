"""b-edge covers and b-matchings of a weighted graph, whose edges stand in one strict order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from incrowd.covers import kernels
from incrowd.errors import DataError
from incrowd.threads import Team, n_threads

_MOST = 2**31 - 1
"""Edges and vertices are numbered in 32 bits."""


@dataclass(frozen=True, eq=False)
class Graph:
    """Edges between vertices, each pair at most once, no loops, weights of at least 0.

    ``lower[edge] < upper[edge]`` are the ends; ``b[vertex]`` is what the vertex asks for.
    """

    lower: NDArray[np.int32]
    upper: NDArray[np.int32]
    weight: NDArray[Any]
    b: NDArray[np.int32]

    @classmethod
    def of(cls, u: ArrayLike, v: ArrayLike, weight: ArrayLike, b: ArrayLike) -> Graph:
        """Return the graph of these arrays, or raise saying which of them cannot be used."""
        ends = [_whole(name, ends) for name, ends in (("u", u), ("v", v))]
        wished = _whole("b", b)
        weights = _weights(weight)
        if not len(ends[0]) == len(ends[1]) == len(weights):
            raise DataError(
                f"u, v and weight have {len(ends[0])}, {len(ends[1])} and {len(weights)} entries",
                remedy="Give every edge two ends and a weight.",
            )
        if max(len(weights), len(wished)) > _MOST:
            raise DataError(
                "the graph has more than 2,147,483,647 edges or vertices",
                remedy="Leave out edges that no cover needs, such as the heaviest.",
            )
        lower, upper = np.minimum(*ends), np.maximum(*ends)
        if len(weights) and (lower.min() < 0 or upper.max() >= len(wished)):
            raise DataError(
                f"u or v names a vertex that is not from 0 to {len(wished) - 1}",
                remedy="b has one entry per vertex, and vertices count from 0.",
            )
        if np.any(lower == upper):
            raise DataError(
                f"{int((lower == upper).sum())} edges lead from a vertex to itself",
                remedy="Leave them out: they cover nobody.",
            )
        if len(wished) and (wished.min() < 0 or wished.max() > _MOST):
            raise DataError("b has an entry below 0 or above 2,147,483,647")
        pair = lower * np.int64(len(wished)) + upper
        n_twice = len(pair) - len(np.unique(pair))
        if n_twice:
            raise DataError(
                f"{n_twice} edges are listed more than once",
                remedy="Keep one edge per pair of vertices, such as the lightest.",
            )
        return cls(lower.astype(np.int32), upper.astype(np.int32), weights, wished.astype(np.int32))

    @property
    def n_edges(self) -> int:
        """How many edges there are."""
        return len(self.lower)

    @cached_property
    def degree(self) -> NDArray[np.int32]:
        """How many edges each vertex has."""
        n_vertices = len(self.b)
        degree = np.bincount(self.lower, minlength=n_vertices)
        return (degree + np.bincount(self.upper, minlength=n_vertices)).astype(np.int32)

    @cached_property
    def order(self) -> NDArray[np.int32]:
        """The edges by rising weight, then smaller end, then larger end."""
        return edge_order(self.weight, self.lower, self.upper)

    def matched(self, room: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return the greedy matching of at most ``room[vertex]`` edges each, on all threads.

        Whole weights below 2³¹ are taken as they are, others by their rank.
        """
        from incrowd.covers.dominant import matched_edges

        weight = self.weight
        if not _is_short(weight):
            weight = np.unique(weight, return_inverse=True)[1].reshape(-1)
        with Team(n_threads()) as team:
            short = weight.astype(np.int32, copy=False)
            return matched_edges(self.lower, self.upper, short, room, team)

    def wished(self, *, is_partial: bool) -> NDArray[np.int32]:
        """Return b, no more than the degree with ``is_partial``; else raise where it is more."""
        n_short = int((self.b > self.degree).sum())
        if n_short and not is_partial:
            raise DataError(
                f"{n_short} vertices have fewer edges than the b they ask for",
                remedy="Lower their b, add edges, or give is_partial=True: "
                "such a vertex then keeps every edge it has.",
            )
        return np.minimum(self.b, self.degree)


def edge_order(
    weight: NDArray[Any], lower: NDArray[np.int32], upper: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the edges sorted by (weight, smaller end, larger end).

    Whole weights below 2³¹ are sorted digit by digit: linear in the number of edges.
    """
    if _is_short(weight):
        return kernels.sort_edges(weight.astype(np.int32, copy=False), lower, upper)
    order: NDArray[np.int32] = np.lexsort((upper, lower, weight)).astype(np.int32)
    return order


def _is_short(weight: NDArray[Any]) -> bool:
    """Whether weights are whole numbers of 31 bits."""
    return weight.dtype.kind in "iu" and (not len(weight) or int(weight.max()) <= _MOST)


def _whole(name: str, given: ArrayLike) -> NDArray[np.int64]:
    numbers = np.asarray(given)
    if not numbers.size and numbers.ndim == 1:
        return np.zeros(0, dtype=np.int64)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise DataError(f"{name} is not a one-dimensional array of whole numbers")
    return numbers.astype(np.int64)


def _weights(given: ArrayLike) -> NDArray[Any]:
    weights = np.asarray(given)
    if not weights.size and weights.ndim == 1:
        return np.zeros(0, dtype=np.int64)
    if weights.ndim != 1 or weights.dtype.kind not in "iuf":
        raise DataError("weight is not a one-dimensional array of numbers")
    if not np.all(np.isfinite(weights)) or weights.min() < 0:
        raise DataError(
            "a weight is negative, infinite or not a number",
            remedy="Covers are compared by the sum of their weights: give weights of at least 0.",
        )
    if weights.dtype.kind != "f" and int(weights.max()) >= 1 << 62:
        raise DataError("a whole weight is 2⁶² or more", remedy="Give weights as floats.")
    return weights


# b-edge covers (every vertex keeps at least b of its edges) and b-matchings (at most b).


def b_matching(u: ArrayLike, v: ArrayLike, weight: ArrayLike, b: ArrayLike) -> NDArray[np.bool_]:
    """Return the greedy matching of at most b edges a vertex: at least half of the most weight.

    Found by rounds of locally dominant edges on all threads: the matching of b-Suitor (Khan,
    Choromanski et al. 2018, Algorithm 3). A b above the degree is no error: b is a ceiling.

    >>> b_matching([0, 0, 1], [1, 2, 2], [4, 1, 1], b=[1, 1, 1]).tolist()
    [True, False, False]
    """
    graph = Graph.of(u, v, weight, b)
    return graph.matched(np.minimum(graph.b, graph.degree))


# b-edge covers: every vertex keeps at least b of its edges, for little weight.


def mce(
    u: ArrayLike, v: ArrayLike, weight: ArrayLike, b: ArrayLike, *, is_partial: bool = False
) -> NDArray[np.bool_]:
    """Return what the greedy b′-matching leaves, b′ = degree − b: at most twice the least weight.

    The same as reverse delete: from the heaviest edge on, an edge goes when both ends still have
    more than b. Found by rounds of locally dominant edges on all threads; ``mce_by_matching`` is
    the paper's own way to it. A vertex with fewer edges than its b is an error; with
    ``is_partial`` it keeps every edge it has, the paper's b′ = max{0, degree − b}.

    >>> mce([0, 0, 1], [1, 2, 2], [4, 1, 1], b=[1, 1, 1]).tolist()
    [False, True, True]
    >>> mce([0], [1], [4], b=[2, 1], is_partial=True).tolist()
    [True]
    """
    graph = Graph.of(u, v, weight, b)
    return ~graph.matched(graph.degree - graph.wished(is_partial=is_partial))


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

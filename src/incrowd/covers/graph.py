"""A weighted graph as arrays: checked, and its edges in one strict order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from incrowd.covers import kernels
from incrowd.errors import DataError

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
    if weight.dtype.kind in "iu" and (not len(weight) or int(weight.max()) <= _MOST):
        return kernels.sort_edges(weight.astype(np.int32, copy=False), lower, upper)
    order: NDArray[np.int32] = np.lexsort((upper, lower, weight)).astype(np.int32)
    return order


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

"""b-matchings: every vertex keeps at most b of its edges, for much weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from incrowd.covers import kernel_suitor
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
    return kernel_suitor.matched(graph.order, graph.lower, graph.upper, graph.degree, graph.b)

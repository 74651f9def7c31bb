"""Made-up sets and graphs of any size: the same seed gives the same sets; nobody in them exists."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from incrowd.data.set_build import Pairs, from_pairs
from incrowd.data.set_format import MOST, SetOptions
from incrowd.data.sets import DIRECTED, UNDIRECTED, Sets
from incrowd.errors import JobError

Places = NDArray[np.int64]

_BLOCK_ROWS = 1 << 18  # fixed: every block draws from a seed of its own
_TEAM_SIZES = (0.15, 0.3, 0.27, 0.16, 0.07, 0.03, 0.02)  # of 1, 2, … authors


def block_model(
    n_rows: int = 1024,
    block_size: int = 64,
    inside: float = 0.8,
    outside: float = 0.01,
    seed: int = 0,
) -> Sets:
    """Draw the bipartite stochastic block model; rows and items are as many.

    Epasto et al., "Smooth Anonymity for Sparse Graphs", Section 4.2: rows and items fall into
    blocks of equal size; a row has each item of its block with the probability ``inside`` (q) and
    each other one with ``outside`` (p). Takes time and memory in the number of entries.
    """
    _require(n_rows, "rows")
    if block_size < 1 or n_rows % block_size:
        raise JobError(
            f"{n_rows:,} rows do not fall into blocks of {block_size:,}",
            remedy="The number of rows must be a multiple of the block's size.",
        )
    for share in (inside, outside):
        if not 0 <= share <= 1:
            raise JobError(f"{share} is no probability", remedy="State one from 0 to 1.")
    rng = np.random.default_rng(seed)
    rows, places = np.divmod(_hits(rng, n_rows * block_size, inside), block_size)
    items = rows // block_size * block_size + places
    n_others = n_rows - block_size
    if n_others:
        other_rows, places = np.divmod(_hits(rng, n_rows * n_others, outside), n_others)
        is_behind = places >= other_rows // block_size * block_size
        rows = np.concatenate([rows, other_rows])
        items = np.concatenate([items, places + is_behind * block_size])
    return _sets(rows, items, n_rows, n_rows)


def user_lists(
    n_rows: int, n_items: int = 100_000, mean_size: float = 10, n_types: int = 2_000, seed: int = 0
) -> Sets:
    """Draw lists of interests: items popular by Zipf's law, people of latent types.

    A type has a profile of items, each with an appeal; a row takes each of its type's items by
    that appeal and by how active it is, and now and then one of all items. About ``mean_size``
    items a row. Rows are drawn in blocks: memory is that of the result and of one block.
    """
    _require(n_rows, "rows")
    _require(n_items, "items")
    _require(n_types, "types")
    if not 0 < mean_size <= n_items / 4:
        raise JobError(
            f"rows cannot have {mean_size:g} of {n_items:,} items on average",
            remedy="State a mean above 0 and at most a quarter of the items.",
        )
    rng = np.random.default_rng(seed)
    item_of_rank = rng.permutation(n_items).astype(np.int32)
    chance_of_rank = _zipf(n_items)
    chance_of_type = _zipf(n_types)
    n_slots = max(1, math.ceil(1.7 * mean_size))
    slots = rng.random((n_types, n_slots))
    profiles = item_of_rank[np.searchsorted(chance_of_rank, slots)]
    appeal = np.linspace(1.0, 0.1, n_slots, dtype=np.float32)
    sizes, parts = [], []
    for first in range(0, n_rows, _BLOCK_ROWS):
        rng = np.random.default_rng([seed, first])
        count = min(_BLOCK_ROWS, n_rows - first)
        type_of_row = np.searchsorted(chance_of_type, rng.random(count))
        activity = rng.uniform(0.5, 1.5, count).astype(np.float32)
        is_taken = rng.random((count, n_slots), dtype=np.float32) < appeal * activity[:, None]
        rows, taken = np.nonzero(is_taken)
        n_more = rng.poisson(0.15 * mean_size, count)
        more = item_of_rank[np.searchsorted(chance_of_rank, rng.random(int(n_more.sum())))]
        keys = np.concatenate(
            [
                rows * n_items + profiles[type_of_row[rows], taken],
                np.repeat(np.arange(count), n_more) * n_items + more,
            ]
        )
        keys = np.unique(keys)
        sizes.append(np.bincount(keys // n_items, minlength=count))
        parts.append((keys % n_items).astype(np.int32))
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
    return Sets(starts, np.concatenate(parts), n_items)


def web_graph(
    n_nodes: int, mean_links: float = 8, fresh: float = 0.3, twins: float = 0.3, seed: int = 0
) -> Sets:
    """Draw a directed graph by copying, as pages of the web copy lists of links.

    Kumar et al., "Stochastic models for the web graph" (2000): a new node picks an earlier one,
    and each of its links is a fresh one with the probability ``fresh``, else that node's link in
    the same place. Deviation: numbers of links vary, and the share ``twins`` of the nodes copies
    the whole list. Chains of copies are followed by doubling: O(nodes · links · log).
    """
    _require(n_nodes, "nodes")
    if n_nodes < 2 or not 0 < mean_links <= n_nodes / 2:
        raise JobError(
            f"{n_nodes:,} nodes cannot have {mean_links:g} links on average",
            remedy="State a mean above 0 and at most half the nodes.",
        )
    rng = np.random.default_rng(seed)
    nodes = np.arange(n_nodes, dtype=np.int64)
    model = np.minimum((rng.random(n_nodes) * nodes).astype(np.int64), np.maximum(nodes - 1, 0))
    is_twin = rng.random(n_nodes) < twins
    is_twin[0] = False
    own_number = rng.geometric(1 / (1 + mean_links), n_nodes) - 1
    most = int(6 * mean_links) + 1
    n_links = np.minimum(own_number, most)[_origin(nodes, model, ~is_twin)]
    rows, items = [], []
    for slot in range(int(n_links.max(initial=0))):
        is_fresh = (rng.random(n_nodes) < fresh) & ~is_twin
        is_fresh[0] = True
        own_target = (rng.random(n_nodes) ** 2 * n_nodes).astype(np.int64)
        target = own_target[_origin(nodes, model, is_fresh)]
        is_shown = (slot < n_links) & (target != nodes)
        rows.append(nodes[is_shown])
        items.append(target[is_shown])
    return _sets(_joined(rows), _joined(items), n_nodes, n_nodes, DIRECTED)


def coauthors(
    n_nodes: int, papers_per_author: float = 1.5, reach: float = 10, seed: int = 0
) -> Sets:
    """Draw who wrote with whom: papers with small teams, projected on their authors.

    A team is a leading author and authors near by (within about ``reach`` of each other in a
    hidden order), sometimes one from anywhere; few authors lead much. Undirected, without loops;
    who only wrote alone has no neighbours.
    """
    _require(n_nodes, "nodes")
    rng = np.random.default_rng(seed)
    n_papers = max(1, round(n_nodes * papers_per_author))
    hidden_order = rng.permutation(n_nodes)
    lead = (rng.random(n_papers) ** 1.5 * n_nodes).astype(np.int64)
    lead = rng.permutation(n_nodes)[lead]
    shares = np.cumsum(_TEAM_SIZES) / sum(_TEAM_SIZES)
    team_size = 1 + np.searchsorted(shares, rng.random(n_papers))
    most = len(_TEAM_SIZES)
    authors = np.empty((most, n_papers), dtype=np.int64)
    authors[0] = lead
    for place in range(1, most):
        near = lead + np.rint(rng.laplace(0, reach / 2, n_papers)).astype(np.int64)
        anyone = rng.integers(0, n_nodes, n_papers)
        authors[place] = np.where(rng.random(n_papers) < 0.9, near % n_nodes, anyone)
    authors = hidden_order[authors]
    rows, items = [], []
    for first in range(most):
        for second in range(first + 1, most):
            is_team = (second < team_size) & (authors[first] != authors[second])
            rows.append(authors[first][is_team])
            items.append(authors[second][is_team])
    return _sets(_joined(rows), _joined(items), n_nodes, n_nodes, UNDIRECTED)


def _hits(rng: np.random.Generator, n_cells: int, share: float) -> Places:
    """Return the cells, ascending, that are drawn with one probability each; O(hits)."""
    if share <= 0:
        return np.zeros(0, dtype=np.int64)
    parts: list[Places] = []
    last = -1
    while last < n_cells:
        expected = (n_cells - last) * share
        size = int(min(expected + 4 * math.sqrt(expected) + 16, 1 << 24))
        places = last + np.cumsum(rng.geometric(share, size))
        parts.append(places)
        last = int(places[-1])
    hits = np.concatenate(parts)
    return hits[: np.searchsorted(hits, n_cells)]


def _origin(nodes: Places, model: Places, is_own: NDArray[np.bool_]) -> Places:
    """Return the node where each node's chain of models ends; node 0 must be on its own."""
    origin = np.where(is_own, nodes, model)
    while True:
        further = origin[origin]
        if np.array_equal(further, origin):
            return origin
        origin = further


def _zipf(count: int) -> NDArray[np.float64]:
    """Return cumulated probabilities that fall as 1/rank; the last is above every draw."""
    chances: NDArray[np.float64] = np.cumsum(1 / np.arange(1, count + 1))
    chances /= chances[-1]
    chances[-1] = 1.0
    return chances


def _joined(parts: list[Places]) -> Places:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _sets(rows: Places, items: Places, n_rows: int, n_items: int, graph: str = "bipartite") -> Sets:
    pairs = Pairs(rows.astype(np.int32), items.astype(np.int32), n_rows, n_items)
    return from_pairs(pairs, None, None, SetOptions(graph), "the sample")[0]


def _require(count: int, what: str) -> None:
    if not 1 <= count <= MOST:
        raise JobError(f"there cannot be {count:,} {what}", remedy=f"State 1 to {MOST:,}.")

"""t-closeness: no group's sensitive values are spread much unlike those of the whole file.

Li, Li and Venkatasubramanian (2007): the earth mover's distance between the distribution in each
group and that in the whole released file is at most t. The ground distance is

* equal: 1 between any two different values, so that the distance is ½·Σ|p − q|;
* ordered: the difference of ranks among the file's m different values, divided by m − 1;
* hierarchical: the height of the lowest common ancestor divided by the height of the tree.

Rows with no value (``*`` or missing, taken together) are one more value, at distance 1 from every
other; ranks have no place for it, so ``ordered`` refuses such a column.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.errors import HierarchyError, InputError
from incrowd.guarantees.evidence import Evidence, Finding
from incrowd.guarantees.tables.l_diversity import Mixture, company, exposed_by, mix
from incrowd.tables.columns.types import labels_of

if TYPE_CHECKING:
    from incrowd.guarantees.tables.k_anonymity import KAnonymity
    from incrowd.hierarchies.tree import Hierarchy


TOLERANCE = 1e-9
"""A distance is a sum of floating-point numbers: one that exceeds t by less than this is taken to
lie on the boundary, which the definition includes. The excess that could slip through is less than
a billionth of the rows' weight."""

_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?\s*", re.ASCII)


def check(evidence: Evidence, guarantee: KAnonymity, column: str) -> Finding:
    """Check one sensitive column for the guarantee's t."""
    asked = guarantee.t
    if asked is None:
        raise ValueError("no t was asked for")
    mixture = mix(evidence, column, guarantee.stars, joint=guarantee.joint)
    hierarchy = evidence.sensitive_hierarchies.get(column)
    distance = distances(mixture, guarantee.t_kind, hierarchy)
    fails = distance > asked + TOLERANCE
    exposed, rows = exposed_by(evidence, mixture, fails)
    largest = float(distance.max(initial=0.0))
    figures = {
        "column": column,
        "t": asked,
        "t_kind": guarantee.t_kind,
        "stars": guarantee.stars,
        "joint": guarantee.joint,
        "largest_distance": largest,
    }
    holds = not fails.any()
    if holds:
        summary = (
            f"column {column!r}: every group is within t = {asked:g} of the whole file "
            f"({guarantee.t_kind} distance); the farthest is at {largest:.4g}"
        )
    else:
        summary = (
            f"column {column!r}: {exposed['n_exposed']} rows in {exposed['n_exposed_groups']} "
            f"groups are farther than t = {asked:g} from the whole file ({guarantee.t_kind} "
            f"distance); the farthest is at {largest:.4g}"
        )
    summary += company(evidence, mixture)
    return Finding("t-closeness", holds, summary, figures | exposed, rows)


def distances(
    mixture: Mixture, kind: str, hierarchy: Hierarchy | None = None
) -> NDArray[np.float64]:
    """Return the distance of each crowd's values from the whole file's."""
    if kind == "equal":
        return equal_distances(mixture)
    if kind == "ordered":
        return ordered_distances(mixture, hierarchy)
    return hierarchical_distances(mixture, hierarchy)


def equal_distances(mixture: Mixture) -> NDArray[np.float64]:
    """Return ½·Σ|p − q|. A value that a crowd lacks adds its share of the whole."""
    share, whole = mixture.shares()
    everything = np.ones(len(share), dtype=np.bool_)
    of_line = whole[mixture.value]
    shown = mixture.sum_by_crowd(np.abs(share - of_line), everything)
    lacking = 1.0 - mixture.sum_by_crowd(of_line, everything)
    return (shown + lacking) / 2.0


def ordered_distances(mixture: Mixture, hierarchy: Hierarchy | None = None) -> NDArray[np.float64]:
    """Return Σᵢ|Pᵢ − Qᵢ| / (m − 1) for the cumulative shares P of a crowd and Q of the whole.

    P is constant between a crowd's own values and Q never falls, so each such run is added up at
    once from running sums of Q, on both sides of where Q passes P. O(lines · log values).
    """
    if mixture.whole[-1]:
        raise InputError(
            f"column {mixture.column!r}: {int(mixture.whole[-1])} rows have no value, and the "
            "ordered distance has no rank for them",
            remedy="Use --t-kind equal, where having no value is one more value.",
        )
    rank_of_value, n_ranks = _ranks(mixture, hierarchy)
    if n_ranks < 2:
        return np.zeros(mixture.n_crowds)
    rank = rank_of_value[mixture.value]
    order = np.lexsort((rank, mixture.crowd))
    crowd, rank, n = mixture.crowd[order], rank[order], mixture.n[order]
    whole = np.zeros(n_ranks, dtype=np.int64)
    np.add.at(whole, rank_of_value, mixture.whole[:-1])
    cumulated = np.cumsum(whole) / whole.sum()
    running = np.concatenate([[0.0], np.cumsum(cumulated)])

    is_first = np.diff(crowd, prepend=-1) != 0
    is_last = np.append(is_first[1:], True)
    total = np.cumsum(n)
    before = (total - n)[is_first][np.cumsum(is_first) - 1]
    size = mixture.sum_by_crowd(mixture.n, mixture.known)
    level = (total - before) / size[crowd]  # P from this line's rank up to the next line's
    end = np.where(is_last, n_ranks, np.append(rank[1:], 0))
    meets = np.clip(np.searchsorted(cumulated, level), rank, end)
    below = level * (meets - rank) - (running[meets] - running[rank])
    above = (running[end] - running[meets]) - level * (end - meets)
    # ranks under the crowd's first value, where P is 0
    start = np.where(is_first, running[rank], 0.0)
    everything = np.bincount(crowd, weights=below + above + start, minlength=mixture.n_crowds)
    return everything / (n_ranks - 1)


def hierarchical_distances(mixture: Mixture, hierarchy: Hierarchy | None) -> NDArray[np.float64]:
    """Return the earth mover's distance on the tree.

    Heights make the tree an ultrametric: giving each node the length (height of its parent − its
    own height) / (2·height of the tree), the way between two leaves has the length of their
    distance, so that the distance is Σ over nodes of length · |share of the crowd under it − share
    of the whole|. A value's way up to its parent is long enough to make up for a short branch.
    """
    if hierarchy is None:
        raise InputError(
            f"column {mixture.column!r}: the hierarchical distance needs the column's hierarchy",
            remedy=f"Name it with --hierarchy {mixture.column}=FILE, or use --t-kind equal.",
        )
    leaf_of_value = _leaves(mixture, hierarchy)
    root, no_value = hierarchy.root, hierarchy.n_nodes
    parent = np.append(hierarchy.parent, root)
    height = np.append(hierarchy.height, 0).astype(np.float64)
    length = (height[parent] - height) / (2.0 * height[root])
    share, whole = mixture.shares()

    node = np.append(leaf_of_value, no_value)[mixture.value]
    crowd = mixture.crowd
    whole_of_node = np.zeros(len(parent))
    np.add.at(whole_of_node, np.append(leaf_of_value, no_value), whole)
    for child in range(root):
        whole_of_node[parent[child]] += whole_of_node[child]
    # one line per crowd and node on the way from a value to the root
    climbing = np.ones(len(node), dtype=np.bool_)
    nodes, crowds, weights = [node], [crowd], [share]
    while climbing.any():
        node = parent[nodes[-1][climbing]]
        crowds.append(crowds[-1][climbing])
        weights.append(weights[-1][climbing])
        nodes.append(node)
        climbing = node != root
    cell, cell_of_line = np.unique(
        np.concatenate(crowds) * len(parent) + np.concatenate(nodes), return_inverse=True
    )
    share_of_cell = np.bincount(cell_of_line, weights=np.concatenate(weights))
    node_of_cell = cell % len(parent)
    expected = whole_of_node[node_of_cell]
    # a node under which a crowd has nothing adds its share of the whole: added for all nodes
    # first, taken back for those that the crowd does have
    excess = length[node_of_cell] * (np.abs(share_of_cell - expected) - expected)
    taken_back = np.bincount(cell // len(parent), weights=excess, minlength=mixture.n_crowds)
    distance: NDArray[np.float64] = (length * whole_of_node).sum() + taken_back
    return np.maximum(distance, 0.0)


def _leaves(mixture: Mixture, hierarchy: Hierarchy) -> NDArray[np.int64]:
    labels = labels_of(pa.array(list(mixture.values))).to_pylist()
    lost = [label for label in labels if label not in hierarchy.leaf_of_value]
    if lost:
        raise HierarchyError(
            f"column {mixture.column!r}: {len(lost)} released values are no leaf of its hierarchy",
            remedy="Add a line per value to the hierarchy, or use --t-kind equal.",
            examples=lost,
        )
    return np.asarray([hierarchy.leaf_of_value[label] for label in labels], dtype=np.int64)


def _ranks(mixture: Mixture, hierarchy: Hierarchy | None) -> tuple[NDArray[np.int64], int]:
    """Return the rank of each value: by number or time, else by the hierarchy's leaves."""
    values = mixture.values
    if all(isinstance(value, str) for value in values):
        if all(_NUMBER.fullmatch(value) for value in values):
            keys: list[Any] = [Decimal(value.strip()) for value in values]
        elif hierarchy is not None:
            keys = hierarchy.leaf_order[_leaves(mixture, hierarchy)].tolist()
        else:
            raise InputError(
                f"column {mixture.column!r}: its values are not all numbers, and no hierarchy says "
                "how they are ordered",
                remedy=f"Name one with --hierarchy {mixture.column}=FILE, or use --t-kind equal.",
            )
    else:
        keys = list(values)
    rank_of_key = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return np.asarray([rank_of_key[key] for key in keys], dtype=np.int64), len(rank_of_key)

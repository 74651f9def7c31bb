"""Random small tables, hierarchies and conditions, as the code and as the oracles take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from incrowd.encoding.rows import Rows
from incrowd.hierarchies.costs import cost_to_root, fixed_point_costs
from incrowd.hierarchies.tree import Hierarchy
from incrowd.methods.shared.conditions import Conditions, SensitiveCondition
from oracles.methods import Tree
from oracles.validity import Rules, Sensitive


@st.composite
def hierarchies(draw: Any, most_leaves: int = 7) -> Hierarchy:
    """Draw a tree of any shape: uneven depths, single children, numbers behind leaves or not."""
    n_leaves = draw(st.integers(1, most_leaves))
    parent = [-1] * n_leaves
    tops = list(range(n_leaves))
    while len(tops) > 1 or len(parent) == n_leaves:
        n_joined = draw(st.integers(1, min(3, len(tops))))
        joined = draw(st.permutations(tops))[:n_joined]
        if len(tops) == 1 or len(parent) > 2 * most_leaves:
            joined = list(tops)
        parent.append(-1)
        for node in joined:
            parent[node] = len(parent) - 1
        tops = [node for node in tops if node not in joined] + [len(parent) - 1]
    parent[-1] = len(parent) - 1
    labels = tuple(f"n{node}" for node in range(len(parent) - 1))
    values = None
    if draw(st.booleans()):
        values = np.asarray(draw(st.permutations(range(n_leaves))), dtype=np.float64)
    weights = None
    if draw(st.booleans()):
        numbers = st.integers(0, 5)
        weights = np.asarray(
            draw(st.lists(numbers, min_size=len(parent), max_size=len(parent))), dtype=np.float64
        )
    return Hierarchy(
        "column", (*labels, "*"), np.asarray(parent, dtype=np.int32), n_leaves, values, weights
    )


@st.composite
def tables(draw: Any, most_rows: int = 24, most_columns: int = 3) -> Rows:
    """Draw a table of leaves; small columns, so that equal rows are common."""
    trees = draw(st.lists(hierarchies(), min_size=1, max_size=most_columns))
    n_rows = draw(st.integers(1, most_rows))
    nodes = [
        draw(st.lists(st.integers(0, tree.n_leaves - 1), min_size=n_rows, max_size=n_rows))
        for tree in trees
    ]
    names = tuple(f"column {number}" for number in range(len(trees)))
    return Rows(names, np.asarray(nodes, dtype=np.int32), tuple(trees))


@dataclass(frozen=True)
class Asked:
    """The same conditions twice: for the code, and for the oracle."""

    conditions: Conditions
    rules: Rules


@st.composite
def sensitive_columns(draw: Any, n_rows: int) -> tuple[SensitiveCondition, Sensitive]:
    """Draw one sensitive column with l, t, both or neither."""
    n_values = draw(st.integers(1, 4))
    codes = draw(st.lists(st.integers(-1, n_values - 1), min_size=n_rows, max_size=n_rows))
    kind = draw(st.sampled_from(["distinct", "entropy", "recursive"]))
    asked_l = draw(st.sampled_from([0.0, 1.0, 2.0, 2.0, 3.0]))
    if kind == "entropy":
        asked_l = draw(st.sampled_from([0.0, 1.0, 1.5, 2.0]))
    c = draw(st.sampled_from([0.5, 1.0, 2.0, 3.0]))
    t = draw(st.sampled_from([-1.0, 0.0, 0.1, 0.25, 0.4, 0.5, 1.0]))
    parent: list[int] | None = None
    weight: list[float] | None = None
    if draw(st.booleans()):  # a chain over the values, as the ordered distance has it
        parent = [*range(1, n_values), -1, -1]
        weight = [1.0 / max(1, n_values - 1)] * n_values + [0.5]
    return (
        SensitiveCondition(
            np.asarray(codes, dtype=np.int32),
            n_values,
            asked_l,
            kind,
            c,
            t,
            None if parent is None else np.asarray(parent, dtype=np.int32),
            None if weight is None else np.asarray(weight),
        ),
        Sensitive(codes, n_values, asked_l, kind, c, t, parent, weight),
    )


@st.composite
def asked(draw: Any, n_rows: int, most_k: int = 5) -> Asked:
    """Draw conditions: k, perhaps a k per row, people, sensitive columns."""
    k = draw(st.integers(1, most_k))
    k_of_row = person_of_row = None
    if draw(st.booleans()):
        k_of_row = draw(st.lists(st.integers(1, most_k), min_size=n_rows, max_size=n_rows))
    if draw(st.booleans()):
        people = st.integers(0, max(1, 2 * n_rows // 3))
        person_of_row = draw(st.lists(people, min_size=n_rows, max_size=n_rows))
    columns = draw(st.lists(sensitive_columns(n_rows), max_size=2))
    return Asked(
        Conditions(
            k,
            None if k_of_row is None else np.asarray(k_of_row, dtype=np.int32),
            None if person_of_row is None else np.asarray(person_of_row, dtype=np.int32),
            tuple(column for column, _ in columns),
        ),
        Rules(k, k_of_row, person_of_row, tuple(column for _, column in columns)),
    )


def as_trees(rows: Rows, metric: str) -> list[Tree]:
    """Return a table's hierarchies as the oracles take them."""
    costs = fixed_point_costs(rows.hierarchies, metric)
    trees = []
    for hierarchy, cost in zip(rows.hierarchies, costs, strict=True):
        tree = Tree(
            hierarchy.parent.tolist(), hierarchy.leaf_order.tolist(), cost.tolist(), widths := []
        )
        price = cost_to_root(hierarchy, metric).tolist()
        for node in range(hierarchy.n_nodes):
            widths.append(max(price[leaf] for leaf in tree.leaves(node)) - price[node])
        whole = widths[-1]
        widths[:] = [width / whole if whole > 0 else 0.0 for width in widths]
        trees.append(tree)
    return trees


def as_tuples(nodes: np.ndarray[Any, Any]) -> list[tuple[int, ...]]:
    """Return ``nodes[column, row]`` as one tuple per row."""
    return list(zip(*nodes.tolist(), strict=True))


def grid(n_rows: int = 2000, seed: int = 0, n_codes: int = 30) -> Rows:
    """Return random ages in three levels, sexes and flat codes, low numbers the commonest."""
    random = np.random.default_rng(seed)
    ages = [str(age) for age in range(80)]
    trees = (
        Hierarchy.from_ladder(
            "age",
            [ages, [f"{int(a) // 5}" for a in ages], [f"{int(a) // 20}x" for a in ages]],
            values=np.arange(80.0),
        ),
        Hierarchy.from_ladder("sex", [["f", "m"]]),
        Hierarchy.from_ladder("code", [[f"c{code}" for code in range(n_codes)]]),
    )
    nodes = [random.random(n_rows) ** 2 * tree.n_leaves for tree in trees]
    return Rows(("age", "sex", "code"), np.stack(nodes).astype(np.int32), trees)

"""cluster on columns of numbers: any run of cells may be shown, and it is the least one."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.encode import encode
from incrowd.hierarchies.costs import cost_to_root, fixed_point_costs
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.measures.losses.tables import METRICS
from incrowd.methods.cluster.method import Cluster
from incrowd.methods.greedy.method import Greedy
from incrowd.methods.mondrian.method import Mondrian
from incrowd.methods.shared.conditions import Conditions
from incrowd.tables.table import Table
from methods.searching import release
from oracles import ranges as oracle
from oracles.generated import as_tuples
from tiers import examples


@st.composite
def number_tables(draw, most_rows=30):
    """Two columns of numbers, one of them with something missing, and one of names."""
    n_rows = draw(st.integers(5, most_rows))

    def column(cells):
        return draw(st.lists(cells, min_size=n_rows, max_size=n_rows))

    wide = st.integers(-3, 400).map(lambda number: f"{number / 4}")
    frame = pa.table(
        {
            "age": column(st.one_of(st.integers(10, 60).map(str), st.sampled_from([None, "?"]))),
            "income": column(wide),
            "sex": column(st.sampled_from(["f", "m"])),
        }
    )
    specs = {
        "age": HierarchySpec.parse(draw(st.sampled_from(["ranges:5,from=20,to=50", "ranges:1"]))),
        "income": HierarchySpec.parse("ranges:10,from=0,to=90"),
    }
    return encode(Table(frame, missing_values=("?",)), ("age", "income", "sex"), specs)[0]


def least_node(tree, leaves):
    """The lowest node above all of these leaves, by what labels say."""
    texts = [tree.labels[leaf] for leaf in leaves]
    if len(set(texts)) == 1:
        return leaves[0]
    if tree.runs is None:
        return tree.root
    holding = [
        node
        for node in range(tree.n_leaves, tree.n_all_nodes)
        if all(oracle.holds(tree.all_labels[node], text) for text in texts)
    ]
    held = {
        node: sum(
            oracle.holds(tree.all_labels[node], text) for text in tree.labels[: tree.n_leaves]
        )
        for node in holding
    }
    cost = cost_to_root(tree, "ncp")
    return min(holding, key=lambda node: (held[node], -cost[node], node))


@given(number_tables(), st.integers(1, 5), st.sampled_from(["ncp", "loss", "llm"]))
def test_every_group_shows_the_least_range_of_its_rows(rows, k, metric):
    after = release(Cluster(metric=metric, effort=200), rows, k)
    assert min(Counter(as_tuples(after.nodes)).values()) >= k
    for tree, old, new in zip(rows.hierarchies, rows.nodes, after.nodes, strict=True):
        assert tree.is_ancestor(new, old).all()
    for group in set(as_tuples(after.nodes)):
        members = [row for row, nodes in enumerate(as_tuples(after.nodes)) if nodes == group]
        for column, tree in enumerate(rows.hierarchies):
            least = least_node(tree, rows.nodes[column, members].tolist())
            assert tree.all_labels[group[column]] == tree.all_labels[least]


@examples(15)
@given(number_tables(most_rows=7), st.integers(2, 3))
def test_no_result_undercuts_the_optimum(rows, k):
    costs = fixed_point_costs(rows.hierarchies, "ncp")

    def price(members):
        total = 0
        for column, tree in enumerate(rows.hierarchies):
            node = least_node(tree, rows.nodes[column, members].tolist())
            total += int(costs[column][rows.nodes[column, members]].sum())
            total -= len(members) * int(costs[column][node])
        return total

    known = {}

    def once(members):
        key = tuple(members)
        if key not in known:
            known[key] = price(members)
        return known[key]

    optimum = min(
        sum(once(group) for group in groups)
        for groups in oracle.partitions(list(range(rows.n_rows)), k)
    )
    after = release(Cluster(metric="ncp", effort=400), rows, k)
    paid = sum(
        int(cost[old].sum()) - int(cost[new].sum())
        for cost, old, new in zip(costs, rows.nodes, after.nodes, strict=True)
    )
    assert paid >= optimum


@pytest.mark.parametrize("method", [Greedy(metric="ncp"), Mondrian(metric="ncp")])
def test_methods_that_walk_trees_show_nodes_of_the_tree(method):
    random = np.random.default_rng(0)
    ages = random.integers(17, 90, 400).astype(str).tolist()
    pay = np.round(random.lognormal(3, 1, 400), 2).astype(str).tolist()
    rows, _ = encode(Table(pa.table({"age": ages, "pay": pay})), ("age", "pay"), {})
    assert all(tree.runs is not None for tree in rows.hierarchies)
    after = release(method, rows, 5)
    ours = release(Cluster(metric="ncp"), rows, 5)
    for tree, shown in zip(rows.hierarchies, after.nodes, strict=True):
        assert (shown < tree.n_nodes).all()
    assert any(
        (new >= tree.n_nodes).any() for tree, new in zip(rows.hierarchies, ours.nodes, strict=True)
    )
    assert METRICS["ncp"](rows, ours) < METRICS["ncp"](rows, after)


def test_threads_and_blocks_keep_every_range_true(monkeypatch):
    from incrowd.methods.shared.recreate import blocks

    monkeypatch.setattr(blocks, "LARGEST_WHOLE", 200)
    monkeypatch.setattr(blocks, "DISTINCT_PER_BLOCK", 100)
    random = np.random.default_rng(1)
    cells = [None if n % 50 == 0 else str(n) for n in random.integers(0, 1000, 600).tolist()]
    pay = np.round(random.normal(50, 20, 600), 1).astype(str).tolist()
    rows, _ = encode(Table(pa.table({"a": cells, "b": pay})), ("a", "b"), {})
    after = release(Cluster(metric="ncp", effort=2_000), rows, 4)
    assert np.array_equal(
        after.nodes, release(Cluster(metric="ncp", effort=2_000), rows, 4, threads=2).nodes
    )
    assert min(Counter(as_tuples(after.nodes)).values()) >= 4
    for tree, old, new in zip(rows.hierarchies, rows.nodes, after.nodes, strict=True):
        assert tree.is_ancestor(new, old).all()


@pytest.mark.slow
def test_near_rows_of_ranges_are_the_nearest():
    from numba import njit

    from incrowd.methods.shared.recreate.kernels import near as kernel_near
    from incrowd.methods.shared.recreate.search import Plan, begin
    from incrowd.methods.shared.recreate.start import CountedRows

    list_near = kernel_near.list_near

    @njit
    def ask(space, near, distinct, random):
        return list_near(space, near, distinct, random)

    random = np.random.default_rng(2)
    cells = [None if n % 20 == 0 else f"{n / 4}" for n in random.integers(0, 400, 150).tolist()]
    ages = random.integers(20, 60, 150).astype(str).tolist()
    frame = pa.table({"age": ages, "pay": cells})
    specs = {"pay": HierarchySpec.parse("ranges:10,from=10,to=90")}
    rows, _ = encode(Table(frame), ("age", "pay"), specs)
    limits = Conditions(3).packed(rows.n_rows)
    plan = Plan.of(rows, "ncp", limits, 0)
    each = np.ones(rows.n_rows, dtype=np.int64)
    space = begin(CountedRows.of_rows(rows.nodes, each, limits), plan).space
    near = kernel_near.no_lists(space, 10)
    draws = np.asarray([99])
    costs = fixed_point_costs(rows.hierarchies, "ncp")
    distinct = sorted(set(as_tuples(plan.forest.in_ranks(rows.nodes)[list(plan.columns)])))
    leaves = [
        [int(plan.forest.walks[column].node_at[row[place]])
         for place, column in enumerate(plan.columns)]
        for row in distinct
    ]  # fmt: skip
    for one in range(0, len(leaves), 15):
        far = [
            sum(
                -int(costs[column][least_node(rows.hierarchies[column], [mine, other])])
                for column, mine, other in zip(plan.columns, leaves[one], row, strict=True)
            )
            for row in leaves
        ]
        listed = ask(space, near, one, draws).tolist()
        others = sorted(far[:one] + far[one + 1 :])
        assert sorted(far[row] for row in listed) == others[:10]

"""Trees are numbered once and for all, and every look-up agrees with its definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import HierarchyError
from incrowd.hierarchies.builders import build_hierarchy
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.hierarchies.tree import STAR, Hierarchy
from incrowd.tables.columns.types import ColumnKind
from oracles import hierarchies as oracle


@st.composite
def parents(draw, most=14):
    """Child → parent of a random tree with distinct labels and the root '*'."""
    n_nodes = draw(st.integers(2, most))
    above = [draw(st.integers(0, node - 1)) for node in range(1, n_nodes)]
    names = [STAR, *draw(st.permutations([f"n{node}" for node in range(1, n_nodes)]))]
    pairs = [(names[node], names[parent]) for node, parent in enumerate(above, 1)]
    return dict(draw(st.permutations(pairs)))


@given(parents(), st.data())
def test_every_look_up_agrees_with_the_definition(parent_of, data):
    tree = Hierarchy.from_parents("c", parent_of)
    assert oracle.parent_labels(tree) == parent_of
    assert list(tree.labels[: tree.n_leaves]) == oracle.leaves(parent_of)
    for node, label in enumerate(tree.labels):
        assert tree.depth[node] == oracle.depth(parent_of, label)
        assert tree.height[node] == oracle.height(parent_of, label)
        assert tree.leaf_count[node] == len(oracle.leaves_under(parent_of, label))
        assert [tree.labels[n] for n in tree.ancestors(node)] == oracle.way_up(parent_of, label)
    for level, rung in enumerate(tree.ladder):
        for leaf, node in enumerate(rung):
            expected = oracle.at_level(parent_of, tree.labels[leaf], level)
            assert tree.labels[node] == expected
    assert set(tree.ladder[-1]) == {tree.root}

    numbers = st.one_of(st.integers(-9, 9).map(float), st.just(math.nan))
    values = data.draw(st.lists(numbers, min_size=tree.n_leaves, max_size=tree.n_leaves))
    numbered = Hierarchy.from_parents("c", parent_of, values=np.asarray(values))
    number_of = dict(zip(tree.labels, values, strict=False))
    for node, label in enumerate(tree.labels):
        assert numbered.width[node] == oracle.span(parent_of, label, number_of)


@given(parents(), st.data())
def test_leaves_are_walked_by_file_order_or_by_their_numbers(parent_of, data):
    tree = Hierarchy.from_parents("c", parent_of)
    leaves = oracle.leaves(parent_of)
    walked = [leaves[leaf] for leaf in np.argsort(tree.leaf_order)]
    assert walked == oracle.walk(parent_of, STAR, {leaf: n for n, leaf in enumerate(leaves)})

    values = data.draw(st.permutations(range(len(leaves))))
    tree = Hierarchy.from_parents("c", parent_of, values=np.asarray(values, dtype=float))
    walked = [leaves[leaf] for leaf in np.argsort(tree.leaf_order)]
    assert walked == oracle.walk(parent_of, STAR, dict(zip(leaves, values, strict=True)))


@given(parents(), st.data())
def test_one_tree_has_one_numbering(parent_of, data):
    tree = Hierarchy.from_parents("c", parent_of)
    others = data.draw(st.permutations([c for c in parent_of if c not in oracle.leaves(parent_of)]))
    shuffled = {child: parent_of[child] for child in [*oracle.leaves(parent_of), *others]}
    paths = [oracle.way_up(parent_of, leaf) for leaf in oracle.leaves(parent_of)]
    ladder = [[tree.labels[node] for node in rung] for rung in tree.ladder]
    for again in (
        Hierarchy.from_parents("c", shuffled),
        Hierarchy.from_paths("c", paths),
        Hierarchy.from_ladder("c", ladder),
    ):
        assert again.labels == tree.labels
        assert again.parent.tolist() == tree.parent.tolist()
        assert again.n_leaves == tree.n_leaves
    leaves = oracle.leaves(parent_of)
    rank = [
        (oracle.height(parent_of, label), leaves.index(oracle.leaves_under(parent_of, label)[0]))
        for label in tree.labels[tree.n_leaves :]
    ]
    assert rank == sorted(rank)


@given(parents(), st.lists(st.sampled_from(["?", "", "NA", "n1"]), max_size=4))
def test_more_leaves_go_under_the_root_and_change_nothing_else(parent_of, extra):
    tree = Hierarchy.from_parents("c", parent_of)
    known = set(oracle.leaves(parent_of))
    if "n1" not in known:
        extra = [label for label in extra if label != "n1"]
    larger = tree.with_leaves(extra)
    expected = parent_of | {label: STAR for label in extra if label not in known}
    assert oracle.parent_labels(larger) == expected
    assert larger.labels[: tree.n_leaves] == tree.labels[: tree.n_leaves]
    assert larger.n_leaves == len(known | set(extra))


@given(parents())
def test_sums_to_the_root(parent_of):
    tree = Hierarchy.from_parents("c", parent_of)
    step = np.arange(1.0, tree.n_nodes + 1)
    total = tree.sum_to_root(step)
    for node in range(tree.n_nodes):
        assert total[node] == sum(step[above] for above in tree.ancestors(node)[:-1])


@given(parents())
def test_ancestry_of_pairs(parent_of):
    tree = Hierarchy.from_parents("c", parent_of)
    above, below = np.divmod(np.arange(tree.n_nodes**2, dtype=np.int32), tree.n_nodes)
    found = tree.is_ancestor(above, below)
    for high, low, is_above in zip(above, below, found, strict=True):
        assert is_above == (high in tree.ancestors(low))


# ── refusals ────────────────────────────────────────────────────────────────────────────────


@given(parents(), st.data())
def test_a_cycle_is_refused(parent_of, data):
    inner = [label for label in parent_of if label not in oracle.leaves(parent_of)]
    loop = {"a": "b", "b": "c", "c": "a"}
    if inner:
        loop["c"] = data.draw(st.sampled_from(["a", "b"]))
    with pytest.raises(HierarchyError, match="form a cycle"):
        Hierarchy.from_parents("zip", parent_of | loop)


def test_a_self_loop_is_refused():
    with pytest.raises(HierarchyError, match="1 nodes of the hierarchy form a cycle"):
        Hierarchy.from_parents("c", {"a": "*", "b": "b"})


def test_two_roots_and_none_are_refused():
    with pytest.raises(HierarchyError, match="has 2 roots") as refused:
        Hierarchy.from_parents("zip", {"a": "x", "b": "y"})
    assert refused.value.examples == ["x", "y"]
    assert "'x'" not in str(refused.value)
    with pytest.raises(HierarchyError, match="has 0 roots"):
        Hierarchy.from_parents("zip", {"a": "b", "b": "a"})
    with pytest.raises(HierarchyError, match="has 0 roots"):
        Hierarchy.from_parents("zip", {})


@pytest.mark.parametrize(
    "build",
    [
        lambda: Hierarchy.from_ladder("c", [["a", "*"]]),
        lambda: Hierarchy.from_ladder("c", [["*"]]),
        lambda: Hierarchy.from_ladder("c", [["a", "b"], ["*", "g"], ["*", "*"]]),
        lambda: Hierarchy.from_parents("c", {"*": "top", "a": "top"}),
    ],
)
def test_a_star_below_the_root_is_refused(build):
    with pytest.raises(HierarchyError, match=r"label '\*'"):
        build()


def test_levels_that_do_not_nest_are_refused():
    with pytest.raises(HierarchyError, match="do not nest"):
        Hierarchy.from_ladder("c", [["a", "b"], ["g", "g"], ["x", "y"]])
    with pytest.raises(HierarchyError, match="two parents"):
        Hierarchy.from_paths("c", [["a", "g", "x", "*"], ["b", "g", "y", "*"]])


def test_no_leaf_is_refused():
    with pytest.raises(HierarchyError, match="at least one value"):
        Hierarchy.from_ladder("c", [[]])


# ── ladders ─────────────────────────────────────────────────────────────────────────────────


def test_repeated_labels_are_one_node_and_the_root_is_a_star():
    tree = Hierarchy.from_ladder("c", [["a", "b", "x"], ["g", "g", "x"], ["Any", "Any", "Any"]])
    assert oracle.parent_labels(tree) == {"a": "g", "b": "g", "x": "*", "g": "*"}
    assert tree.labels[tree.root] == "*"


def test_a_root_is_added_where_there_is_none():
    assert oracle.parent_labels(Hierarchy.from_ladder("c", [["a", "b"]])) == {"a": "*", "b": "*"}
    assert oracle.parent_labels(Hierarchy.from_ladder("c", [["a"]])) == {"a": "*"}
    tree = Hierarchy.from_ladder("c", [["a", "b"], ["*", "*"], ["*", "*"]])
    assert oracle.parent_labels(tree) == {"a": "*", "b": "*"}


def test_weights_that_are_not_stated_are_one():
    tree = Hierarchy.from_parents("c", {"a": "g", "b": "g", "g": "*"}, weight_of={"a": 6, "g": 2})
    weights = dict(zip(tree.labels, tree.edge_weights, strict=True))
    assert (weights["a"], weights["b"], weights["g"]) == (6.0, 1.0, 2.0)


def test_a_deep_chain_is_no_trouble():
    chain = {f"n{node}": f"n{node + 1}" for node in range(3_000)}
    tree = Hierarchy.from_parents("c", chain)
    assert tree.depth[0] == 3_000
    assert tree.height[tree.root] == 3_000
    assert tree.leaf_count.tolist() == [1] * tree.n_nodes


@pytest.mark.parametrize("spec", ["ranges:5,from=20,to=60", "intervals:5,10", "prefix", "flat"])
def test_leaf_spans_are_the_leaves_under_each_node(spec):
    numbers = [str(number) for number in (18, 21, 22, 25, 38, 39, 44, 57, 58, 61, 77)]
    tree = build_hierarchy(HierarchySpec.parse(spec), "c", numbers, ColumnKind("integer"))
    tree = tree.with_leaves(["", "?"])
    low, high = tree.leaf_spans
    assert len(low) == len(high) == tree.n_all_nodes
    leaves = np.arange(tree.n_leaves, dtype=np.int32)
    for node in range(tree.n_all_nodes):
        under = tree.is_ancestor(np.full(tree.n_leaves, node, np.int32), leaves)
        assert sorted(tree.leaf_order[under].tolist()) == list(range(low[node], high[node]))

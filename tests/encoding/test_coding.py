"""Coded trees: what lies under each node, and the way to a search and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.coding import CodedView, Coding, add_coded_nodes
from incrowd.encoding.rows import Rows
from incrowd.errors import HierarchyError, JobError
from incrowd.hierarchies.costs import COSTS_OF_METRIC, cost_to_root
from incrowd.hierarchies.tree import Hierarchy

AGES = [str(age) for age in range(0, 100, 2)]


def ages():
    return Hierarchy.from_ladder(
        "age",
        [AGES, [f"{int(age) // 10}0s" for age in AGES], [f"h{int(age) // 50}" for age in AGES]],
        values=np.arange(0.0, 100.0, 2.0),
    )


def leaves_under(tree, label):
    node = tree.node_of_label[label]
    return {tree.labels[leaf] for leaf in range(tree.n_leaves) if node in tree.ancestors(leaf)}


def test_a_node_above_what_lies_beyond_and_nothing_else():
    tree = add_coded_nodes(ages(), Coding(bottom=24, top=81))
    assert leaves_under(tree, "<24") == {age for age in AGES if int(age) < 24}
    assert leaves_under(tree, ">81") == {age for age in AGES if int(age) > 81}
    assert leaves_under(tree, "20s") == {"24", "26", "28"}
    assert leaves_under(tree, "80s") == {"80"}
    assert "00s" not in tree.node_of_label  # all of it is coded
    assert tree.labels[tree.parent[tree.node_of_label["<24"]]] == "h0"
    assert tree.labels[tree.parent[tree.node_of_label[">81"]]] == "h1"
    assert tree.labels[: tree.n_leaves] == tuple(AGES)
    assert tree.values is not None
    assert tree.values.tolist() == [float(age) for age in AGES]


def test_what_is_coded_entirely_hangs_under_the_root():
    tree = add_coded_nodes(ages(), Coding(top=-1))
    assert leaves_under(tree, ">-1") == set(AGES)
    assert tree.labels[tree.parent[tree.node_of_label[">-1"]]] == "*"
    assert set(tree.labels) == {*AGES, ">-1", "*"}


def test_limits_that_nothing_lies_beyond_change_nothing():
    tree = add_coded_nodes(ages(), Coding(bottom=0, top=98))
    assert set(tree.labels) == set(ages().labels)


def test_a_group_that_is_just_what_is_coded_becomes_it():
    names = ["<20" if int(age) < 20 else "older" for age in AGES]
    tree = add_coded_nodes(Hierarchy.from_ladder("age", [AGES, names]), Coding(bottom=20))
    assert leaves_under(tree, "<20") == {age for age in AGES if int(age) < 20}
    with pytest.raises(HierarchyError, match="label of a coded value"):
        add_coded_nodes(
            Hierarchy.from_ladder(
                "age", [AGES, ["<20" if int(age) < 30 else "older" for age in AGES]]
            ),
            Coding(bottom=20),
        )


@pytest.mark.parametrize("metric", COSTS_OF_METRIC)
def test_coding_is_not_free(metric):
    tree = add_coded_nodes(ages(), Coding(bottom=24, top=81))
    cost = cost_to_root(tree, metric)
    for label, leaf in [("<24", 0), (">81", tree.n_leaves - 1)]:
        assert cost[leaf] > cost[tree.node_of_label[label]]


@given(st.data())
def test_a_search_sees_coded_values_as_leaves_and_comes_back_to_ancestors(data):
    bottom = data.draw(st.one_of(st.none(), st.integers(-5, 60)))
    top = data.draw(st.one_of(st.none(), st.integers((bottom or 0) + 1, 120)))
    if bottom is None and top is None:
        return
    limits = Coding(bottom, top)
    tree = add_coded_nodes(ages(), limits)
    leaves = data.draw(st.lists(st.integers(0, tree.n_leaves - 1), min_size=1, max_size=12))
    sex = Hierarchy.from_ladder("sex", [["f", "m"]])
    before = Rows(("age", "sex"), np.asarray([leaves, [0] * len(leaves)], np.int32), (tree, sex))
    view = CodedView.of(before, {"age": limits})
    seen = view.rows.hierarchies[0]
    assert np.all(view.rows.nodes[0] < seen.n_leaves)
    assert view.rows.hierarchies[1] is sex
    if seen.values is not None:
        order = np.argsort(seen.leaf_order)
        assert sorted(seen.values.tolist()) == seen.values[order].tolist()
    n_up = data.draw(st.lists(st.integers(0, 4), min_size=len(leaves), max_size=len(leaves)))
    climbed = view.rows.nodes.copy()
    for row, steps in enumerate(n_up):
        for _ in range(steps):
            climbed[0, row] = seen.parent[climbed[0, row]]
    after = view.restore(view.rows.with_nodes(climbed))
    assert after.hierarchies[0] is tree
    assert np.all(tree.is_ancestor(after.nodes[0], before.nodes[0]))
    for row, leaf in enumerate(leaves):
        shown = tree.labels[after.nodes[0, row]]
        assert shown == seen.labels[climbed[0, row]]
        age = float(AGES[leaf])
        if n_up[row] == 0:
            is_low = bottom is not None and age < bottom
            is_high = top is not None and age > top
            assert shown == (f"<{bottom}" if is_low else f">{top}" if is_high else AGES[leaf])


@pytest.mark.parametrize(
    ("limits", "labels"),
    [
        ({"bottom": 20.0}, ("<20", "")),
        ({"top": 0.1}, ("", ">0.1")),
        ({"bottom": -3, "top": 1234567.25}, ("<-3", ">1234567.25")),
    ],
)
def test_labels_are_exact(limits, labels):
    assert Coding(**limits).labels == labels


@pytest.mark.parametrize(
    "limits",
    [{}, {"bottom": 3, "top": 3}, {"bottom": 4, "top": 3}, {"top": float("nan")}, {"bottom": True}],
)
def test_wrong_limits_are_refused(limits):
    with pytest.raises(JobError, match="coding") as caught:
        Coding(**limits)
    assert caught.value.remedy

"""Prices of generalizing, against their definitions on small trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import HierarchyError, JobError
from incrowd.hierarchies.costs import COSTS_OF_METRIC, cost_to_root, fixed_point_costs
from incrowd.hierarchies.tree import Hierarchy
from oracles.generated import hierarchies
from oracles.metrics import Tree, price
from tiers import examples

#         *
#    p         q        five leaves, p has a b c, q has d e
EVEN = Hierarchy.from_ladder("even", [list("abcde"), list("pppqq")])
NUMBERS = Hierarchy.from_ladder(
    "numbers", [["1", "2", "4", "8", "9"], list("pppqq")], values=np.asarray([1.0, 2, 4, 8, 9])
)
# the leaf e hangs right under the root
UNEVEN = Hierarchy.from_parents(
    "uneven", {"a": "p", "b": "p", "p": "q", "c": "q", "q": "*", "e": "*"}
)


def cost(hierarchy, metric, below, above):
    """The price of generalizing one label to another."""
    node = dict(zip(hierarchy.labels, range(hierarchy.n_nodes), strict=True))
    table = cost_to_root(hierarchy, metric)
    return table[node[below]] - table[node[above]]


def price_between(hierarchy, metric, label, other):
    """What a label costs on the way to where it meets another (the paper's cost matrix)."""
    node = dict(zip(hierarchy.labels, range(hierarchy.n_nodes), strict=True))
    above = hierarchy.ancestors(node[other])
    meeting = next(step for step in hierarchy.ancestors(node[label]) if step in above)
    return cost(hierarchy, metric, label, hierarchy.labels[meeting])


def test_printed_education_matrix():
    """Fig. 3 and 4b of the greedy paper: 1st → Primary → HS → * with weights 6, 2, 2."""
    parent_of = {
        "1st": "Primary",
        "2nd": "Primary",
        "Primary": "HS",
        "7th": "HS",
        "HS": "*",
        "Masters": "Higher",
        "Doctorate": "Higher",
        "Higher": "*",
    }
    weight_of = {"1st": 6.0, "2nd": 6.0, "Primary": 2.0, "7th": 6.0, "HS": 2.0}
    weight_of |= {"Masters": 6.0, "Doctorate": 6.0, "Higher": 4.0}
    education = Hierarchy.from_parents("education", parent_of, weight_of=weight_of)

    def printed(label, other):
        return price_between(education, "weights", label, other)

    assert [printed("1st", x) for x in ("1st", "7th", "Masters", "Doctorate")] == [0, 8, 10, 10]
    assert [printed("1st", x) for x in ("Primary", "HS", "*")] == [6, 8, 10]
    assert [printed("2nd", x) for x in ("1st", "7th", "Masters", "Primary")] == [6, 8, 10, 6]
    assert [printed("Primary", x) for x in ("1st", "7th", "Masters", "HS", "*")] == [0, 2, 4, 2, 4]
    assert [printed("HS", x) for x in ("1st", "7th", "Masters", "Primary", "*")] == [0, 0, 2, 0, 2]
    assert [printed("*", x) for x in ("1st", "7th", "Masters", "HS")] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("metric", "leaf_to_group", "leaf_to_root"),
    [
        ("distortion", (1 / 2) / (1 + 1 / 2), 1.0),  # weights 1 near the root, ½ below
        ("ncp", 3 / 5, 1.0),
        ("total", 1 / 2, 1.0),
        ("loss", 2 / 4, 1.0),
        ("llm", 3.0, 3.0 + 5.0),
        ("nllm", 3 / 8, 1.0),
        ("wllm", 3.0, 8.0),
        ("nwllm", 3 / 8, 1.0),
        ("weights", 1.0, 2.0),
    ],
)
def test_definitions_on_an_even_tree(metric, leaf_to_group, leaf_to_root):
    assert cost(EVEN, metric, "a", "p") == pytest.approx(leaf_to_group)
    assert cost(EVEN, metric, "a", "*") == pytest.approx(leaf_to_root)
    assert cost(EVEN, metric, "p", "*") == pytest.approx(leaf_to_root - leaf_to_group)


def test_every_metric_is_tried_above():
    marks = test_definitions_on_an_even_tree.pytestmark
    assert {case[0] for case in marks[0].args[1]} == set(COSTS_OF_METRIC)


def test_llm_counts_the_leaves_of_the_branch():
    assert cost(EVEN, "llm", "d", "q") == 2.0
    assert cost(EVEN, "nllm", "d", "*") == pytest.approx(7 / 8)


def test_numbers_are_priced_by_their_range():
    for metric in ("ncp", "total"):
        assert cost(NUMBERS, metric, "1", "p") == pytest.approx(3 / 8)
        assert cost(NUMBERS, metric, "8", "q") == pytest.approx(1 / 8)
        assert cost(NUMBERS, metric, "8", "*") == pytest.approx(1.0)
    assert cost(NUMBERS, "loss", "1", "p") == pytest.approx(1 / 2)


def test_uneven_tree():
    assert cost(UNEVEN, "distortion", "a", "*") == pytest.approx(1.0)
    assert cost(UNEVEN, "distortion", "e", "*") == pytest.approx(1 / (1 + 1 / 2 + 1 / 3))
    assert cost(UNEVEN, "total", "a", "q") == pytest.approx(2 / 3)
    assert cost(UNEVEN, "total", "e", "*") == pytest.approx(1.0)
    assert cost(UNEVEN, "llm", "a", "*") == 2 + 3 + 4
    assert cost(UNEVEN, "llm", "e", "*") == 4
    assert cost(UNEVEN, "nllm", "e", "*") == pytest.approx(4 / 9)
    assert cost(UNEVEN, "loss", "p", "q") == pytest.approx(1 / 3)


def test_weights_of_edges_multiply_leaves():
    weighted = Hierarchy.from_parents(
        "w",
        {"a": "p", "b": "p", "p": "*", "c": "*"},
        weight_of={"a": 2.0, "b": 1.0, "p": 0.5, "c": 1.0},
    )
    assert cost(weighted, "wllm", "a", "p") == 2 * 2.0
    assert cost(weighted, "wllm", "p", "*") == 3 * 0.5
    assert cost(weighted, "nwllm", "a", "*") == pytest.approx(1.0)
    assert cost(weighted, "nwllm", "b", "*") == pytest.approx(3.5 / 5.5)
    assert cost(weighted, "weights", "a", "*") == 2.5


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_a_weight_below_nothing_is_refused(weight):
    hierarchy = Hierarchy.from_parents("w", {"a": "*", "b": "*"}, weight_of={"a": weight, "b": 1.0})
    with pytest.raises(HierarchyError, match="'w'"):
        cost_to_root(hierarchy, "weights")


def test_an_unknown_metric_names_the_near_ones():
    with pytest.raises(JobError, match="nlm") as caught:
        cost_to_root(EVEN, "nlm")
    assert "nllm" in caught.value.remedy


@examples(60)
@given(hierarchies(), st.sampled_from(["", ":0", ":0.5", ":1", ":2", ":7.25"]))
def test_distortion_by_its_definition_for_any_beta(hierarchy, beta):
    tree = Tree(hierarchy.parent.tolist(), hierarchy.n_leaves)
    table = cost_to_root(hierarchy, f"distortion{beta}")
    for leaf in range(tree.n_leaves):
        for node in tree.path(leaf):
            expected = price(tree, f"distortion{beta}", leaf, node) if tree.root else 0.0
            assert table[leaf] - table[node] == pytest.approx(expected, abs=1e-12)
    assert np.all(table >= table[hierarchy.parent])


def test_beta_by_hand():
    # weights 1, ½^β and ⅓^β from the root down
    assert cost(UNEVEN, "distortion:2", "e", "*") == pytest.approx(1 / (1 + 1 / 4 + 1 / 9))
    assert cost(UNEVEN, "distortion:0", "e", "*") == pytest.approx(1 / 3)
    plain = cost_to_root(UNEVEN, "distortion")
    assert cost_to_root(UNEVEN, "distortion:1").tolist() == plain.tolist()


@pytest.mark.parametrize(
    "metric", ["distortion:", "distortion:-1", "distortion:x", "distortion:inf", "ncp:2", "loss:"]
)
def test_a_beta_that_is_refused(metric):
    with pytest.raises(JobError, match=metric) as caught:
        cost_to_root(EVEN, metric)
    assert "distortion:2" in caught.value.remedy


@examples(100)
@given(hierarchies(), st.sampled_from(list(COSTS_OF_METRIC)))
def test_prices_never_rise_on_the_way_up(hierarchy, metric):
    table = cost_to_root(hierarchy, metric)
    assert np.all(np.isfinite(table))
    assert np.all(table >= table[hierarchy.parent] - 1e-12)
    assert table[hierarchy.root] == 0
    if metric in {"distortion", "ncp", "total", "loss", "nllm", "nwllm"}:
        assert table.max() <= 1 + 1e-12


@examples(100)
@given(st.lists(hierarchies(), min_size=1, max_size=4), st.sampled_from(list(COSTS_OF_METRIC)))
def test_whole_numbers_keep_prices_and_their_order(drawn, metric):
    tables = [cost_to_root(hierarchy, metric) for hierarchy in drawn]
    whole = fixed_point_costs(drawn, metric)
    dearest = max(float(table.max()) for table in tables)
    assert max(int(table.max()) for table in whole) <= 2**20
    for hierarchy, table, numbers in zip(drawn, tables, whole, strict=True):
        assert numbers.dtype == np.int32
        assert np.all(numbers >= numbers[hierarchy.parent])
        assert np.all(numbers >= 0)
        if dearest > 0:
            assert np.allclose(numbers * dearest, table * _largest(whole), atol=dearest * 2)


def _largest(tables):
    return max(int(table.max()) for table in tables)


def test_a_leaf_to_root_of_one_is_two_to_the_twentieth():
    assert fixed_point_costs([EVEN], "loss")[0][0] == 2**20
    assert fixed_point_costs([EVEN] * 3000, "loss")[0][0] * 3000 < 2**31
    assert fixed_point_costs([], "loss") == []


def test_a_single_value_costs_nothing_or_one_step():
    alone = Hierarchy("alone", ("a", "*"), np.asarray([1, 1], dtype=np.int32), 1)
    bare = Hierarchy("bare", ("*",), np.asarray([0], dtype=np.int32), 1)
    for metric in COSTS_OF_METRIC:
        assert np.all(np.isfinite(cost_to_root(alone, metric)))
        assert cost_to_root(bare, metric).tolist() == [0.0]

"""Partners found through the box tree against a scan of all groups: the same merges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.rows import Rows
from incrowd.errors import InfeasibleError
from incrowd.hierarchies.tree import Hierarchy
from incrowd.methods.greedy import kernel
from incrowd.methods.greedy.boxes import room_for_boxes
from incrowd.methods.greedy.groups import (
    RUNNING,
    room_for,
    slot_of_distinct,
    start_groups,
    start_slots,
)
from incrowd.methods.greedy.search import Plan, merge_rows
from incrowd.methods.shared.conditions import Conditions, SensitiveCondition
from incrowd.methods.shared.options import METRICS
from oracles.generated import asked, tables
from tiers import examples


def released(rows, metric, conditions, *, with_index):
    limits = conditions.packed(rows.n_rows)
    plan = Plan.of(rows, metric, limits, conditions.is_size_only)
    return merge_rows(rows.nodes, plan, limits, with_index=with_index)


def assert_same(rows, metric, conditions):
    try:
        scanned = released(rows, metric, conditions, with_index=False)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            released(rows, metric, conditions, with_index=True)
        return
    assert np.array_equal(released(rows, metric, conditions, with_index=True), scanned)


@examples(100)
@given(st.data())
def test_same_merges_on_small_tables(data):
    rows = data.draw(tables(most_rows=60, most_columns=4))
    metric = data.draw(st.sampled_from(METRICS))
    assert_same(rows, metric, data.draw(asked(rows.n_rows)).conditions)


def random_tree(random, n_leaves, with_weights):
    """A tree of uneven depth: neighbours are joined at random until one node is left."""
    parent = {}
    tops, n_nodes = list(range(n_leaves)), n_leaves
    while len(tops) > 1:
        n_joined = int(random.integers(2, 8))
        first = int(random.integers(0, max(1, len(tops) - n_joined + 1)))
        joined = tops[first : first + n_joined]
        for node in joined:
            parent[node] = n_nodes
        tops[first : first + n_joined] = [n_nodes]
        n_nodes += 1
    weight_of = None
    if with_weights:
        weight_of = {f"n{node}": float(random.integers(0, 4)) for node in range(n_nodes)}
    return Hierarchy.from_parents(
        "column", {f"n{node}": f"n{parent[node]}" for node in parent}, weight_of=weight_of
    )


def random_rows(seed, n_rows=1500, leaves=(40, 2, 90, 6), with_weights=False):
    random = np.random.default_rng(seed)
    trees = tuple(random_tree(random, count, with_weights) for count in leaves)
    # skewed, so that some rows are frequent and most are alone
    nodes = np.stack([(random.beta(0.7, 2.0, n_rows) * t.n_leaves).astype(np.int32) for t in trees])
    return Rows(tuple(f"column {place}" for place in range(len(trees))), nodes, trees)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("k", [2, 9, 120])
def test_same_merges_by_size(metric, k):
    with_weights = metric in {"wllm", "nwllm", "weights"}
    assert_same(random_rows(k, with_weights=with_weights), metric, Conditions(k))


def conditions_of(kind, n_rows, k=3):
    random = np.random.default_rng(1)
    codes = random.integers(-1, 5, n_rows).astype(np.int32)
    wishes = random.geometric(0.4, n_rows).astype(np.int32)
    people = random.integers(0, n_rows // 2, n_rows).astype(np.int32)
    sensitive = {
        "l": (SensitiveCondition(codes, 5, l=3.0),),
        "entropy l": (SensitiveCondition(codes, 5, l=2.5, l_kind="entropy"),),
        "t": (SensitiveCondition(codes, 5, t=0.25),),
        "all": (SensitiveCondition(codes, 5, l=2.0, t=0.4),),
    }
    return Conditions(
        k,
        wishes if kind in {"k per person", "all"} else None,
        people if kind in {"people", "all"} else None,
        sensitive.get(kind, ()),
    )


@pytest.mark.parametrize("metric", ["nllm", "ncp", "weights"])
@pytest.mark.parametrize("kind", ["l", "entropy l", "t", "k per person", "people", "all"])
def test_same_merges_under_other_conditions(kind, metric):
    rows = random_rows(5, with_weights=metric == "weights")
    assert_same(rows, metric, conditions_of(kind, rows.n_rows))


def test_one_wide_column():
    # more children under the root than groups in a box, most of them with one group
    random = np.random.default_rng(2)
    trees = (
        Hierarchy.from_ladder("wide", [[f"v{value}" for value in range(700)]]),
        Hierarchy.from_ladder("other", [list("abcdef"), list("aaabbb")]),
    )
    nodes = np.stack([random.integers(0, tree.n_leaves, 900) for tree in trees]).astype(np.int32)
    for metric in ("nllm", "loss"):
        assert_same(Rows(("wide", "other"), nodes, trees), metric, Conditions(4))


def test_no_room_for_boxes_changes_nothing():
    # a box that cannot be split is searched whole
    rows = random_rows(7)
    limits = Conditions(5).packed(rows.n_rows)
    plan = Plan.of(rows, "nllm", limits, True)
    expected = merge_rows(rows.nodes, plan, limits)
    assert np.array_equal(merged_with_few_boxes(rows, plan, limits, 3), expected)


def merged_with_few_boxes(rows, plan, limits, n_boxes):
    from incrowd.kernels.trees import Trees
    from incrowd.methods.shared.fragments import sort_into_runs

    forest = plan.forest
    ranks = forest.in_ranks(rows.nodes)
    order, run_start = sort_into_runs(plan.key_of_row(ranks))
    trees = Trees(forest.start, forest.parent, forest.end, plan.cost_to_root)
    offset = trees.start[:-1, None].astype(np.int32)
    sizes = np.diff(run_start)
    slots = start_slots(ranks[:, order[run_start[:-1]]] + offset, sizes)
    boxes = room_for_boxes(slots, trees)
    cut = {
        name: getattr(boxes, name)[:n_boxes].copy()
        for name in boxes._fields
        if name.endswith("_box")
    }
    boxes = boxes._replace(**cut)
    groups = start_groups(order, run_start)
    room = room_for(limits, True, rows.n_rows)
    while kernel.merge_slice(100, groups, slots, boxes, None, trees, limits, room) == RUNNING:
        pass
    ended_as = slots.node_of_slot[slot_of_distinct(groups)].T - offset
    found = np.empty_like(rows.nodes)
    found[:, order] = np.repeat(forest.in_nodes(ended_as.astype(np.int32)), sizes, axis=1)
    return found

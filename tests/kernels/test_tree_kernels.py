"""The loops that climb trees, against walking every path."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.rows import Rows
from incrowd.hierarchies.costs import fixed_point_costs
from incrowd.kernels.trees import Trees, common_ancestor, move_meetings
from incrowd.methods.shared.forest import Forest
from oracles.generated import as_trees, hierarchies
from tiers import examples


@given(st.lists(hierarchies(), min_size=1, max_size=3))
def test_meetings_are_lowest_common_ancestors(drawn):
    forest = Forest.of(drawn)
    nodes = np.zeros((len(drawn), 1), dtype=np.int32)
    oracle = as_trees(Rows(("column",) * len(drawn), nodes, tuple(drawn)), "nllm")
    for column, (walk, tree) in enumerate(zip(forest.walks, oracle, strict=True)):
        offset = int(forest.start[column])
        for node in range(len(walk.parent)):
            place = offset + int(walk.rank_of_node[node])
            for other in range(len(walk.parent)):
                other_place = offset + int(walk.rank_of_node[other])
                meeting = tree.meet([node, other])
                met = common_ancestor.py_func(forest.parent, place, other_place)
                assert int(walk.node_at[met - offset]) == meeting


@examples(100)
@given(st.data())
def test_moved_meetings_are_those_at_common_ancestors(data):
    hierarchy = data.draw(hierarchies(12))
    forest = Forest.of([hierarchy])
    walk = forest.walks[0]
    cost = fixed_point_costs([hierarchy], data.draw(st.sampled_from(["llm", "ncp"])))[0]
    trees = Trees(forest.start, forest.parent, forest.end, cost[walk.node_at])
    n_nodes = hierarchy.n_nodes
    moved, best = (np.full(n_nodes, -7, dtype=np.int32) for _ in range(2))
    last = -1
    for node in data.draw(st.lists(st.integers(0, n_nodes - 1), min_size=1, max_size=8)):
        move_meetings.py_func(last, node, trees, moved, best)
        met = [common_ancestor.py_func(forest.parent, node, other) for other in range(n_nodes)]
        fresh = trees.cost_to_root[met]
        assert np.array_equal(moved, fresh)
        for other in range(n_nodes):  # the nodes under it are a run
            assert best[other] == fresh[other : int(walk.end[other])].max()
        last = node


@given(hierarchies())
def test_walk_puts_a_node_before_what_lies_under_it(hierarchy):
    walk = Forest.of([hierarchy]).walks[0]
    for node in range(hierarchy.n_nodes):
        under = [other for other in range(hierarchy.n_nodes) if node in hierarchy.ancestors(other)]
        ranks = sorted(int(walk.rank_of_node[other]) for other in under)
        first = int(walk.rank_of_node[node])
        assert ranks == list(range(first, int(walk.end[first])))
    leaves = [node for node in walk.node_at.tolist() if node < hierarchy.n_leaves]
    assert [int(hierarchy.leaf_order[leaf]) for leaf in leaves] == list(range(len(leaves)))

"""Tiny tables, every way to group them tried: no method undercuts the best, cluster comes near."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.rows import Rows
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import InfeasibleError
from incrowd.hierarchies.costs import fixed_point_costs
from incrowd.methods.cluster.method import Cluster
from incrowd.methods.full_domain.method import FullDomain
from incrowd.methods.greedy.method import Greedy
from incrowd.methods.mondrian.method import Mondrian
from incrowd.methods.shared.conditions import Conditions
from incrowd.methods.shared.options import METRICS
from incrowd.progress import silent
from oracles.generated import as_trees, as_tuples, asked, grid, tables
from oracles.methods import box
from oracles.ranges import partitions
from oracles.validity import Rules, is_valid


def optimum(rows, metric, rules):
    """The least that any valid grouping pays, by trying all of them; None if there is none."""
    trees = as_trees(rows, metric)
    lines = as_tuples(rows.nodes)
    known = {}

    def paid(members):
        key = tuple(members)
        if key not in known:
            shown = box(trees, lines, members)
            known[key] = None
            if is_valid(members, rules, 1e-12):
                known[key] = sum(
                    tree.cost_to_root[lines[row][column]] - tree.cost_to_root[shown[column]]
                    for row in members
                    for column, tree in enumerate(trees)
                )
        return known[key]

    found = [
        [paid(group) for group in groups]
        for groups in partitions(list(range(rows.n_rows)), rules.k)
    ]
    return min((sum(costs) for costs in found if None not in costs), default=None)


def cost(rows, after, metric):
    costs = fixed_point_costs(rows.hierarchies, metric)
    return sum(
        int(price[old].sum()) - int(price[new].sum())
        for price, old, new in zip(costs, rows.nodes, after.nodes, strict=True)
    )


@given(st.data())
def test_no_method_undercuts_the_best_grouping(data):
    rows = data.draw(tables(most_rows=7))
    case = data.draw(asked(rows.n_rows, most_k=3))
    metric = data.draw(st.sampled_from(METRICS))
    best = optimum(rows, metric, case.rules)
    for method in (
        Cluster(metric=metric, effort=200),
        Greedy(metric=metric),
        Mondrian(metric=metric, polish=50),
        FullDomain(metric=metric),
    ):
        if best is None:
            with pytest.raises(InfeasibleError):
                method.run(rows, case.conditions, LocalEngine(1), 0, silent)
        else:
            after = method.run(rows, case.conditions, LocalEngine(1), 0, silent)
            assert cost(rows, after, metric) >= best


def test_cluster_comes_near_to_the_best_grouping():
    ratios = []
    for seed in range(40):
        whole = grid(8, seed, n_codes=4)
        rows = Rows(whole.names, whole.nodes, whole.hierarchies)
        best = optimum(rows, "loss", Rules(2, None, None, ()))
        after = Cluster(effort=300).run(rows, Conditions(2), LocalEngine(1), 0, silent)
        ratios.append(cost(rows, after, "loss") / best)
    assert min(ratios) >= 1.0
    assert np.mean(ratios) < 1.02
    assert np.mean(np.asarray(ratios) == 1.0) > 0.8

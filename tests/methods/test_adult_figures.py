"""Loss on Adult: near what the greedy paper reports, and not above what was measured before."""

import csv
import gzip
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from incrowd.encoding.rows import Rows
from incrowd.engines.local.engine import LocalEngine
from incrowd.hierarchies.costs import cost_to_root
from incrowd.hierarchies.tree import Hierarchy
from incrowd.methods.cluster.method import Cluster
from incrowd.methods.full_domain.method import FullDomain
from incrowd.methods.greedy.method import Greedy
from incrowd.methods.greedy.search import Plan, merge_rows
from incrowd.methods.mondrian.method import Mondrian
from incrowd.methods.shared.conditions import Conditions
from incrowd.progress import silent

FOLDER = Path(os.environ.get("INCROWD_DATA", "unset")) / "adult"
COLUMNS = (
    "age",
    "sex",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
)

pytestmark = pytest.mark.skipif(
    not (FOLDER / "adult_30162_qi9.csv.gz").exists(), reason="INCROWD_DATA has no adult data"
)


def hierarchy(column: str) -> Hierarchy:
    with (FOLDER / "hierarchies_arx" / f"{column}.csv").open(encoding="utf-8") as file:
        lines = [line for line in csv.reader(file, delimiter=";") if line]
    if column == "age":  # the paper's 74 values
        lines = [line for line in lines if 17 <= int(line[0]) <= 90]
    return Hierarchy.from_ladder(column, list(zip(*lines, strict=True)))


@pytest.fixture(scope="module")
def adult() -> Rows:
    with gzip.open(FOLDER / "adult_30162_qi9.csv.gz", "rt", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    trees = tuple(hierarchy(column) for column in COLUMNS)
    nodes = [
        [tree.leaf_of_value[row[column]] for row in table]
        for column, tree in zip(COLUMNS, trees, strict=True)
    ]
    return Rows(COLUMNS, np.asarray(nodes, dtype=np.int32), trees)


def loss(before: Rows, after: Rows, metric: str) -> float:
    """A(T) of the paper's equation 1, in percent."""
    paid = most = 0.0
    for tree, old, new in zip(before.hierarchies, before.nodes, after.nodes, strict=True):
        cost = cost_to_root(tree, metric)
        paid += float((cost[old] - cost[new]).sum())
        most += float(cost[old].sum())
    return 100 * paid / most


def smallest_group(after: Rows) -> int:
    return min(Counter(zip(*after.nodes.tolist(), strict=True)).values())


def test_adult_is_the_papers(adult):
    assert adult.n_rows == 30162
    assert len(set(zip(*adult.nodes.tolist(), strict=True))) == 19502


# k: the paper's loss, and what this order of ties gives
GREEDY = {
    2: (2.28, 2.36),
    3: (4.14, 4.22),
    5: (6.50, 6.67),
    10: (10.11, 10.47),
    100: (26.98, 29.18),
}


@pytest.mark.parametrize("k", GREEDY)
def test_greedy_on_adult(adult, k):
    after = Greedy().run(adult, Conditions(k), LocalEngine(1), 0, silent)
    assert smallest_group(after) >= k
    paper, measured = GREEDY[k]
    found = loss(adult, after, "nllm")
    assert found == pytest.approx(measured, abs=0.005)
    assert found <= 1.1 * paper


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 10, 100])
def test_greedy_on_adult_is_that_of_a_full_scan(adult, k):
    conditions = Conditions(k)
    limits = conditions.packed(adult.n_rows)
    plan = Plan.of(adult, "nllm", limits, conditions.is_size_only)
    scanned = merge_rows(adult.nodes, plan, limits, with_index=False)
    assert np.array_equal(merge_rows(adult.nodes, plan, limits), scanned)


@pytest.mark.parametrize(("k", "paper"), [(2, 2.56), (10, 12.55), (100, 35.43)])
def test_partitions_on_adult_lose_no_more_than_the_papers(adult, k, paper):
    after = Greedy(partitions=32, repair="no").run(adult, Conditions(k), LocalEngine(2), 0, silent)
    assert smallest_group(after) >= k
    assert loss(adult, after, "nllm") <= paper


@pytest.mark.parametrize("k", [2, 100])
def test_reorganizing_pays(adult, k):
    losses = {}
    for reorganize in ("levels-first", "values-first", "none"):
        method = Greedy(partitions=8, repair="no", reorganize=reorganize)
        after = method.run(adult, Conditions(k), LocalEngine(2), 0, silent)
        losses[reorganize] = loss(adult, after, "nllm")
    # which of the two sorts is better depends on k; either beats none by far
    assert max(losses["levels-first"], losses["values-first"]) < 0.6 * losses["none"]


@pytest.mark.parametrize(("k", "most"), [(2, 2.95), (10, 13.1), (100, 43.5)])
def test_mondrian_on_adult(adult, k, most):
    after = Mondrian().run(adult, Conditions(k), LocalEngine(1), 0, silent)
    assert smallest_group(after) >= k
    assert loss(adult, after, "loss") <= most


@pytest.mark.slow
# generous bounds: a fifth of the automatic effort, and well below what greedy loses
@pytest.mark.parametrize(("k", "effort", "share"), [(2, 120_000, 0.95), (10, 40_000, 0.8)])
def test_cluster_on_adult_loses_less_than_greedy(adult, k, effort, share):
    after = Cluster(effort=effort).run(adult, Conditions(k), LocalEngine(1), 0, silent)
    assert smallest_group(after) >= k
    greedy = Greedy(metric="loss").run(adult, Conditions(k), LocalEngine(1), 0, silent)
    assert loss(adult, after, "loss") < share * loss(adult, greedy, "loss")


# the optimum over all 12,960 choices of levels: exact, so it may not move
@pytest.mark.parametrize(
    ("k", "n_suppressible", "measured"), [(5, 0, 63.55), (5, 1508, 27.53), (100, 603, 56.34)]
)
def test_full_domain_on_adult(adult, k, n_suppressible, measured):
    conditions = Conditions(k, n_suppressible=n_suppressible)
    after = FullDomain().run(adult, conditions, LocalEngine(1), 0, silent)
    assert after.is_suppressed.sum() <= n_suppressible
    kept = after.nodes[:, ~after.is_suppressed]
    assert min(Counter(zip(*kept.tolist(), strict=True)).values()) >= k
    assert loss(adult, after, "loss") == pytest.approx(measured, abs=0.005)

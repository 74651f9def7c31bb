"""Losses against their definitions, and what must hold of every one of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.rows import Rows
from incrowd.errors import DataError
from incrowd.hierarchies.costs import cost_to_root
from incrowd.hierarchies.tree import Hierarchy
from incrowd.measures.losses.tables import HIGHER, METRICS, group_sizes, measure_losses
from oracles import metrics as oracle
from oracles.metrics import Tree
from tiers import examples

PRICED = ("loss", "ncp", "distortion", "total", "llm", "wllm", "weights")
BY_GROUPS = ("discernibility", "average_class_size")
CELLWISE = [name for name in METRICS if name not in (*BY_GROUPS, "suppressed_rows")]


@dataclass
class Case:
    """The same tables for the code and for the oracle."""

    trees: list[Tree]
    before: list[list[int]]
    after: list[list[int] | None]

    def rows(self, table: list[list[int] | None]) -> Rows:
        hierarchies = tuple(_hierarchy(tree, column) for column, tree in enumerate(self.trees))
        shown = [
            row if row is not None else first for row, first in zip(table, self.before, strict=True)
        ]
        nodes = np.array(shown, dtype=np.int32).T.reshape(len(self.trees), len(table))
        is_suppressed = np.array([row is None for row in table])
        names = tuple(f"c{column}" for column in range(len(self.trees)))
        return Rows(names, np.ascontiguousarray(nodes), hierarchies, is_suppressed)

    def measure(self, k: int = 2) -> dict[str, float]:
        return measure_losses(self.rows(list(self.before)), self.rows(self.after), k)


def _hierarchy(tree: Tree, column: int) -> Hierarchy:
    return Hierarchy(
        f"c{column}",
        (*(f"n{node}" for node in range(len(tree.parent) - 1)), "*"),
        np.array(tree.parent, dtype=np.int32),
        tree.n_leaves,
        None if tree.values is None else np.array(tree.values),
        None if tree.weights is None else np.array(tree.weights),
    )


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Trees of one to six leaves, balanced or not, some with numbers, some with weights."""
    n_leaves = draw(st.integers(1, 6))
    parent = [-1] * n_leaves
    tops = list(range(n_leaves))
    for _ in range(draw(st.integers(0, 2))):
        if len(tops) < 2:
            break
        first = draw(st.integers(0, len(tops) - 2))
        last = draw(st.integers(first + 1, len(tops) - 1))
        for child in tops[first : last + 1]:
            parent[child] = len(parent)
        tops[first : last + 1] = [len(parent)]
        parent.append(-1)
    root = len(parent)
    parent = [root if above < 0 else above for above in parent] + [root]
    values = None
    if draw(st.booleans()):
        steps = draw(st.lists(st.integers(1, 9), min_size=n_leaves, max_size=n_leaves))
        values = [float(sum(steps[: leaf + 1])) for leaf in range(n_leaves)]
        if draw(st.booleans()):
            values[-1] = float("nan")  # a missing value among numbers
    weights = None
    if draw(st.booleans()):
        drawn = st.lists(st.integers(0, 5), min_size=len(parent), max_size=len(parent))
        weights = [float(weight) for weight in draw(drawn)]
    return Tree(parent, n_leaves, values, weights)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Up to ten rows of up to three columns, each cell generalized by any number of steps."""
    columns = draw(st.lists(trees(), min_size=1, max_size=3))
    n_rows = draw(st.integers(1, 10))
    before = [[draw(st.integers(0, tree.n_leaves - 1)) for tree in columns] for _ in range(n_rows)]
    after: list[list[int] | None] = []
    for row in before:
        if draw(st.integers(0, 5)) == 0:
            after.append(None)
            continue
        after.append(
            [
                draw(st.sampled_from(tree.path(leaf)))
                for tree, leaf in zip(columns, row, strict=True)
            ]
        )
    return Case(columns, before, after)


@examples(150)
@given(cases(), st.integers(1, 4))
def test_every_loss_is_its_definition(case: Case, k: int) -> None:
    found = case.measure(k)
    for metric in PRICED:
        assert found[metric] == pytest.approx(
            oracle.share(case.trees, case.before, case.after, metric), abs=1e-12
        ), metric
    assert found["gcp"] == pytest.approx(oracle.gcp(case.trees, case.after), abs=1e-12)
    assert found["granularity"] == pytest.approx(1 - found["loss"], abs=1e-12)
    assert found["precision"] == pytest.approx(oracle.precision(case.trees, case.after), abs=1e-12)
    assert found["non_uniform_entropy"] == pytest.approx(
        oracle.non_uniform_entropy(case.trees, case.before, case.after), abs=1e-9
    )
    assert found["suppressed_cells"] == oracle.suppressed_cells(case.trees, case.after)
    assert found["suppressed_rows"] == case.after.count(None) / len(case.after)
    assert found["discernibility"] == oracle.discernibility(case.after)
    assert found["average_class_size"] == pytest.approx(oracle.average_class_size(case.after, k))


@given(cases(), st.sampled_from(["nllm", "nwllm"]))
def test_normalized_shares_follow_their_price_table(case: Case, metric: str) -> None:
    rows = case.rows(case.after)
    lost = most = 0.0
    for original, shown in zip(case.before, case.after, strict=True):
        for column, hierarchy in enumerate(rows.hierarchies):
            price = cost_to_root(hierarchy, metric).tolist()
            node = hierarchy.root if shown is None else shown[column]
            lost += price[original[column]] - price[node]
            most += price[original[column]]
    assert case.measure()[metric] == pytest.approx(lost / most if most else 0.0, abs=1e-12)


@given(cases())
def test_gcp_equals_ncp(case: Case) -> None:
    found = case.measure()
    assert found["gcp"] == pytest.approx(found["ncp"], abs=1e-12)


@given(cases())
def test_unchanged_data_have_the_best_value(case: Case) -> None:
    unchanged = Case(case.trees, case.before, list(case.before)).measure(k=1)
    for name, metric in METRICS.items():
        if name not in BY_GROUPS:
            assert unchanged[name] == (1.0 if metric.direction == HIGHER else 0.0), name
    # the figures of groups only have bounds: apart, equal rows are better discerned
    for figures in (unchanged, case.measure(k=1)):
        assert len(case.before) <= figures["discernibility"] <= len(case.before) ** 2
        assert 1 <= figures["average_class_size"] <= len(case.before)


@given(cases())
def test_all_at_the_root_has_the_worst_value(case: Case) -> None:
    n_rows = len(case.before)
    starred = Case(case.trees, case.before, [[tree.root for tree in case.trees]] * n_rows)
    removed = Case(case.trees, case.before, [None] * n_rows)
    found = starred.measure(k=1)
    for name, metric in METRICS.items():
        if name in ("suppressed_rows", *BY_GROUPS):
            continue
        # a price of nothing, or values that are all equal, cannot be lost
        worst = (
            {0.0, 1.0}
            if _nothing_to_lose(case, name)
            else {0.0 if metric.direction == HIGHER else 1.0}
        )
        assert found[name] in worst, name
        assert removed.measure(k=1)[name] == found[name], name
    assert found["discernibility"] == n_rows**2 == removed.measure()["discernibility"]
    assert found["average_class_size"] == n_rows == removed.measure(k=1)["average_class_size"]
    assert removed.measure()["suppressed_rows"] == 1.0


def _nothing_to_lose(case: Case, name: str) -> bool:
    if name in ("loss", "granularity"):
        return all(tree.n_leaves == 1 for tree in case.trees)
    if name in ("wllm", "nwllm", "weights"):
        return any(tree.weights is not None for tree in case.trees)
    if name == "non_uniform_entropy":
        return len({tuple(row) for row in case.before}) == 1
    return False


@examples(100)
@given(cases(), st.data())
def test_one_more_cell_never_improves_a_loss_of_cells(case: Case, data: st.DataObject) -> None:
    row = data.draw(st.integers(0, len(case.before) - 1))
    column = data.draw(st.integers(0, len(case.trees) - 1))
    shown = case.after[row]
    if shown is None:
        return
    coarser = list(shown)
    coarser[column] = case.trees[column].parent[coarser[column]]
    further = Case(case.trees, case.before, [*case.after[:row], coarser, *case.after[row + 1 :]])
    less, more = case.measure(), further.measure()
    for name in CELLWISE:
        sign = -1 if METRICS[name].direction == HIGHER else 1
        assert sign * (more[name] - less[name]) >= -1e-12, name


@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_bit(case: Case, random: object) -> None:
    order = list(range(len(case.before)))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = Case(
        case.trees, [case.before[row] for row in order], [case.after[row] for row in order]
    )
    assert shuffled.measure() == case.measure()


def test_a_metric_alone_is_the_one_in_the_list() -> None:
    case = Case([Tree([3, 3, 4, 4, 4], 3)], [[0], [1], [2]], [[3], [3], [2]])
    before, after = case.rows(list(case.before)), case.rows(case.after)
    for name, value in measure_losses(before, after, 2).items():
        assert METRICS[name](before, after, 2) == value


def test_figures_by_hand() -> None:
    # a column of four values in two pairs, and one of two values; four rows in two groups
    pairs = Tree([4, 4, 5, 5, 6, 6, 6], 4)
    flat = Tree([2, 2, 2], 2)
    before = [[0, 0], [1, 0], [2, 0], [3, 1]]
    after = [[4, 0], [4, 0], [5, 2], [5, 2]]
    found = Case([pairs, flat], before, after).measure(k=2)
    assert found["loss"] == pytest.approx((4 * 1 / 3 + 2 * 1) / 8)
    assert found["ncp"] == pytest.approx((4 * 2 / 4 + 2 * 1) / 8)
    assert found["total"] == pytest.approx((4 * 1 / 2 + 2 * 1) / 8)
    assert found["distortion"] == pytest.approx((4 * (1 / 2) / (3 / 2) + 2 * 1) / 8)
    assert found["llm"] == pytest.approx((4 * 2 + 2 * 2) / (4 * 6 + 4 * 2))
    assert found["nllm"] == pytest.approx((4 * 2 / 6 + 2 * 1) / 8)
    assert found["precision"] == pytest.approx(1 - (4 * 1 / 2 + 2) / 8)
    assert found["discernibility"] == 8
    assert found["average_class_size"] == 1.0
    assert found["suppressed_cells"] == 2 / 8
    bits = 4 * 1 + np.log2(4 / 3) + np.log2(4)
    assert found["non_uniform_entropy"] == pytest.approx(
        bits / (4 * 2 + 3 * np.log2(4 / 3) + np.log2(4))
    )


def test_granularity_per_column_is_that_of_arx() -> None:
    """ARX: 1 − (mean share − 1/N) / (1 − 1/N), with share = L/N; its overall figure, printed with
    getArithmeticMean(false), takes the means of share and 1/N over columns first."""
    pairs, flat = Tree([4, 4, 5, 5, 6, 6, 6], 4), Tree([2, 2, 2], 2)
    shown = [[4, 0], [6, 2], [5, 1]]
    before = [[0, 0], [1, 1], [2, 1]]
    share = {0: [2 / 4, 4 / 4, 2 / 4], 1: [1 / 2, 2 / 2, 1 / 2]}
    by_column = [1 - (sum(share[c]) / 3 - 1 / n) / (1 - 1 / n) for c, n in ((0, 4), (1, 2))]
    for column, tree in enumerate((pairs, flat)):
        alone = Case([tree], [[row[column]] for row in before], [[row[column]] for row in shown])
        assert alone.measure()["granularity"] == pytest.approx(by_column[column])
    both = Case([pairs, flat], before, list(shown)).measure()["granularity"]
    assert both == pytest.approx(sum(by_column) / 2)
    overall = 1 - (sum(share[0] + share[1]) / 6 - (1 / 4 + 1 / 2) / 2) / (1 - (1 / 4 + 1 / 2) / 2)
    weights = [1 - 1 / 4, 1 - 1 / 2]
    weighted = sum(w * g for w, g in zip(weights, by_column, strict=True)) / sum(weights)
    assert overall == pytest.approx(weighted)


def test_group_figures_agree_with_pycanon() -> None:
    pd = pytest.importorskip("pandas")
    metrics = pytest.importorskip("pycanon.metrics")
    random = np.random.default_rng(5)
    flat = Tree([3, 3, 3, 3], 3)
    before = random.integers(0, 3, size=(200, 2)).tolist()
    after = [None if random.random() < 0.1 else row for row in before]
    names = ["c0", "c1"]
    released = pd.DataFrame([row for row in after if row is not None], columns=names)
    raw = pd.DataFrame(before, columns=names)
    k = int(released.groupby(names).size().min())
    found = Case([flat, flat], before, after).measure(k)
    assert found["discernibility"] == metrics.discernability_metric(raw, released, names)
    assert found["average_class_size"] == pytest.approx(
        metrics.average_ecsize(raw, released, names)
    )


def test_groups_are_told_apart_where_keys_pass_64_bits() -> None:
    n_columns, n_nodes = 8, 2**20
    nodes = np.zeros((n_columns, 5), dtype=np.int32)
    nodes[0] = [0, 1, 0, 1, 7]
    nodes[7] = [n_nodes - 1, 0, n_nodes - 1, 3, 0]
    sizes = group_sizes(nodes, [n_nodes] * n_columns)
    assert sorted(sizes.tolist()) == [1, 1, 1, 2]


def test_no_columns_lose_nothing() -> None:
    rows = Rows((), np.zeros((0, 3), dtype=np.int32), ())
    found = measure_losses(rows, rows, 3)
    assert found["loss"] == found["gcp"] == found["suppressed_cells"] == 0.0
    assert found["precision"] == 1.0
    assert found["discernibility"] == 9.0


def test_no_rows_are_refused() -> None:
    rows = Rows(("c0",), np.zeros((1, 0), dtype=np.int32), (_hierarchy(Tree([1, 1], 1), 0),))
    with pytest.raises(DataError, match="no rows"):
        measure_losses(rows, rows, 2)


def test_tables_that_do_not_belong_together_are_refused() -> None:
    flat, other = Tree([3, 3, 3, 3], 3), Tree([2, 2, 3, 3], 2)
    before = Case([flat], [[0], [1]], [[0], [1]])
    with pytest.raises(ValueError, match="same rows"):
        measure_losses(before.rows(before.after), Case([flat], [[0]], []).rows([[0]]), 2)
    with pytest.raises(ValueError, match="different hierarchies"):
        measure_losses(before.rows(before.after), Case([other], [[0], [1]], []).rows([[0], [1]]), 2)
    with pytest.raises(ValueError, match="k is"):
        before.measure(k=0)


def test_a_cell_that_was_not_generalized_upwards_is_refused() -> None:
    with pytest.raises(DataError, match="no original value"):
        Case([Tree([3, 3, 3, 3], 3)], [[0], [1]], [[0], [2]]).measure()


def test_the_page_on_losses_lists_what_is_measured() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "losses.md"
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line[:3] == "| `"]
    listed = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    assert listed == [
        [
            f"`{metric.name}`",
            metric.direction,
            metric.range,
            metric.formula,
            metric.source + (", reconstructed" if metric.is_reconstructed else ""),
        ]
        for metric in METRICS.values()
    ]

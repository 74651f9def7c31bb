"""Ranges on a grid: labels mean what they say, runs are least, prices never fall on the way up."""

import re
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.encode import decode, nodes_of
from incrowd.encoding.rows import Rows
from incrowd.errors import HierarchyError, JobError
from incrowd.guarantees.tables.truth import prove_key
from incrowd.hierarchies.builders import hierarchy_for
from incrowd.hierarchies.costs import COSTS_OF_METRIC, cost_to_root
from incrowd.hierarchies.groupings import find_grid, round_step
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.measures.losses.tables import METRICS
from incrowd.tables.schema import Schema
from incrowd.tables.table import Table
from oracles import ranges as oracle
from tiers import examples


def hierarchy(cells, spec="auto", missing_values=()):
    table = Table(pa.table({"c": cells}), missing_values=missing_values)
    return hierarchy_for("c", table, HierarchySpec.parse(spec))[0]


whole = st.integers(-130, 900).map(str)
decimal = st.decimals(-20, 700, places=2).map(lambda number: f"{number:.2f}")


@st.composite
def columns(draw):
    """Cells of one kind, at least five different numbers, now and then something missing."""
    cells = draw(st.lists(draw(st.sampled_from([whole, decimal])), min_size=5, max_size=30))
    if draw(st.booleans()):
        cells += [None, "?"][: draw(st.integers(1, 2))]
    if len({Fraction(cell) for cell in cells if cell and cell != "?"}) < 5:
        cells += [f"{number}" for number in range(5)]
    return cells


def tree_of(cells):
    tree = hierarchy(cells, missing_values=("?",))
    assert tree.runs is not None
    return tree


def is_whole(tree):
    return not any(" to <" in label or "." in label for label in tree.all_labels)


@given(columns())
def test_a_range_is_above_exactly_the_numbers_that_its_label_holds(cells):
    tree = tree_of(cells)
    leaves = np.arange(tree.n_leaves, dtype=np.int32)
    for node in range(tree.n_leaves, tree.n_all_nodes):
        above = tree.is_ancestor(np.full_like(leaves, node), leaves)
        label = tree.all_labels[node]
        assert above.tolist() == [oracle.holds(label, text) for text in tree.labels[: len(leaves)]]
    assert [tree.node_of_label[label] for label in tree.all_labels] == list(range(tree.n_all_nodes))


@given(columns(), st.data())
def test_the_join_of_two_values_is_the_least_range_that_holds_both(cells, data):
    tree = tree_of(cells)
    runs = tree.runs
    numbers = np.flatnonzero(runs.cell_of_leaf >= 0)
    low, high = sorted(
        data.draw(st.lists(st.sampled_from(numbers.tolist()), min_size=2, max_size=2))
    )
    join = tree.all_labels[runs.node_of[runs.cell_of_leaf[low], runs.cell_of_leaf[high]]]
    texts = tree.labels[: tree.n_leaves]
    assert oracle.holds(join, texts[low])
    assert oracle.holds(join, texts[high])
    held = {text for text in texts if oracle.holds(join, text) and re.match("-?[0-9]", text)}
    for label in tree.all_labels[tree.n_leaves :]:
        if oracle.holds(label, texts[low]) and oracle.holds(label, texts[high]):
            assert held <= {text for text in texts if oracle.holds(label, text)}


@given(columns())
def test_prices_never_fall_on_the_way_up_and_ncp_is_width_over_domain(cells):
    tree = tree_of(cells)
    nodes = np.arange(tree.n_all_nodes, dtype=np.int32)
    if len(nodes) > 150:
        nodes = np.unique(np.r_[nodes[:: len(nodes) // 100], tree.root]).astype(np.int32)
    above, below = (grid.ravel() for grid in np.meshgrid(nodes, nodes))
    is_above = tree.is_ancestor(above, below)
    for metric in COSTS_OF_METRIC:
        cost = cost_to_root(tree, metric)
        assert len(cost) == tree.n_all_nodes
        assert cost[tree.root] == 0
        assert np.all(cost[above[is_above]] <= cost[below[is_above]] + 1e-9)
    texts = tree.labels[: tree.n_leaves]
    shown = 1 - cost_to_root(tree, "ncp")
    for node in range(tree.n_leaves, tree.n_all_nodes):
        penalty = oracle.penalty(tree.all_labels[node], texts, is_whole(tree))
        assert shown[node] == pytest.approx(float(penalty), abs=1e-9)
    n_held = [sum(oracle.holds(label, text) for text in texts) for label in tree.all_labels]
    loss = 1 - cost_to_root(tree, "loss")
    assert loss == pytest.approx((np.asarray(n_held) - 1) / (tree.n_leaves - 1))


@examples(20)
@given(columns(), st.data())
def test_losses_and_the_key_know_ranges_beyond_the_tree(cells, data):
    tree = tree_of(cells)
    table = Table(pa.table({"c": cells}), missing_values=("?",))
    leaves = nodes_of(table.frame.column("c"), tree, "the table")
    nodes = np.arange(tree.n_all_nodes, dtype=np.int32)
    above = []
    for leaf in leaves.tolist():
        is_above = tree.is_ancestor(nodes, np.full_like(nodes, leaf))
        above.append(data.draw(st.sampled_from(np.flatnonzero(is_above).tolist())))
    before = Rows(("c",), leaves[None], (tree,))
    after = before.with_nodes(np.asarray([above], dtype=np.int32))
    texts = [cell or "" for cell in cells]
    for name, metric in METRICS.items():
        assert metric(before, after) >= 0, name
    mean = sum(
        oracle.penalty(tree.all_labels[node], tree.labels[: tree.n_leaves], is_whole(tree))
        for node in above
    ) / len(above)
    assert METRICS["ncp"](before, after) == pytest.approx(float(mean), abs=1e-9)
    counts = [sum(oracle.holds(tree.all_labels[node], text) for text in texts) for node in above]
    own = [texts.count(text) for text in texts]
    bits = sum(np.log2(n_held / n_own) for n_held, n_own in zip(counts, own, strict=True))
    most = sum(np.log2(len(texts) / n_own) for n_own in own)
    assert METRICS["non_uniform_entropy"](before, after) == pytest.approx(bits / most)
    released, kept = decode(after, table, Schema(quasi=("c",)))
    assert prove_key(table.frame, released, kept, ("c",), {"c": tree}).holds
    # any other range that does not hold the first value is refused
    wrong = [
        label for label in tree.all_labels[tree.n_leaves :] if not oracle.holds(label, texts[0])
    ]
    if wrong:
        shown = [
            data.draw(st.sampled_from(wrong)),
            *released.column("c").cast(pa.string())[1:].to_pylist(),
        ]
        broken = pa.table({"c": pa.array(shown, pa.string())})
        proof = prove_key(table.frame, broken, kept, ("c",), {"c": tree})
        assert not proof.holds
        assert proof.exposed_rows == (1,)


# ── the grid ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("numbers", "is_whole", "origin"),
    [
        (range(17, 91), True, "ranges:5,from=20,to=90"),
        (range(1, 7), True, "ranges:2,from=2,to=6"),
        (range(1, 31), True, "ranges:5,from=5,to=30"),
        (range(1900, 2020), True, "ranges:5,from=1910,to=2010"),
        (range(0, 100_000, 7), True, "ranges:1000,from=5000,to=95000"),
        ([n / 50 for n in range(51)], False, "ranges:0.1,from=0.1,to=1"),
        ([1.5, 2.5, 3.5, 4.5, 1e9], False, "ranges:1e+07,from=5e+07,to=1e+09"),
        (range(-40, 41), True, "ranges:5,from=-30,to=40"),
    ],
)
def test_the_grid_is_round_and_its_ends_are_rounder(numbers, is_whole, origin):
    tree = hierarchy([str(number) for number in numbers])
    assert HierarchySpec.parse(tree.origin) == HierarchySpec.parse(origin)
    again = hierarchy([str(number) for number in numbers], tree.origin)
    assert again.all_labels == tree.all_labels
    assert is_whole == all("." not in label for label in tree.all_labels)


@given(st.fractions(Fraction(1, 10**9), 10**9), st.booleans())
def test_a_nice_step_is_one_two_or_five_times_a_power_of_ten(least, is_whole):
    step = round_step(least, is_whole=is_whole)
    digits = str(step.numerator * 10**12 // step.denominator).strip("0")
    assert digits in ("1", "2", "5")
    assert step >= least
    assert step <= max(Fraction(5, 2) * least, 1 if is_whole else 0)
    assert not is_whole or step.denominator == 1


def test_labels_of_whole_numbers_decimals_and_open_ends():
    tree = hierarchy([str(n) for n in range(17, 91)], "ranges:5,from=20,to=80")
    found = set(tree.all_labels)
    assert {"<20", "20-24", "25-29", "20-29", ">=80", "75-79", "<80", ">=25", "30-79"} <= found
    assert "20-22" not in found
    negative = hierarchy([str(n) for n in range(-30, 31)], "ranges:10,from=-20,to=20")
    assert {"<-20", "-20 to -11", "-20 to 9", "0-9", ">=20"} <= set(negative.all_labels)
    decimals = hierarchy(["0.1", "0.5", "0.9", "1.4", "1.5"], "ranges:0.5,from=0.5,to=1.5")
    assert {"<0.5", "0.5 to <1", "1 to <1.5", "0.5 to <1.5", ">=1.5"} <= set(decimals.all_labels)


def test_numbers_that_are_written_in_two_ways_share_a_cell():
    tree = hierarchy([*map(str, range(40)), "+20"], "ranges:1")
    assert {"20", "+20", "20 to <21", "20-21"} <= set(tree.all_labels)
    leaves = np.asarray([tree.leaf_of_value["20"], tree.leaf_of_value["+20"]], dtype=np.int32)
    cell = np.full(2, tree.node_of_label["20 to <21"], dtype=np.int32)
    assert tree.is_ancestor(cell, leaves).all()


def test_a_value_that_reads_like_a_range_is_refused():
    cells = [*map(str, range(40)), "20-24"]
    with pytest.raises(HierarchyError, match="1 value with the label of a group"):
        hierarchy(cells, "auto,missing=suppress")


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("ranges:1,2", JobError, "one positive number"),
        ("ranges:0", JobError, "one positive number"),
        ("ranges:from=1,to=9", JobError, "need a step"),
        ("ranges:2,from=1,to=8", JobError, "does not lead from one end to the other"),
        ("ranges:2,from=9,to=1", JobError, "does not lead from one end to the other"),
        ("ranges:0.01", HierarchyError, "cells"),
        ("ranges:1,from=0,to=1000", HierarchyError, "1,000 cells"),
    ],
)
def test_a_grid_that_cannot_be_is_refused(spec, error, message):
    with pytest.raises(error, match=message):
        hierarchy([str(n) for n in range(0, 900, 7)], spec)


def test_what_is_stated_of_a_grid_is_kept():
    numbers = np.arange(100.0)
    counts = np.ones(100, dtype=np.int64)

    def grid(**stated):
        found = find_grid("c", numbers, counts, is_whole=True, **stated)
        return [int(part) for part in (found.first, found.step, found.last)]

    assert grid(step=10) == [10, 10, 90]
    assert grid(lower=3) == [3, 5, 93]
    assert grid(upper=51) == [1, 5, 51]
    assert grid(step=7, lower=500) == [500, 7, 500]
    assert grid(step=7, upper=-500) == [-500, 7, -500]


def test_a_constant_column_of_stated_ranges_is_flat():
    tree = hierarchy(["5", "5.0"], "ranges")
    assert tree.runs is None
    assert tree.n_nodes == 3

"""Columns that show means: what they are rounded to, and what they stand for."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.encode import nodes_of
from incrowd.errors import DataError, HierarchyError, JobError
from incrowd.hierarchies.builders import hierarchy_for
from incrowd.hierarchies.means import covering_ranges, mean_cells
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.tables.columns.types import labels_of
from incrowd.tables.table import Table
from tiers import examples


def table_of(cells, missing_values=()):
    column = pa.array(cells, pa.string())
    return Table(pa.table({"x": column}), name="t.csv", missing_values=missing_values)


def tree_of(cells, spec="mean"):
    return hierarchy_for("x", table_of(cells), HierarchySpec.parse(spec))[0]


def leaves_of(cells, tree):
    return nodes_of(pa.chunked_array([pa.array(cells, pa.string())]), tree, "t.csv")


def half_up(number, unit):
    """The multiple of the unit nearest to a number, the higher of two."""
    below = number // unit * unit
    return below + unit if number - below >= unit / 2 else below


numbers_in_cells = st.one_of(
    st.integers(-(10**9), 10**9).map(str),
    st.decimals(-(10**6), 10**6, places=3).map(str),
)


@examples(80)
@given(
    st.lists(st.tuples(numbers_in_cells, st.integers(0, 4)), min_size=1, max_size=40),
    st.sampled_from(["mean", "mean:7", "mean:0.25", "mean:1000"]),
)
def test_cells_show_the_rounded_means_of_exact_sums(pairs, spec):
    cells = [cell for cell, _ in pairs]
    group_of_row = np.asarray([group for _, group in pairs], dtype=np.int32)
    tree = tree_of(cells, spec)
    shown = labels_of(mean_cells(tree, leaves_of(cells, tree), group_of_row)).to_pylist()
    unit = tree.mean_unit
    for row, group in enumerate(group_of_row.tolist()):
        members = [Fraction(cell) for cell, other in pairs if other == group]
        assert Fraction(shown[row]) == half_up(sum(members) / len(members), unit)
    # lines that came out equal show the mean of all rows that they stand for
    for line in set(shown):
        members = [Fraction(cell) for cell, text in zip(cells, shown, strict=True) if text == line]
        assert Fraction(line) == half_up(sum(members) / len(members), unit)


def test_sums_beyond_64_bits_are_exact():
    cells = ["0.1", "4e14", "400000000000000.7"]
    tree = tree_of([*cells, "1e-9"], "mean:0.5")
    groups = np.zeros(3, dtype=np.int32)
    shown = mean_cells(tree, leaves_of(cells, tree), groups).to_pylist()
    assert shown == [float(half_up(sum(map(Fraction, cells)) / 3, Fraction(1, 2)))] * 3


@given(st.lists(st.tuples(st.integers(-500, 500), st.integers(0, 5)), min_size=1, max_size=60))
def test_least_ranges_are_the_least(pairs):
    cells = [str(number) for number, _ in pairs]
    groups = np.asarray([group for _, group in pairs], dtype=np.int32)
    tree = tree_of(cells)
    leaves = leaves_of(cells, tree)
    nodes = covering_ranges(tree, leaves, groups)
    assert tree.is_ancestor(nodes, leaves).all()
    every = np.arange(tree.n_all_nodes, dtype=np.int32)
    n_under = Counter()
    for leaf in range(tree.n_leaves):
        n_under.update(
            every[tree.is_ancestor(every, np.full(len(every), leaf, dtype=np.int32))].tolist()
        )
    for group in set(groups.tolist()):
        mine = np.unique(leaves[groups == group])
        able = [
            node
            for node in every.tolist()
            if tree.is_ancestor(np.full(len(mine), node, dtype=np.int32), mine).all()
        ]
        shown = set(nodes[groups == group].tolist())
        assert len(shown) == 1
        assert n_under[shown.pop()] == min(n_under[node] for node in able)


@pytest.mark.parametrize(
    ("cells", "unit"),
    [
        (range(18, 90), Fraction(1)),  # ages: a step of 1
        (range(0, 100_000, 7), Fraction(100)),  # a step of 1000
        ([n / 100 for n in range(1000)], Fraction(1, 100)),  # a step of 0.1
        ([7, 7], Fraction(1)),
        (["2.50", "2.5"], Fraction(1, 2)),
    ],
)
def test_the_unit_is_a_tenth_of_the_step(cells, unit):
    tree = tree_of([str(cell) for cell in cells])
    assert tree.mean_unit == unit
    assert HierarchySpec.parse(tree.origin).kind == "mean"
    assert Fraction(str(HierarchySpec.parse(tree.origin).widths[0])) == unit


def test_one_row_hardly_moves_the_unit():
    cells = [str(number) for number in range(1000)]
    assert tree_of([*cells, "99999999"]).mean_unit == tree_of(cells).mean_unit


@pytest.mark.parametrize("cells", [["1", "2", None], [None, None], ["1", "?"], ["1", "a"]])
def test_what_has_no_mean_is_refused(cells):
    with pytest.raises(DataError, match=r"column 'x'.*have a mean") as caught:
        hierarchy_for("x", table_of(cells, ("?",)), HierarchySpec("mean"))
    assert "cluster" in caught.value.remedy


def test_too_many_digits_are_refused():
    cells = [*(f"{n}.5" for n in range(500)), "4e15"]
    with pytest.raises(HierarchyError, match="too many digits"):
        tree_of(cells)
    assert tree_of(cells, "mean:1000").mean_unit == 1000
    for largest in ("1e16", "-1e300"):
        with pytest.raises(HierarchyError, match="too large"):
            tree_of(["1", "2", largest], "mean:1000")


def test_specs():
    spec = HierarchySpec.parse("mean:10")
    assert spec.text() == "mean:10"
    assert HierarchySpec.from_toml(spec.to_toml(), "x") == spec
    assert HierarchySpec.from_toml({"mean": 10}, "x") == spec
    assert HierarchySpec.from_toml({"mean": True}, "x") == HierarchySpec("mean")
    assert HierarchySpec("mean").to_toml() == "mean"
    for wrong in ("mean:0", "mean:-1", "mean:1,2", "mean,missing=suppress", "mean:1,from=2"):
        with pytest.raises(JobError):
            HierarchySpec.parse(wrong)
    assert math.isclose(HierarchySpec.parse("mean:0.5").widths[0], 0.5)

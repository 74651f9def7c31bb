"""Distributions, means and associations against counts by hand."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.checking.material import OwnSets, OwnTable, SetMaterial, TableMaterial
from incrowd.encoding.encode import encode
from incrowd.encoding.rows import Rows
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.hierarchies.tree import Hierarchy
from incrowd.measures.utility.cells import columns_of
from incrowd.measures.utility.statistics import (
    bins_of,
    compare_associations,
    cramers_v,
    statistics_finding,
)
from incrowd.sets.sets import Sets
from incrowd.tables.schema import Schema
from incrowd.tables.table import Table
from measures.small_material import release_of, small_table
from oracles import utility as oracle
from tiers import examples


@given(n_rows=st.integers(1, 30), seed=st.integers(0, 10**6))
@examples(20)
def test_distances_and_associations_are_those_of_the_definitions(n_rows, seed):
    material = release_of(small_table(n_rows, seed), seed)
    own = material.own
    figures = statistics_finding(material).figures
    kept = np.flatnonzero(~own.after.is_suppressed)
    for place, hierarchy in enumerate(own.before.hierarchies):
        before = oracle.spread_counts(own.before.nodes[place].tolist(), hierarchy)
        after = oracle.spread_counts(own.after.nodes[place, kept].tolist(), hierarchy)
        said = figures["columns"][place]
        assert said["distance"] == pytest.approx(oracle.distance(before, after), abs=1e-6)
        if hierarchy.values is not None:
            numbers = hierarchy.values
            known = [leaf for leaf in range(hierarchy.n_leaves) if not np.isnan(numbers[leaf])]
            for word, weight in (("before", before), ("after", after)):
                total = sum(weight[leaf] for leaf in known)
                if total > 1e-9:
                    mean = sum(numbers[leaf] * weight[leaf] for leaf in known) / total
                    assert said[f"mean_{word}"] == pytest.approx(mean, abs=1e-5)
    pair = own.before.hierarchies[0], own.before.hierarchies[2]
    for word, cells in (("before", own.before.nodes), ("after", own.after.nodes[:, kept])):
        counts = np.array(
            oracle.pair_counts(list(zip(cells[0].tolist(), cells[2].tolist(), strict=True)), pair)
        )
        columns = columns_of(material)
        bins = bins_of(columns[0]), bins_of(columns[2])
        cut = np.zeros((bins[0].max() + 1, bins[1].max() + 1))
        for leaf, other in np.ndindex(*counts.shape):
            cut[bins[0][leaf], bins[1][other]] += counts[leaf, other]
        expected = oracle.cramers_v(np.where(cut < 1e-12, 0, cut).tolist())
        assert figures["pairs"][word][0][2] == pytest.approx(expected, abs=1e-5)


def hand_made():
    """Four people: two sexes, ages 20 to 50 in two tens of twenty; the last row is left out."""
    age = Hierarchy.from_ladder(
        "age",
        [["20", "30", "40", "50"], ["young", "young", "old", "old"]],
        values=np.array([20.0, 30.0, 40.0, 50.0]),
    )
    sex = Hierarchy.from_ladder("sex", [["f", "m"]])
    nodes = np.array([[0, 1, 2, 3], [0, 0, 1, 1]], dtype=np.int32)
    before = Rows(("age", "sex"), nodes, (age, sex))
    young = age.node_of_label["young"]
    shown = np.array([[young, young, 2, age.root], [0, 0, 1, sex.root]], dtype=np.int32)
    after = Rows(("age", "sex"), shown, (age, sex), np.array([False, False, False, True]))
    table = Table(
        pa.table({"age": ["20", "30", "40", "50"], "sex": list("ffmm"), "ill": list("abab")})
    )
    released = Table(
        pa.table({"age": ["young", "young", "40"], "sex": list("ffm"), "ill": list("aba")})
    )
    own = OwnTable(table, np.arange(3), before, after)
    return TableMaterial(released, Schema(("age", "sex"), ("ill",)), own)


def test_marginals_by_hand():
    age, sex, ill = statistics_finding(hand_made()).figures["columns"]
    # before 1/4 each; after 20 and 30 have one third each, 40 one third, 50 nothing
    assert age["distance"] == pytest.approx(0.25, abs=1e-6)
    assert (age["mean_before"], age["median_before"]) == (35.0, 30.0)
    assert age["mean_after"] == pytest.approx((20 + 30 + 40) / 3, abs=1e-6)
    assert age["median_after"] == 30.0
    assert age["share_kept"] == pytest.approx(1 / 3, abs=1e-6)
    assert sex["distance"] == pytest.approx(2 / 3 - 1 / 2, abs=1e-6)
    assert ill["distance"] == pytest.approx(2 / 3 - 1 / 2, abs=1e-6)
    assert "mean_before" not in sex


def test_means_of_dates_are_dates():
    days = ["2024-01-01", "2024-01-03", "2024-01-08"]
    table = Table(pa.table({"seen": days, "left": days}))
    before, _ = encode(table, ("seen",), {"seen": HierarchySpec.parse("dates:month")})
    own = OwnTable(table, np.arange(3), before, before)
    material = TableMaterial(table, Schema(["seen"], ["left"]), own)
    for column in statistics_finding(material).figures["columns"]:
        assert column["mean_before"] == column["mean_after"] == "2024-01-04"
        assert column["median_before"] == "2024-01-03"
        assert column["deviation_before"] == pytest.approx((26 / 3) ** 0.5, abs=1e-6)


def test_associations_by_hand():
    figures = statistics_finding(hand_made()).figures["pairs"]
    assert figures["names"] == ["age", "sex", "ill"]
    # age tells sex before; after, young cells spread over 20 and 30, all of them women
    assert figures["before"][0][1] == 1.0
    assert figures["after"][0][1] == 1.0
    # age tells the illness before; after, 20 and 30 have half of a and of b each: χ² = 3/4, n = 3
    assert figures["before"][0][2] == 1.0
    assert figures["after"][0][2] == pytest.approx((0.75 / 3) ** 0.5, abs=1e-6)
    assert figures["change"][0][2] == pytest.approx(-0.5, abs=1e-6)
    assert figures["largest_change"]["columns"] in (["age", "ill"], ["sex", "ill"])


def test_cramers_v_of_known_tables():
    assert cramers_v(np.array([[10.0, 0.0], [0.0, 10.0]])) == 1.0
    assert cramers_v(np.array([[5.0, 5.0], [5.0, 5.0]])) == 0.0
    assert cramers_v(np.array([[5.0, 7.0]])) == 0.0
    assert cramers_v(np.array([[20.0, 10.0], [10.0, 20.0]])) == pytest.approx(1 / 3)


def test_nothing_changes_where_everything_is_shown():
    material = release_of(small_table(200, 4), 4, how="none", left_out=0.0)
    figures = statistics_finding(material).figures
    assert figures["mean_distance"] == 0
    assert figures["pairs"]["mean_change"] == 0
    assert {len(column.labels) > 20 for column in columns_of(material)} == {True, False}


def test_nothing_hangs_together_where_nothing_is_shown():
    columns = columns_of(release_of(small_table(200, 4), 4, how="all", left_out=0.0))
    after = compare_associations(columns)["after"]
    assert after[0][1] == pytest.approx(0, abs=1e-6)
    assert after[0][0] == 1


def test_sets_by_hand():
    def sets_of(rows):
        starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        items = np.array([item for row in rows for item in row], dtype=np.int32)
        return Sets(starts, items, 3)

    before = sets_of([[0, 1], [0, 1, 2], [0], []])
    after = sets_of([[], [0, 1], [0, 1], [0]])
    finding = statistics_finding(SetMaterial(after, OwnSets(before, np.array([3, 0, 1, 2]))))
    figures = finding.figures
    assert [(one["item"], one["before"], one["after"]) for one in figures["items"]] == [
        ("0", 0.75, 0.75),
        ("1", 0.5, 0.5),
        ("2", 0.25, 0.0),
    ]
    assert figures["mean_item_error"] == pytest.approx(0.25 / 3, abs=1e-6)
    assert figures["pairs"]["before"][0] == [0.75, 0.5, 0.25]
    assert figures["pairs"]["after"][0] == [0.75, 0.5, 0.0]
    # of the pairs 0-1, 0-2 and 1-2 the last two lose their one row of four
    assert figures["mean_pair_error"] == pytest.approx(0.5 / 3, abs=1e-6)
    assert figures["sizes"] == {
        "mean_before": 1.5,
        "mean_after": 1.25,
        "median_before": 1.5,
        "median_after": 1.5,
    }
    assert not finding.is_public


def test_parts_of_items_are_read_by_chance():
    before = Sets(np.array([0, 1, 2], dtype=np.int64), np.array([0, 1], dtype=np.int32), 2)
    before = Sets(before.starts, before.items, 2, item_names=pa.array(["a", "b"]))
    after = Sets(
        np.array([0, 1, 2], dtype=np.int64),
        np.array([0, 0], dtype=np.int32),
        1,
        item_names=pa.array(["(a,b)"]),
    )
    own = OwnSets(before, np.arange(2), part_of_item=np.array([0, 0], dtype=np.int32))
    figures = statistics_finding(SetMaterial(after, own)).figures
    # at least one of a and b, three ways as likely: each is there in two of three
    assert [one["after"] for one in figures["items"]] == pytest.approx([2 / 3, 2 / 3], abs=1e-6)
    assert figures["sizes"]["mean_after"] == pytest.approx(4 / 3, abs=1e-6)


def test_very_wide_tables_are_held_against_few_columns(monkeypatch):
    monkeypatch.setattr("incrowd.measures.utility.statistics.MOST_COLUMNS", 2)
    columns = columns_of(release_of(small_table(30, 1), 3))
    found = compare_associations(columns)
    assert len(found["names"]) == len(found["before"]) == 2
    assert found["n_columns_left_out"] == len(columns) - 2 > 0

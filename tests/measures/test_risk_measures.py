"""Risk measures, held against hand-made tables and against row-by-row counting."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import IncrowdError, InputError, JobError
from incrowd.hierarchies.tree import Hierarchy
from incrowd.measures.options import RiskOptions
from incrowd.measures.risk.finding import risk_finding, set_risk_finding
from incrowd.sets.sets import Sets
from incrowd.tables.schema import Schema
from incrowd.tables.table import Table
from oracles import attackers

CELLS = st.sampled_from(["a", "b", "*", None])


def frame(rows):
    return pa.table({name: pa.array([row[name] for row in rows]) for name in rows[0]})


def hand_made():
    """Groups of 2 (1, x), 3 (2, y) and 1 (2, z)."""
    lines = ["1x", "1x", "2y", "2y", "2y", "2z"]
    return pa.table({"age": [line[0] for line in lines], "zip": [line[1] for line in lines]})


def test_figures_of_a_hand_made_table_are_those_of_the_definitions():
    finding = risk_finding(hand_made(), Schema(["age", "zip"]), RiskOptions(threshold=0.4))
    assert finding.name == "risk"
    assert finding.holds is None
    figures = finding.figures["release"]
    # risks: 1/2 1/2 1/3 1/3 1/3 1
    assert figures["prosecutor"] == {
        "highest": 1.0,
        "mean": pytest.approx(3 / 6),
        "lowest": pytest.approx(1 / 3),
        "share_above": 3 / 6,
        "n_above": 3,
        "n_unique": 1,
    }
    assert figures["marketer"]["rate"] == pytest.approx(3 / 6)  # three groups, six rows
    assert figures["journalist"] is None
    assert "unknown without a population" in finding.summary
    # without zip: groups of 2 and 4, mean 2/6; without age: groups of 2, 3, 1, as before
    columns = {item["column"]: item for item in figures["columns"]}
    assert columns["zip"]["mean_falls_by"] == pytest.approx(3 / 6 - 2 / 6)
    assert columns["zip"]["share_above_falls_by"] == pytest.approx(3 / 6 - 2 / 6)
    assert columns["age"]["mean_falls_by"] == pytest.approx(0)
    assert figures["columns"][0]["column"] == "zip"
    assert "coarsening zip helps most" in finding.summary
    # at risk (above 0.4): both (1, x) and the (2, z)
    values = {(item["column"], item["value"]): item for item in figures["values"]}
    assert values["age", "1"]["share_of_at_risk"] == pytest.approx(2 / 3)
    assert values["age", "2"]["share_at_risk"] == pytest.approx(1 / 4)
    assert values["zip", "z"]["n_at_risk"] == 1
    assert ("zip", "y") not in values


def test_people_are_counted_where_they_are_named():
    table = pa.table({"age": ["1", "1", "1", "2"], "who": ["p", "p", "q", "r"]})
    finding = risk_finding(table, Schema(["age"], person="who"))
    assert finding.figures["counts"] == "people"
    assert finding.figures["release"]["prosecutor"]["mean"] == pytest.approx((3 * 0.5 + 1) / 4)
    with pytest.raises(InputError, match="the person of each released row"):
        risk_finding(table.drop(["who"]), Schema(["age"], person="who"))
    behind = risk_finding(
        table.drop(["who"]),
        Schema(["age"], person="who"),
        original=table,
        original_row=np.arange(4),
    )
    assert behind.figures["release"]["prosecutor"] == finding.figures["release"]["prosecutor"]


@given(
    st.lists(
        st.fixed_dictionaries({"a": CELLS, "b": CELLS, "who": st.sampled_from("pqr")}), min_size=1
    ),
    st.booleans(),
    st.sampled_from([0.2, 0.5, 0.9]),
)
def test_measures_agree_with_counting_row_by_row(rows, counts_people, threshold):
    person = "who" if counts_people else None
    finding = risk_finding(
        frame(rows), Schema(["a", "b"], person=person), RiskOptions(threshold=threshold)
    )
    risks = attackers.risks(rows, ["a", "b"], person)
    found = finding.figures["release"]["prosecutor"]
    assert found["mean"] == pytest.approx(float(sum(risks) / len(risks)))
    assert found["highest"] == pytest.approx(float(max(risks)))
    assert found["lowest"] == pytest.approx(float(min(risks)))
    assert found["n_above"] == sum(risk > Fraction(str(threshold)) for risk in risks)
    for item in finding.figures["release"]["columns"]:
        left = [name for name in ("a", "b") if name != item["column"]]
        without = attackers.risks(rows, left, person)
        assert item["mean_without"] == pytest.approx(float(sum(without) / len(without)))
        assert item["mean_falls_by"] >= -1e-12


def ages():
    levels = [["20", "24", "31", "36"], ["20-29", "20-29", "30-39", "30-39"]]
    return Hierarchy.from_ladder("age", levels, values=np.array([20.0, 24.0, 31.0, 36.0]))


def test_a_population_is_counted_through_the_hierarchy():
    released = pa.table({"age": ["20-29", "20-29", "31", "*"], "sex": ["f", "f", "m", "f"]})
    population = pa.table(
        {
            "age": ["20", "22", "24", "29", "31", "36", "99", "5"],
            "sex": ["f", "f", "m", "f", "m", "f", "f", "f"],
        }
    )
    finding = risk_finding(
        released, Schema(["age", "sex"]), population=population, hierarchies={"age": ages()}
    )
    figures = finding.figures["release"]["journalist"]
    # 20-29 f: 20 and 22 (between 20 and 24); 29 lies between 24 and 31, which the range does not
    # hold both, so it is not counted: 2. 31 m: 1. * f: 20, 22, 29, 36, 99, 5: 6
    assert figures["k_map"] == 1
    assert figures["mean"] == pytest.approx((1 / 2 + 1 / 2 + 1 + 1 / 6) / 4)
    assert figures["highest"] == 1.0
    assert figures["n_unplaced_cells"] == 2  # 99 and 5 are beyond all leaves
    assert figures["n_rows_fitting_nobody"] == 0
    assert figures["compared_by_text"] == ["sex"]
    assert finding.figures["release"]["marketer"]["rate"] == pytest.approx((2 + 1 / 6) / 4)
    assert not finding.is_public


def test_rows_that_fit_nobody_are_told_apart():
    released = pa.table({"age": ["1", "1", "3", "*"]})
    population = pa.table({"age": ["1", "2", "2"]})
    finding = risk_finding(released, Schema(["age"]), population=population)
    figures = finding.figures["release"]["journalist"]
    assert figures["n_rows_fitting_nobody"] == 1
    assert figures["n_rows_in_short_groups"] == 3  # two rows of 1, of whom there is one; and 3
    assert figures["mean"] == pytest.approx((1 + 1 + 1 / 3) / 3)
    assert "1 rows fit nobody" in finding.summary


@given(
    st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=12),
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=12),
)
def test_journalists_count_what_each_row_fits(released, population):
    finding = risk_finding(
        pa.table({"a": [row[0] for row in released], "b": [row[1] for row in released]}),
        Schema(["a", "b"]),
        population=pa.table({"a": [row[0] for row in population], "b": [r[1] for r in population]}),
    )
    figures = finding.figures["release"]["journalist"]
    counts = [
        sum(
            all(cell == "*" or cell == value for cell, value in zip(shown, person, strict=True))
            for person in population
        )
        for shown in released
    ]
    found = [Fraction(1, count) for count in counts if count]
    assert figures["n_rows_fitting_nobody"] == counts.count(0)
    if found:
        assert figures["mean"] == pytest.approx(float(sum(found) / len(found)))
        assert figures["k_map"] == min(count for count in counts if count)


def test_before_and_after_stand_beside_each_other_and_are_not_public():
    original = pa.table({"age": ["1", "2", "3", "4"]})
    released = pa.table({"age": ["1-2", "1-2", "3-4", "3-4"]})
    finding = risk_finding(released, Schema(["age"]), original=original)
    assert finding.figures["original"]["prosecutor"]["mean"] == 1.0
    assert finding.figures["release"]["prosecutor"]["mean"] == 0.5
    assert not finding.is_public
    alone = risk_finding(released, Schema(["age"]), with_values=False)
    assert alone.is_public
    assert alone.figures["release"]["values"] is None
    assert not risk_finding(released, Schema(["age"])).is_public


@pytest.mark.parametrize(
    "wrong",
    [
        {"threshold": -0.1},
        {"threshold": 1.5},
        {"sampling_fraction": 0.0},
        {"sampling_fraction": 2.0},
        {"threshold": float("nan")},
    ],
)
def test_options_that_mean_nothing_are_refused(wrong):
    with pytest.raises(JobError):
        RiskOptions(**wrong)


def test_hostile_populations_are_refused():
    released = pa.table({"age": ["1", "1"]})
    with pytest.raises(InputError, match="none of the quasi"):
        risk_finding(released, Schema(["age"]), population=pa.table({"zip": ["1"]}))
    named = pa.table({"age": ["1", "1"], "who": ["p", "p"]})
    with pytest.raises(InputError, match="1 people for 2 rows"):
        risk_finding(named, Schema(["age"], person="who"), population=named)
    with pytest.raises(IncrowdError):
        risk_finding(released, Schema(["zip"]))


def test_tables_without_rows_have_no_risk():
    empty = Table(pa.table({"age": pa.array([], pa.string())}))
    options = RiskOptions(sampling_fraction=0.5)
    figures = risk_finding(empty, Schema(["age"]), options, population=empty).figures["release"]
    assert figures["prosecutor"]["mean"] == 0.0
    assert figures["journalist"]["k_map"] == 0
    assert figures["uniqueness"]["estimates"]["pitman"]["n_uniques"] == 0.0


def test_sets_are_groups_by_their_items():
    sets = Sets(np.array([0, 2, 4, 5, 5]), np.array([0, 1, 0, 1, 1], dtype=np.int32), 2)
    figures = set_risk_finding(sets, RiskOptions(threshold=0.5)).figures["release"]
    assert figures["prosecutor"]["mean"] == pytest.approx((0.5 + 0.5 + 1 + 1) / 4)
    assert figures["values"][0]["value"] == "1"
    assert figures["values"][0]["share_of_at_risk"] == 0.5
    with pytest.raises(JobError):
        set_risk_finding(sets, RiskOptions(population="x.csv"))
